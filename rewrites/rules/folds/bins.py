"""Folds of those elements whose key is an index, one for each index: one fold that updates the cell of its key.

op acc (if c then x else z)  =  if c then op acc x else acc                                          (z neutral)
generate m (\\j. fold (\\acc x. if key x == j then g acc x else acc) z xs)
    =  fold (\\cells x. cells with g (cells ! key x) x at key x, if that is an index) (repeat m z) xs
    =  reduce_by_index op (repeat m z) (map (\\x. (key x, value x)) xs)                 (g acc x = op acc (value x))
reduce_by_index op (repeat (k*m) z) xs
    =  join (map (\\j. reduce_by_index op (repeat m z) (map (\\(i, x). (i - j*m, if it is a place in block j; x)) xs)) [0 .. k-1])
map f  =  map (\\i. at_runtime i (f i) (generate m f))
"""

from __future__ import annotations

from typing import Any

from relift.rewrites.checks.verdicts import WHERE_TOTAL
from relift.rewrites.conditions import bijective, neutral
from relift.rewrites.families import Among, Number
from relift.rewrites.notation import COMMUTATIVE_SEMIGROUP, MONOID, A, B, k, m, n
from relift.rewrites.proofs_of_bins import (
    CELL_BY_CELL,
    FOLD_OF_BINS,
    FOLD_OF_BINS_DEFINED,
    FOLDS_BY_TWO_KEYS,
    FOLDS_OF_ROWS,
    LOOKED_UP_OR_COMPUTED,
    REDUCE_BY_INDEX_FROM_NEUTRAL,
    REDUCE_BY_INDEX_GATHER,
    SELECT_NEUTRAL,
)
from relift.rewrites.rule import rule
from relift.semantics.language.vocabulary import (
    at_runtime,
    at_runtime_unsafe,
    equal,
    gather,
    generate,
    join,
    let,
    make_array,
    map,
    reduce_by_index,
    reduce_seq,
    repeat,
    scatter_indices,
    select,
    split,
    transpose,
    zip,
)
from relift.semantics.syntax.signatures import Fun, Index, Op
from relift.semantics.syntax.types import boolean, i32, tup

Compared = Among({"keyed": equal, "labelled": lambda key, j: equal(j, key)})
"""How a program asks whether a key is an index."""


# ---- what is kept


@rule(
    where=[neutral("op", "z")],
    source="Bird, theory of lists, filter promotion",
    proof=SELECT_NEUTRAL,
)
def select_neutral_number(op: Op[Number], c: boolean, x: Number, z: Number, acc: Number):
    """What adds a neutral element ({number}) where a condition does not hold, keeps what there is."""
    return op(acc, select(c, x, z)), select(c, op(acc, x), acc)


# ---- one fold


_SOURCE = "accumArray of Haskell; Henriksen et al., SC'20, generalised histograms"


def _bins(g: Any, key: Any, z: Any, xs: Any, said: Any) -> tuple[Any, Any]:
    def chosen(acc: Any, x: Any, j: Any) -> Any:
        return select(said(key(x), j), g(acc, x), acc)

    def kept(cells: Any, x: Any) -> Any:
        def put(c: Any) -> Any:
            cell = at_runtime_unsafe(c, cells)
            value = select(equal(key(x), c), g(cell, x), cell)
            return scatter_indices(make_array(c), make_array(value), cells)

        return let(put, at_runtime(key(x), 0, generate(m + 1, lambda i: i)))

    return (
        generate(m + 1, lambda j: reduce_seq(lambda acc, x: chosen(acc, x, j), z, xs)),
        reduce_seq(kept, generate(m + 1, lambda _: z), xs),
    )


@rule(lowering=True, source=_SOURCE, proof=FOLD_OF_BINS, defined=FOLD_OF_BINS_DEFINED)
def fold_of_said_bins_number(
    g: Fun[Number, A, Number], key: Fun[A, i32], z: Number, xs: A[n], said: Compared
):
    """Each element is folded into the cell ({number}) of its key alone: bins are {said}."""
    return _bins(g, key, z, xs, said)


@rule(where=COMMUTATIVE_SEMIGROUP, lowering=True, source=_SOURCE, proof=CELL_BY_CELL)
def fold_by_said_index_number(
    op: Op[Number], value: Fun[A, Number], key: Fun[A, i32], z: Number, xs: A[n], said: Compared
):
    """Each value ({number}) is combined into the cell of its key, by whoever has it, in any order: bins are {said}."""
    each = lambda acc, x, j: select(said(key(x), j), op(acc, value(x)), acc)
    return (
        generate(m + 1, lambda j: reduce_seq(lambda acc, x: each(acc, x, j), z, xs)),
        reduce_by_index(op, generate(m + 1, lambda _: z), map(lambda x: (key(x), value(x)), xs)),
    )


@rule(source=_SOURCE, proof=CELL_BY_CELL)
def reduce_by_index_as_folds_number(op: Op[Number], zs: Number[m], xs: tup(i32, Number)[n]):
    """What is combined by indices is a fold for each cell ({number}) of what has its index."""

    def of(cell: Any) -> Any:
        kept = lambda acc, x: select(equal(x[0], cell[0]), op(acc, x[1]), acc)
        return reduce_seq(kept, cell[1], xs)

    return reduce_by_index(op, zs, xs), map(of, zip(generate(m, lambda i: i), zs))


@rule(where=[*COMMUTATIVE_SEMIGROUP, bijective("p")], source=_SOURCE, proof=REDUCE_BY_INDEX_GATHER)
def reduce_by_index_gather(op: Op[A], zs: A[m], p: Index[n], xs: tup(i32, A)[n]):
    """Cells do not care in which order they are updated: so many may do so at once, whoever comes first."""
    return reduce_by_index(op, zs, gather(p, xs)), reduce_by_index(op, zs, xs)


@rule(
    where=MONOID,
    source="Bird, theory of lists: a fold from what an earlier one came to",
    proof=REDUCE_BY_INDEX_FROM_NEUTRAL,
)
def reduce_by_index_from_neutral(op: Op[A], z: A, zs: A[m], xs: tup(i32, A)[n]):
    """What is combined with cells that have values is combined apart from them, and then with them."""
    apart = reduce_by_index(op, generate(m, lambda _: z), xs)
    return reduce_by_index(op, zs, xs), map(lambda p: op(p[0], p[1]), zip(zs, apart))


# ---- cells of two keys


Asked = Among(
    {
        "keyed": lambda a, i, b, j: (equal(a, i), equal(b, j)),
        "labelled": lambda a, i, b, j: (equal(i, a), equal(j, b)),
        "keyed_labelled": lambda a, i, b, j: (equal(a, i), equal(j, b)),
        "labelled_keyed": lambda a, i, b, j: (equal(i, a), equal(b, j)),
    }
)
"""How it asks for each of two keys."""
Order = Among({"ordered": lambda c, d: c & d, "swapped": lambda c, d: d & c})
"""Which of two conditions a program asks first."""


@rule(lowering=True, source=_SOURCE, proof=FOLDS_BY_TWO_KEYS, defined={"forward": WHERE_TOTAL})
def folds_by_two_asked_order_keys_number(
    g: Fun[Number, A, Number],
    first: Fun[A, i32],
    second: Fun[A, i32],
    z: Number,
    xs: A[n],
    asked: Asked,
    order: Order,
):
    """Two keys are one, the number of their cell among all ({number}), if both have one: they are {asked}, {order}."""

    def of(i: Any, j: Any) -> Any:
        def chosen(acc: Any, x: Any) -> Any:
            both = order(*asked(first(x), i, second(x), j))
            return select(both, g(acc, x), acc)

        return reduce_seq(chosen, z, xs)

    def key(x: Any) -> Any:
        row = at_runtime(
            first(x), generate(k, lambda _: -1), split(k, generate(m * k, lambda c: c))
        )
        return at_runtime(second(x), -1, row)

    return (
        join(generate(m, lambda i: generate(k, lambda j: of(i, j)))),
        generate(
            m * k,
            lambda c: reduce_seq(lambda acc, x: select(equal(key(x), c), g(acc, x), acc), z, xs),
        ),
    )


@rule(source="Bird, theory of lists: a fold of those of a row among all", proof=FOLDS_OF_ROWS)
def folds_of_rows_among_all_number(g: Fun[Number, A, Number], z: Number, xss: A[m, n]):
    """The fold ({number}) of each row is that of the elements of all rows which are of it."""
    numbered = map(lambda q: map(lambda x: (q[0], x), q[1]), zip(generate(m, lambda i: i), xss))

    def own(i: Any) -> Any:
        kept = lambda acc, p: select(equal(p[0], i), g(acc, p[1]), acc)
        return reduce_seq(kept, z, join(numbered))

    return map(lambda row: reduce_seq(g, z, row), xss), generate(m, own)


@rule(source="HOL, cond_and")
def select_both_number(c: boolean, d: boolean, x: Number, y: Number):
    """What is chosen ({number}) where one condition holds and then another one, is chosen where both do."""
    return select(d, select(c, x, y), y), select(c & d, x, y)


# ---- blocks of cells


@rule(
    lowering=True,
    choose=(m,),
    source="Henriksen et al., SC'20, generalised histograms, multi-pass",
    proof=CELL_BY_CELL,
)
def reduce_by_index_in_blocks(op: Op[A], z: A, xs: tup(i32, A)[n]):
    """Each block of m cells is updated by itself: a key is its place in that, or in none."""

    def block(j: Any) -> Any:
        blocks = join(transpose(repeat(m, generate(k, lambda b: b))))
        places = join(repeat(k, generate(m, lambda i: i)))

        def own(x: Any) -> Any:
            here = equal(at_runtime(x[0], -1, blocks), j)
            return select(here, at_runtime(x[0], -1, places), -1), x[1]

        return reduce_by_index(op, generate(m, lambda _: z), map(own, xs))

    return (
        reduce_by_index(op, generate(k * m, lambda _: z), xs),
        join(map(block, generate(k, lambda j: j))),
    )


# ---- labels that are data


@rule(choose=(m,), source="Michie, memo functions, 1968", proof=LOOKED_UP_OR_COMPUTED)
def looked_up_or_computed(f: Fun[i32, B], xs: i32[n]):
    """What a function is at indices is looked up among what it is at the first m, or computed."""
    return map(f, xs), map(lambda i: at_runtime(i, f(i), generate(m, f)), xs)
