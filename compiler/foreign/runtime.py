"""What the code of translated kernels calls beside `arithmetic` and `machine`."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, TypeAlias

from relift.compiler.validation.arithmetic import Arithmetic
from relift.compiler.validation.machine import Fault, Item, Memory, Undecided, Vectors
from relift.compiler.validation.symbols import OPEN, DependsOnData, Symbol

Stops: TypeAlias = Generator[tuple[Any, bool, bool], None, Any]
"""A work-item that runs from barrier to barrier, and what it gives in the end."""

PATHS = 64
"""Ways through a function that are followed where it branches on data."""


def merged(
    pick: Callable[..., Any], c: Symbol, yes: tuple[Any, ...], no: tuple[Any, ...]
) -> tuple[Any, ...]:
    """Variables after a branch on data, where both sides were run."""

    def one(x: Any, y: Any) -> Any:
        if isinstance(x, tuple):
            return tuple([one(p, q) for p, q in zip(x, y, strict=True)])
        return x if x is y else pick(c, x, y)

    return tuple([one(x, y) for x, y in zip(yes, no, strict=True)])


@dataclass(frozen=True)
class OnData:
    """While a branch runs: a fault in one that data decide on need not happen."""

    data: bool = True

    def __enter__(self) -> None:
        """Nothing is done before."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """A fault is one only where the branch is taken."""
        if self.data and isinstance(error, Fault):
            raise Undecided(f"under a condition on data, {error.detail}") from None


@dataclass
class Conditional:
    """What is written under conditions on data; `halves` are cells that are written under one, and open otherwise."""

    arithmetic: Arithmetic
    halves: dict[tuple[int, int], tuple[Symbol, Any, Memory]] = field(
        default_factory=dict[tuple[int, int], tuple[Symbol, Any, Memory]]
    )

    def also(self, outer: Any, c: Symbol, holds: bool) -> Any:
        """A condition within another one."""
        own = c if holds else self.arithmetic.refused("int", c)
        return own if outer is None else self.arithmetic.both(outer, lambda: own)

    def store(self, it: Item, memory: Any, at: Any, value: Any, c: Any) -> None:
        """Set a cell where a condition holds."""
        if c is None:
            memory.store(it, at, value)
            return
        if isinstance(memory, Vectors):
            raise Undecided("a vector is written under a condition on data")
        i = memory.place(it, at, "writes")
        old = memory.cells[i]
        if old is not OPEN:
            memory.store(it, i, self.arithmetic.picked(c, value, old))
            return
        truth = self.arithmetic.algebra.truth(c)
        other = self.halves.pop((id(memory), i), None)
        if other is not None and other[0] is self.arithmetic.algebra.invert(truth):
            memory.store(it, i, self.arithmetic.picked(c, value, other[1]))
            return
        self.halves[id(memory), i] = truth, value, memory
        memory.store(it, i, OPEN)


class Fork(Exception):
    """A function branches on data of which nothing is taken yet."""

    def __init__(self, c: Symbol) -> None:
        super().__init__(c)
        self.c = c


@dataclass
class Forked:
    """A function that writes nothing, run once for each way through it, as data decide."""

    arithmetic: Arithmetic
    run: Callable[..., Any]
    taken: dict[Symbol, bool] = field(default_factory=dict[Symbol, bool])
    left: int = PATHS

    def decided(self, it: Item, c: Any) -> bool:
        """A condition of control flow."""
        if not isinstance(c, Symbol) or c is OPEN:
            return self.arithmetic.decided(it, c)
        if c not in self.taken:
            raise Fork(c)
        return self.taken[c]

    def __call__(self, *given: Any) -> Any:
        """What it returns, chosen by the conditions on data."""
        self.taken, self.left = {}, PATHS
        return self._followed(given)

    def _followed(self, given: tuple[Any, ...]) -> Any:
        try:
            return self.run(*given)
        except Fork as fork:
            self.left -= 1
            if self.left < 0:
                raise DependsOnData(fork.c, "a branch") from None
            c = fork.c
        found: list[Any] = []
        for answer in (True, False):
            self.taken[c] = answer
            with OnData():
                found.append(self._followed(given))
        del self.taken[c]
        return merged(self.arithmetic.picked, c, (found[0],), (found[1],))[0]


def placed(at: Any) -> int:
    """Where a pointer points, which must be known."""
    return int(at.__index__())


def beside(one: Any, other: Any, at: Any) -> Any:
    """A place in the first of two arrays, which are to be one."""
    if one is not other and (not isinstance(one, Vectors) or one != other):
        raise Undecided("pointers into two arrays are compared")
    return at


def sited(site: int, stops: Stops) -> Stops:
    """The barriers of a function, as those of one call of it; what it gives."""
    while True:
        try:
            number_, local, everywhere = next(stops)
        except StopIteration as end:
            return end.value
        yield f"{site}.{number_}", local, everywhere


def everywhere(it: Item, under: Any) -> None:
    """Refuse a barrier in a part of a branch on data; `under` is nothing in others."""
    if under is not None:
        raise Undecided(f"{it} may be at a barrier or not, which depends on data")


def short(x: Any, ends: tuple[int, int]) -> int:
    """A number that is checked to have 24 bits."""
    if isinstance(x, Symbol):
        raise Undecided("a product of 24 bits depends on data")
    if not ends[0] <= x <= ends[1]:
        raise Undecided(f"{x} has more than the 24 bits that are multiplied")
    return int(x)


def row(it: Item, outer: Any, inner: Any, extent: int) -> Any:
    """The place of an element of a row of an array of rows."""
    if isinstance(outer, Symbol) or isinstance(inner, Symbol):
        if OPEN in (outer, inner):
            raise Fault("initialised", f"{it} indexes by what nothing was written to")
        raise Undecided("an index of an array of rows depends on data")
    if not 0 <= inner < extent:
        raise Fault("bounds", f"{it} is at {inner} of a row of {extent}")
    return outer * extent + inner
