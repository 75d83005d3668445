"""Agreement: a kernel's result against the interpreter's and against NumPy's.

Two comparisons complement each other.  At the sizes of a run the result is compared with a NumPy function,
within the rounding that a reordered sum may have.  At small sizes the same derivation is done again, every
intermediate program is run by the interpreter, and the kernel of the last one must agree to the last bit,
on whole numbers small enough that floating point computes with them exactly.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from relift.compiler.agreement.simulator import NotAvailable, race_check
from relift.compiler.program import compile_program
from relift.compiler.running.buffers import components
from relift.compiler.running.compiled import Compiled
from relift.compiler.validation.validate import Report, validate
from relift.rewrites.checks.random.exact_inputs import index_bounds
from relift.rewrites.derivation.confirmation import confirm
from relift.rewrites.derivation.steps import BrokenDerivation, Derivation
from relift.rewrites.library import RULES
from relift.semantics.errors import Refuted, ReliftError
from relift.semantics.interpreter import DTYPES
from relift.semantics.language.vocabulary import Program
from relift.semantics.patterns import (
    Reduce,
    ReduceSeq,
)
from relift.semantics.syntax.binding import tidy
from relift.semantics.syntax.scalars import IRRATIONAL
from relift.semantics.syntax.terms import (
    Apply,
    Call,
    Literal,
    subterms,
)
from relift.semantics.syntax.types import Array, Scalar, Tuple, Type, cells, dimensions

INTERPRETER_LIMIT = 200_000
"""Cells of inputs and results up to which the interpreter is run at the sizes of a run as well."""


SMALL_REACH = 100_000
"""Cells and calls of programs, all together, that are run as they are where they have no smaller sizes."""


@dataclass(frozen=True)
class Agreement:
    """One comparison: with what, whether it agreed, and the evidence.

    What is not `known` was not compared, and `detail` says why: that is no agreement, and no difference.
    """

    against: str
    ok: bool
    detail: str
    known: bool = True

    @property
    def refuted(self) -> bool:
        """Whether it was compared, and differs."""
        return self.known and not self.ok

    def text(self) -> str:
        """One line for a person."""
        word = "agrees" if self.ok else "DIFFERS" if self.known else "NOT compared"
        return f"{word} with {self.against}: {self.detail}"

    def to_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return asdict(self)


# ---- inputs


def read_inputs(
    program: Program, sizes: Mapping[str, int], given: Mapping[str, str]
) -> tuple[dict[str, int], tuple[Any, ...]]:
    """The inputs of a program from files and numbers, and the sizes that they and `sizes` determine.

    Raises `ReliftError` for a missing, unreadable or mis-shaped input.
    """
    unknown = sorted(set(given) - {p.name for p in program.parameters})
    if unknown:
        raise ReliftError(f"{program.name} has no parameter {unknown[0]}", place="")
    missing = [p for p in program.parameters if p.name not in given]
    if missing:
        raise ReliftError(
            f"{program.name} needs {missing[0].name}: {missing[0].type}; "
            f"give --input {missing[0].name}=FILE.npy, or --random SEED",
            place="",
        )
    arrays = tuple(_read(p.name, p.type, given[p.name]) for p in program.parameters)
    found = program.solve_sizes(arrays)
    for name, value in sizes.items():
        if found.get(name, value) != value:
            raise ReliftError(
                f"--size {name}={value}, but the inputs have {name}={found[name]}", place=""
            )
    return {**sizes, **found}, arrays


def _read(name: str, t: Type, text: str) -> Any:
    if isinstance(t, Scalar):
        return _number(name, t, text)
    array = _array(name, Path(text))
    element = dimensions(t)[1]
    if isinstance(element, Scalar) and array.dtype != DTYPES[element.name]:
        raise ReliftError(
            f"input {name}: {text} holds {array.dtype}, {t} needs {DTYPES[element.name]}; "
            f"convert it with .astype(numpy.{DTYPES[element.name]})",
            place="",
        )
    return array


def _number(name: str, t: Scalar, text: str) -> Any:
    """A scalar input from its text; raises `ReliftError` where its type does not hold it."""
    try:
        value = float(text) if t.is_float else int(text[:64])
        with np.errstate(over="raise"):
            return DTYPES[t.name].type(value)
    except (ValueError, OverflowError, FloatingPointError):
        raise ReliftError(f"input {name}: {text!r} is not a value of type {t}", place="") from None


def _array(name: str, file: Path) -> Any:
    """An array from a .npy file, which is not trusted; raises `ReliftError` where it holds none."""
    try:
        found = np.load(file, mmap_mode="r", allow_pickle=False)  # no memory for what is not there
    except FileNotFoundError:
        raise ReliftError(f"input {name}: there is no file {file}", place="") from None
    except OSError as error:
        raise ReliftError(f"input {name}: cannot read {file}: {error.strerror}", place="") from None
    except (ValueError, EOFError):
        raise ReliftError(
            f"input {name}: {file} is no .npy file of numbers, or is cut short; numpy.save writes one",
            place="",
        ) from None
    if not isinstance(found, np.ndarray):
        raise ReliftError(
            f"input {name}: {file} is an archive of arrays; numpy.save writes a single one",
            place="",
        )
    return np.array(found)


def random_inputs(program: Program, seed: int) -> tuple[Any, ...]:
    """Inputs for a program at concrete sizes: floats in [0, 1), whole numbers in [-8, 8).

    Whole numbers that the program uses as indices are below the length of what they index.
    """
    return _inputs(program, seed, whole=False)


def whole_inputs(program: Program, seed: int) -> tuple[Any, ...]:
    """Inputs whose values are small whole numbers, on which floating-point sums are exact."""
    return _inputs(program, seed, whole=True)


def _inputs(program: Program, seed: int, *, whole: bool) -> tuple[Any, ...]:
    _require_memory(program)
    generator = np.random.default_rng(seed)
    below = index_bounds(program.body)
    return tuple(
        _draw(p.type, generator, below.get(p.name), whole=whole) for p in program.parameters
    )


def _require_memory(program: Program) -> None:
    """Raise `ReliftError` where the arguments and the result do not fit into the memory of this machine."""
    types = [*(p.type for p in program.parameters), program.body.type]
    needed = sum(
        math.prod(shape) * DTYPES[scalar.name].itemsize
        for t in types
        for scalar, shape in components(t)
    )
    present = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > present:
        raise ReliftError(
            f"the arrays of {program.name} need {_in_gib(needed)} at these sizes, "
            f"this machine has {_in_gib(present)}",
            place="",
        )


def _in_gib(count: int) -> str:
    return f"{count / 2**30:,.0f} GiB"


def _draw(t: Type, generator: np.random.Generator, below: int | None, *, whole: bool) -> Any:
    shape, element = dimensions(t)
    extents = tuple(n.constant or 0 for n in shape)
    match element:
        case Tuple(parts):
            return tuple(
                _draw(part[extents] if extents else part, generator, below, whole=whole)
                for part in parts
            )
        case Scalar(name) if name == "boolean":
            return generator.integers(0, 2, extents).astype(DTYPES[name])[()]
        case Scalar(name) if element.is_float and not whole:
            return generator.random(extents, dtype=np.float64).astype(DTYPES[name])[()]
        case Scalar(name):
            lowest, end = (-8, 8) if below is None or element.is_float else (0, max(below, 1))
            return generator.integers(lowest, end, extents).astype(DTYPES[name])[()]
        case _:
            raise AssertionError(f"cannot happen: an input of type {t}")


# ---- comparisons


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
    return found


def in_reach(source: Program) -> bool:
    """Whether a program at its sizes is small enough for the interpreter."""
    return _size(source) <= INTERPRETER_LIMIT


_STEPS = "the interpreter, step by step"


@dataclass(frozen=True)
class _Small:
    """A program at small sizes, its kernel, and what the interpreter says on inputs of whole numbers."""

    at: str
    source: Program
    kernel: Compiled
    arrays: tuple[Any, ...]
    expected: Any
    low: Program

    def validated(self) -> Report:
        """The text of the kernel against the low-level program, on symbols."""
        return validate(self.kernel.source, self.kernel.plan, self.low)


def steps_agree(derivation: Derivation) -> Agreement:
    """Every program of a derivation by the interpreter: those recorded where it reaches them, else at small sizes."""
    try:
        found = confirm(derivation, RULES)
    except BrokenDerivation as error:
        return Agreement(_STEPS, False, error.message)
    if found is None:
        return Agreement(
            _STEPS, False, "no sizes and inputs were found at which it could run them", known=False
        )
    at = ", ".join(f"{name}={value}" for name, value in found.sizes.items()) or "their sizes"
    again = "" if found.recorded else ", derived again"
    return Agreement(_STEPS, True, f"{len(found.terms)} programs at {at}{again}")


def _small(derivation: Derivation) -> _Small | Agreement:
    """The derivation at small sizes, or as it is where there are none; or what speaks against it."""
    try:
        small = confirm(derivation, RULES, reach=0) or confirm(derivation, RULES, reach=SMALL_REACH)
    except BrokenDerivation as error:
        return Agreement(_STEPS, False, error.message)
    if small is None:
        return Agreement("the interpreter (kernels)", False, _NOT_SMALL, known=False)
    at = ", ".join(f"{name}={value}" for name, value in small.sizes.items()) or "its sizes"
    source = derivation.origin.at(small.sizes)
    low = Program(source.name, source.parameters, tidy(small.terms[-1]))
    arrays = whole_inputs(source, seed=0)
    kernel = compile_program(low, contract=derivation.policy != "exact")
    return _Small(at, source, kernel, arrays, source(*arrays), low)


_NOT_SMALL = "no small sizes were found at which every step applies"


def failure_on_symbols(derivation: Derivation) -> str | None:
    """Why a candidate need not be timed: at small sizes, the text of its kernels is wrong; None if nothing says so."""
    try:
        small = _small(derivation)
    except ReliftError:
        return None  # at small sizes it is refused; at its own it is compiled and compared
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
    small = _small(derivation)
    if isinstance(small, Agreement):
        return small if small.refuted else replace(steps, detail=f"{steps.detail}; {small.detail}")
    result = small.kernel(*small.arrays, device=device)
    kernel = agreed("the interpreter", small.source, result, small.expected)
    detail = f"{steps.detail}, and the kernel at {small.at}: {kernel.detail}"
    return Agreement(_STEPS, kernel.ok, detail)


def differential(
    derivation: Derivation, devices: Sequence[str], report: Callable[[str], None]
) -> list[Agreement]:
    """The derivation against the interpreter: its programs, and its kernel at small sizes everywhere.

    The race checker runs the same kernel; where it is not installed, that is said and counts as agreement
    of nothing, not as a failure.
    """
    steps = steps_agree(derivation)
    if not steps.ok:
        return [steps]
    small = _small(derivation)
    if isinstance(small, Agreement):
        return [steps, small]
    return [steps, *_everywhere(small, devices, report)]


def _everywhere(
    small: _Small, devices: Sequence[str], report: Callable[[str], None]
) -> Iterator[Agreement]:
    """The text of the kernel on symbols, and the kernel on each device and on the race checker."""
    report("symbols")
    text = small.validated()
    yield Agreement("the interpreter (text of the kernel, on symbols)", text.ok, text.text())
    for device in devices:
        report(device)
        against = f"the interpreter (kernel on {device})"
        try:
            result = small.kernel(*small.arrays, device=device)
        except Refuted as error:
            yield Agreement(against, False, error.message)
            continue
        yield agreed(against, small.source, result, small.expected)
    report("race checker")
    races = race_check(small.kernel, small.arrays)
    if isinstance(races, NotAvailable):
        yield not_simulated(races)
    else:
        detail = "; ".join(races) or f"no race, no stray access at {small.at}"
        yield Agreement("the race checker", not races, detail)


def not_simulated(found: NotAvailable) -> Agreement:
    """Without a simulator that is said; a simulator that did not finish has decided nothing."""
    if not found.installed:
        return Agreement("the race checker", True, f"SKIPPED: {found.reason}")
    return Agreement("the race checker", False, found.reason, known=False)


def agreed(against: str, source: Program, result: Any, expected: Any) -> Agreement:
    """Equal to the last bit where every step is exact on whole numbers, else within the rounding."""
    if not is_exact(source):
        return compared(against, result, expected, rounding(source))
    if _equal(result, expected):
        return Agreement(against, True, "equal to the last bit")
    return Agreement(against, False, f"{result!r} instead of {expected!r}")


def is_exact(program: Program) -> bool:
    """Whether floating point computes a program exactly on small whole numbers, in whatever order.

    Division, roots and the like round, and so do constants that are no short binary fractions; what an
    opaque user function does is not known.
    """
    for t, _ in subterms(program.body):
        match t:
            case Apply(function) if function == "div" or function in IRRATIONAL:
                return False
            case Literal(value) if math.isfinite(value) and not float(value * 16).is_integer():
                return False
            case Call():
                return False
            case _:
                pass
    return True


def rounding(program: Program) -> float:
    """The relative error that regrouping may cause: float32 steps, growing with the longest sum's root."""
    longest = 1
    for t, _ in subterms(program.body):
        if isinstance(t, Reduce | ReduceSeq):
            assert isinstance(t.xs.type, Array), "cannot happen: only arrays are reduced"
            longest = max(longest, t.xs.type.length.constant or 0)
    return float(np.finfo(np.float32).eps) * (8.0 + float(np.sqrt(longest)))


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
    """Within the tolerance, relative to the largest value of the result."""
    if isinstance(result, tuple):
        parts = [compared(against, r, e, tolerance) for r, e in zip(result, expected, strict=True)]
        worst = next((p for p in parts if not p.ok), parts[0])
        return Agreement(against, worst.ok, worst.detail)
    got, wanted = (np.asarray(value, dtype=np.float64) for value in (result, expected))
    if got.shape != wanted.shape:
        return Agreement(against, False, f"shape {got.shape} instead of {wanted.shape}")
    if got.size == 0:
        return Agreement(against, True, "both are empty")
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
