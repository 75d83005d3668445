"""The accesses of a kernel while it is generated: what each of them asks of barriers, registers and folds.

A private array is read by the work-items that hold it, and is a row of registers if each index is a constant once
loops are unrolled; a fold in place reads no new value for an old one; who walks along rows, loops or work-items, is
counted for a hint to the driver.
"""

from __future__ import annotations

from collections import Counter, abc
from collections.abc import Sequence
from contextlib import contextmanager

from relift.compiler.codegen.barriers import Barriers
from relift.compiler.codegen.unrolling import Unrolling
from relift.compiler.lowering.distribution import InPlace, PrivateArray
from relift.semantics.indices.atoms import Index, depends_on, linear_in, variables_of
from relift.semantics.indices.expressions import modulo, substitute, variable
from relift.semantics.indices.lanes import Lane
from relift.semantics.indices.views import Cell, CodeValue, Guarded, Leaf, Memory
from relift.semantics.syntax.sizes import Size, Unknown
from relift.semantics.syntax.types import Type

_FEWEST_TURNS = 8
"""Turns of a loop of which a driver makes vectors at least.

Ten steps of an ordinary differential equation for each of 200,001 cells, which write two numbers each, take Intel's runtime 1.5 ms where
work-items are packed, and 50 where the loop over two numbers keeps it from that."""


class Accesses:
    """What is read and written, in the order of the text."""

    def __init__(self, barriers: Barriers) -> None:
        self.barriers = barriers
        self.indexed: dict[str, Index] = {}
        """The private arrays with an index that is known at run time only, and the first such."""
        self.walks: Counter[str] = Counter()
        """Where neighbours are accessed: those that a `loop` writes, and all of `items` side by side."""
        self._private: dict[str, PrivateArray] = {}
        self._widths: dict[Memory, set[int | None]] = {}
        """How many lanes access a private array of scalars as one vector; None where they do not."""
        self.work_items: frozenset[str] = frozenset()
        """The numbers of the work-items of a group that tell apart what is accessed: those of the `map_lcl` around."""
        self._loops: tuple[str, ...] = ()  # the counters of the loops around
        self._unrolled: frozenset[str] = frozenset()  # those of loops that the driver unrolls
        self._short: frozenset[str] = frozenset()  # those of loops that fill no vector
        self._folds: list[InPlace] = []

    # ---- what is around

    @contextmanager
    def in_loop(
        self, counter: str, turns: Size, unroll: Unrolling
    ) -> abc.Generator[None, None, None]:
        """What is accessed inside is in a loop of so many turns."""
        around, self._loops = self._loops, (*self._loops, counter)
        if turns.constant is not None and turns.constant < _FEWEST_TURNS:
            self._short |= {counter}
        if unroll == "by the driver":
            self._unrolled |= {counter}
        yield
        self._loops = around

    @contextmanager
    def in_work_items(self, name: str | None) -> abc.Generator[None, None, None]:
        """What is accessed inside is different for the work-items of a group, told apart by a number if by any."""
        around = self.work_items
        if name is not None:
            self.work_items |= {name}
        yield
        self.work_items = around

    @property
    def folding(self) -> bool:
        """Whether what is accessed is part of a fold in place."""
        return bool(self._folds)

    @contextmanager
    def in_fold(self, arrays: frozenset[str]) -> abc.Generator[InPlace, None, None]:
        """What is accessed inside is part of a fold of some arrays in place."""
        fold = InPlace(arrays)
        self._folds.append(fold)
        yield fold
        self._folds.pop()

    def begin(self, fold: InPlace) -> None:
        """A step of a fold begins here."""
        fold.begin(self._loops)

    def declare(
        self, memories: Sequence[Memory], t: Type, owners: tuple[Index | None, ...]
    ) -> None:
        """Private memories are declared here, for an array of type t with these owners."""
        for m in memories:
            self._private[m.name] = PrivateArray(t, owners, self.work_items)

    # ---- what is accessed

    def read(self, leaf: Leaf, lane: Lane | None) -> None:
        """Note that a leaf is read, by all lanes if there are lanes."""
        match leaf:
            case Cell(memory):
                self.barriers.on_read(memory)
                if memory.name in self._private:
                    self._private[memory.name].check(leaf)
                self._note(leaf, lane, writes=False)
            case Guarded(_, inside, outside):
                self.read(inside, lane)
                self.read(outside, lane)
            case CodeValue():
                pass

    def written(self, leaf: Leaf, lane: Lane | None) -> None:
        """Note that a leaf is written, by all lanes if there are lanes."""
        match leaf:
            case Cell(memory):
                self.barriers.on_write(memory)
                if memory.name in self._private:
                    self._private[memory.name].check_write(leaf, self.work_items)
                self._note(leaf, lane, writes=True)
            case Guarded(_, inside, _):
                self.written(inside, lane)
            case CodeValue():
                pass

    def _note(self, cell: Cell, lane: Lane | None, *, writes: bool) -> None:
        if cell.memory.name in self._private:
            self._note_index(cell, lane)
            self._note_vector(cell, lane)
        self._note_in_folds(cell, lane, writes=writes)
        self._note_walk(cell, lane, writes=writes)

    def _note_index(self, cell: Cell, lane: Lane | None) -> None:
        """Registers have no addresses: note an index that is not a constant once loops are unrolled."""
        constant = set(self._unrolled)
        if lane is not None:
            constant |= {str(lane.index)}
        if any(str(atom) not in constant for atom in variables_of(cell.offset)):
            self.indexed.setdefault(cell.memory.name, cell.offset)

    def _note_vector(self, cell: Cell, lane: Lane | None) -> None:
        """Note whether lanes that access a private array of scalars access a whole vector of it."""
        memory = cell.memory
        if memory.width is not None or lane is None or not depends_on(cell.offset, lane.index):
            return
        linear = linear_in(cell.offset, lane.index)
        whole = linear is not None and linear[0] == 1 and modulo(linear[1], lane.width) == 0
        fits = whole and modulo(memory.cells, lane.width) == 0 and lane.width != 3
        self._widths.setdefault(memory, set()).add(lane.width if fits else None)

    def as_vectors(self) -> dict[str, int]:
        """The private arrays that lie in memory and that lanes access as whole vectors of one width alone, with that.

        Aligned, they are accessed through pointers to vectors, by one instruction for all lanes.
        """
        return {
            memory.name: width
            for memory, widths in self._widths.items()
            if memory.name in self.indexed and len(widths) == 1
            for width in widths
            if width is not None
        }

    def _note_walk(self, cell: Cell, lane: Lane | None, *, writes: bool) -> None:
        """Note who has neighbouring cells in a loop: its turns, which write them, or work-items side by side."""
        if not cell.memory.space.of_device or lane is not None or not self._loops:
            return
        loop = [i for i in self._loops[-1:] if writes and i not in self._short]
        for walker, names in (("loop", loop), ("items", ["glb_0", "lcl_0"])):
            for atom in variables_of(cell.offset):
                linear = linear_in(cell.offset, Size.atom(atom)) if str(atom) in names else None
                self.walks[walker] += linear is not None and linear[0] == 1

    def _note_in_folds(self, cell: Cell, lane: Lane | None, *, writes: bool) -> None:
        """Note an access of the array of a fold, in the innermost fold that has it."""
        fold = next((f for f in reversed(self._folds) if cell.memory.name in f.memories), None)
        if fold is not None:
            offset = cell.offset
            if lane is not None:  # all lanes at once: a vector is read whole before it is written
                offset = substitute(offset, lane.index, variable(Unknown("lane"), lane.width))
            fold.note(cell.memory.name, offset, self._loops, writes=writes)
