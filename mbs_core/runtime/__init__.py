"""Run time: compiled models, their cache, integrators and batch evaluation."""

from mbs_core.runtime.build import generate_program
from mbs_core.runtime.model import Model, State, compile_model

__all__ = ['Model', 'State', 'compile_model', 'generate_program']
