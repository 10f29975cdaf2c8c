"""Symbolic layer: hash-consed expressions, calculus, condensation, costs and the printers."""

from mbs_core.symbolic.calculus import diff, evaluate, gradient, needed, substitute, tangent
from mbs_core.symbolic.condense import condense
from mbs_core.symbolic.expr import (Expr, Graph, absolute, atan, atan2, call, cos, exp, is_zero, log, maximum, minimum,
                                    power, select, sign, sin, sqrt, tan, tanh)

__all__ = ['Expr', 'Graph', 'absolute', 'atan', 'atan2', 'call', 'condense', 'cos', 'diff', 'evaluate', 'exp', 'gradient',
           'is_zero', 'log', 'maximum', 'minimum', 'needed', 'power', 'select', 'sign', 'sin', 'sqrt', 'substitute', 'tan',
           'tangent', 'tanh']
