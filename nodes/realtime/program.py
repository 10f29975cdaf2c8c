"""The rules as one program: native code through our own LLVM printer, and the very same source as plain Python.

The kernel printer suits better than numba here: it compiles in a tenth of a second and loads from our cache in
milliseconds, needs no import of its own, and what runs natively is by construction what the fallback runs. Products and
sums are not fused, so both give the same set-points to the last bit.
"""

import ast
import hashlib
import inspect

import llvmlite.binding as llvm

from mbs_core.runtime import library
from mbs_core.runtime.cache import Cache, host_digest
from mbs_core.symbolic.printers.kernel_llvm import kernels_ir
from mbs_core.symbolic.printers.python import emit_python
from mbs_core.symbolic.program import Program
from mbs_haptics.realtime import primitives
from mbs_haptics.realtime.limits import CHAIN
from mbs_haptics.realtime.receive import RECEIVE
from mbs_haptics.realtime.statistics import record
from mbs_haptics.realtime.supervise import SUPERVISE
from mbs_haptics.realtime.tick import TICK

RULES = (record, *RECEIVE, *SUPERVISE, *CHAIN, *TICK)


class LoopProgram(Program):
    """A program of kernels that may call the primitives."""

    def signatures(self) -> dict:
        """Return the signatures of kernels and primitives."""
        return {**super().signatures(), **primitives.SIGNATURES}


def build(layout, constants, rules=RULES, name='loop') -> LoopProgram:
    """Return the finished program of some rules, with the upper-case names they use put in."""
    program = LoopProgram(name, layout)
    for rule in rules:
        source = inspect.getsource(rule)
        used = {n.id for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Name)}
        program.kernel(source, **{k: v for k, v in constants.items() if k in used})
    return program.finish()


def text(program) -> str:
    """Return the LLVM IR of a program together with its primitives."""
    lines = kernels_ir(program).replace(' contract ', ' ').splitlines()
    known = tuple(f'declare dso_local void @{name}(' for name in primitives.SIGNATURES)
    return '\n'.join(line for line in lines if not line.startswith(known)) + primitives.ir(*map(program.layout.offset, ('words', 'info')))


def compile_native(program, cache=True) -> library.Library:
    """Return the native functions of a program, from the cache if they are there."""
    signatures = {k.name: k.signature for k in program.kernels}
    ir = text(program)
    key = hashlib.sha256(f'{ir}\0{host_digest()}'.encode()).hexdigest()
    store = Cache() if cache else None
    found = store.get(key) if store else None
    if found is None:
        machine = library.machine()
        module = llvm.parse_assembly(ir)
        module.triple, module.data_layout = llvm.get_process_triple(), str(machine.target_data)
        library.optimise(module, machine)
        found = {'object': machine.emit_object(module)}
        if store:
            store.put(key, found)
    return library.Library.from_object(found['object'], signatures)


def as_python(program, given: dict) -> dict:
    """Return the program as Python functions by name; `given` are the primitives."""
    module = dict(given)
    exec(compile(emit_python(program), f'<{program.name}>', 'exec'), module)
    module.update(given)
    return module
