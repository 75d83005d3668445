"""Kernels of habits that neither `kernels` nor `styles` has, each right and with one fault.

Updates without interruption, results left where an input was, tricks with bits and signs, cells and numbers by other
types, conditions on data that end a turn, and the usual textbook kernels in other hands.
"""

from __future__ import annotations

from typing import Any

from proofs_tests.compiler.foreign.kernels import ByHandKernel, dot, five, product, program, total
from proofs_tests.compiler.foreign.styles import each, pairs
from relift.semantics.language import functions as pat
from relift.semantics.language import vocabulary as rl
from relift.semantics.syntax.types import f32, i32


def of_rows(f: Any, n: int) -> Any:
    """A function of rows of n."""
    return lambda x: pat.map(f, pat.split(n, x))


def counted(bins: int) -> Any:
    """How many numbers end with each of so many, a power of two."""

    def count(x: Any) -> Any:
        def of_bin(b: Any) -> Any:
            return pat.reduce(
                rl.add, 0, pat.map(lambda v: rl.select(rl.equal(v & (bins - 1), b), 1, 0), x)
            )

        return pat.map(of_bin, rl.generate(bins, lambda i: i))

    return count


def positives(row: Any) -> Any:
    """How many numbers are above 0."""
    return pat.reduce(rl.add, 0, pat.map(lambda v: rl.select(v > 0.0, 1, 0), row))


def sum_of_positives(row: Any) -> Any:
    """The sum of numbers above 0."""
    return pat.reduce(rl.add, 0.0, pat.map(lambda v: rl.select(v > 0.0, v, 0.0), row))


def softmax(row: Any) -> Any:
    """Exponentials over their sum."""

    def shares(e: Any) -> Any:
        return rl.let(lambda s: pat.map(lambda v: v / s, e), total(e))

    def from_largest(m: Any) -> Any:
        return rl.let(shares, pat.map(lambda v: rl.exp(v - m), row))

    return rl.let(from_largest, pat.reduce(rl.maximum, float("-inf"), row))


def sparse(p: Any, x: Any) -> Any:
    """A row of a sparse matrix times a vector."""
    terms = pat.map(lambda q: q[0] * rl.at_runtime_unsafe(q[1], x), rl.zip(p[0], p[1]))
    return pat.reduce(rl.add, 0.0, terms)


def normal_distribution(d: Any) -> Any:
    """The cumulative one, by a polynomial."""
    k = 1.0 / (1.0 + 0.2316419 * rl.absolute(d))
    inner = k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))
    tail = 0.39894228 * rl.exp(-0.5 * d * d) * (k * (0.31938153 + k * (-0.356563782 + inner)))
    return rl.select(d > 0.0, 1.0 - tail, tail)


def ordered(p: Any) -> Any:
    """Two numbers, the smaller one first."""
    first, last = rl.minimum(p[0], p[1]), rl.maximum(p[0], p[1])
    return rl.concat(pat.repeat(1, first), pat.repeat(1, last))


def weighted(w: Any) -> Any:
    """Three numbers, the middle one twice."""
    return 0.25 * w[0] + 0.5 * w[1] + 0.25 * w[2]


either = rl.operator(lambda a, b: a ^ b, associative=True, commutative=True, name="either")

mm = program("mm", product, a=f32[16, 8], b=f32[8, 16])
totals = program("totals", of_rows(total, 32), x=f32[64])
short_totals = program("short_totals", of_rows(total, 8), x=f32[16])
scan = program("scan", of_rows(lambda r: pat.scan_seq(rl.add, 0.0, r), 16), x=f32[32])
flip = program("flip", pat.transpose, x=f32[16, 32])
twice = program("twice", each(lambda v: v * 2.0), x=f32[32])
bins = program("bins", counted(8), x=i32[64])
bins_of_few = program("bins_of_few", counted(4), x=i32[20])
heat = program("heat", five, x=f32[10, 18])
soft = program("soft", each(softmax), x=f32[4, 16])
ell = program(
    "ell",
    lambda values, columns, x: pat.map(lambda p: sparse(p, x), rl.zip(values, columns)),
    values=f32[8, 4],
    columns=i32[8, 4],
    x=f32[8],
)
csr = program(
    "csr",
    lambda values, columns, x: pat.map(
        lambda p: sparse(p, x), rl.zip(pat.split(4, values), pat.split(4, columns))
    ),
    values=f32[32],
    columns=i32[32],
    x=f32[8],
)
count = program("count", of_rows(positives, 64), x=f32[64])
imax = program("imax", of_rows(lambda r: pat.reduce(rl.maximum, -(2**31), r), 64), x=i32[64])
xors = program("xors", of_rows(lambda r: pat.reduce(either, 0, r), 64), x=i32[64])
isum = program("isum", of_rows(lambda r: pat.reduce(rl.add, 0, r), 64), x=i32[64])
bs = program("bs", each(lambda v: normal_distribution(rl.log(v))), s=f32[16])
lowest = program("lowest", each(lambda v: rl.minimum(v, 1.0)), x=f32[32])
absd = program("absd", pairs(lambda p: rl.absolute(p[0] - p[1])), a=f32[32], b=f32[32])
rot = program("rot", each(lambda v: (v & 255) * 16), x=i32[32])
saxpy = program(
    "saxpy",
    lambda a, x, y: pat.map(lambda p: a * p[0] + p[1], rl.zip(x, y)),
    a=f32,
    x=f32[32],
    y=f32[32],
)
mv = program("mv", lambda a, x: pat.map(lambda r: dot(r, x), a), a=f32[16, 32], x=f32[32])
bit = program("bit", lambda x: pat.join(pat.map(ordered, rl.split(2, x))), x=f32[32])
ibit = program("ibit", lambda x: pat.join(pat.map(ordered, rl.split(2, x))), x=i32[32])
parity = program("parity", each(lambda v: v & 1), x=i32[32])
neg1 = program("neg1", each(lambda v: rl.select(v < 0, -1, 0)), x=i32[32])
pop = program("pop", each(lambda v: v & 3), x=i32[32])
lim = program("lim", each(lambda v: rl.minimum(rl.maximum(v, -1.0), 1.0)), x=f32[32])
dist = program("dist", pairs(lambda p: rl.sqrt(p[0] * p[0] + p[1] * p[1])), x=f32[32], y=f32[32])
rev = program("rev", each(lambda v: (v & 255) * 256 + ((v // 256) & 255)), x=i32[32])
dotp = program(
    "dotp",
    lambda a, b: pat.map(lambda p: dot(p[0], p[1]), rl.zip(pat.split(32, a), pat.split(32, b))),
    a=f32[64],
    b=f32[64],
)
gray = program("gray", lambda x: pat.map(weighted, rl.split(3, x)), x=f32[48])
inf = program("inf", of_rows(sum_of_positives, 64), x=f32[64])

HABITS = [
ByHandKernel("register blocked 2x2 product, tiles", mm, """
#define TS 8
#define WPT 2
__kernel void mm(const int M, const int N, const int K, const __global float* A, const __global float* B, __global float* C) {
  const int row = get_local_id(0), col = get_local_id(1);
  const int gr = TS*get_group_id(0), gc = TS*get_group_id(1);
  __local float As[TS][TS]; __local float Bs[TS][TS+1];
  float acc[WPT][WPT];
  #pragma unroll
  for (int i=0;i<WPT;i++) for (int j=0;j<WPT;j++) acc[i][j]=0.0f;
  const int R = TS/WPT;
  for (int t=0;t<K/TS;t++) {
    for (int i=0;i<WPT;i++) for (int j=0;j<WPT;j++) {
      const int r = row+i*R, c = col+j*R;
      As[r][c] = A[(gr+r)*K + TS*t + c];
      Bs[r][c] = B[(TS*t+r)*N + gc + c];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k=0;k<TS;k++) {
      float b[WPT];
      for (int j=0;j<WPT;j++) b[j]=Bs[k][col+j*R];
      for (int i=0;i<WPT;i++) { float a = As[row+i*R][k]; for (int j=0;j<WPT;j++) acc[i][j] = fma(a, b[j], acc[i][j]); }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int i=0;i<WPT;i++) for (int j=0;j<WPT;j++) C[(gr+row+i*R)*N + gc+col+j*R] = acc[i][j];
}""", (8,8),(4,4), ("gc+col+j*R","gc+col*WPT+j"), {"M":"16","N":"16","K":"8","A":"a","B":"b"}),
ByHandKernel("reduction grid stride, unrolled tail, volatile", totals, """
inline void warp(volatile __local float *s, int t) { s[t] += s[t+4]; }
__kernel void reduce6(__global const float *g_i, __global float *g_o, __local float *s) {
  unsigned int tid = get_local_id(0), i = get_group_id(0)*(get_local_size(0)*2) + tid;
  s[tid] = g_i[i] + g_i[i+get_local_size(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (unsigned int k=get_local_size(0)>>1; k>0; k>>=1) { if (tid<k) s[tid] += s[tid+k]; barrier(CLK_LOCAL_MEM_FENCE); }
  if (tid==0) g_o[get_group_id(0)] = s[0];
}""", (32,),(16,), ("k>0; k>>=1","k>1; k>>=1"), {"s":"16"}),
ByHandKernel("Hillis-Steele one buffer two barriers", scan, """
__kernel void hs(__global const float *x, __global float *y, __local float *t) {
  int l = get_local_id(0), g = get_global_id(0), n = get_local_size(0);
  t[l] = x[g]; barrier(CLK_LOCAL_MEM_FENCE);
  for (int d=1; d<n; d*=2) { float v = t[l]; if (l>=d) v += t[l-d]; barrier(CLK_LOCAL_MEM_FENCE); t[l]=v; barrier(CLK_LOCAL_MEM_FENCE); }
  y[g] = t[l];
}""",(32,),(16,),("if (l>=d)","if (l>d)"),{"t":"16"}),
ByHandKernel("Blelloch exclusive made inclusive", scan, """
#define N 16
__kernel void bl(__global const float *in, __global float *out) {
  __local float t[N];
  int th = get_local_id(0), base = get_group_id(0)*N; int off = 1;
  t[2*th] = in[base+2*th]; t[2*th+1] = in[base+2*th+1];
  for (int d=N>>1; d>0; d>>=1) { barrier(CLK_LOCAL_MEM_FENCE); if (th<d) { int ai=off*(2*th+1)-1, bi=off*(2*th+2)-1; t[bi]+=t[ai]; } off<<=1; }
  if (!th) t[N-1]=0;
  for (int d=1; d<N; d*=2) { off>>=1; barrier(CLK_LOCAL_MEM_FENCE); if (th<d) { int ai=off*(2*th+1)-1, bi=off*(2*th+2)-1; float v=t[ai]; t[ai]=t[bi]; t[bi]+=v; } }
  barrier(CLK_LOCAL_MEM_FENCE);
  out[base+2*th] = t[2*th]+in[base+2*th]; out[base+2*th+1]=t[2*th+1]+in[base+2*th+1];
}""",(16,),(8,),("t[bi]+=v;","t[bi]=v;")),
ByHandKernel("transpose padded, thin groups", flip, """
#define TILE 8
#define ROWS 2
__kernel void tr(__global float *odata, __global const float *idata, int w, int h) {
  __local float tile[TILE*(TILE+1)];
  int x = get_group_id(0)*TILE+get_local_id(0), y = get_group_id(1)*TILE+get_local_id(1);
  for (int j=0;j<TILE;j+=ROWS) tile[(get_local_id(1)+j)*(TILE+1)+get_local_id(0)] = idata[(y+j)*w+x];
  barrier(CLK_LOCAL_MEM_FENCE);
  x = get_group_id(1)*TILE+get_local_id(0); y = get_group_id(0)*TILE+get_local_id(1);
  for (int j=0;j<TILE;j+=ROWS) odata[(y+j)*h+x] = tile[get_local_id(0)*(TILE+1)+get_local_id(1)+j];
}""",(32,4),(8,2),("x = get_group_id(1)*TILE","x = get_group_id(0)*TILE"),{"w":"32","h":"16"}),
ByHandKernel("five points, halo by edges of a group", heat, """
#define BX 8
#define BY 4
kernel void st(global const float *x, global float *y) {
  local float t[BY+2][BX+2];
  const int lx=get_local_id(0), ly=get_local_id(1), gx=get_global_id(0), gy=get_global_id(1), W=18;
  t[ly+1][lx+1]=x[(gy+1)*W+gx+1];
  if (lx==0) t[ly+1][0]=x[(gy+1)*W+gx];
  else if (lx==BX-1) t[ly+1][BX+1]=x[(gy+1)*W+gx+2];
  if (ly==0) t[0][lx+1]=x[gy*W+gx+1];
  if (ly==BY-1) t[BY+1][lx+1]=x[(gy+2)*W+gx+1];
  barrier(CLK_LOCAL_MEM_FENCE);
  y[gy*16+gx] = t[ly][lx+1]+t[ly+1][lx]+t[ly+1][lx+1]+t[ly+1][lx+2]+t[ly+2][lx+1];
}""",(16,8),(8,4),("if (ly==BY-1)","else if (lx==BX-1 && ly==BY-1)")),
ByHandKernel("stencil streaming in registers", heat, """
kernel void st(global const float * restrict x, global float * restrict y, const int rows, const int w) {
  int c = get_global_id(0) + 1;
  float above = x[c], here = x[w+c], below;
  for (int r=1; r<=rows; ++r) {
    below = x[(r+1)*w+c];
    y[(r-1)*(w-2)+c-1] = above + x[r*w+c-1] + here + x[r*w+c+1] + below;
    above = here; here = below;
  }
}""",(16,),(8,),("above = here; here = below;","here = below; above = here;"),{"rows":"8","w":"18"}),
ByHandKernel("histogram private bins then local", bins_of_few, """
kernel void h(global const int *x, global int *out, int n) {
  local int all[4]; int mine[4] = {0};
  if (get_local_id(0)<4) all[get_local_id(0)]=0;
  for (int i=get_global_id(0); i<n; i+=get_global_size(0)) mine[x[i]&3]++;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int b=0;b<4;b++) if (mine[b]) atomic_add(&all[b], mine[b]);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0)<4) (void)atomic_add(&out[get_local_id(0)], all[get_local_id(0)]);
}""",(16,),(8,),("if (get_local_id(0)<4) all","if (get_local_id(0)<3) all"),{"out":"out:0","n":"20"}),
ByHandKernel("histogram by sub-histograms per half group", bins, """
#define BINS 8
kernel void h(global const uint4 *x, global uint *out) {
  local uint sub[2*BINS];
  uint l=get_local_id(0); local uint *my = sub + (l&1)*BINS;
  sub[l]=0u;
  barrier(CLK_LOCAL_MEM_FENCE);
  uint4 v = x[get_global_id(0)];
  atomic_inc(my+(v.x&7u)); atomic_inc(my+(v.y&7u)); atomic_inc(my+(v.z&7u)); atomic_inc(my+(v.w&7u));
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l<BINS) { uint s=0; for (uint k=0;k<2;++k) s+=sub[k*BINS+l]; atomic_add(out+l,s); }
}""",(16,),(16,),("(v.w&7u)","(v.z&7u)"),{"out":"out:0"}),
ByHandKernel("softmax in one pass", soft, """
kernel void s(global const float *x, global float *y) {
  int r=get_global_id(0); float m=-INFINITY, d=0.0f;
  for (int i=0;i<16;i++) { float v=x[16*r+i], o=m; m=fmax(m,v); d=d*exp(o-m)+exp(v-m); }
  for (int i=0;i<16;i++) y[16*r+i]=exp(x[16*r+i]-m)/d; }""", (4,), (1,), ("exp(o-m)", "exp(m-o)")),
ByHandKernel("softmax of rows by a tree", soft, """
kernel void sm(global const float *x, global float *y, local float *s) {
  int l=get_local_id(0), r=get_group_id(0), n=get_local_size(0);
  float v=x[r*n+l];
  s[l]=v; barrier(CLK_LOCAL_MEM_FENCE);
  for (int d=n/2; d>0; d/=2) { if (l<d) s[l]=fmax(s[l],s[l+d]); barrier(CLK_LOCAL_MEM_FENCE); }
  float m=s[0]; barrier(CLK_LOCAL_MEM_FENCE);
  float e=exp(v-m); s[l]=e; barrier(CLK_LOCAL_MEM_FENCE);
  for (int d=n/2; d>0; d/=2) { if (l<d) s[l]+=s[l+d]; barrier(CLK_LOCAL_MEM_FENCE); }
  y[r*n+l]=e/s[0];
}""",(64,),(16,),("float m=s[0]; barrier(CLK_LOCAL_MEM_FENCE);","float m=s[0];"),{"s":"16"}),
ByHandKernel("spmv ELL column major lanes", ell, """
kernel void ell(global const float *values, global const int *columns, global const float *x, global float *y, const int w) {
  int r=get_global_id(0); float s=0;
  for (int k=0;k<w;k++) { int c=columns[r*w+k]; if (c>=0) s+=values[r*w+k]*x[c]; }
  y[r]=s;
}""",(8,),(4,),("columns[r*w+k]","columns[r*w+w-1-k]"),{"w":"4"}),
ByHandKernel("count of positives, ballot in bits", count, """
kernel void c(global const float *x, global int *out) {
  local uint bits;
  if (!get_local_id(0)) bits=0u;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (x[get_global_id(0)]>0.0f) atomic_add(&bits, 1u);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (!get_local_id(0)) atomic_add(out,(int)bits);
}""",(64,),(16,),(">0.0f",">=0.0f"),{"out":"out:0"}),
ByHandKernel("largest of whole numbers by two levels", imax, """
kernel void m(global const int *x, global int *out) {
  local int m;
  if (get_local_id(0)==0) m=INT_MIN;
  barrier(CLK_LOCAL_MEM_FENCE);
  int own=INT_MIN;
  for (size_t i=get_global_id(0); i<64; i+=get_global_size(0)) own=max(own,x[i]);
  atomic_max(&m,own);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0)==0) atomic_max(out,m);
}""",(16,),(8,),("int own=INT_MIN","int own=0"),{"out":"out:-2147483648"}),
ByHandKernel("xor of all", xors, """
kernel void m(global const int *x, global int *out) { atomic_xor(out, x[get_global_id(0)] ^ x[get_global_id(0)+32]); }""",(32,),(8,),("atomic_xor","atomic_or"),{"out":"out:0"}),
ByHandKernel("sum of whole numbers, tree", isum, """
kernel void m(global const int *x, global int *out, local int *s) {
  int l=get_local_id(0); s[l]=x[l]; barrier(CLK_LOCAL_MEM_FENCE);
  for (int d=32; d; d>>=1) { if (l<d) s[l]+=s[l+d]; barrier(CLK_LOCAL_MEM_FENCE); }
  if (l==0) *out=s[0];
}""",(64,),(64,),("d=32","d=16"),{"s":"64"}),
ByHandKernel("Black-Scholes' CND, signs by select", bs, """
#define A1 0.31938153f
#define A2 -0.356563782f
#define A3 1.781477937f
#define A4 -1.821255978f
#define A5 1.330274429f
#define RSQRT2PI 0.39894228f
float CND(float d) {
  float K=1.0f/(1.0f+0.2316419f*fabs(d));
  float c=RSQRT2PI*exp(-0.5f*d*d)*(K*(A1+K*(A2+K*(A3+K*(A4+K*A5)))));
  if (d>0) c=1.0f-c;
  return c;
}
kernel void b(global const float *s, global float *out) { int i=get_global_id(0); out[i]=CND(log(s[i])); }
""",(16,),(8,),("A3 1.781477937f","A3 -1.781477937f")),
ByHandKernel("minimum by bitselect of comparisons", lowest, """
kernel void b(global const float *x, global float *out) { int i=get_global_id(0)*4; float4 v=vload4(0,x+i); float4 w=select((float4)(1.0f), v, v<1.0f); vstore4(w,0,out+i); }
""",(8,),(4,),("v<1.0f","v>1.0f")),
ByHandKernel("absolute by as_uint mask", absd, """
kernel void b(global const float *a, global const float *b, global float *out) { int i=get_global_id(0); out[i]=as_float(as_uint(a[i]-b[i]) & 0x7fffffffu); }
""",(32,),(8,),("0x7fffffffu","0xffffffffu")),
ByHandKernel("shifts by rotate and mul24", rot, """
kernel void b(global const int *x, global int *out) { int i=mad24((int)get_group_id(0),(int)get_local_size(0),(int)get_local_id(0)); uint v=(uint)x[i]&255u; out[i]=(int)rotate(v,4u); }
""",(32,),(8,),("rotate(v,4u)","rotate(v,5u)")),
ByHandKernel("saxpy in place", saxpy, """
kernel void s(global float *y, const global float *x, float a) { size_t i=get_global_id(0); y[i]=mad(a,x[i],y[i]); }
""",(32,),(8,),("mad(a,x[i],y[i])","mad(a,y[i],x[i])")),
ByHandKernel("gemv a row a group, float4, tree", mv, """
kernel void g(global const float4 *a, global const float4 *x, global float *y) {
  local float s[8]; int l=get_local_id(0), r=get_group_id(0);
  s[l]=dot(a[r*8+l],x[l]);
  for (int d=4; d>0; d>>=1) { barrier(CLK_LOCAL_MEM_FENCE); if (l<d) s[l]+=s[l+d]; }
  if (l==0) y[r]=s[0];
}""",(128,),(8,),("a[r*8+l],x[l]","a[r*8+l],x[l^1]")),
ByHandKernel("bitonic step in place", bit, """
kernel void bs(global float *x, const uint j, const uint k) {
  uint i=get_global_id(0), p=i^j;
  if (p>i) { float a=x[i], b=x[p]; if ((i&k)==0) { if (a>b) { x[i]=b; x[p]=a; } } else { if (a<b) { x[i]=b; x[p]=a; } } }
}""",(32,),(8,),("if (a>b)","if (a<b)"),{"j":"1","k":"32"}),
ByHandKernel("bitonic step, whole numbers, min and max", ibit, """
kernel void bs(global int *x) {
  int i=get_global_id(0); int a=x[2*i], b=x[2*i+1];
  x[2*i]=min(a,b); x[2*i+1]=a>b?a:b;
}""",(16,),(8,),("a>b?a:b","a<b?a:b")),
ByHandKernel("parity by shifts", parity, """
kernel void p(global const int *x, global int *out) { int i=get_global_id(0); uint v=as_uint(x[i]); out[i]=(int)((v<<31)>>31); }
""",(32,),(8,),("<<31)>>31","<<30)>>31")),
ByHandKernel("sign by a shift", neg1, """
kernel void p(global const int *x, global int *out) { int i=get_global_id(0); out[i]=x[i]>>31; }
""",(32,),(8,),(">>31",">>30")),
ByHandKernel("copy through async, do while, switch", twice, """
kernel void p(global const float *x, global float *out) {
  local float t[8]; event_t e=async_work_group_copy(t, x+get_group_id(0)*8, 8, 0); wait_group_events(1,&e);
  int i=get_local_id(0), k=0; float v=0.0f;
  do { switch (k&1) { case 0: v+=t[i]; break; case 1: v=v+t[i]; break; default: v=-1.0f; } } while (++k<2);
  out[get_global_id(0)]=v;
}""",(32,),(8,),("++k<2","k++<2")),
ByHandKernel("warp style reduction, helper with pointer", totals, """
void add_into(volatile __local float *s, uint t, uint d) { s[t] += s[t+d]; }
__kernel void r(__global const float *x, __global float *y, __local volatile float *s) {
  uint t=get_local_id(0); s[t]=x[get_group_id(0)*32+t]+x[get_group_id(0)*32+t+16];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (t<8) add_into(s,t,8); barrier(CLK_LOCAL_MEM_FENCE);
  if (t<4) add_into(s,t,4); barrier(CLK_LOCAL_MEM_FENCE);
  if (t<2) add_into(s,t,2); barrier(CLK_LOCAL_MEM_FENCE);
  if (t<1) { add_into(s,t,1); y[get_group_id(0)]=*s; }
}""",(32,),(16,),("if (t<4) add_into(s,t,4)","if (t<4) add_into(s,t,3)"),{"s":"16"}),
ByHandKernel("csr with row pointers computed", csr, """
typedef unsigned int u32;
__kernel void spmv(const __global float *values, const __global int *columns, const __global float *x, __global float *y) {
  const u32 row=get_global_id(0); const u32 start=row<<2, end=start+4u;
  float sum=0.0f;
  for (u32 j=start; j<end; ++j) sum=mad(values[j], x[columns[j]], sum);
  y[row]=sum;
}""",(8,),(8,),("end=start+4u","end=start+3u")),
ByHandKernel("clamp by ifs", lim, """kernel void c(global const float *x, global float *y) { float v=x[get_global_id(0)]; if (v>1.0f) v=1.0f; else if (v<-1.0f) v=-1.0f; y[get_global_id(0)]=v; }""",(32,),(8,),("v<-1.0f","v<0.0f")),
ByHandKernel("length by length", dist, """kernel void c(global const float *x, global const float *y, global float *out) { size_t i=get_global_id(0); out[i]=length((float2)(x[i],y[i])); }""",(32,),(8,),("y[i]","x[i]")),
ByHandKernel("bytes swapped", rev, """kernel void c(global const int *x, global int *out) { size_t i=get_global_id(0); uint v=as_uint(x[i]); out[i]=((v & 0xffu) << 8) | ((v >> 8) & 0xffu); }""",(32,),(8,),(">> 8",">> 9")),
ByHandKernel("dot strided", dotp, """kernel void d(global const float *a, global const float *b, global float *o, local float *s) {
 int l=get_local_id(0); int base=get_group_id(0)*32; float t=0;
 for (int i=l; i<32; i+=get_local_size(0)) t+=a[base+i]*b[base+i];
 s[l]=t; barrier(CLK_LOCAL_MEM_FENCE);
 for (int d=get_local_size(0)/2; d>0; d=d/2) { if (l<d) s[l]=s[l]+s[l+d]; barrier(CLK_LOCAL_MEM_FENCE); }
 if (!l) o[get_group_id(0)]=s[0]; }""",(16,),(8,),("i=l;","i=l+1;"),{"s":"8"}),
ByHandKernel("grey by s0 s1 s2", gray, """kernel void g(global const float *x, global float *y) { size_t i=get_global_id(0); float3 p=vload3(i,x); y[i]=p.s0*0.25f+p.s1*0.5f+p.s2*0.25f; }""",(16,),(4,),("p.s2","p.s1")),
ByHandKernel("sum of positives with continue", inf, """kernel void g(global const float *x, global float *y) { float s=0; for (int i=0;i<64;i++) { if (x[i]<=0.0f) continue; s+=x[i]; } y[0]=s; }""",(1,),(1,),("<=0.0f",">=0.0f")),
ByHandKernel("masks by popcount", pop, """kernel void g(global const int *x, global int *y) { int i=get_global_id(0); y[i]=(popcount(x[i]&1)) + 2*popcount(x[i]&2); }""",(32,),(8,),("2*pop","pop")),
ByHandKernel("masks by bitselect", pop, """kernel void g(global const int *x, global int *y) { int i=get_global_id(0); y[i]=bitselect(0, x[i], 3); }""",(32,),(8,),(", 3)",", 7)")),
ByHandKernel("clamp by bitselect", lim, """kernel void c(global const float4 *x, global float4 *y) { float4 v=x[get_global_id(0)]; v=select(v,(float4)(1.0f),isgreater(v,(float4)(1.0f))); v=v<(float4)(-1.0f)?(float4)(-1.0f):v; y[get_global_id(0)]=v; }""",(8,),(8,),("isgreater","isless")),
ByHandKernel("enum constants", lim, """enum { N = 32 }; kernel void c(global const float *x, global float *y) { for (int i=get_global_id(0); i<N; i+=8) y[i]=clamp(x[i],-1.0f,1.0f); }""",(8,),(8,),("i<N","i<N-1")),
ByHandKernel("char pointers and uchar", lim, """kernel void c(global const float *x, global float *y) { uchar k=(uchar)get_local_id(0); ushort g=(ushort)get_group_id(0); y[g*8+k]=fmin(1.0f,fmax(-1.0f,x[g*8+k])); }""",(32,),(8,),("g*8+k]=","g*8+7-k]=")),
ByHandKernel("kahan", short_totals, """kernel void c(global const float *x, global float *y) { float s=0,c=0; for (int i=0;i<8;i++) { float v=x[get_global_id(0)*8+i]-c; float t=s+v; c=(t-s)-v; s=t; } y[get_global_id(0)]=s; }""",(2,),(1,),("(t-s)-v","(t-s)+v")),
]  # fmt: skip
