"""How many operations on numbers a program takes, as the interpreter counts them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from relift.compiler.agreement.comparison import in_reach
from relift.compiler.agreement.inputs import whole_inputs
from relift.semantics.domains import Numeric
from relift.semantics.errors import ReliftError, Unsupported
from relift.semantics.interpreter import World, evaluate
from relift.semantics.language.programs import Program
from relift.semantics.numpy_values import from_numpy

SMALL = (8, 16, 12, 32)
"""Sizes at which it is counted; at others, the count grows with each size as it does between one and its double."""


class Counting(Numeric):
    """NumPy's scalars, and how often something was computed of them."""

    def __init__(self) -> None:
        self.count = 0

    def function(self, name: str) -> Callable[..., Any]:
        meaning = super().function(name)

        def counted(*arguments: Any) -> Any:
            self.count += 1
            return meaning(*arguments)

        return counted


def operations(program: Program, sizes: Mapping[str, int]) -> float:
    """The operations of a program at given sizes; 0 where it cannot be counted at small ones.

    >>> from relift.web.operations import operations
    >>> from relift.web.printed import program_of
    >>> p = program_of("d(x: f32[n], y: f32[n]) = reduce(add, 0.0, map(lambda p: p[0] * p[1], zip(x, y)))")
    >>> operations(p, {"n": 1 << 20}) == 2 << 20
    True
    """
    for each in SMALL:
        small = {name: max(each, least) for name, least in program.least_sizes.items()}
        try:
            count = float(_counted(program, small))
            for name, n in sizes.items():
                doubled = _counted(program, {**small, name: 2 * small[name]})
                if count and doubled and n != small[name]:
                    growth = math.log2(doubled / _counted(program, small))
                    count *= (n / small[name]) ** growth
        except ReliftError:
            continue
        return count
    return 0.0


def _counted(program: Program, sizes: Mapping[str, int]) -> int:
    at = program.at(sizes)
    if not in_reach(at):
        raise Unsupported("it is too large to be counted")
    inputs = zip(at.parameters, whole_inputs(at, 0), strict=True)
    domain = Counting()
    values = {p.name: from_numpy(a, p.type) for p, a in inputs}
    evaluate(at.body, World(inputs=values, domain=domain))
    return domain.count
