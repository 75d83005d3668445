"""Relations of loads and stores: which cells they go to, and what they share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import combinations

from relift.compiler.idioms.constraints.solving import Row
from relift.compiler.idioms.facts.accesses import Access
from relift.compiler.idioms.facts.control import Loop
from relift.compiler.idioms.facts.evolution import harmless
from relift.compiler.idioms.facts.names import Counter
from relift.compiler.idioms.facts.structure import Computed, Structure
from relift.semantics.syntax.monomials import Monomial
from relift.semantics.syntax.sizes import Size

_SPELLED = {"branch": "br", "gep": "getelementptr", "return": "ret"}


def _absolute(size: Size) -> Size:
    """A stride without its sign, as far as that is seen."""
    return -size if all(c < 0 for c in size.terms.values()) else size


def _least(size: Size) -> float:
    """A number to order strides by: those with names are larger than those without."""
    constant = size.constant
    return abs(constant) if constant is not None else float("inf")


def _reached(distance: Size, moves: Sequence[tuple[Size, Size | None]]) -> bool:
    """Whether steps of loops lead over a distance: a stride for each, and how often it runs; the longest strides go first."""
    ordered = sorted(moves, key=lambda move: _length(move[0]), reverse=True)
    for number, (stride, often) in enumerate(ordered):
        unit, each = max(stride.terms.items(), key=_of_term)
        many = distance.terms.get(unit, 0)
        is_last = number == len(ordered) - 1
        if many % each and (unit or is_last):
            return False
        steps = round(many / each)
        most = often.constant if often is not None else None
        if most is not None and abs(steps) >= most:
            return False
        distance = distance - stride * steps
    return distance == 0


def _length(stride: Size) -> tuple[int, int]:
    """Strides by how large they are: products of more sizes after those of less."""
    return max(map(_of_term, stride.terms.items()))


def _of_term(term: tuple[Monomial, int]) -> tuple[int, int]:
    monomial, c = term
    return sum(power for _, power in monomial), abs(c)


class AccessRelations(Structure):
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
        return self._in_loops(self.affine)

    def _in_loops(self, holds: Callable[[Access, Loop], bool]) -> Iterator[Row]:
        """The accesses of which something holds in a loop around them, with their array and the loop."""
        for name, access in self.accesses.items():
            for loop in self.control.around(access.instruction.block):
                if holds(access, loop):
                    yield name, access.base, self.begin(loop)

    def affine(self, access: Access, loop: Loop) -> bool:
        """Whether the cells follow the counters of a loop and the loops in it, and nothing else that changes."""
        around = self.control.around(access.instruction.block)
        inner = [x for x in around if x.header in loop.blocks]
        steady = (self.evolution.stride(access, x) is not None for x in inner)
        counted = {x.counter for x in inner}
        rest = (a for a in access.index.atoms() if a not in counted)
        return (
            self.evolution.stays(access.base, loop)
            and all(steady)
            and all(self.evolution.stays(a, loop) for a in rest)
        )

    @cached_property
    def _strides_of(self) -> list[tuple[str, str, Size]]:
        """The accesses in each counted loop, with its iterator and by how many cells they go on."""
        found: list[tuple[str, str, Size]] = []
        for iterator, begin in self.iterators:
            loop = self.loop_at(begin)
            for name, access in self.accesses_of(loop):
                stride = self.evolution.stride(access, loop)
                if stride is not None:
                    found.append((name, iterator, stride))
        return found

    def movements(self, *, moving: bool) -> Iterator[Row]:
        yield from ((n, iterator) for n, iterator, s in self._strides_of if bool(s.terms) == moving)
        if not moving:
            yield from _loaded_before(self)

    @property
    def indexed(self) -> Computed:
        """Accesses with their array and each value that is the place in it."""

        def of_first(name: str) -> Iterator[Row]:
            access = self.accesses.get(name)
            if access is not None:
                for value in self._integers.get(access.index, ()):
                    yield name, access.base, value

        def holds(name: str, base: str, value: str) -> bool:
            access = self.accesses.get(name)
            return (
                access is not None
                and access.base == base
                and self.type_of(value) in ("i32", "i64")
                and access.index == self.evolution.of(value)
            )

        return Computed(self.accesses, of_first, holds)

    @cached_property
    def _integers(self) -> dict[Size, list[str]]:
        """The values that are one number."""
        found: dict[Size, list[str]] = {}
        for value in self.universe:
            if self.type_of(value) in ("i32", "i64"):
                found.setdefault(self.evolution.of(value), []).append(value)
        return found

    def by_data(self) -> Iterator[Row]:
        return self._in_loops(lambda access, loop: self.is_data(access.index, loop))

    def is_data(self, size: Size, loop: Loop) -> bool:
        """Whether a number changes in a loop otherwise than its counters do."""
        names = (n for n in size.names() if not isinstance(n, Counter))
        return any(not self.evolution.invariant(self.evolution.raw(n), loop) for n in names)

    def data(self) -> Iterator[Row]:
        for value, i in self.instructions.items():
            if i.type in ("i32", "i64"):
                size = self.evolution.of(value)
                for loop in self.control.around(i.block):
                    if self.is_data(size, loop):
                        yield value, self.begin(loop)

    def contiguous(self) -> Iterator[Row]:
        return self._by_cells(lambda cells: cells in (1, -1))

    def skipping(self) -> Iterator[Row]:
        return self._by_cells(lambda cells: cells not in (1, -1))

    def _by_cells(self, asked: Callable[[int | None], bool]) -> Iterator[Row]:
        """The accesses that move with an iterator by a number of cells, none where that is no constant."""
        moving = ((n, iterator, s.constant) for n, iterator, s in self._strides_of if s.terms)
        return ((name, iterator) for name, iterator, cells in moving if asked(cells))

    def contributing(self) -> Iterator[Row]:
        for name, access in self.accesses.items():
            if access.is_store:
                value = access.instruction.operands[0]
                for source in self._sources_of(value):
                    if source in self.accesses:
                        yield source, name

    def _sources_of(self, value: str) -> frozenset[str]:
        """What a value is made from, and what decides between such values, in the loops around it."""
        met, stack = set[str](), [value]
        while stack:
            at = stack.pop()
            i = self.instructions.get(at)
            if at in met or i is None:
                continue
            met.add(at)
            if i.opcode == "load":
                continue  # where it is read is no part of what is computed
            stack += i.operands
            if i.opcode == "phi":
                for label in (*i.labels, self.control.dominator[i.block]):
                    stack += self.function.blocks[label][-1].operands if label else ()
        return frozenset(met)

    def in_step(self, load: str, store: str, begin: str) -> bool:
        one, other = self.accesses.get(load), self.accesses.get(store)
        if one is None or other is None or one.is_store:
            return False
        loops = self._loops_within(one, begin)
        return loops == self._loops_within(other, begin) and all(
            self.evolution.stride(one, x) not in (None, 0) for x in loops
        )

    def _loops_within(self, access: Access, begin: str) -> list[Loop]:
        """The loops around an access, from one that it is in on."""
        root = self.loop_at(begin)
        around = self.control.around(access.instruction.block)
        return [x for x in around if x.header in root.blocks]

    def read_beside(self, one: str, other: str, begin: str) -> bool:
        x, y = self.accesses.get(one), self.accesses.get(other)
        if x is None or y is None or (x.base, x.type) != (y.base, y.type) or x.index == y.index:
            return False
        loops = self._loops_within(x, begin)
        strides = [self.evolution.stride(x, loop) for loop in loops]
        if loops != self._loops_within(y, begin) or None in strides:
            return False
        if strides != [self.evolution.stride(y, loop) for loop in loops]:
            return False
        moves = [
            (s, self.evolution.trips(loop))
            for s, loop in zip(strides, loops, strict=True)
            if s is not None and s != 0
        ]
        return _reached(x.index - y.index, moves)

    def written_beside(self, one: str, other: str, begin: str) -> bool:
        x, y = self.accesses.get(one), self.accesses.get(other)
        if x is None or y is None or not (x.is_store and y.is_store):
            return False
        loops = self._loops_within(x, begin)
        strides = [self.evolution.stride(x, loop) for loop in loops]
        if (x.base, x.type) != (y.base, y.type) or loops != self._loops_within(y, begin):
            return False
        steps = [abs(s.constant) for s in strides if s is not None and s.constant]
        far = (x.index - y.index).constant
        is_alike = strides == [self.evolution.stride(y, loop) for loop in loops]
        return (
            is_alike and bool(steps) and abs(far or 0) >= min(steps) and self.evolution.apart(x, y)
        )

    def previous(self) -> Iterator[Row]:
        for iterator, begin in self.iterators:
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
        cells: dict[tuple[str, object, str], list[str]] = {}
        for name, access in self.accesses.items():
            cells.setdefault((access.base, access.index, access.type), []).append(name)
        return ((a, b) for group in cells.values() for a in group for b in group)

    @cached_property
    def same_arrays(self) -> Computed:
        """The stores, each with what is stored and loaded in its array: in a long function these are too many to list."""
        stores, all_of = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
        for name, access in self.accesses.items():
            all_of[access.base].append(name)
            if access.is_store:
                stores[access.base].append(name)

        def of_first(store: str) -> Iterator[Row]:
            access = self.accesses.get(store)
            if access is not None and access.is_store:
                yield from ((store, name) for name in all_of[access.base])

        def of_last(name: str) -> Iterator[Row]:
            access = self.accesses.get(name)
            if access is not None:
                yield from ((store, name) for store in stores[access.base])

        def test(store: str, name: str) -> bool:
            a, b = self.accesses.get(store), self.accesses.get(name)
            return a is not None and b is not None and a.is_store and a.base == b.base

        written = [name for names in stores.values() for name in names]
        pairs = sum(len(names) * len(all_of[base]) for base, names in stores.items())
        return Computed(written, of_first, test, of_last, pairs)

    def alone(self) -> Iterator[Row]:
        for loop in self.control.loops.values():
            inside = [i for label in loop.blocks for i in self.function.blocks[label]]
            stores = [i for i in inside if i.opcode == "store"]
            calls = [i for i in inside if i.opcode == "call" and not harmless(i)]
            if len(stores) == 1 and not calls:
                yield str(stores[0]), self.begin(loop)

    def independent(self) -> Iterator[Row]:
        """The stores whose array is read in a loop at no other cell that was written before, nor written by another store."""
        for name, store in self.accesses.items():
            if not store.is_store:
                continue
            for loop in self.control.around(store.instruction.block):
                others = [
                    a
                    for _, a in self.accesses_of(loop)
                    if a.base == store.base
                    and a is not store
                    and not self.evolution.apart(a, store)
                    and not self.evolution.reads_ahead(a, store, loop)
                ]
                same = all((a.index, a.type) == (store.index, store.type) for a in others)
                if same and self._distinct(store, loop):
                    yield name, self.begin(loop)

    def comes_once(self, name: str, begin: str) -> bool:
        access = self.accesses.get(name)
        return access is not None and self._distinct(access, self.loop_at(begin))

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


def _loaded_before(memory: AccessRelations) -> Iterator[Row]:
    """The loads in front of a loop in each iteration of those around: they stay with its iterator, too."""
    for iterator, begin in memory.iterators:
        header = memory.loop_at(begin).header
        outside = memory.control.around(header)[:-1]
        for name, access in memory.accesses_of(outside[0]) if outside else ():
            block = access.instruction.block
            is_before = memory.control.loop_of.get(block) in outside and not access.is_store
            if is_before and memory.control.dominates(block, header):
                yield name, iterator
