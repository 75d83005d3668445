"""Folds of whole arrays that read the same: one pass over what they read, by what each finds in a chunk.

reduce op y (map g xs), reduce or z (map h xs)
  =  reduce op y (map (\\p. p[0]) found), reduce or z (map (\\p. p[1]) found)
     where found = store (map (\\c. (reduce op y (map g c), reduce or z (map h c))) (split m xs))

A mean and the smallest element, or the three products of a correlation, read their arrays once for all then.  Folds of
which one needs the result of another stay apart.  A fold of tuples, such as the largest element and where it is, is of
several results already: it is of what it finds in each chunk, too.
Source: Bird, theory of lists, tupling (banana split); Meijer, Fokkinga and Paterson, FPCA'91.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import Rewriting, apply, attempt, inside, then
from relift.rewrites.tactics.folds.beside import paired
from relift.rewrites.tactics.folds.partial_results import OF_EACH_ARRAY, folded_in_chunks
from relift.rewrites.tactics.folds.places import places_in_any_order
from relift.rewrites.tactics.folds.remainders import fold_followed_by_rest
from relift.rewrites.tactics.groups.rows.by_groups import FUSED_OUT_OF_ZIPS
from relift.semantics.patterns import Reduce
from relift.semantics.syntax.binding import (
    Position,
    binders_at,
    canonical,
    places_of,
    positions,
    term_at,
)
from relift.semantics.syntax.terms import Input, Term, free_variables, parts_of, subterms
from relift.semantics.syntax.types import Tuple, cells

_CHUNK = 1 << 12
"""Elements of a chunk, at most: what the first fold of it has read is in a cache for the next."""
_MOST_CHUNKS = 1 << 14
"""Chunks whose results are folded once more, at most: of longer arrays chunks are longer."""


def in_one_pass(at: Rewriting, place: Position) -> Rewriting:
    """Long folds that need no variable, none of them the result of another, and that read an array in common; or of tuples.

    Raises `NoMatch` where there are no two such folds and none of tuples.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.folds.passes.one_pass import in_one_pass
    >>> @rl.program
    ... def extremes(x: rl.f32[65536]):
    ...     smallest = rl.reduce(rl.minimum, float("inf"), x)
    ...     return rl.reduce(rl.maximum, float("-inf"), x) - smallest
    >>> [step.rule for step in derive(extremes, in_one_pass).steps if "let" in step.rule or "zip" in step.rule]
    ['let_inline', 'let_inline', 'let_let_pair', 'unzip_map', 'let_inline', 'unzip_first', 'unzip_second']
    """
    at = attempt(places_in_any_order())(at, place)
    t = term_at(at.term, place)
    if place or free_variables(t):
        raise NoMatch("only a whole program has folds that need no variable")
    groups = list(_that_read_alike(_long_folds(t)))
    together = [group for group in groups if len(group) > 1]
    tuples = [fold for fold, *others in groups if not others and _is_of_tuples(fold)]
    if not together and not tuples:
        raise NoMatch("no two long folds read the same array, and none is of tuples")
    for group in together:
        at = _passed_once(at, group)
    for fold in tuples:
        at = _in_chunks(at, fold)
    return at


def _long_folds(t: Term) -> list[Term]:
    """The folds of more elements than there may be chunks, each once: inner ones first."""
    found = {
        canonical(u): u
        for place, u in positions(t)
        if isinstance(u, Reduce) and not free_variables(u) and not binders_at(t, place)
        if _length(u) > _MOST_CHUNKS
    }
    return sorted(found.values(), key=parts_of)


def _that_read_alike(folds: Sequence[Term]) -> Iterator[list[Term]]:
    """Folds of equally many elements that read an input in common, each group without results of one another."""
    left = list(folds)
    while left:
        group = [left.pop(0)]
        while joining := [fold for fold in left if _reads_with(fold, group)]:
            group.append(joining[0])
            left.remove(joining[0])
        yield group


def _reads_with(fold: Term, group: Sequence[Term]) -> bool:
    """Whether a fold reads an array that one of a group reads, and may be computed beside all of them."""
    shares = any(_inputs(fold) & _inputs(other) for other in group)
    return shares and all(_are_apart(fold, other) for other in group)


def _are_apart(t: Term, u: Term) -> bool:
    """Whether two folds are of equally many elements, and neither needs the other."""
    alike = isinstance(t, Reduce) and isinstance(u, Reduce) and _length(t) == _length(u)
    return alike and not places_of(t, u) and not places_of(u, t)


def _inputs(t: Term) -> frozenset[Term]:
    """The arrays that a fold reads as long as itself, or longer."""
    found = (u for u, _ in subterms(t) if isinstance(u, Input))
    return frozenset(u for u in found if (cells(u.type).constant or 0) >= _length(t))


def _length(t: Term) -> int:
    return (cells(t.xs.type).constant or 0) if isinstance(t, Reduce) else 0


def _passed_once(at: Rewriting, group: Sequence[Term]) -> Rewriting:
    """Folds of chunks side by side for each chunk, stored; the folds of the group are of what is stored then, and of what is left."""
    length = _length(group[0])
    chunk = _chunk_of(length)
    partial: list[Term] = []
    for fold in group:
        for place in places_of(at.term, fold):
            at = attempt(inside("xs")(FUSED_OUT_OF_ZIPS))(at, place)
            at = fold_followed_by_rest(chunk, folded_in_chunks(chunk))(at, place)
            chunks = (*place, "init") if length % chunk else place
            partial.append(term_at(at.term, (*chunks, "xs")))
    at, found = paired(at, (), partial)
    for place in places_of(at.term, found):
        at = then(OF_EACH_ARRAY, apply("store_global"))(at, place)
    return at


def _is_of_tuples(t: Term) -> bool:
    return isinstance(t.type, Tuple)


def _in_chunks(at: Rewriting, fold: Term) -> Rewriting:
    """A fold of tuples, of what it finds in each chunk, which is stored; the elements that fill no chunk follow."""
    by_chunks = then(folded_in_chunks(_CHUNK), inside("xs")(apply("store_global")))
    for place in places_of(at.term, fold):
        at = fold_followed_by_rest(_CHUNK, by_chunks)(at, place)
    return at


def _chunk_of(length: int) -> int:
    """How many elements a chunk has: as many as divide all, or else as leave few, which each work-item folds by itself."""
    least = max(_CHUNK // 4, -(-length // _MOST_CHUNKS))
    sizes = range(-(-least // _UNIT) * _UNIT, max(_CHUNK, 2 * least) + 1, _UNIT)
    return min(sizes, key=lambda m: (-(-(length % m) // _UNIT), -math.gcd(m, _VECTORS), -m))


_UNIT, _VECTORS = 128, 512
"""Elements of which a chunk is made: one for each member of a group, or better a vector."""
