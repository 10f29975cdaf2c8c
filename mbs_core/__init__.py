"""The multibody engine: mechanisms in, native equations of motion out; no ROS, no clock, no I/O."""
