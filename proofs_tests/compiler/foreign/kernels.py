"""Forty kernels as people write them: twenty right ones in different styles, and each with one fault."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from string import Template
from typing import Any

from relift.compiler.foreign.groups.launched import ByOthers
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
    requires: tuple[Callable[[], Program], ...] = ()

    def at(self, numbers: Mapping[str, str]) -> ByHandKernel:
        """Its text with numbers for the names behind a $."""

        def filled(text: str) -> str:
            return Template(text).substitute(numbers)

        before, after = self.fault
        given = {name: filled(value) for name, value in self.arguments.items()}
        return replace(
            self, text=filled(self.text), fault=(filled(before), filled(after)), arguments=given
        )

    def required(self) -> list[Program]:
        """What holds of its inputs."""
        return [statement() for statement in self.requires]

    def right(self) -> ByOthers:
        """The kernel as it is."""
        [entry] = re.findall(r"kernel\b[^;{]*?void\s+(\w+)", self.text)
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


SMALL = {
    "M": 8,
    "K": 12,
    "N": 16,
    "T": 4,
    "H": 32,
    "W": 48,
    "S": 64,
    "F": 16,
    "P": 64,
    "R": 16,
    "Q": 16,
}
LARGE = {
    "M": 96,
    "K": 32,
    "N": 104,
    "T": 312,
    "H": 80,
    "W": 112,
    "S": 9_984,
    "F": 96,
    "P": 1_024,
    "R": 4_992,
    "Q": 9_984,
}
"""Sizes for tests, and those at which launches have about 10,000 work-items."""


def kernels(sizes: Mapping[str, int]) -> list[ByHandKernel]:
    """All, at some sizes."""
    M, K, N, T, H, W, S, F, P, R, Q = sizes.values()
    mm = program("mm", product, A=f32[M, K], B=f32[K, N])
    totals = program("totals", sums(32), x=f32[32 * T])
    flip = program("flip", pat.transpose, x=f32[H, W])
    added = program(
        "added", lambda a, b: pat.map(lambda p: p[0] + p[1], rl.zip(a, b)), a=f32[S], b=f32[S]
    )
    averages = program("average", average, x=f32[S])
    points = program("five", five, x=f32[F + 2, F + 2])
    scan = program("scan", lambda x: pat.scan_seq(lambda a, v: a + v, 0.0, x), x=f32[P])
    rows = program(
        "rows", lambda A, x: pat.map(lambda row: dot(row, x), A), A=f32[R, 24], x=f32[24]
    )
    largest = program(
        "largest",
        lambda x: pat.map(
            lambda row: pat.reduce_seq(lambda m, v: rl.select(m < v, v, m), row[0], row), x
        ),
        x=f32[Q, 8],
    )
    counts = program("counts", lambda x: pat.map(lambda v: v * 3 + 1, x), x=i32[S])
    named = {name: str(n) for name, n in sizes.items()} | {"L": str(N // 4), "V": str(32 * T)}
    found = [
    ByHandKernel("plain product", mm, """
__kernel void mm(__global const float* A, __global const float* B, __global float* C, int M, int N, int K) {
  int row = get_global_id(1);
  int col = get_global_id(0);
  if (row >= M || col >= N) return;
  float sum = 0.0f;
  for (int k = 0; k < K; k++) sum += A[row*K + k] * B[k*N + col];
  C[row*N + col] = sum;
}""", (N, M), (4, 4), ("B[k*N + col]", "B[k*M + col]"), {"M": "$M", "N": "$N", "K": "$K"}),
    ByHandKernel("tiled product", mm, """
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
}""", (N, M), (4, 4), ("As[r][k] * Bs[k][c];\n    barrier(CLK_LOCAL_MEM_FENCE);", "As[r][k] * Bs[k][c];"), {"N": "$N", "K": "$K"}),
    ByHandKernel("product with mad and registers", mm, """
#define W 2
kernel void mm(global const float* restrict A, global const float* restrict B, global float* restrict C) {
  const uint row = get_global_id(1), first = get_global_id(0) * W;
  float acc[W];
  for (uint w = 0; w < W; w++) acc[w] = 0.0f;
  for (uint k = 0; k < $K; k++) {
    const float a = A[row * $K + k];
    for (uint w = 0; w < W; w++) acc[w] = mad(a, B[k * $N + first + w], acc[w]);
  }
  for (uint w = 0; w < W; w++) C[row * $N + first + w] = acc[w];
}""", (N // 2, M), (4, 4), ("uint w = 0; w < W; w++) acc[w] = 0.0f", "uint w = 1; w < W; w++) acc[w] = 0.0f")),
    ByHandKernel("product by rows of vectors", mm, """
__kernel void mm(__global const float* A, __global const float4* B, __global float4* C) {
  int row = get_global_id(1), col = get_global_id(0);
  float4 acc = (float4)(0.0f);
  int k = 0;
  while (k < $K) {
    acc += A[row * $K + k] * B[k * $L + col];
    ++k;
  }
  C[row * $L + col] = acc;
}""", (N // 4, M), (2, 2), ("k < $K", "k < $K - 1")),
    ByHandKernel("tree in local memory", totals, """
__kernel void reduce(__global const float* in, __global float* out, __local float* s, const unsigned int n) {
  unsigned int lid = get_local_id(0), gid = get_global_id(0);
  s[lid] = (gid < n) ? in[gid] : 0.0f;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (unsigned int d = get_local_size(0)/2; d > 0; d >>= 1) {
    if (lid < d) s[lid] += s[lid + d];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (lid == 0) out[get_group_id(0)] = s[0];
}""", (32 * T,), (32,), ("d > 0", "d > 1"), {"s": "32", "n": "$V", "in": "x"}),
    ByHandKernel("tree with the neighbour first", totals, """
__kernel void reduce(__global const float* x, __global float* y) {
  __local float t[32];
  int l = get_local_id(0);
  t[l] = x[get_global_id(0)];
  for (int s = 1; s < 32; s *= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l % (2*s) == 0) { t[l] = t[l] + t[l + s]; }
  }
  if (l == 0) { y[get_group_id(0)] = t[0]; }
}""", (32 * T,), (32,), ("    barrier(CLK_LOCAL_MEM_FENCE);\n    if", "    if")),
    ByHandKernel("one work-item a row, four sums", totals, """
__kernel void reduce(__global const float* x, __global float* y) {
  __global const float* p = x + get_global_id(0) * 32;
  float a = 0, b = 0, c = 0, d = 0;
  for (int i = 0; i < 32; i += 4) {
    a += p[i]; b += p[i + 1]; c += p[i + 2]; d += p[i + 3];
  }
  y[get_global_id(0)] = (a + b) + (c + d);
}""", (T,), (2,), ("d += p[i + 3]", "d += p[i + 2]")),
    ByHandKernel("sum with a helper and vectors", totals, """
inline float across(float4 v) { return v.x + v.y + v.z + v.w; }
__kernel void reduce(__global const float* x, __global float* y) {
  int g = get_global_id(0);
  float4 acc = vload4(0, x + 32 * g);
  for (int i = 1; i < 8; i++) acc += vload4(i, x + 32 * g);
  y[g] = across(acc);
}""", (T,), (4,), ("v.z + v.w", "v.z + v.z")),
    ByHandKernel("transpose by tiles", flip, """
__kernel __attribute__((reqd_work_group_size(16, 16, 1)))
void transpose(__global float* out, __global const float* in, int w, int h) {
  __local float tile[16][16 + 1];
  int x = get_global_id(0), y = get_global_id(1);
  if (x < w && y < h) tile[get_local_id(1)][get_local_id(0)] = in[y*w + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  x = get_group_id(1)*16 + get_local_id(0);
  y = get_group_id(0)*16 + get_local_id(1);
  if (x < h && y < w) out[y*h + x] = tile[get_local_id(0)][get_local_id(1)];
}""", (W, H), (16, 16), ("get_group_id(1)*16", "get_group_id(0)*16"), {"w": "$W", "h": "$H", "in": "x"}),
    ByHandKernel("transpose, plain", flip, """
kernel void flip(global const float* x, global float* y) {
  size_t i = get_global_id(0), j = get_global_id(1);
  y[i * $H + j] = x[j * $W + i];
}""", (W, H), (8, 8), ("x[j * $W + i]", "x[i * $W + j]")),
    ByHandKernel("transpose of rows in turn", flip, """
kernel void flip(global const float* x, global float* y) {
  int j = get_global_id(0);
  do {
    for (int i = 0; i < $W; ++i) y[i * $H + j] = x[j * $W + i];
    j += get_global_size(0);
  } while (j < $H);
}""", (8,), (4,), ("y[i * $H + j]", "y[(i ^ 1) * $H + j]")),
    ByHandKernel("added in turns", added, """
__kernel void add(__global const float* a, __global const float* b, __global float* c, int n) {
  for (int i = get_global_id(0); i < n; i += get_global_size(0)) {
    c[i] = a[i] + b[i];
  }
}""", (16,), (8,), ("i += get_global_size(0)", "i += 2 * get_global_size(0)"), {"n": "$S"}),
    ByHandKernel("added by integer tricks", added, """
__kernel void add(__global const float* a, __global const float* b, __global float* c) {
  const uint t = get_global_id(0);
  const uint block = t >> 5, rest = t & 31u;
  c[(block << 5) | rest] = a[(block << 5) + rest] + b[t ^ 0u];
}""", (S,), (16,), ("t & 31u", "t & 15u")),
    ByHandKernel("three points with clamped ends", averages, """
__kernel void average(__global const float* x, __global float* y) {
  int i = get_global_id(0);
  int left = i > 0 ? i - 1 : 0;
  int right = min(i + 1, $S - 1);
  y[i] = x[left] + 2.0f * x[i] + x[right];
}""", (S,), (16,), ("min(i + 1, $S - 1)", "min(i + 1, $S - 2)")),
    ByHandKernel("three points through local memory", averages, """
#define G 16
__kernel void average(__global const float* x, __global float* y, int n) {
  __local float s[G + 2];
  int l = get_local_id(0), i = get_global_id(0);
  s[l + 1] = x[i];
  if (l == 0) s[0] = x[i == 0 ? 0 : i - 1];
  if (l == G - 1) s[G + 1] = x[i == n - 1 ? n - 1 : i + 1];
  barrier(CLK_LOCAL_MEM_FENCE);
  y[i] = s[l] + 2.0f * s[l + 1] + s[l + 2];
}""", (S,), (16,), ("if (l == G - 1) s[G + 1]", "if (l == G - 2) s[G + 1]"), {"n": "$S"}),
    ByHandKernel("five points", points, """
#define AT(r, c) x[(r) * W + (c)]
#define W ($F + 2)
__kernel void five(__global const float* x, __global float* y) {
  int c = get_global_id(0) + 1, r = get_global_id(1) + 1;
  y[(r - 1) * (W - 2) + c - 1] = AT(r - 1, c) + AT(r, c - 1) + AT(r, c) + AT(r, c + 1) + AT(r + 1, c);
}""", (F, F), (4, 4), ("AT(r + 1, c);", "AT(r + 1, c + 1);")),
    ByHandKernel("scan in a group", scan, """
__kernel void scan(__global const float* x, __global float* y) {
  __local float a[$P], b[$P];
  int l = get_local_id(0);
  a[l] = x[l];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int d = 1; d < $P; d <<= 1) {
    b[l] = l >= d ? a[l - d] + a[l] : a[l];
    barrier(CLK_LOCAL_MEM_FENCE);
    a[l] = b[l];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  y[l] = a[l];
}""", (P,), (P,), ("l >= d ?", "l > d ?")),
    ByHandKernel("rows in two groups of columns", rows, """
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
}""", (R, 2), (4, 2), ("int k = 12;", "int k = 11;")),
    ByHandKernel("largest of rows", largest, """
__kernel void largest(__global const float* x, __global float* y) {
  int g = get_global_id(0);
  float m = x[8 * g];
  for (int i = 0; i < 8; i++) {
    float v = x[8 * g + i];
    if (m < v) m = v;
  }
  y[g] = m;
}""", (Q,), (4,), ("if (m < v)", "if (v < m)")),
    ByHandKernel("whole numbers without a sign", counts, """
__kernel void counts(__global const int* x, __global int* y) {
  uint i = get_global_id(0);
  y[i] = as_int(as_uint(x[i]) * 3u + 1u);
}""", (S,), (32,), ("* 3u + 1u", "* 3u + 2u")),
    ]  # fmt: skip
    return [k.at(named) for k in found]


KERNELS = kernels(SMALL)
