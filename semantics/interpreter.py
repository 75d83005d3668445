"""The interpreter: what a term means, over any domain of elements.

It is one piece of code over three domains: NumPy scalars, exact integers and rationals, and free symbols
(see `rewrites.free`).  A domain says only what literals, scalar functions and declared operators are; all
patterns come from their own `meaning`.  A term is first turned into a Python function of its environment,
and then run: slow beside compiled code, and obviously the definition.
"""

from __future__ import annotations

import hashlib
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from relift.semantics.errors import Undefined
from relift.semantics.scalars import IRRATIONAL, SCALAR_FUNCTIONS
from relift.semantics.sizes import Size
from relift.semantics.terms import (
    Apply,
    BinaryOperator,
    Call,
    Combine,
    Get,
    Input,
    Lambda,
    Literal,
    MakeTuple,
    Metavariable,
    Operator,
    OperatorMetavariable,
    Pattern,
    Term,
    UserFunction,
    Var,
    Vectorized,
)
from relift.semantics.tracing import trace
from relift.semantics.types import Array, Scalar, Tuple, Type, Vector

Value: TypeAlias = Any
"""An element of the domain, a list of values (array or vector), or a tuple of values."""

Environment: TypeAlias = dict[str, Value]


class Numeric:
    """NumPy scalars, in the precision of their type."""

    def literal(self, value: float, t: Type) -> Value:
        assert isinstance(t, Scalar), "cannot happen: a literal is a scalar"
        return DTYPES[t.name].type(value)

    def apply(self, function: str, arguments: list[Value]) -> Value:
        with np.errstate(over="ignore", invalid="ignore"):
            return SCALAR_FUNCTIONS[function].meaning(*arguments)

    def call(self, function: UserFunction, arguments: list[Value]) -> Value:
        """A user function that is opaque C: what its Python twin says."""
        return function.twin(*arguments)


class Exact(Numeric):
    """Exact integers and rationals, whatever the type says.

    Functions that leave the rationals (`sqrt`, `exp`, ...) are uninterpreted: each argument gets a rational
    of its own.  No rule knows more of them than that equal arguments give equal results.
    """

    def apply(self, function: str, arguments: list[Value]) -> Value:
        if function in IRRATIONAL:
            digest = hashlib.sha256(repr((function, *map(Fraction, arguments))).encode()).digest()
            return Fraction(int.from_bytes(digest[:4], "big"), 1 << 16)
        return super().apply(function, arguments)

    def literal(self, value: float, t: Type) -> Value:
        if isinstance(value, int) or not math.isfinite(value):
            return value  # an infinity compares with rationals as it should
        return Fraction(value)


DTYPES: dict[str, np.dtype[Any]] = {
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "boolean": np.dtype(np.bool_),
}


@dataclass(frozen=True)
class World:
    """All that a term needs besides its variables: sizes, inputs, metavariables, and the domain."""

    sizes: Mapping[str, int] = field(default_factory=dict)
    inputs: Mapping[str, Value] = field(default_factory=dict)
    metavariables: Mapping[str, Value] = field(default_factory=dict)
    domain: Numeric = field(default_factory=Numeric)

    def size(self, n: Size) -> int:
        return n.evaluate(self.sizes)


def evaluate(t: Term, world: World) -> Value:
    """The meaning of a term without free variables.

    >>> xs = Input("xs", i32[3])
    >>> t = parse("reduce(add, 0, map(lambda x: x * x, xs))", xs=xs)
    >>> evaluate(t, World(inputs={"xs": [1, 2, 3]}, domain=Exact()))
    14
    """
    return denote(t, world)({})


def denote(t: Term, world: World) -> Callable[[Environment], Value]:
    """The meaning of `t` as a function of the values of its free variables."""
    match t:
        case Var(name):
            return lambda env: env[name]
        case Input(name):
            value = world.inputs[name]
            return lambda env: value
        case Literal(number, scalar):
            constant = world.domain.literal(number, scalar)
            return lambda env: constant
        case Apply(function, arguments):
            parts = [denote(u, world) for u in arguments]
            apply = world.domain.apply
            return lambda env: apply(function, [part(env) for part in parts])
        case Call(user, arguments):
            parts = [denote(u, world) for u in arguments]
            if user.body is not None:
                traced = _denote_lambda(user.body, world)({})
                return lambda env: traced(*[part(env) for part in parts])
            call = world.domain.call
            return lambda env: call(user, [part(env) for part in parts])
        case Combine(operator, left, right):
            op = denote_operator(operator, left.type, world)
            x, y = denote(left, world), denote(right, world)
            return lambda env: op(x(env), y(env))
        case MakeTuple(terms):
            parts = [denote(u, world) for u in terms]
            return lambda env: tuple(part(env) for part in parts)
        case Get(index, of):
            whole = denote(of, world)
            return lambda env: whole(env)[index]
        case Metavariable(name, arguments):
            unknown = world.metavariables[name]
            if not arguments:
                return lambda env: unknown
            parts = [denote(u, world) for u in arguments]
            return lambda env: unknown(*[part(env) for part in parts])
        case Pattern():
            return _denote_pattern(t, world)


def _denote_pattern(t: Pattern, world: World) -> Callable[[Environment], Value]:
    known: dict[str, Value] = {}
    terms: dict[str, Callable[[Environment], Value]] = {}
    lambdas: dict[str, Callable[[Environment], Callable[..., Value]]] = {}
    for name in inspect.signature(t.meaning).parameters:
        field_value = getattr(t, name, None)
        if field_value is None:
            known[name] = world.size(t.solved[name])
        elif isinstance(field_value, Size):
            known[name] = world.size(field_value)
        elif isinstance(field_value, Lambda):
            lambdas[name] = _denote_lambda(field_value, world)
        elif isinstance(field_value, BinaryOperator | OperatorMetavariable | Vectorized):
            known[name] = denote_operator(field_value, t.type, world)
        else:
            terms[name] = denote(field_value, world)
    for size in t.signature.positive:
        value = size.substitute({"?" + n: s for n, s in t.solved.items()})
        if world.size(value) < 1:
            raise Undefined(f"{t.name}: {value} must be at least 1, but is {world.size(value)}")
    meaning = t.meaning

    def run(env: Environment) -> Value:
        values = {name: term(env) for name, term in terms.items()}
        functions = {name: function(env) for name, function in lambdas.items()}
        return meaning(**known, **values, **functions)

    return run


def _denote_lambda(f: Lambda, world: World) -> Callable[[Environment], Callable[..., Value]]:
    body = denote(f.body, world)
    names = [x.name for x in f.parameters]
    if len(names) == 1:
        (name,) = names
        return lambda env: lambda x: body({**env, name: x})
    return lambda env: lambda *xs: body({**env, **dict(zip(names, xs, strict=True))})


def denote_operator(
    operator: Operator, element: Type, world: World
) -> Callable[[Value, Value], Value]:
    """The meaning of an operator on values of type `element`."""
    match operator:
        case OperatorMetavariable(name):
            unknown: Callable[[Value, Value], Value] = world.metavariables[name]
            return unknown
        case Vectorized(_, inner):
            assert isinstance(element, Vector), "cannot happen: vectorize works on vectors"
            op = denote_operator(inner, element.element, world)
            return lambda x, y: [op(p, q) for p, q in zip(x, y, strict=True)]
        case BinaryOperator():
            f = _denote_lambda(operator_lambda(operator, element), world)({})
            return lambda x, y: f(x, y)


def operator_lambda(operator: BinaryOperator, element: Type) -> Lambda:
    """The function that an operator abbreviates, on a given type."""
    return trace(lambda x, y: operator.function(x, y), [element, element], element)


def fits(value: Value, t: Type, size: Callable[[Size], int]) -> bool:
    """Whether a value has the shape that its type promises."""
    match t:
        case Array(element, n) | Vector(element, n):
            return (
                isinstance(value, list)
                and len(value) == size(n)
                and all(fits(x, element, size) for x in value)
            )
        case Tuple(parts):
            return isinstance(value, tuple) and all(
                fits(x, part, size) for x, part in zip(value, parts, strict=True)
            )
        case _:
            return not isinstance(value, list)


def from_numpy(array: Any, t: Type) -> Value:
    """A NumPy array (for an array of tuples: a tuple of arrays) as nested lists of NumPy scalars."""
    match t:
        case Tuple(parts):
            return tuple(from_numpy(x, part) for x, part in zip(array, parts, strict=True))
        case Array(element, _) | Vector(element, _):
            if isinstance(array, tuple):
                columns = [
                    from_numpy(x, Array(part, t.length if isinstance(t, Array) else t.width))
                    for x, part in zip(array, _tuple_parts(element), strict=True)
                ]
                return _zipped(columns, element)
            return [from_numpy(x, element) for x in array]
        case Scalar(name):
            return DTYPES[name].type(array)
        case _:
            raise AssertionError(f"cannot happen: a value of type {t}")


def _zipped(columns: list[Value], element: Type) -> Value:
    """Arrays of components as one array of tuples, however deep the tuples lie."""
    rows = zip(*columns, strict=True)
    if isinstance(element, Array | Vector):
        return [_zipped(list(row), element.element) for row in rows]
    return list(rows)


def to_numpy(value: Value, t: Type) -> Any:
    """The inverse of `from_numpy`: arrays of scalars become NumPy arrays, arrays of tuples tuples of arrays."""
    match t:
        case Tuple(parts):
            return tuple(to_numpy(x, part) for x, part in zip(value, parts, strict=True))
        case Scalar(name):
            return DTYPES[name].type(value)
        case Array(Tuple(parts), n):
            return tuple(
                to_numpy([x[i] for x in value], Array(part, n)) for i, part in enumerate(parts)
            )
        case Array(element, _) | Vector(element, _):
            rows = [to_numpy(x, element) for x in value]
            if rows and isinstance(rows[0], tuple):
                return tuple(np.stack(column) for column in zip(*rows, strict=True))
            return np.array(rows, dtype=DTYPES[str(_scalar_below(element))])
        case _:
            raise AssertionError(f"cannot happen: a value of type {t}")


def _tuple_parts(t: Type) -> tuple[Type, ...]:
    if isinstance(t, Tuple):
        return t.parts
    if isinstance(t, Array):
        return tuple(Array(part, t.length) for part in _tuple_parts(t.element))
    raise AssertionError(f"cannot happen: {t} holds no tuple")


def _scalar_below(t: Type) -> Scalar:
    while isinstance(t, Array | Vector):
        t = t.element
    assert isinstance(t, Scalar), f"cannot happen: {t} is stored as one array"
    return t
