"""Iteration: a function applied again and again.

iterate 0 f              =  id                   iterate 1 f  =  f
iterate (m + k) f        =  iterate m f . iterate k f
iterate (m k) f          =  iterate m (iterate k f)
iterate m (map f)        =  map (iterate m f)
iterate m (\\ys. map f (zip ys cs)) xs  =  map (\\(x, c). iterate m (\\y. f (y, c)) x) (zip xs cs)
reduce_seq (g . f) (g c)  =  g . reduce_seq (f . g) c
reduce_seq (\\(y, z) x. (f y z x, g z x)) (y, z)  =  the same of ((z before, z), y), seen as (y, z)
fst . reduce_seq (\\(y, z) x. (f y x, g y z x)) (y, z)  =  reduce_seq f y       and so for the second, iterations and scans
iterate n f z            =  reduce_seq (\\acc x. f acc) z (repeat n 0)
iterate n f              =  reduce_seq (\\acc x. f acc) over n elements
reduce_seq f z xs        =  second of iterate n (\\(i, acc). (i + 1, f acc (at i xs))) (0, z)
"""

from __future__ import annotations

from typing import Any

from relift.rewrites.notation import A, B, C, k, m, n, q
from relift.rewrites.proof_scripts import (
    FOLD_ROLLED,
    ITERATE_SIZES_ADD,
    ITERATE_TRANSPOSED,
    REDUCE_SEQ_AFTER_DEFINED,
    REDUCE_SEQ_ITERATE,
    REDUCE_SEQ_ITERATE_DEFINED,
    REDUCE_SEQ_ROLLED_DEFINED,
)
from relift.rewrites.rule import rule
from relift.semantics.language.vocabulary import (
    at_runtime_unsafe,
    iterate,
    iterate_sizes,
    let,
    map,
    partial_reduce,
    reduce_seq,
    repeat,
    transpose,
    zip,
)
from relift.semantics.syntax.signatures import Fun, Op
from relift.semantics.syntax.types import tup


@rule(source="LIFT iterateId")
def iterate_none(f: Fun[A, A], x: A):
    """No iteration changes nothing."""
    return iterate(0, f, x), x


@rule(source="LIFT iterate1")
def iterate_once(f: Fun[A, A], x: A):
    """One iteration is the function."""
    return iterate(1, f, x), f(x)


@rule(source="LIFT, ICFP'15, iterate decomposition, which the code leaves to do")
def iterate_add(f: Fun[A, A], x: A):
    """Iterations are done in two goes."""
    return iterate(m + k, f, x), iterate(m, f, iterate(k, f, x))


@rule(source="LIFT, ICFP'15, iterate decomposition, repeated")
def iterate_multiply(f: Fun[A, A], x: A):
    """Iterations are done in blocks."""
    return iterate(m * k, f, x), iterate(m, lambda y: iterate(k, f, y), x)


@rule(source="LIFT, ICFP'15, iterate decomposition, one step at the end")
def iterate_last(f: Fun[A, A], x: A):
    """The last step is peeled off."""
    return iterate(m + 1, f, x), f(iterate(m, f, x))


@rule(source="LIFT, ICFP'15, iterate decomposition, one step at the start")
def iterate_first(f: Fun[A, A], x: A):
    """The first step is peeled off."""
    return iterate(m + 1, f, x), iterate(m, f, f(x))


@rule(source="Bird, theory of lists, map promotion for iteration")
def iterate_map(f: Fun[A, A], xs: A[n]):
    """Each element is iterated on its own."""
    return iterate(m, lambda ys: map(f, ys), xs), map(lambda x: iterate(m, f, x), xs)


@rule(source="Bird, theory of lists, map promotion for iteration, beside what stays as it is")
def iterate_map_beside(f: Fun[A, B, A], xs: A[n], cs: B[n]):
    """Each element is iterated on its own, with what stands beside it."""
    return (
        iterate(m, lambda ys: map(lambda p: f(p[0], p[1]), zip(ys, cs)), xs),
        map(lambda p: iterate(m, lambda y: f(y, p[1]), p[0]), zip(xs, cs)),
    )


@rule(
    source="Backhouse, fixed-point calculus, the rolling rule",
    proof=FOLD_ROLLED,
    defined=REDUCE_SEQ_ROLLED_DEFINED,
)
def reduce_seq_rolled(f: Fun[B, A, C], g: Fun[C, B], c: C, xs: A[n]):
    """A fold to what something is seen as is a fold to that thing."""
    return (
        reduce_seq(lambda s, x: let(g, f(s, x)), let(g, c), xs),
        let(g, reduce_seq(lambda q, x: f(let(g, q), x), c, xs)),
    )


def _after_what_it_was(q: Any) -> Any:
    """Two accumulators, of which the second is the later of two that stand before the first."""
    return q[1], q[0][1]


@rule(
    source="Meijer, Fokkinga and Paterson, FPCA'91, mutual recursion, of which one needs no other",
    defined=REDUCE_SEQ_AFTER_DEFINED,
)
def reduce_seq_after(f: Fun[B, C, A, B], g: Fun[C, A, C], y: B, z: C, xs: A[n]):
    """What a step needs of an accumulator that needs no other, it may read of that before and after the step."""
    return (
        reduce_seq(lambda s, x: (f(s[0], s[1], x), g(s[1], x)), (y, z), xs),
        reduce_seq(
            lambda s, p: let(
                _after_what_it_was,
                let(
                    lambda c: (c, let(lambda r: f(s[0], r[0][0], r[1]), (c, p[1]))),
                    (s[1], g(s[1], p[0])),
                ),
            ),
            let(_after_what_it_was, ((z, z), y)),
            zip(xs, xs),
        ),
    )


@rule(
    source="Meijer, Fokkinga and Paterson, FPCA'91, mutual recursion, of which one needs no other"
)
def reduce_seq_first_alone(
    f: Fun[B, A, B], g: Fun[tup(B, C), A, C], y: B, z: C, xs: A[n]
):  # fmt: skip
    """The first of two accumulators that needs no other is folded alone."""
    return (
        reduce_seq(lambda s, x: (f(s[0], x), g(s, x)), (y, z), xs)[0],
        reduce_seq(f, y, xs),
    )


@rule(
    source="Meijer, Fokkinga and Paterson, FPCA'91, mutual recursion, of which one needs no other"
)
def reduce_seq_second_alone(
    f: Fun[tup(B, C), A, B], g: Fun[C, A, C], y: B, z: C, xs: A[n]
):  # fmt: skip
    """The second of two accumulators that needs no other is folded alone."""
    return (
        reduce_seq(lambda s, x: (f(s, x), g(s[1], x)), (y, z), xs)[1],
        reduce_seq(g, z, xs),
    )


@rule(
    source="Meijer, Fokkinga and Paterson, FPCA'91, mutual recursion, of which one needs no other"
)
def iterate_first_alone(f: Fun[B, B], g: Fun[tup(B, C), C], y: B, z: C):
    """The first of two values that needs no other is iterated alone."""
    return iterate(m, lambda s: (f(s[0]), g(s)), (y, z))[0], iterate(m, f, y)


@rule(
    source="Meijer, Fokkinga and Paterson, FPCA'91, mutual recursion, of which one needs no other"
)
def iterate_second_alone(f: Fun[tup(B, C), B], g: Fun[C, C], y: B, z: C):
    """The second of two values that needs no other is iterated alone."""
    return iterate(m, lambda s: (f(s), g(s[1])), (y, z))[1], iterate(m, g, z)


@rule(source="LIFT dropId under iterate")
def iterate_identity(x: A):
    """Doing nothing again and again does nothing."""
    return iterate(m, lambda y: y, x), x


@rule(source="LIFT Iterate on pairs; tupling, Meijer, Fokkinga and Paterson, FPCA'91")
def iterate_pair(f: Fun[A, A], g: Fun[B, B], x: A, y: B):
    """Two iterations are one of pairs."""
    return (
        (iterate(m, f, x), iterate(m, g, y)),
        iterate(m, lambda p: (f(p[0]), g(p[1])), (x, y)),
    )


@rule(source="Bird, theory of lists: iteration is a fold that ignores the elements")
def iterate_as_reduce(f: Fun[A, A], z: A, xs: B[n]):
    """A fold that ignores the elements counts them."""
    return reduce_seq(lambda acc, x: f(acc), z, xs), iterate(n, f, z)


@rule(source="Bird, theory of lists: iteration is a fold that ignores the elements")
def iterate_as_fold(f: Fun[A, A], z: A):
    """An iteration counts the elements of a fold that ignores them."""
    return iterate(n, f, z), reduce_seq(lambda acc, x: f(acc), z, repeat(n, 0))


@rule(source="LIFT transposeBothSides under iterate", proof=ITERATE_TRANSPOSED)
def iterate_transposed(f: Fun[A[n, m], A[n, m]], xss: A[m, n]):
    """Transposes between the steps cancel."""
    return (
        iterate(k, lambda yss: transpose(f(transpose(yss))), xss),
        transpose(iterate(k, f, transpose(xss))),
    )


@rule(source="LIFT iterateId, where the length changes")
def iterate_sizes_none(op: Op[A], z: A, xs: A[n]):
    """No partial reduction changes nothing."""
    return iterate_sizes(0, q + 1, lambda ys: partial_reduce(op, z, q + 1, ys), xs), xs


@rule(source="LIFT iterate1, where the length changes")
def iterate_sizes_once(op: Op[A], z: A, xs: A[n * (q + 1)]):
    """One partial reduction."""
    return (
        iterate_sizes(1, q + 1, lambda ys: partial_reduce(op, z, q + 1, ys), xs),
        partial_reduce(op, z, q + 1, xs),
    )


@rule(
    source="LIFT, ICFP'15, iterate decomposition, where the length changes",
    proof=ITERATE_SIZES_ADD,
)
def iterate_sizes_add(op: Op[A], z: A, xs: A[n * (q + 1) ** (m + k)]):
    """Partial reductions are iterated in two goes."""

    def step(ys: Any) -> Any:
        return partial_reduce(op, z, q + 1, ys)

    return (
        iterate_sizes(m + k, q + 1, step, xs),
        iterate_sizes(k, q + 1, step, iterate_sizes(m, q + 1, step, xs)),
    )


@rule(
    source="Bird and Wadler, folds as loops with a counter; RISE oclIterate",
    proof=REDUCE_SEQ_ITERATE,
    defined=REDUCE_SEQ_ITERATE_DEFINED,
)
def reduce_seq_iterate(f: Fun[B, A, B], z: B, xs: A[n]):
    """A fold counts its steps, and looks up the element of each."""
    return (
        reduce_seq(f, z, xs),
        iterate(n, lambda s: (s[0] + 1, f(s[1], at_runtime_unsafe(s[0], xs))), (0, z))[1],
    )
