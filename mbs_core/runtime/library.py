"""Programs as native code in memory: compile, load from an object file, call, hand out addresses.

The straight-line functions go to the code generator as they are, since optimiser passes would cost seconds and gain
nothing; kernels go through the optimiser, which vectorises their loops. Everything ends up in one object file
that can be kept on disk and loaded again in milliseconds. Calls release the GIL; addresses are plain C functions
that may be called from any thread.
"""

import ctypes
import functools
import threading

import llvmlite.binding as llvm
import numpy as np

from mbs_core.errors import MbsError, suggest
from mbs_core.symbolic.printers.kernel_llvm import kernels_ir
from mbs_core.symbolic.printers.llvm import straight_ir

_CTYPE = {'void': None, 'int': ctypes.c_int64, 'float': ctypes.c_double}
_LOCK = threading.Lock()                 # LLVM's global context is not for several threads at once
_externals = {}


@functools.cache
def host() -> tuple:
    """Return (CPU name, feature string) of this machine, with LLVM ready for use."""
    for name in ('initialize', 'initialize_native_target', 'initialize_native_asmprinter'):
        try:
            getattr(llvm, name)()
        except (AttributeError, RuntimeError):       # `initialize` is automatic and refused since llvmlite 0.45
            pass
    try:
        features = llvm.get_host_cpu_features().flatten()
    except RuntimeError:
        features = ''
    return llvm.get_host_cpu_name(), features


def has(feature: str) -> bool:
    """Tell whether this machine has a CPU feature such as 'fma' or 'avx512f'."""
    return f'+{feature}' in host()[1].split(',')


def fused() -> bool:
    """Tell whether multiply-add is one instruction here."""
    return has('fma') or llvm.get_process_triple().startswith(('aarch64', 'arm64'))


def default_lanes() -> int:
    """Return how many states one vector instruction handles here."""
    return 8 if has('avx512f') else 4 if has('avx2') else 2


def machine(level: int = 2):
    """Return LLVM's description of this machine at a code generation level 0 to 3.

    The small code model makes constants operands of the arithmetic itself; it asks for memory in one piece.
    """
    cpu, features = host()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(cpu=cpu, features=features, opt=level, reloc='pic', codemodel='small')


def register_external(name: str, address: int):
    """Make an outside function `void f(const double *in, double *out)` known by name before a library is loaded."""
    host()
    llvm.add_symbol(name, int(address))
    _externals[name] = int(address)


def compile_program(program, lanes: int = 0, level: int = 2) -> 'Library':
    """Return the library of a finished program; with `lanes` also a version `<name>_x<lanes>` of each function."""
    if not program.finished:
        raise MbsError(f"the program '{program.name}' is not finished: call finish() before compiling it")
    with _LOCK:
        data = _object(program, lanes, level)
    signatures = program.signatures()
    if lanes:
        signatures.update((f'{f.name}_x{lanes}', ('void',)) for f in program.functions)
    return Library.from_object(data, signatures)


def _object(program, lanes, level):
    tm = machine(level)
    module = _parse(straight_ir(program, 1, fused()))
    if lanes:
        module.link_in(_parse(straight_ir(program, lanes, fused())))
    if program.kernels:
        kernels = _parse(kernels_ir(program))
        kernels.data_layout = str(tm.target_data)
        optimise(kernels, tm)
        module.link_in(kernels)
    return tm.emit_object(module)


def _parse(text):
    module = llvm.parse_assembly(text)
    module.triple = llvm.get_process_triple()
    return module


def optimise(module, tm):
    """Run LLVM's standard passes, with loop vectorisation.

    Vectorising straight-line code is off: packing a few neighbouring numbers cost a five-bar's Runge-Kutta step 25 %
    (0.41 against 0.32 us) and gained a chain of 20 joints 5 %.
    """
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = options.loop_unrolling = True
    options.slp_vectorization = False
    builder = llvm.create_pass_builder(tm, options)
    builder.getModulePassManager().run(module, builder)


class Library:
    """Native functions in memory, kept alive as long as this object lives."""

    def __init__(self, data: bytes, signatures: dict):
        self.signatures = {n: tuple(s) for n, s in signatures.items()}
        self._data = bytes(data)
        own = [n for n, s in self.signatures.items() if s != ('external',)]
        for name in set(self.signatures) - set(own):         # LLVM would call address 0
            if name not in _externals and not llvm.address_of_symbol(name):
                raise MbsError(f"the external function '{name}' is not known: register_external('{name}', address) first")
        with _LOCK:
            self._engine = llvm.create_mcjit_compiler(_parse(''), machine(), use_lmm=True)
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(self._data))
            self._engine.finalize_object()
            self._address = {n: self._engine.get_function_address(n) for n in own}
        for name, address in self._address.items():
            if not address:
                raise MbsError(f"the object file has no function '{name}': remove the cache folder and try again")
        self._functions = {}

    @classmethod
    def from_object(cls, data: bytes, signatures: dict) -> 'Library':
        """Load an object file made by `object_bytes`, with the library's `signatures`; externals must be registered."""
        return cls(data, signatures)

    def object_bytes(self) -> bytes:
        """Return the object file, for the cache."""
        return self._data

    def address(self, name: str) -> int:
        """Return the address of a function."""
        try:
            return self._address[name]
        except KeyError:
            raise MbsError(f"there is no function '{name}' in the library{suggest(name, self._address)}") from None

    def function(self, name: str):
        """Return the function as a ctypes callable on the address of `x` (and the kernel's other arguments)."""
        f = self._functions.get(name)
        if f is None:
            address = self.address(name)
            result, *kinds = self.signatures[name]
            f = ctypes.CFUNCTYPE(_CTYPE[result], ctypes.c_void_p, *(_CTYPE[k] for k in kinds))(address)
            f.library = self              # the code must outlive every handle to it
            self._functions[name] = f
        return f

    def call(self, name: str, x: np.ndarray, *args):
        """Call a function on the block `x` (contiguous doubles, changed in place) and return its result."""
        if x.dtype != np.float64 or not x.flags.c_contiguous or not x.flags.writeable:
            raise MbsError(f"'{name}' needs a writable contiguous array of doubles, not {x.dtype} of shape {x.shape}")
        return self.function(name)(x.ctypes.data, *args)
