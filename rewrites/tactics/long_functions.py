"""A tactic for functions that repeat what they compute until they are too long to be searched.

A program in Python computes a value once and reads it often; as a term, it stands wherever it is read.  What it needs again
has a name in it then.  Source: common subexpressions (Cocke, SIGPLAN 1970), as names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import MOST_PARTS, Rewriting, Tactic, apply
from relift.semantics.syntax.binding import Position, term_at
from relift.semantics.syntax.expression import Expression
from relift.semantics.syntax.nodes import fields
from relift.semantics.syntax.terms import Apply, Call, Combine, Lambda, Term, Var, children

LONG = MOST_PARTS // 2
"""A term of more parts is made shorter, for what is done with it adds to it."""

_SAVED = 16
"""A name leaves out so many parts at least."""

_MOST_NAMES = 64

_ENDLESS = 1 << 17
"""A term of more parts is not gone through."""


def values_named(most: int = LONG) -> Tactic:
    """In a term of more than `most` parts, what functions compute more than once has names there.

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

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        parts = _parts(term_at(at.term, place))
        if not most < parts <= _ENDLESS:
            raise NoMatch(f"a term of {parts} parts, and not of more than {most}")
        start = at
        for _ in range(_MOST_NAMES):
            found = _most_repeated(term_at(at.term, place))
            if found is None:
                break
            body, value = found
            at = apply("let_inline", "backward", parts={"x": value})(at, (*place, *body))
        if at is start:
            raise NoMatch("no function repeats what it computes")
        return at

    return tactic


def _parts(t: Term) -> int:
    """How many parts a term has, where it is written out; a part that is shared is gone through once."""
    known: dict[int, int] = {}

    def count(u: Term) -> int:
        if id(u) not in known:
            below = (c.body if isinstance(c, Lambda) else c for _, c in children(u))
            known[id(u)] = 1 + sum(map(count, below))
        return known[id(u)]

    return count(t)


@dataclass(frozen=True)
class _Seen:
    """A part of a term: its number, which all that are written alike have in the same functions, how long it is, and the bodies of those."""

    number: int
    parts: int
    bodies: frozenset[Position]


class _Numbering:
    """Numbers the parts of a term."""

    def __init__(self) -> None:
        self.numbers: dict[Hashable, int] = {}
        self.computed: list[tuple[Position, _Seen]] = []

    def seen(self, t: Term, place: Position, binders: Mapping[str, Position]) -> _Seen:
        """A part at a place; `binders` are the bodies of the functions around whose variables have these names."""
        if isinstance(t, Var):
            body = binders.get(t.name)
            found = self._numbered((Var, t.name, body), 1, frozenset([body] if body else []))
        else:
            below = [self._below(child, (*place, field), binders) for field, child in children(t)]
            data = tuple(x for x in fields(t) if not _holds_terms(x))
            bodies = frozenset[Position]().union(*(each.bodies for each in below))
            key = (type(t), data, tuple(each.number for each in below))
            found = self._numbered(key, 1 + sum(each.parts for each in below), bodies)
        if isinstance(t, Apply | Call | Combine) and found.bodies:
            self.computed.append((place, found))
        return found

    def _below(
        self, child: Term | Lambda, place: Position, binders: Mapping[str, Position]
    ) -> _Seen:
        if not isinstance(child, Lambda):
            return self.seen(child, place, binders)
        own = {x.name: place for x in child.parameters}
        found = self.seen(child.body, place, {**binders, **own})
        return replace(found, bodies=found.bodies - {place})

    def _numbered(self, key: Hashable, parts: int, bodies: frozenset[Position]) -> _Seen:
        return _Seen(self.numbers.setdefault(key, len(self.numbers)), parts, bodies)


def _holds_terms(x: object) -> bool:
    """Whether what a node holds are terms or functions, and no data of its own."""
    return isinstance(x, Expression | Lambda) or (
        isinstance(x, tuple) and any(isinstance(each, Expression) for each in x)
    )


def _most_repeated(t: Term) -> tuple[Position, Position] | None:
    """The body of a function that repeats a value, and where this is first in it: that of which a name saves most parts."""
    numbering = _Numbering()
    numbering.seen(t, (), {})
    times = Counter(each.number for _, each in numbering.computed)
    saved, place, found = max(
        (((times[u.number] - 1) * (u.parts - 1), place, u) for place, u in numbering.computed),
        key=lambda each: (each[0], -len(each[1])),
        default=(0, (), None),
    )
    if found is None or saved < _SAVED:
        return None
    body = max(found.bodies, key=len)
    return body, place[len(body) :]
