"""Tracing: how calls of patterns in Python become typed terms.

Typing is eager.  A pattern types its data first, solves its sizes, and then traces its functions with the
element types that the data gave, so `p[0]`, `a * x` and every error happen at the line where they are
written.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, get_args

from relift.semantics.errors import IllTyped
from relift.semantics.scalars import SCALAR_FUNCTIONS
from relift.semantics.signatures import FunctionKind, Matching, NatKind, OperatorKind, Signature
from relift.semantics.sizes import Size
from relift.semantics.terms import (
    Apply,
    BinaryOperator,
    Call,
    Combine,
    Get,
    Lambda,
    Literal,
    MakeTuple,
    Operator,
    OperatorMetavariable,
    Pattern,
    Term,
    UserFunction,
    Var,
    Vectorized,
)
from relift.semantics.types import SCALARS, Array, Scalar, Tuple, Type, Vector, boolean, f32, i32

_names_in_scope: ContextVar[tuple[str, ...]] = ContextVar("names in scope", default=())


@contextmanager
def scope(names: Sequence[str]) -> Generator[None]:
    """Names that lambdas traced inside may not reuse."""
    token = _names_in_scope.set(_names_in_scope.get() + tuple(names))
    try:
        yield
    finally:
        _names_in_scope.reset(token)


def is_term(value: object) -> bool:
    """Whether `value` is a term already."""
    return isinstance(value, get_args(Term))


def as_term(value: Any, expected: Type | None = None) -> Term:
    """`value` as a term: a term itself, a Python number as a literal, a Python tuple as a tuple."""
    if is_term(value):
        term: Term = value
        return term
    if isinstance(value, tuple):
        parts = expected.parts if isinstance(expected, Tuple) else (None,) * len(value)
        if len(parts) == len(value) >= 2:
            return make_tuple(*(as_term(v, t) for v, t in zip(value, parts, strict=True)))
    if isinstance(value, bool | int | float):
        return literal(value, expected)
    if isinstance(value, Unapplied):
        raise IllTyped(f"{value.pattern.name} still lacks arguments: {', '.join(value.missing)}")
    raise IllTyped(f"{value!r} is not a term; a program computes with its parameters and numbers")


def literal(value: float, expected: Type | None = None) -> Literal:
    """A scalar constant: of the expected type if there is one, else `f32`, `i32` or `boolean`."""
    if not isinstance(expected, Scalar):
        expected = boolean if isinstance(value, bool) else i32 if isinstance(value, int) else f32
    if isinstance(value, bool) != (expected == boolean):
        raise IllTyped(f"{value!r} is not a value of type {expected}")
    if isinstance(value, float) and not expected.is_float:
        raise IllTyped(f"{value!r} is not a value of type {expected}; write a whole number")
    return Literal(float(value) if expected.is_float else value, expected)


def scalar(name: str, *arguments: Any) -> Term:
    """A scalar function of the table, applied; all arguments have one scalar type."""
    function = SCALAR_FUNCTIONS[name]
    if len(arguments) != function.arity:
        raise IllTyped(f"{name} takes {function.arity} arguments, {len(arguments)} are given")
    if any(not is_term(a) and not isinstance(a, bool | int | float) for a in arguments):
        raise IllTyped(f"{name} works on scalars, not on {arguments!r}")
    compared = arguments[1:] if name == "select" else arguments
    known = [a.type for a in compared if is_term(a)]
    common = known[0] if known else SCALARS.get(name, f32)
    if not isinstance(common, Scalar):
        raise IllTyped(f"{name} works on scalars, not on {common}; use map or a component")
    terms = [as_term(a, common) for a in compared]
    for t in terms:
        if not isinstance(t.type, Scalar):
            raise IllTyped(f"{name} works on scalars, not on {t.type}; use map or a component")
        if t.type != common:
            raise IllTyped(f"{name}: {common} and {t.type} do not mix; both sides need one type")
    match function.on:
        case "floats" if not common.is_float:
            raise IllTyped(f"{name} is defined on f32 and f64, not on {common}")
        case "integers" if common.is_float or common == boolean:
            raise IllTyped(f"{name} is defined on i32 and i64, not on {common}")
        case "bits" if common.is_float:
            raise IllTyped(f"{name} is defined on boolean, i32 and i64, not on {common}")
        case "numbers" if common == boolean:
            raise IllTyped(f"{name} works on numbers, not on {common}")
        case _:
            pass
    if name == "select":
        condition = as_term(arguments[0])
        if condition.type != boolean:
            raise IllTyped(f"select: the condition has type {condition.type}, not boolean")
        terms.insert(0, condition)
    return Apply(name, tuple(terms), SCALARS.get(function.result, common))


def make_tuple(*parts: Any) -> Term:
    """A tuple of terms."""
    terms = tuple(as_term(part) for part in parts)
    return MakeTuple(terms, Tuple(tuple(t.type for t in terms)))


def component(of: Any, index: Any) -> Term:
    """`of[index]`: a component of a tuple, or the element of an array at a constant index."""
    if isinstance(of.type, Tuple):
        if not isinstance(index, int) or not 0 <= index < len(of.type.parts):
            raise IllTyped(f"a tuple of type {of.type} has no component {index!r}")
        if isinstance(of, MakeTuple):
            return of.parts[index]
        return Get(index, of, of.type.parts[index])
    if isinstance(of.type, Array):
        from relift.semantics.patterns import At

        return build(At, (index, of))
    raise IllTyped(f"a value of type {of.type} has no components")


def combine(operator: Operator, left: Any, right: Any) -> Term:
    """A binary operator applied to two terms of one type."""
    expected = (
        operator.element
        if isinstance(operator, OperatorMetavariable)
        else next((a.type for a in (left, right) if is_term(a)), f32)
    )
    x, y = as_term(left, expected), as_term(right, expected)
    for t in (x, y):
        if t.type != expected:
            raise IllTyped(f"{operator_name(operator)}: {expected} is needed, not {t.type}")
    if isinstance(operator, Vectorized) and not (
        isinstance(expected, Vector) and expected.width == operator.width
    ):
        raise IllTyped(f"{operator_name(operator)}: a vector is needed, not {expected}")
    if isinstance(operator, BinaryOperator):
        result = as_term(operator.function(x, y), expected).type
        if result != expected:
            raise IllTyped(
                f"{operator.name} maps two {expected} to {result}; it must stay in {expected}"
            )
    return Combine(operator, x, y, expected)


def operator_name(operator: Operator) -> str:
    """How an operator is written."""
    match operator:
        case BinaryOperator(name) | OperatorMetavariable(name):
            return name
        case Vectorized(width, inner):
            return f"vectorize({width}, {operator_name(inner)})"


def call(function: UserFunction, arguments: Sequence[Any]) -> Term:
    """A user function applied."""
    if len(arguments) != len(function.types):
        raise IllTyped(
            f"{function.name} takes {len(function.types)} arguments, {len(arguments)} are given"
        )
    terms = tuple(as_term(a, t) for a, t in zip(arguments, function.types, strict=True))
    for name, term, t in zip(function.parameters, terms, function.types, strict=True):
        if term.type != t:
            raise IllTyped(f"{function.name}: {name} has type {term.type}, {t} is needed")
    return Call(function, terms, function.result)


class FixedLambda:
    """A lambda that is already traced, for rebuilding a term through its typed constructor."""

    def __init__(self, parameters: tuple[Var, ...], body: Term) -> None:
        self.parameters, self.body = parameters, body


def trace(function: Any, types: Sequence[Type], expected: Type | None = None) -> Lambda:
    """Call `function` on fresh variables of the given types and keep what it returns."""
    if isinstance(function, FixedLambda):
        if [x.type for x in function.parameters] != list(types):
            shown = ", ".join(f"{x.name}: {x.type}" for x in function.parameters)
            raise IllTyped(f"binder {shown} is used where {list(types)} are needed")
        return Lambda(function.parameters, function.body)
    if not callable(function):
        raise IllTyped(f"a function of {len(types)} arguments is needed, not {function!r}")
    names = _parameter_names(function, len(types))
    used = list(_names_in_scope.get())
    variables: list[Var] = []
    for name, t in zip(names, types, strict=True):
        while name in used:
            name += "_"
        used.append(name)
        variables.append(Var(name, t))
    with scope([x.name for x in variables]):
        return Lambda(tuple(variables), as_term(function(*variables), expected))


def _parameter_names(function: Callable[..., Any], count: int) -> list[str]:
    if inspect.isfunction(function):
        parameters = list(inspect.signature(function).parameters)
        if len(parameters) != count:
            raise IllTyped(
                f"a function of {count} argument{'s' * (count != 1)} is needed here, "
                f"but this one takes {len(parameters)}"
            )
        return parameters
    return ["x", "y", "z"][:count]


class Unapplied:
    """A pattern that still lacks arguments: a function of them, composed by `f >> g`, left to right."""

    def __init__(self, pattern: type[Pattern], arguments: tuple[Any, ...] = ()) -> None:
        self.pattern, self.arguments = pattern, arguments
        self.__doc__ = pattern.__doc__
        self.__name__ = pattern.name

    @property
    def missing(self) -> list[str]:
        """The names of the arguments that are still to come."""
        return list(self.pattern.signature.parameters)[len(self.arguments) :]

    def __call__(self, *arguments: Any) -> Any:
        given = (*self.arguments, *arguments)
        count = len(self.pattern.signature.parameters)
        if len(given) > count:
            raise IllTyped(f"{self.pattern.name} takes {count} arguments, {len(given)} are given")
        if len(given) < count:
            return Unapplied(self.pattern, given)
        return build(self.pattern, given)

    def __rshift__(self, then: Callable[[Any], Any]) -> Composition:
        return Composition(self, then)

    def __repr__(self) -> str:
        return f"<{self.pattern.name}: {self.pattern.signature}>"


class Composition:
    """`f >> g`: first f, then g."""

    def __init__(self, first: Callable[[Any], Any], then: Callable[[Any], Any]) -> None:
        self.first, self.then = first, then

    def __call__(self, x: Any) -> Any:
        return self.then(self.first(x))

    def __rshift__(self, then: Callable[[Any], Any]) -> Composition:
        return Composition(self, then)


def build(pattern: type[Pattern], arguments: Sequence[Any]) -> Term:
    """A typed node of `pattern`; raises `IllTyped` at the caller's line."""
    signature = pattern.signature
    matching = Matching(pattern.name)
    values: dict[str, Any] = {}
    items = [
        (name, kind, value)
        for (name, kind), value in zip(signature.parameters.items(), arguments, strict=True)
    ]
    late: list[tuple[str, Type, Any]] = []
    for name, kind, value in items:
        match kind:
            case NatKind(role):
                values[name] = matching.sizes["?" + name] = _natural(
                    pattern.name, name, role, value
                )
                _require_positive(signature, matching)
            case OperatorKind(element):
                values[name] = _operator(pattern.name, value)
                if (known := _operand_type(value)) is not None:
                    matching.match(element, known, name)
            case FunctionKind():
                pass
            case _ if is_term(value):
                values[name] = value
                matching.match(kind, value.type, name)
            case _:
                late.append((name, kind, value))
    matching.solve()
    for name, kind, value in late:
        expected = matching.apply(kind) if matching.determined(kind) else None
        values[name] = as_term(value, expected)
        matching.match(kind, values[name].type, name)
    matching.solve()
    for name, kind, value in items:
        if isinstance(kind, FunctionKind):
            expected = matching.apply(kind.result) if matching.determined(kind.result) else None
            function = trace(value, [matching.apply(t) for t in kind.arguments], expected)
            values[name] = function
            matching.match(kind.result, function.body.type, f"the result of {name}")
            matching.solve()
    matching.solve(final=True)
    _require_positive(signature, matching)
    solved = {name.removeprefix("?"): size for name, size in matching.sizes.items()}
    return pattern(**values, type=matching.apply(signature.result), solved=solved)


def _require_positive(signature: Signature, matching: Matching) -> None:
    for size in signature.positive:
        if size.substitute(matching.sizes) == 0:
            raise IllTyped(f"{matching.pattern}: {str(size).replace('?', '')} must be at least 1")


def _natural(pattern: str, name: str, role: str, value: Any) -> Size:
    if not isinstance(value, int | Size) or isinstance(value, bool):
        raise IllTyped(f"{pattern}: {name} is a size, not {value!r}")
    size = Size.of(value)
    if size.constant is not None and size.constant < 0:
        raise IllTyped(f"{pattern}: {name} is {size}, but a size is not negative")
    if role == "dimension" and size.constant is not None and size.constant > 2:
        raise IllTyped(f"{pattern}: OpenCL has dimensions 0, 1 and 2, not {size}")
    return size


def _operator(pattern: str, value: Any) -> Operator:
    if isinstance(value, get_args(Operator)):
        operator: Operator = value
        return operator
    raise IllTyped(
        f"{pattern}: an operator with declared laws is needed, such as rl.add; "
        "make one with rl.operator(f, associative=True, ...), or use reduce_seq, which needs none"
    )


def _operand_type(operator: Operator) -> Type | None:
    match operator:
        case OperatorMetavariable(_, element):
            return element
        case Vectorized(width, inner):
            lane = _operand_type(inner)
            return None if lane is None else Vector(lane, width)
        case BinaryOperator():
            return None
