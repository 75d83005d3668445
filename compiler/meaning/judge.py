"""A kernel's writes against the meaning of its program, cell by cell: in every case that its conditions make.

What is written at an index must be what the term is there; folds of few turns are written out where they stand
against what is not a fold.  Where two values differ in form, they are computed on numbers: if these differ the text
is refuted, by a work-item, a cell and both values.  Otherwise it is unknown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from relift.compiler.meaning.equality import Same
from relift.compiler.meaning.kernels.group import Group, Way, needs_group, prepared
from relift.compiler.meaning.kernels.memory import NotWrittenOut, Result, Write
from relift.compiler.meaning.kernels.tables import AsTable
from relift.compiler.meaning.numbers.algebra import Folding
from relift.compiler.meaning.numbers.arithmetic import Indices
from relift.compiler.meaning.numbers.domain import Values
from relift.compiler.meaning.numbers.polynomials import Index, NotConcrete, Whole
from relift.compiler.meaning.numbers.ranges import Ranges, Split, TooManyQuestions
from relift.compiler.meaning.programs.denotation import Denotation
from relift.compiler.meaning.programs.indexing import Cells
from relift.compiler.meaning.witness import Differs, witness
from relift.compiler.running.launch import Kernel, Launch
from relift.compiler.text.lexing import NotUnderstood
from relift.compiler.text.tree import Source
from relift.compiler.validation.machine import Fault, Undecided
from relift.compiler.validation.opaque import opaque_functions
from relift.compiler.validation.symbols import BITS, LIMIT, OPEN, DependsOnData, Symbol, TooLarge
from relift.semantics.errors import Undefined
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import Term
from relift.semantics.syntax.types import (
    Array,
    Scalar,
    Tuple,
    Type,
    TypeVariable,
    Vector,
    component_count,
)

Verdict: TypeAlias = Literal["validated", "refuted", "unknown"]

MOST_CASES = 96
"""Cases into which the conditions of a kernel may split it."""

_SHARING: tuple[Way, ...] = ("one and all", "all")
_APART: tuple[Way, ...] = ("one", "all")

_OPEN = (Undecided, TooLarge, DependsOnData, Undefined, TooManyQuestions, NotConcrete)
"""What leaves a case unknown."""

UNROLLS = (4, 40, 600)
"""Loops of so many turns are written out, on both sides: one after the other until the two sides meet."""


@dataclass(frozen=True)
class Stage:
    """What one kernel computes: a term over named arrays, and the buffers of its components."""

    kernel: Kernel
    body: Term
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class Finding:
    """What became of one kernel."""

    verdict: Verdict
    detail: str
    cells: int = 0
    cases: int = 0
    questions: int = 0
    symbols: int = 0
    notes: tuple[str, ...] = ()
    strays: tuple[str, ...] = ()
    """Reads at indices from data that are not known to be in their arrays."""


@dataclass
class Judge:
    """One kernel and its stage; `inputs` are the arrays that it may read, by name, with their buffers."""

    source: Source
    launch: Launch
    stage: Stage
    inputs: Mapping[str, tuple[Type, tuple[str, ...]]]
    indices: Mapping[str, Size]
    program: Term
    limit: int = LIMIT
    notes: list[str] = field(default_factory=list)

    @property
    def filled(self) -> list[str]:
        """The outputs that have cells, which the kernel must write."""
        empty = {b.name for b in self.launch.buffers if b.cells == 0}
        return [name for name in self.stage.outputs if name not in empty]

    def finding(self) -> Finding:
        """What is found, in the first way of writing out loops in which the two sides meet."""
        found = Finding("unknown", "nothing was tried")
        text = next((k for k in self.source.kernels if k.name == self.stage.kernel.name), None)
        shares = text is not None and needs_group(text)
        for unroll in UNROLLS:
            for way in _SHARING if shares else _APART:
                now = self._all_cases(unroll, way)
                if now.verdict != "unknown":
                    return now
                if found.detail == "nothing was tried" or "instead of" in now.detail:
                    found = now
        return found

    def _all_cases(self, unroll: int, way: Way, *, splits: bool = True) -> Finding:
        """What is found in all cases; before there are several, both sides may have what splits them as a condition."""
        written_out: frozenset[int] = frozenset()
        tables: frozenset[str] = frozenset()
        waiting: list[tuple[tuple[Any, int], ...]] = [()]
        cells = cases = questions = symbols = 0
        strays: list[str] = []
        written: set[str] = set()
        tried = False
        while waiting:
            facts = waiting.pop()
            case: _Case | None = None
            try:
                case = _Case(self, unroll, way, written_out, tables, facts, splits=splits)
                case.run()
            except Split as split:
                if splits and not facts and not tried:
                    tried = True
                    kept = self._all_cases(unroll, way, splits=False)
                    if kept.verdict != "unknown":
                        return kept
                if cases + len(waiting) > MOST_CASES:
                    return Finding("unknown", f"more than {MOST_CASES} cases: {split}")
                number = _portable(split.number)
                waiting += [(*facts, (number, 1)), (*facts, (number, -1))]
                continue
            except (AsTable, NotWrittenOut) as error:
                assert case is not None, "cannot happen: nothing was run"
                found = case.otherwise(error, tables, written_out)
                if found is None:
                    return Finding("unknown", str(error))
                tables, written_out = found
                waiting, cells, cases = [()], 0, 0
                continue
            except Differs as error:
                assert case is not None, "cannot happen: nothing was run"
                shown = witness(case.algebra, error, case.lengths())
                if shown is not None:
                    return Finding("refuted", shown)
                return Finding("unknown", str(error))
            except Fault as fault:
                # without cases, what a condition keeps from being read is looked at as well
                return Finding("refuted" if splits else "unknown", fault.detail)
            except _OPEN as error:
                return Finding("unknown", str(error))
            except NotUnderstood as error:
                return Finding("unknown", f"the text has {error}, which is not understood")
            except RecursionError:
                return Finding("unknown", "what is computed is nested too deeply")
            cells += case.cells
            cases += 1
            questions += case.ranges.asked
            symbols += len(case.algebra.table)
            strays += case.group.strays
            written |= case.written
        # certificates say of each array that is written that all of it is, and nothing of others
        if missing := [name for name in self.filled if name not in written]:
            return Finding("refuted", f"{missing[0]} is not written")
        notes = tuple(dict.fromkeys(self.notes))
        return Finding("validated", "", cells, cases, questions, symbols, notes, tuple(strays))


class _Case:
    """One run, under some facts."""

    def __init__(
        self,
        judge: Judge,
        unroll: int,
        way: Way,
        written_out: frozenset[int],
        tables: frozenset[str],
        facts: Sequence[Any],
        *,
        splits: bool,
    ) -> None:
        self.judge, self.unroll, self.facts = judge, unroll, facts
        self.ranges = Ranges()
        self.ranges.splits = splits
        self.algebra = Folding(self.ranges, judge.limit)
        self.arithmetic = Indices(self.algebra, 0)
        self.values = Values(self.algebra, self.arithmetic)
        self.sizes = prepared(self.algebra, judge.launch, judge.stage.kernel)
        self.cells = 0
        self.written: set[str] = set()
        opaque, notes = opaque_functions(
            judge.source, judge.program, self.algebra, self.values.lifted
        )
        judge.notes += notes
        self.group = Group(
            self.algebra, self.arithmetic, judge.source, judge.launch, judge.stage.kernel,
            self.sizes, unroll, written_out, way, tables, opaque,
        )  # fmt: skip
        for _ in range(2):  # the second time with all ranges that facts narrow
            self.group.grid()
            for number, sign in facts:
                here = _here(number, self.ranges)
                n = here if sign > 0 else -1 - here
                if isinstance(n, Index) and not self.ranges.nonnegative(n):
                    self.ranges.assume(n)

    def otherwise(
        self, error: AsTable | NotWrittenOut, tables: frozenset[str], written_out: frozenset[int]
    ) -> tuple[frozenset[str], frozenset[int]] | None:
        """The arrays to be kept as tables and the loops to be written out, where it is to be run again."""
        if isinstance(error, AsTable):
            return None if error.name in tables else (tables | {error.name}, frozenset())
        loops = map(self.group.loops.by_atom.get, error.atoms)
        more = {number for number in loops if number is not None} - written_out
        return (tables, written_out | more) if more else None

    def lengths(self) -> dict[str, Whole]:
        """How many cells every array has that the kernel may read."""
        given = {name for _, names in self.judge.inputs.values() for name in names}
        return {
            b.name: self.group.size(b.cells) for b in self.judge.launch.buffers if b.name in given
        }

    def run(self) -> None:
        """Run the kernel, and compare what it writes; raises what is found."""
        buffers: dict[str, Callable[[Whole], Any]] = {}
        inputs: dict[str, Any] = {}
        for name, (t, names) in self.judge.inputs.items():
            inputs[name] = self._given(t, list(names), 0, buffers, name)
        outputs = {
            name: Result(name, self.algebra, self.group.loops.inside, self.group.loops.table)
            for name in self.judge.stage.outputs
        }

        def at(name: str) -> Callable[[Whole], Any]:
            if name not in buffers:
                raise Undecided(f"{name} is read before it is written")
            return buffers[name]

        self.group.run(at, outputs)
        term = Denotation(self.algebra, self.values, inputs, self.sizes, self.unroll)
        meaning = term.of(self.judge.stage.body, {})
        self.written = {name for name, result in outputs.items() if result.writes}
        for component, name in enumerate(self.judge.stage.outputs):
            shape, scalar, look = _component(self.judge.stage.body.type, component, term)
            for w in outputs[name].last():
                wanted = look(meaning, self._unflattened(w.place, shape))
                self._compare(f"{name}[{w.place}]", wanted, w, scalar)
                self.cells += 1

    def _given(
        self, t: Type, names: list[str], place: Whole, buffers: dict[str, Any], of: str
    ) -> Any:
        """The cells of an array as functions of indices, and what its buffers hold."""
        match t:
            case Array(element, n) | Vector(element, n):
                count = self.group.size(n)
                if not isinstance(place, Index) and place == 0:
                    self._given(element, names, 0, buffers, of)
                return Cells(
                    count, lambda i: self._given(element, names, place * count + i, {}, of)
                )
            case Tuple(parts):
                found, at = [], 0
                for part in parts:
                    width = component_count(part)
                    found.append(self._given(part, names[at : at + width], place, buffers, of))
                    at += width
                return tuple(found)
            case Scalar(kind):
                own = "bool" if kind == "boolean" else kind
                name = names[0]
                bound = self.judge.indices.get(of)
                if bound is not None and own in BITS:
                    self.algebra.ends[name] = (0, self.group.size(bound) - 1)

                def at_place(i: Whole) -> Any:
                    return self.algebra.cell_at(name, i, own)

                buffers[name] = at_place
                return at_place(place)
            case TypeVariable():
                raise AssertionError(f"cannot happen: a value of type {t}")

    def _unflattened(self, place: Whole, shape: Sequence[Whole]) -> list[Whole]:
        found: list[Whole] = []
        rest = place
        for d in range(len(shape) - 1):
            below: Whole = math.prod(shape[d + 1 :], start=1)
            q, rest = self.ranges.quotient(rest, below)
            found.append(q)
        return [*found, rest] if shape else []

    def _compare(self, where: str, wanted: Any, w: Write, scalar: Scalar) -> None:
        if wanted is OPEN:
            return
        kind = "bool" if scalar.name == "boolean" else scalar.name
        want = (
            self.values.lifted(wanted)
            if not isinstance(wanted, Index)
            else self.algebra.whole(wanted, kind)
        )
        have = w.value
        if not isinstance(have, Symbol):
            have = self.algebra.whole(have, kind)
        if kind == "bool":
            have = self.algebra.truth(have)
        if have is OPEN or not Same(self.algebra)(want, have):
            raise Differs(where, want, have, w)


def _component(
    t: Type, c: int, term: Denotation
) -> tuple[list[Whole], Scalar, Callable[[Any, Sequence[Whole]], Any]]:
    """The shape of component c of a value, its scalar, and how to look at a cell of it."""
    match t:
        case Array(element, n) | Vector(element, n):
            shape, scalar, look = _component(element, c, term)
            return [term.size(n), *shape], scalar, lambda v, i: look(v(i[0]), i[1:])
        case Tuple(parts):
            for j, part in enumerate(parts):
                if c < component_count(part):
                    shape, scalar, look = _component(part, c, term)
                    return shape, scalar, lambda v, i, j=j, look=look: look(v[j], i)
                c -= component_count(part)
            raise AssertionError("cannot happen: there is no such component")
        case Scalar():
            return [], t, lambda v, i: v
        case TypeVariable():
            raise AssertionError(f"cannot happen: a value of type {t}")


def _portable(x: Any) -> Any:
    """A number without its ranges, to be made again in another run."""
    if not isinstance(x, Index):
        return x
    return tuple(
        (c, tuple((a.kind, a.name, tuple(map(_portable, a.args))) for a in m))
        for m, c in x.terms.items()
    )


def _here(x: Any, ranges: Ranges) -> Whole:
    """The number in these ranges."""
    if isinstance(x, int):
        return x
    total: Whole = 0
    for c, m in x:
        part: Whole = c
        for kind, name, args in m:
            if kind in ("div", "mod", "min", "max"):
                u, v = (_here(a, ranges) for a in args)
                value = (
                    ranges.quotient(u, v)[kind == "mod"]
                    if kind in ("div", "mod")
                    else ranges.extreme(kind, u, v)
                )
            else:
                value = _value(ranges, kind, name)
            part = part * value
        total = total + part
    return total


def _value(ranges: Ranges, kind: Any, name: str) -> Whole:
    atom = ranges.atom(kind, name)
    low = ranges.low.get(atom)
    if low is not None and low == ranges.high.get(atom):
        return low
    return Index({(atom,): 1}, ranges)
