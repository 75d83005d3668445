"""Folds: of what they carry, only the cells that are looked at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from relift.compiler.meaning.numbers.algebra import Loop
from relift.compiler.meaning.numbers.lookups import Lookups
from relift.compiler.meaning.numbers.polynomials import Index, Whole
from relift.compiler.meaning.programs.indexing import Cells, Indexing, itself
from relift.compiler.validation.machine import Undecided
from relift.compiler.validation.symbols import OPEN, Symbol
from relift.semantics.syntax.types import Array, Scalar, Tuple, Type, TypeVariable, Vector

MOST_CARRIED = 40_000
"""Cells that a fold may carry from turn to turn."""

MOST_WRITTEN_OUT = 256
"""Turns of a fold that is written out because the program says so."""

MOST_UPDATED = 64
"""Indices that are data at which an array is updated at once."""

MOST_STORED = 4096
"""Turns of a scan that are written out where it is looked at after a known number of them."""

_APART = "a fold whose turns look at different cells of what it carries"


@dataclass
class Carrying(Indexing):
    """Reductions as folds."""

    def __post_init__(self) -> None:
        self.lookups = Lookups(self.algebra)

    def fold(
        self,
        f: Callable[[Any, Any], Any],
        first: Any,
        xs: Any,
        n: Whole,
        t: Type,
        *,
        written_out: bool = False,
    ) -> Any:
        if not isinstance(n, Index) and n <= (MOST_WRITTEN_OUT if written_out else self.unroll):
            for i in range(n):
                first = f(first, xs(i))
            return first
        return self.steps(f, first, xs, n, t)(n)

    def steps(
        self, f: Callable[[Any, Any], Any], first: Any, xs: Any, n: Whole, t: Type
    ) -> Callable[[Whole], Any]:
        """The value of a fold after some turns: of what it carries, only the cells that are looked at."""
        carried = _Carried(self, self.algebra.open_loop(n), f, first, xs, t)
        return lambda turns: self.lazily(t, (), lambda path: carried.after(path, turns))

    def scanned(
        self, f: Callable[[Any, Any], Any], first: Any, xs: Any, n: Whole, t: Type
    ) -> Callable[[Whole], Any]:
        """The same of a scan, written out where turns are numbers: a kernel that stores what each makes does so, too."""
        carried, made = self.steps(f, first, xs, n, t), [first]

        def after(turns: Whole) -> Any:
            if isinstance(turns, Index) or turns > MOST_STORED or _holds_cells(t):
                return carried(turns)
            while len(made) <= turns:
                made.append(f(made[-1], xs(len(made) - 1)))
            return made[turns]

        return after

    def updated(self, into: Any, ids: Any, xs: Any, m: Whole) -> Cells:
        """An array with other cells at a few indices that are data: each is chosen where its index is the one asked for."""
        if isinstance(m, Index) or m > MOST_UPDATED:
            raise Undecided(f"scatter_indices of {m} elements, more than {MOST_UPDATED}")

        def at(i: Whole) -> Any:
            found = into(i)
            for j in range(m):
                place = self.within(ids(j), into.length)
                here = self.values.arithmetic.order("==", place, i)
                yes = partial(self._where_same, xs(j), place, i)
                found = self.either(here, yes, partial(itself, found))
            return found

        return Cells(into.length, at)

    def _where_same(self, value: Any, x: Whole, y: Whole) -> Any:
        """A value of any type where two numbers are equal."""
        if isinstance(value, tuple):
            return tuple([self._where_same(v, x, y) for v in value])
        if isinstance(value, Cells):
            return Cells(value.length, lambda i: self._where_same(value(i), x, y))
        return self.lookups.where_same(value, x, y)

    def lazily(self, t: Type, path: tuple[Any, ...], at: Callable[[Any], Any]) -> Any:
        """A value of a type, whose scalars are what is at their places."""
        match t:
            case Tuple(parts):
                return tuple(self.lazily(u, (*path, k), at) for k, u in enumerate(parts))
            case Array(element, n) | Vector(element, n):
                return Cells(self.size(n), lambda i: self.lazily(element, (*path, i), at))
            case Scalar() | TypeVariable():
                return at(path)

    def lifted(self, value: Any, kind: str) -> Symbol:
        """A scalar as a symbol of a type."""
        if isinstance(value, Index):
            return self.algebra.whole(value, kind)
        return value if value is OPEN else self.values.lifted(value)


class _Carried:
    """The cells that a fold carries, each made when it is looked at; a place in an array may be a polynomial."""

    def __init__(
        self,
        term: Carrying,
        loop: Loop,
        f: Callable[[Any, Any], Any],
        first: Any,
        xs: Any,
        t: Type,
    ) -> None:
        self.term, self.loop, self.f, self.first, self.xs, self.type = term, loop, f, first, xs, t
        self.paths: list[tuple[Any, ...]] = []
        self.cells: dict[tuple[Any, ...], Symbol] = {}
        self.made: list[Any] = []
        self.following: dict[int, Symbol] = {}
        loop.next = self.next
        self.name = term.lookups.named("fold", self.at)

    def at(self, path: tuple[Any, ...]) -> Symbol:
        """A cell before a turn; one that turns differ in is known where a condition says which it is."""
        if path not in self.cells:
            kind = _kind(self.type, path)
            if any(self._changes(a) for i in path for a in self.term.algebra.free(i)):
                return self.term.algebra.looked(self.name, path, kind)
            if len(self.cells) >= MOST_CARRIED:
                raise Undecided(f"a fold that carries more than {MOST_CARRIED} cells")
            first = self.term.lifted(_look(self.first, path), kind)
            self.paths.append(path)
            self.cells[path] = self.loop.carried(first, kind, self.name)
            self.term.lookups.places[self.cells[path]] = (self.name, path)
        return self.cells[path]

    def _changes(self, part: Any) -> bool:
        """Whether a part of a place is not the same in all of a turn: it counts turns of this loop or one inside."""
        if isinstance(part, Symbol):
            return True
        return bool(part.kind in ("turn", "bound") and not part < self.loop.atom)

    def next(self, k: int) -> Symbol:
        """What a turn makes of a cell."""
        if k not in self.following:
            if not self.made:
                held = self.term.lazily(self.type, (), self.at)
                self.made.append(self.f(held, self.xs(self.loop.turn)))
            path = self.paths[k]
            value = _look(self.made[0], path)
            made = self.term.lifted(value, _kind(self.type, path))
            if self.name in self.term.lookups.left_in(made):
                raise Undecided(_APART)
            self.following[k] = made
        return self.following[k]

    def after(self, path: tuple[Any, ...], turns: Whole) -> Symbol:
        """A cell after some turns."""
        held = self.at(path)
        if held not in self.loop.places:
            raise Undecided(_APART)
        return self.loop.after(self.loop.places[held], turns)


def _holds_cells(t: Type) -> bool:
    return (
        any(map(_holds_cells, t.parts)) if isinstance(t, Tuple) else isinstance(t, Array | Vector)
    )


def _kind(t: Type, path: tuple[Any, ...]) -> str:
    for k in path:
        if isinstance(t, Tuple):
            t = t.parts[k]
        else:
            assert isinstance(t, Array | Vector), "cannot happen: a place in a scalar"
            t = t.element
    return "bool" if str(t) == "boolean" else str(t)


def _look(value: Any, path: tuple[Any, ...]) -> Any:
    for k in path:
        value = value[k] if isinstance(value, tuple) else value(k)
    return value
