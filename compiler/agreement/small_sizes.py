"""Agreement at small sizes: a derivation done again there, its programs, the text of its kernels, and the kernels.

The kernel of a candidate is made for its own sizes, which the interpreter often does not reach.  At sizes as small
as the steps allow the same derivation gives other texts, and what is wrong with one of them is wrong with the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from relift.compiler.agreement.comparison import Agreement, agreed
from relift.compiler.agreement.inputs import whole_inputs
from relift.compiler.agreement.simulator import NotAvailable, race_check
from relift.compiler.meaning.witness import on_inputs
from relift.compiler.program import compile_program
from relift.compiler.running.compiled import Compiled
from relift.compiler.validation.validate import Report, validate
from relift.rewrites.derivation.confirmation import Confirmation, confirm, small_confirmations
from relift.rewrites.derivation.steps import BrokenDerivation, Derivation
from relift.rewrites.library import RULES
from relift.semantics.errors import Refuted, ReliftError
from relift.semantics.language.programs import Program
from relift.semantics.syntax.binding import tidy

STEPS = "the interpreter, step by step"

AGAINST_TEXT = "the interpreter (text of the kernel, on symbols)"

COUNT = 3
"""At so many sizes a candidate is compared."""

SIMULATED = 2
"""Of these, so many are seen by the race checker, which is slow."""

REACH = 100_000
"""Cells and calls of programs, all together, that are run as they are where they have no smaller sizes."""


@dataclass(frozen=True)
class SmallCase:
    """A program at small sizes, its kernel, and what the interpreter says on inputs of whole numbers."""

    at: str
    source: Program
    kernel: Compiled
    arrays: tuple[Any, ...]
    expected: Any
    low: Program

    def validated(self) -> Report:
        """The text of the kernel against the low-level program, on symbols."""
        return validate(self.kernel.source, self.kernel.plan, self.low, witness=on_inputs)


def small_cases(derivation: Derivation, count: int = COUNT) -> list[SmallCase] | Agreement:
    """The derivation at small sizes, or as it is where there are none; or what speaks against it."""
    try:
        small = small_confirmations(derivation, RULES, count)
        if not small and (own := confirm(derivation, RULES, reach=REACH)) is not None:
            small = [own]
    except BrokenDerivation as error:
        return Agreement(STEPS, False, error.message)
    if not small:
        none = "no small sizes were found at which every step applies"
        return Agreement("the interpreter (kernels)", False, none, known=False)
    first, *others = small
    found = [case_at(derivation, first)]
    for one in others:
        try:
            found.append(case_at(derivation, one))
        except ReliftError:
            continue  # refused at these sizes, as a group may be too small
    return found


def case_at(derivation: Derivation, small: Confirmation) -> SmallCase:
    """A derivation at small sizes, with its kernel."""
    at = ", ".join(f"{name}={value}" for name, value in small.sizes.items()) or "its sizes"
    source = derivation.origin.at(small.sizes)
    low = Program(source.name, source.parameters, tidy(small.terms[-1]))
    arrays = whole_inputs(source, seed=sum(small.sizes.values()))
    kernel = compile_program(low, contract=derivation.policy != "exact")
    return SmallCase(at, source, kernel, arrays, source(*arrays), low)


def everywhere(
    found: Sequence[SmallCase], devices: Sequence[str], report: Callable[[str], None]
) -> Iterator[Agreement]:
    """The texts of the kernels on symbols, and the kernels on each device and on the race checker."""
    report("symbols")
    yield _on_symbols(found)
    for device in devices:
        report(device)
        yield _on_device(found, device)
    report("race checker")
    yield _simulated(found[:SIMULATED])


def _all(found: Sequence[SmallCase]) -> str:
    return "; ".join(one.at for one in found)


def _on_symbols(found: Sequence[SmallCase]) -> Agreement:
    reports = [(one, one.validated()) for one in found]
    failed = [pair for pair in reports if not pair[1].ok]
    failed.sort(key=lambda pair: pair[1].verdict != "refuted")
    for one, report in failed:
        known = report.verdict == "refuted"
        return Agreement(AGAINST_TEXT, False, f"at {one.at}: {report.text()}", known=known)
    return Agreement(AGAINST_TEXT, True, f"at {_all(found)}: {reports[0][1].text()}")


def _on_device(found: Sequence[SmallCase], device: str) -> Agreement:
    against = f"the interpreter (kernel on {device})"
    said: list[str] = []
    for one in found:
        try:
            result = one.kernel(*one.arrays, device=device)
        except Refuted as error:
            return Agreement(against, False, f"at {one.at}: {error.message}")
        compared = agreed(against, one.source, result, one.expected)
        if not compared.ok:
            return Agreement(against, False, f"at {one.at}: {compared.detail}")
        said.append(compared.detail)
    how = "; ".join(dict.fromkeys(said))
    return Agreement(against, True, f"{how}, at {_all(found)}")


def _simulated(found: Sequence[SmallCase]) -> Agreement:
    against = "the race checker"
    for one in found:
        races = race_check(one.kernel, one.arrays)
        if isinstance(races, NotAvailable):
            return not_simulated(races)
        if races:
            return Agreement(against, False, f"at {one.at}: {'; '.join(races)}")
    return Agreement(against, True, f"no race, no stray access at {_all(found)}")


def not_simulated(found: NotAvailable) -> Agreement:
    """Without a simulator that is said; a simulator that did not finish has decided nothing."""
    if not found.installed:
        return Agreement("the race checker", True, f"SKIPPED: {found.reason}")
    return Agreement("the race checker", False, found.reason, known=False)
