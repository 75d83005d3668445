"""Printed by `python -m relift.semantics.language.functions`: the patterns as functions."""

from typing import Final

from relift.semantics.language.tracing import PartialApplication

as_scalar: Final[PartialApplication]
"""`as_scalar(vs)`: the lanes of the vectors, one after the other."""
as_vector: Final[PartialApplication]
"""`as_vector(width, xs)`: consecutive elements as the lanes of vectors; the width divides the length."""
as_vector_aligned: Final[PartialApplication]
"""`as_vector_aligned(width, xs)`: `as_vector` of an array that is aligned to whole vectors."""
at_runtime: Final[PartialApplication]
"""`at_runtime(index, default, xs)`: the element at a computed index, an i32, else the default."""
at_runtime_unsafe: Final[PartialApplication]
"""`at_runtime_unsafe(index, xs)`: the element at a computed index, an i32 that is in range."""
binary_search: Final[PartialApplication]
"""`binary_search(f, default, xs)`: as `linear_search`, where the sign of f tells where to look."""
circular_buffer: Final[PartialApplication]
"""`circular_buffer(size, f, xs)`: windows of `size` loaded elements f(x), one at every index."""
concat: Final[PartialApplication]
"""`concat(xs, ys)`: the elements of xs, then those of ys."""
drop: Final[PartialApplication]
"""`drop(m, xs)`: all but the first m elements."""
filter_seq: Final[PartialApplication]
"""`filter_seq(p, fill, xs)`: the elements that p holds of, in order: how many, and an array of them."""
gather: Final[PartialApplication]
"""`gather(idx, xs)`: the array whose element i is xs[idx(i)]; idx is an index function."""
gather_indices: Final[PartialApplication]
"""`gather_indices(ids, xs)`: the elements at the indices in an array of i32."""
generate: Final[PartialApplication]
"""`generate(n, f)`: the array whose element i is f(i), where i is an i32."""
head: Final[PartialApplication]
"""`head(xs)`: the first element."""
insertion_sort_seq: Final[PartialApplication]
"""`insertion_sort_seq(before, xs)`: each element in turn goes before the first it must be before."""
iterate: Final[PartialApplication]
"""`iterate(m, f, x)`: f applied m times, one after the other; it keeps the type."""
iterate_sizes: Final[PartialApplication]
"""`iterate_sizes(m, factor, f, xs)`: f applied m times, which divides the length by `factor` each time."""
iterate_stream: Final[PartialApplication]
"""`iterate_stream(f, xs)`: `map` as the loop that asks a stream for its elements."""
join: Final[PartialApplication]
"""`join(xss)`: the rows one after the other."""
let: Final[PartialApplication]
"""`let(f, x)`: f of a value that has a name, and so is computed once."""
linear_search: Final[PartialApplication]
"""`linear_search(f, default, xs)`: the first element x with f(x) == 0, else the default."""
map: Final[PartialApplication]
"""`map(f, xs)`: f on every element."""
map_glb: Final[PartialApplication]
"""`map_glb(dim)(f, xs)`: `map` over the work-items of dimension `dim`, across all work-groups."""
map_lane: Final[PartialApplication]
"""`map_lane(dim)(f, xs)`: `map` over the lanes of a warp."""
map_lcl: Final[PartialApplication]
"""`map_lcl(dim)(f, xs)`: `map` over the work-items of dimension `dim` of one work-group."""
map_seq: Final[PartialApplication]
"""`map_seq(f, xs)`: `map` as a loop in one work-item."""
map_seq_slide: Final[PartialApplication]
"""`map_seq_slide(size, step, f, xs)`: f on every window, in one loop that keeps the window in registers."""
map_seq_unroll: Final[PartialApplication]
"""`map_seq_unroll(f, xs)`: `map_seq` with the loop written out."""
map_stream: Final[PartialApplication]
"""`map_stream(f, xs)`: `map` whose elements are computed when they are asked for."""
map_vec: Final[PartialApplication]
"""`map_vec(f, v)`: f on every lane of a vector, in one vector instruction where f is arithmetic."""
map_warp: Final[PartialApplication]
"""`map_warp(dim)(f, xs)`: `map` over the warps of a work-group."""
map_wrg: Final[PartialApplication]
"""`map_wrg(dim)(f, xs)`: `map` over the work-groups of dimension `dim`."""
pad_empty: Final[PartialApplication]
"""`pad_empty(left, right, xs)`: cells on both sides whose content is left open."""
partial_reduce: Final[PartialApplication]
"""`partial_reduce(op, init, m, xs)`: each chunk of m elements combined to one."""
reduce: Final[PartialApplication]
"""`reduce(op, init, xs)`: all elements combined, from the left, starting with `init`; one value."""
reduce_by_index: Final[PartialApplication]
"""`reduce_by_index(op, init, xs)`: `init`, with x combined into cell i for each (i, x) of xs in turn."""
reduce_seq: Final[PartialApplication]
"""`reduce_seq(f, init, xs)`: a left fold in one work-item; f needs no law."""
reduce_seq_ahead: Final[PartialApplication]
"""`reduce_seq_ahead(f, init, xs)`: `reduce_seq` whose steps fill local memory, each for the next one while it computes."""
reduce_seq_unroll: Final[PartialApplication]
"""`reduce_seq_unroll(f, init, xs)`: `reduce_seq` with the loop written out."""
reduce_while: Final[PartialApplication]
"""`reduce_while(f, p, init, xs)`: a left fold that stops before the first x with not p(acc, x)."""
repeat: Final[PartialApplication]
"""`repeat(m, x)`: m times the same element."""
rotate_values: Final[PartialApplication]
"""`rotate_values(size, xs)`: windows of `size` elements, one at every index, in rotating registers."""
scan_seq: Final[PartialApplication]
"""`scan_seq(f, init, xs)`: the running folds, inclusive: element i has seen xs[0] to xs[i]."""
scatter: Final[PartialApplication]
"""`scatter(idx, xs)`: the array whose element idx(i) is xs[i]; idx is a permutation."""
scatter_indices: Final[PartialApplication]
"""`scatter_indices(ids, xs, into)`: `into`, with xs[j] at index ids[j]."""
slide: Final[PartialApplication]
"""`slide(size, step, xs)`: windows of `size` elements, one every `step`; the last ends at the end."""
splat: Final[PartialApplication]
"""`splat(width, x)`: the vector whose lanes are all x."""
split: Final[PartialApplication]
"""`split(m, xs)`: consecutive chunks of m elements; m divides the length."""
tail: Final[PartialApplication]
"""`tail(xs)`: all but the first element."""
take: Final[PartialApplication]
"""`take(m, xs)`: the first m elements."""
to_global: Final[PartialApplication]
"""`to_global(xs)`: compute xs into global memory; between kernels, a buffer."""
to_local: Final[PartialApplication]
"""`to_local(xs)`: compute xs into the local memory of the work-group."""
to_private: Final[PartialApplication]
"""`to_private(xs)`: compute xs into the private memory of the work-item."""
transpose: Final[PartialApplication]
"""`transpose(xss)`: rows become columns."""
unzip: Final[PartialApplication]
"""`unzip(ps)`: the first components of an array of pairs, and the second ones."""

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
    "reduce_by_index",
    "reduce_seq",
    "reduce_seq_ahead",
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
