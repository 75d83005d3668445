"""Forty kernels as people write them: twenty right ones in different styles, and each with one fault."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from relift.compiler.foreign.comparison import ByOthers
from relift.semantics.language import functions as pat
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.programs import Program
from relift.semantics.language.programs import program as decorated
from relift.semantics.syntax.types import f32, i32


@dataclass(frozen=True)
class ByHandKernel:
    """A program, a kernel that computes it, and what is replaced in its text to make it wrong."""

    name: str
    program: Callable[[], Program]
    text: str
    range: tuple[int, ...]
    local: tuple[int, ...]
    fault: tuple[str, str]
    arguments: Mapping[str, str] = field(default_factory=dict)

    def right(self) -> ByOthers:
        """The kernel as it is."""
        entry = self.text.split("void ", 1)[1].split("(", 1)[0].strip()
        return ByOthers(self.text, entry, self.range, self.local, self.arguments)

    def wrong(self) -> ByOthers:
        """The kernel with its fault."""
        before, after = self.fault
        assert before in self.text, (self.name, before)
        right = self.right()
        text = self.text.replace(before, after, 1)
        return ByOthers(text, right.entry, self.range, self.local, self.arguments)


def program(name: str, body: Callable[..., Any], **types: Any) -> Callable[[], Program]:
    """A program of a function of typed inputs."""

    def made() -> Program:
        def function(*inputs: Any) -> Any:
            return body(*inputs)

        function.__name__ = name
        function.__annotations__ = dict(types)
        import inspect

        parameters = [
            inspect.Parameter(p, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=t)
            for p, t in types.items()
        ]
        function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return decorated(function)

    return made


def product(a: Any, b: Any) -> Any:
    """A matrix product."""
    return pat.map(lambda row: pat.map(lambda column: dot(row, column), pat.transpose(b)), a)


def dot(x: Any, y: Any) -> Any:
    """An inner product."""
    return pat.reduce(rl.add, 0.0, pat.map(lambda p: p[0] * p[1], rl.zip(x, y)))


def total(x: Any) -> Any:
    """A sum."""
    return pat.reduce(rl.add, 0.0, x)


def sums(n: int) -> Callable[[Any], Any]:
    """The sums of rows of n."""
    return lambda x: pat.map(total, pat.split(n, x))


def average(x: Any) -> Any:
    """A stencil of three points, its border repeated."""
    padded = rl.pad(1, 1, rl.clamp, x)
    return pat.map(lambda w: w[0] + 2.0 * w[1] + w[2], pat.slide(3, 1, padded))


def five(x: Any) -> Any:
    """A stencil of five points inside of a grid."""
    from relift.semantics.language.multidimensional import slide_nd

    return pat.map(
        lambda row: pat.map(lambda w: w[0][1] + w[1][0] + w[1][1] + w[1][2] + w[2][1], row),
        slide_nd((3, 3), (1, 1), x),
    )


MM = program("mm", product, A=f32[8, 12], B=f32[12, 16])
TOTALS = program("totals", sums(32), x=f32[128])
FLIP = program("flip", pat.transpose, x=f32[32, 48])
ADD = program(
    "added", lambda a, b: pat.map(lambda p: p[0] + p[1], rl.zip(a, b)), a=f32[64], b=f32[64]
)
AVERAGE = program("average", average, x=f32[64])
FIVE = program("five", five, x=f32[18, 18])
SCAN = program("scan", lambda x: pat.scan_seq(lambda a, v: a + v, 0.0, x), x=f32[64])
ROWS = program("rows", lambda A, x: pat.map(lambda row: dot(row, x), A), A=f32[16, 24], x=f32[24])
SCALED = program("scaled", lambda a, x: pat.map(lambda v: a * v, x), a=f32, x=f32[64])
LARGEST = program(
    "largest",
    lambda x: pat.map(
        lambda row: pat.reduce_seq(lambda m, v: rl.select(m < v, v, m), row[0], row), x
    ),
    x=f32[16, 8],
)
COUNTS = program("counts", lambda x: pat.map(lambda v: v * 3 + 1, x), x=i32[64])

KERNELS = [
    ByHandKernel("plain product", MM, """
__kernel void mm(__global const float* A, __global const float* B, __global float* C, int M, int N, int K) {
  int row = get_global_id(1);
  int col = get_global_id(0);
  if (row >= M || col >= N) return;
  float sum = 0.0f;
  for (int k = 0; k < K; k++) sum += A[row*K + k] * B[k*N + col];
  C[row*N + col] = sum;
}""", (16, 8), (4, 4), ("B[k*N + col]", "B[k*M + col]"), {"M": "8", "N": "16", "K": "12"}),
    ByHandKernel("tiled product", MM, """
#define TS 4
__kernel void mm(__global const float* A, __global const float* B, __global float* C, const int N, const int K) {
  __local float As[TS][TS + 1];
  __local float Bs[TS][TS];
  const int r = get_local_id(1), c = get_local_id(0);
  const int row = TS*get_group_id(1) + r, col = TS*get_group_id(0) + c;
  float acc = 0.0f;
  const int tiles = K/TS;
  for (int t = 0; t < tiles; t++) {
    As[r][c] = A[row*K + TS*t + c];
    Bs[r][c] = B[(TS*t + r)*N + col];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < TS; ++k) acc += As[r][k] * Bs[k][c];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  C[row*N + col] = acc;
}""", (16, 8), (4, 4), ("As[r][k] * Bs[k][c];\n    barrier(CLK_LOCAL_MEM_FENCE);", "As[r][k] * Bs[k][c];"), {"N": "16", "K": "12"}),
    ByHandKernel("product with mad and registers", MM, """
#define W 2
kernel void mm(global const float* restrict A, global const float* restrict B, global float* restrict C) {
  const uint row = get_global_id(1), first = get_global_id(0) * W;
  float acc[W];
  for (uint w = 0; w < W; w++) acc[w] = 0.0f;
  for (uint k = 0; k < 12; k++) {
    const float a = A[row * 12 + k];
    for (uint w = 0; w < W; w++) acc[w] = mad(a, B[k * 16 + first + w], acc[w]);
  }
  for (uint w = 0; w < W; w++) C[row * 16 + first + w] = acc[w];
}""", (8, 8), (4, 4), ("uint w = 0; w < W; w++) acc[w] = 0.0f", "uint w = 1; w < W; w++) acc[w] = 0.0f")),
    ByHandKernel("product by rows of vectors", MM, """
__kernel void mm(__global const float* A, __global const float4* B, __global float4* C) {
  int row = get_global_id(1), col = get_global_id(0);
  float4 acc = (float4)(0.0f);
  int k = 0;
  while (k < 12) {
    acc += A[row * 12 + k] * B[k * 4 + col];
    ++k;
  }
  C[row * 4 + col] = acc;
}""", (4, 8), (2, 2), ("k < 12", "k < 11")),
    ByHandKernel("tree in local memory", TOTALS, """
__kernel void reduce(__global const float* in, __global float* out, __local float* s, const unsigned int n) {
  unsigned int lid = get_local_id(0), gid = get_global_id(0);
  s[lid] = (gid < n) ? in[gid] : 0.0f;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (unsigned int d = get_local_size(0)/2; d > 0; d >>= 1) {
    if (lid < d) s[lid] += s[lid + d];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (lid == 0) out[get_group_id(0)] = s[0];
}""", (128,), (32,), ("d > 0", "d > 1"), {"s": "32", "n": "128", "in": "x"}),
    ByHandKernel("tree with the neighbour first", TOTALS, """
__kernel void reduce(__global const float* x, __global float* y) {
  __local float t[32];
  int l = get_local_id(0);
  t[l] = x[get_global_id(0)];
  for (int s = 1; s < 32; s *= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l % (2*s) == 0) { t[l] = t[l] + t[l + s]; }
  }
  if (l == 0) { y[get_group_id(0)] = t[0]; }
}""", (128,), (32,), ("    barrier(CLK_LOCAL_MEM_FENCE);\n    if", "    if")),
    ByHandKernel("one work-item a row, four sums", TOTALS, """
__kernel void reduce(__global const float* x, __global float* y) {
  __global const float* p = x + get_global_id(0) * 32;
  float a = 0, b = 0, c = 0, d = 0;
  for (int i = 0; i < 32; i += 4) {
    a += p[i]; b += p[i + 1]; c += p[i + 2]; d += p[i + 3];
  }
  y[get_global_id(0)] = (a + b) + (c + d);
}""", (4,), (2,), ("d += p[i + 3]", "d += p[i + 2]")),
    ByHandKernel("sum with a helper and vectors", TOTALS, """
inline float across(float4 v) { return v.x + v.y + v.z + v.w; }
__kernel void reduce(__global const float* x, __global float* y) {
  int g = get_global_id(0);
  float4 acc = vload4(0, x + 32 * g);
  for (int i = 1; i < 8; i++) acc += vload4(i, x + 32 * g);
  y[g] = across(acc);
}""", (4,), (4,), ("v.z + v.w", "v.z + v.z")),
    ByHandKernel("transpose by tiles", FLIP, """
__kernel __attribute__((reqd_work_group_size(16, 16, 1)))
void transpose(__global float* out, __global const float* in, int w, int h) {
  __local float tile[16][16 + 1];
  int x = get_global_id(0), y = get_global_id(1);
  if (x < w && y < h) tile[get_local_id(1)][get_local_id(0)] = in[y*w + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  x = get_group_id(1)*16 + get_local_id(0);
  y = get_group_id(0)*16 + get_local_id(1);
  if (x < h && y < w) out[y*h + x] = tile[get_local_id(0)][get_local_id(1)];
}""", (48, 32), (16, 16), ("get_group_id(1)*16", "get_group_id(0)*16"), {"w": "48", "h": "32", "in": "x"}),
    ByHandKernel("transpose, plain", FLIP, """
kernel void flip(global const float* x, global float* y) {
  size_t i = get_global_id(0), j = get_global_id(1);
  y[i * 32 + j] = x[j * 48 + i];
}""", (48, 32), (8, 8), ("x[j * 48 + i]", "x[i * 48 + j]")),
    ByHandKernel("transpose of rows in turn", FLIP, """
kernel void flip(global const float* x, global float* y) {
  int j = get_global_id(0);
  do {
    for (int i = 0; i < 48; ++i) y[i * 32 + j] = x[j * 48 + i];
    j += get_global_size(0);
  } while (j < 32);
}""", (8,), (4,), ("j += get_global_size(0)", "j += get_local_size(0)")),
    ByHandKernel("added in turns", ADD, """
__kernel void add(__global const float* a, __global const float* b, __global float* c, int n) {
  for (int i = get_global_id(0); i < n; i += get_global_size(0)) {
    c[i] = a[i] + b[i];
  }
}""", (16,), (8,), ("i += get_global_size(0)", "i += 2 * get_global_size(0)"), {"n": "64"}),
    ByHandKernel("added by integer tricks", ADD, """
#define N 64
__kernel void add(__global const float* a, __global const float* b, __global float* c) {
  const uint t = get_global_id(0);
  const uint half = t >> 5, rest = t & 31u;
  c[(half << 5) | rest] = a[(half << 5) + rest] + b[t ^ 0u];
}""", (64,), (16,), ("t & 31u", "t & 15u")),
    ByHandKernel("three points with clamped ends", AVERAGE, """
__kernel void average(__global const float* x, __global float* y) {
  int i = get_global_id(0);
  int left = i > 0 ? i - 1 : 0;
  int right = min(i + 1, 63);
  y[i] = x[left] + 2.0f * x[i] + x[right];
}""", (64,), (16,), ("min(i + 1, 63)", "min(i + 1, 62)")),
    ByHandKernel("three points through local memory", AVERAGE, """
#define G 16
__kernel void average(__global const float* x, __global float* y, int n) {
  __local float s[G + 2];
  int l = get_local_id(0), i = get_global_id(0);
  s[l + 1] = x[i];
  if (l == 0) s[0] = x[i == 0 ? 0 : i - 1];
  if (l == G - 1) s[G + 1] = x[i == n - 1 ? n - 1 : i + 1];
  barrier(CLK_LOCAL_MEM_FENCE);
  y[i] = s[l] + 2.0f * s[l + 1] + s[l + 2];
}""", (64,), (16,), ("if (l == G - 1) s[G + 1]", "if (l == G - 2) s[G + 1]"), {"n": "64"}),
    ByHandKernel("five points", FIVE, """
#define AT(r, c) x[(r) * W + (c)]
#define W 18
__kernel void five(__global const float* x, __global float* y) {
  int c = get_global_id(0) + 1, r = get_global_id(1) + 1;
  y[(r - 1) * (W - 2) + c - 1] = AT(r - 1, c) + AT(r, c - 1) + AT(r, c) + AT(r, c + 1) + AT(r + 1, c);
}""", (16, 16), (4, 4), ("AT(r + 1, c);", "AT(r + 1, c + 1);")),
    ByHandKernel("scan in a group", SCAN, """
__kernel void scan(__global const float* x, __global float* y) {
  __local float a[64], b[64];
  int l = get_local_id(0);
  a[l] = x[l];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int d = 1; d < 64; d <<= 1) {
    b[l] = l >= d ? a[l - d] + a[l] : a[l];
    barrier(CLK_LOCAL_MEM_FENCE);
    a[l] = b[l];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  y[l] = a[l];
}""", (64,), (64,), ("l >= d ?", "l > d ?")),
    ByHandKernel("rows in two groups of columns", ROWS, """
__kernel void rows(__global const float* A, __global const float* x, __global float* y) {
  __local float part[4][2];
  int r = get_local_id(0), h = get_local_id(1);
  float sum = 0.f;
  switch (h) {
    case 0:
      for (int k = 0; k < 12; k++) sum += A[get_global_id(0) * 24 + k] * x[k];
      break;
    default:
      for (int k = 12; k < 24; k++) sum += A[get_global_id(0) * 24 + k] * x[k];
  }
  part[r][h] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (h == 0) y[get_global_id(0)] = part[r][0] + part[r][1];
}""", (16, 2), (4, 2), ("int k = 12;", "int k = 11;")),
    ByHandKernel("largest of rows", LARGEST, """
__kernel void largest(__global const float* x, __global float* y) {
  int g = get_global_id(0);
  float m = x[8 * g];
  for (int i = 0; i < 8; i++) {
    float v = x[8 * g + i];
    if (m < v) m = v;
  }
  y[g] = m;
}""", (16,), (4,), ("if (m < v)", "if (v < m)")),
    ByHandKernel("whole numbers without a sign", COUNTS, """
__kernel void counts(__global const int* x, __global int* y) {
  uint i = get_global_id(0);
  y[i] = as_int(as_uint(x[i]) * 3u + 1u);
}""", (64,), (32,), ("* 3u + 1u", "* 3u + 2u")),
]  # fmt: skip
