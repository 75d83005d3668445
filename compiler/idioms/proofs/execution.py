"""What loops do, from LLVM's graph: one iteration after the other, with what is claimed of them shown on the way.

Of each loop it is shown that what counts in it is what the analysis says at its first iteration, and one iteration later if
it is at some iteration; and that its test goes on in as many iterations as the analysis says, and in no more.  What else it
carries is a fold.  Of the array that is written one cell is looked at, any of them: a loop that moves the cell comes to
it in one iteration, which is run; the others are folds, and what lies in the cell is among what they carry.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import z3

from relift.compiler.idioms.facts.control import Loop
from relift.compiler.idioms.facts.llvm.ir import Instruction
from relift.compiler.idioms.facts.values.expressions import SCALARS, line_of
from relift.compiler.idioms.facts.values.terms import Opaque
from relift.compiler.idioms.proofs.instructions import BEFORE, CELL, STORED, Address, Names
from relift.compiler.idioms.proofs.memory import Memory
from relift.compiler.idioms.proofs.scalars import Term
from relift.rewrites.checks.smt.goals import Number
from relift.semantics.syntax.sizes import Size


@dataclass(frozen=True)
class _Counted:
    """A loop: what counts in it, what else it carries, and how often it runs."""

    loop: Loop
    counts: Mapping[str, Size]
    others: list[Instruction]
    trips: Number


class Execution(Memory):
    """The iterations of a nest of loops."""

    def run(self) -> Names:
        """What the nest leaves: what lies in the cell that is looked at, and the values that it carries."""
        names: Names = {}
        if self.target is not None:
            t = self.target
            names[CELL] = self._held(t.array, t.index, t.kind, t.cells)
        return self._loop(self.root, names, z3.BoolVal(True))

    # ---- one iteration

    def _body(self, loop: Loop, names: Names, *, only_header: bool = False) -> Names:
        """One iteration, where the values at the head of the loop are given."""
        reached: dict[str, Any] = {}
        names = dict(names)
        for block in self.order:
            inside = self.control.loop_of.get(block)
            if block not in loop.blocks or inside is None:
                continue
            if inside != loop and not (inside.parent == loop.header and block == inside.header):
                if inside.header in reached:
                    reached[block] = reached[self._child(loop, block).header]
                continue
            edges = [
                (before, self._edge(before, block, loop, reached, names))
                for before in self.function.predecessors[block]
                if before in reached and not (inside != loop and before in inside.blocks)
            ]
            reached[block] = (
                z3.BoolVal(True)
                if block == loop.header
                else z3.simplify(z3.Or(*(e for _, e in edges)))
            )
            if inside != loop:
                names = self._loop(inside, names, reached[block])
                continue
            for i in self.function.blocks[block]:
                if i.opcode == "phi":
                    if block != loop.header:
                        names[i.name] = self._joined(i, dict(edges), names)
                else:
                    self._step(i, names, reached[block])
            if only_header and block == loop.header:
                break
        return names

    def _child(self, loop: Loop, block: str) -> Loop:
        """The loop directly inside of a loop that a block is in."""
        found: Loop = self.control.loop_of[block]
        while found.parent != loop.header:
            assert found.parent is not None, "cannot happen: it is inside of the loop"
            found = self.control.loops[found.parent]
        return found

    def _edge(
        self, before: str, block: str, loop: Loop, reached: Mapping[str, Any], names: Names
    ) -> Any:
        """Whether this iteration goes from one block to the next; it is one that is run, and loops inside end."""
        last = self.function.blocks[before][-1]
        here = reached[before]
        leaves = any(label not in self.control.loop_of[before].blocks for label in last.labels)
        if len(set(last.labels)) == 1 or leaves:
            return here
        if last.opcode == "switch":
            return z3.And(here, self._case(last, block, names))
        if last.opcode != "br":
            raise Opaque(f"{last.opcode} (line {last.line})")
        test = self.value(last.operands[0], "i1", names)
        return z3.And(here, test if last.labels[0] == block else z3.Not(test))

    def _case(self, last: Instruction, block: str, names: Names) -> Any:
        """Whether a switch goes to a block: for one of its cases, or for none of the others."""
        of, *numbers = (self.value(v, last.types[0], names) for v in last.operands)
        default, *others = last.labels
        listed = [
            of == n
            for n, to in zip(numbers, others, strict=True)
            if (to == block) != (default == block)
        ]
        return z3.Not(z3.Or(*listed)) if default == block else z3.Or(*listed)

    # ---- loops

    def _loop(self, loop: Loop, names: Names, reached: Any) -> Names:
        """A loop, all of it; what is known after it."""
        trips = self.evolution.trips(loop)
        if trips is None and (most := self.evolution.endings.get(loop.header)) is not None:
            return self._ending(loop, names, most)
        if trips is None:
            raise Opaque(f"the loop at line {line_of(self.evolution, loop)} is not counted")
        often = self.size(trips, names)
        is_data = not self.evolution.invariant(trips, self.root)
        rises = [often >= 0] if self.rises and is_data and not self.evolution.is_late(loop) else []
        with self.prover.assuming(reached, *rises):
            return self._counted(_Counted(loop, *self._heads(loop), often), names)

    def _ending(self, loop: Loop, names: Names, most: int) -> Names:
        """A loop that goes on while its test holds, which is at most so often: a fold that stays as it is from then on."""
        phis = [i for i in self.function.blocks[loop.header] if i.opcode == "phi"]
        if self._writes(loop) or not all(i.type in SCALARS for i in phis):
            raise Opaque(f"the loop at line {line_of(self.evolution, loop)} is not counted")

        def step(state: tuple[Term, ...], k: Number) -> tuple[Term, ...]:
            with self._counting({**around, loop.header: k}):
                here = {**names, **dict(zip((i.name for i in phis), state, strict=True))}
                after = self._body(loop, here)
                goes_on = self._goes_on(loop, after)
                found = [self.value(_back(i, loop), i.type, after) for i in phis]
            return tuple(z3.If(goes_on, x, old) for x, old in zip(found, state, strict=True))

        around = self.counters
        kinds = tuple(SCALARS[i.type] for i in phis)
        first = tuple(self.value(_entry(i, loop), i.type, names) for i in phis)
        left = self.equations.fold(kinds, first, step, z3.IntVal(most), by_program=False)
        here = {**names, **dict(zip((i.name for i in phis), left, strict=True))}
        return self._body(loop, here, only_header=True)

    def _heads(self, loop: Loop) -> tuple[dict[str, Size], list[Instruction]]:
        """What counts in a loop, and what else it carries."""
        phis = [i for i in self.function.blocks[loop.header] if i.opcode == "phi"]
        counts = {
            i.name: self.evolution.of(i.name)
            for i in phis
            if self.evolution.step(i.name) is not None
        }
        return counts, [i for i in phis if i.name not in counts]

    def _counted(self, c: _Counted, names: Names) -> Names:
        loop, here = c.loop, dict(names)
        writes = CELL in names and self._writes(loop)
        without = {n: x for n, x in names.items() if n != CELL or not writes}
        self._shown(c, without)
        moving = self.target.moving.get(loop.header) if writes and self.target is not None else None
        if moving is not None:
            before = self._carried(c, without, moving, ())
            here[CELL] = self._at(c, moving, {**names, **before})[CELL]
        held = (CELL,) if writes and moving is None else ()
        after = self._carried(c, names if held else without, c.trips, held)
        if held:
            here[CELL] = after.pop(CELL)
        here.update(self._left(c, without, after))
        return here

    def _writes(self, loop: Loop) -> bool:
        """Whether a loop writes to the array that is looked at."""
        stores = (a for a in self.relations.accesses.values() if a.is_store)
        return self.target is not None and any(
            a.base == self.target.array and a.instruction.block in loop.blocks for a in stores
        )

    def _at(self, c: _Counted, k: Number, names: Names, *, only_header: bool = False) -> Names:
        """The iteration k of a loop, where what it carries is given."""
        with self._counting({**self.counters, c.loop.header: k}):
            counted = {n: self._claimed(n, size, names) for n, size in c.counts.items()}
            return self._body(c.loop, {**names, **counted}, only_header=only_header)

    @contextmanager
    def _counting(self, counters: dict[str, Number]) -> Generator[None]:
        """In these iterations of the loops around."""
        before, self.counters = self.counters, counters
        try:
            yield
        finally:
            self.counters = before

    def _carried(self, c: _Counted, names: Names, trips: Number, held: tuple[str, ...]) -> Names:
        """What a loop carries after some iterations, as a fold; `held` is the cell, where it is among that."""
        usable = [i for i in c.others if i.type in SCALARS]
        first = [self.value(_entry(i, c.loop), i.type, names) for i in usable]
        keys = [*(i.name for i in usable), *held]
        kinds = [SCALARS[i.type] for i in usable]
        if held:
            assert self.target is not None, "cannot happen: a cell is looked at"
            first.append(names[CELL])
            kinds.append(self.target.kind)
        steps = self.carrying is not None and c.loop == self.root
        if steps:
            keys.append(BEFORE)
            kinds.append(self._first_before(first))
        if not keys:
            return {}

        around = self.counters

        def step(state: tuple[Term, ...], k: Number) -> tuple[Term, ...]:
            with self._counting(around):
                after = self._at(c, k, {**names, **dict(zip(keys, state, strict=True))})
            found = [self.value(_back(i, c.loop), i.type, after) for i in usable]
            return (*found, *(after[h] for h in held), *([after[STORED]] if steps else []))

        results = self.equations.fold(tuple(kinds), tuple(first), step, trips, by_program=False)
        return dict(zip(keys, results, strict=True))

    def _first_before(self, first: list[Term]) -> str:
        """Add what the first iteration finds in the cell before its own; the type of that."""
        assert self.carrying is not None, "cannot happen: it is asked of a loop that carries"
        with self._counting({**self.counters, self.root.header: z3.IntVal(0)}):
            index = self.size(self.carrying.index) - self.carrying.stride
        access = self.relations.accesses[str(self.carrying.store)]
        cells = self.evolution.cells(access.base, access.type)
        first.append(self._held(access.base, index, SCALARS[access.type], cells))
        return SCALARS[access.type]

    def _left(self, c: _Counted, names: Names, carried: Names) -> Names:
        """The values that a loop leaves."""
        if not self.evolution.is_late(c.loop):
            return self._at(c, c.trips, {**names, **carried}, only_header=True)
        found = self._at(c, c.trips - 1, {**names, **self._anything(c)})
        found.update({i.name: self._unknown(i.type) for i in c.others})
        found.update({_back(i, c.loop): carried[i.name] for i in c.others if i.name in carried})
        return found

    def _anything(self, c: _Counted) -> Names:
        return {i.name: self._unknown(i.type) for i in c.others}

    def _shown(self, c: _Counted, names: Names) -> None:
        """Show what the analysis says of a loop: how often it runs, and what counts in it."""
        loop = c.loop
        if loop.header in self.shown:
            return
        self.shown.add(loop.header)
        at, late = f"the loop at line {line_of(self.evolution, loop)}", self.evolution.is_late(loop)
        if not late and any(i.opcode == "store" for i in self.function.blocks[loop.header]):
            raise Opaque(f"{at} stores while it asks whether to go on")
        show = self.equations.holds
        show(c.trips >= (1 if late else 0), f"{at} runs as often as is said")
        self._same_counts(
            c,
            z3.IntVal(0),
            {
                n: self.value(
                    _entry(self.function.values[n], loop), self.function.type_of(n), names
                )
                for n in c.counts
            },
            names,
            at,
        )
        k = self.prover.index()
        with self.prover.assuming(k >= 0, k < c.trips):
            after = self._at(c, k, {**names, **self._anything(c)})
            self._same_counts(
                c,
                k + 1,
                {
                    n: self.value(
                        _back(self.function.values[n], loop), self.function.type_of(n), after
                    )
                    for n in c.counts
                },
                names,
                at,
            )
            more = self._goes_on(loop, after)
            show(
                more if not late else more == (k + 1 < c.trips),
                f"{at} goes on until its last iteration",
            )
        if not late:
            last = self._at(c, c.trips, {**names, **self._anything(c)}, only_header=True)
            show(z3.Not(self._goes_on(loop, last)), f"{at} ends after its last iteration")

    def _same_counts(self, c: _Counted, k: Number, values: Names, names: Names, at: str) -> None:
        with self._counting({**self.counters, c.loop.header: k}):
            claimed = {n: self._claimed(n, c.counts[n], names) for n in values}
        for n, found in values.items():
            said, what = claimed[n], f"what counts in {at}"
            if isinstance(said, Address) or isinstance(found, Address):
                if not (
                    isinstance(said, Address)
                    and isinstance(found, Address)
                    and said.array == found.array
                ):
                    raise Opaque(f"{what} is not understood")
                said, found = said.bytes, found.bytes
            if not self.prover.holds(said == found):
                raise Opaque(f"{what} is not shown")
            self.equations.proved += 1

    def _goes_on(self, loop: Loop, names: Names) -> Any:
        """The test of a loop."""
        ((block, _),) = self.control.exits(loop)
        last = self.function.blocks[block][-1]
        test = self.value(last.operands[0], "i1", names)
        return test if last.labels[0] in loop.blocks else z3.Not(test)


def _entry(phi: Instruction, loop: Loop) -> str:
    """What a value is before the first iteration."""
    return next(
        v for v, label in zip(phi.operands, phi.labels, strict=True) if label not in loop.blocks
    )


def _back(phi: Instruction, loop: Loop) -> str:
    """What a value becomes with an iteration."""
    return next(
        v for v, label in zip(phi.operands, phi.labels, strict=True) if label in loop.blocks
    )
