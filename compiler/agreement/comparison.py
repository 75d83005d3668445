"""Comparing a result with what it should be: to the last bit where every step is exact, else within the rounding."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from relift.rewrites.derivation.confirmation import work
from relift.semantics.language.programs import Program
from relift.semantics.patterns import Reduction
from relift.semantics.syntax.scalars import IRRATIONAL
from relift.semantics.syntax.terms import (
    Apply,
    Call,
    Combine,
    Get,
    Input,
    Literal,
    MakeTuple,
    Metavariable,
    Pattern,
    Term,
    Var,
    subterms,
)
from relift.semantics.syntax.types import FLOATS, Array, Scalar, cells, dimensions

INTERPRETER_LIMIT = 200_000
"""Cells of inputs and results up to which the interpreter is run at the sizes of a run as well."""

WORK_LIMIT = 6_000_000
"""Cells and calls (see `confirmation.work`) up to which it is."""


@dataclass(frozen=True)
class Agreement:
    """One comparison: with what, whether it agreed, and the evidence.

    What is not `known` was not compared, and `detail` says why: that is no agreement, and no difference.  Where only
    its size was in the way it is `beyond` reach, and `instead` says what was shown of all data, if something was.
    """

    against: str
    ok: bool
    detail: str
    known: bool = True
    beyond: bool = False
    instead: str = ""

    @property
    def refuted(self) -> bool:
        """Whether it was compared, and differs."""
        return self.known and not self.ok

    @property
    def passes(self) -> bool:
        """Whether it agreed, or something stronger stands for it."""
        return self.ok or bool(self.instead)

    def text(self) -> str:
        """One line for a person."""
        word = "agrees" if self.ok else "DIFFERS" if self.known else "not compared"
        shown = f"; {self.instead}" if self.instead else ""
        return f"{word} with {self.against}: {self.detail}{shown}"

    def to_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return asdict(self)


def in_reach(source: Program) -> bool:
    """Whether a program at its sizes is small enough for the interpreter."""
    return _size(source) <= INTERPRETER_LIMIT and work(source.body) <= WORK_LIMIT


def agreed(against: str, source: Program, result: Any, expected: Any) -> Agreement:
    """Equal to the last bit where every step is exact on whole numbers, else within the rounding."""
    if not is_exact(source):
        return compared(against, result, expected, rounding(source))
    if _equal(result, expected):
        return Agreement(against, True, how_equal(result, expected))
    return Agreement(against, False, f"{result!r} instead of {expected!r}")


def how_equal(result: Any, expected: Any) -> str:
    """Of equal values, whether zeros have the same sign, too.

    >>> from relift.compiler.agreement.comparison import how_equal
    >>> import numpy as np
    >>> how_equal(np.float32([0.0, 1.0]), np.float32([-0.0, 1.0]))
    'equal but for the sign of zeros'
    """
    same = _same_signs(result, expected)
    return "equal to the last bit" if same else "equal but for the sign of zeros"


def _same_signs(result: Any, expected: Any) -> bool:
    if isinstance(result, tuple):
        return all(_same_signs(r, e) for r, e in zip(result, expected, strict=True))
    got, wanted = np.asarray(result), np.asarray(expected)
    return got.dtype.kind != "f" or bool(
        np.all((np.signbit(got) == np.signbit(wanted)) | np.isnan(got))
    )


def is_exact(program: Program) -> bool:
    """Whether floating point computes a program exactly on small whole numbers, in whatever order.

    Division, roots and the like round, and so do constants that are no short binary fractions; what an
    opaque user function does is not known.
    """
    return not any(_rounds(t) for t, _ in subterms(program.body))


def _rounds(t: Term) -> bool:
    """Whether computing a term itself, on small whole numbers, may be inexact."""
    if isinstance(t.type, Scalar) and t.type.is_float and t.type.bytes < 4:
        return True  # few whole numbers are its values
    match t:
        case Apply(function):
            return function == "div" or function in IRRATIONAL
        case Literal(value):
            return math.isfinite(value) and not float(value * 16).is_integer()
        case Call():
            return True
        case Var() | Input() | Combine() | MakeTuple() | Get() | Metavariable() | Pattern():
            return False


def rounding(program: Program) -> float:
    """The relative error that regrouping may cause: steps of its floats, growing with the longest sum's root."""
    longest = 1
    names = {u.name for p in program.parameters if isinstance(u := dimensions(p.type)[1], Scalar)}
    for t, _ in subterms(program.body):
        names |= {t.type.name} if isinstance(t.type, Scalar) else set()
        if isinstance(t, Reduction):
            assert isinstance(t.xs.type, Array), "cannot happen: only arrays are reduced"
            longest = max(longest, t.xs.type.length.constant or 0)
    steps = [float(np.finfo(FLOATS[name].dtype).eps) for name in names & FLOATS.keys()]
    step = max(steps, default=float(np.finfo(np.float32).eps))
    return step * (8.0 + float(np.sqrt(longest)))


def _size(program: Program) -> int:
    total = sum((cells(p.type).constant or 0) for p in program.parameters)
    work = 1
    for t, _ in subterms(program.body):
        if isinstance(t.type, Array):
            work = max(work, cells(t.type).constant or 0)
    return max(total, work)


def _equal(result: Any, expected: Any) -> bool:
    if isinstance(result, tuple):
        return all(_equal(r, e) for r, e in zip(result, expected, strict=True))
    return bool(np.array_equal(result, expected, equal_nan=True))


def compared(against: str, result: Any, expected: Any, tolerance: float) -> Agreement:
    """Floats within the tolerance, relative to the largest value of the result; whole numbers equal."""
    if isinstance(result, tuple):
        parts = [compared(against, r, e, tolerance) for r, e in zip(result, expected, strict=True)]
        worst = next((p for p in parts if not p.ok), parts[0])
        return Agreement(against, worst.ok, worst.detail)
    got, wanted = np.asarray(result), np.asarray(expected)
    if got.shape != wanted.shape:
        return Agreement(against, False, f"shape {got.shape} instead of {wanted.shape}")
    if got.size == 0:
        return Agreement(against, True, "both are empty")
    if got.dtype.kind != "f":
        return _counted(against, got, wanted)
    got, wanted = got.astype(np.float64), wanted.astype(np.float64)
    # A cancelling sum is judged against the scale of the whole result, not against its own small value.
    finite = np.abs(wanted[np.isfinite(wanted)])
    scale = max(float(np.max(finite, initial=0.0)), float(np.finfo(np.float32).tiny))
    with np.errstate(invalid="ignore"):
        gap = np.atleast_1d(np.abs(got - wanted))
    gap[np.atleast_1d((got == wanted) | (np.isnan(got) & np.isnan(wanted)))] = (
        0.0  # infinities, and NaN for NaN
    )
    error = float(np.max(gap)) / scale
    ok = bool(error <= tolerance)
    return Agreement(
        against, ok, f"largest error {error:.1e} of the largest value, {tolerance:.1e} allowed"
    )


def _counted(against: str, got: Any, wanted: Any) -> Agreement:
    """Whole numbers and truth values, which no rounding excuses."""
    wrong = int(np.count_nonzero(got != wanted))
    if not wrong:
        return Agreement(against, True, "equal")
    first = tuple(int(i) for i in np.argwhere(np.atleast_1d(got != wanted))[0])
    one, other = np.atleast_1d(got)[first], np.atleast_1d(wanted)[first]
    detail = (
        f"{wrong} of {got.size} values differ, the first at {list(first)}: {one} instead of {other}"
    )
    return Agreement(against, False, detail)
