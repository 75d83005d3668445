"""The functions in C that terms and rules name: whether each means its Python, tried in processes of their own.

The interpreter, and so every check of a rule, runs the Python; kernels run the C.  Either may do anything, such as
never end, so neither runs in this process.  Only finite numbers are tried, up to a million: not every function is
meant to work beyond them.  `user_functions.check_reference` tries the edges, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from relift.compiler.agreement.comparison import Agreement
from relift.compiler.codegen.values.functions import scalar_of
from relift.compiler.devices.naming import label
from relift.compiler.devices.survey import find_device
from relift.compiler.program import compile_program
from relift.compiler.running.processes.isolated import Failed, run_apart
from relift.rewrites.checks.isolation import in_a_process
from relift.semantics.domains import DTYPES
from relift.semantics.errors import Refuted
from relift.semantics.language.naming import named_in
from relift.semantics.language.programs import Program
from relift.semantics.language.vocabulary import map_glb, zip
from relift.semantics.syntax.terms import Input, Term, UserFunction
from relift.semantics.syntax.types import Scalar

Row = npt.NDArray[Any]

COUNT = 1024
"""So many rows of arguments are tried."""

SMALL, LARGEST = 200, 1_000_000
"""All whole numbers up to the one are among them, and others up to the other."""

SECONDS = 60.0
"""C that takes longer on them is given up."""

ROUNDING = 1024
"""Units in the last place that C and Python may be apart: they may round each step, and steps may cancel."""


def functions_agree(*terms: Term, device: str | None = None) -> Iterator[Agreement]:
    """Of each function of some terms that is written in C, which kernels run: whether its Python, which judges them, means it.

    >>> from relift import f32, map, program, userfun
    >>> from relift.compiler.agreement.functions_in_c import functions_agree
    >>> @userfun(c="return x + 2.0f;")
    ... def more(x: f32) -> f32:
    ...     return x + 1
    >>> @program
    ... def all_more(x: f32[8]):
    ...     return map(more, x)
    >>> [found] = functions_agree(all_more.body)
    >>> print(found.text())
    DIFFERS with the Python of more: more(0.0) is 2.0 in C and 1.0 in Python
    """
    named = [
        f for t in terms for f in named_in(t) if isinstance(f, UserFunction) and f.c is not None
    ]
    for f in {(f, f.reference): f for f in named}.values():
        yield _agreement(f, f.reference, device)


def require_functions_mean_their_python(program: Program) -> None:
    """Raise `Refuted` for a program that names a function in C whose C is known to do something else than its Python."""
    for found in functions_agree(program.body):
        if found.refuted:
            raise Refuted(
                f"{program.name} is not written: {found.text()}; the C and the Python of a function must mean the same",
                place="",
            )


@lru_cache(maxsize=64)
def _agreement(f: UserFunction, _reference: object, device: str | None) -> Agreement:
    """One function; functions are told apart by what they are called and their C, but this hangs on their Python."""
    against = f"the Python of {f.name}"
    try:
        columns = _columns([scalar_of(t) for t in f.types])
        rows = on_rows(f, COUNT)
        expected = in_a_process(lambda: rows(*columns))
        where = label(find_device(device))
        result = run_apart(compile_program(rows, contract=False), columns, where, seconds=SECONDS)
    except Exception as error:  # noqa: BLE001  whatever a function of the user's raises
        told = " ".join(f"{error}".split())[:200]
        return Agreement(against, False, f"it cannot be called: {told}", known=False)
    if isinstance(result, Failed):
        return Agreement(against, False, f"its C gave no result: {result.reason}", known=False)
    wrong = np.flatnonzero(~_close(result, expected, columns))
    if not len(wrong):
        detail = f"its C on {COUNT} rows of finite numbers, within rounding"
        return Agreement(against, True, detail)
    at = min(wrong, key=lambda i: sum(abs(float(column[i])) for column in columns))
    shown = ", ".join(str(column[at]) for column in columns)
    detail = f"{f.name}({shown}) is {result[at]} in C and {expected[at]} in Python"
    return Agreement(against, False, detail)


def _close(result: Row, expected: Row, columns: Sequence[Row]) -> npt.NDArray[np.bool_]:
    """Where two rows agree: integers exactly, floats but for rounding of numbers as large as 1 and the arguments."""
    same = np.equal(result, expected)
    if not np.issubdtype(result.dtype, np.floating):
        return same
    same |= np.isnan(result) & np.isnan(expected)
    with np.errstate(all="ignore"):
        scale = np.maximum(np.abs(expected.astype(np.float64)), 1.0)
        for column in columns:
            scale = np.maximum(scale, np.abs(column.astype(np.float64)))
        apart = np.abs(result.astype(np.float64) - expected.astype(np.float64))
        within = apart <= ROUNDING * np.finfo(result.dtype).eps * scale
    close: npt.NDArray[np.bool_] = same | (within & np.isfinite(expected))
    return close


def _columns(types: Sequence[Scalar]) -> tuple[Row, ...]:
    """The arguments, the same each time."""
    random = np.random.default_rng(0)
    return tuple(random.permutation(_numbers(t, random)) for t in types)


def _numbers(t: Scalar, random: np.random.Generator) -> Row:
    """Small whole numbers, their halves, and others of every magnitude that the type has."""
    dtype = DTYPES[t.name]
    if t.name == "boolean":
        chosen: Row = random.integers(0, 2, COUNT).astype(dtype)
        return chosen
    whole = np.arange(-SMALL, SMALL + 1, dtype=np.float64)
    lowest = -6.0 if t.is_float else 0.0
    left = COUNT - 2 * len(whole)
    others = 10 ** random.uniform(lowest, np.log10(LARGEST), left) * random.choice([-1, 1], left)
    numbers = np.concatenate([whole, whole / 2, others])
    info = np.finfo(dtype) if t.is_float else np.iinfo(dtype)
    clipped: Row = np.clip(numbers, float(info.min), float(info.max)).astype(dtype)
    return clipped


def on_rows(f: UserFunction, count: int) -> Program:
    """A function as a program, on rows of arguments."""
    inputs = tuple(Input(f"x{i}", t[count]) for i, t in enumerate(f.types))
    body: Term
    if len(inputs) == 1:
        body = map_glb(0)(f, inputs[0])
    else:
        body = map_glb(0)(lambda p: f(*p), zip(*inputs))
    return Program(f"twin_of_{f.name}", inputs, body)
