"""A launch of a kernel that somebody wrote, against a program, on free symbols at given sizes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property, partial
from typing import Any

import numpy as np

from relift.compiler.codegen.interface import buffers, parameter
from relift.compiler.foreign.atomics import Updating
from relift.compiler.foreign.declarations import is_enumeration
from relift.compiler.foreign.groups.copies import Copies
from relift.compiler.foreign.groups.sub_groups import in_sub_groups, required_sub_group
from relift.compiler.foreign.inputs import as_drawn, said_as
from relift.compiler.foreign.parameters import Cells, Number, Passed, given_by, is_kernel, kernel_in
from relift.compiler.foreign.reading.parsing import parsed, required_group
from relift.compiler.foreign.statements import ByHand
from relift.compiler.foreign.ways.forks import followed
from relift.compiler.foreign.ways.on_inputs import OnInputs
from relift.compiler.foreign.ways.ways import Ways
from relift.compiler.meaning.computed import DRAWN, ORDINARY, Machine, Rough, drawn_as
from relift.compiler.meaning.witness import differing, near, on_inputs, rounded_apart
from relift.compiler.running.launch import Buffer, Kernel, Launch, Parameter, Piece
from relift.compiler.text.c_types import FLOATS, RANGES, plain
from relift.compiler.text.lexing import NotUnderstood
from relift.compiler.text.tree import CType, Source
from relift.compiler.validation.arithmetic import kind_of, wrapped
from relift.compiler.validation.bits import Bits
from relift.compiler.validation.cells import flattened
from relift.compiler.validation.laws.applied import Laws
from relift.compiler.validation.lockstep import Run, limits_of
from relift.compiler.validation.machine import (
    Fault,
    FaultKind,
    Item,
    Memory,
    Shared,
    Undecided,
    Vectors,
)
from relift.compiler.validation.regrouping import Reassociation
from relift.compiler.validation.symbols import (
    FLOATING,
    LIMIT,
    OPEN,
    DependsOnData,
    Symbol,
    TooLarge,
    inputs_within,
)
from relift.compiler.validation.validate import Apart, Comparison, Report
from relift.compiler.validation.without_nan import NOTE, WithoutNaN
from relift.semantics.errors import ReliftError, Undefined
from relift.semantics.interpreter import World, evaluate
from relift.semantics.language.programs import Program
from relift.semantics.syntax.sizes import Size
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


def validate_foreign(kernel: ByOthers, program: Program, *, reassociate: bool = True) -> Report:
    """Compare a kernel with a program at its sizes, for all data: to the last bit, or up to the order of sums.

    >>> import relift as rl
    >>> from relift.compiler.foreign.comparison import ByOthers, validate_foreign
    >>> text = "kernel void twice(global const float *x, global float *y) { int i = get_global_id(0); y[i] = x[i] * 2; }"
    >>> @rl.program
    ... def double(x: rl.f32[8]):
    ...     return rl.map(lambda v: v * 2.0, x)
    >>> validate_foreign(ByOthers(text, "twice", (8,), (4,)), double).verdict
    'shown'
    """
    if program.sizes:
        raise ReliftError(
            f"{program.name} leaves {', '.join(program.sizes)} open; give --size", place=""
        )
    launched = Kernel(kernel.entry, (), tuple(map(Size.of, kernel.range)), kernel.local, 0)
    plan = Launch(program.name, *interface(program), (launched,))
    asked = _Asked(kernel, plan, program)
    found = asked.in_all_ways(frozenset(), reassociate=reassociate)
    if found.verdict == "shown" and asked.drawn:
        return asked.on_suspected() or found
    if found.verdict != "unknown" or found.not_read or found.too_large:
        return found
    if (shown := asked.on_numbers()) is not None:
        return shown
    asked.asks = asked.followed
    tried = [asked.drawn] * asked.followed + [asked.drawn | asked.decided_on]
    for drawn in dict.fromkeys(tried) if asked.followed or asked.decided_on else ():
        again = asked.in_all_ways(drawn, reassociate=reassociate)
        if again.verdict != "unknown":
            return again
    return found


class Taken(Enum):
    """What two values that are not written alike may be equal by.

    Nothing; the order of sums, and products and sums that are rounded once; also that nothing is NaN and no number with
    a sign overflows.
    """

    EXACTLY = "exactly"
    REGROUPED = "regrouped"
    NUMBERS = "numbers"


MOST_SOLVED = 8
"""So many cells are handed to a solver for numbers at which they differ."""


@dataclass
class _Asked:
    """Who is asked of one kernel; `decided_on` are inputs of whole numbers that decide on ways through it.

    `followed`: whether data decide at all; `asks`: whether a solver is asked if a way can be taken before it is;
    `suspected` are inputs at which something may be wrong, by what a solver says.
    """

    kernel: ByOthers
    plan: Launch
    program: Program
    drawn: frozenset[str] = frozenset()
    decided_on: frozenset[str] = frozenset()
    followed: bool = False
    asks: bool = False
    suspected: list[str] = field(default_factory=list[str])

    def in_all_ways(self, drawn: frozenset[str], *, reassociate: bool) -> Report:
        """What is said, to the last bit first."""
        strict = Report("unknown", "", "nothing was tried")
        for taken in Taken if reassociate else [Taken.EXACTLY]:
            report = self._judged(taken, drawn)
            if report.verdict == "shown" or (
                report.verdict == "refuted" and report.fault != "values"
            ):
                return report
            if taken is not Taken.NUMBERS or strict.verdict == "unknown":
                strict = report
        return strict

    def _judged(self, taken: Taken, drawn: frozenset[str]) -> Report:
        """What is said in one way; inputs are drawn where control flow depends on them and cannot be followed."""
        while True:
            one = self._one(taken, drawn)
            try:
                report = one.judged(reassociate=taken is not Taken.EXACTLY)
            except DependsOnData as error:
                more = _inputs_within([error.symbol]) & one.whole - drawn
                self.suspected += one.suspected()
                if not more:
                    return replace(one.unknown(str(error)), sizes="these sizes")
                drawn |= more
                continue
            self.drawn = drawn
            self.decided_on |= _inputs_within([*one.decided_on, *one.placed]) & one.whole
            self.followed |= bool(one.decided_on)
            self.suspected += one.suspected()
            if one.decided_on and report.fault in ("covered", "initialised"):
                # whether what is open is ever asked for, numbers have to tell
                return self.on_numbers() or replace(report, verdict="unknown", fault=None)
            if report.verdict == "refuted" and drawn:
                return replace(report, inputs=as_drawn(report.inputs or ORDINARY, drawn))
            return report

    def _one(self, taken: Taken, drawn: frozenset[str]) -> _Foreign:
        return _Foreign(
            Source((), ()), self.plan, self.plan, self.program, {}, drawn, LIMIT, self.kernel, taken,
            asks=self.asks,
        )  # fmt: skip

    def on_numbers(self) -> Report | None:
        """What some inputs show to be wrong, if any do."""
        for called in (name for name, machine in DRAWN.items() if machine is not Rough):
            one = self._one(Taken.NUMBERS, self.drawn)
            if (found := one.on(as_drawn(called, self.drawn), drawn_as(called))) is not None:
                return found
        return self.on_suspected()

    def on_suspected(self) -> Report | None:
        """What inputs show to be wrong that a solver found."""
        called, self.suspected = list(dict.fromkeys(self.suspected)), []
        for one in called[:MOST_SOLVED]:
            found = self._one(Taken.NUMBERS, frozenset()).on(one, drawn_as(one))
            if found is not None:
                return found
        return None


def _inputs_within(symbols: Iterable[Symbol]) -> set[str]:
    return {n.split(".")[0] for n in inputs_within(*symbols)}


def interface(program: Program) -> tuple[tuple[Parameter, ...], Parameter, tuple[Buffer, ...]]:
    """The parameters of a program, its result, and the buffers of both."""
    own = tuple(parameter(p.name, p.name, p.type) for p in program.parameters)
    found = [b for p in program.parameters for b in buffers(p.name, p.type, "input")]
    found += buffers("out", program.body.type, "output")
    return own, parameter("out", "out", program.body.type), tuple(found)


@dataclass
class _Foreign(Comparison):
    """The two sides, of which the text is by somebody else."""

    kernel: ByOthers = field(kw_only=False, default=None)  # type: ignore[assignment]
    taken: Taken = Taken.REGROUPED
    machine: type[Machine] | None = None
    """Who draws the inputs, where it is run on numbers."""
    numbers: OnInputs = field(init=False)
    decided_on: Sequence[Symbol] = ()
    """Conditions on data that were followed both ways."""
    placed: Sequence[Symbol] = ()
    """Indices that may be anywhere in their array."""
    doubts: Sequence[Symbol] = ()
    """Conditions on data under which something may be wrong."""
    asks: bool = False
    laws: Laws | None = None
    shows: Sequence[Apart] = ()
    """A cell that is known to differ on some inputs."""

    def judged(self, *, reassociate: bool) -> Report:
        """The report, and numbers at which a cell differs."""
        report = on_inputs(self.report(reassociate=reassociate), self.shows, regrouped=reassociate)
        if report.verdict == "unknown" and self.taken is Taken.NUMBERS:
            report = self._by_solving() or report
        return replace(report, sizes="these sizes")

    def _by_solving(self) -> Report | None:
        """Numbers that a solver finds, at which a cell differs: where few inputs show it, none that are drawn may."""
        for where, wanted, value in self.apart[:MOST_SOLVED]:
            cells = self.bits.told_apart(wanted, value)
            if cells is None:
                continue
            called = said_as(cells)
            numbers = differing(wanted, value, drawn_as(called))
            if numbers is not None:
                return self._wrong(
                    called, f"{where} is {numbers[1]} instead of {numbers[0]}", "values"
                )
        return None

    def suspected(self) -> list[str]:
        """Inputs that a solver finds at which something may be wrong."""
        bits = Bits(ordered=True, summed=True)
        models = [bits.where(c) for c in self.doubts[:MOST_SOLVED]]
        return [said_as(cells) for cells in models if cells is not None]

    def _is_shown(self, found: Apart, *, reassociate: bool) -> bool:
        """Numbers at which a cell differs are enough: to compare ten thousand others takes most of the time."""
        told = on_inputs(Report("refuted", "", "", "values"), [found], regrouped=reassociate)
        self.shows = [found] if told.verdict == "refuted" else []
        return bool(self.shows)

    def on(self, called: str, machine: type[Machine]) -> Report | None:
        """What one choice of inputs shows to be wrong; None where it shows nothing."""
        self.machine = machine
        try:
            inputs, values = self._inputs()
            expected = evaluate(self.program.body, World(inputs=values, domain=self.domain))
            found = self.run(inputs)
        except Fault as fault:
            return self._wrong(called, fault.detail, fault.kind)
        except (TooLarge, Undecided, Undefined, DependsOnData, NotUnderstood, RecursionError):
            return None
        rows: list[list[Any]] = [[] for _ in self.plan.result.buffers]
        flattened(self.program.body.type, expected, rows)
        cells = [
            (f"{name}[{i}]", self.domain.lifted(wanted), value)
            for name, row in zip(self.plan.result.buffers, rows, strict=True)
            for i, (wanted, value) in enumerate(zip(row, found[name], strict=True))
            if wanted is not OPEN
        ]
        for where, wanted, value in cells:
            if value is OPEN:
                return self._wrong(
                    called, f"{where} is not written, or computed from what is not", "covered"
                )
            with suppress(Undecided):
                number, other = self.numbers.value(wanted), self.numbers.value(value)
                if not near(number, other) and not rounded_apart(wanted, value, machine):
                    return self._wrong(called, f"{where} is {other} instead of {number}", "values")
        return None

    def _wrong(self, called: str, detail: str, kind: FaultKind) -> Report:
        notes = tuple(dict.fromkeys(self.notes))
        return Report(
            "refuted", "these sizes", f"on {called}, {detail}", kind, notes=notes, inputs=called
        )

    def run(self, inputs: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
        """What the kernel leaves in the buffers."""
        run = _Launch(self.algebra, self.source, self.plan)
        run.kernel_by, run.notes = self.kernel, self.notes
        run.contracted = self.taken is not Taken.EXACTLY
        if self.taken is Taken.NUMBERS:
            self.notes.append(NOTE)
            run.arithmetic.in_range = self.notes
        if self.machine is not None:
            run.ways = self.numbers = OnInputs(run.arithmetic, self.machine)
        else:
            run.ways = Ways(run.arithmetic, self.bits, asks=self.asks)
            self.decided_on, self.doubts = run.ways.decided_on, run.ways.doubts
            self.placed = run.ways.placed
        try:
            return run.of_others(inputs)
        except Undecided as error:
            run.ways.doubts += [error.condition] if error.condition is not None else []
            raise

    def _same(self, wanted: Any, value: Any, normal: Reassociation) -> bool:
        try:
            if super()._same(wanted, value, normal):
                return True
            x, y = self._lifted(wanted, value)
            if self.taken is Taken.EXACTLY and x.type in FLOATING:
                return False
            if self.laws is not None and (law := self.laws.make_equal(x, y)) is not None:
                self.notes += law
                return True
            return self.bits.same(normal(x), normal(y))
        except TooLarge:
            return False  # numbers will tell

    @cached_property
    def bits(self) -> Bits:
        """What is asked of values that are written otherwise."""
        return Bits(ordered=self.taken is Taken.NUMBERS)

    def normal_form(self, *, reassociate: bool) -> Reassociation:
        """How values are compared."""
        if self.taken is Taken.NUMBERS:
            self.laws = Laws(WithoutNaN(self.algebra))
            return self.laws.normal
        return super().normal_form(reassociate=reassociate)


class _Launch(Run):
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
