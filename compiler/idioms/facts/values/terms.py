"""Expressions: what a value is, where the iterations of the loops around it are given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

from relift.compiler.idioms.facts.names import Counter
from relift.semantics.syntax.sizes import Size


class Opaque(Exception):
    """A value that is no expression, and why."""


class TooLong(Opaque):
    """A value that is an expression, of more parts than a program is written of."""


@dataclass(frozen=True)
class Constant:
    """A number."""

    value: float | int | bool
    type: str


@dataclass(frozen=True)
class Value:
    """What the loops do not change."""

    name: str
    type: str


@dataclass(frozen=True)
class Index:
    """An integer that counters and fixed values give."""

    size: Size
    type: str


@dataclass(frozen=True)
class Read:
    """A cell of an array; `computed` are the atoms of the index that are themselves read or computed."""

    base: str
    index: Size
    computed: tuple[tuple[str, Expression], ...]
    type: str
    position: int = field(compare=False, default=0)
    cells: str = ""
    """What lies in memory, where that is narrower than the numbers of programs."""


@dataclass(frozen=True)
class Apply:
    """A scalar function of the language, by name."""

    function: str
    arguments: tuple[Expression, ...]
    type: str

    @cached_property
    def _hash(self) -> int:
        return hash((self.function, self.arguments, self.type))

    def __hash__(self) -> int:
        return self._hash


@dataclass(frozen=True)
class Accumulator:
    """What a fold has so far."""

    name: str
    type: str


@dataclass(frozen=True)
class Fold:
    """The iterations of a loop, one after the other: what each accumulator starts with and becomes."""

    loop: str
    names: tuple[str, ...]
    starts: tuple[Expression, ...]
    updates: tuple[Expression, ...]
    type: str
    trips: Size
    computed: tuple[tuple[str, Expression], ...] = ()
    """The atoms of the number of iterations that are themselves read or computed."""

    @property
    def name(self) -> str:
        """The accumulator that is the result; the others are needed for it."""
        return self.names[0]

    @property
    def counter(self) -> Counter:
        """The name of the number of iterations that are done."""
        return Counter(self.loop)


@dataclass(frozen=True)
class Search:
    """The iterations of a loop that goes on while a test holds of what it carries, which is at most so often."""

    loop: str
    names: tuple[str, ...]
    starts: tuple[Expression, ...]
    updates: tuple[Expression, ...]
    test: Expression
    most: int
    result: str
    type: str

    @property
    def counter(self) -> Counter:
        """The name of the number of iterations that are done."""
        return Counter(self.loop)

    @property
    def whole(self) -> Search:
        """The search, whichever of its results is asked for."""
        return replace(self, result=self.names[0], type="")


Expression: TypeAlias = Constant | Value | Index | Read | Apply | Accumulator | Fold | Search
Counted: TypeAlias = dict[int, tuple[Expression, int]]
MOST_PARTS = 2000
"""Programs are trees: a value that two branches use is there twice, and one after ten of them a thousand times."""
TRUE, FALSE = Constant(True, "boolean"), Constant(False, "boolean")


def below(e: Expression) -> tuple[Expression, ...]:
    """The expressions directly inside of one."""
    match e:
        case Read(computed=computed):
            return tuple(inner for _, inner in computed)
        case Apply(arguments=arguments):
            return arguments
        case Fold(starts=starts, updates=updates, computed=computed):
            return (*starts, *updates, *(inner for _, inner in computed))
        case Search(starts=starts, updates=updates, test=test):
            return (*starts, *updates, test)
        case Constant() | Value() | Index() | Accumulator():
            return ()


def all_of(e: Expression) -> Iterator[Expression]:
    """An expression and all inside of it; what several parts share comes once."""
    met: set[int] = set()
    stack = [e]
    while stack:
        at = stack.pop()
        if id(at) not in met:
            met.add(id(at))
            yield at
            stack += reversed(below(at))


def parts(e: Expression, counted: Counted) -> int:
    """How many parts an expression has, what several of them share counted for each of them."""
    known = counted.get(id(e))
    if known is None:
        known = counted[id(e)] = e, 1 + sum(parts(inner, counted) for inner in below(e))
    return known[1]


def require_short(expressions: Iterable[Expression], counted: Counted | None = None) -> None:
    """Raise `TooLong` where expressions are too long to be written out."""
    known: Counted = {} if counted is None else counted
    if sum(parts(e, known) for e in expressions) > MOST_PARTS:
        raise TooLong(f"what is computed has more than {MOST_PARTS} parts, written out")


def constant(value: float, kind: str) -> Constant:
    """A number of a type."""
    return Constant(float(value) if kind in ("f32", "f64") else int(value), kind)


def select(condition: Expression, yes: Expression, no: Expression) -> Expression:
    """One of two, as simple as it can be said."""
    if condition == TRUE or yes == no:
        return yes
    if condition == FALSE:
        return no
    if yes.type == "boolean" and {yes, no} & {TRUE, FALSE}:
        return _truth(condition, yes, no)
    if negation := _inverse(condition):
        return select(negation, no, yes)
    return Apply("select", (condition, yes, no), yes.type)


def _truth(condition: Expression, yes: Expression, no: Expression) -> Expression:
    """One of two truth values, of which one is known."""
    if yes in (TRUE, FALSE):
        return either(condition, no) if yes == TRUE else both(negation(condition), no)
    return either(negation(condition), yes) if no == TRUE else both(condition, yes)


def _inverse(e: Expression) -> Expression | None:
    """What an expression is the negation of."""
    if isinstance(e, Apply) and e.function == "bitwise_xor" and e.arguments[1] == TRUE:
        return e.arguments[0]
    return None


def both(a: Expression, b: Expression) -> Expression:
    """Whether both hold."""
    if TRUE in (a, b):
        return b if a == TRUE else a
    if FALSE in (a, b):
        return FALSE
    if isinstance(b, Apply) and b.function == "bitwise_and" and a in b.arguments:
        return b
    return a if a == b else Apply("bitwise_and", (a, b), "boolean")


def either(a: Expression, b: Expression) -> Expression:
    """Whether one holds."""
    if FALSE in (a, b):
        return b if a == FALSE else a
    if TRUE in (a, b) or negation(a) == b or negation(b) == a:
        return TRUE
    known = {negation(x) for x in _sides(a, "bitwise_or")}
    rest = [x for x in _sides(b, "bitwise_and") if x not in known]
    if len(rest) < len(_sides(b, "bitwise_and")):  # where a does not hold, these do
        more: Expression = TRUE
        for x in rest:
            more = both(more, x)
        return either(a, more)
    return a if a == b else Apply("bitwise_or", (a, b), "boolean")


def _sides(e: Expression, function: str) -> list[Expression]:
    """What a truth value joins by a function."""
    if isinstance(e, Apply) and e.function == function and e.type == "boolean":
        return [x for a in e.arguments for x in _sides(a, function)]
    return [e]


def negation(a: Expression) -> Expression:
    """Whether it does not hold."""
    if a in (TRUE, FALSE):
        return FALSE if a == TRUE else TRUE
    return _inverse(a) or Apply("bitwise_xor", (a, TRUE), "boolean")
