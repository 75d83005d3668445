"""Values at which arithmetic is special, and worlds of a rule that are made of them.

The edges of a format are its largest and smallest numbers, the first whole number that it skips, signed zeros,
infinities, NaN; of whole numbers those at which a sum, a product or a conversion does not fit.  A constant of the
rule, or of the text of a function, is an edge as well, with its neighbours.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from relift.rewrites.checks.instances import Instances, show_value
from relift.rewrites.checks.random.constants import constants_of
from relift.rewrites.checks.random.models import leaf_of
from relift.rewrites.checks.smt.tables import draw_tables, looked_up
from relift.rewrites.checks.verdicts import Counterexample
from relift.rewrites.rule import Rule
from relift.semantics.domains import DTYPES, Value
from relift.semantics.errors import Undefined
from relift.semantics.interpreter import World, evaluate, refines
from relift.semantics.syntax.signatures import FunctionKind, IndexKind, NatKind, OperatorKind
from relift.semantics.syntax.types import (
    AnyType,
    Array,
    Scalar,
    Tuple,
    Type,
    TypeVariable,
    Vector,
    boolean,
    f32,
    substitute_type,
)

MOST_COMBINATIONS = 3000
MOST_OF_SEVERAL = 500
RANDOM = 300
"""How many combinations of edges are tried, how many where arrays have two cells, and how many random draws besides."""

LARGEST = 60
"""An instance with an array of more cells is not run."""


def edges_of(t: Scalar, constants: Sequence[float] = ()) -> list[Value]:
    """The values of a scalar type at which arithmetic is special, the simplest first.

    >>> from relift import f32, i32
    >>> from relift.rewrites.checks.random.edges import edges_of
    >>> [float(x) for x in edges_of(f32)[8:11]]
    [3.4028234663852886e+38, -3.4028234663852886e+38, 16777216.0]
    >>> [int(x) for x in edges_of(i32)]
    [0, 1, -1, 7, 2049, 16777217, 1073741824, 2147483647, -2147483648]
    """
    if t == boolean:
        return [False, True]
    near = [x + d for x in constants for d in (0, 1, -1)]
    if t.is_float:
        about: Any = np.finfo(DTYPES[t.name])
        odd = 2.0 ** (about.nmant + 1) + 1
        ends = (about.tiny, about.smallest_subnormal, about.max, -about.max, odd)
        found = [0.0, -0.0, 1.0, -1.0, 0.1, 3.0, *ends, np.inf, -np.inf, np.nan, *near]
    else:
        info = np.iinfo(DTYPES[t.name])
        skipped = [2**bits + 1 for bits in (11, 24, 53) if 2**bits < info.max]
        known = [0, 1, -1, 7, *skipped, (info.max + 1) // 2, info.max, info.min]
        whole = (int(x) for x in near if x == int(x))
        found = list(dict.fromkeys(t.held([*known, *whole])))
    return [_cast(x, t) for x in found]


def worlds(rule: Rule) -> Iterator[tuple[World, dict[str, Value]]]:
    """Worlds of a rule, its type variables floats: combinations of edges, then random ones; with the data that is shown.

    Combinations are made at the least sizes, where there may be no data, and where each array has two cells: sums and their
    like differ nowhere else.
    """
    types: dict[str, Type] = dict.fromkeys(rule.types, f32)
    instances, constants = Instances(rule), constants_of(rule)
    usable = [
        sizes
        for sizes in itertools.islice(instances.assignments(3), 300)
        if instances.largest(sizes) <= LARGEST and instances.result_cells(sizes) > 0
    ]
    if usable:
        yield from _combinations(rule, usable[0], types, constants, MOST_COMBINATIONS)
    several = (s for s in usable if s and all(n > 1 for n in s.values()))
    for sizes in itertools.islice(several, 1):
        yield from _combinations(rule, sizes, types, constants, MOST_OF_SEVERAL)
    for seed in range(RANDOM if usable else 0):
        drawn = random.Random(seed)
        sizes = drawn.choice(usable)
        found = _world(rule, sizes, types, partial(_number, drawn, constants), drawn)
        if found is not None:
            yield found


def difference(
    rule: Rule,
    tried: Iterable[tuple[World, Mapping[str, Value]]],
    same: Callable[[Value, Value], bool],
    where: str,
) -> Counterexample | None:
    """The first of some worlds in which the sides of a rule, where both have a value, differ; None where they do in none."""
    instances = Instances(rule)
    for world, data in tried:
        try:
            with np.errstate(all="ignore"):
                left, right = evaluate(rule.left, world), evaluate(rule.right, world)
        except Undefined:
            continue
        if not refines(left, right, same):
            return Counterexample(
                f"the sides differ in {where}",
                instances.equation(world.sizes),
                dict(world.sizes),
                {name: show_value(value) for name, value in data.items()},
                show_value(left),
                show_value(right),
            )
    return None


def _combinations(
    rule: Rule,
    sizes: Mapping[str, int],
    types: Mapping[str, Type],
    constants: Sequence[float],
    most: int,
) -> Iterator[tuple[World, dict[str, Value]]]:
    """Every combination of edges for the cells of the data, or so many of them."""
    counting: list[Scalar] = []

    def count(t: Scalar) -> Value:
        counting.append(t)
        return edges_of(t)[0]

    _world(rule, sizes, types, count, random.Random(0))
    edges = [edges_of(t, constants) for t in counting]
    for values in _some_of(edges, most):
        found = _world(rule, sizes, types, partial(_next_of, iter(values)), random.Random(0))
        if found is not None:
            yield found


def _some_of(options: Sequence[Sequence[Value]], most: int) -> Iterator[Sequence[Value]]:
    """One of each, in all ways, or in some that are drawn where there are too many."""
    if math.prod(map(len, options)) <= most:
        yield from itertools.product(*options)
        return
    drawn = random.Random(0)
    for _ in range(most):
        yield [drawn.choice(of) for of in options]


def _next_of(values: Iterator[Value], t: Scalar) -> Value:
    return next(values)


def _number(drawn: random.Random, constants: Sequence[float], t: Scalar) -> Value:
    """An edge, or any number of a moderate size."""
    if not t.is_float or drawn.random() < 0.1:
        return drawn.choice(edges_of(t, constants))
    return _cast(drawn.uniform(-100, 100), t)


def _cast(value: float, t: Scalar) -> Value:
    with np.errstate(over="ignore"):
        return DTYPES[t.name].type(value)


def _world(
    rule: Rule,
    sizes: Mapping[str, int],
    types: Mapping[str, Type],
    cell: Callable[[Scalar], Value],
    drawn: random.Random,
) -> tuple[World, dict[str, Value]] | None:
    """Metavariables with cells from `cell`; functions and operators of some meaning in floating point."""
    tables = draw_tables(rule, sizes, drawn.choice)
    if tables is None:
        return None

    def value(t: Type, leaf: Callable[[Scalar], Value]) -> Value:
        match substitute_type(t, types, {}):
            case Array(element, n) | Vector(element, n):
                return [value(element, leaf) for _ in range(n.evaluate(sizes))]
            case Tuple(parts):
                return tuple(value(part, leaf) for part in parts)
            case Scalar() as scalar:
                return leaf(scalar)
            case TypeVariable() as other:
                raise AssertionError(f"cannot happen: a cell of type {leaf_of(other)}")

    def scattered(name: str, result: Type) -> Callable[..., Value]:
        def f(*arguments: Value) -> Value:
            state = random.Random(f"{name} {show_value(list(arguments))}")
            return value(result, partial(_number, state, ()))

        return f

    found: dict[str, Any] = {}
    shown: dict[str, Value] = {}
    for name, kind in rule.parameters.items():
        match kind:
            case FunctionKind(_, result):
                found[name] = scattered(name, result)
            case OperatorKind(element):
                found[name] = scattered(name, element)
            case IndexKind():
                found[name] = looked_up(name, tables[name])
            case NatKind():
                pass
            case AnyType():
                found[name] = shown[name] = value(kind, cell)
    return World(sizes=sizes, metavariables=found, types=types), shown
