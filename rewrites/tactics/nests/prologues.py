"""Tactics for what the folds of a nest read and is computed, a prologue: a kernel of its own stores it before.

What belongs to one of many nests in a map is stored for all of them at once, outside of the map.
"""

from __future__ import annotations

from collections.abc import Sequence

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import Rewriting, apply, curried, fission, inside
from relift.rewrites.tactics.nests.normal_form import OPERANDS
from relift.rewrites.tactics.reuse import lies_across, only_rearranges
from relift.semantics.patterns import Map, Transpose
from relift.semantics.syntax.binding import Position, term_at
from relift.semantics.syntax.terms import free_variables


@curried
def prologues_stored(at: Rewriting, place: Position, batches: Sequence[Position] = ()) -> Rewriting:
    """What the folds of a table read and is computed is stored by a kernel of its own, in the order of what it reads.

    `batches` is where the map around the table is, if there is one.  Raises `NoMatch` where what is computed belongs to more
    than its element, or is no table.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.nests.prologues import prologues_stored
    >>> n = rl.nat("n")
    >>> @rl.program
    ... def products(x: rl.f32[n, n, n], w: rl.f32[n, n]):
    ...     fold = lambda r, q: rl.reduce_seq(lambda s, p: s + p[0] * p[1], 0.0, rl.zip(r, q))
    ...     def table(y):
    ...         powers = rl.map(lambda row: rl.map(lambda v: rl.exp(v), row), y)
    ...         return rl.map(lambda r: rl.map(lambda q: fold(r, q), w), powers)
    ...     return rl.map(table, x)
    >>> stored = lambda at, place: prologues_stored([place])(at, (*place, "f"))
    >>> [step.rule for step in derive(products, stored, {"n": 4}).steps]
    ['map_fission_with_zip', 'map_to_glb', 'map_to_glb', 'map_to_glb', 'store_global']
    """
    for operand in OPERANDS:
        if not only_rearranges(term_at(at.term, (*place, *operand))):
            at = _stored_before(at, (*place, *operand), batches)
    return at


def _stored_before(at: Rewriting, place: Position, batches: Sequence[Position]) -> Rewriting:
    """A table of elements, which a kernel computes, as it is or transposed; neighbours are those of what it reads."""
    while isinstance(t := term_at(at.term, place), Transpose):
        place = (*place, "xss")
    if not isinstance(t, Map) or not isinstance(t.f.body, Map):
        raise NoMatch("what is computed before the folds is no table of elements")
    if not free_variables(t):
        outside = None
    elif batches:
        (around,) = batches
        at = fission(*place[len(around) :], beside=True)(at, around)
        outside = (*around, "xs", "ys")
    else:
        raise NoMatch("what is computed before the folds depends on a variable")
    return _stored(at, place if outside is None else (*outside, "f"), outside)


def _stored(at: Rewriting, table: Position, outside: Position | None) -> Rewriting:
    """A table with a work-item for each element, stored, with those of the map `outside`, if there is one."""
    whole = outside or table
    across = lies_across(at.term, (*table, "xs"))
    if across:
        at = apply("transpose_transpose", "backward")(at, table)
        if outside is None:
            whole = (*table, "xss")
            table = (*whole, "xss")
        else:
            at = fission("f", "xss")(at, outside)
            whole = (*outside, "xs")
            table = (*whole, "f", "xss")
    at = inside(*table, "f")(apply("map_to_glb", d=int(across)))(at, ())
    at = apply("map_to_glb", d=int(not across))(at, table)
    if outside is not None:
        at = apply("map_to_glb", d=2)(at, whole)
    return apply("store_global")(at, whole)
