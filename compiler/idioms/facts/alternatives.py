"""Several stores of one iteration into one array: branches choose one of them, or they are made one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import permutations

from relift.compiler.idioms.constraints.solving import Row
from relift.compiler.idioms.facts.accesses import Access
from relift.compiler.idioms.facts.control import Loop
from relift.compiler.idioms.facts.memory import AccessRelations

MOST = 12
"""Of so many stores at most it is asked whether they are alternatives."""


class Alternatives(AccessRelations):
    """The stores that branches choose from, and those that follow each other."""

    def among_updates(self) -> Iterator[Row]:
        """The last store of several that follow each other where data say, and a loop that accesses the array nowhere else."""
        return self._last_of(self.updates)

    def among_alternatives(self) -> Iterator[Row]:
        """The same of several of which branches choose one."""
        return self._last_of(self.alternatives)

    def _last_of(self, several: Callable[[Access], list[Access]]) -> Iterator[Row]:
        for name, store in self.accesses.items():
            found = several(store) if store.is_store else []
            for loop in self.control.around(store.instruction.block) if len(found) > 1 else ():
                chosen = [a for a in found if self.is_data(a.index, loop)]
                if chosen and chosen[-1] is store and self._holds_all(loop, found):
                    yield name, self.begin(loop)

    def _holds_all(self, loop: Loop, stores: Sequence[Access]) -> bool:
        """Whether a loop has no other access to an array than some stores and the loads of their cells."""
        base = stores[0].base
        known = {
            (a.base, a.index, a.type, self.control.loop_of.get(a.instruction.block)) for a in stores
        }
        return all(
            (a.base, a.index, a.type, self.control.loop_of.get(a.instruction.block)) in known
            for _, a in self.accesses_of(loop)
            if a.base == base
        )

    def alternatives(self, store: Access) -> list[Access]:
        """The stores to cells of an array of which one iteration makes one at most, in order; the store alone where that is not so."""
        key = store.instruction.position
        if key not in self._alternatives:
            self._alternatives[key] = self._of_one_choice(store)
        return self._alternatives[key]

    @cached_property
    def _alternatives(self) -> dict[int, list[Access]]:
        return {}

    def updates(self, store: Access) -> list[Access]:
        """The stores to cells of an array that one iteration makes one after the other, each of what its cell holds by then.

        The store alone where that is not so.
        """
        key = store.instruction.position
        if key not in self._updates:
            self._updates[key] = self._one_after_the_other(store)
        return self._updates[key]

    @cached_property
    def _updates(self) -> dict[int, list[Access]]:
        return {}

    def _one_after_the_other(self, store: Access) -> list[Access]:
        found, loop = self._of_an_iteration(store)
        if loop is None or len(self.alternatives(store)) > 1:
            return [store]
        order = self.control.order
        found = sorted(found, key=lambda a: (order[a.instruction.block], a.instruction.position))
        loads = [a for _, a in self.accesses_of(loop) if not a.is_store and a.base == store.base]
        for load in loads:
            own = [n for n, a in enumerate(found) if a.index == load.index]
            if not own or self.control.loop_of.get(load.instruction.block) != loop:
                return [store]
            if not self.control.instruction_dominates(load.instruction, found[own[0]].instruction):
                return [store]
            if any(self._comes_to(load, a, loop) for a in found[: own[0]]):
                return [store]
        return found

    def _comes_to(self, a: Access, b: Access, loop: Loop) -> bool:
        """Whether an iteration may make one access, and then another."""
        if a.instruction.block == b.instruction.block:
            return a.instruction.position < b.instruction.position
        return self._leads(a, b, loop)

    def _of_an_iteration(self, store: Access) -> tuple[list[Access], Loop | None]:
        """The stores of an iteration into cells of one array, each another one; and the loop, none where there are none such."""
        loop = self.control.loop_of.get(store.instruction.block)
        if loop is None:
            return [store], None
        found = [a for _, a in self.accesses_of(loop) if a.is_store and a.base == store.base]
        cells = {a.index for a in found}
        if (
            len(cells) < len(found)
            or not 1 < len(found) <= MOST
            or len({a.type for a in found}) > 1
        ):
            return [store], None
        if any(self.control.loop_of.get(a.instruction.block) != loop for a in found):
            return [store], None
        return found, loop

    def _of_one_choice(self, store: Access) -> list[Access]:
        found, loop = self._of_an_iteration(store)
        if loop is None:
            return [store]
        for a, b in permutations(found, 2):
            if a.instruction.block == b.instruction.block or self._leads(a, b, loop):
                return [store]
        loads = [a for _, a in self.accesses_of(loop) if not a.is_store and a.base == store.base]
        blocks = {a.index: a.instruction for a in found}
        for load in loads:
            into, i = blocks.get(load.index), load.instruction
            if into is None or into.block != i.block or into.position < i.position:
                return [store]
        return found

    def _leads(self, a: Access, b: Access, loop: Loop) -> bool:
        """Whether an iteration of a loop may come from one access to another."""
        met, stack = set[str](), [a.instruction.block]
        while stack:
            for after in self.function.successors[stack.pop()]:
                if after == b.instruction.block:
                    return True
                if after in loop.blocks and after != loop.header and after not in met:
                    met.add(after)
                    stack.append(after)
        return False
