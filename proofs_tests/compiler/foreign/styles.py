"""More kernels as people write them, each right and with one fault: habits of OpenCL that `kernels` does not have.

Swizzled, padded and doubled tiles, scans up and down a tree, copies of a group, pointers that walk or are cast,
assignments inside of expressions, functions with barriers, constants of the source, and branches on data.
"""

from __future__ import annotations

from typing import Any

from proofs_tests.compiler.foreign.kernels import (
    ByHandKernel,
    average,
    dot,
    product,
    program,
    total,
)
from relift.semantics.indices.functions import reverse
from relift.semantics.language import functions as pat
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.multidimensional import slide_nd
from relift.semantics.syntax.types import f32, i32


def blur(x: Any) -> Any:
    """The mean of the cells around each cell, but for a factor; its border repeated."""
    padded = rl.pad(1, 1, rl.clamp, pat.map(lambda row: rl.pad(1, 1, rl.clamp, row), x))
    windows = slide_nd((3, 3), (1, 1), padded)
    return pat.map(lambda row: pat.map(lambda w: total(pat.join(w)) * 0.125, row), windows)


def complex_product(p: Any) -> Any:
    """The product of two complex numbers."""
    (a, b), (c, d) = ((z[0], z[1]) for z in (p[0], p[1]))
    return pat.concat(pat.repeat(1, a * c - b * d), pat.repeat(1, a * d + b * c))


def largest_of(x: Any) -> Any:
    """The largest of an array."""
    return pat.reduce(rl.maximum, float("-inf"), x)


def share(row: Any) -> Any:
    """Each cell over the sum of all."""
    return rl.let(lambda s: pat.map(lambda v: v / s, row), total(row))


def each(f: Any) -> Any:
    """A function of each element."""
    return lambda x: pat.map(f, x)


def pairs(f: Any) -> Any:
    """A function of two arrays, pair by pair."""
    return lambda a, b: pat.map(f, rl.zip(a, b))


flip = program("flip", pat.transpose, x=f32[64, 32])
scans = program(
    "scans",
    lambda x: pat.map(lambda r: pat.scan_seq(lambda a, v: a + v, 0.0, r), pat.split(64, x)),
    x=f32[256],
)
mm = program("mm", product, A=f32[32, 32], B=f32[32, 32])
blurred = program("blurred", blur, x=f32[32, 64])
totals = program("totals", lambda x: pat.map(total, pat.split(256, x)), x=f32[2048])
odd_sum = program("odd_sum", lambda x: pat.map(total, pat.split(77, x)), x=f32[77])
eightfold = program("eightfold", each(lambda v: v * 8 + 1), x=i32[64])
scaled = program("scaled", each(lambda v: v * 2.0 + 1.0), x=f32[1024])
products = program("products", pairs(complex_product), a=f32[256, 2], b=f32[256, 2])
leaky = program("leaky", each(lambda v: rl.select(v < 0.0, 0.01 * v, v)), x=f32[512])
horner = program(
    "horner",
    lambda c, x: pat.map(lambda v: pat.reduce_seq(lambda s, k: s * v + k, 0.0, c), x),
    c=f32[8],
    x=f32[256],
)
rows = program("rows", lambda A, x: pat.map(lambda r: dot(r, x), A), A=f32[64, 96], x=f32[96])
largest = program("largest", each(largest_of), x=f32[64, 32])
magnitudes = program(
    "magnitudes",
    lambda x: pat.map(
        lambda r: pat.reduce(rl.maximum, 0.0, pat.map(rl.absolute, r)), pat.split(64, x)
    ),
    x=f32[256],
)
averages = program("averages", average, x=f32[512])
shares = program("shares", each(share), x=f32[32, 64])
convolved = program(
    "convolved",
    lambda m, x: pat.map(
        lambda row: pat.map(lambda w: dot(pat.join(w), m), row), slide_nd((3, 3), (1, 1), x)
    ),
    m=f32[9],
    x=f32[34, 34],
)
smoothed = program(
    "smoothed",
    lambda x: pat.map(lambda w: 0.25 * w[0] + 0.5 * w[1] + 0.25 * w[2], pat.slide(3, 1, x)),
    x=f32[258],
)
pooled = program(
    "pooled",
    lambda x: pat.map(
        lambda row: pat.map(lambda w: largest_of(pat.join(w)), row), slide_nd((2, 2), (2, 2), x)
    ),
    x=f32[32, 32],
)
whole = program("whole", pairs(lambda p: p[0] * 3 + p[1]), a=i32[256], b=i32[256])
turned = program("turned", lambda x: pat.gather(reverse, x), x=f32[256])
steps = program("steps", each(lambda v: rl.select(v > 0.5, 1.0, 0.0)), x=f32[256])
positive = program("positive", each(lambda v: rl.maximum(v, 0.0)), x=f32[256])
differences = program(
    "differences",
    pairs(lambda p: pat.map(lambda q: q[0] - q[1], rl.zip(p[0], p[1]))),
    a=f32[24, 40],
    b=f32[24, 40],
)

STYLES = [
ByHandKernel("xor swizzled transpose", flip, """
#define T 16
__kernel void tx(__global const float* in, __global float* out, const uint width, const uint height) {
  __local float tile[T*T];
  uint lx = get_local_id(0), ly = get_local_id(1);
  uint x = get_group_id(0)*T + lx, y = get_group_id(1)*T + ly;
  tile[ly*T + (lx ^ ly)] = in[mad24(y, width, x)];
  barrier(CLK_LOCAL_MEM_FENCE);
  uint ox = get_group_id(1)*T + lx, oy = get_group_id(0)*T + ly;
  out[mad24(oy, height, ox)] = tile[lx*T + (ly ^ lx)];
}""",(32,64),(16,16),("(ly ^ lx)]","(ly ^ (lx & 7))]"),{"in":"x","width":"32","height":"64"}),
ByHandKernel("Blelloch scan padded", scans, """
#define LOG_BANKS 4
#define CF(n) ((n) + ((n) >> LOG_BANKS))
#define N 64
__kernel void blelloch(__global const float* g_in, __global float* g_out) {
  __local float temp[CF(N-1) + 1];
  const int tid = get_local_id(0), base = get_group_id(0) * N;
  int offset = 1;
  int ai = tid, bi = tid + N/2;
  float x0 = g_in[base + ai], x1 = g_in[base + bi];
  temp[CF(ai)] = x0;
  temp[CF(bi)] = x1;
  for (int d = N >> 1; d > 0; d >>= 1) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (tid < d) {
      int i = offset*(2*tid+1)-1, j = offset*(2*tid+2)-1;
      temp[CF(j)] += temp[CF(i)];
    }
    offset *= 2;
  }
  if (tid == 0) temp[CF(N-1)] = 0;
  for (int d = 1; d < N; d *= 2) {
    offset >>= 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (tid < d) {
      int i = CF(offset*(2*tid+1)-1);
      int j = CF(offset*(2*tid+2)-1);
      float t = temp[i];
      temp[i] = temp[j];
      temp[j] += t;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  g_out[base + ai] = temp[CF(ai)] + x0;
  g_out[base + bi] = temp[CF(bi)] + x1;
}""",(128,),(32,),("temp[j] += t;","temp[j] = t;"),{"g_in":"x"}),
ByHandKernel("ping-pong scan", scans, """
__kernel void pp(__global const float* in, __global float* out) {
  __local float buf0[64]; __local float buf1[64];
  __local float* src = buf0; __local float* dst = buf1;
  size_t l = get_local_id(0);
  src[l] = in[get_global_id(0)];
  for (size_t s = 1; s < get_local_size(0); s <<= 1) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l >= s) dst[l] = src[l - s] + src[l];
    else dst[l] = src[l];
    __local float* t = src; src = dst; dst = t;
  }
  out[get_global_id(0)] = src[l];
}""",(256,),(64,),("    else dst[l] = src[l];","    else dst[l] = src[0];"),{"in":"x"}),
ByHandKernel("double buffered product", mm, """
#define TS 8
#define NT (32/TS)
__kernel void db(__global const float* A, __global const float* B, __global float* C) {
  __local float As[2][TS*TS], Bs[2][TS*TS];
  const int tx = get_local_id(0), ty = get_local_id(1);
  const int col = get_global_id(0), row = get_global_id(1);
  float acc = 0.0f;
  As[0][ty*TS+tx] = A[row*32 + tx];
  Bs[0][ty*TS+tx] = B[ty*32 + col];
  int cur = 0;
  for (int t = 0; t < NT; ++t) {
    barrier(CLK_LOCAL_MEM_FENCE);
    const int tt = t + 1;
    if (tt < NT) {
      As[tt%2][ty*TS+tx] = A[row*32 + tt*TS + tx];
      Bs[tt%2][ty*TS+tx] = B[(tt*TS+ty)*32 + col];
    }
    #pragma unroll
    for (int k = 0; k < TS; k++) acc = fma(As[cur][ty*TS+k], Bs[cur][k*TS+tx], acc);
    cur ^= 1;
  }
  C[row*32+col] = acc;
}""",(32,32),(8,8),("cur ^= 1;","cur = 0;")),
ByHandKernel("box blur tile with halo", blurred, """
#define W 64
#define H 32
#define B 8
__kernel void boxl(__global const float* src, __global float* dst) {
  __local float t[B+2][B+2];
  const int lx = get_local_id(0), ly = get_local_id(1);
  const int ox = (int)(get_group_id(0)*B) - 1, oy = (int)(get_group_id(1)*B) - 1;
  for (int i = ly*B + lx; i < (B+2)*(B+2); i += B*B) {
    int ty = i / (B+2), tx = i % (B+2);
    int gx = clamp(ox + tx, 0, W-1), gy = clamp(oy + ty, 0, H-1);
    t[ty][tx] = src[gy*W + gx];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  float s = t[ly][lx] + t[ly][lx+1] + t[ly][lx+2];
  s += t[ly+1][lx] + t[ly+1][lx+1] + t[ly+1][lx+2];
  s += t[ly+2][lx] + t[ly+2][lx+1] + t[ly+2][lx+2];
  dst[get_global_id(1)*W + get_global_id(0)] = s / 8.0f;
}""",(64,32),(8,8),("i += B*B","i += B*B + 1"),{"src":"x"}),
ByHandKernel("two loads then tree", totals, """
__kernel void red(__global const float* restrict g, __global float* restrict o, __local float* sd) {
  const uint tid = get_local_id(0);
  const uint i = get_group_id(0)*(get_local_size(0)*2) + tid;
  float mine = g[i] + g[i + get_local_size(0)];
  sd[tid] = mine;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_size(0) >= 128) { if (tid < 64) sd[tid] = mine = mine + sd[tid + 64]; barrier(CLK_LOCAL_MEM_FENCE); }
  if (get_local_size(0) >= 64) { if (tid < 32) sd[tid] = mine = mine + sd[tid + 32]; barrier(CLK_LOCAL_MEM_FENCE); }
  if (tid < 16) sd[tid] = mine = mine + sd[tid + 16]; barrier(CLK_LOCAL_MEM_FENCE);
  if (tid < 8) sd[tid] = mine = mine + sd[tid + 8]; barrier(CLK_LOCAL_MEM_FENCE);
  if (tid < 4) sd[tid] = mine = mine + sd[tid + 4]; barrier(CLK_LOCAL_MEM_FENCE);
  if (tid < 2) sd[tid] = mine = mine + sd[tid + 2]; barrier(CLK_LOCAL_MEM_FENCE);
  if (tid < 1) sd[tid] = mine = mine + sd[tid + 1];
  if (tid == 0) o[get_group_id(0)] = sd[0];
}""",(1024,),(128,),("mine + sd[tid + 4]","mine + sd[tid + 2]"),{"g":"x","sd":"128"}),
ByHandKernel("float4 loads, dot, tree", totals, """
__kernel void red4(__global const float4* g, __global float* o) {
  __local float sd[64];
  int lid = get_local_id(0);
  sd[lid] = dot(g[get_global_id(0)], (float4)(1.0f));
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int s = 32; s; s >>= 1) {
    if (lid < s) sd[lid] += sd[lid | s];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (!lid) o[get_group_id(0)] = *sd;
}""",(512,),(64,),("sd[lid | s]","sd[lid | (s >> 1)]"),{"g":"x"}),
ByHandKernel("async copies", scaled, """
__kernel void ac(__global const float* x, __global float* y) {
  __local float in[64], out[64];
  event_t e = async_work_group_copy(in, x + get_group_id(0) * 64, 64, 0);
  wait_group_events(1, &e);
  for (int i = get_local_id(0); i < 64; i += get_local_size(0)) out[i] = 2.0f * in[i] + 1.0f;
  barrier(CLK_LOCAL_MEM_FENCE);
  e = async_work_group_copy(y + get_group_id(0) * 64, out, 64, 0);
  wait_group_events(1, &e);
}""",(256,),(16,),("  barrier(CLK_LOCAL_MEM_FENCE);\n","")),
ByHandKernel("Morton order", scaled, """
inline uint compact(uint v) {
  v &= 0x55555555u;
  v = (v ^ (v >> 1)) & 0x33333333u;
  v = (v ^ (v >> 2)) & 0x0f0f0f0fu;
  v = (v ^ (v >> 4)) & 0x00ff00ffu;
  v = (v ^ (v >> 8)) & 0x0000ffffu;
  return v;
}
__kernel void mo(__global const float* x, __global float* y) {
  uint m = get_global_id(0);
  uint col = compact(m), row = compact(m >> 1);
  uint i = row * 32u + col;
  y[i] = x[i] * 2.0f + 1.0f;
}""",(1024,),(64,),("compact(m >> 1)","compact(m >> 2)")),
ByHandKernel("complex as float2", products, """
typedef float2 cplx;
static inline cplx cm(const cplx a, const cplx b) { return (cplx)(a.x*b.x - a.y*b.y, a.x*b.y + a.y*b.x); }
__kernel void cmulk(__global const cplx* a, __global const cplx* b, __global cplx* c) {
  int i = get_global_id(0);
  c[i] = cm(a[i], b[i]);
}""",(256,),(32,),("a.x*b.y + a.y*b.x","a.x*b.y - a.y*b.x")),
ByHandKernel("leaky by select builtin", leaky, """
__kernel void leaky(__global const float* x, __global float* y) {
  size_t i = get_global_id(0);
  float v = x[i];
  y[i] = select(v, 0.01f * v, isless(v, 0.0f));
}""",(512,),(64,),("isless(v, 0.0f)","isgreater(v, 0.0f)")),
ByHandKernel("Horner unrolled", horner, """
__constant int DEG = 8;
__kernel void horner(__constant float* c, __global const float* x, __global float* y) {
  const float v = x[get_global_id(0)];
  float acc = 0.0f;
  int k = 0;
  for (;;) {
    if (k == DEG) break;
    acc = acc * v + c[k++];
  }
  y[get_global_id(0)] = acc;
}""",(256,),(64,),("c[k++]","c[++k - 1 ? k - 1 : 0] * 1.5f")),
ByHandKernel("gemv in two phases", rows, """
#define COLS 96
#define WG 16
__kernel void gv(__global const float* restrict A, __global const float* restrict x, __global float* restrict y) {
  __local float xs[COLS];
  const int lid = get_local_id(0);
  for (int j = lid; j < COLS; j += WG) xs[j] = x[j];
  barrier(CLK_LOCAL_MEM_FENCE);
  const __global float* row = &A[get_global_id(0) * COLS];
  float4 acc = 0.0f;
  for (int j = 0; j < COLS; j += 4) {
    acc.x += row[j] * xs[j];
    acc.y += row[j+1] * xs[j+1];
    acc.z += row[j+2] * xs[j+2];
    acc.w += row[j+3] * xs[j+3];
  }
  float2 h = acc.lo + acc.hi;
  y[get_global_id(0)] = h.s0 + h.s1;
}""",(64,),(16,),("acc.lo + acc.hi","acc.lo + acc.lo")),
ByHandKernel("row maxima by fmax", largest, """
__kernel void rm(__global const float* x, __global float* y) {
  __local float s[8][32];
  int c = get_local_id(0), r = get_local_id(1), g = get_global_id(1);
  s[r][c] = x[g*32 + c];
  for (int d = 16; d > 0; d /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (c < d) s[r][c] = fmax(s[r][c], s[r][c + d]);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (c == 0) y[g] = s[r][0];
}""",(32,64),(32,8),("d > 0","d > 2")),
ByHandKernel("switch on the border", averages, """
__kernel void sb(__global const float* x, __global float* y) {
  const int n = get_global_size(0), i = get_global_id(0);
  int where = (i == 0) ? 0 : (i == n - 1 ? 2 : 1);
  float l, r;
  switch (where) {
    case 0: l = x[0]; r = x[1]; break;
    case 1: l = x[i-1]; r = x[i+1]; break;
    case 2: l = x[n-2]; r = x[n-1]; break;
  }
  y[i] = l + 2.0f * x[i] + r;
}""",(512,),(64,),("case 2: l = x[n-2]; r = x[n-1]; break;","case 2: l = x[n-2]; r = x[n-2]; break;")),
ByHandKernel("normalised rows", shares, """
__kernel void nk(__global const float* x, __global float* y) {
  __local float s[64];
  __local float whole;
  const int l = get_local_id(0), g = get_group_id(0);
  const float v = x[g * 64 + l];
  s[l] = v;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int d = 32; d >= 1; d = d / 2) {
    float o = 0;
    if (l < d) o = s[l + d];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < d) s[l] += o;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (l == 0) whole = s[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  y[g * 64 + l] = v / whole;
}""",(2048,),(64,),("  if (l == 0) whole = s[0];\n  barrier(CLK_LOCAL_MEM_FENCE);","  if (l == 0) whole = s[0];")),
ByHandKernel("barrier in a helper, row pointers", mm, """
#define TS 8
void load_tile(__local float t[TS][TS], __global const float* m, int r, int c, int ld) {
  t[get_local_id(1)][get_local_id(0)] = m[(r + get_local_id(1)) * ld + c + get_local_id(0)];
}
void sync_all(void) { barrier(CLK_LOCAL_MEM_FENCE); }
__kernel void mm(__global const float* A, __global const float* B, __global float* C) {
  __local float a[TS][TS], b[TS][TS];
  int lx = get_local_id(0), ly = get_local_id(1);
  int gr = get_group_id(1) * TS, gc = get_group_id(0) * TS;
  float s = 0;
  for (int k = 0; k < 32; k += TS) {
    load_tile(a, A, gr, k, 32);
    load_tile(b, B, k, gc, 32);
    sync_all();
    __local float* row = a[ly];
    for (int q = 0; q < TS; q++) s += row[q] * b[q][lx];
    sync_all();
  }
  C[(gr + ly) * 32 + gc + lx] = s;
}""",(32,32),(8,8),("b[q][lx];\n    sync_all();","b[q][lx];")),
ByHandKernel("pointers cast to float4", scaled, """
__kernel void sc(__global const float* x, __global float* y) {
  __global const float4* x4 = (__global const float4*)x;
  __global float4* y4 = (__global float4*)(y);
  uint i = get_global_id(0);
  y4[i] = x4[i] * 2.0f + 1.0f;
}""",(256,),(64,),("x4[i] * 2.0f + 1.0f","x4[i] * 2.0f + (float4)(1.0f, 1.0f, 1.0f, 2.0f)")),
ByHandKernel("parameters moved to the part of a group", scaled, """
kernel void twice(global const float* x, global float* y) {
  const size_t part = get_group_id(0)*get_local_size(0);
  x += part; y += part;
  y[get_local_id(0)] = *(x + get_local_id(0)) * 2.0f + 1.0f;
}""",(1024,),(64,),("x += part;","x += part ^ 64;")),
ByHandKernel("largest magnitudes by a macro", magnitudes, """
#define MAX(a, b) ((a) > (b) ? (a) : (b))
kernel void largest(global const float4* x, global float* y) {
  local float s[16];
  const int t = get_local_id(0);
  const float4 v = fabs(x[get_global_id(0)]);
  const float2 w = (float2)(MAX(v.x, v.z), MAX(v.y, v.w));
  s[t] = MAX(w.x, w.y);
  for (int k = 8; k > 0; k /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (t < k) s[t] = MAX(s[t], s[t + k]);
  }
  if (t == 0) y[get_group_id(0)] = s[0];
}""",(64,),(16,),("MAX(v.y, v.w)","MAX(v.y, v.z)")),
ByHandKernel("pointer walks", totals, """
__kernel void pw(__global const float* x, __global float* y) {
  __global const float* p = x + get_global_id(0) * 256;
  __global const float* const end = p + 256;
  float a = 0.0f, b = 0.0f;
  while (p < end) {
    a += *p++;
    b += *p++;
  }
  y[get_global_id(0)] = a + b;
}""",(8,),(4,),("p + 256","p + 254")),
ByHandKernel("countdown with commas", totals, """
__kernel void cd(__global const float* x, __global float* y) {
  const int base = get_global_id(0) << 8;
  float s = 0;
  int i, j;
  for (i = base, j = base + 255; i < j; i++, j--) s += x[i] + x[j];
  y[get_global_id(0)] = s;
}""",(8,),(4,),("i < j","i < j - 1")),
ByHandKernel("while n--", totals, """
__kernel void wn(__global const float* x, __global float* y) {
  int n = 256;
  float s = 0, t;
  while (n--) { s += (t = x[get_global_id(0) * 256 + n], t); }
  y[get_global_id(0)] = s;
}""",(8,),(4,),("while (n--)","while (--n)")),
ByHandKernel("max pool with ifs", pooled, """
__kernel void mp(__global const float* x, __global float* y) {
  int c = get_global_id(0), r = get_global_id(1);
  float m = -INFINITY;
  for (int dy = 0; dy < 2; dy++)
    for (int dx = 0; dx < 2; dx++) {
      float v = x[(2*r + dy)*32 + 2*c + dx];
      if (v > m) m = v;
    }
  y[r*16 + c] = m;
}""",(16,16),(8,8),("v > m","v >= 0.0f")),
ByHandKernel("integers, plain", whole, """
__kernel void ik(__global const int* a, __global const int* b, __global int* c) {
  int i = get_global_id(0);
  c[i] = a[i] * 3 + b[i];
}""",(256,),(64,),("a[i] * 3","a[i] * 2")),
ByHandKernel("swap in a local array", turned, """
__kernel void sw(__global const float* x, __global float* y) {
  float t[8];
  const int g = get_global_id(0);
  for (int i = 0; i < 8; i++) t[i] = x[g * 8 + i];
  for (int i = 0, j = 7; i < j; ++i, --j) { const float h = t[i]; t[i] = t[j]; t[j] = h; }
  vstore8((float8)(t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7]), 31 - g, y);
}""",(32,),(8,),("t[j] = h;","t[j] = t[i];")),
ByHandKernel("threshold, conditional store", steps, """
__kernel void th(__global const float* x, __global float* y) {
  int i = get_global_id(0);
  if (x[i] > 0.5f) y[i] = 1.0f;
  else y[i] = 0.0f;
}""",(256,),(64,),("x[i] > 0.5f","x[i] >= 0.5f")),
ByHandKernel("threshold, early value", steps, """
float th1(float v) { if (v > 0.5f) return 1.0f; return 0.0f; }
__kernel void th(__global const float* x, __global float* y) {
  int i = get_global_id(0);
  y[i] = th1(x[i]);
}""",(256,),(64,),("v > 0.5f","v > 0.6f")),
ByHandKernel("relu by store", positive, """
__kernel void re(__global const float* x, __global float* y) {
  int i = get_global_id(0);
  y[i] = x[i];
  if (x[i] <= 0.0f) y[i] = 0.0f;
}""",(256,),(64,),("x[i] <= 0.0f","x[i] <= -1.0f")),
ByHandKernel("difference with switch default first", differences, """
__kernel void md(__global const float* a, __global const float* b, __global float* c) {
  int x = get_global_id(0), y = get_global_id(1);
  switch (x & 1) {
    default: c[y*40 + x] = a[y*40 + x] - b[y*40 + x]; break;
    case 1: c[y*40 + x] = -(b[y*40 + x] - a[y*40 + x]); break;
  }
}""",(40,24),(8,8),("-(b","(b")),
ByHandKernel("select pointers", scaled, """
__kernel void sp(__global const float* x, __global float* y) {
  __local float a[64], b[64];
  int l = get_local_id(0);
  __local float* w = (get_group_id(0) & 1) ? a : b;
  w[l] = x[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  const __local float* q = get_group_id(0) % 2 == 0 ? b : a;
  y[get_global_id(0)] = q[63 - (63 - l)] + q[l] + 1;
}""",(1024,),(64,),("% 2 == 0","% 2 == 1")),
ByHandKernel("constant mask", smoothed, """
__constant float mask[3] = {0.25f, 0.5f, 0.25f};
__constant int R = 1;
__kernel void cv(__global const float* in, __global float* out) {
  int i = get_global_id(0);
  float acc = 0.0f;
  for (int k = -R; k <= R; ++k) acc += mask[k + R] * in[i + 1 + k];
  out[i] = acc;
}""",(256,),(64,),("0.5f, 0.25f","0.5f, 0.2f"),{"in":"x"}),
ByHandKernel("conv with halo rows in registers", convolved, """
__kernel void ch(__constant float* m, __global const float* x, __global float* y) {
  int c = get_global_id(0);
  float3 r0 = vload3(0, x + c), r1 = vload3(0, x + 34 + c), r2;
  for (int r = 0; r < 32; r++) {
    r2 = vload3(0, x + (r + 2) * 34 + c);
    y[r * 32 + c] = dot(r0, vload3(0, m)) + dot(r1, vload3(1, m)) + dot(r2, vload3(2, m));
    r0 = r1; r1 = r2;
  }
}""",(32,),(8,),("r0 = r1; r1 = r2;","r1 = r2; r0 = r1;")),
ByHandKernel("odd tree in a function", odd_sum, """
float fold(__local float* s, int l, int n) {
  while (n > 1) {
    int h = (n + 1) / 2;
    if (l + h < n) s[l] = s[l] + s[l + h];
    barrier(CLK_LOCAL_MEM_FENCE);
    n = h;
  }
  return s[0];
}
__kernel void total(__global const float* x, __global float* out) {
  __local float s[96];
  int l = get_local_id(0);
  if (l < 77) s[l] = x[l];
  barrier(CLK_LOCAL_MEM_FENCE);
  float r = fold(s, l, 77);
  if (l == 0) *out = r;
}""",(96,),(96,),("l + h < n","l + h < n - 1")),
ByHandKernel("shifts without a sign", eightfold, """
__kernel void shifted(__global const int* x, __global int* out) {
  int i = get_global_id(0);
  uint u = x[i];
  out[i] = (int)((u << 3) + 1u);
}""",(64,),(32,),("<< 3","<< 4")),
]  # fmt: skip
