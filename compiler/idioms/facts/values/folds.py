"""Which updates are order-independent: a sum, a product, a minimum, a maximum, or of bits."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from relift.compiler.idioms.facts.values.narrow import interval
from relift.compiler.idioms.facts.values.terms import (
    Accumulator,
    Apply,
    Constant,
    Expression,
    Fold,
    Read,
    Search,
    all_of,
    below,
    both,
    constant,
    negation,
    select,
)

NEUTRAL = {"add": 0, "mul": 1, "bitwise_or": 0, "bitwise_xor": 0, "bitwise_and": -1}
OPERATORS = ("add", "mul", "minimum", "maximum", "bitwise_or", "bitwise_and", "bitwise_xor")
SATURATING = "saturating"
"""The name of what stops at a bound: it is done in turn."""
DIVISION = "div"
"""The name of a quotient by one number after the other: they may come in any order, and it is done in turn."""
CONTRARY = {
    "lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "equal": "not_equal", "not_equal": "equal",
}  # fmt: skip
_LESS = {"lt": True, "le": True, "gt": False, "ge": False}


@dataclass(frozen=True)
class Combination:
    """`operator(accumulator, element)`; where `condition` does not hold, the accumulator stays."""

    operator: str
    element: Expression
    condition: Expression | None = None
    mask: int | None = None
    """Where only the lowest bits of the result count: all of these."""


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
    if isinstance(update, Search):
        return _nested_search(update, accumulator)
    if not isinstance(update, Apply) or not depends(update, accumulator):
        return None
    if update.function == "select":
        condition, yes, no = update.arguments
        return _selected(condition, yes, no, accumulator)
    if len(update.arguments) != 2:
        return None
    if update.function == "bitwise_and" and (cut := _cut(update, accumulator)) is not None:
        return cut
    if update.function in ("minimum", "maximum") and (bound := _saturating(update, accumulator)):
        return bound
    left, right = update.arguments
    if update.function in ("sub", "div") and not depends(right, accumulator):
        divides = update.function == "div"
        element = right if divides else Apply("neg", (right,), right.type)
        return _chain(DIVISION if divides else "add", left, element, accumulator)
    if update.function not in OPERATORS:
        return None
    if not depends(right, accumulator):
        return _chain(update.function, left, right, accumulator)
    return None if depends(left, accumulator) else _chain(update.function, right, left, accumulator)


def _cut(update: Apply, accumulator: Expression) -> Combination | None:
    """A sum or a product of which the lowest bits are kept: those of the whole sum, however often it is cut."""
    inner, mask = update.arguments
    ones = int(mask.value) if isinstance(mask, Constant) else 0
    if ones < 1 or ones & (ones + 1) or not depends(inner, accumulator):
        return None
    found = combination(_uncut(inner, ones), accumulator)
    if found is None or found.operator not in ("add", "mul") or found.condition is not None:
        return None
    return replace(found, mask=ones)


def _uncut(e: Expression, ones: int) -> Expression:
    """A sum or a product without what keeps these bits, and perhaps more, of its parts."""
    if not isinstance(e, Apply):
        return e
    if e.function in ("add", "sub", "mul", "neg"):
        return replace(e, arguments=tuple(_uncut(a, ones) for a in e.arguments))
    if e.function == "bitwise_and" and isinstance(e.arguments[1], Constant):
        mask = int(e.arguments[1].value)
        if mask >= ones and mask & (mask + 1) == 0:
            return _uncut(e.arguments[0], ones)
    return e


def _saturating(update: Apply, accumulator: Expression) -> Combination | None:
    """A sum that stops at a bound, of steps that all lead towards it."""
    inner, bound = update.arguments
    if not isinstance(bound, Constant) or not isinstance(inner, Apply):
        return None
    found = combination(inner, accumulator)
    if found is None or found.operator != "add" or found.condition is not None:
        return None
    step = interval(found.element)
    towards = update.function == "minimum"
    if step is None or (step[0] < 0 if towards else step[1] > 0):
        return None
    return Combination(SATURATING, update)


def _nested(update: Fold, accumulator: Expression) -> Combination | None:
    """A fold inside that goes on with the accumulator: the same operator all the way."""
    if len(update.names) != 1 or update.starts != (accumulator,):
        return None
    if depends(replace(update, starts=(Constant(0, update.type),)), accumulator):
        return None
    inner = combination(update.updates[0], Accumulator(update.name, update.type))
    if inner is None or inner.mask is not None:
        return None
    start = neutral(inner.operator, update.type)
    if start is None:
        return None
    element: Expression = replace(update, starts=(start,))
    if inner.operator == DIVISION:
        element = Apply("div", (start, element), update.type)
    return Combination(inner.operator, element)


def _nested_search(update: Search, accumulator: Expression) -> Combination | None:
    """A search that goes on with the accumulator, which says nothing of what it does beside."""
    place = update.names.index(update.result)
    own = Accumulator(update.result, update.type)
    others = (*update.starts[:place], *update.starts[place + 1 :], update.test)
    beside = (*update.updates[:place], *update.updates[place + 1 :], *others)
    if update.starts[place] != accumulator or any(depends(e, accumulator) for e in beside):
        return None
    inner = combination(update.updates[place], own)
    if inner is None or inner.mask is not None or any(depends(e, own) for e in beside):
        return None
    start = neutral(inner.operator, update.type)
    if start is None or inner.operator == DIVISION:
        return None
    starts = (*update.starts[:place], start, *update.starts[place + 1 :])
    return Combination(inner.operator, replace(update, starts=starts))


def neutral(operator: str, kind: str) -> Constant | None:
    """What combined with any value leaves it, where there is such a number of the type."""
    if operator == SATURATING:
        return None
    if operator == DIVISION:
        return constant(1, kind)
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
    if inner is None or inner.condition is not None or inner.mask:
        return None
    if inner.operator == operator:
        together = "mul" if operator == DIVISION else operator
        return Combination(operator, Apply(together, (inner.element, element), element.type))
    if {inner.operator, operator} == {"mul", DIVISION} and element.type in ("f32", "f64"):
        by, times = (element, inner.element) if operator == DIVISION else (inner.element, element)
        return Combination(DIVISION, Apply("div", (by, times), element.type))
    return None


def _selected(
    condition: Expression, yes: Expression, no: Expression, accumulator: Expression
) -> Combination | None:
    if depends(condition, accumulator):
        stops = _stopping(condition, yes, no, accumulator)
        return stops or _extremum(condition, yes, no, accumulator)
    if no == accumulator or yes == accumulator:
        inner = _combined(yes if no == accumulator else no, accumulator)
        if inner is None:
            return None
        holds = condition if no == accumulator else negation(condition)
        more = holds if inner.condition is None else both(holds, inner.condition)
        return Combination(inner.operator, inner.element, more, inner.mask)
    first, second = _combined(yes, accumulator), _combined(no, accumulator)
    if first is None or second is None or first.operator != second.operator:
        return None
    if first.condition is not None or second.condition is not None or first.mask != second.mask:
        return None
    if first.operator == SATURATING:
        return None
    element = select(condition, first.element, second.element)
    return Combination(first.operator, element, mask=first.mask)


def _combined(update: Expression, accumulator: Expression) -> Combination | None:
    """A combination; a number that forgets the accumulator is one of its bits: with none, or with all."""
    if isinstance(update, Constant) and update.type in ("i32", "i64") and update.value in (0, -1):
        return Combination("bitwise_or" if update.value else "bitwise_and", update)
    return combination(update, accumulator)


def _stopping(
    condition: Expression, yes: Expression, no: Expression, accumulator: Expression
) -> Combination | None:
    """`acc < bound ? acc + step : acc`, where step and bound are numbers: one function, however often it is used.

    A further condition that does not ask for the accumulator selects when.
    """
    if isinstance(condition, Apply) and condition.function == "bitwise_xor":
        condition, yes, no = negation(condition), no, yes
    if yes == accumulator:
        contrary = CONTRARY.get(condition.function if isinstance(condition, Apply) else "")
        if contrary is None or not isinstance(condition, Apply):
            return None
        condition, yes, no = replace(condition, function=contrary), no, yes
    if no != accumulator or not isinstance(condition, Apply):
        return None
    if condition.function == "bitwise_and" and condition.type == "boolean":
        for test, guard in (condition.arguments, condition.arguments[::-1]):
            inner = None if depends(guard, accumulator) else _stopping(test, yes, no, accumulator)
            if inner is not None and inner.condition is None:
                return replace(inner, condition=guard)
        return None
    left, bound = condition.arguments if len(condition.arguments) == 2 else (None, None)
    step = combination(yes, accumulator)
    if left != accumulator or not isinstance(bound, Constant) or step is None:
        return None
    if condition.function not in CONTRARY or step.operator != "add" or step.condition is not None:
        return None
    is_one = isinstance(step.element, Constant)
    return Combination(SATURATING, select(condition, yes, no)) if is_one else None


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
    if isinstance(condition, Apply) and condition.function == "not_equal":
        if condition.arguments != (accumulator, accumulator):
            return None
        found = combination(no, accumulator)  # what is no number makes way
        return found if found is not None and found.element == yes else None
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
    return _replaced(e, old, new, {})


def _replaced(
    e: Expression, old: Expression, new: Expression, done: dict[int, Expression]
) -> Expression:
    """The same, where what several parts share is done once."""
    if id(e) not in done:
        done[id(e)] = new if e == old else _with_parts(e, old, new, done)
    return done[id(e)]


def _with_parts(
    e: Expression, old: Expression, new: Expression, done: dict[int, Expression]
) -> Expression:
    if isinstance(e, Apply):
        parts = tuple(_replaced(a, old, new, done) for a in e.arguments)
        same = all(a is b for a, b in zip(parts, e.arguments, strict=True))
        return e if same else replace(e, arguments=parts)
    if isinstance(e, Read) and e.computed:
        found = tuple((n, _replaced(a, old, new, done)) for n, a in e.computed)
        return replace(e, computed=found)
    if isinstance(e, Fold | Search):
        parts = tuple(_replaced(a, old, new, done) for a in below(e))
        return (
            e if all(a is b for a, b in zip(parts, below(e), strict=True)) else _refolded(e, parts)
        )
    return e


def _refolded(e: Fold | Search, parts: tuple[Expression, ...]) -> Fold | Search:
    """A loop inside with other parts, in their order."""
    if isinstance(e, Search):
        many = len(e.starts)
        return replace(e, starts=parts[:many], updates=parts[many:-1], test=parts[-1])
    many, names = len(e.starts), (name for name, _ in e.computed)
    computed = tuple(zip(names, parts[2 * many :], strict=True))
    return replace(e, starts=parts[:many], updates=parts[many : 2 * many], computed=computed)
