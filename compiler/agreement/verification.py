"""Agreement: a kernel's result against the interpreter's and against NumPy's.

Two comparisons complement each other.  At the sizes of a run the result is compared with a NumPy function,
within the rounding that a reordered sum may have.  At small sizes the same derivation is done again, every
intermediate program is run by the interpreter, and the kernel of the last one must agree to the last bit,
on whole numbers small enough that floating point computes with them exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from relift.compiler.agreement.comparison import Agreement, agreed, compared, in_reach, rounding
from relift.compiler.agreement.own_sizes import at_own_sizes
from relift.compiler.agreement.sampled import sampled
from relift.compiler.agreement.small_sizes import STEPS, everywhere, small_cases
from relift.compiler.running.compiled import Compiled
from relift.rewrites.derivation.confirmation import Confirmation, confirm
from relift.rewrites.derivation.steps import BrokenDerivation, Derivation
from relift.rewrites.library import RULES
from relift.semantics.errors import ReliftError, Unsupported
from relift.semantics.language.programs import Program


def check_run(
    program: Program, arrays: Sequence[Any], result: Any, source: Program
) -> list[Agreement]:
    """The result of a run at full size against NumPy and, where it can reach, the interpreter.

    `program` carries the NumPy function; `source` is the program at the sizes of the run.
    """
    found: list[Agreement] = []
    tolerance = rounding(source)
    if program.reference is not None:
        expected = program.reference(*arrays)
        found.append(compared("NumPy at full size", result, expected, tolerance))
    if in_reach(source):
        expected = source(*arrays)
        found.append(compared("the interpreter at full size", result, expected, tolerance))
    else:
        against = "cells of the interpreter at full size"
        cells = sampled(against, source, arrays, result, whole=False)
        if not cells.known and program.reference is not None:
            cells = replace(cells, detail="none is within its reach; NumPy judges all of them")
        found.append(cells)
    return found


def steps_agree(derivation: Derivation) -> Agreement:
    """Every program of a derivation by the interpreter: those recorded where it reaches them, else at small sizes."""
    return steps_confirmed(derivation)[0]


def steps_confirmed(derivation: Derivation) -> tuple[Agreement, Confirmation | None]:
    """The same, with the programs that were run."""
    try:
        found = confirm(derivation, RULES)
    except BrokenDerivation as error:
        return Agreement(STEPS, False, error.message), None
    except Unsupported as error:
        return Agreement(STEPS, False, error.message, known=False), None
    if found is None:
        none = "no sizes and inputs were found at which it could run them"
        return Agreement(STEPS, False, none, known=False, beyond=True), None
    at = ", ".join(f"{name}={value}" for name, value in found.sizes.items()) or "their sizes"
    again = "" if found.recorded else ", derived again"
    return Agreement(STEPS, True, f"{len(found.terms)} programs at {at}{again}"), found


def failure_on_symbols(derivation: Derivation) -> str | None:
    """Why a candidate need not be timed: at small sizes, the text of its kernels is wrong; None if nothing says so."""
    try:
        found = small_cases(derivation, 1)
    except ReliftError:
        return None  # at small sizes it is refused; at its own it is compiled and compared
    small = found if isinstance(found, Agreement) else found[0]
    if isinstance(small, Agreement):
        return small.detail if small.refuted else None
    report = small.validated()
    wrong = f"its kernels are wrong at {small.at}: {report.detail}"
    return wrong if report.verdict == "refuted" else None


def check_derivation(derivation: Derivation, device: str) -> Agreement:
    """Every program of a derivation by the interpreter, the last also as a kernel, at small sizes."""
    steps = steps_agree(derivation)
    if not steps.ok:
        return steps
    found = small_cases(derivation, 1)
    if isinstance(found, Agreement):
        return found if found.refuted else replace(steps, detail=f"{steps.detail}; {found.detail}")
    small = found[0]
    result = small.kernel(*small.arrays, device=device)
    kernel = agreed("the interpreter", small.source, result, small.expected)
    detail = f"{steps.detail}, and the kernel at {small.at}: {kernel.detail}"
    return Agreement(STEPS, kernel.ok, detail)


def differential(
    kernel: Compiled,
    derivation: Derivation,
    program: Program,
    devices: Sequence[str],
    report: Callable[[str], None],
) -> list[Agreement]:
    """A candidate against the interpreter: its steps, its kernels at small sizes everywhere, and at its own sizes.

    `program` may bring a NumPy function for its own sizes.  The race checker runs the same kernels; where it is not installed, that is said and
    counts as agreement of nothing, not as a failure.
    """
    steps = steps_agree(derivation)
    if not steps.ok:
        return [steps]
    found = small_cases(derivation)
    small = [found] if isinstance(found, Agreement) else [*everywhere(found, devices, report)]
    checks = [steps, *small]
    if any(check.refuted for check in checks):  # what is wrong already is not run at large
        return checks
    own = at_own_sizes(kernel, derivation.program, devices, report, program.reference)
    return [*checks, *own]
