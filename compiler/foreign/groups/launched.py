"""A launch of a kernel that somebody wrote, on symbols: all its groups, and what it is given."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from relift.compiler.foreign.atomics import Updating
from relift.compiler.foreign.declarations import is_enumeration
from relift.compiler.foreign.groups.copies import Copies
from relift.compiler.foreign.groups.sub_groups import in_sub_groups, required_sub_group
from relift.compiler.foreign.parameters import Cells, Number, Passed, given_by, is_kernel, kernel_in
from relift.compiler.foreign.reading.parsing import parsed, required_group
from relift.compiler.foreign.statements import ByHand
from relift.compiler.foreign.ways.forks import followed
from relift.compiler.running.launch import Buffer, Piece
from relift.compiler.text.c_types import FLOATS, RANGES, plain
from relift.compiler.text.tree import CType
from relift.compiler.validation.arithmetic import kind_of, wrapped
from relift.compiler.validation.lockstep import Run, limits_of
from relift.compiler.validation.machine import Fault, Item, Memory, Shared, Undecided, Vectors
from relift.compiler.validation.symbols import OPEN, Symbol, TooLarge
from relift.semantics.syntax.types import SCALARS


@dataclass(frozen=True)
class ByOthers:
    """A kernel and its launch: `arguments` gives its parameters what their names do not say.

    A parameter gets a number, the name of a parameter of the program, or `out`; a local array the number of its cells.
    `out:0` is a result that is filled with 0 before, `out:x` one that holds x before, as does a parameter that is not
    const and called x where no other one is left for the result.
    """

    text: str
    entry: str
    range: tuple[int, ...]
    local: tuple[int, ...]
    arguments: Mapping[str, str] = field(default_factory=dict)
    file: str = "kernel.cl"
    defined: Mapping[str, str] = field(default_factory=dict)


class Launched(Run):
    """A run of one such kernel."""

    kernel_by: ByOthers
    contracted: bool
    notes: list[str]

    def of_others(self, inputs: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
        """Run it, and give back all buffers."""
        k = self.kernel_by
        local = (*k.local, 1, 1, 1)[:3]
        total = (*k.range, 1, 1, 1)[:3]
        if any(n % m for n, m in zip(total, local, strict=True)):
            raise Fault(
                "launch", f"{k.range} work-items are no whole number of groups of {k.local}"
            )
        if (group := required_group(k.text)) is not None and group != local:
            raise Fault(
                "launch",
                f"the source requires groups of {group}, it is launched in groups of {k.local}",
            )
        for b in self.launch.buffers:
            cells = b.cells.constant
            assert cells is not None, "cannot happen: an open size"
            if cells > self.algebra.limit:
                raise TooLarge(f"{b.name} has {cells} cells")
            known = list(inputs.get(b.name, [OPEN] * cells))
            once, kind = b.role == "output", kind_of(SCALARS[str(b.scalar)].c or "")
            self.memory[b.name] = (
                Shared(b.name, known, local=False, once=False, kind=kind)
                if once
                else Memory(b.name, known, constant=True, kind=kind)
            )
        from pycparser import c_ast

        functions = parsed(k.text, k.file, dict(k.defined))
        mine = kernel_in(functions, k.entry, k.arguments)
        limits = limits_of(Piece((0, 0, 0), total, local))
        helpers: dict[str, Any] = {}
        copies, constants = (
            Copies(),
            [d for d in functions if isinstance(d, c_ast.Decl) and (d.init or is_enumeration(d))],
        )
        sized = {name: int(v) for name, v in k.arguments.items() if v.isdecimal()}
        read = partial(
            ByHand, self.arithmetic, {}, {}, limits, {}, contracted=self.contracted, copies=copies,
            updating=Updating(), constants=constants, ways=self.ways, sub_group=self.sub_group,
        )  # fmt: skip
        for f in functions:
            if isinstance(f, c_ast.FuncDef) and not is_kernel(f):
                helpers[f.decl.name] = read(helpers=dict(helpers)).helper(f)
        translator = read(local_cells=sized, helpers=helpers)
        translated, parameters = translator.foreign(mine)
        self.notes += dict.fromkeys(translator.values.notes)
        arguments = self._given(parameters)
        self.items += int(np.prod(total))
        on_ways = replace(translated, run=partial(followed, translated.run))
        self.piece(Piece((0, 0, 0), total, local), on_ways, arguments)
        copies.finished()
        for m in self.memory.values():
            for i in list(m.halves):
                if self.ways.completed(m, i) is OPEN and m.cells[i] is OPEN:
                    self.ways.doubts.append(self.ways.unwritten(m, i))
        return {name: m.cells for name, m in self.memory.items()}

    def together(self, items: Sequence[Item], runs: Sequence[Any]) -> Sequence[Any]:
        """The work-items of a group, each until it waits for all others."""
        return in_sub_groups(items, runs, self.sub_group) if self.sub_group else runs

    @cached_property
    def sub_group(self) -> int:
        """How many work-items are in a sub-group, where the source says it."""
        size = required_sub_group(self.kernel_by.text)
        if size:
            self.notes.append("sub-groups are of work-items that follow each other")
            if math.prod(self.kernel_by.local) % size:
                raise Undecided(f"a group is no whole number of sub-groups of {size}")
        return size

    def _given(self, parameters: Sequence[tuple[str, Any]]) -> list[Any]:
        """What is handed to each parameter that is not in local memory."""
        found: list[Any] = []
        for given in given_by(parameters, self.kernel_by.arguments, self.launch.buffers):
            match given:
                case Number(text, t):
                    found.append(self._number(text, t))
                case Passed(name, t, buffer, before):
                    found.append(self._buffer(name, t, buffer))
                    if before is not None:
                        self._filled(t, buffer, before)
                case Cells():
                    raise AssertionError("cannot happen: local memory is made for each group")
        return found

    def _without_sign(self, m: Memory, scalar: str) -> Memory:
        """The same cells for a kernel that takes their numbers for such without a sign."""
        seen = [v if isinstance(v, Symbol) else wrapped(int(v), scalar) for v in m.cells]
        if m.constant:
            return Memory(m.name, seen, constant=True)
        m.cells[:] = seen
        return m

    def _filled(self, t: Any, b: Buffer, before: str | Buffer) -> None:
        """What lies in a result before the kernel runs."""
        cells = self.memory[b.name].cells
        if isinstance(before, Buffer):
            held = self.memory[before.name].cells
        else:
            held = [self._number(before, CType(t.scalar))] * len(cells)
        cells[:] = [v if isinstance(v, Symbol) else wrapped(int(v), plain(t).scalar) for v in held]

    def _number(self, text: str, t: Any) -> Any:
        scalar = plain(t).scalar
        if scalar in FLOATS:
            return self.algebra.real(float(text), FLOATS[scalar])
        value = int(text)
        low, high = RANGES[scalar]
        if not low <= value <= high:
            raise Fault("launch", f"{value} is no {scalar}")
        return value

    def _buffer(self, name: str, t: Any, b: Any) -> Any:
        wanted = SCALARS[str(b.scalar)].c if str(b.scalar) != "boolean" else "uchar"
        scalar = plain(t).scalar
        if scalar not in (wanted, f"u{wanted}"):
            raise Fault(
                "launch",
                f"{self.kernel_by.entry} takes {t.scalar} {name}, {b.name} has cells of {b.scalar}",
            )
        m = self.memory[b.name]
        if scalar != wanted:
            m = self._without_sign(m, scalar)
        if not t.pointer:
            value = m.cells[0]
            return value if isinstance(value, Symbol) else int(value)
        if t.width == 1:
            return m
        if t.width == 3:
            raise Undecided("vectors of 3 in memory")
        return Vectors(m, t.width)
