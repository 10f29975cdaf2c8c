"""Run time: compiled models, their cache, integrators and batch evaluation."""

from mbs_core.runtime.build import generate_program
from mbs_core.runtime.linear import equilibrium, linearise, modes
from mbs_core.runtime.model import Model, State, compile_model
from mbs_core.runtime.simulate import Trajectory, adaptive, simulate

__all__ = ['Model', 'State', 'Trajectory', 'adaptive', 'compile_model', 'equilibrium', 'generate_program', 'linearise', 'modes',
           'simulate']
