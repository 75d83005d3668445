"""Pointers into one array or another, as data decide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from relift.compiler.foreign.ways.paths import certain
from relift.compiler.validation.machine import Item, Undecided, Vectors
from relift.compiler.validation.symbols import OPEN, Symbol


@dataclass(frozen=True, eq=False)
class Either:
    """The memory that a pointer is into: one where a condition on data holds, else another."""

    condition: Symbol
    yes: Any
    no: Any

    def load(self, it: Item, i: Any) -> Any:
        """The value of a cell."""
        return self._where(it, lambda memory: memory.load(it, i))

    def store(self, it: Item, i: Any, value: Any) -> None:
        """Set a cell."""
        self.each(it, lambda memory: memory.store(it, i, value))

    def load_vector(self, it: Item, i: Any, width: int, *, aligned: bool) -> Any:
        """Some cells in a row."""
        return self._where(it, lambda m: m.load_vector(it, i, width, aligned=aligned))

    def store_vector(self, it: Item, i: Any, width: int, value: Any, *, aligned: bool) -> None:
        """Set some cells in a row."""
        self.each(it, lambda m: m.store_vector(it, i, width, value, aligned=aligned))

    def seen_by(self, seen: Callable[[Any], Any]) -> Either:
        """The same, of which each memory is taken for another."""
        return Either(self.condition, seen(self.yes), seen(self.no))

    def each(self, it: Item, act: Callable[[Any], Any]) -> list[Any]:
        """What is done to the memory that it is; to both, each where it is that, where data decide."""
        c = it.ways.settled(it, self.condition)
        if c.__class__ is not Symbol:
            return [act(self.yes if c else self.no)]
        found: list[Any] = []
        for b, memory in ((c, self.yes), (it.ways.not_(c), self.no)):
            with it.ways.at(it, it.ways.under(it, b)):
                found.append(certain(it, partial(act, memory)))
        return found

    def _where(self, it: Item, act: Callable[[Any], Any]) -> Any:
        found = self.each(it, act)
        c = it.ways.settled(it, self.condition)
        return found[0] if len(found) == 1 else it.ways.picked(c, *found, _kind(self.yes))


def _kind(memory: Any) -> str:
    """The kind of the cells of a memory."""
    while not hasattr(memory, "kind"):
        memory = memory.memory if isinstance(memory, Vectors) else memory.yes
    return str(memory.kind)


def _same(one: Any, other: Any) -> bool:
    """Whether two memories are one."""
    if isinstance(one, Vectors) and isinstance(other, Vectors):
        return one.width == other.width and one.memory is other.memory
    return one is other


def one_pointer(ways: Any, c: Symbol, x: Any, y: Any) -> tuple[Any, Any]:
    """A pointer that is x where a condition holds, else y."""
    if OPEN in (x, y) or isinstance(x, Symbol) or isinstance(y, Symbol):
        raise Undecided("a pointer is set or not, as data decide")
    (memory, i), (other, j) = x, y
    into = memory if _same(memory, other) else Either(c, memory, other)
    if i.__class__ is int and j.__class__ is int and i == j:
        return into, i
    return into, ways.arithmetic.picked(c, *(ways.algebra.lift(v, "i64") for v in (i, j)))
