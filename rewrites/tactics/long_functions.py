"""A tactic for functions that repeat what they compute until they are too long to be searched.

A program in Python computes a value once and reads it often; as a term, it stands wherever it is read.  What it needs again
has a name in it then.  Source: common subexpressions (Cocke, SIGPLAN 1970), as names.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import LONG, Rewriting, Tactic, apply
from relift.rewrites.tactics.sharing import computes_itself
from relift.semantics.patterns import Let, ToGlobal
from relift.semantics.syntax.binding import Position, term_at
from relift.semantics.syntax.expression import Expression
from relift.semantics.syntax.nodes import fields
from relift.semantics.syntax.terms import (
    Apply,
    Call,
    Combine,
    Lambda,
    Pattern,
    Term,
    children,
    distinct,
    free_variables,
    parts_of,
)
from relift.semantics.syntax.types import holds_array

_SAVED = 16
"""A name leaves out so many parts at least."""

_MOST_NAMES = 64

_ENDLESS = 1 << 17
"""A term of more parts is not gone through."""


def values_named(most: int = LONG) -> Tactic:
    """In a term of more than `most` parts, what functions or several results compute more than once has names there.

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
        parts = parts_of(term_at(at.term, place))
        if not most < parts <= _ENDLESS:
            raise NoMatch(f"a term of {parts} parts, and not of more than {most}")
        start = at
        for _ in range(_MOST_NAMES):
            more = _with_a_name(at, place)
            if more is None:
                break
            at = more
        if at is start:
            raise NoMatch("nothing is computed more than once")
        return at

    return tactic


def names_stored() -> Tactic:
    """What has a name outside all functions is stored by a kernel of its own, or stands where it is read where no loop computes it.

    Raises `NoMatch` where nothing has such a name.
    """

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        if not isinstance(term_at(at.term, place), Let):
            raise NoMatch("no name that is outside all functions")
        while isinstance(t := term_at(at.term, place), Let):
            if isinstance(t.x, ToGlobal):
                place = (*place, "f")
            elif any(isinstance(u, Pattern) and computes_itself(u) for u in distinct(t.x)):
                at, place = apply("store_global")(at, (*place, "x")), (*place, "f")
            else:
                at = apply("let_inline")(at, place)
        return at

    return tactic


@dataclass(frozen=True)
class _Body:
    """The whole term, or the body of a function: its number, and the names that it binds."""

    number: int
    names: frozenset[str]


class _Numbering:
    """Numbers the parts of a term: those that are written alike have one number, however often and wherever they stand."""

    def __init__(self) -> None:
        self.parts: list[Term] = []
        self.below: list[tuple[tuple[str, int, frozenset[str]], ...]] = []
        self._known: dict[int, int] = {}
        self._numbers: dict[Hashable, int] = {}

    def number(self, t: Term) -> int:
        """The number of a term; what is below it has smaller ones."""
        if id(t) not in self._known:
            below = tuple((field, *self._child(child)) for field, child in children(t))
            data = tuple(x for x in fields(t) if not _holds_terms(x))
            key = (type(t), data, tuple((number, names) for _, number, names in below))
            if key not in self._numbers:
                self._numbers[key] = len(self.parts)
                self.parts.append(t)
                self.below.append(tuple((f, n, frozenset(names)) for f, n, names in below))
            self._known[id(t)] = self._numbers[key]
        return self._known[id(t)]

    def _child(self, child: Term | Lambda) -> tuple[int, tuple[str, ...]]:
        if isinstance(child, Lambda):
            return self.number(child.body), tuple(x.name for x in child.parameters)
        return self.number(child), ()

    def bodies(self, whole: int) -> dict[_Body, int]:
        """The whole term and the bodies of its functions, and how often each stands there."""
        times = self.times(_Body(whole, frozenset()))
        found = {_Body(whole, frozenset()): 1}
        for above, often in times.items():
            for _, number, names in self.below[above]:
                if names:
                    body = _Body(number, names)
                    found[body] = found.get(body, 0) + often
        return found

    def times(self, body: _Body) -> dict[int, int]:
        """How often each part stands in a body, but for functions that bind its names again."""
        found, waiting = {body.number: 1}, [body.number]
        reached = {body.number}
        while waiting:
            for _, number, names in self.below[waiting.pop()]:
                if number not in reached and not names & body.names:
                    reached.add(number)
                    waiting.append(number)
        for above in sorted(reached, reverse=True):  # what is below has smaller numbers
            for _, number, names in self.below[above]:
                if not names & body.names:
                    found[number] = found.get(number, 0) + found[above]
        return found

    def is_innermost(self, body: _Body, part: Term) -> bool:
        """Whether a body is the innermost that a value may be named in: it binds what the value needs, or this needs nothing."""
        needed = free_variables(part)
        known = free_variables(self.parts[body.number])
        return needed <= known and bool(needed & body.names) if needed else not body.names

    def place(self, part: int, start: int, names: frozenset[str]) -> Position | None:
        """Where a part first stands below another, but for functions that bind one of the names again; None where nowhere."""
        without = set[int]()

        def first(above: int) -> Position | None:
            if above == part:
                return ()
            if above < part or above in without:
                return None
            for field, number, bound in self.below[above]:
                if not bound & names and (rest := first(number)) is not None:
                    return (field, *rest)
            without.add(above)
            return None

        return first(start)

    def place_of(self, body: _Body, whole: int) -> Position | None:
        """Where a body first stands in the whole."""
        if not body.names:
            return ()
        for above in range(whole, -1, -1):
            for field, number, names in self.below[above]:
                if number == body.number and names == body.names:
                    found = self.place(above, whole, frozenset())
                    if found is not None:
                        return (*found, field)
        return None


def _holds_terms(x: object) -> bool:
    """Whether what a node holds are terms or functions, and no data of its own."""
    return isinstance(x, Expression | Lambda) or (
        isinstance(x, tuple) and any(isinstance(each, Expression) for each in x)
    )


def _may_be_named(t: Term, *, once: bool) -> bool:
    """Whether it takes time to compute a term: numbers and tuples of them, and what the whole program computes once."""
    if isinstance(t, Pattern):
        return computes_itself(t) and (once or not holds_array(t.type))
    return isinstance(t, Apply | Call | Combine)


def _outside_functions(t: Term) -> Iterator[tuple[Term, frozenset[str]]]:
    """A term and what is below its names, with the name that each is below."""
    yield t, frozenset()
    while isinstance(t, Let):
        names, t = frozenset(x.name for x in t.f.parameters), t.f.body
        yield t, names


def _with_a_name(at: Rewriting, place: Position) -> Rewriting | None:
    """The term with a name for what saves most parts, of what may have one; None where nothing does."""
    for body, value in _repeated(term_at(at.term, place)):
        with suppress(NoMatch):
            return apply("let_inline", "backward", parts={"x": value})(at, (*place, *body))
    return None


def _repeated(t: Term) -> Iterator[tuple[Position, Position]]:
    """Bodies that repeat a value, and where this is first in it: those before of which a name saves more parts."""
    numbering = _Numbering()
    whole = numbering.number(t)
    once = {_Body(numbering.number(u), names) for u, names in _outside_functions(t)}
    found: list[tuple[int, _Body, int]] = []
    for body, often in numbering.bodies(whole).items():
        for number, times in numbering.times(body).items():
            part = numbering.parts[number]
            saved = (times - 1) * (parts_of(part) - 1) * often
            may = saved >= _SAVED and _may_be_named(part, once=body in once)
            if may and numbering.is_innermost(body, part):
                found.append((saved, body, number))
    for _, body, number in sorted(found, key=lambda each: each[0], reverse=True):
        above = numbering.place_of(body, whole)
        value = numbering.place(number, body.number, body.names)
        assert above is not None, "cannot happen: the body was met there"
        assert value is not None, "cannot happen: it was counted there"
        yield above, value
