"""Kernels with structs and unions, and textbook kernels in yet other hands, each right and with one fault."""

from __future__ import annotations

from typing import Any

from proofs_tests.compiler.foreign.data_decides import by, sorted_floats
from proofs_tests.compiler.foreign.habits import bins, of_rows
from proofs_tests.compiler.foreign.kernels import ByHandKernel, product, program, total
from relift.semantics.language import functions as pat
from relift.semantics.language import vocabulary as rl
from relift.semantics.syntax.types import f32


def both(first: Any, second: Any) -> Any:
    """Two numbers in a row."""
    return rl.concat(pat.repeat(1, first), pat.repeat(1, second))


edges = program("edges", product, a=f32[10, 7], b=f32[7, 12])
totals_of_64 = program("totals_of_64", of_rows(total, 64), x=f32[128])
sums_of_32 = program("sums_of_32", of_rows(lambda r: pat.scan_seq(rl.add, 0.0, r), 32), x=f32[64])
largest_of_32 = program(
    "largest_of_32", of_rows(lambda r: pat.reduce(rl.maximum, float("-inf"), r), 32), x=f32[64]
)
squares = program("squares", of_rows(lambda p: p[0] * p[0] + p[1] * p[1], 2), x=f32[16])
squared = program(
    "squared",
    by(2, lambda p: both(p[0] * p[0] - p[1] * p[1], p[0] * p[1] + p[1] * p[0])),
    x=f32[16],
)
swapped = program("swapped", by(2, lambda p: both(p[1], p[0])), x=f32[16])

RECORDS = [
ByHandKernel("tiled edge guards", edges, """
#define T 4
kernel void mm(global const float*a, global const float*b, global float*c, int n, int m, int kk) {
 local float A[T][T], B[T][T]; int r=get_global_id(1), col=get_global_id(0), lr=get_local_id(1), lc=get_local_id(0); float s=0;
 for (int t=0;t<(kk+T-1)/T;t++) { int ak=t*T+lc, bk=t*T+lr;
  A[lr][lc] = (r<n && ak<kk) ? a[r*kk+ak] : 0.0f; B[lr][lc] = (bk<kk && col<m) ? b[bk*m+col] : 0.0f;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int q=0;q<T;q++) s += A[lr][q]*B[q][lc];
  barrier(CLK_LOCAL_MEM_FENCE); }
 if (r<n && col<m) c[r*m+col]=s; }""", (12, 12), (4, 4), ("ak<kk", "ak<=kk"), {"n": "10", "m": "12", "kk": "7"}),
ByHandKernel("bitonic local", sorted_floats, """
kernel void b(global const float*x, global float*y, local float*s) { int l=get_local_id(0), g=get_global_id(0); s[l]=x[g]; barrier(CLK_LOCAL_MEM_FENCE);
 for (int k=2;k<=4;k<<=1) for (int j=k>>1;j>0;j>>=1) { int p=l^j; if (p>l) { bool up=(l&k)==0; float a=s[l],c=s[p]; if ((a>c)==up) { s[l]=c; s[p]=a; } } barrier(CLK_LOCAL_MEM_FENCE); }
 y[g]=s[l]; }""", (16,), (4,), ("==up", "!=up"), {"s": "4"}),
ByHandKernel("odd even transposition", sorted_floats, """
kernel void b(global const float*x, global float*y, local float*s) { int l=get_local_id(0), g=get_global_id(0), n=get_local_size(0); s[l]=x[g]; barrier(CLK_LOCAL_MEM_FENCE);
 for (int t=0;t<n;t++) { int i=2*l+(t&1); if (l<n/2 && i+1<n) { float a=s[i],c=s[i+1]; if (a>c) { s[i]=c; s[i+1]=a; } } barrier(CLK_LOCAL_MEM_FENCE); } y[g]=s[l]; }""", (16,), (4,), ("t<n", "t<n-1"), {"s": "4"}),
ByHandKernel("kogge stone double", sums_of_32, """
kernel void k(global const float*x, global float*y, local float*a, local float*b) { int l=get_local_id(0), g=get_global_id(0); a[l]=x[g]; barrier(CLK_LOCAL_MEM_FENCE);
 for (int o=1;o<32;o<<=1) { b[l] = l>=o ? a[l]+a[l-o] : a[l]; barrier(CLK_LOCAL_MEM_FENCE); local float*t=a; a=b; b=t; } y[g]=a[l]; }""", (64,), (32,), ("l>=o", "l>o"), {"a": "32", "b": "32"}),
ByHandKernel("struct by value", totals_of_64, """
typedef struct { float s; int n; } Acc;
kernel void r(global const float*x, global float*y) { int g=get_global_id(0); Acc a; a.s=0; a.n=0; for (int i=0;i<64;i++) { a.s+=x[g*64+i]; a.n++; } y[g]=a.s; }""", (2,), (1,), ("a.n++", "a.s++")),
ByHandKernel("struct function", totals_of_64, """
struct acc { float s; int n; };
struct acc add(struct acc a, float v) { a.s+=v; a.n+=1; return a; }
kernel void r(global const float*x, global float*y) { int g=get_global_id(0); struct acc a={0.0f,0}; for (int i=0;i<64;i++) a=add(a,x[g*64+i]); y[g]= a.n==64 ? a.s : 0; }""", (2,), (1,), ("a.n+=1", "a.n+=2")),
ByHandKernel("struct ptr", totals_of_64, """
typedef struct { float s; int n; } Acc;
void add(Acc *a, float v) { a->s+=v; a->n++; }
kernel void r(global const float*x, global float*y) { int g=get_global_id(0); Acc a={0,0}; for (int i=0;i<64;i++) add(&a,x[g*64+i]); y[g]=a.s; }""", (2,), (1,), ("a->s+=v", "a->s=v")),
ByHandKernel("union bits", totals_of_64, """
typedef union { float f; uint u; } U;
kernel void r(global const float*x, global float*y) { int g=get_global_id(0); float s=0; for (int i=0;i<64;i++) { U q; q.f=x[g*64+i]; q.u ^= 0x80000000u; s -= q.f; } y[g]=s; }""", (2,), (1,), ("s -=", "s +=")),
ByHandKernel("struct aos read", squares, """
typedef struct { float re, im; } C;
kernel void c(global const C*x, global float*y) { int g=get_global_id(0); C v=x[g]; y[g]=v.re*v.re+x[g].im*v.im; }""", (8,), (4,), ("x[g].im", "x[g].re")),
ByHandKernel("struct aos write", squared, """
struct C { float re; float im; };
struct C mul(const struct C a, struct C b) { struct C result; result.re=a.re*b.re-a.im*b.im; result.im=a.re*b.im+a.im*b.re; return result; }
kernel void c(global const struct C*x, global struct C*y) { int g=get_global_id(0); struct C v=x[g]; y[g]=mul(v,v); }""", (8,), (4,), ("a.re*b.re-", "a.re*b.re+")),
ByHandKernel("struct return literal", squared, """
typedef struct { float re, im; } C;
C mul(C a, C b) { return (C){a.re*b.re-a.im*b.im, a.re*b.im+a.im*b.re}; }
kernel void c(global const C*x, global C*y) { int g=get_global_id(0); y[g]=mul(x[g],x[g]); }""", (8,), (4,), ("a.re*b.im+", "a.im*b.im+")),
ByHandKernel("struct swap literal", swapped, """
typedef struct { float a, b; } C;
kernel void c(global const C*x, global C*y) { int g=get_global_id(0); C v=x[g]; v=(C){v.b, v.a}; y[g]=v; }""", (8,), (4,), ("v.b, v.a", "v.a, v.b")),
ByHandKernel("struct swap helper ptr", swapped, """
typedef struct { float a, b; } C;
C sw(C *p) { C r; r.a=p->b; r.b=p->a; p->a=0; return r; }
kernel void c(global const C*x, global C*y) { int g=get_global_id(0); C v=x[g]; v=sw(&v); y[g]=v; }""", (8,), (4,), ("r.b=p->a; p->a=0;", "p->a=0; r.b=p->a;")),
ByHandKernel("struct global helper", squares, """
typedef struct { float re, im; } C;
float n(global const C*p, int i) { return p[i].re*p[i].re+p[i].im*p[i].im; }
kernel void c(global const C*x, global float*y) { int g=get_global_id(0); y[g]=n(x,g); }""", (8,), (4,), ("p[i].im*p", "p[i].re*p")),
ByHandKernel("struct nested arrays", squares, """
typedef struct { float v[2]; } V; typedef struct { V in; int k; } W;
kernel void c(global const float*x, global float*y) { int g=get_global_id(0); W w; w.k=g; for (int i=0;i<2;i++) w.in.v[i]=x[2*g+i]; W u=w; y[u.k]=u.in.v[0]*w.in.v[0]+u.in.v[1]*u.in.v[1]; }""", (8,), (4,), ("w.k=g", "w.k=7-g")),
ByHandKernel("struct argmax global", largest_of_32, """
typedef struct { float v; int i; } P;
P better(P a, P b) { if (b.v > a.v) return b; return a; }
kernel void a(global const float*x, global float*y) { int g=get_global_id(0); P m={x[32*g],0}; for (int i=1;i<32;i++) { P c; c.v=x[32*g+i]; c.i=i; m=better(m,c); } y[g]=m.v; }""", (2,), (1,), ("b.v > a.v", "b.v < a.v")),
ByHandKernel("struct one or another", largest_of_32, """
typedef struct { float v; int i; } P;
P of(float v, int i) { P p; p.v=v; p.i=i; return p; }
P better(P a, P b) { return b.v > a.v ? b : a; }
kernel void a(global const float*x, global float*y) { int g=get_global_id(0); P m=of(x[32*g],0); for (int i=1;i<32;i++) m = i<32 ? better(m, of(x[32*g+i],i)) : m; P q = m.i<32 ? m : of(0,0); y[g]=q.v; }""", (2,), (1,), ("b : a", "a : b")),
ByHandKernel("struct local atomics", bins, """
typedef struct { int n; int pad; } B;
kernel void h(global const int*x, global int*o) { local B b[8]; int l=get_local_id(0); if (l<8) { b[l].n=0; b[l].pad=7; } barrier(CLK_LOCAL_MEM_FENCE); atomic_inc(&b[x[get_global_id(0)]&7].n); barrier(CLK_LOCAL_MEM_FENCE); if (l<8) atomic_add(&o[l], b[l].n); }""", (64,), (32,), ("b[l].n=0", "b[l].n=1"), {"o": "out:0"}),
ByHandKernel("struct float4 member", squares, """
typedef struct { float2 v; } V;
kernel void c(global const float2*x, global float*y) { int g=get_global_id(0); V w; w.v=x[g]; w.v.x*=w.v.x; y[g]=w.v.x+w.v.y*w.v.y; }""", (8,), (4,), ("w.v.x*=w.v.x", "w.v.x*=w.v.y")),
ByHandKernel("struct pointer moved", squares, """
typedef struct { float re, im; } C;
float n(global const C*p) { return p->re*p->re+p->im*p->im; }
kernel void c(global const C*x, global float*y) { int g=get_global_id(0); x += g; y[g]=n(x); }""", (8,), (4,), ("x += g", "x += 2*g")),
ByHandKernel("struct pointers compared", squares, """
struct C { float re, im; };
kernel void c(global const struct C*x, global float*y) { const global struct C *q=&x[get_global_id(0)], *end = 0 ? x : x + get_global_id(0) + 1, *p;
 for (p=q; p<end; p++) y[p-x]=q->re*p->re+(*p).im*(q+1-1)->im; }""", (8,), (4,), ("q+1-1", "q-1+1+(q-x)/7")),
]  # fmt: skip
