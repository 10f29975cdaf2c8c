"""Sine and cosine as a few lines of LLVM IR, scalar or vector: no call, and both for the price of one.

Reduction to |r| <= pi/4 by Cody and Waite, r = x - n pi/2 with pi/2 in two parts and fused multiply-add (the
first step is exact), in three parts of 33 bits where the machine has none. A last part of pi/2 only enters the
linear term of the sine: it matters next to multiples of pi/2 alone, and costs no latency there. Polynomials of fdlibm, evaluated
in Estrin's order because their latency is what a small model waits for. Largest error found in 4 million angles: 1.6 ulp to 1e4
and on to 1e12 with fused multiply-add; without it 2.2 ulp to 1e4, but 1e-8 absolute at 1e8, because n times a part is
exact only to |x| = 1.6e6. NaN and infinity give NaN.
"""

import struct

_SIN = (-1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
        2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10)
_COS = (4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
        -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11)
_TWO_OVER_PI = 0.6366197723675814
_SHIFT = 6755399441055744.0                       # 1.5 * 2**52: adding it rounds, and leaves n in the low bits
_PI_2 = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33)
_PI_2_SHORT = (1.57079632673412561417e+00, 6.07710050630396597660e-11, 2.02226624871116645580e-21,
               8.47842766036889956997e-32)


def number(value: float) -> str:
    """Return a double as LLVM IR spells it exactly."""
    return '0x' + struct.pack('>d', value).hex().upper()


def vector_type(lanes: int, kind: str = 'double') -> str:
    """Return the name of the type of `lanes` numbers."""
    return kind if lanes == 1 else f'<{lanes} x {kind}>'


def splat(value: str, lanes: int, kind: str = 'double') -> str:
    """Return the constant `value` in every lane."""
    return value if lanes == 1 else '<' + ', '.join([f'{kind} {value}'] * lanes) + '>'


def suffix(lanes: int) -> str:
    """Return the suffix of an LLVM intrinsic on doubles."""
    return 'f64' if lanes == 1 else f'v{lanes}f64'


class SinCos:
    """The lines that compute sine and cosine of `lanes` angles at once."""

    def __init__(self, lanes: int, fused: bool):
        self.type, self.int = vector_type(lanes), vector_type(lanes, 'i64')
        self.bit = vector_type(lanes, 'i1')
        self.fused = fused
        self.intrinsic = f'@llvm.{"fma" if fused else "fmuladd"}.{suffix(lanes)}'
        self.declaration = f'declare {self.type} {self.intrinsic}({self.type}, {self.type}, {self.type})'
        self.c = {v: splat(number(v), lanes) for v in (*_SIN, *_COS, _TWO_OVER_PI, _SHIFT, -0.5, 1.0)}
        self.minus = [splat(number(-p), lanes) for p in (_PI_2 if fused else _PI_2_SHORT)]
        self.i = {v: splat(str(v), lanes, 'i64') for v in (1, 62, -2 ** 63)}

    def _fma(self, put, a, b, c):
        t = self.type
        return put(f'call contract {t} {self.intrinsic}({t} {a}, {t} {b}, {t} {c})')

    def _reduce(self, put, x):
        """Return the reduced angle, the same with the last part of pi/2, and bits whose last two are the quadrant."""
        t, shift = self.type, self.c[_SHIFT]
        if self.fused:
            shifted = self._fma(put, x, self.c[_TWO_OVER_PI], shift)
        else:
            shifted = put(f'fadd {t} {put(f"fmul {t} {x}, {self.c[_TWO_OVER_PI]}")}, {shift}')
        n = put(f'fsub {t} {shifted}, {shift}')
        steps = [x]
        for part in self.minus:
            r = steps[-1]
            steps.append(self._fma(put, n, part, r) if self.fused
                         else put(f'fadd {t} {r}, {put(f"fmul {t} {n}, {part}")}'))
        return steps[-2], steps[-1], put(f'bitcast {t} {shifted} to {self.int}')

    def _estrin(self, put, z, z2, c):
        a, b, d = (self._fma(put, z, self.c[c[k + 1]], self.c[c[k]]) for k in (0, 2, 4))
        return self._fma(put, z2, self._fma(put, z2, d, b), a)

    def _signed(self, put, value, quadrant):
        t, i = self.type, self.int
        sign = put(f'and {i} {put(f"shl {i} {quadrant}, {self.i[62]}")}, {self.i[-2 ** 63]}')
        bits = put(f'xor {i} {put(f"bitcast {t} {value} to {i}")}, {sign}')
        return put(f'bitcast {i} {bits} to {t}')

    def emit(self, put, x: str, sine=True, cosine=True):
        """Write the lines through `put` (takes an instruction, returns its register); return (sin, cos), unasked None."""
        t, i = self.type, self.int
        r, sharp, q = self._reduce(put, x)
        z = put(f'fmul {t} {r}, {r}')
        z2 = put(f'fmul {t} {z}, {z}')
        p = self._estrin(put, z, z2, _SIN)
        s = self._fma(put, put(f'fmul {t} {r}, {z}'), p, sharp)
        p = self._estrin(put, z, z2, _COS)
        c = self._fma(put, z2, p, self._fma(put, z, self.c[-0.5], self.c[1.0]))
        odd = put(f'trunc {i} {q} to {self.bit}')
        out = [None, None]
        if sine:
            out[0] = self._signed(put, put(f'select {self.bit} {odd}, {t} {c}, {t} {s}'), q)
        if cosine:
            q1 = put(f'add {i} {q}, {self.i[1]}')
            out[1] = self._signed(put, put(f'select {self.bit} {odd}, {t} {s}, {t} {c}'), q1)
        return out
