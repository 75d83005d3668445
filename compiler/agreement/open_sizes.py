"""Agreement of kernels whose sizes are open: at the least sizes, at odd ones, and at some that are drawn.

What is wrong at one size only is wrong: a loop without a turn, a group that is not full, an array of no elements.
At each choice the interpreter, the text of the kernels on symbols and the kernels on every device are compared;
the race checker, which is slow, sees the least sizes and the first ones that leave a group partly empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from relift.compiler.agreement.comparison import Agreement, agreed
from relift.compiler.agreement.inputs import whole_inputs
from relift.compiler.agreement.simulator import NotAvailable, race_check
from relift.compiler.agreement.small_sizes import AGAINST_TEXT, not_simulated
from relift.compiler.running.compiled import Compiled
from relift.compiler.running.launch import Launch
from relift.compiler.validation.evidence import ENOUGH
from relift.compiler.validation.symbols import LIMIT
from relift.compiler.validation.validate import Report, validate
from relift.rewrites.derivation.confirmation import work
from relift.semantics.errors import Refuted, Undefined
from relift.semantics.language.programs import Program

ODD = (3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41)
"""What sizes are where nothing else is asked of them: no two alike, and no tile and no group fits them."""

DRAWN = (6, 20, 60)
"""A choice is drawn for each: its sizes are so much more than the least at most."""

ONE_BY_ONE = 4
"""So many sizes have their edges tried each by itself; of the others only together."""

EFFORT = 150_000
"""Cells and calls of the interpreter (see `work`) at one choice of sizes; larger choices are left out."""

SHOWN = 8
"""Choices that a line names."""

SIMULATED = 2
"""Choices that the race checker sees."""


@dataclass(frozen=True)
class Case:
    """A program at one choice of its sizes, and what the interpreter says on whole numbers."""

    at: str
    sizes: Mapping[str, int]
    program: Program
    arrays: tuple[Any, ...]
    expected: Any


def choices(
    least: Mapping[str, int], groups: Sequence[int] = (), seed: int = 0
) -> Iterator[dict[str, int]]:
    """Choices of sizes, no two alike: odd ones, the edges together and one by one, beside a group, drawn.

    >>> from relift.compiler.agreement.open_sizes import choices
    >>> [c["n"] for c in choices({"n": 0}, [64])][:6]
    [3, 0, 1, 2, 63, 65]
    """
    seen: list[dict[str, int]] = []
    for found in _choices(dict(least), groups, Random(seed)):
        if found not in seen:
            seen.append(found)
            yield found


def _choices(
    least: dict[str, int], groups: Sequence[int], random: Random
) -> Iterator[dict[str, int]]:
    odd = _distinct(least, ODD)
    yield odd
    for more in range(3):
        yield {name: low + more for name, low in least.items()}
    for name in list(least)[:ONE_BY_ONE]:
        for value in (least[name], least[name] + 1):
            yield odd | {name: value}
    for group in groups:
        for name in list(least)[:ONE_BY_ONE]:
            for value in (group - 1, group + 1) if len(least) == 1 else (group + 1,):
                yield odd | {name: max(value, least[name])}
    for most in DRAWN if least else ():
        yield {name: low + random.randint(0, most) for name, low in least.items()}


def _distinct(least: Mapping[str, int], values: Sequence[int]) -> dict[str, int]:
    """The first of the values for each name that is not below the least, and not another's."""
    found: dict[str, int] = {}
    for name, low in least.items():
        options = [v for v in values if v >= low and v not in found.values()]
        found[name] = options[0] if options else low + 1
    return found


def cases(
    program: Program, plan: Launch, given: Mapping[str, int], effort: int = EFFORT
) -> list[Case]:
    """The program at choices of the sizes that are not given, as far as it has a value there.

    Sizes at which the program is undefined are left out.  So are those whose work is too much, but for the least
    one where all are.
    """
    least = {n: low for n, low in program.least_sizes.items() if n not in given}
    groups = sorted({n for kernel in plan.kernels for n in kernel.local if n > 1})
    typed: list[tuple[int, dict[str, int], Program]] = []
    for chosen in choices(least, groups):
        sizes = {**given, **chosen}
        here = program.at(sizes)
        typed.append((work(here.body), sizes, here))
    limit = max(effort, min((cost for cost, _, _ in typed), default=0))
    found = (_case(sizes, here) for cost, sizes, here in typed if cost <= limit)
    return [case for case in found if case is not None]


def _case(sizes: Mapping[str, int], program: Program) -> Case | None:
    """What the interpreter says of a program at its sizes; None where it has no value."""
    at = ", ".join(f"{name}={value}" for name, value in sizes.items()) or "its sizes"
    try:
        arrays = whole_inputs(program, seed=sum(sizes.values()))
        return Case(at, sizes, program, arrays, program(*arrays))
    except Undefined:
        return None


def differential_at(
    program: Program,
    kernel: Compiled,
    sizes: Mapping[str, int],
    devices: Sequence[str],
    report: Callable[[str], None],
) -> list[Agreement]:
    """A low-level program, its text on symbols, its kernels on each device and on the race checker.

    Sizes that are not given are open, and several choices of them are compared; one agreement for each
    way of running, of all choices.
    """
    program.at(sizes, partly=True)  # a size that it does not have is the user's mistake
    found = cases(program, kernel.plan, sizes)
    if not found:
        detail = "at none of the sizes that were tried it has a value; give others with --size"
        return [Agreement("the interpreter", False, detail, known=False)]
    report("symbols")
    agreements = [_on_symbols(kernel, found)]
    for device in devices:
        report(device)
        agreements.append(_on_device(kernel, found, device))
    report("race checker")
    return [*agreements, _simulated(kernel, found)]


def _all(choices: Sequence[str]) -> str:
    """Some choices of sizes, and how many more there are."""
    more = len(choices) - SHOWN
    return "; ".join(choices[:SHOWN]) + (f" and {more} more choices" if more > 0 else "")


def _open(kernel: Compiled, case: Case) -> dict[str, int]:
    """The sizes of a case that are open in the kernel."""
    return {name: case.sizes[name] for name in kernel.plan.sizes if name in case.sizes}


def _on_symbols(kernel: Compiled, found: Sequence[Case]) -> Agreement:
    limit = ENOUGH if len(found) > 1 else LIMIT
    shown: list[Report] = []
    for case in found:
        open_ = _open(kernel, case)
        own = validate(kernel.source, kernel.plan, case.program, open_, limit=limit)
        one = replace(own, sizes=case.at)
        if one.verdict == "refuted":
            return Agreement(AGAINST_TEXT, False, one.text())
        if not one.too_large or len(found) == 1:
            shown.append(one)
    unknown = [one for one in shown if not one.ok]
    if unknown or not shown:
        detail = unknown[0].text() if unknown else "too large at all sizes that were tried"
        return Agreement(AGAINST_TEXT, False, detail, known=False)
    notes = tuple(dict.fromkeys(note for one in shown for note in one.notes))
    together = replace(shown[0], sizes=_all([one.sizes for one in shown]), notes=notes)
    return Agreement(AGAINST_TEXT, True, together.text())


def _on_device(kernel: Compiled, found: Sequence[Case], device: str) -> Agreement:
    against = f"the interpreter (kernel on {device})"
    said: list[str] = []
    for case in found:
        try:
            result = kernel(*case.arrays, device=device, sizes=_open(kernel, case))
        except Refuted as error:
            return Agreement(against, False, error.message)
        one = agreed(against, case.program, result, case.expected)
        if not one.ok:
            return replace(one, detail=f"at {case.at}: {one.detail}")
        said.append(one.detail)
    at = _all([case.at for case in found])
    how = (
        said[0] if len(set(said)) == 1 else f"within the rounding of floats, at the last {said[-1]}"
    )
    return Agreement(against, True, f"{how}, at {at}")


def _simulated(kernel: Compiled, found: Sequence[Case]) -> Agreement:
    against = "the race checker"
    for case in _for_the_simulator(kernel.plan, found):
        races = race_check(kernel, case.arrays, sizes=_open(kernel, case))
        if isinstance(races, NotAvailable):
            return not_simulated(races)
        if races:
            return Agreement(against, False, f"at {case.at}: {'; '.join(races)}")
    at = "; ".join(case.at for case in _for_the_simulator(kernel.plan, found))
    return Agreement(against, True, f"no race, no stray access at {at}")


def _for_the_simulator(plan: Launch, found: Sequence[Case]) -> list[Case]:
    """The first case, and the one with the least sizes."""
    least = min(found, key=lambda case: sum(case.sizes.values()))
    return [found[0], *([least] if least is not found[0] else [])][:SIMULATED]
