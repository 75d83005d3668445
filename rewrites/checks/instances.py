"""Instances of a rule: the sizes it may take, and whether its two sides agree in one world.

A world says what every metavariable stands for; `free` makes one of symbols, `models` one of numbers.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from relift.rewrites.checks.verdicts import Counterexample
from relift.rewrites.metavariables import named_sizes
from relift.rewrites.rule import Rule
from relift.semantics.domains import Value
from relift.semantics.errors import ReliftError, Undefined
from relift.semantics.interpreter import World, evaluate, fits
from relift.semantics.notation.printer import show
from relift.semantics.syntax.signatures import FunctionKind, IndexKind, Kind, NatKind, OperatorKind
from relift.semantics.syntax.sizes import Size, is_bound
from relift.semantics.syntax.substitution import at_sizes
from relift.semantics.syntax.terms import Pattern, subterms
from relift.semantics.syntax.types import AnyType, Type, cells, type_sizes


def kind_types(kind: Kind) -> tuple[Type, ...]:
    """The types that the kind of a metavariable mentions."""
    match kind:
        case FunctionKind(arguments, result):
            return (*arguments, result)
        case OperatorKind(element):
            return (element,)
        case NatKind() | IndexKind():
            return ()
        case AnyType():
            return (kind,)


_NUMBER = re.compile(r"(?<![\w.])\d{1,4}(?![\w.])")

MOST_NUMBERS = 4
"""Beside this many numbers of a rule, the smallest, sizes are tried."""


class Instances:
    """The sizes that a rule may take; what depends on the rule alone is found once."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        terms = [t for side in (rule.left, rule.right) for t, _ in subterms(side)]
        self.dimensions = frozenset(
            name
            for t in terms
            if isinstance(t, Pattern)
            for parameter, kind in t.signature.parameters.items()
            if isinstance(kind, NatKind) and kind.role == "dimension"
            for name in getattr(t, parameter).names()
        )
        written = {
            n for kind in rule.parameters.values() for t in kind_types(kind) for n in type_sizes(t)
        }
        written |= {k.length for k in rule.parameters.values() if isinstance(k, IndexKind)}
        written |= {n for t in terms for n in (*type_sizes(t.type), *named_sizes(t))}
        self.naturals = [n for n in written if not n.surely_at_least(0) and not is_bound(n)]
        self._cells = [n for n in {cells(t.type) for t in terms} if not is_bound(n)]
        self._result_cells = cells(rule.left.type)

    def assignments(self, bound: int) -> Iterator[dict[str, int]]:
        """Every admissible assignment of sizes up to a bound, by rising total.

        A size that must be at least the bound is tried at its two smallest values.  One that names a dimension
        of OpenCL changes no value and is always 0.
        """
        names = self.rule.sizes
        first = [self.least(name) for name in names]
        limits = [
            0 if name in self.dimensions else max(bound - least, 1 if least else 0)
            for name, least in zip(names, first, strict=True)
        ]
        for total in range(sum(limits) + 1):
            for values in _with_total(limits, total):
                sizes = {n: a + b for n, a, b in zip(names, first, values, strict=True)}
                if self.admissible(sizes):
                    yield sizes

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """The numbers that the rule's equation names and that a size could be compared with."""
        found = {int(text) for text in _NUMBER.findall(self.rule.equation())}
        return tuple(sorted(found - set(range(4))))[:MOST_NUMBERS]

    def near_numbers(self, bound: int) -> Iterator[dict[str, int]]:
        """Admissible sizes of which one is beside a number of the rule, and the others as small as can be.

        Sizes up to a bound never meet the other half of a rule that says `i // 1000`.
        """
        names = [name for name in self.rule.sizes if name not in self.dimensions]
        least = {name: self.least(name) for name in self.rule.sizes}
        for number in self.numbers:
            for name, beside in itertools.product(names, (number - 1, number, number + 1)):
                if beside <= max(bound, least[name]):
                    continue
                for others in (0, 1, 2):
                    sizes = {
                        n: max(k, 0 if n in self.dimensions else others) for n, k in least.items()
                    }
                    sizes[name] = beside
                    if self.admissible(sizes):
                        yield sizes

    def admissible(self, sizes: Mapping[str, int]) -> bool:
        """Whether the sizes are such as the rule speaks of: nothing negative, nothing below its least value."""
        return all(bound.holds(sizes) for bound in self.rule.lower_bounds) and all(
            n.evaluate(sizes) >= 0 for n in self.naturals
        )

    def least(self, name: str) -> int:
        """The smallest value that a size variable may have."""
        stated = self.rule.least.get(name, 0)
        return max(stated, int(Size.atom(name) in self.rule.positive))

    def largest(self, sizes: Mapping[str, int]) -> int:
        """How many cells the largest array of either side has."""
        return max(n.evaluate(sizes) for n in self._cells)

    def result_cells(self, sizes: Mapping[str, int]) -> int:
        """How many cells the result has."""
        return self._result_cells.evaluate(sizes)

    def equation(self, sizes: Mapping[str, int]) -> str:
        """The rule with these sizes filled in."""
        values = {name: Size.of(value) for name, value in sizes.items()}
        try:
            left, right = at_sizes(self.rule.left, values), at_sizes(self.rule.right, values)
        except ReliftError:  # a size that only makes sense as a name, such as a dimension
            return self.rule.equation()
        one_line = f"{show(left, width=1000)} {self.rule.sign} {show(right, width=1000)}"
        return (
            one_line if len(one_line) <= 90 else f"{show(left)}\n  {self.rule.sign}\n{show(right)}"
        )


def _with_total(limits: Sequence[int], total: int) -> Iterator[tuple[int, ...]]:
    if not limits:
        if total == 0:
            yield ()
        return
    for first in range(min(limits[0], total) + 1):
        for rest in _with_total(limits[1:], total - first):
            yield (first, *rest)


@dataclass(frozen=True)
class Difference:
    """How the two sides fail to agree; a value is None where a side has none."""

    obligation: str
    left: Value | None
    right: Value | None


def compare(
    rule: Rule,
    world: World,
    covers: Callable[[Value, Value], bool],
    result: Type | None = None,
) -> Difference | None:
    """Evaluate both sides; None when they are defined, of the shape of their type, and agree.

    A rule says that its sides have values at the same inputs: one that has none where the other has one is a
    difference.  Where neither has one, nothing was compared, and `Undefined` is raised.

    `covers(x, y)`: for every content of the unspecified cells of y, x has one that makes them equal.  The left side
    of a rule covers the right; of an equation, the right also the left.
    """
    values: dict[str, Value] = {}
    missing: dict[str, str] = {}
    for side, t in (("left", rule.left), ("right", rule.right)):
        try:
            values[side] = evaluate(t, world)
        except (Undefined, IndexError, ValueError) as error:
            missing[side] = error.message if isinstance(error, ReliftError) else str(error)
    if len(missing) == 2:
        raise Undefined(f"neither side has a value: {missing['left']}", place="")
    for side, why in missing.items():
        return Difference(
            f"the {side} side is undefined: {why}", values.get("left"), values.get("right")
        )
    expected = rule.left.type if result is None else result
    left, right = values["left"], values["right"]
    for side, value in values.items():
        if not fits(value, expected, world.size):
            return Difference(f"the {side} side is not of the shape {expected}", left, right)

    def agree(x: Value, y: Value) -> bool:
        return covers(x, y) and (rule.refinement or covers(y, x))

    if agree(left, right):
        return None
    place = first_difference(left, right, agree)
    return Difference("the sides differ" + (f", first at {place}" if place else ""), left, right)


def first_difference(left: Value, right: Value, equal: Callable[[Value, Value], bool]) -> str:
    """The place of the first cell that differs, such as `[0][2]`; empty for single values."""
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        for i, (x, y) in enumerate(zip(left, right, strict=False)):
            if not equal(x, y):
                return f"[{i}]" + first_difference(x, y, equal)
    return ""


def show_value(value: Value) -> str:
    """A value as text: lists in brackets, tuples in parentheses, numbers without their NumPy type."""
    match value:
        case list():
            return f"[{', '.join(map(show_value, value))}]"
        case tuple():
            return f"({', '.join(map(show_value, value))})"
        case Fraction():
            return str(value)
        case np.generic():
            return repr(value.item())
        case _:
            return repr(value)


def counterexample(
    instances: Instances, sizes: Mapping[str, int], data: Mapping[str, str], found: Difference
) -> Counterexample:
    """What a person is shown of a difference."""
    return Counterexample(
        found.obligation,
        instances.equation(sizes),
        dict(sizes),
        dict(data),
        "" if found.left is None else show_value(found.left),
        "" if found.right is None else show_value(found.right),
    )
