"""The inputs of a run or a comparison: from files and numbers, or drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from relift.compiler.running.arrays.buffers import components
from relift.device import bytes_text, memory_here
from relift.rewrites.checks.random.exact_inputs import index_bounds
from relift.semantics.domains import DTYPES
from relift.semantics.errors import ReliftError
from relift.semantics.language.programs import Program
from relift.semantics.numpy_values import argument_of
from relift.semantics.syntax.types import Scalar, Type, dimensions


def read_inputs(
    program: Program, sizes: Mapping[str, int], given: Mapping[str, str]
) -> tuple[dict[str, int], tuple[Any, ...]]:
    """The inputs of a program from files and numbers, and the sizes that they and `sizes` determine.

    Raises `ReliftError` for a missing, unreadable or mis-shaped input.
    """
    unknown = sorted(set(given) - {p.name for p in program.parameters})
    if unknown:
        there = ", ".join(p.name for p in program.parameters) or "none"
        raise ReliftError(
            f"{program.name} has no parameter {unknown[0]}; its parameters are: {there}", place=""
        )
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
    present = memory_here()
    if needed > present:
        raise ReliftError(
            f"the arrays of {program.name} need {bytes_text(needed)} at these sizes, "
            f"this machine has {bytes_text(present)}",
            place="",
        )


def _draw(t: Type, generator: np.random.Generator, below: int | None, *, whole: bool) -> Any:
    def cells(element: Scalar, extents: tuple[int, ...]) -> Any:
        if element.name == "boolean":
            return generator.integers(0, 2, extents)
        if element.is_float and not whole:
            return generator.random(extents, dtype=np.float64)
        lowest, end = (-8, 8) if below is None or element.is_float else (0, max(below, 1))
        return generator.integers(lowest, end, extents)

    return argument_of(t, cells)
