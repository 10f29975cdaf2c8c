"""Printers: one program as LLVM IR, C or Python."""

from mbs_core.symbolic.printers.c import emit_c
from mbs_core.symbolic.printers.llvm import emit
from mbs_core.symbolic.printers.python import emit_python

__all__ = ['emit', 'emit_c', 'emit_python']
