"""A tactic for functions that repeat what they compute until they are too long to be searched.

A program in Python computes a value once and reads it often; as a term, it stands wherever it is read.  What it needs again
has a name in it then.  Source: common subexpressions (Cocke, SIGPLAN 1970), as names.
"""

from __future__ import annotations

from contextlib import suppress

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import LONG, Rewriting, apply, curried, under_a_name
from relift.rewrites.tactics.sharing import has_loops
from relift.semantics.language.common_subexpressions import repeated
from relift.semantics.patterns import Let, Map, ToGlobal
from relift.semantics.syntax.binding import Position, positions, term_at
from relift.semantics.syntax.terms import Get, MakeTuple, Term, parts_of

_MOST_NAMES = 64

_ENDLESS = 1 << 17
"""A term of more parts is not gone through."""


@curried
def values_named(at: Rewriting, place: Position, most: int = LONG) -> Rewriting:
    """In a term of more than `most` parts, components of tuples are computed where they are read, and what functions or several results
    compute more than once has names there, if it is still so long.

    Raises `NoMatch` where it has no more, or where nothing is repeated.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.long_functions import values_named
    >>> @rl.program
    ... def powers(x: rl.f32[8]):
    ...     def cell(v):
    ...         for _ in range(5):
    ...             v = v * v + v
    ...         return v
    ...     return rl.map(cell, x)
    >>> derive(powers, values_named(most=16)).steps[0].rule
    'let_inline'
    """
    parts = parts_of(term_at(at.term, place))
    if not most < parts <= _ENDLESS:
        raise NoMatch(f"a term of {parts} parts, and not of more than {most}")
    start, at = at, _components_alone(at, place)
    for _ in range(_MOST_NAMES if parts_of(term_at(at.term, place)) > most else 0):
        more = _with_a_name(at, place)
        if more is None:
            break
        at = more
    if at is start:
        raise NoMatch("nothing is computed more than once")
    return at


def _components_alone(at: Rewriting, place: Position) -> Rewriting:
    """A component of the tuples that a map makes, which is all that another one reads of them, is computed alone."""
    while True:
        below = next((p for p, u in positions(term_at(at.term, place)) if _is_component(u)), None)
        if below is None:
            return at
        at = apply("map_fusion")(at, (*place, *below))


def _is_component(t: Term) -> bool:
    if not isinstance(t, Map) or not isinstance(t.xs, Map):
        return False
    read, made = t.f.body, t.xs.f.body
    return isinstance(made, MakeTuple) and isinstance(read, Get) and read.of == t.f.parameters[0]


def names_stored(at: Rewriting, place: Position) -> Rewriting:
    """What has a name outside all functions is stored by a kernel of its own, or stands where it is read where no loop computes it.

    Raises `NoMatch` where nothing has such a name.
    """
    if not isinstance(term_at(at.term, place), Let):
        raise NoMatch("no name that is outside all functions")
    while isinstance(t := term_at(at.term, place), Let):
        if isinstance(t.x, ToGlobal):
            place = (*place, "f")
        elif has_loops(t.x):
            at, place = apply("store_global")(at, (*place, "x")), (*place, "f")
        else:
            at = apply("let_inline")(at, place)
    return at


def _with_a_name(at: Rewriting, place: Position) -> Rewriting | None:
    """The term with a name for what saves most parts, of what may have one; None where nothing does."""
    for body, value in repeated(term_at(at.term, place)):
        with suppress(NoMatch):
            return under_a_name(*value)(at, (*place, *body))
    return None
