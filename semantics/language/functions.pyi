"""Printed by `python -m relift.semantics.language.functions`: the patterns as functions."""

from typing import Final

from relift.semantics.language.tracing import Unapplied

as_scalar: Final[Unapplied]
as_vector: Final[Unapplied]
as_vector_aligned: Final[Unapplied]
at_runtime: Final[Unapplied]
at_runtime_unsafe: Final[Unapplied]
binary_search: Final[Unapplied]
circular_buffer: Final[Unapplied]
concat: Final[Unapplied]
drop: Final[Unapplied]
filter_seq: Final[Unapplied]
gather: Final[Unapplied]
gather_indices: Final[Unapplied]
generate: Final[Unapplied]
head: Final[Unapplied]
insertion_sort_seq: Final[Unapplied]
iterate: Final[Unapplied]
iterate_sizes: Final[Unapplied]
iterate_stream: Final[Unapplied]
join: Final[Unapplied]
let: Final[Unapplied]
linear_search: Final[Unapplied]
map: Final[Unapplied]
map_glb: Final[Unapplied]
map_lane: Final[Unapplied]
map_lcl: Final[Unapplied]
map_seq: Final[Unapplied]
map_seq_slide: Final[Unapplied]
map_seq_unroll: Final[Unapplied]
map_stream: Final[Unapplied]
map_vec: Final[Unapplied]
map_warp: Final[Unapplied]
map_wrg: Final[Unapplied]
pad_empty: Final[Unapplied]
partial_reduce: Final[Unapplied]
reduce: Final[Unapplied]
reduce_seq: Final[Unapplied]
reduce_seq_unroll: Final[Unapplied]
reduce_while: Final[Unapplied]
repeat: Final[Unapplied]
rotate_values: Final[Unapplied]
scan_seq: Final[Unapplied]
scatter: Final[Unapplied]
scatter_indices: Final[Unapplied]
slide: Final[Unapplied]
splat: Final[Unapplied]
split: Final[Unapplied]
tail: Final[Unapplied]
take: Final[Unapplied]
to_global: Final[Unapplied]
to_local: Final[Unapplied]
to_private: Final[Unapplied]
transpose: Final[Unapplied]
unzip: Final[Unapplied]

def stub() -> str: ...

__all__ = [
    "as_scalar",
    "as_vector",
    "as_vector_aligned",
    "at_runtime",
    "at_runtime_unsafe",
    "binary_search",
    "circular_buffer",
    "concat",
    "drop",
    "filter_seq",
    "gather",
    "gather_indices",
    "generate",
    "head",
    "insertion_sort_seq",
    "iterate",
    "iterate_sizes",
    "iterate_stream",
    "join",
    "let",
    "linear_search",
    "map",
    "map_glb",
    "map_lane",
    "map_lcl",
    "map_seq",
    "map_seq_slide",
    "map_seq_unroll",
    "map_stream",
    "map_vec",
    "map_warp",
    "map_wrg",
    "pad_empty",
    "partial_reduce",
    "reduce",
    "reduce_seq",
    "reduce_seq_unroll",
    "reduce_while",
    "repeat",
    "rotate_values",
    "scan_seq",
    "scatter",
    "scatter_indices",
    "slide",
    "splat",
    "split",
    "tail",
    "take",
    "to_global",
    "to_local",
    "to_private",
    "transpose",
    "unzip",
]
