"""What a rule keeps of floating point: whether its sides are the same bits, and if not, why not.

A rule that only moves data, with functions and operators of any meaning, keeps every bit where free symbols
agree.  A rule with arithmetic of its own is run: on all combinations of values at the edges of the format (signed
zeros, infinities, NaN, the smallest and the largest numbers) and on random ones, in single precision, its sides
compared bit by bit.  What differs is told by its cause:

    needs reassociation   the sides do the same in another order, and so round in other places
    needs contraction     fma rounds once where a product and a sum round twice
    rounds differently    the sides do different things, which only exact numbers make equal
    not exact at ...      they differ where a NaN or an infinity is given, where a division by zero or an overflow
                          makes one, or in the sign of a zero
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from typing import Literal as Choice

import numpy as np

from relift.rewrites.checks.instances import show_value
from relift.rewrites.checks.random.edges import worlds
from relift.rewrites.checks.verdicts import FloatVerdict, TierResult
from relift.rewrites.rule import Rule
from relift.semantics.domains import Numeric, Value
from relift.semantics.errors import Undefined
from relift.semantics.interpreter import World, evaluate
from relift.semantics.syntax import terms
from relift.semantics.syntax.types import Scalar, Type, components_of

Cause: TypeAlias = Choice[
    "NaN", "an infinity", "-0.0", "x / 0", "overflow", "contraction", "reassociation", "rounding"
]
"""Why two sides differ, what is given before what arises."""


def float_verdict(rule: Rule, results: Sequence[TierResult]) -> FloatVerdict | None:
    """What a rule keeps of floating point; None of a rule without floats, or when nothing is known.

    >>> from relift.rewrites.checks.floating import float_verdict
    >>> from relift.rewrites.library import RULES
    >>> float_verdict(RULES["reduce_join"], ())
    'needs reassociation'
    """
    if not (rule.types or _has_floats(rule)):
        return None
    if rule.needs_reassociation:
        return "needs reassociation"
    if any(r.tier == "3" and r.status == "ok" for r in results):
        return "bit-exact"  # whatever the functions and operators are
    if not _has_arithmetic(rule) or rule.calls_user_functions:
        return None
    return _by_running(rule)


def _types(rule: Rule) -> Iterator[Type]:
    for side in (rule.left, rule.right):
        yield from (t.type for t, _ in terms.subterms(side))


def _has_floats(rule: Rule) -> bool:
    return any(
        isinstance(t, Scalar) and t.is_float
        for whole in _types(rule)
        for t, _ in components_of(whole)
    )


def _has_arithmetic(rule: Rule) -> bool:
    """Whether a rule computes by itself, with functions that have a meaning."""
    for t in (t for side in (rule.left, rule.right) for t, _ in terms.subterms(side)):
        operator = terms.operator_of(t)
        if isinstance(t, terms.Apply) or (
            operator is not None and isinstance(terms.innermost(operator), terms.BinaryOperator)
        ):
            return True
    return False


@dataclass(frozen=True)
class _Differs:
    """An input at which the sides are not the same bits."""

    cause: Cause
    data: str
    left: str
    right: str


def _by_running(rule: Rule) -> FloatVerdict | None:
    found: dict[Cause, _Differs] = {}
    ran = 0
    for world, given in worlds(rule):
        watched = _Watched()
        at = World(world.sizes, {}, world.metavariables, watched, world.types)
        try:
            with np.errstate(all="ignore"):
                left, right = evaluate(rule.left, at), evaluate(rule.right, at)
        except Undefined:
            continue
        ran += 1
        if _same_bits(left, right):
            continue
        cause = "-0.0" if _equal(left, right) else _cause(rule, given, watched)
        if cause not in found:
            shown = ", ".join(f"{name} = {show_value(value)}" for name, value in given.items())
            found[cause] = _Differs(cause, shown, show_value(left), show_value(right))
    if not ran:
        return None
    return _told(found)


_ORDER: tuple[Cause, ...] = (
    "reassociation", "contraction", "rounding", "x / 0", "overflow", "an infinity", "NaN", "-0.0",
)  # fmt: skip


_ROUNDING: Mapping[Cause, str] = {
    "reassociation": "needs reassociation",
    "contraction": "needs contraction",
    "rounding": "rounds differently",
}


def _told(found: Mapping[Cause, _Differs]) -> FloatVerdict:
    """The causes, the gravest first, and an example of it."""
    if not found:
        return "bit-exact"
    parts = [told for cause, told in _ROUNDING.items() if cause in found]
    special = [cause for cause in _ORDER if cause in found and cause not in _ROUNDING]
    parts += [f"not exact at {', '.join(special)}"] if special else []
    first = next(found[cause] for cause in _ORDER if cause in found)
    where = f"{first.data}: " if len(first.data) < 80 and first.data else ""
    return f"{'; '.join(parts)} ({where}{first.left[:40]} and {first.right[:40]})"


def _cause(rule: Rule, given: Mapping[str, Value], watched: _Watched) -> Cause:
    values = [x for value in given.values() for x in _cells(value)]
    floats = [float(x) for x in values if isinstance(x, np.floating)]
    if any(np.isnan(x) for x in floats):
        return "NaN"
    if any(np.isinf(x) for x in floats):
        return "an infinity"
    if watched.divided_by_zero:
        return "x / 0"
    if watched.overflowed:
        return "overflow"
    left, right = _operations(rule.left), _operations(rule.right)
    if "fma" in left | right:
        return "contraction"
    return "reassociation" if left == right else "rounding"


def _operations(t: terms.Term) -> Counter[str]:
    """What a side computes with, and how often."""
    found: Counter[str] = Counter()
    for u, _ in terms.subterms(t):
        match u:
            case terms.Apply(name) | terms.Metavariable(name):
                found[name] += 1
            case terms.Combine(op):
                found[terms.innermost(op).name] += 1
            case terms.Literal(value):
                found[repr(value)] += 1
            case (
                terms.Var() | terms.Input() | terms.Call() | terms.MakeTuple() | terms.Get()
                | terms.Pattern()
            ):  # fmt: skip
                pass
    return found


class _Watched(Numeric):
    """Single precision, noticing where a special value arises from others."""

    def __init__(self) -> None:
        self.divided_by_zero = self.overflowed = False

    def function(self, name: str) -> Callable[..., Value]:
        compute = super().function(name)

        def watched(*arguments: Value) -> Value:
            result = compute(*arguments)
            if isinstance(result, np.floating) and not np.isfinite(result):
                finite = all(np.isfinite(x) for x in arguments if isinstance(x, np.floating))
                if finite and name == "div" and arguments[1] == 0:
                    self.divided_by_zero = True
                elif finite:
                    self.overflowed = True
            return result

        return watched


def _same_bits(x: Value, y: Value) -> bool:
    """Equality of values bit by bit; one NaN is like another."""
    if isinstance(x, list | tuple) and isinstance(y, list | tuple):
        return len(x) == len(y) and all(map(_same_bits, x, y))
    if isinstance(x, np.floating) and isinstance(y, np.floating):
        if np.isnan(x) or np.isnan(y):
            return bool(np.isnan(x) and np.isnan(y))
        return bool(x == y and np.signbit(x) == np.signbit(y))
    return bool(x == y)


def _equal(x: Value, y: Value) -> bool:
    """Equality of values in which zero has no sign; one NaN is like another."""
    pairs = zip(_cells(x), _cells(y), strict=True)
    return all(a == b or (np.isnan(a) and np.isnan(b)) for a, b in pairs)


def _cells(value: Value) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        for part in value:
            yield from _cells(part)
    else:
        yield value
