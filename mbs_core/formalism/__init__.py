"""From a description to equations of motion: kinematics, Newton-Euler, constraints, reduction."""
