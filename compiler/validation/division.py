"""Division that rounds down, and shifts: the functions that kernels bring along for them, compared with what they mean.

Their text divides towards zero and corrects, or has a value for every number of bits; the interpreter has one operation.  On symbols, no law joins the two,
so each such function is run on numbers, at all pairs of numbers where rounding, signs and overflow meet, and then
stands for the operation.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from relift.compiler.text.tree import Function, Source
from relift.compiler.validation.arithmetic import Arithmetic
from relift.compiler.validation.domain import divided
from relift.compiler.validation.machine import Fault
from relift.compiler.validation.symbols import Algebra, Symbol
from relift.compiler.validation.translation.python import Opaque
from relift.compiler.validation.translation.statements import Translator
from relift.semantics.syntax.scalars import SCALAR_FUNCTIONS
from relift.semantics.syntax.types import INTEGERS

_DTYPES: Mapping[str, Any] = {t.name: np.dtype(t.dtype).type for t in INTEGERS.values()}


def points(kind: str) -> list[int]:
    """Numbers of a type around which division and shifts change their ways."""
    low, high = int(np.iinfo(_DTYPES[kind]).min), int(np.iinfo(_DTYPES[kind]).max)
    return [
        *range(-9, 10),
        30,
        31,
        32,
        33,
        62,
        63,
        64,
        65,
        97,
        -97,
        1000,
        -4096,
        low,
        low + 1,
        low // 2,
        high,
        high - 1,
        high // 3,
    ]


def checked_division(
    source: Source, f: Function, name: str, kind: str, algebra: Algebra
) -> tuple[Opaque, str]:
    """A function of the source as an operation, and what is to be said of it; raises `Fault` where it divides wrongly."""
    functions = {g.name: g for g in source.functions}
    run = Translator(Arithmetic(algebra, 0), functions, {}, {}).defined(f)
    width = f.result.width
    meaning = SCALAR_FUNCTIONS[name].meaning
    pairs = list(itertools.product(points(kind), repeat=2))
    with np.errstate(all="ignore"):
        for start in range(0, len(pairs), width):
            chunk = [pairs[(start + lane) % len(pairs)] for lane in range(width)]
            xs, ys = zip(*chunk, strict=True)
            found = run(None, xs[0], ys[0]) if width == 1 else run(None, xs, ys)
            for (x, y), value in zip(chunk, (found,) if width == 1 else found, strict=True):
                wanted = int(meaning(_DTYPES[kind](x), _DTYPES[kind](y)))
                if int(value) != wanted:
                    raise Fault("values", f"{f.name}({x}, {y}) is {int(value)} instead of {wanted}")

    def one(x: Any, y: Any) -> Any:
        if isinstance(x, Symbol) or isinstance(y, Symbol):
            return divided(algebra, name, algebra.lift(x, kind), algebra.lift(y, kind))
        with np.errstate(all="ignore"):
            return int(meaning(_DTYPES[kind](x), _DTYPES[kind](y)))

    def called(it: Any, x: Any, y: Any) -> Any:
        return one(x, y) if width == 1 else tuple(map(one, x, y))

    return called, f"{f.name} was compared with {name} at {len(pairs)} pairs of numbers"
