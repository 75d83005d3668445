"""What each level of Relift makes of a case: the interpreter, what is found for a CPU and for a GPU, the low-level schedule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from proofs_tests.conformance.cases import CASES, Case
from relift.compiler.agreement.comparison import compared, rounding
from relift.compiler.agreement.inputs import whole_inputs
from relift.compiler.program import compile_program, refusal
from relift.device import CPU, GPU
from relift.egraph.search.optimize import optimize
from relift.semantics.errors import ReliftError
from relift.semantics.language.programs import Program

Level: TypeAlias = Literal["interpreter", "found", "found for a GPU", "low-level"]
LEVELS: tuple[Level, ...] = ("interpreter", "found", "found for a GPU", "low-level")


@dataclass(frozen=True)
class Outcome:
    """Whether a level agrees with the one it is compared with, or why it says nothing; None where it has none."""

    level: Level
    ok: bool | None
    detail: str


def run(case: Case, level: Level) -> Outcome:
    """One level of a case: the interpreter against NumPy, kernels against the interpreter.

    What is found for a GPU runs where everything does: its groups, barriers and local memory are right on any device or on none.
    """
    source = case.program.at(case.sizes)
    inputs = _inputs(case, source)
    try:
        match level:
            case "interpreter":
                return _judged(level, source, source(*inputs), case.expected(*inputs))
            case "found" | "found for a GPU":
                searched_for = CPU if level == "found" else GPU
                found = optimize(case.program, case.sizes, searched_for, refused=refusal)
                return _by_kernel(level, source, found.term, inputs)
            case "low-level":
                if case.low is None:
                    return Outcome(level, None, "")
                return _by_kernel(level, source, case.low.at(case.sizes), inputs)
    except ReliftError as error:
        return Outcome(level, False, error.message)


def _inputs(case: Case, source: Program) -> tuple[Any, ...]:
    if case.draws is not None:
        return case.draws(np.random.default_rng(1))
    return whole_inputs(source, 1)


def _by_kernel(level: Level, source: Program, low: Program, inputs: tuple[Any, ...]) -> Outcome:
    return _judged(level, source, compile_program(low)(*inputs), source(*inputs))


def _judged(level: Level, source: Program, result: Any, expected: Any) -> Outcome:
    """Whether results agree: whole numbers and exact sums to the last bit, other floats within their rounding."""
    pairs = list(zip(_flat(result), _flat(expected), strict=True))
    tolerance = max(rounding(source), 1e-5)
    for got, wanted in pairs:
        agreement = compared(
            level, got, np.asarray(wanted).astype(np.asarray(got).dtype), tolerance
        )
        if not agreement.ok:
            return Outcome(level, False, agreement.detail)
    return Outcome(level, True, "")


def _flat(value: Any) -> list[Any]:
    """The arrays of a result, one after the other; of an array of pairs, those of its parts."""
    if isinstance(value, tuple):
        return [array for part in value for array in _flat(part)]
    array = np.asarray(value)
    if array.dtype.names:
        return [array[name] for name in array.dtype.names]
    return [array]


def table(outcomes: dict[str, list[Outcome]]) -> str:
    """A line for each case with the levels that pass, and for one that does not, why; then how many do."""
    lines: list[str] = []
    for name, found in outcomes.items():
        case = CASES[name]
        marks = {True: "ok", False: "NO", None: "-"}
        cells = "  ".join(f"{marks[each.ok]:2}" for each in found)
        lines.append(f"{case.number:>4} {cells}  {case.title}")
        lines += [f"       {each.level}: {each.detail}" for each in found if each.ok is False]
    for place, level in enumerate(LEVELS):
        said = [found[place].ok for found in outcomes.values() if len(found) > place]
        lines.append(f"{level}: {said.count(True)} of {len(said) - said.count(None)} pass")
    return "\n".join(lines)
