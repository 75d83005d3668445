"""Tactics for what is looked up at indices that are data: tuples lie row by row, so that one is read at once.

An array of tuples is stored component by component, so that neighbours read side by side.  Who looks one up at an index
that is data reads each component far from all others; a copy in which the numbers of a tuple lie side by side, as a
vector, is read once for all of them.  Source: SHOC's MD, whose positions are vectors of four.
"""

from __future__ import annotations

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import Rewriting, Tactic, apply, inside, then
from relift.semantics.patterns import AtRuntimeUnsafe
from relift.semantics.syntax.binding import Position, positions, term_at
from relift.semantics.syntax.terms import Term, free_variables
from relift.semantics.syntax.types import Array, Scalar, Tuple, TypeVariable, Vector

_RULES = {2: "pairs_as_vectors", 3: "triples_as_vectors", 4: "quadruples_as_vectors"}


def tuples_side_by_side() -> Tactic:
    """Each tuple that is looked up comes from a copy of its array whose rows are vectors; raises `NoMatch` where there is none.

    >>> from relift.rewrites.loading import load_program
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.looked_up import tuples_side_by_side
    >>> found = derive(load_program("examples/md.py"), tuples_side_by_side(), {"n": 64, "k": 8})
    >>> [step.rule for step in found.steps][:4]
    ['triples_as_vectors', 'insert_copy', 'map_to_seq_unroll', 'map_to_glb']
    """

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        found = _looked_up(term_at(at.term, place))
        if not found:
            raise NoMatch("no tuple is looked up at an index that is data")
        for below, rule in found:
            packed = then(apply(rule), inside("xs", "xs", "xss")(_PACKED))
            read = then(apply("at_runtime_of_map"), inside("x")(apply("store_private")))
            at = then(inside("xs")(packed), read)(at, (*place, *below))
        return at

    return tactic


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
