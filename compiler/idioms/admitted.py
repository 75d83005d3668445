"""What a lifted program gives where its conditions hold.

The interpreter gives some programs a value where C gives none: a row that goes on behind its array ends there, a float that is too
large becomes the last whole number, and NaN is the greater of two.  The conditions say that none of it happens; here it is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from relift.compiler.idioms.lifting.conditions import About
from relift.semantics.domains import Numeric, Value
from relift.semantics.errors import Undefined
from relift.semantics.interpreter import World, evaluate
from relift.semantics.language.programs import Program
from relift.semantics.numpy_values import to_numpy
from relift.semantics.patterns.algorithmic import Generate
from relift.semantics.patterns.sequential import ReduceWhile
from relift.semantics.syntax.binding import map_children
from relift.semantics.syntax.nodes import rebuilt
from relift.semantics.syntax.terms import Term
from relift.semantics.syntax.types import INTEGERS

_COMPARING = ("lt", "le", "gt", "ge", "minimum", "maximum")
_FITS: Mapping[str, Callable[[float], bool]] = {
    "i32": lambda x: -(2.0**31) - 1 < x < 2.0**31,
    "i64": lambda x: -(2.0**63) <= x < 2.0**63,
}
"""Which floats become a whole number: C says of no others what they become."""


@dataclass(frozen=True)
class PartialNumeric(Numeric):
    """NumPy's scalars, and no value where what is asked of them does not hold."""

    asked: frozenset[About]

    def function(self, name: str) -> Callable[..., Value]:
        plain = super().function(name)
        if name in INTEGERS and "whole numbers" in self.asked:

            def whole(x: Value) -> Value:
                if isinstance(x, np.floating) and not _FITS[name](float(x)):
                    raise Undefined(f"{name}: {x} is no whole number of it")
                return plain(x)

            return whole
        if name in _COMPARING and "not a number" in self.asked:

            def comparing(*values: Value) -> Value:
                if any(isinstance(x, np.floating) and np.isnan(x) for x in values):
                    raise Undefined(f"{name}: NaN is compared")
                return plain(*values)

            return comparing
        return plain


def conditional(program: Program, given: Mapping[str, Value], asked: frozenset[About]) -> Any:
    """What a program of known sizes gives; raises `Undefined` where what is asked fails, or a row goes on behind its array."""
    world = World(inputs=given, domain=PartialNumeric(asked))
    with np.errstate(all="ignore"):
        found = evaluate(_a_step_further(program.body), world)
    return to_numpy(found, program.body.type)


def _a_step_further(t: Term) -> Term:
    """A term whose folds that data end may take one step more than there are cells: none does where rows end inside."""
    t = map_children(t, _a_step_further, lambda f: replace(f, body=_a_step_further(f.body)))
    if isinstance(t, ReduceWhile) and isinstance(t.xs, Generate):
        return rebuilt(t, (t.f, t.p, t.init, rebuilt(t.xs, (t.xs.n + 1, t.xs.f))))
    return t
