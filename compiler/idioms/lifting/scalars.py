"""Expressions as terms of the language, where the cells that they read have been given as terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from relift.compiler.idioms.facts.names import Counter
from relift.compiler.idioms.facts.values.terms import (
    Accumulator,
    Apply,
    Constant,
    Expression,
    Fold,
    Index,
    Opaque,
    Read,
    Search,
    Value,
)
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.coercion import literal, scalar
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import BinaryOperator
from relift.semantics.syntax.types import SCALARS

MINIMUM = rl.operator(
    lambda x, y: rl.select(y < x, y, x),
    associative=True,
    commutative=True,
    idempotent=True,
    name="lesser",
)
MAXIMUM = rl.operator(
    lambda x, y: rl.select(y > x, y, x),
    associative=True,
    commutative=True,
    idempotent=True,
    name="greater",
)
"""As C says it, `if (y > x) x = y`: associative where nothing is NaN, which is a condition that stays."""
BITS = {
    name: rl.operator(
        lambda x, y, name=name: scalar(name, x, y),  # type: ignore[misc]
        associative=True, commutative=True, neutral=neutral, name=name,
    )
    for name, neutral in (("bitwise_or", 0), ("bitwise_and", -1), ("bitwise_xor", 0))
}  # fmt: skip
OPERATORS: Mapping[str, BinaryOperator] = {
    "add": rl.add, "mul": rl.mul, "minimum": MINIMUM, "maximum": MAXIMUM, **BITS,
}  # fmt: skip


@dataclass
class Scope:
    """What is known where an expression stands: cells, counters, accumulators, fixed values."""

    cells: Mapping[Read, Any]
    counters: Mapping[str, Any]
    accumulators: Mapping[str, Any]
    fixed: Callable[[str, str], Any]
    gather: Callable[[Read, Scope], Any]
    fold: Callable[[Fold | Search, Scope], Any]
    sizes: Mapping[str, Size] = field(default_factory=dict[str, Size])
    searched: Mapping[Search, Any] = field(default_factory=dict[Search, Any])
    """What searches leave whose results are used more than once."""

    def with_(
        self, *, cells: Mapping[Read, Any] | None = None, counters: Mapping[str, Any] | None = None,
        accumulators: Mapping[str, Any] | None = None, searched: Mapping[Search, Any] | None = None,
    ) -> Scope:  # fmt: skip
        """The scope with more that is known."""
        return Scope(
            {**self.cells, **(cells or {})},
            {**self.counters, **(counters or {})},
            {**self.accumulators, **(accumulators or {})},
            self.fixed, self.gather, self.fold, self.sizes, {**self.searched, **(searched or {})},
        )  # fmt: skip


def term_of(e: Expression, scope: Scope) -> Any:
    """An expression as a term; raises `Opaque`."""
    match e:
        case Constant(value, kind):
            if kind == "boolean":
                zero = literal(0, SCALARS["i32"])
                return rl.equal(zero, 0) if value else rl.not_equal(zero, 0)
            return literal(value, SCALARS[kind])
        case Value(name, kind):
            return scope.fixed(name, kind)
        case Index(size, kind):
            return _converted(integer(size, scope, {}), kind)
        case Read():
            return scope.cells[e] if e in scope.cells else scope.gather(e, scope)
        case Accumulator(name, _):
            if name not in scope.accumulators:
                raise Opaque("a value of another iteration is used where no fold carries it")
            return scope.accumulators[name]
        case Fold() | Search():
            return scope.fold(e, scope)
        case Apply(function, arguments, _):
            terms = [term_of(a, scope) for a in arguments]
            return _applied(function, terms, arguments)


def _applied(function: str, terms: list[Any], arguments: tuple[Expression, ...]) -> Any:
    if function == "bitwise_xor" and arguments[0].type == "boolean":
        return scalar("invert", terms[0])
    if function in OPERATORS and function not in ("add", "mul", "minimum", "maximum"):
        return scalar(function, *terms)
    if function == "select":
        return rl.select(*terms)
    return scalar(function, *terms)


def _converted(term: Any, kind: str) -> Any:
    return term if term.type == SCALARS[kind] else scalar(kind, term)


def integer(size: Size, scope: Scope, computed: Mapping[str, Any]) -> Any:
    """A polynomial over counters, fixed values and what is computed, as an i32."""
    total: Any = None
    for monomial, c in sorted(size.ordered(), key=lambda term: term[1] < 0):
        product: Any = None
        for atom, power in monomial:
            for _ in range(power):
                factor = _atom(str(atom), scope, computed)
                product = factor if product is None else product * factor
        many = abs(c)
        part = (
            literal(many, SCALARS["i32"])
            if product is None
            else product
            if many == 1
            else product * many
        )
        if total is None:
            total = part if c > 0 else -part
        else:
            total = total + part if c > 0 else total - part
    return literal(0, SCALARS["i32"]) if total is None else total


def _atom(name: str, scope: Scope, computed: Mapping[str, Any]) -> Any:
    if name in computed:
        return _converted(computed[name], "i32")
    if name in scope.counters:
        return scope.counters[name]
    if isinstance(name, Counter):
        raise Opaque("a counter is used outside of its loop")
    return scope.fixed(name, "i32")
