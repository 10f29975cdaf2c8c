"""The ROS side of the project: nodes, the real-time loop and the `haptic` command, around `mbs_core`."""
