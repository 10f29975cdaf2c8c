"""Control: trajectories, PID and the laws that move a mechanism; pure functions, time is an argument."""
