"""Relations of loads and stores: which cells they go to, and what they share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import combinations

from relift.compiler.idioms.constraints.solving import Row
from relift.compiler.idioms.facts.accesses import Access
from relift.compiler.idioms.facts.control import Loop
from relift.compiler.idioms.facts.evolution import harmless
from relift.compiler.idioms.facts.names import Counter
from relift.compiler.idioms.facts.structure import Listed, Structure
from relift.semantics.syntax.sizes import Size

_SPELLED = {"branch": "br", "gep": "getelementptr", "return": "ret"}


def _absolute(size: Size) -> Size:
    """A stride without its sign, as far as that is seen."""
    return -size if all(c < 0 for c in size.terms.values()) else size


def _least(size: Size) -> float:
    """A number to order strides by: those with names are larger than those without."""
    constant = size.constant
    return abs(constant) if constant is not None else float("inf")


class Memory(Structure):
    """What is asked of the accesses of a function."""

    @cached_property
    def accesses(self) -> dict[str, Access]:
        """The accesses that are understood, by the name of the instruction."""
        return {
            str(a.instruction): a
            for a in self.evolution.accesses.values()
            if str(a.instruction) in self.instructions
        }

    def accesses_of(self, loop: Loop) -> list[tuple[str, Access]]:
        """The accesses in a loop."""
        return self._accesses_of.get(loop.header, [])

    @cached_property
    def _accesses_of(self) -> dict[str, list[tuple[str, Access]]]:
        found: dict[str, list[tuple[str, Access]]] = {}
        for name, access in self.accesses.items():
            for loop in self.control.around(access.instruction.block):
                found.setdefault(loop.header, []).append((name, access))
        return found

    @cached_property
    def read_at(self) -> dict[tuple[str, Size], list[str]]:
        """The loads of each cell."""
        found: dict[tuple[str, Size], list[str]] = {}
        for name, access in self.accesses.items():
            if not access.is_store:
                found.setdefault((access.base, access.index), []).append(name)
        return found

    def affine_accesses(self) -> Iterator[Row]:
        for name, access in self.accesses.items():
            for loop in self.control.around(access.instruction.block):
                if self.affine(access, loop):
                    yield name, access.base, self.begin(loop)

    def affine(self, access: Access, loop: Loop) -> bool:
        """Whether the cells follow the counters of a loop and the loops in it, and nothing else that changes."""
        inner = [
            x for x in self.control.around(access.instruction.block) if x.header in loop.blocks
        ]
        rest = access.index
        if not self.evolution.invariant(Size.atom(access.base), loop):
            return False
        for x in inner:
            stride = self.evolution.stride(access, x)
            if stride is None or not self.evolution.invariant(stride, loop):
                return False
            linear = rest.linear_in(x.counter)
            assert linear is not None, "cannot happen: it has a stride"
            rest = linear[1]
        return self.evolution.invariant(rest, loop)

    def movements(self, *, moving: bool) -> Iterator[Row]:
        for iterator, begin in Listed(self.iterators()).rows:
            loop = self.loop_at(begin)
            for name, access in self.accesses_of(loop):
                stride = self.evolution.stride(access, loop)
                if stride is not None and (stride != 0) == moving:
                    yield name, iterator

    def indexed(self) -> Iterator[Row]:
        integers = {
            v: self.evolution.of(v) for v in self.universe if self.type_of(v) in ("i32", "i64")
        }
        by_index: dict[object, list[str]] = {}
        for value, size in integers.items():
            by_index.setdefault(size, []).append(value)
        for name, access in self.accesses.items():
            for value in by_index.get(access.index, ()):
                yield name, access.base, value

    def data(self) -> Iterator[Row]:
        for value, i in self.instructions.items():
            if i.type in ("i32", "i64"):
                size = self.evolution.of(value)
                for loop in self.control.around(i.block):
                    names = [n for n in size.names() if not isinstance(n, Counter)]
                    if any(
                        not self.evolution.invariant(self.evolution.raw(n), loop) for n in names
                    ):
                        yield value, self.begin(loop)

    def contiguous(self) -> Iterator[Row]:
        return self._by_cells(lambda cells: cells in (1, -1))

    def skipping(self) -> Iterator[Row]:
        return self._by_cells(lambda cells: cells not in (1, -1))

    def _by_cells(self, asked: Callable[[int | None], bool]) -> Iterator[Row]:
        """The accesses that move with an iterator by a number of cells, none where that is no constant."""
        for name, iterator in self.movements(moving=True):
            loop = self.iterator_loop(iterator)
            stride = self.evolution.stride(self.accesses[name], loop) if loop else None
            if stride is not None and asked(stride.constant):
                yield name, iterator

    def beside(self) -> Iterator[Row]:
        for a, b in self.neighbours():
            x, y = self.accesses[a], self.accesses[b]
            if x.base == y.base and x.index != y.index and not x.is_store and not y.is_store:
                yield a, b

    def previous(self) -> Iterator[Row]:
        for iterator, begin in Listed(self.iterators()).rows:
            loop = self.loop_at(begin)
            inside = self.accesses_of(loop)
            written: dict[tuple[str, object], list[str]] = {}
            for name, write in inside:
                if write.is_store:
                    written.setdefault((write.base, write.index), []).append(name)
            for name, read in inside:
                stride = None if read.is_store else self.evolution.stride(read, loop)
                if stride is not None and stride != 0:
                    for store in written.get((read.base, read.index + stride), ()):
                        yield name, store, iterator

    def same_cells(self) -> Iterator[Row]:
        cells: dict[tuple[str, object], list[str]] = {}
        for name, access in self.accesses.items():
            cells.setdefault((access.base, access.index), []).append(name)
        return ((a, b) for group in cells.values() for a in group for b in group)

    def neighbours(self) -> Iterator[Row]:
        """Accesses whose strides are the same in every loop."""
        shapes: dict[object, list[str]] = {}
        for name, access in self.accesses.items():
            loops = self.control.around(access.instruction.block)
            strides = tuple((x.header, self.evolution.stride(access, x)) for x in loops)
            if loops and all(s is not None for _, s in strides):
                shapes.setdefault(strides, []).append(name)
        return ((a, b) for group in shapes.values() for a in group for b in group)

    def same_arrays(self) -> Iterator[Row]:
        for store, a in self.accesses.items():
            for name, b in self.accesses.items():
                if a.is_store and a.base == b.base:
                    yield store, name

    def alone(self) -> Iterator[Row]:
        for loop in self.control.loops.values():
            inside = [i for label in loop.blocks for i in self.function.blocks[label]]
            stores = [i for i in inside if i.opcode == "store"]
            calls = [i for i in inside if i.opcode == "call" and not harmless(i)]
            if len(stores) == 1 and not calls:
                yield str(stores[0]), self.begin(loop)

    def independent(self) -> Iterator[Row]:
        """The stores whose array is read in a loop at no other cell, nor written by another store."""
        for name, store in self.accesses.items():
            if not store.is_store:
                continue
            for loop in self.control.around(store.instruction.block):
                others = [
                    a for _, a in self.accesses_of(loop) if a.base == store.base and a is not store
                ]
                if all(a.index == store.index for a in others) and self._distinct(store, loop):
                    yield name, self.begin(loop)

    def _distinct(self, store: Access, loop: Loop) -> bool:
        """Whether no two steps of a loop that move a store come to one cell, where the strides show that they do."""
        inner = [x for x in self.control.around(store.instruction.block) if x.header in loop.blocks]
        strides = [(x, self.evolution.stride(store, x)) for x in inner]
        moving = [(x, s) for x, s in strides if s is not None and s != 0]
        for (x, a), (y, b) in combinations(moving, 2):
            trips = {z.header: self.evolution.trips(z) for z in (x, y)}
            for low, high, over in ((a, b, trips[x.header]), (b, a, trips[y.header])):
                if over is not None and _least(high) >= _least(low):
                    room = _absolute(high) - _absolute(low) * over
                    if room.constant is not None and room.constant < 0:
                        return False
            if _absolute(a) == _absolute(b):
                return False
        return True
