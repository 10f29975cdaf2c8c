"""The device side seen from Python: building the firmware, and running it without hardware."""
