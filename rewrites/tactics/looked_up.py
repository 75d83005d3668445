"""Tactics for what is looked up at indices that are data.

    tuples_side_by_side        tuples lie row by row, so that one is read at once
    computed_where_looked_up   what is computed of each index, or of each element, is computed of those that are looked up

An array of tuples is stored component by component, so that neighbours read side by side.  Who looks one up at an index
that is data reads each component far from all others; a copy in which the numbers of a tuple lie side by side, as a
vector, is read once for all of them.  Source: SHOC's MD, whose positions are vectors of four.
"""

from __future__ import annotations

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    at_kinds,
    attempt,
    first,
    inside,
    somewhere,
    the,
    then,
)
from relift.rewrites.tactics.sharing import has_fold
from relift.semantics.indices.views import is_layout
from relift.semantics.patterns import AtRuntimeUnsafe, GatherIndices, Map
from relift.semantics.syntax.binding import Position, positions, term_at
from relift.semantics.syntax.terms import Term, free_variables
from relift.semantics.syntax.types import Array, Scalar, Tuple, TypeVariable, Vector

_RULES = {2: "pairs_as_vectors", 3: "triples_as_vectors", 4: "quadruples_as_vectors"}


def tuples_side_by_side(at: Rewriting, place: Position) -> Rewriting:
    """Each tuple that is looked up comes from a copy of its array whose rows are vectors; raises `NoMatch` where there is none.

    >>> from relift.rewrites.loading import load_program
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.looked_up import tuples_side_by_side
    >>> found = derive(load_program("examples/md.py"), tuples_side_by_side, {"n": 64, "k": 8})
    >>> [step.rule for step in found.steps][:4]
    ['triples_as_vectors', 'insert_copy', 'map_to_seq_unroll', 'map_to_glb']
    """
    found = _looked_up(term_at(at.term, place))
    if not found:
        raise NoMatch("no tuple is looked up at an index that is data")
    for below, rule in found:
        packed = then(apply(rule), inside("xs", "xs", "xss")(_PACKED))
        read = then(apply("at_runtime_of_map"), inside("x")(apply("store_private")))
        at = then(inside("xs")(packed), read)(at, (*place, *below))
    return at


def computed_where_looked_up() -> Tactic:
    """Indices that are computed without folds are computed where each is looked up, and what is computed of an element of a map is
    computed of what is looked up: a kernel looks up in buffers, in which nothing of such an element is.

    Raises `NoMatch` where there is nothing of that.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.looked_up import computed_where_looked_up
    >>> @rl.program
    ... def backwards(ids: rl.i32[8], x: rl.f32[2, 8]):
    ...     back = rl.map(lambda i: 7 - i, ids)
    ...     return rl.map(lambda r: rl.gather_indices(back, rl.map(lambda v: v * v, r)), x)
    >>> print(rl.show(derive(backwards, computed_where_looked_up()).result))
    map(lambda r: map(lambda i: at_runtime_unsafe(7 - i, r) * at_runtime_unsafe(7 - i, r), ids), x)
    """
    return first(
        then(somewhere(_each_looked_up), attempt(somewhere(_of_what_is_looked_up))),
        somewhere(_of_what_is_looked_up),
    )


@at_kinds(GatherIndices)
def _each_looked_up(at: Rewriting, place: Position) -> Rewriting:
    t = the(GatherIndices, at, place)
    if _is_computed(t.ids) and (free_variables(t.ids) or not has_fold(t.ids)):
        return apply("gather_indices_of_map")(at, place)
    if _is_of_an_element(t.xs):
        each = inside("ids")(apply("map_identity", "backward"))
        return then(each, apply("gather_indices_of_map"))(at, place)
    raise NoMatch("no indices that are computed, or elements of an element of a map")


@at_kinds(AtRuntimeUnsafe)
def _of_what_is_looked_up(at: Rewriting, place: Position) -> Rewriting:
    t = the(AtRuntimeUnsafe, at, place)
    if not _is_of_an_element(t.xs):
        raise NoMatch("no elements of an element of a map are looked up")
    return then(apply("at_runtime_of_map"), apply("let_inline"))(at, place)


def _is_computed(t: Term) -> bool:
    return isinstance(t, Map) and not is_layout(t)


def _is_of_an_element(t: Term) -> bool:
    """Whether an array is computed of an element of a map, without folds, so that no kernel of its own stores it."""
    return _is_computed(t) and bool(free_variables(t)) and not has_fold(t)


_PACKED = then(
    inside("f")(then(apply("insert_copy"), apply("map_to_seq_unroll"))),
    apply("map_to_glb", d=0),
    apply("store_global"),
)
"""A work-item copies a tuple into its row."""


def _looked_up(t: Term) -> list[tuple[Position, str]]:
    """Where a tuple is looked up, and the rule that packs its array."""
    found = [
        (place, _rule_for(u.xs))
        for place, u in positions(t)
        if isinstance(u, AtRuntimeUnsafe) and free_variables(u.index) and not free_variables(u.xs)
    ]
    return [(place, rule) for place, rule in found if rule is not None]


def _rule_for(xs: Term) -> str | None:
    match xs.type:
        case Array(Tuple(parts), _) if isinstance(parts[0], Scalar) and len(set(parts)) == 1:
            return _RULES.get(len(parts))
        case Scalar() | Array() | Tuple() | Vector() | TypeVariable():
            return None
