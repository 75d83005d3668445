"""Which updates are order-independent: a sum, a product, a minimum, a maximum, or of bits."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from relift.compiler.idioms.facts.values.terms import (
    Accumulator,
    Apply,
    Constant,
    Expression,
    Fold,
    Read,
    all_of,
    below,
    both,
    negation,
    select,
)

NEUTRAL = {"add": 0, "mul": 1, "bitwise_or": 0, "bitwise_xor": 0, "bitwise_and": -1}
OPERATORS = ("add", "mul", "minimum", "maximum", "bitwise_or", "bitwise_and", "bitwise_xor")
_LESS = {"lt": True, "le": True, "gt": False, "ge": False}


@dataclass(frozen=True)
class Combination:
    """`operator(accumulator, element)`; where `condition` does not hold, the accumulator stays."""

    operator: str
    element: Expression
    condition: Expression | None = None


def combination(update: Expression, accumulator: Expression) -> Combination | None:
    """How an update combines an accumulator with what does not depend on it, if it does.

    >>> from relift.compiler.idioms.facts.values.terms import Accumulator, Apply, Value
    >>> from relift.compiler.idioms.facts.values.folds import combination
    >>> s, x = Accumulator("s", "f32"), Value("x", "f32")
    >>> combination(Apply("add", (x, s), "f32"), s).operator
    'add'
    >>> combination(Apply("sub", (x, s), "f32"), s) is None
    True
    """
    if isinstance(update, Fold):
        return _nested(update, accumulator)
    if not isinstance(update, Apply) or not depends(update, accumulator):
        return None
    if update.function == "select":
        condition, yes, no = update.arguments
        return _selected(condition, yes, no, accumulator)
    if len(update.arguments) != 2:
        return None
    left, right = update.arguments
    if update.function == "sub" and not depends(right, accumulator):
        return _chain("add", left, Apply("neg", (right,), right.type), accumulator)
    if update.function not in OPERATORS:
        return None
    if not depends(right, accumulator):
        return _chain(update.function, left, right, accumulator)
    return None if depends(left, accumulator) else _chain(update.function, right, left, accumulator)


def _nested(update: Fold, accumulator: Expression) -> Combination | None:
    """A fold inside that goes on with the accumulator: the same operator all the way."""
    if len(update.names) != 1 or update.starts != (accumulator,):
        return None
    if depends(replace(update, starts=(Constant(0, update.type),)), accumulator):
        return None
    inner = combination(update.updates[0], Accumulator(update.name, update.type))
    if inner is None:
        return None
    start = neutral(inner.operator, update.type)
    return None if start is None else Combination(inner.operator, replace(update, starts=(start,)))


def neutral(operator: str, kind: str) -> Constant | None:
    """What combined with any value leaves it, where there is such a number of the type."""
    if operator in NEUTRAL:
        return constant(NEUTRAL[operator], kind) if kind != "boolean" else None
    if kind in ("f32", "f64"):
        return Constant(math.inf if operator == "minimum" else -math.inf, kind)
    ends = {"i32": 2**31, "i64": 2**63}
    if kind not in ends:
        return None
    return Constant(ends[kind] - 1 if operator == "minimum" else -ends[kind], kind)


def depends(e: Expression, on: Expression) -> bool:
    """Whether an expression contains another."""
    return any(inner == on for inner in all_of(e))


def _chain(
    operator: str, rest: Expression, element: Expression, accumulator: Expression
) -> Combination | None:
    """Several elements in a row are one; combined with each other first, where that is all the same."""
    if rest == accumulator:
        return Combination(operator, element)
    inner = combination(rest, accumulator)
    if inner is None or inner.operator != operator or inner.condition is not None:
        return None
    return Combination(operator, Apply(operator, (inner.element, element), element.type))


def _selected(
    condition: Expression, yes: Expression, no: Expression, accumulator: Expression
) -> Combination | None:
    if depends(condition, accumulator):
        return _extremum(condition, yes, no, accumulator)
    if no == accumulator or yes == accumulator:
        inner = combination(yes if no == accumulator else no, accumulator)
        if inner is None:
            return None
        holds = condition if no == accumulator else negation(condition)
        more = holds if inner.condition is None else both(holds, inner.condition)
        return Combination(inner.operator, inner.element, more)
    first, second = combination(yes, accumulator), combination(no, accumulator)
    if first is None or second is None or first.operator != second.operator:
        return None
    if first.condition is not None or second.condition is not None:
        return None
    return Combination(first.operator, select(condition, first.element, second.element))


def _extremum(
    condition: Expression, yes: Expression, no: Expression, accumulator: Expression
) -> Combination | None:
    """`x < acc ? x : acc`, and the other ways to say so; the rest of a condition selects."""
    if isinstance(condition, Apply) and condition.function == "bitwise_and":
        for test, guard in (condition.arguments, condition.arguments[::-1]):
            if not depends(guard, accumulator) and no == accumulator:
                inner = _extremum(test, yes, no, accumulator)
                if inner is not None and inner.condition is None:
                    return Combination(inner.operator, inner.element, guard)
        return None
    contrary = isinstance(condition, Apply) and condition.function == "bitwise_xor"
    if contrary:
        return _extremum(negation(condition), no, yes, accumulator)
    if not isinstance(condition, Apply) or condition.function not in _LESS:
        return None
    if yes == accumulator:
        element = no
    elif no == accumulator:
        element = yes
    else:
        return None
    left, right = condition.arguments
    if {left, right} != {element, accumulator} or depends(element, accumulator):
        return None
    chosen_is_left = (yes == element) == (left == element)
    less = _LESS[condition.function] == chosen_is_left
    return Combination("minimum" if less else "maximum", element)


def replaced(e: Expression, old: Expression, new: Expression) -> Expression:
    """An expression with another one for all occurrences of a part."""
    if e == old:
        return new
    if not below(e):
        return e
    if isinstance(e, Apply):
        return replace(e, arguments=tuple(replaced(a, old, new) for a in e.arguments))
    if isinstance(e, Read):
        return replace(e, computed=tuple((n, replaced(a, old, new)) for n, a in e.computed))
    return e


def constant(value: float, kind: str) -> Constant:
    """A number of a type."""
    return Constant(float(value) if kind in ("f32", "f64") else int(value), kind)
