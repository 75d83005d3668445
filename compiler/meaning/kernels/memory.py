"""Arrays at indices that are not known: what a kernel is given, what it writes, and its own.

A cell of a buffer is a symbol with a polynomial as its place.  Local and private arrays have a cell for each
number; a read at an index that is not known is the one value that all cells it may mean have in common (`alike`).
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from relift.compiler.meaning.kernels.alike import Alike
from relift.compiler.meaning.kernels.tables import AsTable, Table
from relift.compiler.meaning.numbers.algebra import Folding
from relift.compiler.meaning.numbers.polynomials import Atom, Index, Whole, linear_in, within
from relift.compiler.meaning.numbers.ranges import Split
from relift.compiler.validation.machine import Fault, Item, Undecided
from relift.compiler.validation.symbols import OPEN

MOST_READ = 1 << 14
"""Cells that one read at an index that is not known may mean."""

MOST_OF_TABLE = 1 << 12
"""The same of a table, where every cell is made when it is looked at."""


class NotWrittenOut(Undecided):
    """An own array is at an index that is not known: the loops that this depends on must be written out."""

    def __init__(self, detail: str, atoms: frozenset[Atom]) -> None:
        super().__init__(detail)
        self.atoms = atoms


class Array(ABC):
    """What kernels may ask of any array."""

    def __init__(self, name: str, algebra: Folding, *, aligned: bool) -> None:
        self.name, self.algebra, self.aligned = name, algebra, aligned

    @abstractmethod
    def load(self, it: Item, i: Any) -> Any:
        """The value of a cell."""

    @abstractmethod
    def store(self, it: Item, i: Any, value: Any) -> None:
        """Set a cell."""

    def updating(self, it: Item, i: Any, by: str) -> Iterator[None]:
        """Once, in which a cell is read and set while nobody else reaches it: all that is run here is so."""
        yield

    def load_vector(self, it: Item, i: Any, width: int, *, aligned: bool) -> tuple[Any, ...]:
        """Some cells in a row."""
        i = self._checked(it, i, width if aligned else 1)
        return tuple([self.load(it, i + lane) for lane in range(width)])

    def store_vector(
        self, it: Item, i: Any, width: int, value: tuple[Any, ...], *, aligned: bool
    ) -> None:
        """Set some cells in a row."""
        i = self._checked(it, i, width if aligned else 1)
        for lane in range(width):
            self.store(it, i + lane, value[lane])

    def _checked(self, it: Item, i: Any, width: int) -> Whole:
        place = self.place(it, i)
        if width > 1:
            if not self.aligned:
                raise Undecided(f"{self.name} is not declared to be aligned to vectors of {width}")
            if (rest := self.algebra.ranges.quotient(place, width)[1]) != 0:
                if isinstance(rest, Index):
                    raise Undecided(f"whether {self.name}[{place}] starts {width} in a row")
                raise Fault(
                    "alignment",
                    f"{it} takes {self.name}[{place}] for the start of {width} in a row",
                )
        return place

    def place(self, it: Item, i: Any) -> Whole:
        """An index as a number."""
        if i.__class__ is int:
            return i
        if i is OPEN:
            raise Fault("initialised", f"{it} is at {self.name} where nothing was written to")
        return self.algebra.number(i)


class Given(Array):
    """A buffer that the kernel reads: `at` is what its `count` cells are.

    `strays` are told of reads at indices from data that may leave it; others are what certificates prove.
    """

    def __init__(
        self,
        name: str,
        algebra: Folding,
        at: Callable[[Whole], Any],
        count: Whole,
        strays: list[str],
    ) -> None:
        super().__init__(name, algebra, aligned=True)
        self.at, self.count, self.strays = at, count, strays

    def load(self, it: Item, i: Any) -> Any:
        """The value of a cell."""
        place = self.place(it, i)
        if isinstance(place, Index) and any(a.kind == "data" for a in within(place)):
            r = self.algebra.ranges
            if not (r.nonnegative(place) and r.nonnegative(self.count - 1 - place)):
                self.strays.append(f"{self.name}[{place}]")
        return self.at(place)

    def store(self, it: Item, i: Any, value: Any) -> None:
        """What is given is not written."""
        raise Undecided(f"{self.name}, which is read, is written")


class InVectors(Array):
    """A buffer that a kernel takes for a row of vectors of `width` cells each."""

    def __init__(self, of: Array, width: int) -> None:
        super().__init__(of.name, of.algebra, aligned=True)
        self.of, self.width = of, width

    def load(self, it: Item, i: Any) -> tuple[Any, ...]:
        """All lanes of a vector."""
        return self.of.load_vector(it, self.place(it, i) * self.width, self.width, aligned=True)

    def store(self, it: Item, i: Any, value: tuple[Any, ...]) -> None:
        """Set all lanes of a vector."""
        place = self.place(it, i) * self.width
        self.of.store_vector(it, place, self.width, value, aligned=True)


class Write:
    """One write: where, what, by whom, and in how many turns of which loops."""

    def __init__(self, place: Whole, value: Any, it: Item, loops: tuple[Any, ...]) -> None:
        self.place, self.value, self.it, self.loops = place, value, it, loops


class Result(Array):
    """A buffer that the kernel writes; a work-item may read what it has written there itself, of a table."""

    def __init__(
        self,
        name: str,
        algebra: Folding,
        loops: Callable[[Item], list[Any]],
        table: Callable[[str, Callable[[Whole], Any]], Table | None],
    ) -> None:
        super().__init__(name, algebra, aligned=True)
        self.loops = loops
        self.writes: list[Write] = []
        self.table = table(name, lambda i: OPEN)

    def load(self, it: Item, i: Any) -> Any:
        """What this work-item has written: where no two write one cell, nobody else has."""
        if self.table is None:
            raise AsTable(f"{self.name}, which is written, is read", self.name)
        place = self.place(it, i)
        value = self.table.at(place)
        if value is OPEN:
            raise Undecided(f"{self.name}[{place}] is read, which {it} may not have written")
        return value

    def store(self, it: Item, i: Any, value: Any) -> None:
        """Note a write."""
        loops = self.loops(it)
        written = Write(self.place(it, i), value, it, tuple(loops))
        if self.table is not None:
            self.table.store(written.place, value)
        self.writes.append(written)
        for loop in loops:
            loop.pending.append(written)

    def last(self) -> list[Write]:
        """What every cell holds in the end, of a table by the writes whose places no data choose.

        That these write all cells is what a certificate says.
        """
        if self.table is None:
            return self.writes
        for w in self.writes:
            if not isinstance(w.place, Index) or all(a.kind != "data" for a in within(w.place)):
                w.value = self.table.at(w.place)
        return [
            w
            for w in self.writes
            if not isinstance(w.place, Index) or all(a.kind != "data" for a in within(w.place))
        ]


class Ghost(Item):
    """A work-item whose numbers are not known: it sees local memory as others have left it at the last barrier.

    What it writes there itself is written by them, who run after it.
    """

    __slots__ = ("phase",)
    phase: int


class Own(Array):
    """A private array of a work-item, or a local one of its group."""

    def __init__(
        self,
        name: str,
        algebra: Folding,
        cells: Sequence[Any],
        *,
        aligned: bool = True,
        shared: bool = False,
        kind: str = "",
        table: Callable[[str, Callable[[Whole], Any]], Table | None] = lambda name, base: None,
    ) -> None:
        super().__init__(name, algebra, aligned=aligned)
        self.cells = list(cells)
        self.shared, self.kind = shared, kind
        self.touched, self.unseen = -1, 0
        self._known: dict[Any, Any] = {}
        self.table = table(name, self._at_first)

    def become(self, cells: Sequence[Any]) -> None:
        """All cells, anew."""
        self.cells = list(cells)
        self._known.clear()
        if self.table is not None:
            self.table.top = None

    def load(self, it: Item, i: Any) -> Any:
        """The value of a cell, or what all that may be meant have in common."""
        if isinstance(it, Ghost) and self.touched == it.phase:
            return self._not_seen()
        if i.__class__ is not int:
            i = self.place(it, i)
        if self.table is not None:
            return self._of_table(self.table, it, i)
        return self._plain(it, i)

    def _plain(self, it: Item, i: Whole) -> Any:
        if isinstance(i, Index):
            return self._common(it, i)
        if not 0 <= i < len(self.cells):
            raise Fault("bounds", f"{it} reads {self.name}[{i}] of {len(self.cells)}")
        value = self.cells[i]
        if value is STALE:
            detail = f"{self.name}[{i}] is read in another turn than it was written in"
            raise AsTable(detail, self.name)
        return value

    def _not_seen(self) -> Any:
        """What all have just written together, of which nothing is known: nothing but what they do there may need it."""
        if not self.kind:
            raise Undecided(f"{self.name} is read where work-items have just written it")
        self.unseen += 1
        name = self.algebra.whole(self.unseen, "i64")
        return self.algebra.made(f"just written of {self.name}", self.kind, name)

    def _of_table(self, table: Table, it: Item, i: Whole) -> Any:
        """A cell of a table; where it is not known which, what all that may be meant have in common."""
        if not isinstance(i, Index):
            return table.at(i)
        try:
            return table.at(i)
        except (Undecided, Split):
            return self._common(it, i)

    def _at_first(self, i: Whole) -> Any:
        """What a cell of a table held when the table began."""
        if not isinstance(i, Index) and not 0 <= i < len(self.cells):
            raise Undecided(f"{self.name}[{i}] of {len(self.cells)}")
        if isinstance(i, Index) and all(cell is OPEN for cell in self.cells):
            return OPEN
        return self._plain(Item(), i)

    def updating(self, it: Item, i: Any, by: str) -> Iterator[None]:
        """Once, but for who stands for others, who do it."""
        if isinstance(it, Ghost) and self.shared:
            self.touched = it.phase
        else:
            yield

    def store(self, it: Item, i: Any, value: Any) -> None:
        """Set a cell."""
        if isinstance(it, Ghost) and self.shared:
            self.touched = it.phase
            return
        i = self.place(it, i)
        if self.table is not None:
            self.table.store(i, value)
            self._known.clear()
            return
        if i.__class__ is not int:
            if any(a.kind == "data" for a in within(i)):
                raise AsTable(f"{self.name} is written at {i}", self.name)
            raise self._not_written_out(f"{self.name} is written at {i}", i)
        if not 0 <= i < len(self.cells):
            raise Fault("bounds", f"{it} writes {self.name}[{i}] of {len(self.cells)}")
        self.cells[i] = value
        self._known.clear()

    def _common(self, it: Item, i: Index) -> Any:
        if i not in self._known:
            self._known[i] = self._found(it, i)
        return self._known[i]

    def _found(self, it: Item, i: Index) -> Any:
        ranges = self.algebra.ranges
        steps: dict[int, list[Any]] = {}  # the sum of the atoms of one coefficient, and its ends
        rest: Whole = i
        for a in sorted(i.atoms(), key=lambda a: a.number):
            parts = linear_in(rest, a) if isinstance(rest, Index) else None
            here = Index({(a,): 1}, ranges)
            low, high = ranges.interval(here)
            if parts is None or not isinstance(parts[0], int) or low is None or high is None:
                raise Undecided(f"{self.name} is read at {i}")
            step = steps.setdefault(parts[0], [0, 0, 0])
            steps[parts[0]] = [x + y for x, y in zip(step, (here, low, high), strict=True)]
            rest = parts[1]
        spans = [range(low, high + 1) for _, low, high in steps.values()]
        if isinstance(rest, Index):
            raise Undecided(f"{self.name} is read at {i}")
        if math.prod(map(len, spans)) > (MOST_READ if self.table is None else MOST_OF_TABLE):
            raise self._not_written_out(f"{self.name} is read at {i}", i)
        points = list(itertools.product(*spans))
        values = [
            self.load(it, rest + sum(c * x for c, x in zip(steps, at, strict=True)))
            for at in points
        ]
        atoms = tuple([of for of, _, _ in steps.values()])
        found = Alike(self.algebra, points, atoms, list(steps)).of(values)
        if found is None:
            detail = f"{self.name} is read at {i}, where its cells have no common form"
            raise self._not_written_out(detail, i)
        return found

    def _not_written_out(self, detail: str, i: Index) -> NotWrittenOut:
        turns = frozenset(a for a in self.algebra.free(i) if a.kind in ("turn", "group"))
        return NotWrittenOut(detail, turns)


class Stale:
    """What a local cell holds in the next turn of a loop that is run once; or after it."""


STALE: Any = Stale()
