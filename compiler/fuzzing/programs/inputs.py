"""The arguments of a program: small whole numbers, any floats, or the edges of their types."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np

from relift.rewrites.checks.random.edges import edges_of
from relift.rewrites.checks.random.exact_inputs import index_bounds
from relift.semantics.language.programs import Program
from relift.semantics.numpy_values import argument_of
from relift.semantics.syntax.types import Scalar, Tuple, Type, dimensions

Sort: TypeAlias = Literal["whole", "float", "edges"]
"""Small whole numbers, on which sums are exact; floats of a moderate size; values at which arithmetic is special."""

SORTS: tuple[Sort, ...] = ("whole", "float", "edges")
EDGY = 0.3
"""How many of the numbers are edges, where edges are asked for."""


def arguments_of(program: Program, generator: random.Random, sort: Sort) -> tuple[Any, ...]:
    """NumPy arguments for a program at its sizes; whole numbers that are indices are below what they index.

    >>> import random, relift as rl
    >>> from relift.compiler.fuzzing.programs.inputs import arguments_of
    >>> @rl.program
    ... def twice(x: rl.f32[3]):
    ...     return rl.map_glb(0)(lambda v: v + v, x)
    >>> [x] = arguments_of(twice, random.Random(0), "whole")
    >>> x.dtype, x.shape
    (dtype('float32'), (3,))
    """
    below = index_bounds(program.body)
    return tuple(_value(p.type, generator, sort, below.get(p.name)) for p in program.parameters)


def _value(t: Type, generator: random.Random, sort: Sort, below: int | None) -> Any:
    def cells(element: Scalar, extents: tuple[int, ...]) -> Any:
        number = _number(element, generator, sort, below)
        return [number() for _ in range(math.prod(extents))]

    return argument_of(t, cells)


def _number(
    t: Scalar, generator: random.Random, sort: Sort, below: int | None
) -> Callable[[], Any]:
    """What draws a number of a type."""
    if t.name == "boolean":
        return lambda: generator.random() < 0.5
    if below is not None and not t.is_float:
        return lambda: generator.randrange(max(below, 1))
    whole: Callable[[], int] = lambda: generator.randint(-9, 9)
    match sort:
        case "whole":
            return whole
        case "float":
            return (lambda: generator.uniform(-4, 4)) if t.is_float else whole
        case "edges":
            edges = edges_of(t)
            return lambda: generator.choice(edges) if generator.random() < EDGY else whole()


def cropped(value: Any, t: Type) -> Any:
    """The beginning of an argument, as much as a smaller type has."""
    if isinstance(value, tuple):
        shape, element = dimensions(t)
        assert isinstance(element, Tuple), "cannot happen: a tuple is the value of one"
        extents = tuple(n.constant or 0 for n in shape)
        return tuple(
            cropped(v, part[extents] if extents else part)
            for v, part in zip(value, element.parts, strict=True)
        )
    shape, _ = dimensions(t)
    cut = tuple(slice(0, n.constant or 0) for n in shape)
    return np.ascontiguousarray(np.asarray(value)[cut])[()] if cut else value


def simpler(value: Any) -> list[Any]:
    """An argument with fewer numbers other than 0: all of them 0, one half, the other."""
    if isinstance(value, tuple):
        return [
            (*value[:i], one, *value[i + 1 :])
            for i, part in enumerate(value)
            for one in simpler(part)
        ]
    flat = np.asarray(value).reshape(-1)
    taken = np.flatnonzero(flat)
    halves = [taken, taken[: len(taken) // 2], taken[len(taken) // 2 :]]
    found = []
    for some in halves if len(taken) > 1 else halves[:1]:
        if len(some):
            other = flat.copy()
            other[some] = 0
            found.append(other.reshape(np.shape(value))[()])
    return found
