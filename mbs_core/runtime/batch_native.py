"""Native loops around any `void f(double *x)`: over many blocks for sweeps, over one block for timing.

They release the GIL, so several Python threads can share a sweep.
"""

import ctypes
import functools
import time

import llvmlite.binding as llvm
import numpy as np

from mbs_core.errors import MbsError
from mbs_core.runtime import library

_IR = """
define void @batch_loop(ptr %f, ptr %base, i64 %stride, i64 %count) #0 {
entry:
  %any = icmp sgt i64 %count, 0
  br i1 %any, label %again, label %done
again:
  %k = phi i64 [ 0, %entry ], [ %next, %again ]
  %x = phi ptr [ %base, %entry ], [ %beyond, %again ]
  call void %f(ptr %x)
  %next = add nsw i64 %k, 1
  %beyond = getelementptr double, ptr %x, i64 %stride
  %more = icmp slt i64 %next, %count
  br i1 %more, label %again, label %done
done:
  ret void
}
attributes #0 = { nounwind }
"""


@functools.cache
def _loop():
    module = llvm.parse_assembly(_IR)
    module.triple = llvm.get_process_triple()
    data = library.machine().emit_object(module)
    lib = library.Library.from_object(data, {'batch_loop': ('void', 'int', 'int', 'int')})
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    f = kind(lib.address('batch_loop'))
    f.library = lib
    return f


def batch_loop(f: int, base: int, stride: int, count: int):
    """Call the function at address `f` on `count` blocks that lie `stride` doubles apart, the first at `base`."""
    _loop()(f, base, stride, count)


def bench_loop(f: int, x: int, n: int):
    """Call the function at address `f` on the one block at address `x`, `n` times."""
    _loop()(f, x, 0, n)


def batch(f: int, blocks: np.ndarray):
    """Call the function at address `f` on every row of `blocks`, an array of doubles (count, size of a block)."""
    if blocks.ndim != 2 or blocks.dtype != np.float64 or blocks.strides[1] != 8 or blocks.strides[0] % 8:
        raise MbsError(f'a batch needs a two-dimensional array of doubles with contiguous rows, not {blocks.dtype} '
                       f'of shape {blocks.shape}')
    batch_loop(f, blocks.ctypes.data, blocks.strides[0] // 8, blocks.shape[0])


def seconds_per_call(f: int, x: np.ndarray, rounds: int = 7, least: float = 2e-3) -> float:
    """Return the shortest mean time of a call on the block `x`, over `rounds` runs of at least `least` seconds."""
    n, took, at = 1, 0.0, x.ctypes.data
    bench_loop(f, at, 1)                  # the first call compiles the loop
    while took < least:
        start = time.perf_counter()
        bench_loop(f, at, n)
        took = time.perf_counter() - start
        n = max(2 * n, int(n * 1.2 * least / max(took, 1e-9))) if took < least else n
    best = took / n
    for _ in range(rounds - 1):
        start = time.perf_counter()
        bench_loop(f, at, n)
        best = min(best, (time.perf_counter() - start) / n)
    return best
