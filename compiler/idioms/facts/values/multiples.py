"""Expressions as sums of products.

>>> from relift.compiler.idioms.facts.values.multiples import factors, summands
>>> from relift.compiler.idioms.facts.values.terms import Apply, Value
>>> a, b, c = (Value(name, "f32") for name in "abc")
>>> product = Apply("mul", (a, Apply("neg", (b,), "f32")), "f32")
>>> [v.name for v in factors(product)], len(summands(Apply("sub", (product, c), "f32")))
(['a', 'b'], 2)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relift.compiler.idioms.facts.values.terms import Apply, Expression, Fold, Read
from relift.semantics.syntax.types import SCALARS


def factors(e: Expression) -> list[Expression]:
    """What is multiplied, whatever its sign and the type that it is brought to; what is divided by is a factor, too."""
    if isinstance(e, Apply):
        if e.function in ("mul", "div"):
            return [f for a in e.arguments for f in factors(a)]
        if e.function == "neg" or (e.function in SCALARS and e.function != "boolean"):
            return factors(e.arguments[0])
    return [e]


def summands(e: Expression) -> list[Expression]:
    """What is added or subtracted."""
    if isinstance(e, Apply):
        if e.function in ("add", "sub"):
            return [s for a in e.arguments for s in summands(a)]
        if e.function == "neg":
            return summands(e.arguments[0])
    return [e]


def is_multiple(
    e: Expression, of: Sequence[Expression], is_steady: Callable[[Expression], bool]
) -> bool:
    """Whether an expression is the product of some, once each, and of what is steady."""
    rest = factors(e)
    for wanted in of:
        for part in factors(wanted):
            if part not in rest:
                return False
            rest.remove(part)
    return all(map(is_steady, rest))


def is_scaled_fold(e: Expression, base: str, is_steady: Callable[[Expression], bool]) -> bool:
    """Whether an expression is one fold, perhaps scaled, and perhaps a cell of an array besides, scaled too."""
    folded = [s for s in summands(e) if any(isinstance(f, Fold) for f in factors(s))]
    if len(folded) != 1:
        return False
    for summand in summands(e):
        rest = factors(summand)
        kept = [f for f in rest if isinstance(f, Fold) or (isinstance(f, Read) and f.base == base)]
        if len(kept) != 1 or not all(is_steady(f) for f in rest if f is not kept[0]):
            return False
    return True
