"""Native loops around C functions of other libraries, so that no interpreter time is counted against them."""

import ctypes
import functools

import llvmlite.binding as llvm

from mbs_core.runtime import library

# void f(ptr a, ptr b) for a list of functions in turn, n times; the last one also gets (i32 flag, ptr out).
_IR = """
define void @pipeline(ptr %functions, i64 %count, ptr %a, ptr %b, i64 %n) {
entry:
  br label %round
round:
  %k = phi i64 [ 0, %entry ], [ %k1, %after ]
  br label %each
each:
  %i = phi i64 [ 0, %round ], [ %i1, %each ]
  %slot = getelementptr ptr, ptr %functions, i64 %i
  %f = load ptr, ptr %slot
  call void %f(ptr %a, ptr %b)
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, %count
  br i1 %more, label %each, label %after
after:
  %k1 = add i64 %k, 1
  %again = icmp slt i64 %k1, %n
  br i1 %again, label %round, label %done
done:
  ret void
}
define void @call4(ptr %f, ptr %a, ptr %b, i32 %flag, ptr %out, i64 %n) {
entry:
  br label %round
round:
  %k = phi i64 [ 0, %entry ], [ %k1, %round ]
  call void %f(ptr %a, ptr %b, i32 %flag, ptr %out)
  %k1 = add i64 %k, 1
  %again = icmp slt i64 %k1, %n
  br i1 %again, label %round, label %done
done:
  ret void
}
define void @solve(ptr %f, ptr %a, ptr %b, ptr %x, ptr %y, i32 %m, i64 %n) {
entry:
  br label %round
round:
  %k = phi i64 [ 0, %entry ], [ %k1, %round ]
  call void %f(ptr %a, ptr %b, ptr %x, ptr %y, i32 %m)
  %k1 = add i64 %k, 1
  %again = icmp slt i64 %k1, %n
  br i1 %again, label %round, label %done
done:
  ret void
}
"""
_P, _I32, _I64 = ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64
_KINDS = {'pipeline': (_P, _I64, _P, _P, _I64), 'call4': (_P, _P, _P, _I32, _P, _I64), 'solve': (_P, _P, _P, _P, _P, _I32, _I64)}


@functools.cache
def _loops():
    module = llvm.parse_assembly(_IR)
    module.triple = llvm.get_process_triple()
    data = library.machine().emit_object(module)
    made = library.Library.from_object(data, {name: ('void',) for name in _KINDS})
    out = {name: ctypes.CFUNCTYPE(None, *kinds)(made.address(name)) for name, kinds in _KINDS.items()}
    out['library'] = made
    return out


def pipeline(functions, a: int, b: int):
    """Return run(n): call each `void f(a, b)` of the list in turn, n times, natively."""
    addresses = (_P * len(functions))(*(ctypes.cast(f, _P).value for f in functions))
    loop = _loops()['pipeline']

    def run(n):
        loop(addresses, len(functions), a, b, n)
    return run


def call4(function, a: int, b: int, flag: int, out: int):
    """Return run(n): call `void f(a, b, int flag, double *out)` n times, natively."""
    loop, address = _loops()['call4'], ctypes.cast(function, _P).value

    def run(n):
        loop(address, a, b, flag, out, n)
    return run


def solve(function, a: int, b: int, x: int, y: int, m: int):
    """Return run(n): call `void f(a, b, double *x, const double *y, int m)` n times, natively."""
    loop, address = _loops()['solve'], ctypes.cast(function, _P).value

    def run(n):
        loop(address, a, b, x, y, m, n)
    return run
