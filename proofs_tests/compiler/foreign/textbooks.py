"""Kernels of textbooks on signals, pictures and sparse matrices, each right and with one fault.

Their values are not written as those of their programs are: products of sums, networks that sort, factors that are left
out where they are 0, constants in hexadecimal and as quotients, shifts and counts of bits.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from proofs_tests.compiler.foreign.habits import of_rows, sparse
from proofs_tests.compiler.foreign.kernels import ByHandKernel, dot, program
from proofs_tests.compiler.foreign.styles import each
from relift.semantics.language import functions as pat
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.multidimensional import slide_nd
from relift.semantics.syntax.types import f32, i32

ROOT = 0.7071067690849304
"""The root of 1/2, as a float."""

ANGLES = [(1.0, 0.0), (ROOT, -ROOT), (0.0, -1.0), (-ROOT, -ROOT)]
ROOTS_OF_ONE = ANGLES + [(-c, -s) for c, s in ANGLES]


def fourier(x: Any) -> Any:
    """The discrete Fourier transform of eight complex numbers, as it is defined."""

    def of(k: int) -> Any:
        turns = [ROOTS_OF_ONE[j * k % 8] for j in range(8)]
        real = [x[j][0] * c - x[j][1] * s for j, (c, s) in enumerate(turns)]
        imaginary = [x[j][1] * c + x[j][0] * s for j, (c, s) in enumerate(turns)]
        return rl.make_array(*(reduce(lambda a, v: a + v, part) for part in (real, imaginary)))

    return reduce(rl.concat, [pat.repeat(1, of(k)) for k in range(8)])


def three_in_order(a: Any, b: Any, c: Any) -> tuple[Any, Any, Any]:
    """Three numbers, the smallest first."""
    low, high = rl.minimum(a, b), rl.maximum(a, b)
    middle = rl.minimum(high, c)
    return rl.minimum(low, middle), rl.maximum(low, middle), rl.maximum(high, c)


def median(w: Any) -> Any:
    """The middle one of nine numbers, by the rows in order."""
    rows = [three_in_order(*(w[i][j] for j in range(3))) for i in range(3)]
    lows, middles, highs = zip(*rows, strict=True)
    of_three = (three_in_order(*lows)[2], three_in_order(*middles)[1], three_in_order(*highs)[0])
    return three_in_order(*of_three)[1]


def windows(f: Any, n: int) -> Any:
    """A function of each window of n by n."""
    return lambda x: pat.map(lambda row: pat.map(f, row), slide_nd((n, n), (1, 1), x))


def blurred(x: Any) -> Any:
    """Binomial weights around each cell, its border repeated."""
    weights = rl.literal_array([a * b / 16 for a in (1, 2, 1) for b in (1, 2, 1)])
    padded = rl.pad(1, 1, rl.clamp, pat.map(lambda r: rl.pad(1, 1, rl.clamp, r), x))
    return windows(lambda w: dot(weights, pat.join(w)), 3)(padded)


def inverse(m: Any) -> Any:
    """The inverse of a matrix of 3 by 3, by cofactors."""

    def minor(i: int, j: int) -> Any:
        (p, q), (r, s) = ([k for k in range(3) if k != without] for without in (i, j))
        return m[p][r] * m[q][s] - m[p][s] * m[q][r]

    def cofactor(i: int, j: int) -> Any:
        return minor(i, j) if (i + j) % 2 == 0 else -1.0 * minor(i, j)

    over = m[0][0] * minor(0, 0) - m[0][1] * minor(0, 1) + m[0][2] * minor(0, 2)
    rows = [rl.make_array(*(cofactor(j, i) / over for j in range(3))) for i in range(3)]
    return reduce(rl.concat, [pat.repeat(1, row) for row in rows])


def shifted_and_added(v: Any) -> Any:
    """Marsaglia's generator of 32 bits: a step of it."""

    def last(b: Any) -> Any:
        return b ^ (b * 32)

    return rl.let(lambda a: rl.let(last, a ^ ((a // 131072) & 32767)), v ^ (v * 8192))


def four_bits(v: Any) -> Any:
    """How many of the lowest four bits are 1."""
    return (v & 1) + ((v // 2) & 1) + ((v // 4) & 1) + ((v // 8) & 1)


def aligned(reference: Any, top: Any, left: Any) -> Any:
    """A block of Needleman and Wunsch's matrix, from the row above it and the column beside it."""

    def cell(w: Any, q: Any) -> Any:
        return rl.maximum(rl.maximum(q[0] + q[2], w - 10), q[1] - 10)

    def from_row(i: int, before: Any, found: Any) -> Any:
        if i == 4:
            return found

        def and_on(row: Any) -> Any:
            rows = pat.repeat(1, row) if found is None else rl.concat(found, pat.repeat(1, row))
            return from_row(i + 1, rl.concat(pat.repeat(1, left[i]), row), rows)

        beside = rl.zip(pat.take(4, before), pat.drop(1, before), reference[i])
        return rl.let(and_on, pat.scan_seq(cell, left[i], beside))

    return from_row(0, top, None)


transforms = program("transforms", each(fourier), x=f32[4, 8, 2])
medians = program("medians", windows(median, 3), x=f32[4, 6])
blur = program("blur", blurred, x=f32[8, 12])
inverses = program("inverses", each(inverse), x=f32[8, 3, 3])
steps = program("steps", each(shifted_and_added), x=i32[32])
counts = program(
    "counts", of_rows(lambda r: pat.reduce(rl.add, 0, pat.map(four_bits, r)), 16), x=i32[64]
)
scaled = program("scaled", each(lambda v: v * 0.5 + 0.09375), x=f32[32])
bytes_of = program(
    "bytes_of", each(lambda v: i32(rl.minimum(rl.maximum(v * 255.0, 0.0), 255.0))), x=f32[32]
)
ell = program(
    "ell",
    lambda values, columns, x: pat.map(
        lambda p: sparse(p, x), rl.zip(pat.transpose(values), pat.transpose(columns))
    ),
    values=f32[4, 16],
    columns=i32[4, 16],
    x=f32[16],
)
alignment = program(
    "alignment",
    lambda reference, top, left: pat.map(lambda p: aligned(*p), rl.zip(reference, top, left)),
    reference=i32[2, 4, 4],
    top=i32[2, 5],
    left=i32[2, 4],
)

TEXTBOOKS = [
ByHandKernel("FFT of 8 in local memory", transforms, """
#define C8 0x1.6a09e6p-1f
float2 times(float2 a, float2 b) { return (float2)(a.x*b.x - a.y*b.y, a.x*b.y + a.y*b.x); }
constant float2 turn[4] = {(float2)(1.0f, 0.0f), (float2)(C8, -C8), (float2)(0.0f, -1.0f), (float2)(-C8, -C8)};
int reversed(int k) { return (k & 1) << 2 | k & 2 | k >> 2; }
kernel void fft8(global const float2 *x, global float2 *y) {
  local float2 s[8];
  const int t = get_local_id(0), first = 8 * get_group_id(0);
  s[reversed(2*t)] = x[first + 2*t];
  s[reversed(2*t + 1)] = x[first + 2*t + 1];
  for (int m = 1; m < 8; m <<= 1) {
    barrier(CLK_LOCAL_MEM_FENCE);
    const int j = t & (m - 1), p = ((t - j) << 1) + j;
    const float2 u = s[p], v = times(s[p + m], turn[j * (4 / m)]);
    s[p] = u + v; s[p + m] = u - v;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  y[first + t] = s[t]; y[first + t + 4] = s[t + 4];
}""", (16,), (4,), ("turn[j * (4 / m)]", "turn[j * (2 / m)]")),
ByHandKernel("median by exchanges", medians, """
#define EXCHANGE(a, b) { float t = a; a = fmin(a, b); b = fmax(t, b); }
#define LEAST3(a, b, c) EXCHANGE(a, b); EXCHANGE(a, c);
#define MOST3(a, b, c) EXCHANGE(b, c); EXCHANGE(a, c);
#define ENDS3(a, b, c) MOST3(a, b, c); EXCHANGE(a, b);
#define ENDS4(a, b, c, d) EXCHANGE(a, b); EXCHANGE(c, d); EXCHANGE(a, c); EXCHANGE(b, d);
#define ENDS5(a, b, c, d, e) EXCHANGE(a, b); EXCHANGE(c, d); LEAST3(a, c, e); MOST3(b, d, e);
#define ENDS6(a, b, c, d, e, f) EXCHANGE(a, d); EXCHANGE(b, e); EXCHANGE(c, f); LEAST3(a, b, c); MOST3(d, e, f);
kernel void median(global const float *x, global float *y, int w) {
  int c = get_global_id(0), r = get_global_id(1); float v[6];
  for (int k = 0; k < 6; k++) v[k] = x[(r + k / 3) * w + c + k % 3];
  ENDS6(v[0], v[1], v[2], v[3], v[4], v[5]);
  v[5] = x[(r + 2) * w + c];
  ENDS5(v[1], v[2], v[3], v[4], v[5]);
  v[5] = x[(r + 2) * w + c + 1];
  ENDS4(v[2], v[3], v[4], v[5]);
  v[5] = x[(r + 2) * w + c + 2];
  ENDS3(v[3], v[4], v[5]);
  y[r * (w - 2) + c] = v[4];
}""", (4, 2), (2, 2), ("MOST3(d, e, f);\nkernel", "LEAST3(d, e, f);\nkernel"), {"w": "6"}),
ByHandKernel("blur by constants that are quotients", blur, """
constant float weights[9] = {1/16.0f, 2/16.0f, 1/16.0f, 2/16.0f, 4/16.0f, 2/16.0f, 1/16.0f, 2/16.0f, 1/16.0f};
kernel void blur(global const float *x, global float *y) {
  const int2 size = (int2)(12, 8), at = (int2)(get_global_id(0), get_global_id(1));
  float sum = 0.0f;
  for (int j = -1; j <= 1; ++j)
    for (int i = -1; i <= 1; ++i) {
      const int2 q = clamp(at + (int2)(i, j), (int2)(0, 0), size - 1);
      sum = fma(weights[(j + 1) * 3 + i + 1], x[q.y * size.x + q.x], sum);
    }
  y[at.y * size.x + at.x] = sum;
}""", (12, 8), (4, 4), ("size - 1", "size - 2")),
ByHandKernel("inverses of 3 by 3, indices in a ring", inverses, """
kernel void inverse(global const float *x, global float *y) {
  global const float *m = x + 9 * get_global_id(0); global float *o = y + 9 * get_global_id(0);
  float c[9], t[3][3];
  for (int i = 0; i < 3; i++) for (int j = 0; j < 3; j++) t[i][j] = m[i * 3 + j];
  for (int i = 0; i < 3; i++) for (int j = 0; j < 3; j++) {
    int p = (i + 1) % 3, q = (i + 2) % 3, r = (j + 1) % 3, s = (j + 2) % 3;
    c[j * 3 + i] = t[p][r] * t[q][s] - t[p][s] * t[q][r];
  }
  const float over = t[0][0] * c[0] + t[0][1] * c[3] + t[0][2] * c[6];
  for (int i = 0; i < 9; i++) o[i] = c[i] / over;
}""", (8,), (4,), ("t[0][2] * c[6]", "t[0][2] * c[2]")),
ByHandKernel("xorshift", steps, """
uint next(uint s) { s ^= s << 13; s ^= s >> 17; s ^= s << 5; return s; }
kernel void advance(global const uint *x, global uint *y) { size_t i = get_global_id(0); y[i] = next(x[i]); }
""", (32,), (8,), (">> 17", ">> 16")),
ByHandKernel("bits counted by pairs and fours", counts, """
uint counted(uint v) { v &= 15; v -= (v >> 1) & 0x55555555; return (v & 0x33333333) + ((v >> 2) & 0x33333333); }
kernel void count(global const uint *x, global uint *y) {
  uint n = 0; for (uint j = 0; j < 16; ++j) n += counted(x[get_global_id(0) * 16 + j]); y[get_global_id(0)] = n;
}""", (4,), (2,), ("v &= 15", "v &= 31")),
ByHandKernel("constants in hexadecimal", scaled, """
kernel void scale(global const float *x, global float *y) { size_t i = get_global_id(0); y[i] = mad(x[i], 0x1p-1f, 0X1.8P-4F); }
""", (32,), (8,), ("0X1.8P-4F", "0X1.9P-4F")),
ByHandKernel("bytes of floats, the nearest that there are", bytes_of, """
kernel void of(global const float4 *x, global int4 *y) { size_t i = get_global_id(0); y[i] = convert_int4(convert_uchar4_sat(x[i] * 255.0f)); }
""", (8,), (4,), ("uchar4_sat", "char4_sat")),
ByHandKernel("spmv ELL without its zeros", ell, """
kernel void spmv(const int rows, const int width, global const int *columns, global const float *values, global const float *x, global float *y) {
  const int r = get_global_id(0); float sum = 0;
  for (int k = 0; k < width; k++) {
    const int c = columns[rows * k + r]; const float v = values[rows * k + r];
    if (v != 0) sum += v * x[c];
  }
  y[r] = sum;
}""", (16,), (8,), ("v != 0", "v > 0"), {"rows": "16", "width": "4"}),
ByHandKernel("a block of an alignment by diagonals", alignment, """
#define B 4
#define AT(i, j) m[(i) * (B + 1) + (j)]
#define CELL(i, j) AT(i, j) = max(max(AT(i - 1, j - 1) + r[(i - 1) * B + j - 1], AT(i, j - 1) - 10), AT(i - 1, j) - 10);
kernel void align(global const int *reference, global const int *top, global const int *left, global int *out) {
  local int m[(B + 1) * (B + 1)], r[B * B];
  const int t = get_local_id(0), g = get_group_id(0);
  if (t == 0) AT(0, 0) = top[g * (B + 1)];
  for (int i = 0; i < B; i++) r[i * B + t] = reference[g * B * B + i * B + t];
  AT(t + 1, 0) = left[g * B + t];
  AT(0, t + 1) = top[g * (B + 1) + t + 1];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int d = 0; d < B; d++) { if (t <= d) { CELL((d - t + 1), (t + 1)) } barrier(CLK_LOCAL_MEM_FENCE); }
  for (int d = B - 2; d >= 0; d--) { if (t <= d) { CELL((B - t), (t + B - d)) } barrier(CLK_LOCAL_MEM_FENCE); }
  for (int i = 0; i < B; i++) out[g * B * B + i * B + t] = AT(i + 1, t + 1);
}""", (8,), (4,), ("AT(i, j - 1) - 10", "AT(i, j - 1) - 9")),
]  # fmt: skip
