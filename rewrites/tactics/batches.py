"""Tactics for batches: what each of them computes by folds becomes an array for all of them, and the rows of all are one table.

Several heads of attention are such a program: each has scores for its rows, their largest, the sum of their powers.  Each
of these is an array with an element for every row of every batch, which a kernel of its own may store, and what a kernel
goes through is what it reads.
"""

from __future__ import annotations

from typing import TypeGuard

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    any_rule,
    apply,
    at_kinds,
    context_free,
    curried,
    fission,
    inside,
    normalize,
    repeat,
    then,
    topdown,
)
from relift.rewrites.tactics.nests.dimensions import rows_joined
from relift.rewrites.tactics.sharing import apart, has_fold, named_pair
from relift.rewrites.tactics.transpositions import only, zips_on_the_right
from relift.rewrites.tactics.vectors.lanes import depth_of
from relift.semantics.indices.inverses import written_place
from relift.semantics.indices.views import is_layout
from relift.semantics.patterns import Map, Reduction, Zip
from relift.semantics.syntax.binding import Position, binders_at, is_invariant, positions, term_at
from relift.semantics.syntax.terms import Lambda, MakeTuple, Term, Var, free_variables
from relift.semantics.syntax.types import Array


def batches_apart(*, rows: bool = False) -> Tactic:
    """What functions in maps within maps compute by folds becomes an array for all, of what it is computed of alone.

    With `rows`, so do the rows that are computed there and read more than once.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.batches import batches_apart
    >>> from relift.rewrites.tactics.combinators import derive
    >>> @rl.program
    ... def shares(x: rl.f32[2, 3, 4]):
    ...     def row(r):
    ...         whole = rl.reduce(rl.add, 0.0, r)
    ...         return rl.map(lambda v: v / whole, r)
    ...     return rl.map(lambda rows: rl.map(row, rows), x)
    >>> [step.rule for step in derive(shares, batches_apart()).steps]
    ['map_fission_with_zip', 'map_fission_with_zip']
    """
    return then(apart(within=True, rows=rows), normalize(_of_what_is_read))


def folded_apart() -> Tactic:
    """What functions in maps within maps fold, each element of it by a fold of its own, becomes a table for all of them.

    So the inner folds are a nest, as a product of matrices is, and the outer ones go through what it gives.  Raises `NoMatch`
    where no such function folds what is folded.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.batches import folded_apart
    >>> from relift.rewrites.tactics.combinators import derive
    >>> @rl.program
    ... def largest(x: rl.f32[4, 8], w: rl.f32[2, 3, 8]):
    ...     def fold(row, v):
    ...         return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(row, v)))
    ...     def most(row, vs):
    ...         return rl.reduce(rl.maximum, 0.0, rl.map(lambda v: fold(row, v), vs))
    ...     return rl.map(lambda row: rl.map(lambda vs: most(row, vs), w), x)
    >>> rl.show(derive(largest, folded_apart()).result.f)
    'lambda y: map(lambda y: reduce(maximum, 0.0, y), y)'
    """

    def here(at: Rewriting, place: Position) -> Rewriting:
        t = term_at(at.term, place)
        if not isinstance(t, Map) or free_variables(t):
            raise NoMatch("no map that needs no variable")
        depth = depth_of(t)
        inner = (*place, *("f",) * (depth - 1))
        body = term_at(at.term, (*inner, "f"))
        found = [
            (len(below), (*below, "xs"))
            for below, u in positions(body)
            if isinstance(u, Reduction) and isinstance(u.xs, Map) and has_fold(u.xs.f.body)
            if is_invariant(body, (*below, "xs"))
        ]
        if depth < 2 or not found:
            raise NoMatch("no maps in one another whose function folds what is folded")
        below = min(found)[1]
        for outwards in range(depth):
            around = (*place, *("f",) * (depth - 1 - outwards))
            at = fission("f", *below)(at, around)
            below = ("xs",)
        return at

    return topdown(here)


def pairs_apart(at: Rewriting, place: Position) -> Rewriting:
    """A map to pairs of which one is an array, or both are folded, as the zip of two maps: what each result is computed of is shared
    out for itself.

    Raises `NoMatch` where the result is no such map.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.batches import pairs_apart
    >>> from relift.rewrites.tactics.combinators import derive
    >>> @rl.program
    ... def parts(x: rl.f32[2, 3]):
    ...     total = lambda r: rl.reduce(rl.add, 0.0, r)
    ...     return rl.map(lambda r: (total(r), rl.map(lambda v: v + v, r)), x)
    >>> print(rl.show(derive(parts, pairs_apart).result))
    zip(map(lambda x_: reduce(add, 0.0, x_), x), map(lambda x_: map(lambda v: v + v, x_), x))
    """
    at = inside("f")(repeat(apply("let_inline")))(at, place)
    t = term_at(at.term, place)
    if not isinstance(t, Map) or not _is_of_kernels(t.f.body):
        raise NoMatch("the result is no map to pairs of which one is an array, or both folded")
    return apply("zip_of_maps", "backward")(at, place)


def _is_of_kernels(t: Term) -> bool:
    """Whether the parts of a tuple are such that a kernel for each may be the faster: one that reads a matrix by rows, and one by columns."""
    parts = t.parts if isinstance(t, MakeTuple) else ()
    return any(isinstance(part.type, Array) for part in parts) or sum(map(has_fold, parts)) > 1


def rows_of_batches() -> Tactic:
    """Maps within maps, the innermost over rows that are folded, go through the rows of all batches.

    What belongs to the batch, and not to the row, stands beside each row: it is read there as often as before.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.batches import rows_of_batches
    >>> from relift.rewrites.tactics.combinators import derive
    >>> @rl.program
    ... def sums(x: rl.f32[2, 3, 4]):
    ...     return rl.map(lambda rows: rl.map(lambda r: rl.reduce(rl.add, 0.0, r), rows), x)
    >>> print(rl.show(derive(sums, rows_of_batches()).result))
    split(3, map(lambda x_: reduce(add, 0.0, x_), join(x)))
    """
    return then(_rows_joined, repeat(where_written(_rows_joined)))


def _rows_joined(at: Rewriting, place: Position) -> Rewriting:
    """The rows of all batches, each beside what it is folded with that belongs to its batch."""
    return rows_joined(beside_each(at, place), place)


def beside_each(at: Rewriting, place: Position) -> Rewriting:
    """Each element that an inner map goes through stands beside what is computed of the element of the outer one alone."""
    while (found := _of_batch(term_at(at.term, place))) is not None:
        at = _beside(*found)(at, (*place, "f"))
    return at


def _of_batch(t: Term) -> tuple[Var, Term] | None:
    """The row, and the largest part of what is computed of it that belongs to its batch alone."""
    if not isinstance(t, Map) or not isinstance(inner := t.f.body, Map):
        return None
    if isinstance(inner.f.body.type, Array):
        return None  # its results are rows
    (batch,), (row,) = t.f.parameters, inner.f.parameters
    for place, u in positions(inner.f.body):
        bound = {row.name, *(x.name for x in binders_at(inner.f.body, place))}
        if batch.name in (used := free_variables(u)) and not bound & used:
            return row, u
    return None


def _beside(row: Var, of_batch: Term) -> Tactic:
    """A map whose function takes a pair: the row, and what is the same for all of them."""
    return then(
        inside("f")(named_pair(row, of_batch)),
        fission("f", "x"),
        inside("f")(apply("let_inline")),
        inside("xs")(apply("zip_repeat", "backward")),
    )


@curried
def where_written(at: Rewriting, place: Position, tactic: Tactic) -> Rewriting:
    """A tactic where the results of a program are computed, which are rearranged."""
    return tactic(at, (*place, *written_place(term_at(at.term, place))))


_THROUGH_WHAT_IS_USED = any_rule(
    "zip_unread", "zip_unread_last", only(0), only(1), zips_on_the_right
)


@context_free
@at_kinds(Map, Zip)
def _of_what_is_read(at: Rewriting, place: Position) -> Rewriting:
    """A map goes through the arrays whose elements it uses, as they are."""
    t = term_at(at.term, place)
    if isinstance(t, Zip):
        sides = (("xs", "zip_map_left"), ("ys", "zip_map_right"))
        for field, rule in sides:
            if rearranges(term_at(t, (field,))):
                return apply(rule)(at, place)
        raise NoMatch("no zip of what is rearranged")
    assert isinstance(t, Map), "cannot happen: it is only for such"
    if rearranges(t.xs):
        return apply("map_fusion")(at, place)
    return _THROUGH_WHAT_IS_USED(at, place)


def rearranges(t: Term | Lambda) -> TypeGuard[Map]:
    """Whether a map gives the parts of each element in another order."""
    return isinstance(t, Map) and is_layout(t.f.body)
