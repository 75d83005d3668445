"""A launch of a kernel that somebody wrote, against a program, on free symbols at given sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property, partial
from typing import Any

import numpy as np

from relift.compiler.codegen.interface import buffers, parameter
from relift.compiler.foreign.atomics import Updating
from relift.compiler.foreign.copies import Copies
from relift.compiler.foreign.declarations import is_enumeration
from relift.compiler.foreign.parameters import Cells, Number, Passed, given_by, is_kernel, kernel_in
from relift.compiler.foreign.parsing import parsed, required_group
from relift.compiler.foreign.statements import ByHand
from relift.compiler.meaning.computed import DRAWN, ORDINARY
from relift.compiler.meaning.witness import on_inputs
from relift.compiler.running.launch import Buffer, Kernel, Launch, Parameter, Piece
from relift.compiler.text.c_types import FLOATS, RANGES, plain
from relift.compiler.text.tree import CType, Source
from relift.compiler.validation.arithmetic import wrapped
from relift.compiler.validation.bits import Bits
from relift.compiler.validation.cells import rows_of_type
from relift.compiler.validation.lockstep import Run
from relift.compiler.validation.machine import Fault, Memory, Shared, Undecided, Vectors
from relift.compiler.validation.regrouping import Reassociation
from relift.compiler.validation.symbols import (
    FLOATING,
    LIMIT,
    OPEN,
    DependsOnData,
    Symbol,
    TooLarge,
)
from relift.compiler.validation.validate import Apart, Comparison, Report
from relift.compiler.validation.without_nan import NOTE, WithoutNaN
from relift.semantics.errors import ReliftError
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
    strict = Report("unknown", "", "nothing was tried")
    for taken in WAYS if reassociate else WAYS[:1]:
        report = _judged(kernel, plan, program, taken)
        if report.verdict == "shown" or (report.verdict == "refuted" and report.fault != "values"):
            return report
        if taken is not Taken.NUMBERS or strict.verdict == "unknown":
            strict = report
    return strict


class Taken(Enum):
    """What two values that are not written alike may be equal by.

    Nothing; the order of sums, and products and sums that are rounded once; also that nothing is NaN and no number with
    a sign overflows.
    """

    EXACTLY = "exactly"
    REGROUPED = "regrouped"
    NUMBERS = "numbers"


WAYS = tuple(Taken)


def _judged(kernel: ByOthers, plan: Launch, program: Program, taken: Taken) -> Report:
    """What is said of a kernel; inputs are drawn where control flow depends on them."""
    drawn: frozenset[str] = frozenset()
    while True:
        one = _Foreign(Source((), ()), plan, plan, program, {}, drawn, LIMIT, kernel, taken)
        try:
            return one.judged(reassociate=taken is not Taken.EXACTLY)
        except DependsOnData as error:
            from relift.compiler.validation.symbols import inputs_within

            more = {n.split(".")[0] for n in inputs_within(error.symbol)} & one.whole - drawn
            if not more:
                return replace(one.unknown(str(error)), sizes="these sizes")
            drawn |= more


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

    def judged(self, *, reassociate: bool) -> Report:
        """The report, and numbers at which a cell differs."""
        report = self.report(reassociate=reassociate)
        return replace(on_inputs(report, self.apart, regrouped=reassociate), sizes="these sizes")

    def _is_shown(self, found: Apart, *, reassociate: bool) -> bool:
        """Numbers at which a cell differs are enough: to compare ten thousand others takes most of the time."""
        told = on_inputs(Report("refuted", "", "", "values"), [found], regrouped=reassociate)
        if told.verdict == "refuted":
            self.apart = [found]
        return told.verdict == "refuted"

    def run(self, inputs: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
        """What the kernel leaves in the buffers."""
        run = _Launch(self.algebra, self.source, self.plan)
        run.kernel_by, run.notes = self.kernel, self.notes
        run.contracted = self.taken is not Taken.EXACTLY
        if self.taken is Taken.NUMBERS:
            self.notes.append(NOTE)
            run.arithmetic.in_range = self.notes
        return run.of_others(inputs)

    def _same(self, wanted: Any, value: Any, normal: Reassociation) -> bool:
        try:
            if super()._same(wanted, value, normal):
                return True
            x, y = self._lifted(wanted, value)
            if self.taken is Taken.EXACTLY and x.type in FLOATING:
                return False
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
            return WithoutNaN(self.algebra)
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
            once = b.role == "output"
            self.memory[b.name] = (
                Shared(b.name, known, local=False, once=False)
                if once
                else Memory(b.name, known, constant=True)
            )
        from pycparser import c_ast

        functions = parsed(k.text, k.file, dict(k.defined))
        mine = kernel_in(functions, k.entry, k.arguments)
        limits = _limits(Piece((0, 0, 0), total, local))
        helpers: dict[str, Any] = {}
        copies, constants = (
            Copies(),
            [d for d in functions if isinstance(d, c_ast.Decl) and (d.init or is_enumeration(d))],
        )
        sized = {name: int(v) for name, v in k.arguments.items() if v.isdecimal()}
        read = partial(
            ByHand, self.arithmetic, {}, {}, limits, {}, contracted=self.contracted, copies=copies,
            updating=Updating(), constants=constants,
        )  # fmt: skip
        for f in functions:
            if isinstance(f, c_ast.FuncDef) and not is_kernel(f):
                helpers[f.decl.name] = read(helpers=dict(helpers)).helper(f)
        translator = read(local_cells=sized, helpers=helpers)
        translated, parameters = translator.foreign(mine)
        self.notes += dict.fromkeys(translator.values.notes)
        arguments = self._given(parameters)
        self.items += int(np.prod(total))
        self.piece(Piece((0, 0, 0), total, local), translated, arguments)
        copies.finished()
        return {name: m.cells for name, m in self.memory.items()}

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


def drawn_inputs(program: Program, called: str = "") -> dict[str, list[Any]]:
    """The inputs on which a refuted kernel is shown to be wrong: the cells of each, in a row.

    `called`: as its report calls them, ordinary ones if it does not.

    >>> import relift as rl
    >>> from relift.compiler.foreign.comparison import drawn_inputs
    >>> @rl.program
    ... def double(x: rl.f32[2]):
    ...     return rl.map(lambda v: v * 2.0, x)
    >>> [len(row) for row in drawn_inputs(double).values()]
    [2]
    """
    machine = DRAWN[called or ORDINARY]({}, 0)
    found: dict[str, list[Any]] = {}
    for p in program.parameters:
        rows = list(rows_of_type(p.type))
        for k, (scalar, cells) in enumerate(rows):
            name = p.name if len(rows) == 1 else f"{p.name}.{k}"
            found[name] = [machine.drawn(name, i, scalar.name) for i in range(cells)]
    return found


def _limits(piece: Piece) -> dict[tuple[str, int], int]:
    found: dict[tuple[str, int], int] = {}
    for d, (n, m) in enumerate(zip(piece.range, piece.local, strict=True)):
        found |= {
            ("gid", d): n - 1, ("lid", d): m - 1, ("grp", d): n // m - 1, ("ng", d): n // m,
            ("gs", d): n, ("ls", d): m,
        }  # fmt: skip
    return found
