"""The interpreter: what a term means, over any domain of elements.

It is one piece of code over three domains: NumPy scalars, exact integers and rationals, and free symbols
(see `rewrites.free`).  A domain says only what literals, scalar functions and declared operators are; all
patterns come from their own `meaning`.  A term is first turned into a Python function of its environment,
and then run: slow beside compiled code, and obviously the definition.  A term that stands in a program k times
as one Python object is computed once for the same values of its variables, as compiled code computes it.

Every value is defined, unless this raises `Undefined`:

NaN, infinities, signed zeros, integer overflow, division by zero    as the table in `scalars` says; nothing
    is flushed, reordered or guarded.
an empty array      a pattern's definition at length 0: `reduce` is its initial value, `transpose` of no rows
    is empty columns, an empty result keeps the shape of its type.  What needs an element, such as the
    border of `pad` with `clamp`, is refused when the length is known and `Undefined` when it turns out 0.
a cell of `pad_empty`      `UNSPECIFIED`: what arithmetic computes from it is unspecified, too, and a branch or
    an index that depends on it is `Undefined`.  In a NumPy result it is NaN, or 0 where there is no NaN.
a size below the least value that it states (1, unless `least=0`)    refused when a program is called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import TypeAlias

import numpy as np

from relift.semantics.domains import UNSPECIFIED, Numeric, Value
from relift.semantics.errors import Undefined
from relift.semantics.indices.functions import LiteralParameter
from relift.semantics.language.tracing import trace
from relift.semantics.syntax import terms
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.types import (
    Array,
    Scalar,
    Tuple,
    Type,
    TypeVariable,
    Vector,
    holds_array,
    i32,
)

_Application: TypeAlias = terms.Apply | terms.Call | terms.Combine | terms.Metavariable


@dataclass(frozen=True)
class World:
    """All that a term needs besides its variables: sizes, inputs, metavariables, and the domain.

    `types` says what type variables stand for that do not stand for single elements of the domain.
    """

    sizes: Mapping[str, int] = field(default_factory=dict)
    inputs: Mapping[str, Value] = field(default_factory=dict)
    metavariables: Mapping[str, Value] = field(default_factory=dict)
    domain: Numeric = field(default_factory=Numeric)
    types: Mapping[str, Type] = field(default_factory=dict)

    def size(self, n: Size) -> int:
        return n.evaluate(self.sizes)

    def unspecified(self, t: Type) -> Value:
        """A value of type t, each cell of which is left open."""
        match t:
            case Array(element, n) | Vector(element, n):
                return [self.unspecified(element) for _ in range(self.size(n))]
            case Tuple(parts):
                return tuple(self.unspecified(part) for part in parts)
            case TypeVariable(name) if self.types.get(name, t) != t:
                return self.unspecified(self.types[name])
            case Scalar() | TypeVariable():
                return self.domain.unspecified()


class Slot:
    """Where the value of a variable is while the body of its lambda runs."""

    __slots__ = ("value",)

    def __init__(self, value: Value = None) -> None:
        self.value = value


Meaning: TypeAlias = Callable[[], Value]
"""The value of a term, once its variables have theirs."""


@dataclass(frozen=True)
class Scope:
    """The variables around a term, and what is known of the terms that stand in the program more than once.

    `shared` has the free variables of these terms, which are known by their identity; `meanings` what each of
    them means, so far, where its variables are in certain cells.
    """

    cells: Mapping[str, Slot]
    shared: Mapping[int, tuple[str, ...]]
    meanings: dict[tuple[int, tuple[Slot, ...]], Meaning] = field(default_factory=dict)

    @classmethod
    def around(cls, t: terms.Term, cells: Mapping[str, Slot]) -> Scope:
        """The scope of a whole term."""
        free: dict[int, frozenset[str]] = {}
        shared: dict[int, tuple[str, ...]] = {}

        def visit(t: terms.Term) -> frozenset[str]:
            if id(t) in free:
                if isinstance(t, terms.Pattern | _Application):
                    shared[id(t)] = tuple(sorted(free[id(t)]))
                return free[id(t)]
            found = frozenset((t.name,)) if isinstance(t, terms.Var) else frozenset[str]()
            for _, child in terms.children(t):
                if isinstance(child, terms.Lambda):
                    found |= visit(child.body) - {x.name for x in child.parameters}
                else:
                    found |= visit(child)
            free[id(t)] = found
            return found

        visit(t)
        return cls(cells, shared)

    def inside(self, f: terms.Lambda, cells: list[Slot]) -> Scope:
        """The scope of the body of f, whose parameters have these cells."""
        names = (x.name for x in f.parameters)
        return replace(self, cells={**self.cells, **dict(zip(names, cells, strict=True))})


def evaluate(t: terms.Term, world: World, variables: Mapping[str, Value] | None = None) -> Value:
    """The meaning of a term, whose free variables, if any, have the given values.

    >>> from relift import i32
    >>> from relift.semantics.domains import Exact
    >>> from relift.semantics.interpreter import World, evaluate
    >>> from relift.semantics.notation.parser import parse_term
    >>> from relift.semantics.syntax.terms import Input
    >>> xs = Input("xs", i32[3])
    >>> t = parse_term("reduce(add, 0, map(lambda x: x * x, xs))", xs=xs)
    >>> evaluate(t, World(inputs={"xs": [1, 2, 3]}, domain=Exact()))
    14
    """
    scope = Scope.around(t, {name: Slot(value) for name, value in (variables or {}).items()})
    with np.errstate(all="ignore"):  # NaN and infinities are values like others
        return denote(t, world, scope)()


def denote(t: terms.Term, world: World, scope: Scope) -> Meaning:
    """The meaning of `t`, in which each variable is what its cell holds."""
    if (names := scope.shared.get(id(t))) is None:
        return _denote(t, world, scope)
    cells = tuple(scope.cells[name] for name in names)
    key = (id(t), cells)
    if key not in scope.meanings:
        scope.meanings[key] = _kept(_denote(t, world, scope), cells)
    return scope.meanings[key]


def _kept(meaning: Meaning, cells: tuple[Slot, ...]) -> Meaning:
    """A meaning that is computed again only where a variable holds another object than the last time."""
    before: list[Value] | None = None
    result: Value = None

    def kept() -> Value:
        nonlocal before, result
        now = [cell.value for cell in cells]
        if before is None or any(x is not y for x, y in zip(now, before, strict=True)):
            result = meaning()
            before = now
        return result

    return kept


def _denote(t: terms.Term, world: World, scope: Scope) -> Meaning:
    match t:
        case terms.Var(name):
            cell = scope.cells[name]
            return lambda: cell.value
        case terms.Input(name) | terms.Metavariable(name, ()):
            value = (world.inputs if isinstance(t, terms.Input) else world.metavariables)[name]
            return lambda: value
        case terms.Literal(number, scalar):
            constant = world.domain.literal(number, scalar)
            return lambda: constant
        case terms.Apply() | terms.Call() | terms.Combine() | terms.Metavariable():
            return _applied(_head(t, world), [denote(u, world, scope) for u in _arguments(t)])
        case terms.MakeTuple(parts):
            meanings = [denote(u, world, scope) for u in parts]
            return lambda: tuple([meaning() for meaning in meanings])
        case terms.Get(index, of):
            whole = denote(of, world, scope)
            return lambda: whole()[index]
        case terms.Pattern():
            return _denote_pattern(t, world, scope)


def _arguments(t: _Application) -> tuple[terms.Term, ...]:
    return (t.left, t.right) if isinstance(t, terms.Combine) else t.arguments


def _head(t: _Application, world: World) -> Callable[..., Value]:
    """The function that `t` applies."""
    match t:
        case terms.Apply(name):
            return world.domain.function(name)
        case terms.Call(user):
            traced = user.body
            return world.domain.reference(user) if traced is None else _closed(traced, world)
        case terms.Combine(operator, left):
            return denote_operator(operator, left.type, world)
        case terms.Metavariable(name):
            unknown: Callable[..., Value] = world.metavariables[name]
            return unknown


def _applied(function: Callable[..., Value], arguments: list[Meaning]) -> Meaning:
    """A function of some arguments; at a cell that is left open its value is left open, too."""

    def refused(error: TypeError, *values: Value) -> Value:
        if any(x is UNSPECIFIED for x in values):
            return UNSPECIFIED
        raise error

    def one() -> Value:
        x = first()
        try:
            return function(x)
        except TypeError as error:
            return refused(error, x)

    def two() -> Value:
        x, y = first(), second()
        try:
            return function(x, y)
        except TypeError as error:
            return refused(error, x, y)

    def several() -> Value:
        values = [x() for x in arguments]
        try:
            return function(*values)
        except TypeError as error:
            return refused(error, *values)

    match arguments:
        case [first]:
            return one
        case [first, second]:
            return two
        case _:
            return several


def _denote_pattern(t: terms.Pattern, world: World, scope: Scope) -> Meaning:
    """The pattern's own `meaning`; only the terms among its arguments depend on variables.

    A meaning that has a parameter `number` is given what makes whole numbers of the domain; one that has
    `unspecified`, what makes elements that are left open.
    """
    known: dict[str, Value] = {}
    delayed: dict[str, Meaning] = {}
    wanted, rule = world.domain.meaning(t)
    for name in wanted:
        field_value = getattr(t, name, None)
        if name == "unspecified":
            assert isinstance(t.type, Array), "cannot happen: only elements are left open"
            known[name] = partial(world.unspecified, t.type.element)
        elif name == "number":
            known[name] = partial(world.domain.literal, t=i32)
        elif field_value is None:
            known[name] = world.size(t.solved[name])
        elif isinstance(field_value, LiteralParameter):
            known[name] = field_value.meaning(world.size, world.domain.literal, world.metavariables)
        elif isinstance(field_value, Size):
            known[name] = world.size(field_value)
        elif isinstance(field_value, terms.Lambda):
            known[name] = (
                _function(field_value, world, scope)
                if (bound := t.bound_size(name)) is None
                else _function_of_a_size(field_value, bound, world, scope)
            )
        elif isinstance(
            field_value, terms.BinaryOperator | terms.OperatorMetavariable | terms.Vectorized
        ):
            known[name] = denote_operator(field_value, operand_type(t), world)
        else:
            delayed[name] = denote(field_value, world, scope)
    for size in t.signature.positive:
        value = t.sized(size)
        if world.size(value) < 1:
            raise Undefined(f"{t.name}: {value} must be at least 1, but is {world.size(value)}")
    meaning = partial(rule, **known)
    return lambda: meaning(**{name: term() for name, term in delayed.items()})


def _function(f: terms.Lambda, world: World, scope: Scope) -> Callable[..., Value]:
    """The meaning of a lambda.  It sets the cells of its parameters and runs its body.

    No pattern calls a function while a call of the same function runs, so one cell a parameter is enough; but
    for a domain whose arrays are lazy, where a result that holds an array needs its parameters later.
    `lambda x: g(x)` is g.
    """
    if isinstance(f.body, _Application) and _arguments(f.body) == f.parameters:
        return _head(f.body, world)
    if world.domain.lazy and holds_array(f.body.type):
        return partial(_call_anew, f, world, scope)
    cells = [Slot() for _ in f.parameters]
    body = denote(f.body, world, scope.inside(f, cells))
    if len(cells) == 1:
        (cell,) = cells

        def call_one(x: Value) -> Value:
            cell.value = x
            return body()

        return call_one

    def call(*xs: Value) -> Value:
        for cell, x in zip(cells, xs, strict=True):
            cell.value = x
        return body()

    return call


def _call_anew(f: terms.Lambda, world: World, scope: Scope, *xs: Value) -> Value:
    """A call whose parameters have cells of their own."""
    return denote(f.body, world, scope.inside(f, [Slot(x) for x in xs]))()


def _closed(f: terms.Lambda, world: World) -> Callable[..., Value]:
    """The meaning of a lambda that uses no variable from around it."""
    return _function(f, world, Scope.around(f.body, {}))


def _function_of_a_size(
    f: terms.Lambda, size: str, world: World, scope: Scope
) -> Callable[[int], Callable[..., Value]]:
    """The meaning of a lambda at each value of the size that its pattern binds."""
    return cache(
        lambda value: _function(
            f, replace(world, sizes={**world.sizes, size: value}), replace(scope, meanings={})
        )
    )


def denote_operator(
    operator: terms.Operator, element: Type, world: World
) -> Callable[[Value, Value], Value]:
    """The meaning of an operator on values of type `element`."""
    match operator:
        case terms.OperatorMetavariable(name):
            unknown: Callable[[Value, Value], Value] = world.metavariables[name]
            return unknown
        case terms.Vectorized(_, inner):
            assert isinstance(element, Vector), "cannot happen: vectorize works on vectors"
            op = denote_operator(inner, element.element, world)
            return lambda x, y: [op(p, q) for p, q in zip(x, y, strict=True)]
        case terms.BinaryOperator():
            return _closed(operator_lambda(operator, element), world)


def operand_type(t: terms.Term) -> Type:
    """What the operator of a node works on: where it is a reduction, its `init` is one of them, or has one in each cell."""
    operand: terms.Term = getattr(t, "left" if isinstance(t, terms.Combine) else "init")
    has_cells = isinstance(t, terms.Pattern) and isinstance(t.signature.parameters["init"], Array)
    if has_cells and isinstance(operand.type, Array):
        return operand.type.element
    return operand.type


def operator_lambda(operator: terms.BinaryOperator, element: Type) -> terms.Lambda:
    """The function that an operator abbreviates, on a given type."""
    return trace(lambda x, y: operator.function(x, y), [element, element], element)


def scalar_function(operator: terms.Operator, element: Type) -> str | None:
    """The function of scalars that an operator is, which does not ask which of two is the first; None where it is none.

    >>> from relift import add, i32, maximum, operator
    >>> from relift.semantics.interpreter import scalar_function
    >>> twice = operator(lambda x, y: x + y + y, name="add")
    >>> [scalar_function(op, i32) for op in (add, maximum.operator, twice)]
    ['add', 'maximum', None]
    """
    if not isinstance(operator, terms.BinaryOperator):
        return None
    f = operator_lambda(operator, element)
    straight = isinstance(f.body, terms.Apply) and f.body.arguments == f.parameters
    return f.body.function if straight and isinstance(f.body, terms.Apply) else None


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
        case Scalar() | TypeVariable():
            return not isinstance(value, list)


def refines(open_value: Value, value: Value, equal: Callable[[Value, Value], bool]) -> bool:
    """Whether a value is one of those that another may be: equal, but for the cells that are left open.

    >>> from relift.semantics.domains import UNSPECIFIED
    >>> from relift.semantics.interpreter import refines
    >>> from operator import eq
    >>> refines([1, UNSPECIFIED], [1, 2], eq), refines([1, 2], [1, UNSPECIFIED], eq)
    (True, False)
    """
    if isinstance(open_value, list | tuple) and isinstance(value, list | tuple):
        return len(open_value) == len(value) and all(
            refines(x, y, equal) for x, y in zip(open_value, value, strict=True)
        )
    if open_value is UNSPECIFIED:
        return True
    return value is not UNSPECIFIED and equal(open_value, value)
