"""Tactics that say the same in fewer patterns: what no search result holds, and what a program has already lowered.

spelled_out   patterns that are others put together stand as those
raised        who computes a map and where its result lies is open again
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.checks.verdicts import Direction
from relift.rewrites.declared_laws import is_neutral
from relift.rewrites.rule import Rule
from relift.rewrites.rules.machine import lowering
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    at_kinds,
    attempt,
    first,
    inside,
    normalize,
    the,
    then,
    under_a_name,
)
from relift.rewrites.tactics.folds.bins import CELLS_AS_FOLDS
from relift.rewrites.tactics.long_functions import values_named
from relift.semantics.indices.views import is_layout
from relift.semantics.patterns import Generate, IterateSizes, Let, ReduceByIndex, Store
from relift.semantics.syntax.binding import Position, term_at
from relift.semantics.syntax.terms import Get, MakeTuple, Pattern, Term, subterms

_IN_OTHERS: tuple[tuple[str, Direction], ...] = (
    ("partial_reduce_as_reduce", "forward"),
    ("generate_as_map", "forward"),
    ("slide_to_rotate_values", "backward"),
    ("slide_map_to_circular_buffer", "backward"),
    ("map_slide_to_map_seq_slide", "backward"),
    ("pad_empty_clamp", "forward"),
    ("as_vector_to_aligned", "backward"),
)
"""Rules that put other patterns in the place of one that no search result holds."""

_WHO_AND_WHERE = tuple(
    rule
    for family in (
        lowering.map_to_loop, lowering.map_to_level, lowering.reduce_seq_to_turns, lowering.store_space,
    )
    for rule in family.rules
)  # fmt: skip
"""Rules that say who computes, or where a result lies: one for each loop, level and memory that there is."""


def _searched(rule: Rule) -> bool:
    """Whether search results hold the pattern that a rule lowers to."""
    return isinstance(rule.right, Pattern) and rule.right.searched


def spelled_out() -> Tactic:
    """What is not searched in terms of what is; raises `NoMatch` when there is nothing of it."""
    one = first(
        *(apply(rule, direction) for rule, direction in _IN_OTHERS),
        *(apply(rule, "backward") for rule in _WHO_AND_WHERE if not _searched(rule)),
        _cells_as_folds,
        _next_size,
        component_of_a_let,
    )
    patterns = _wherever(_is_short, one)
    return first(then(values_named(), attempt(patterns)), patterns)


def raised() -> Tactic:
    """Maps that no level has, and results that no memory has; raises `NoMatch` when all are so."""
    one = first(*(apply(rule, "backward") for rule in _WHO_AND_WHERE if _searched(rule)))
    return _wherever(_is_lowered, one)


def _wherever(concerns: Callable[[Term], bool], tactic: Tactic) -> Tactic:
    """The tactic as often as it applies to a term that it concerns."""

    def here(at: Rewriting, place: Position) -> Rewriting:
        if not concerns(term_at(at.term, place)):
            raise NoMatch("nothing of this kind")
        return tactic(at, place)

    def all_(at: Rewriting, place: Position) -> Rewriting:
        if not any(concerns(t) for t, _ in subterms(term_at(at.term, place))):
            raise NoMatch("nothing of this kind")
        return normalize(here)(at, place)

    return all_


def _is_short(t: Term) -> bool:
    if isinstance(t, Generate):
        return not is_layout(t)
    return _takes_of_a_let(t) or (isinstance(t, Pattern) and not t.searched)


def _is_lowered(t: Term) -> bool:
    return isinstance(t, Pattern) and (t.fills or isinstance(t, Store))


@at_kinds(ReduceByIndex)
def _cells_as_folds(at: Rewriting, place: Position) -> Rewriting:
    """Cells that are updated by keys as a fold for each: from a neutral element, if there is one, and then with what they had."""
    t = the(ReduceByIndex, at, place)
    first_value = t.init.f.body if isinstance(t.init, Generate) else None
    if first_value is None or not is_neutral(t.op, first_value):
        with suppress(NoMatch):
            found = apply("reduce_by_index_from_neutral")(at, place)
            return inside("xs", "ys")(CELLS_AS_FOLDS)(found, place)
    return CELLS_AS_FOLDS(at, place)


def _next_size(at: Rewriting, place: Position) -> Rewriting:
    """One step of an iteration that shortens an array: the first of several, or the only one."""
    t = term_at(at.term, place)
    if not isinstance(t, IterateSizes) or t.m.constant is None:
        raise NoMatch("no iteration of known length that shortens an array")
    if t.m.constant == 0:
        return apply("iterate_sizes_none")(at, place)
    if t.m.constant == 1:
        return apply("iterate_sizes_once")(at, place)
    return apply("iterate_sizes_add", m=1, k=t.m.constant - 1)(at, place)


@at_kinds(Get)
def component_of_a_let(at: Rewriting, place: Position) -> Rewriting:
    """A component of what needs a name, which takes the name with it; raises `NoMatch` elsewhere."""
    if not _takes_of_a_let(term_at(at.term, place)):
        raise NoMatch("no component of what needs a name")
    return apply("let_out_of_function", parts={"f": ("of",)})(at, place)


@at_kinds(Get)
def component_of_a_tuple(at: Rewriting, place: Position) -> Rewriting:
    """A component of what is made of components, or a component of it, is that component; raises `NoMatch` elsewhere."""
    whole, below = term_at(at.term, place), 0
    while isinstance(whole, Get):
        whole, below = whole.of, below + 1
    if not below or not isinstance(whole, MakeTuple):
        raise NoMatch("no component of what is made of components")
    named = under_a_name(*("of",) * below)
    return then(named, apply("let_inline"))(at, place)


def _takes_of_a_let(t: Term) -> bool:
    return isinstance(t, Get) and isinstance(t.of, Let)
