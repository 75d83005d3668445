"""Kernels in which data decide what a work-item does, each right and with one fault.

Sorting, searching, counting, compares and exchanges, loops and functions that end early, switches, and places in arrays
that data choose.
"""

from __future__ import annotations

from typing import Any

from proofs_tests.compiler.foreign.habits import of_rows, positives
from proofs_tests.compiler.foreign.kernels import ByHandKernel, program
from proofs_tests.compiler.foreign.styles import each
from relift.semantics.language import functions as pat
from relift.semantics.language import vocabulary as rl
from relift.semantics.syntax.types import f32, i32


def in_order(r: Any) -> Any:
    """Four numbers, the smallest one first."""
    low, high = rl.minimum, rl.maximum
    a, b, c, d = low(r[0], r[1]), high(r[0], r[1]), low(r[2], r[3]), high(r[2], r[3])
    m, n = high(a, c), low(b, d)
    rows = [pat.repeat(1, v) for v in (low(a, c), low(m, n), high(m, n), high(b, d))]
    return rl.concat(rl.concat(rows[0], rows[1]), rl.concat(rows[2], rows[3]))


def median(r: Any) -> Any:
    """The middle one of three numbers."""
    low, high = rl.minimum(r[0], r[1]), rl.maximum(r[0], r[1])
    return rl.maximum(low, rl.minimum(high, r[2]))


def place_of_negative(r: Any) -> Any:
    """Where the first number below 0 is; 8 where none is."""
    numbered = rl.zip(r, rl.generate(8, lambda i: i))
    return pat.reduce(rl.minimum, 8, pat.map(lambda p: rl.select(p[0] < 0.0, p[1], 8), numbered))


def place_of_smallest(r: Any) -> Any:
    """Where the smallest of 16 numbers is; of equal ones the first."""

    def smaller(a: Any, p: Any) -> Any:
        return tuple(rl.select(p[0] < a[0], new, old) for new, old in zip(p, a, strict=True))

    numbered = rl.zip(r, rl.generate(16, lambda i: i))
    return rl.let(lambda p: p[1], pat.reduce_seq(smaller, (float("inf"), 0), numbered))


def bins_of_twelve(r: Any) -> Any:
    """How many of some numbers are 0, 1, and so on up to 11."""

    def counted(j: Any) -> Any:
        return pat.reduce(rl.add, 0, pat.map(lambda v: rl.select(rl.equal(v, j), 1, 0), r))

    return rl.generate(12, counted)


def by(n: int, f: Any) -> Any:
    """A function of rows of n, whose results stand in one row."""
    return lambda x: pat.join(pat.map(f, rl.split(n, x)))


sorted_floats = program("sorted_floats", by(4, in_order), x=f32[16])
sorted_wholes = program("sorted_wholes", by(4, in_order), x=i32[16])
medians = program("medians", lambda x: pat.map(median, rl.split(3, x)), x=f32[12])
first_negative = program("first_negative", of_rows(place_of_negative, 8), x=f32[16])
largest = program(
    "largest", of_rows(lambda r: pat.reduce(rl.maximum, float("-inf"), r), 8), x=f32[16]
)
smallest = program("smallest", of_rows(place_of_smallest, 16), x=f32[48])
binned = program("binned", by(16, bins_of_twelve), x=i32[32])
counted = program("counted", of_rows(positives, 8), x=f32[16])
limited = program("limited", each(lambda v: rl.minimum(rl.maximum(v, -1.0), 1.0)), x=f32[16])
sizes = program("sizes", each(rl.absolute), x=f32[16])

one_or_other = program(
    "one_or_other",
    lambda x, z: pat.map(lambda p: rl.select(p[0] > 0.0, p[0], p[1]), rl.zip(x, z)),
    x=f32[8],
    z=f32[8],
)
doubles = program("doubles", each(lambda v: v * 2.0), x=f32[8])


def compacted(x: Any) -> Any:
    """The numbers above 0 in their order, and zeros behind them: each at the place that as many before it make."""

    def place(i: Any) -> Any:
        numbered = rl.zip(rl.generate(8, lambda i: i), x)
        kept = pat.map(lambda e: rl.select((e[0] < i) & (e[1] > 0.0), 1, 0), numbered)
        return pat.reduce(rl.add, 0, kept)

    def at(j: Any) -> Any:
        places = rl.zip(pat.map(place, rl.generate(8, lambda i: i)), x)
        here = pat.map(lambda e: rl.select((e[1] > 0.0) & rl.equal(e[0], j), e[1], 0.0), places)
        return pat.reduce(rl.add, 0.0, here)

    return pat.map(at, rl.generate(8, lambda i: i))


DATA_DECIDES = [
ByHandKernel("compaction by a scan", program("compacted", compacted, x=f32[8]), """
kernel void compact(global const float *x, global float *y) { local int s[8]; int t = get_local_id(0);
 float v = x[t]; int keep = v > 0.0f; s[t] = keep; y[t] = 0.0f;
 barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
 for (int d = 1; d < 8; d <<= 1) {
  int before = t >= d ? s[t - d] : 0; barrier(CLK_LOCAL_MEM_FENCE);
  s[t] += before; barrier(CLK_LOCAL_MEM_FENCE); }
 if (keep) y[s[t] - 1] = v; }
""",(8,),(8,),("s[t] - 1","s[t]"),{"y":"out"}),
ByHandKernel("insertion private", sorted_floats, """
kernel void s(global const float *x, global float *y) { int g=get_global_id(0); float a[4];
 for (int i=0;i<4;i++) a[i]=x[4*g+i];
 for (int i=1;i<4;i++) { float v=a[i]; int j=i-1; while (j>=0 && a[j]>v) { a[j+1]=a[j]; j--; } a[j+1]=v; }
 for (int i=0;i<4;i++) y[4*g+i]=a[i]; }""", (4,), (2,), ("a[j]>v", "a[j]<v")),
ByHandKernel("insertion in place global", sorted_floats, """
kernel void s(global const float *x, global float *y) { int g=get_global_id(0); global float *a=y+4*g;
 for (int i=0;i<4;i++) { float v=x[4*g+i]; int j=i; while (j>0) { if (a[j-1]<=v) break; a[j]=a[j-1]; --j; } a[j]=v; } }""", (4,), (2,), ("a[j-1]<=v", "a[j-1]>=v")),
ByHandKernel("bubble", sorted_floats, """
kernel void s(global const float *x, global float *y) { int g=get_global_id(0); float a[4];
 for (int i=0;i<4;i++) a[i]=x[4*g+i];
 for (int n=3;n>0;n--) for (int i=0;i<n;i++) if (a[i]>a[i+1]) { float t=a[i]; a[i]=a[i+1]; a[i+1]=t; }
 for (int i=0;i<4;i++) y[4*g+i]=a[i]; }""", (4,), (2,), ("n=3", "n=2")),
ByHandKernel("bubble early exit", sorted_floats, """
kernel void s(global const float *x, global float *y) { int g=get_global_id(0); float a[4];
 for (int i=0;i<4;i++) a[i]=x[4*g+i];
 bool swapped=true; for (int n=3;n>0 && swapped;n--) { swapped=false; for (int i=0;i<n;i++) if (a[i]>a[i+1]) { float t=a[i]; a[i]=a[i+1]; a[i+1]=t; swapped=true; } }
 for (int i=0;i<4;i++) y[4*g+i]=a[i]; }""", (4,), (2,), ("swapped=true; }", "swapped=(i==0); }")),
ByHandKernel("selection", sorted_floats, """
kernel void s(global const float *x, global float *y) { int g=get_global_id(0); float a[4];
 for (int i=0;i<4;i++) a[i]=x[4*g+i];
 for (int i=0;i<3;i++) { int m=i; for (int j=i+1;j<4;j++) if (a[j]<a[m]) m=j; float t=a[i]; a[i]=a[m]; a[m]=t; }
 for (int i=0;i<4;i++) y[4*g+i]=a[i]; }""", (4,), (2,), ("a[m]=t", "a[i]=t")),
ByHandKernel("insertion ints", sorted_wholes, """
kernel void s(global const int *x, global int *y) { int g=get_global_id(0); int a[4];
 for (int i=0;i<4;i++) a[i]=x[4*g+i];
 for (int i=1;i<4;i++) { int v=a[i]; int j=i-1; while (j>=0 && a[j]>v) { a[j+1]=a[j]; j--; } a[j+1]=v; }
 for (int i=0;i<4;i++) y[4*g+i]=a[i]; }""", (4,), (2,), ("a[j]>v", "a[j]<v")),
ByHandKernel("rank sort", sorted_floats, """
kernel void s(global const float *x, global float *y) { int g=get_global_id(0);
 for (int i=0;i<4;i++) { int r=0; for (int j=0;j<4;j++) { if (x[4*g+j]<x[4*g+i] || (x[4*g+j]==x[4*g+i] && j<i)) r++; } y[4*g+r]=x[4*g+i]; } }""", (4,), (2,), ("&& j<i", "&& j<=i")),
ByHandKernel("compare swap", medians, """
void cas(float *a, float *b) { if (*a > *b) { float t=*a; *a=*b; *b=t; } }
kernel void s(global const float *x, global float *y) { int g=get_global_id(0); float a[3]; a[0]=x[3*g]; a[1]=x[3*g+1]; a[2]=x[3*g+2];
 cas(&a[0],&a[1]); cas(&a[1],&a[2]); cas(&a[0],&a[1]); y[g]=a[1]; }""", (4,), (2,), ("cas(&a[1],&a[2]); ", "")),
ByHandKernel("median by ifs", medians, """
kernel void s(global const float *x, global float *y) { int g=get_global_id(0); float a=x[3*g],b=x[3*g+1],c=x[3*g+2];
 if (a>b) { if (b>c) y[g]=b; else if (a>c) y[g]=c; else y[g]=a; } else { if (a>c) y[g]=a; else if (b>c) y[g]=c; else y[g]=b; } }""", (4,), (2,), ("else if (a>c) y[g]=c", "else if (a<c) y[g]=c")),
ByHandKernel("find first break", first_negative, """
kernel void s(global const float *x, global int *y) { int g=get_global_id(0); int i; for (i=0;i<8;i++) if (x[8*g+i]<0) break; y[g]=i; }""", (2,), (1,), ("i=0;i<8", "i=1;i<8")),
ByHandKernel("find first return", first_negative, """
kernel void s(global const float *x, global int *y) { int g=get_global_id(0); for (int i=0;i<8;i++) if (x[8*g+i]<0) { y[g]=i; return; } y[g]=8; }""", (2,), (1,), ("y[g]=8", "y[g]=7")),
ByHandKernel("find first helper", first_negative, """
int f(global const float *p, int n) { for (int i=0;i<n;i++) { if (p[i]>=0) continue; return i; } return n; }
kernel void s(global const float *x, global int *y) { int g=get_global_id(0); y[g]=f(x+8*g,8); }""", (2,), (1,), ("return n", "return n-1")),
ByHandKernel("find first while flag", first_negative, """
kernel void s(global const float *x, global int *y) { int g=get_global_id(0); int found=0,i=0; while (!found && i<8) { if (x[8*g+i]<0) found=1; else i++; } y[g]=i; }""", (2,), (1,), ("i<8", "i<7")),
ByHandKernel("max if", largest, """
kernel void s(global const float *x, global float *y) { int g=get_global_id(0); float m=x[8*g]; int k=0; for (int i=1;i<8;i++) if (x[8*g+i]>m) { m=x[8*g+i]; k=i; } y[g]=x[8*g+k]; }""", (2,), (1,), ("k=i", "k=i-1")),
ByHandKernel("smallest by a tree", smallest, """
kernel void s(global const float *x, global int *y) {
  local float v[16]; local int at[16]; int t=get_local_id(0), g=get_group_id(0); v[t]=x[16*g+t]; at[t]=t;
  for (int s=8;s>0;s/=2) { barrier(CLK_LOCAL_MEM_FENCE); if (t<s && (v[t+s]<v[t] || (v[t+s]==v[t] && at[t+s]<at[t]))) { v[t]=v[t+s]; at[t]=at[t+s]; } }
  if (t==0) y[g]=at[0]; }""", (48,), (16,), ("at[t+s]<at[t]", "at[t+s]>at[t]")),
ByHandKernel("smallest by neighbours", smallest, """
kernel void s(global const float *x, global int *y) {
  local float2 p[16]; int t=get_local_id(0); p[t]=(float2)(x[get_global_id(0)], t);
  for (int s=1;s<16;s*=2) { barrier(CLK_LOCAL_MEM_FENCE); if (t%(2*s)==0) p[t] = p[t+s].x<p[t].x ? p[t+s] : p[t]; }
  if (t==0) y[get_group_id(0)]=(int)p[0].y; }""", (48,), (16,), ("p[t+s].x<p[t].x", "p[t+s].x<=p[t].x")),
ByHandKernel("smallest by strides and a tree", smallest, """
kernel void s(global const float *x, global int *y) {
  local float v[4]; local uint at[4]; uint t=get_local_id(0), g=get_group_id(0), k=t; float m=x[16*g+t];
  for (uint i=t;i<16;i+=4) if (m>x[16*g+i]) { m=x[16*g+i]; k=i; }
  v[t]=m; at[t]=k;
  for (uint s=2;s;s>>=1) { barrier(CLK_LOCAL_MEM_FENCE); if (t<s) { if (v[t+s]<v[t]) { v[t]=v[t+s]; at[t]=at[t+s]; } else if (v[t+s]==v[t] && at[t+s]<at[t]) at[t]=at[t+s]; } }
  if (t==0) y[g]=at[0]; }""", (12,), (4,), ("else if (v[t+s]==v[t] && at[t+s]<at[t]) at[t]=at[t+s];", "")),
ByHandKernel("bins of their own", binned, """
kernel void s(global const uint *x, global uint *y) {
  local uint h[24]; uint l=get_local_id(0), v=x[get_global_id(0)]; for (uint k=l;k<24;k+=16) h[k]=0;
  local uint *mine = h+12*(l/8); barrier(CLK_LOCAL_MEM_FENCE);
  if (v<12) atomic_inc(mine+v);
  barrier(CLK_LOCAL_MEM_FENCE); if (l<12) y[12*get_group_id(0)+l]=h[l]+h[12+l]; }""", (32,), (16,), ("v<12", "v<11")),
ByHandKernel("count while", counted, """
kernel void s(global const float *x, global int *y) { int g=get_global_id(0); int c=0; for (int i=0;i<8;i++) { if (!(x[8*g+i]>0)) continue; c++; } y[g]=c; }""", (2,), (1,), ("c=0", "c=1")),
ByHandKernel("clamp returns", limited, """
float c(float v) { if (v<-1) return -1; if (v>1) return 1; return v; } kernel void s(global const float *x, global float *y) { int g=get_global_id(0); y[g]=c(x[g]); }""", (16,), (4,), ("v>1)", "v>2)")),
ByHandKernel("clamp switch", limited, """
kernel void s(global const float *x, global float *y) { int g=get_global_id(0); float v=x[g]; int w=(v<-1)+2*(v>1); switch (w) { case 1: y[g]=-1; break; case 2: v=1; default: y[g]=v; } }""", (16,), (4,), ("v=1;", "v=2;")),
ByHandKernel("clamp late return", limited, """
kernel void s(global const float *x, global float *y) { int g=get_global_id(0); if (x[g]<-1) { y[g]=-1; return; } if (x[g]>1) { y[g]=1; return; } y[g]=x[g]; }""", (16,), (4,), ("y[g]=1;", "")),
ByHandKernel("abs sign ptr", sizes, """
kernel void s(global const float *x, global float *y) { int g=get_global_id(0); float t; if (x[g]<0) t=-x[g]; else t=x[g]; y[g]=t; }""", (16,), (4,), ("else t=x[g]", "")),
ByHandKernel("bool conv", limited, """
kernel void s(global const float *x, global float *y) { int g=get_global_id(0); bool b=0.25f*(x[g]>1); bool c=256; _Bool d = x[g]; float v=x[g]; bool neg = v < -1; if (b) v=1; if (neg && c) v=-1; y[g]= c ? v : 0; }""", (16,), (4,), ("c=256", "c=0")),
ByHandKernel("bool arr", first_negative, """
kernel void s(global const float *x, global int *y) { int g=get_global_id(0); bool m[8]; for (int i=0;i<8;i++) m[i]=x[8*g+i]<0; int r=8; for (int i=7;i>=0;--i) if (m[i]) r=i; y[g]=r; }""", (2,), (1,), ("i=7", "i=6")),
ByHandKernel("pointer by condition", one_or_other, """
kernel void s(global const float *x, global const float *z, global float *y) { int i=get_global_id(0); global const float *p = x[i]>0 ? x : z; y[i]=p[i]; }""", (8,), (4,), ("x : z", "z : x")),
ByHandKernel("pointer by branch", one_or_other, """
kernel void s(global const float *x, global const float *z, global float *y) { int i=get_global_id(0); global const float *p = x+i; if (!(x[i]>0)) p = z+i; y[i]=*p; }""", (8,), (4,), ("p = z+i", "p = z")),
ByHandKernel("pointer handed on", one_or_other, """
float at(global const float *p, int i) { return p[i]; } kernel void s(global const float *x, global const float *z, global float *y) { int i=get_global_id(0); y[i]=at(x[i]>0 ? x+1 : z, x[i]>0 ? i-1 : i); }""", (8,), (4,), ("? i-1 : i", "? i : i")),
ByHandKernel("pointers exchanged", doubles, """
kernel void s(global const float *x, global float *y) { int i=get_global_id(0); float a[2]={x[i],1}, b[2]={2,x[i]}; float *p=a,*q=b; if (x[i]>0) { float *t=p; p=q; q=t; } p[0]=x[i]; p[1]=2; y[i]=(x[i]>0 ? b[0] : a[0])*p[1]; }""", (8,), (4,), ("? b[0] : a[0]", "? a[0] : b[0]")),
ByHandKernel("tiles exchanged", doubles, """
kernel void s(global const float *x, global float *y) { int i=get_global_id(0); local float a[4], b[4]; int l=get_local_id(0); local float *p=a,*q=b; p[l]=x[i]; barrier(CLK_LOCAL_MEM_FENCE); if (x[i-l]>0) { q[l]=p[3-l]; local float *t=p; p=q; q=t; } barrier(CLK_LOCAL_MEM_FENCE); y[i]=(x[i-l]>0 ? p[3-l] : p[l])*2; }""", (8,), (4,), (" barrier(CLK_LOCAL_MEM_FENCE); y", " y")),
ByHandKernel("pointer to the largest", largest, """
kernel void s(global const float *x, global float *y) { int g=get_global_id(0); global const float *p = x+8*g; for (int j=1;j<8;j++) if (x[8*g+j] > *p) p = x+8*g+j; y[g]=*p; }""", (2,), (1,), ("p = x+8*g+j", "p = x+j")),
]  # fmt: skip

MORE_FAULTS = [
("insertion private", ("j>=0", "j>0")),
("insertion private", ("a[j+1]=v", "a[i]=v")),
("insertion private", ("i<4;i++) { float", "i<3;i++) { float")),
("insertion private", ("int j=i-1", "int j=i-2")),
("insertion in place global", ("a[j]=v", "a[j>0?j:0]=v*1.0f+1.0f")),
("bubble", ("a[i+1]=t", "a[i+1]=a[i]")),
("selection", ("j=i+1", "j=i+2")),
("insertion ints", ("j>=0", "j>0")),
("rank sort", ("<x[4*g+i] ||", ">x[4*g+i] ||")),
("compare swap", ("*b=t", "*b=*a")),
("find first break", ("<0)", "<=0)")),
("find first return", ("y[g]=i; return;", "y[g]=i;")),
("find first helper", (">=0", ">0")),
("max if", ("i=1", "i=2")),
("max if", ("k=0", "k=1")),
("smallest by a tree", ("s=8", "s=4")),
("smallest by a tree", (" || (v[t+s]==v[t] && at[t+s]<at[t])", "")),
("smallest by a tree", ("at[t]=t;", "if (t<15) at[t]=t;")),
("smallest by strides and a tree", ("i+=4", "i+=5")),
("bins of their own", ("h[l]+h[12+l]", "h[l]")),
("bins of their own", ("v<12", "v<=12")),
("count while", ("!(x[8*g+i]>0)", "!(x[8*g+i]>=0)")),
("clamp switch", ("break;", "")),
("bool conv", ("if (b)", "if (d)")),
]  # fmt: skip
"""Other faults of the same kernels."""
