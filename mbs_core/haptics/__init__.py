"""What makes rendered touch smooth, trustworthy and passive: estimators, plausibility, passivity, limits.

Pure functions and small states; the caller brings the time step. The step functions of `estimator` and `limits` work
on flat float arrays and call nothing, so that `numba.njit` compiles them into a real-time loop as they are.
"""
