"""Two values that differ in form, computed on numbers: a work-item, a cell and both values, where these differ."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from relift.compiler.meaning.computed import (
    DRAWN,
    EFFORT,
    Above,
    Below,
    Edges,
    Exhausted,
    Falling,
    Few,
    GivenUp,
    Machine,
    Rare,
    Rising,
    Rough,
    Zeros,
    unrounded,
)
from relift.compiler.meaning.folds_in_python import FoldInPython
from relift.compiler.meaning.kernels.memory import Write
from relift.compiler.meaning.numbers.algebra import Folding
from relift.compiler.meaning.numbers.polynomials import Atom, Index, Whole
from relift.compiler.meaning.shown import shown
from relift.compiler.validation.symbols import OPEN, Symbol
from relift.compiler.validation.validate import Apart, Report

CHOICES = 12
"""Choices of numbers of groups, turns and sizes that are tried."""

ALL_EFFORT = 4 * EFFORT
"""Operations for all choices of numbers together."""

MOST_EXHAUSTED = 2
"""So many choices may take more than that; where two do, folds are too long at all of them."""

LARGEST = 67
"""Open sizes are tried up to so many more than their least."""


class Differs(Exception):
    """A written cell is not what it should be."""

    def __init__(self, where: str, wanted: Any, found: Any, w: Write) -> None:
        super().__init__(f"{where} is {found} instead of {wanted}")
        self.where, self.wanted, self.found, self.written = where, wanted, found, w


def witness(algebra: Folding, found: Differs, cells: Mapping[str, Whole]) -> str | None:
    """What shows that a text is wrong: None where no numbers were found at which the two values differ.

    `cells` says how many each input has: a program that reads beyond them means nothing, and shows nothing.
    """
    generator, exhausted = random.Random(0), 0
    kinds = (Machine, Falling, Rising, Few, Edges, Rare, Zeros, Above, Below)
    made: dict[Symbol, FoldInPython | None] = {}
    left: float = ALL_EFFORT
    for attempt, kind in itertools.product(range(CHOICES), kinds):
        numbers = _numbers(algebra, found, attempt, generator)
        if numbers is None:
            continue
        if left < 0:
            return None
        machine = kind(numbers, EFFORT)
        machine.made = made
        try:
            if not _in_case(algebra, machine):
                continue
            machine.cells = cells
            wanted = machine.value(found.wanted)
            machine.cells = {}
            value = None if found.found is OPEN else machine.value(found.found)
            place = machine.whole(found.written.place)
            item = [machine.whole(n) for n in found.written.it.gid]
        except Exhausted:
            exhausted += 1
            if exhausted == MOST_EXHAUSTED:
                return None
            continue
        except (GivenUp, RecursionError):
            continue
        finally:
            left -= EFFORT - machine.left
        if value is None or not same_number(wanted, value):
            while len(item) > 1 and item[-1] == 0:
                item.pop()
            who = item[0] if len(item) == 1 else tuple(item)
            name = found.where.partition("[")[0]
            said = "nothing that was written" if value is None else value
            at = "".join(
                f", {a.name} = {n}"
                for a, n in numbers.items()
                if a.kind == "size" and "_" not in a.name
            )
            return f"{name}[{place}] is {said} instead of {wanted}: work-item {who} writes {_short(found.found)} instead of {_short(found.wanted)}{at}"
    return None


def _short(x: Any) -> str:
    return shown(x)


def on_inputs(
    report: Report,
    apart: Sequence[Apart],
    drawn: Mapping[str, type[Machine]] = DRAWN,
    *,
    regrouped: bool = False,
) -> Report:
    """A report of cells that differ in form, with the numbers at which one does; unknown where none does.

    `regrouped`: sums may be in another order, so that what rounding makes of them shows nothing.  `drawn` has the
    inputs that are tried, and who draws them.

    >>> from relift import f32, map_glb, program
    >>> from relift.compiler.meaning.witness import on_inputs
    >>> from relift.compiler.program import compile_program
    >>> from relift.compiler.validation.validate import validate
    >>> @program
    ... def double(x: f32[4]):
    ...     return map_glb(0)(lambda v: v + v, x)
    >>> k = compile_program(double)
    >>> for told in ("2.0f * v", "3.0f * v"):
    ...     print(validate(k.source.replace("v + v", told), k.plan, double, witness=on_inputs).verdict)
    unknown
    refuted
    """
    if report.verdict != "refuted" or report.fault != "values":
        return report
    for inputs, machine in drawn.items():
        for where, wanted, value in apart if not (regrouped and issubclass(machine, Rough)) else ():
            numbers = (differing if regrouped else _distinct)(wanted, value, machine)
            if numbers is not None:
                said = f"on {inputs}, {where} is {numbers[1]} instead of {numbers[0]}"
                return replace(report, detail=f"{report.detail}; {said}", inputs=inputs)
    said = f"{report.detail}; no input was found at which the numbers differ"
    return replace(report, verdict="unknown", detail=said)


def on_numbers(
    wanted: Symbol, found: Any, machine: type[Machine] | None = None
) -> tuple[Any, Any] | None:
    """Two values of inputs alone, computed on the inputs that `Machine.drawn` gives; None where they cannot be."""
    made = (machine or Machine)({}, EFFORT)
    try:
        return made.value(wanted), made.value(found)
    except (GivenUp, RecursionError):
        return None


def _distinct(wanted: Symbol, found: Any, machine: type[Machine]) -> tuple[Any, Any] | None:
    """Two values on such inputs, where they are not one to the last bit."""
    numbers = on_numbers(wanted, found, machine)
    return None if numbers is None or same_number(*numbers) else numbers


def differing(wanted: Symbol, found: Any, machine: type[Machine]) -> tuple[Any, Any] | None:
    """Two values on such inputs, where they differ by more than rounding makes of values that are one; else None.

    Where large parts of a sum take each other away, rounding may be all that is left: the values are computed again,
    hardly rounded.
    """
    numbers = on_numbers(wanted, found, machine)
    if numbers is None or near(*numbers):
        return None
    return None if rounded_apart(wanted, found, machine) else numbers


def rounded_apart(wanted: Symbol, found: Any, machine: type[Machine]) -> bool:
    """Whether two values that differ on such inputs are one where hardly anything is rounded."""
    if not isinstance(found, Symbol):
        return False
    exact = on_numbers(wanted, found, unrounded(machine))
    return exact is not None and near(*exact)


def same_number(x: Any, y: Any) -> bool:
    return bool(x == y or (np.isnan(x) and np.isnan(y)))


ROUNDED = 1e-5
"""What sums in another order may differ by, relatively: of few numbers of which most are whole."""


def near(x: Any, y: Any) -> bool:
    """Whether two numbers are one but for rounding, which makes no finite number infinite but where sums overflow.

    >>> import numpy as np
    >>> from relift.compiler.meaning.witness import near
    >>> near(np.float32(1.0), np.float32(1.000001)), near(np.float32(np.inf), np.float32(3.0))
    (True, False)
    """
    if same_number(x, y):
        return True
    if not isinstance(x, np.floating) or not (np.isfinite(x) and np.isfinite(y)):
        return False
    with np.errstate(all="ignore"):
        return bool(abs(x - y) <= ROUNDED * max(abs(x), abs(y)))


def _numbers(
    algebra: Folding, found: Differs, attempt: int, generator: random.Random
) -> dict[Atom, int] | None:
    """Numbers for all atoms, in their ranges and as the facts of the case say."""
    r = algebra.ranges
    chosen: dict[Atom, int] = {}
    machine = Machine(chosen, EFFORT)
    atoms = sorted(r.low, key=lambda a: ({"size": 0, "group": 1}.get(a.kind, 2), a.number))
    try:
        for a in atoms:
            if a.kind not in ("size", "group", "turn"):
                continue
            low = machine.whole(r.low[a])
            end = r.high.get(a)
            high = low + LARGEST if end is None else machine.whole(end)
            if end is not None and a.kind == "size":
                high = min(high, low + LARGEST)
            if high < low:
                return None
            chosen[a] = (
                (low, high, min(low + 1, high))[attempt]
                if attempt < 3
                else generator.randint(low, high)
            )
        known = [fact for fact in r.facts if not _by_data(fact)]
        if any(machine.whole(fact) < 0 for fact in known):
            return None
    except GivenUp:
        return None
    return chosen


def _in_case(algebra: Folding, machine: Machine) -> bool:
    """Whether the data of a machine are as the facts of the case say."""
    r = algebra.ranges
    if any(machine.whole(fact) < 0 for fact in r.facts):
        return False
    for ends, sign in ((r.low, 1), (r.high, -1)):
        for atom, end in ends.items():
            if atom.kind == "data" and end is not None:
                with suppress(GivenUp):  # what differs from turn to turn is no fact
                    here = machine.whole(Index({(atom,): 1}, r))
                    if sign * (here - machine.whole(end)) < 0:
                        return False
    return True


def _by_data(x: Whole) -> bool:
    """Whether data decide on a number."""
    atoms = [a for m in x.terms for a in m] if isinstance(x, Index) else []
    return any(a.kind == "data" or any(map(_by_data, a.args)) for a in atoms)
