"""Kernels with functions that OpenCL C has beyond those of C, each right and with one fault.

Values of a whole group, bits of a number as several shorter ones, lanes in another order, the nearest number of a type.
"""

from __future__ import annotations

from typing import Any

from proofs_tests.compiler.foreign.habits import imax, isum, lim, scan, short_totals, twice
from proofs_tests.compiler.foreign.kernels import ByHandKernel, program, total
from proofs_tests.compiler.foreign.styles import each
from relift.semantics.indices.functions import reverse
from relift.semantics.language import functions as pat
from relift.semantics.language import vocabulary as rl
from relift.semantics.syntax.types import f16, f32, i32, i64


def shares(row: Any) -> Any:
    """Each number, over the sum of all."""
    return rl.let(lambda s: pat.map(lambda v: v / s, row), total(row))


def bytes_of(v: Any) -> Any:
    """The sum of the four bytes of a number."""
    return (v & 255) + ((v // 256) & 255) + ((v // 65536) & 255) + ((v // 16777216) & 255)


share = program("share", each(shares), x=f32[4, 8])
byte_sum = program("byte_sum", each(bytes_of), x=i32[32])
nearest_byte = program("nearest_byte", each(lambda v: rl.minimum(rl.maximum(v, 0), 255)), x=i32[32])
backwards = program(
    "backwards",
    lambda x: pat.join(pat.map(lambda r: pat.gather(reverse, r), pat.split(4, x))),
    x=f32[32],
)


def nearest_whole(v: Any) -> Any:
    """The nearest number that an `int` holds."""
    return rl.minimum(rl.maximum(v, -(2**31)), 2**31 - 1)


def three_times(v: Any) -> Any:
    """Three times a number, less 1, the nearest number at each step."""
    return i32(nearest_whole(i64(v) + nearest_whole(i64(v) * i64(2) - i64(1))))


saturating = program("saturating", each(three_times), x=i32[32])
halves_swapped = program(
    "halves_swapped", each(lambda v: (v & 65535) * 65536 + ((v // 65536) & 65535)), x=i32[32]
)
sevenfold = program("sevenfold", each(lambda v: (v & 1023) * 7 + 1), x=i32[32])
doubled_halves = program("doubled_halves", each(lambda v: f16(f32(v) * 2.0)), x=f16[32])
every_second = program(
    "every_second", lambda x: pat.map(lambda p: p[1], pat.split(2, x)), x=f32[32]
)

GIVEN_BY_THE_LANGUAGE = [
ByHandKernel("sums of groups", short_totals, """kernel void s(global const float *x, global float *y) {
  float s=work_group_reduce_add(x[get_global_id(0)]); if (get_local_id(0)==0) y[get_group_id(0)]=s; }
""",(16,),(8,),("x[get_global_id(0)]","x[get_global_id(0)^8]")),
ByHandKernel("sum of partial sums of a group", isum, """kernel void s(global const int *x, global int *y) {
  int l=get_local_id(0), s=0; for (int i=l; i<64; i+=16) s+=x[i];
  s=work_group_reduce_add(s); if (!l) *y=s; }
""",(16,),(16,),("i<64","i<63")),
ByHandKernel("largest of a group", imax, """kernel void m(global const int *x, global int *y) {
  int m=INT_MIN; for (int i=get_local_id(0); i<64; i+=get_local_size(0)) m=max(m,x[i]);
  m=work_group_reduce_max(m); if (get_local_id(0)==0) y[0]=m; }
""",(16,),(16,),("reduce_max","reduce_min")),
ByHandKernel("running sums of a group", scan, """kernel void r(global const float *x, global float *y) {
  size_t i=get_global_id(0); y[i]=work_group_scan_inclusive_add(x[i]); }
""",(32,),(16,),("inclusive","exclusive")),
ByHandKernel("running sums before, and the number itself", scan, """kernel void r(global const float *x, global float *y) {
  size_t i=get_global_id(0); float v=x[i]; y[i]=work_group_scan_exclusive_add(v)+v; }
""",(32,),(16,),("exclusive","inclusive")),
ByHandKernel("shares by a broadcast sum", share, """kernel void h(global const float *x, global float *y) {
  size_t i=get_global_id(0); float v=x[i];
  float s=work_group_scan_inclusive_add(v); y[i]=v/work_group_broadcast(s,get_local_size(0)-1); }
""",(32,),(8,),("get_local_size(0)-1","get_local_size(0)-2")),
ByHandKernel("bytes by as_uchar4", byte_sum, """kernel void b(global const int *x, global int *y) {
  size_t i=get_global_id(0); uchar4 b=as_uchar4(x[i]); y[i]=b.x+b.y+b.z+b.w; }
""",(32,),(8,),("b.z+b.w","b.z+b.z")),
ByHandKernel("bytes by casts to uchar", byte_sum, """kernel void b(global const int *x, global int *y) {
  size_t i=get_global_id(0); uint v=as_uint(x[i]); int s=0;
  for (int k=0; k<32; k+=8) s+=(uchar)(v>>k);
  y[i]=s; }
""",(32,),(8,),("(uchar)","(char)")),
ByHandKernel("the nearest byte", nearest_byte, """kernel void n(global const int *x, global int *y) { size_t i=get_global_id(0); y[i]=convert_uchar_sat(x[i]); }
""",(32,),(8,),("uchar_sat","char_sat")),
ByHandKernel("backwards by shuffle", backwards, """kernel void b(global const float *x, global float *y) {
  size_t i=get_global_id(0); vstore4(shuffle(vload4(i,x),(uint4)(3,2,1,0)),i,y); }
""",(8,),(8,),("3,2,1,0","3,2,0,1")),
ByHandKernel("backwards by shuffle2", backwards, """constant uint order[]={7,2,5,0};
kernel void b(global const float *x, global float *y) {
  size_t i=get_global_id(0); float4 v=vload4(i,x);
  vstore4(shuffle2(v,v,(uint4)(order[0],order[1],order[2],order[3])),i,y); }
""",(8,),(8,),("7,2,5,0","7,2,5,1")),
ByHandKernel("clamped where any lane is beyond", lim, """kernel void c(global const float *x, global float *y) {
  size_t i=get_global_id(0); float2 v=vload2(i,x); vstore2(any(fabs(v)>1.0f)?clamp(v,-1.0f,1.0f):v,i,y); }
""",(16,),(8,),("any(","all(")),
ByHandKernel("twice, prefetched and printed", twice, """kernel void t(global const float *x, global float *y) {
  size_t i=get_global_id(0); prefetch(x+i,1); if (i==0) printf("%d work-items\\n",(int)get_global_size(0)); y[i]=x[i]*2; }
""",(32,),(8,),("x[i]*2","x[i]*3")),
ByHandKernel("sums and products that saturate", saturating, """kernel void s(global const int *x, global int *y) {
  size_t i=get_global_id(0); int v=x[i]; int2 s=add_sat((int2)(v), (int2)(mad_sat(v, 2, -1))); y[i]=s.y; }
""",(32,),(8,),("mad_sat(v, 2, -1)","v*2-1")),
ByHandKernel("lower halves swapped by upsample", halves_swapped, """kernel void s(global const int *x, global int *y) {
  size_t i=get_global_id(0); y[i]=upsample((short)x[i], (ushort)(x[i]>>16)); }
""",(32,),(8,),("(x[i]>>16)","x[i]")),
ByHandKernel("products of 24 bits of data", sevenfold, """kernel void s(global const int *x, global int *y) {
  size_t i=get_global_id(0); y[i]=mad24(x[i]&1023, 7, 1); }
""",(32,),(8,),("&1023","&1022")),
ByHandKernel("halves as floats", doubled_halves, """kernel void h(global const half *x, global half *y) {
  size_t i=get_global_id(0); float4 v=vload_half4(i,x); vstore_half2(v.xy*2.0f,2*i,y); vstore_half(v.z*2.0f,4*i+2,y); vstore_half(vload_half(4*i+3,x)*2.0f,4*i+3,y); }
""",(8,),(8,),("v.xy","v.yx")),
ByHandKernel("nearest elements by floats", every_second, """kernel void r(global const float *x, global float *y, float scale) {
  int i=get_global_id(0); float u=(i+0.5f)*scale-0.5f; y[i]=x[(int)floor(u+0.5f)]; }
""",(16,),(8,),("u+0.5f","u-0.5f"),{"scale":"2.0"}),
]  # fmt: skip
