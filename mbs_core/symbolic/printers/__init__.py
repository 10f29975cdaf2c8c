"""Printers: one program as LLVM IR, C or Python."""
