"""What makes rendered touch smooth, trustworthy and passive: estimators, plausibility, the passivity bound.

Pure functions and small states; the caller brings the time step. `estimator.step` works on flat float arrays and calls
nothing, so that `numba.njit` compiles it into a real-time loop as it is. The limit chain (finite, passivity, velocity,
thermal, slew, clamp) belongs to the compiled tick and has its one definition in nodes/realtime/limits.py.
"""
