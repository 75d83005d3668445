"""Tactics for nests whose sizes no blocks divide: more rows and columns than there are, of which the rest is taken away.

    map f xs  =  take n (map f (pad 0 r clamp xs))
    map f xs  =  take n (map f (join (pad 0 (r / w) clamp (split w xs))))

The folds go their whole way; only rows and columns that nobody reads are computed beside.  Those lie beyond the
result: what is computed is stored, and the result is a copy, or only what is taken is written at all.  Rows that lie side
by side are added in whole vectors where these divide both what there is and what is added: so each vector is read at once.

    fold op z g (zip x y)  =  fold op z g (zip (pad 0 r 0 x) (pad 0 r 0 y))                  (g (0, 0) is neutral in op)

Folds in chunks go further than they have steps: what is read there is nothing, and changes nothing.
"""

from __future__ import annotations

from math import gcd
from typing import Any

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    attempt,
    copy,
    curried,
    first,
    fission,
    inside,
    then,
)
from relift.rewrites.tactics.folds.remainders import length_of
from relift.rewrites.tactics.nests.normal_form import Nest, straight
from relift.rewrites.tactics.reuse import lie_together
from relift.semantics.language.coercion import as_term
from relift.semantics.patterns import Map, ReduceSeq, Zip
from relift.semantics.syntax.binding import Position, substitute, term_at
from relift.semantics.syntax.terms import Combine
from relift.semantics.syntax.types import Scalar, Tuple, Type, boolean, dimensions

_TAKEN: Position = ("xs",)
"""From what was padded to the nest, once for each of its dimensions."""

_MOST_DIMENSIONS = 3
"""Of work-items."""

_FEW_STEPS = 2
"""Steps of folds that go on in registers: an H200 takes 3,092 us for 4097^3 so, and 3,206 with one more chunk."""


def in_whole_blocks(nest: Nest, rows: int, columns: int, tactic: Tactic) -> Tactic:
    """A tactic for a nest of a program, whose blocks are of so many rows and columns; padded where they do not divide it,
    and the result copied.

    Raises `NoMatch` where a nest that is to be padded is in one more map.
    """
    more = _added(nest, rows, columns)
    if not any(more):
        return inside(*nest.place)(tactic)
    if nest.around:
        raise NoMatch("nests in one more map are not padded")
    stored = inside(*_taken(more))(then(tactic, apply("store_global")))
    return then(inside(*nest.place)(then(padded(*more), stored)), copied_out)


def beyond_the_end(nest: Nest, rows: int, columns: int, lanes: int, tactic: Tactic) -> Tactic:
    """The same, where blocks at the end write only what is taken of them; rows side by side are added in vectors.

    These have `lanes` lanes, or as many as divide the rows.

    >>> from relift.rewrites.tactics.nests.padding import beyond_the_end
    >>> from relift.rewrites.loading import load_program
    >>> from relift.rewrites.tactics.combinators import Rewriting, derive, skip
    >>> from relift.rewrites.tactics.nests.dimensions import nest_at
    >>> product = load_program("examples/matmul.py")
    >>> nest = nest_at(Rewriting(product.at({"n": 4, "m": 6, "k": 2}).body, "reassociate"), ())
    >>> found = derive(product, beyond_the_end(nest, 4, 4, 2, skip), {"n": 4, "m": 6, "k": 2})
    >>> [step.rule for step in found.steps]
    ['join_split', 'pad_clamp_removed', 'drop_nothing', 'join_take', 'take_map', 'map_fusion']
    """
    more = _added(nest, rows, columns)
    return inside(*nest.place)(then(padded(*more, lanes), inside(*_taken(more))(tactic)))


def _added(nest: Nest, rows: int, columns: int) -> tuple[int, int]:
    """The rows and columns that a nest has less than whole blocks have."""
    down, across, _ = nest.lengths
    return -down % rows, -across % columns


def _taken(more: tuple[int, int]) -> Position:
    """From a nest with so many more rows and columns, of which the first are taken, to the nest."""
    return _TAKEN * sum(map(bool, more))


@curried
def padded(at: Rewriting, place: Position, rows: int, columns: int, lanes: int = 1) -> Rewriting:
    """A nest of so many more rows and columns, of which the first are taken; those side by side come in vectors.

    >>> from relift.rewrites.tactics.nests.padding import padded
    >>> from relift.rewrites.loading import load_program
    >>> from relift.rewrites.tactics.combinators import derive
    >>> found = derive(load_program("examples/matmul.py"), padded(3, 0), {"n": 5, "m": 4, "k": 2})
    >>> [step.rule for step in found.steps]
    ['pad_clamp_removed', 'drop_nothing', 'pad_clamp_map']
    """
    if rows:
        at = lengthened_inside(rows, lanes)(at, place)
        place = (*place, *_TAKEN)
    if columns:
        outside = fission("f", "xs")
        at = then(inside("f")(lengthened_inside(columns, lanes)), outside)(at, place)
    return at


def lengthened_inside(more: int, lanes: int = 1) -> Tactic:
    """What is computed of an array, or zipped, as the first of what is computed of one with so many more.

    In vectors of `lanes` where what lies side by side is to be read in vectors: then what is computed must be total.
    Otherwise it need not be: it is computed of the last element again.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.nests.padding import lengthened_inside
    >>> @rl.program
    ... def sums(x: rl.f32[5], y: rl.f32[5]):
    ...     return rl.map(lambda p: p[0] + p[1], rl.zip(x, y))
    >>> print(rl.show(derive(sums, lengthened_inside(3)).result))
    take(5, map(lambda x_: x_[0] + x_[1], zip(pad(0, 3, clamp, x), pad(0, 3, clamp, y))))
    """

    def in_vectors(at: Rewriting, place: Position) -> Rewriting:
        each = _each_lengthened(more, lanes)
        if isinstance(term_at(at.term, place), Map):
            return then(inside("xs")(each), apply("take_map", "backward"))(at, place)
        return each(at, place)

    return in_vectors if lanes > 1 else then(lengthened(more), inside("xs")(padded_inside))


def padded_inside(at: Rewriting, place: Position) -> Rewriting:
    """What is padded of what is computed, or zipped, is computed or zipped of what is padded."""
    return attempt(first(_PADDED_MAP, _PADDED_ZIP))(at, place)


_PADDED_MAP = then(apply("pad_clamp_map"), inside("xs")(padded_inside))
_PADDED_ZIP = then(apply("pad_clamp_zip"), inside("xs")(padded_inside), inside("ys")(padded_inside))


@curried
def _each_lengthened(at: Rewriting, place: Position, more: int, lanes: int) -> Rewriting:
    """An array, or each of those that are zipped, as the first elements of one with so many more."""
    if isinstance(term_at(at.term, place), Zip):
        each = _each_lengthened(more, lanes)
        zipped = apply("take_zip", "backward")
        return then(inside("xs")(each), inside("ys")(each), zipped)(at, place)
    together = lie_together(at.term, place)
    length = dimensions(term_at(at.term, place).type)[0][0].constant or 1
    return lengthened(more, gcd(lanes, length, more) if together else 1)(at, place)


by_an_operator = then(
    apply("reduce_map_fusion", "backward", parts={"g": ("f", "right")}),
    apply("reduce_to_seq", "backward"),
)
"""A fold that computes something of each element, as one by an operator, of what a map makes of them."""


@curried
def in_whole_chunks(at: Rewriting, place: Position, depth: int, few: int = _FEW_STEPS) -> Rewriting:
    """The folds of a table in normal form, which go on to the end of a chunk where they can.

    A `few` steps that follow whole chunks take less than one more chunk.
    """
    steps = steps_of(at, place)
    return at if steps % depth <= few else attempt(longer_folds(-steps % depth))(at, place)


def steps_of(at: Rewriting, table: Position) -> int:
    """How many steps the folds of a table in normal form have."""
    return length_of(term_at(at.term, (*table, "f", "f", "xs")))


def longer_folds(more: int) -> Tactic:
    """The folds of a table in normal form go on for so many steps, which change nothing.

    Raises `NoMatch` where nothing says so: the folds are by no operator, or of zeros they make something else than its
    neutral element.

    >>> from relift.rewrites.tactics.nests.padding import longer_folds
    >>> from relift.rewrites.loading import load_program
    >>> from relift.rewrites.tactics.combinators import derive, fuse, then
    >>> product = then(fuse(), longer_folds(3))
    >>> found = derive(load_program("examples/matmul.py"), product, {"n": 2, "m": 4, "k": 5})
    >>> [step.rule for step in found.steps if "pad" in step.rule]
    ['reduce_pad', 'pad_constant_map', 'pad_constant_zip']
    """

    def folds(at: Rewriting, place: Position) -> Rewriting:
        fold = term_at(at.term, place)
        if not isinstance(fold, ReduceSeq) or not isinstance(fold.xs, Zip):
            raise NoMatch("a fold in normal form goes through two arrays at once")
        step, (_, element) = fold.f.body, fold.f.parameters
        if not isinstance(step, Combine):
            raise NoMatch("the folds are by no operator")
        nothing = as_term(_zeros(element.type), element.type)
        neutral = substitute(step.right, {element.name: nothing})
        of_each = apply("pad_constant_map", "backward", given={"c": nothing})
        lengthened = then(
            apply("reduce_pad", "backward", left=0, right=more),
            inside("xs")(then(of_each, inside("xs")(apply("pad_constant_zip")))),
        )
        return then(
            by_an_operator,
            apply("reduce_start", "backward", given={"z": neutral}),
            inside("right")(lengthened),
            apply("reduce_start"),
            apply("reduce_to_seq"),
            apply("reduce_map_fusion"),
        )(at, place)

    return then(inside("f", "f")(folds), straight)


def _zeros(t: Type) -> Any:
    """Zero for each number of a type, in tuples as these are."""
    if isinstance(t, Tuple):
        return tuple(map(_zeros, t.parts))
    if not isinstance(t, Scalar) or t == boolean:
        raise NoMatch(f"a fold of {t} is not made longer")
    return 0.0 if t.is_float else 0


def lengthened(more: int, lanes: int = 1) -> Tactic:
    """An array as the first elements of one with so many more; in vectors of `lanes`, which divide both."""
    if lanes > 1:
        vectors = apply("join_split", "backward", m=lanes)
        return then(vectors, inside("xss")(lengthened(more // lanes)), apply("join_take"))
    padded = apply("pad_clamp_removed", "backward", left=0, right=more)
    return then(padded, inside("xs")(apply("drop_nothing")))


def copied_out(at: Rewriting, place: Position) -> Rewriting:
    """What is stored and only rearranged, copied by a kernel of its own: a work-item for each of the outer dimensions."""
    depth = len(dimensions(term_at(at.term, place).type)[0])
    shared = min(depth, _MOST_DIMENSIONS)
    items = [apply("map_to_glb", d=d) for d in reversed(range(shared))]
    return copy(*items, *[apply("map_to_seq")] * (depth - shared))(at, place)
