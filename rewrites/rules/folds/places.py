"""Folds that say where an element is: counters are indices, and the first of the best may be found in any order.

fold (\\(acc, i) x. (f acc i x, i + 1)) (z, 0) xs  =  fold (\\acc (x, i). f acc i x) z (zip xs indices)     (its result)
if x > fst b then (x, v) else b           =  earliest_largest b (x, v)
fold (\\(b, at) (x, i). if g x > b then (g x, i) else (b, at)) (z, 0) (zip xs indices)
    =  reduce first_largest (z, 0) (map (\\(x, i). (g x, i)) (zip xs indices))
reduce op z  =  reduce op z . map (reduce op z) . split m      (op associative, commutative and idempotent, z any)

Of equal elements the loop keeps the first it meets, `first_largest` that with the smallest index: so it commutes.
"""

from __future__ import annotations

from typing import Any

from relift.rewrites.conditions import idempotent
from relift.rewrites.families import Among, Float, Number, Whole
from relift.rewrites.notation import COMMUTATIVE_SEMIGROUP, A, B, C, k, m, n
from relift.rewrites.proof_scripts import (
    BEST_OF_PLACES,
    BEST_OF_PLACES_WHOLE,
    COUNTED,
    COUNTED_PAIR,
)
from relift.rewrites.proofs_of_idempotence import (
    REDUCE_CHUNKS_IDEMPOTENT,
    REDUCE_STRIDED_IDEMPOTENT,
)
from relift.rewrites.rule import rule
from relift.semantics.language.vocabulary import (
    earliest_largest,
    earliest_smallest,
    first_largest,
    first_smallest,
    generate,
    latest_largest,
    latest_smallest,
    map,
    reduce,
    reduce_seq,
    select,
    split,
    transpose,
    zip,
)
from relift.semantics.syntax.signatures import Fun, Op
from relift.semantics.syntax.types import boolean, i32, tup

Part = Among({"first": 0, "second": 1})
"""Which of two results a fold is asked for that also counts."""

Largest = Among(
    {
        "larger": (lambda x, best: x > best, first_largest),
        "not_smaller": (lambda x, best: best < x, first_largest),
        "smaller": (lambda x, best: x < best, first_smallest),
        "not_larger": (lambda x, best: best > x, first_smallest),
    }
)
"""When a loop takes a new element, in the words of a program, and the operator that chooses in any order."""


def _counted(xs: Any) -> Any:
    """The elements, each with its index."""
    return zip(xs, generate(n, lambda i: i))


# ---- counters


@rule(
    source="Bird, theory of lists, accumulations: a counter is the length of what was folded",
    proof=COUNTED,
)
def reduce_seq_counted(f: Fun[B, i32, A, B], z: B, xs: A[n]):
    """What counts the elements is their index."""
    return (
        reduce_seq(lambda acc, x: (f(acc[0], acc[1], x), acc[1] + 1), (z, 0), xs)[0],
        reduce_seq(lambda acc, p: f(acc, p[1], p[0]), z, _counted(xs)),
    )


@rule(
    source="Bird, theory of lists, accumulations: a counter is the length of what was folded",
    proof=COUNTED_PAIR,
)
def reduce_seq_counted_part(
    f: Fun[B, C, i32, A, B], g: Fun[B, C, i32, A, C], y: B, z: C, xs: A[n], part: Part
):
    """What counts the elements is their index, in a fold with two results: the {part}."""

    def step(acc: Any, x: Any) -> Any:
        own = (acc[0], acc[1], acc[2], x)
        return f(*own), g(*own), acc[2] + 1

    def indexed(acc: Any, p: Any) -> Any:
        own = (acc[0], acc[1], p[1], p[0])
        return f(*own), g(*own)

    return (
        reduce_seq(step, (y, z, 0), xs)[part],
        reduce_seq(indexed, (y, z), _counted(xs))[part],
    )


@rule(source="HOL, if_cancel")
def select_same(c: boolean, x: i32):
    """Of one value twice no condition chooses: a counter that goes on either way."""
    return select(c, x, x), x


# ---- the first of the best


def _best(z: Any, xs: Any, g: Any, said: Any) -> tuple[Any, Any]:
    better, op = said

    def later(acc: Any, p: Any) -> Any:
        return select(better(g(p[0]), acc[0]), (g(p[0]), p[1]), acc)

    return (
        reduce_seq(later, (z, 0), _counted(xs)),
        reduce(op, (z, 0), map(lambda p: (g(p[0]), p[1]), _counted(xs))),
    )


@rule(
    source="argmax of NumPy; XLA's variadic reduce with its tie-breaking comparison",
    proof=BEST_OF_PLACES,
)
def reduce_seq_said_place_float(g: Fun[A, Float], z: Float, xs: A[n], said: Largest):
    """Where the best element ({float}) is, by an operator that commutes: new ones are taken that are {said}."""
    return _best(z, xs, g, said)


@rule(
    source="argmax of NumPy; XLA's variadic reduce with its tie-breaking comparison",
    proof=BEST_OF_PLACES_WHOLE,
)
def reduce_seq_said_place_whole(g: Fun[A, Whole], z: Whole, xs: A[n], said: Largest):
    """The same of whole numbers ({whole}): new ones are taken that are {said}."""
    return _best(z, xs, g, said)


Kept = Among(
    {
        "larger": (lambda x, best: x > best, earliest_largest),
        "below": (lambda x, best: best < x, earliest_largest),
        "not_below": (lambda x, best: x >= best, latest_largest),
        "smaller": (lambda x, best: x < best, earliest_smallest),
        "above": (lambda x, best: best > x, earliest_smallest),
        "not_above": (lambda x, best: x <= best, latest_smallest),
    }
)
"""When a step takes a new key with what belongs to it, in the words of a program, and the operator that does so."""


_KEPT = """
hnf. intros.
first [solve [relift] | match goal with E : Rpair _ _ ?a ?b |- _ => destruct a, b, E as [? ?] end;
  cbn [fst snd] in *; subst; split; reflexivity].
"""


def _kept(x: Any, v: Any, best: Any, said: Any) -> tuple[Any, Any]:
    better, op = said
    return select(better(x, best[0]), (x, v), best), op(best, (x, v))


@rule(source="the definition of the operator", proof=_KEPT)
def kept_by_operator_said_number(x: Number, v: i32, best: tup(Number, i32), said: Kept):
    """A step that takes a key ({number}) with what belongs to it where it is {said} is that of an operator."""
    return _kept(x, v, best, said)


# ---- chunks from the same start


@rule(
    where=[*COMMUTATIVE_SEMIGROUP, idempotent("op")],
    source="Bird, theory of lists, idempotent reductions",
    proof=REDUCE_CHUNKS_IDEMPOTENT,
)
def reduce_chunks_idempotent(op: Op[A], z: A, xs: A[k * m]):
    """Each chunk may begin with the start, which counts once."""
    return (
        reduce(op, z, xs),
        reduce(op, z, map(lambda c: reduce(op, z, c), split(m, xs))),
    )


@rule(
    where=[*COMMUTATIVE_SEMIGROUP, idempotent("op")],
    source="Bird, theory of lists, idempotent reductions",
    proof=REDUCE_STRIDED_IDEMPOTENT,
)
def reduce_strided_idempotent(op: Op[A], z: A, xs: A[k * m]):
    """Every m-th element, and each time the start, which counts once."""
    return (
        reduce(op, z, xs),
        reduce(op, z, map(lambda c: reduce(op, z, c), transpose(split(m, xs)))),
    )
