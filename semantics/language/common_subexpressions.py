"""What a term computes more than once, and names for it.

A program in Python computes a value once and reads it often; as a term, it stands wherever it is read.  Where that is very long, a name
stands there instead, given in the innermost body, of the program or of a function, that has all that the value needs.
Source: common subexpressions (Cocke, SIGPLAN 1970), as names.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from relift.semantics.indices.inverses import computes_itself
from relift.semantics.patterns import Let
from relift.semantics.syntax.binding import Position, map_children, replace_at, term_at
from relift.semantics.syntax.expression import Expression
from relift.semantics.syntax.nodes import fields, made
from relift.semantics.syntax.terms import (
    Apply,
    Call,
    Combine,
    Input,
    Lambda,
    Pattern,
    Term,
    Var,
    distinct,
    free_variables,
    inside,
    parts_of,
)
from relift.semantics.syntax.types import holds_array

_SAVED = 16
"""A name leaves out so many parts at least."""


def with_names(t: Term) -> Term:
    """A term with names for what it computes more than once, those first that leave out most.

    It is gone through once for each name, however often what it shares stands where it is written out.

    >>> from relift import f32, show
    >>> from relift.semantics.language.common_subexpressions import with_names
    >>> from relift.semantics.syntax.terms import Input, parts_of
    >>> v = Input("x", f32)
    >>> for _ in range(40):
    ...     v = v * v + v
    >>> parts_of(v) > 10**12, parts_of(with_names(v)) < 1000
    (True, True)
    """
    taken = {u.name for u in distinct(t) if isinstance(u, Var | Input)}
    names = (n for k in itertools.count(1) if (n := f"shared_{k}") not in taken)
    while (place := next(repeated(t), None)) is not None:
        body, below = place
        around = term_at(t, body)
        value = term_at(around, below)
        name = Var(next(names), value.type)
        read = Lambda((name,), _with(around, value, name))
        t = replace_at(t, body, made(Let, (read, value)))
    return t


def _with(t: Term, value: Term, name: Var) -> Term:
    """A term with a name wherever a value stands, but where a function binds what that needs to something else."""
    needed, met = free_variables(value), dict[int, Term]()

    def read(u: Term) -> Term:
        if id(u) not in met:
            met[id(u)] = name if u == value else map_children(u, read, inside_function)
        return met[id(u)]

    def inside_function(f: Lambda) -> Lambda:
        binds = any(x.name in needed for x in f.parameters)
        return f if binds else Lambda(f.parameters, read(f.body))

    return read(t)


def repeated(t: Term) -> Iterator[tuple[Position, Position]]:
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
        waiting = [t]
        while waiting:  # it may be deeper than Python's functions call each other
            u = waiting[-1]
            below = [v for _, v, _ in inside(u) if id(v) not in self._known]
            if below and id(u) not in self._known:
                waiting += below
                continue
            waiting.pop()
            if id(u) not in self._known:
                self._known[id(u)] = self._numbered(u)
        return self._known[id(t)]

    def _numbered(self, t: Term) -> int:
        below = tuple(
            (field, self._known[id(u)], tuple(x.name for x in binders))
            for field, u, binders in inside(t)
        )
        data = tuple(x for x in fields(t) if not _holds_terms(x))
        key = (type(t), data, tuple((number, names) for _, number, names in below))
        if key not in self._numbers:
            self._numbers[key] = len(self.parts)
            self.parts.append(t)
            self.below.append(tuple((f, n, frozenset(names)) for f, n, names in below))
        return self._numbers[key]

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
