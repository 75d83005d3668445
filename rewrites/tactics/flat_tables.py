"""Tactics for functions of a table: what they fold is one row, and so is what they compute of each element.

    reduce op z (map (\\r. reduce op z (map h r)) t)  =  reduce op z (map h (join t))
    map (\\r. map h r) t                              =  split m (map h (join t))

A normalisation over the last two dimensions, or the last three, is one over a row then, which a group of a GPU shares
as it shares any row, also where rows of a table are shorter than a group.
"""

from __future__ import annotations

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.batches import beside_each
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    attempt,
    inside,
    normalize,
    then,
)
from relift.rewrites.tactics.nests.dimensions import (
    joined_map,
    joined_zips,
    layout_outside,
    one_fold,
)
from relift.semantics.indices.inverses import written_place
from relift.semantics.indices.views import is_layout
from relift.semantics.patterns import Let, Map
from relift.semantics.syntax.binding import Position, term_at
from relift.semantics.syntax.types import Array, Scalar, Tuple, Type, TypeVariable, Vector


def has_tables(t: Type) -> bool:
    """Whether a type is an array of arrays, or a tuple that has one.

    >>> from relift import f32
    >>> from relift.rewrites.tactics.flat_tables import has_tables
    >>> has_tables(f32[4]), has_tables(f32[4, 8])
    (False, True)
    """
    match t:
        case Array(element):
            return isinstance(element, Array)
        case Tuple(parts):
            return any(map(has_tables, parts))
        case Scalar() | Vector() | TypeVariable():
            return False


def flat_tables() -> Tactic:
    """What a function of tables folds, and what it computes of their elements, goes through the rows of each one after the other.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive, inside
    >>> from relift.rewrites.tactics.flat_tables import flat_tables
    >>> @rl.program
    ... def shares(x: rl.f32[2, 3, 4]):
    ...     def table(t):
    ...         whole = rl.reduce(rl.add, 0.0, rl.map(lambda r: rl.reduce(rl.add, 0.0, r), t))
    ...         return rl.map(lambda r: rl.map(lambda v: v / whole, r), t)
    ...     return rl.map(table, x)
    >>> print(rl.show(derive(shares, inside("f")(flat_tables())).result))
    map(lambda t: split(4, map(lambda x: x / reduce(add, 0.0, join(t)), join(t))), x)
    """
    return then(
        normalize("map_identity", _of_components),
        normalize(one_fold),
        attempt(_flat),
        normalize(joined_map, joined_zips, apply("join_join", "backward")),
    )


def _of_components(at: Rewriting, place: Position) -> Rewriting:
    """A map reads the components of what is zipped, and not tuples that a map makes of them."""
    t = term_at(at.term, place)
    if not isinstance(t, Map) or not isinstance(t.xs, Map) or not is_layout(t.xs):
        raise NoMatch("no map over what is only rearranged by a map")
    return apply("map_fusion")(at, place)


def _flat(at: Rewriting, place: Position) -> Rewriting:
    """Maps within maps as one over the joined rows, which is split afterwards."""
    t = term_at(at.term, place)
    if isinstance(t, Let):
        return inside("f")(_flat)(at, place)
    if not isinstance(t, Map) or not isinstance(t.f.body.type, Array):
        raise NoMatch("no map that computes rows")
    at = attempt(_flat)(at, (*place, "f"))
    if written_place(term_at(at.term, (*place, "f"))):
        at = layout_outside(at, place)
        place = (*place, *written_place(term_at(at.term, place)))
    at = beside_each(at, place)
    return then(apply("split_of_join", "backward"), inside("xs")(joined_map))(at, place)
