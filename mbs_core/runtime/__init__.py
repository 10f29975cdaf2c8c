"""Run time: compiled models, their cache, integrators and batch evaluation."""
