"""Kernels whose work-items compute together in sub-groups of a size that the source requires, each right and with one fault."""

from __future__ import annotations

from proofs_tests.compiler.foreign.habits import scan
from proofs_tests.compiler.foreign.kernels import ByHandKernel, program
from relift.semantics.language import functions as pat
from relift.semantics.language import vocabulary as rl
from relift.semantics.syntax.types import f32

total = program("total", lambda x: rl.generate(1, lambda i: pat.reduce(rl.add, 0.0, x)), x=f32[64])
backwards = program(
    "backwards",
    lambda x: pat.join(pat.map(lambda r: pat.gather(lambda i: 7 - i, r), rl.split(8, x))),
    x=f32[32],
)
above_first = program(
    "above_first",
    lambda x: pat.join(pat.map(lambda r: pat.map(lambda v: v - r[0], r), rl.split(8, x))),
    x=f32[32],
)

_EIGHT = "__attribute__((intel_reqd_sub_group_size(8)))"
_BY_ONE = "if (get_local_id(0)==0) { float s=0; for (uint j=0;j<get_num_sub_groups();j++) s+=t[j]; y[0]=s; }"
_TO_TILE = "if (get_sub_group_local_id()==0) t[get_sub_group_id()]=v; barrier(CLK_LOCAL_MEM_FENCE);"


def _kernel(body: str) -> str:
    return f"{_EIGHT} kernel void k(global const float *x, global float *y) {{ int i=get_global_id(0); {body} }}"


IN_SUB_GROUPS = [
ByHandKernel("sums of sub-groups, added by one", total, _kernel(f"local float t[8]; float v=sub_group_reduce_add(x[i]); {_TO_TILE} {_BY_ONE}"), (64,), (64,), ("j=0", "j=1")),
ByHandKernel("the first sub-group adds the sums", total, _kernel(f"local float t[8]; float v=sub_group_reduce_add(x[i]); {_TO_TILE} if (get_sub_group_id()==0) {{ float s=sub_group_reduce_add(t[get_sub_group_local_id()]); if (i==0) y[0]=s; }}"), (64,), (64,), ("barrier(CLK_LOCAL_MEM_FENCE);", "")),
ByHandKernel("a tree of exchanges", total, _kernel(f"local float t[8]; float v=x[i]; for (int o=4;o>0;o/=2) v+=sub_group_shuffle_xor(v,o); {_TO_TILE} {_BY_ONE}"), (64,), (64,), ("o>0", "o>1")),
ByHandKernel("a tree of lanes above", total, _kernel(f"local float t[8]; float v=x[i]; for (uint o=get_sub_group_size()/2;o>0;o>>=1) v+=sub_group_shuffle_down(v,o); {_TO_TILE} {_BY_ONE}"), (64,), (64,), ("o>>=1", "o>>=2")),
ByHandKernel("a tree of lanes above, as Intel writes it", total, _kernel(f"local float t[8]; float v=x[i]; for (int o=4;o>0;o/=2) v+=intel_sub_group_shuffle_down(v,0.0f,o); {_TO_TILE} {_BY_ONE}"), (64,), (64,), ("o>0", "o>1")),
ByHandKernel("running sums of sub-groups", scan, _kernel("local float t[2]; int l=get_local_id(0); float v=sub_group_scan_inclusive_add(x[i]); uint g=get_sub_group_id(); if (get_sub_group_local_id()==get_sub_group_size()-1) t[g]=v; barrier(CLK_LOCAL_MEM_FENCE); float b=0; for (uint j=0;j<g;j++) b+=t[j]; y[i]=b+v;"), (32,), (16,), ("inclusive", "exclusive")),
ByHandKernel("backwards in sub-groups", backwards, _kernel("y[i]=sub_group_shuffle(x[i], 7-get_sub_group_local_id());"), (32,), (16,), ("7-", "6-")),
ByHandKernel("the first lane to all", above_first, _kernel("y[i]=x[i]-sub_group_broadcast(x[i], 0);"), (32,), (16,), (", 0)", ", 1)")),
ByHandKernel("a vote that all give", above_first, _kernel("float f=sub_group_broadcast(x[i], 0); y[i]=sub_group_all(i>=0) && !sub_group_any(i<0) ? x[i]-f : 0;"), (32,), (16,), ("i>=0", "i>0")),
]  # fmt: skip
