"""Tactics for what is looked up at computed indices.

    gone_through_instead       what a map looks up at each of the indices that it goes through, it goes through
    tuples_side_by_side        tuples lie row by row, so that one is read at once
    computed_where_looked_up   what is computed of each index, or of each element, is computed of those that are looked up

An array of tuples is stored component by component, so that neighbours read side by side.  Who looks one up at an index
that is data reads each component far from all others; a copy in which the numbers of a tuple lie side by side, as a
vector, is read once for all of them.  Source: SHOC's MD, whose positions are vectors of four.
"""

from __future__ import annotations

from collections.abc import Iterator

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    at_kinds,
    attempt,
    everywhere,
    first,
    fission,
    inside,
    normalize,
    somewhere,
    the,
    then,
    topdown,
)
from relift.rewrites.tactics.nests.normal_form import through_what_is_read
from relift.rewrites.tactics.sharing import has_fold
from relift.semantics.indices.views import is_layout
from relift.semantics.patterns import AtRuntimeUnsafe, GatherIndices, Generate, Map, Zip
from relift.semantics.syntax.binding import Position, binders_at, positions, term_at
from relift.semantics.syntax.terms import Get, Term, free_variables, subterms
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


def gone_through_instead() -> Tactic:
    """What maps look up at the indices that they go through, they go through, and fold and tile like all that is: a program in
    the words of loops becomes one over arrays.

    Raises `NoMatch` where nothing is looked up so.  Source: SaC's with-loops.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.looked_up import gone_through_instead
    >>> @rl.program
    ... def sums(x: rl.f32[4, 8]):
    ...     cell = lambda i, j: rl.at_runtime_unsafe(j, rl.at_runtime_unsafe(i, x))
    ...     places = lambda n: rl.generate(n, lambda i: i)
    ...     return rl.map(lambda j: rl.reduce(rl.add, 0.0, rl.map(lambda i: cell(i, j), places(4))), places(8))
    >>> print(rl.show(derive(sums, gone_through_instead()).result))
    map(lambda y: reduce(add, 0.0, y), transpose(x))
    """
    return then(topdown(_ONCE), normalize(_ONCE), everywhere(_WHOLE))


@at_kinds(Map)
def _at_its_index(at: Rewriting, place: Position) -> Rewriting:
    """One more array that a map looks something up in at its own index goes into what it goes through."""
    t = the(Map, at, place)
    indices = set(_indices(t.xs, t.f.parameters[0]))
    for below, u in positions(t.f.body) if indices else ():
        if not isinstance(u, AtRuntimeUnsafe):
            continue
        bound = {x.name for x in (*t.f.parameters, *binders_at(t.f.body, below))}
        here = (*place, "f", *below)
        if u.index in indices and not free_variables(u.xs) & bound:
            apart = then(fission("f", *below, beside=True), inside("xs", "ys")(_IN_TURN))
            return apart(at, place)
        row = u.xs
        if (
            isinstance(row, AtRuntimeUnsafe)
            and row.index in indices
            and not (free_variables(row.xs) | free_variables(u.index)) & bound
        ):
            return apply("looked_up_across")(at, here)
    raise NoMatch("nothing that does not change is looked up at an index that a map goes through")


@at_kinds(Generate)
def _generated(at: Rewriting, place: Position) -> Rewriting:
    """The same of an array that is generated, as what a map makes of its indices."""
    f = the(Generate, at, place).f
    if not any(
        isinstance(u, AtRuntimeUnsafe) and u.index == f.parameters[0] for u, _ in subterms(f.body)
    ):
        raise NoMatch("nothing is looked up at an index that is generated")
    return then(apply("generate_as_map"), topdown(_at_its_index))(at, place)


def _indices(xs: Term, element: Term) -> Iterator[Term]:
    """What of an element is its index: all of it, or components."""
    if isinstance(xs, Generate) and xs.f.body == xs.f.parameters[0]:
        yield element
    if isinstance(xs, Zip) and isinstance(element.type, Tuple):
        for number, zipped in enumerate((xs.xs, xs.ys)):
            yield from _indices(zipped, Get(number, element, element.type.parts[number]))


_ONCE: Tactic = first(_generated, _at_its_index)
_IN_TURN: Tactic = then(through_what_is_read(), apply("looked_up_in_turn"))
_WHOLE: Tactic = then(
    attempt(through_what_is_read()), attempt(apply("map_identity")), attempt(apply("take_all"))
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
