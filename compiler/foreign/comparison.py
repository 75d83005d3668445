"""A launch of a kernel that somebody wrote, against a program, on free symbols at given sizes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property, partial
from typing import Any

from relift.compiler.codegen.interface import buffers, parameter
from relift.compiler.foreign.groups.launched import ByOthers, Launched
from relift.compiler.foreign.inputs import as_drawn, said_as
from relift.compiler.foreign.required.cases import Cases
from relift.compiler.foreign.required.drawing import Admitted, holds
from relift.compiler.foreign.required.facts import Facts
from relift.compiler.foreign.required.lookups import Looking
from relift.compiler.foreign.required.statements import required
from relift.compiler.foreign.ways.on_inputs import OnInputs
from relift.compiler.foreign.ways.ways import Ways
from relift.compiler.meaning.computed import Machine, Rough, drawn_as
from relift.compiler.meaning.witness import differing, near, on_inputs, rounded_apart
from relift.compiler.running.launch import Buffer, Kernel, Launch, Parameter
from relift.compiler.text.lexing import NotUnderstood
from relift.compiler.text.tree import Source
from relift.compiler.validation.bits import Bits
from relift.compiler.validation.cells import flattened, parameter_of
from relift.compiler.validation.laws.applied import Laws
from relift.compiler.validation.laws.regrouping import Reassociation
from relift.compiler.validation.laws.without_nan import NOTE, WithoutNaN
from relift.compiler.validation.machine import Fault, FaultKind, Undecided
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
from relift.semantics.errors import ReliftError, Undefined
from relift.semantics.interpreter import World, evaluate
from relift.semantics.language.programs import Program
from relift.semantics.syntax.sizes import Size


def validate_foreign(
    kernel: ByOthers,
    program: Program,
    requires: Sequence[Program] = (),
    *,
    reassociate: bool = True,
) -> Report:
    """Compare a kernel with a program at its sizes, for all data: to the last bit, or up to the order of sums.

    `requires`: programs of its inputs that give truth values; only inputs for which all are true are spoken of, and the
    report names them.  Raises `NotRequired` for one that does not fit, and where no inputs are as is required.

    >>> import relift as rl
    >>> from relift.compiler.foreign.comparison import validate_foreign
    >>> from relift.compiler.foreign.groups.launched import ByOthers
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
    admitted = Admitted(program, required(program, requires))
    asked = _Asked(kernel, plan, program, admitted, asks=bool(requires))
    found = asked.found(reassociate)
    notes = (*found.notes, *([admitted.required.note] if requires else []))
    decides = tuple(sorted(asked.drawn | asked.decided_on))
    return replace(found, notes=notes, decides=decides)


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
    admitted: Admitted
    drawn: frozenset[str] = frozenset()
    decided_on: frozenset[str] = frozenset()
    followed: bool = False
    asks: bool = False
    suspected: list[str] = field(default_factory=list[str])

    def found(self, reassociate: bool) -> Report:
        """What is said in all ways, until one shows something.

        What is required makes questions dear: inputs that show a fault at once are tried before.
        """
        if self.admitted.required and (shown := self.on_numbers()) is not None:
            return shown
        found = self.in_all_ways(frozenset(), reassociate=reassociate)
        if found.verdict == "shown" and self.drawn:
            return self.on_suspected() or found
        if found.verdict != "unknown" or found.not_read or found.too_large:
            return found
        if (shown := self.on_numbers()) is not None:
            return shown
        self.asks = self.followed
        tried = [self.drawn] * self.followed + [self.drawn | self.decided_on]
        for drawn in dict.fromkeys(tried) if self.followed or self.decided_on else ():
            again = self.in_all_ways(drawn, reassociate=reassociate)
            if again.verdict != "unknown":
                return again
        return found

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
                return replace(report, inputs=as_drawn(report.inputs or self.admitted.first, drawn))
            return report

    def _one(self, taken: Taken, drawn: frozenset[str]) -> _Foreign:
        return _Foreign(
            Source((), ()), self.plan, self.plan, self.program, {}, drawn, LIMIT, self.kernel, taken,
            asks=self.asks, admitted=self.admitted,
        )  # fmt: skip

    def on_numbers(self) -> Report | None:
        """What some inputs show to be wrong, if any do."""
        for called, machine in self.admitted.machines.items():
            if issubclass(machine, Rough):
                continue
            one = self._one(Taken.NUMBERS, self.drawn)
            if (found := one.on(as_drawn(called, self.drawn), machine)) is not None:
                return found
        return self.on_suspected()

    def on_suspected(self) -> Report | None:
        """What inputs show to be wrong that a solver found."""
        called, self.suspected = list(dict.fromkeys(self.suspected)), []
        for one in called[:MOST_SOLVED]:
            machine = self.admitted.drawn(one)
            found = None
            if machine is not None:
                found = self._one(Taken.NUMBERS, frozenset()).on(one, machine)
            if found is not None:
                return found
        return None


def _inputs_within(symbols: Iterable[Symbol]) -> set[str]:
    return {parameter_of(name) for name in inputs_within(*symbols)}


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
    admitted: Admitted = field(kw_only=True)
    taken: Taken = Taken.REGROUPED
    machine: type[Machine] | None = None
    """Who draws the inputs, where it is run on numbers."""
    called: str = ""
    """What these are called."""
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
    facts: Facts | None = None
    """What is required of the inputs."""
    cases: Cases | None = None

    def judged(self, *, reassociate: bool) -> Report:
        """The report, and numbers at which a cell differs."""
        report = self.report(reassociate=reassociate)
        report = on_inputs(report, self.shows, self._tried, regrouped=reassociate)
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
            machine = drawn_as(called)
            if self.facts is not None and not holds(self.facts.conditions, machine):
                continue
            numbers = differing(wanted, value, machine)
            if numbers is not None:
                return self._wrong(
                    called, f"{where} is {numbers[1]} instead of {numbers[0]}", "values"
                )
        return None

    def suspected(self) -> list[str]:
        """Inputs that a solver finds at which something may be wrong."""
        bits = Bits(ordered=True, summed=True, facts=self.facts)
        models = [bits.where(c) for c in self.doubts[:MOST_SOLVED]]
        return [said_as(cells) for cells in models if cells is not None]

    def _is_shown(self, found: Apart, *, reassociate: bool) -> bool:
        """Numbers at which a cell differs are enough: to compare ten thousand others takes most of the time."""
        wrong = Report("refuted", "", "", "values")
        told = on_inputs(wrong, [found], self._tried, regrouped=reassociate)
        self.shows = [found] if told.verdict == "refuted" else []
        return bool(self.shows)

    @property
    def _tried(self) -> Mapping[str, type[Machine]]:
        """The inputs on which cells are compared: what is drawn of them has to fit what is required."""
        machines = self.admitted.machines
        if self.drawn and self.admitted.required:
            return {called: machines[called] for called in [self.admitted.first]}
        return machines

    def _drawn_whole(self) -> dict[str, list[list[Any]]]:
        return self.admitted.whole(self.drawn, self.called or self.admitted.first)

    def _inputs(self) -> tuple[dict[str, list[Any]], dict[str, Any]]:
        """The inputs, of which is known what is required."""
        buffers, values = super()._inputs()
        if self.admitted.required:
            known = self.admitted.required.conditions(self.algebra, values)
            self.facts = Facts(self.algebra, known, self.admitted.machines.values())
        if self.admitted.required or self.machine is not None:
            self.domain = Looking(self.algebra, self._sure, self.facts, self.machine)
        return buffers, values

    def _sure(self, inside: Symbol) -> None:
        """An index of the program has to be in its array for all inputs."""
        if not self.bits.always(inside):
            raise DependsOnData(inside, "an index")

    def on(self, called: str, machine: type[Machine]) -> Report | None:
        """What one choice of inputs shows to be wrong; None where it shows nothing."""
        self.machine, self.called = machine, called
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
        run = Launched(self.algebra, self.source, self.plan)
        run.kernel_by, run.notes = self.kernel, self.notes
        run.contracted = self.taken is not Taken.EXACTLY
        if self.facts is not None:
            run.arithmetic.in_type = self.facts.fits
        if self.taken is Taken.NUMBERS:
            self.notes.append(NOTE)
            run.arithmetic.in_range = self.notes
        if self.machine is not None:
            run.ways = self.numbers = OnInputs(run.arithmetic, self.machine)
        else:
            run.ways = Ways(run.arithmetic, self.bits, required=self.facts, asks=self.asks)
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
            return self.bits.same(normal(x), normal(y)) or self._same_by_cases(x, y, normal)
        except TooLarge:
            return False  # numbers will tell

    def _same_by_cases(self, x: Symbol, y: Symbol, normal: Reassociation) -> bool:
        """Whether two values are equal in all cases that conditions, or numbers that are some of few, tell apart."""
        if self.facts is None and self.taken is not Taken.NUMBERS:
            return False
        if self.cases is None:
            facts = self.facts or Facts(self.algebra, ())
            self.cases = Cases(self.algebra, facts, partial(_of_one_form, normal))
        return self.cases.equal(x, y)

    @cached_property
    def bits(self) -> Bits:
        """What is asked of values that are written otherwise."""
        return Bits(ordered=self.taken is Taken.NUMBERS, facts=self.facts)

    def normal_form(self, *, reassociate: bool) -> Reassociation:
        """How values are compared."""
        if self.taken is Taken.NUMBERS:
            self.laws = Laws(WithoutNaN(self.algebra))
            return self.laws.normal
        return super().normal_form(reassociate=reassociate)


def _of_one_form(normal: Reassociation, x: Symbol, y: Symbol) -> bool:
    """Whether two values are written alike once both are in normal form."""
    return normal(x) is normal(y)
