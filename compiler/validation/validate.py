"""Validation: the text of a program's kernels, run on symbols, gives cell by cell what the interpreter gives.

What runs is the source and its launch as they are, for all work-items at some sizes; nothing of the compiler is
believed.  Floating-point inputs are names (`symbols`), so an agreement holds for all data, to the last bit of
whatever computes each operation alike; of whole inputs, those that are indices are drawn, and the report says so.
Not covered are the device, its compiler and its functions, and whether it contracts `a*b + c`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from relift.compiler.running.launch import Launch
from relift.compiler.text.at_once import DEFINED, called_in
from relift.compiler.text.lexing import NotUnderstood
from relift.compiler.text.reader import read_source
from relift.compiler.text.tree import Source
from relift.compiler.validation.arithmetic import KINDS
from relift.compiler.validation.cells import (
    flattened,
    nested,
    parameter_of,
    row_name,
    rows_of_type,
    scalars_of,
)
from relift.compiler.validation.domain import Symbols
from relift.compiler.validation.laws.regrouping import Reassociation
from relift.compiler.validation.lockstep import Run
from relift.compiler.validation.machine import Fault, FaultKind, Undecided
from relift.compiler.validation.opaque import opaque_functions
from relift.compiler.validation.symbols import (
    LIMIT,
    OPEN,
    Algebra,
    DependsOnData,
    Symbol,
    TooLarge,
    inputs_within,
)
from relift.compiler.validation.translation.python import Opaque
from relift.processes.collecting import uncollected
from relift.semantics.domains import DTYPES
from relift.semantics.errors import ReliftError, Undefined
from relift.semantics.interpreter import World, evaluate
from relift.semantics.language.programs import Program
from relift.semantics.syntax.terms import distinct
from relift.semantics.syntax.types import FLOATS, INTEGERS, Scalar, types_within

Verdict: TypeAlias = Literal["shown", "refuted", "unknown"]
SEED = 0
"""Draws the whole inputs that must be numbers."""


@dataclass(frozen=True)
class Report:
    """What became of one comparison.

    `verdict` is `shown` when every cell of the result is written and equals the interpreter's, for all data at
    these `sizes`; `refuted` by a fault of a kernel or a cell that differs, which `detail` has; else `unknown`,
    and `detail` says what is left.  `notes` say what it rests on.  `too_large` is what was not run to its end.
    `not_read` is what the text has that nobody here understands, and where; `inputs`, at which a cell differs; `decides`,
    the inputs of whole numbers by which a kernel branches or finds a cell.
    """

    verdict: Verdict
    sizes: str
    detail: str
    fault: FaultKind | None = None
    symbols: int = 0
    reassociated: bool = False
    notes: tuple[str, ...] = ()
    too_large: bool = False
    not_read: str = ""
    inputs: str = ""
    decides: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the text was shown to be right at these sizes."""
        return self.verdict == "shown"

    def text(self) -> str:
        """One line for a person."""
        how = "up to reassociation" if self.reassociated else "to the last bit"
        said = {
            "shown": f"values shown at {self.sizes}, all data: equal {how}",
            "refuted": f"values refuted at {self.sizes}: {self.detail}",
            "unknown": f"values unknown at {self.sizes}: {self.detail}",
        }[self.verdict]
        return "; ".join([said, *self.notes])


def misfit(program: Program, plan: Launch) -> str | None:
    """Why a launch is none of a program; None where it may be."""
    takes = [str(p.type) for p in program.parameters]
    given = [str(p.type) for p in plan.parameters]
    if takes == given and str(program.body.type) == str(plan.result.type):
        return None
    return (
        f"the program takes ({', '.join(takes)}) and gives {program.body.type}, "
        f"the launch takes ({', '.join(given)}) and gives {plan.result.type}"
    )


def not_read(error: NotUnderstood, sizes: str) -> Report:
    """The report of a text that is not understood."""
    what = str(error)
    return Report("unknown", sizes, f"the text has {what}, which is not understood", not_read=what)


Apart: TypeAlias = tuple[str, Symbol, Symbol]
"""A cell whose values differ in form: what it is called, what it should be, and what it is."""

MOST_APART = 64
"""So many of them are kept."""

Witness: TypeAlias = Callable[[Report, Sequence[Apart]], Report]
"""What becomes of a report, in view of the cells that differ."""


def validate(
    source: str | Source,
    launch: Launch,
    program: Program,
    sizes: Mapping[str, int] | None = None,
    *,
    limit: int = LIMIT,
    reassociate: bool = False,
    witness: Witness = lambda report, apart: report,
) -> Report:
    """Compare the text of all kernels of a program with the interpreter, at some sizes.

    `program` may be the source or the low-level program; `reassociate` takes sums and products as equal whose
    order differs.  `sizes` are those that the program leaves open.  Cells differ in form; `witness` may ask for numbers at
    which they do.  Raises nothing for bad text: it is unknown.

    >>> from relift import f32, map_glb, program
    >>> from relift.compiler.validation.validate import validate
    >>> from relift.compiler.program import compile_program
    >>> @program
    ... def double(x: f32[4]):
    ...     return map_glb(0)(lambda v: v + v, x)
    >>> k = compile_program(double)
    >>> validate(k.source, k.plan, double).text()
    'values shown at its sizes, all data: equal to the last bit'
    >>> validate(k.source.replace("v + v", "v * v"), k.plan, double).detail
    'out[0] is x[0] * x[0] instead of x[0] + x[0]; 4 of 4 cells differ'
    """
    sizes = dict(sizes or {})
    at = ", ".join(f"{name} = {value}" for name, value in sizes.items()) or "its sizes"
    try:
        here = program.at({name: n for name, n in sizes.items() if name in program.sizes})
        plan = launch.at({name: sizes[name] for name in launch.sizes})
        text = read_source(source) if isinstance(source, str) else source
    except NotUnderstood as error:
        return not_read(error, at)
    except (ReliftError, KeyError) as error:
        return Report("unknown", at, f"the launch does not fit the program: {error}")
    drawn = frozenset(_indices(here))
    while True:
        one = Comparison(text, launch, plan, here, sizes, drawn, limit)
        try:
            return replace(witness(one.report(reassociate=reassociate), one.apart), sizes=at)
        except DependsOnData as error:
            more = {parameter_of(name) for name in inputs_within(error.symbol)} & one.whole - drawn
            if not more:
                return replace(one.unknown(str(error)), sizes=at)
            drawn |= more


def _indices(program: Program) -> dict[str, int]:
    """The inputs that are indices, with the length that they index."""
    from relift.rewrites.checks.random.exact_inputs import index_bounds

    return index_bounds(program.body)


def drawn_whole(program: Program, names: Collection[str]) -> dict[str, list[list[Any]]]:
    """Inputs of whole numbers, by component: those that are indices within what they index."""
    generator = np.random.default_rng(SEED)
    below = _indices(program)
    found: dict[str, list[list[Any]]] = {}
    for p in program.parameters:
        if p.name in names:
            low, high = (0, max(below[p.name], 1)) if p.name in below else (-8, 8)
            found[p.name] = [
                [DTYPES[str(scalar)].type(v) for v in generator.integers(low, high, cells)]
                for scalar, cells in rows_of_type(p.type)
            ]
    return found


@dataclass
class Comparison:
    """The two sides, on one algebra; `drawn` are the inputs that are numbers."""

    source: Source
    launch: Launch
    plan: Launch
    program: Program
    sizes: Mapping[str, int]
    drawn: frozenset[str]
    limit: int

    def __post_init__(self) -> None:
        self.algebra = Algebra(self.limit)
        self.domain = Symbols(self.algebra)
        self.notes: list[str] = []
        self.apart: list[Apart] = []
        self.whole = frozenset(
            p.name
            for p in self.program.parameters
            if any(not s.is_float for s in scalars_of(p.type))
        )

    def report(self, *, reassociate: bool) -> Report:
        """What the two sides say, up to reassociation where work-items combine floats with a cell at once; raises `DependsOnData`."""
        reassociate |= not DEFINED.keys().isdisjoint(called_in(self.source.kernels))
        try:
            if wrong := misfit(self.program, self.plan):
                return Report("refuted", "", wrong, "launch")
            if other := sorted(integers_of(self.program) - KINDS):
                return self.unknown(f"whole numbers are followed as i32 and i64, not as {other[0]}")
            inputs, values = self._inputs()
            with uncollected():
                expected = evaluate(self.program.body, World(inputs=values, domain=self.domain))
                found = self.run(inputs)
                return self._compared(expected, found, reassociate=reassociate)
        except Fault as fault:
            return replace(self.unknown(fault.detail), verdict="refuted", fault=fault.kind)
        except TooLarge as error:
            return replace(self.unknown(str(error)), too_large=True)
        except (Undecided, Undefined) as error:
            return self.unknown(str(error))
        except NotUnderstood as error:
            return not_read(error, "")
        except RecursionError:
            return self.unknown("what is computed is nested too deeply")

    def run(self, inputs: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
        """What the kernels leave in the buffers."""
        return Run(self.algebra, self.source, self.plan, self._opaque()).all_kernels(inputs)

    def unknown(self, detail: str) -> Report:
        """Nothing is known, and why."""
        return Report(
            "unknown", "", detail, symbols=len(self.algebra.table),
            notes=tuple(dict.fromkeys(self.notes)),
        )  # fmt: skip

    # ---- inputs

    def _inputs(self) -> tuple[dict[str, list[Any]], dict[str, Any]]:
        """The cells of each input buffer, and the same as the interpreter takes them."""
        buffers: dict[str, list[Any]] = {}
        values: dict[str, Any] = {}
        drawn = self._drawn_whole()
        for p, q in zip(self.program.parameters, self.plan.parameters, strict=True):
            rows: list[list[Any]] = []
            for k, (scalar, cells) in enumerate(rows_of_type(p.type)):
                if cells > self.limit:
                    raise TooLarge(f"{p.name} has {cells} cells, {self.limit} symbols are allowed")
                kind = "bool" if str(scalar) == "boolean" else str(scalar)
                name = row_name(p.name, k, len(q.buffers))
                if p.name in self.drawn and not scalar.is_float:
                    rows.append([*drawn[p.name][k]])
                else:
                    rows.append([self.algebra.cell(name, i, kind) for i in range(cells)])
            buffers |= dict(zip(q.buffers, ([_plain(v) for v in row] for row in rows), strict=True))
            values[p.name] = nested(p.type, [iter(row) for row in rows])
        for name in self.launch.sizes:
            buffers[name] = [self.sizes[name]]
        if self.drawn:
            self.notes.append(
                f"for the whole numbers that were drawn for {', '.join(sorted(self.drawn))}"
            )
        return buffers, values

    def _drawn_whole(self) -> dict[str, list[list[Any]]]:
        """The inputs that are numbers."""
        return drawn_whole(self.program, self.drawn)

    # ---- functions

    def _opaque(self) -> dict[str, Opaque]:
        """The functions of the source that are not run as they are written."""
        found, notes = opaque_functions(
            self.source, self.program.body, self.algebra, self.domain.lifted
        )
        self.notes += notes
        return found

    # ---- outputs

    def _compared(
        self, expected: Any, found: Mapping[str, list[Any]], *, reassociate: bool
    ) -> Report:
        rows: list[list[Any]] = [[] for _ in self.plan.result.buffers]
        flattened(self.program.body.type, expected, rows)
        normal = self.normal_form(reassociate=reassociate)
        differing: list[str] = []
        unwritten: list[str] = []
        shown, cells = False, 0
        for name, row in zip(self.plan.result.buffers, rows, strict=True):
            got = found[name]
            cells += len(got)
            if len(got) != len(row):
                return Report(
                    "refuted", "", f"{name} has {len(got)} cells instead of {len(row)}", "launch"
                )
            for i, (wanted, value) in enumerate(zip(row, got, strict=True)):
                if wanted is OPEN:
                    continue
                if value is OPEN:
                    unwritten.append(f"{name}[{i}]")
                    continue
                if not shown and not self._same(wanted, value, normal):
                    if len(self.apart) < MOST_APART:
                        self.apart.append((f"{name}[{i}]", *self._lifted(wanted, value)))
                        shown = self._is_shown(self.apart[-1], reassociate=reassociate)
                    differing.append(f"{name}[{i}] is {value} instead of {_plain(wanted)}")
        counted = len(self.algebra.table)
        notes = tuple(dict.fromkeys(self.notes))
        if unwritten:
            more = f"{len(unwritten)} of {cells} cells of the result are"
            detail = f"{unwritten[0]} is not written, or computed from what is not; {more}"
            return Report("refuted", "", detail, "covered", counted, notes=notes)
        if differing:
            first, others = differing[0], f"{len(differing)} of {cells} cells differ"
            if shown:
                first, others = differing[-1], "the cells after it were not compared"
            detail = f"{first}; {others}"
            return Report("refuted", "", detail, "values", counted, notes=notes)
        return Report("shown", "", "", None, counted, reassociate, notes)

    def _is_shown(self, found: Apart, *, reassociate: bool) -> bool:
        """Whether it is certain here and now that a cell differs, so that no other need be compared."""
        return False

    def normal_form(self, *, reassociate: bool) -> Reassociation:
        """How values are compared: sums of whole numbers have no order, those of floats where they may be regrouped."""
        return Reassociation(self.algebra, floats=reassociate)

    def _lifted(self, wanted: Any, value: Any) -> tuple[Symbol, Symbol]:
        """Two values as symbols of one algebra."""
        known = self.domain.lifted(wanted)
        if isinstance(value, Symbol):
            return known, value
        return known, self.algebra.whole(int(value), known.type)

    def _same(self, wanted: Any, value: Any, normal: Reassociation) -> bool:
        if wanted is value:
            return True
        wanted = self.domain.lifted(wanted)
        if not isinstance(value, Symbol):
            value = (
                self.algebra.whole(int(value), wanted.type) if wanted.type not in FLOATS else value
            )
        if not isinstance(value, Symbol):
            return False
        if wanted.type == "bool":
            value = self.algebra.truth(value)
        if wanted is value:
            return True
        return wanted.type == value.type and normal(wanted) is normal(value)


def _plain(value: Any) -> Any:
    """A whole number as the kernel has it."""
    return value if isinstance(value, Symbol) else operator.index(int(value))


def integers_of(program: Program) -> set[str]:
    """The types of whole numbers that a program computes with."""
    types = {s for t in distinct(program.body) for s in types_within(t.type)}
    types |= {s for p in program.parameters for s in types_within(p.type)}
    return {t.name for t in types if isinstance(t, Scalar) and t.name in INTEGERS}
