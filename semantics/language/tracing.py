"""Tracing: how calls of patterns in Python become typed terms.

Typing is eager.  A pattern types its data first, solves its sizes, and then traces its functions with the
element types that the data gave, so `p[0]`, `a * x` and every error happen at the line where they are
written.

A Python variable that is used twice puts its term, one object, into the program twice.  Tracing writes no `let`
for it: rules match the terms that users write, and none of them has to look through a name.  What is computed
all the same once is told at the pattern `let`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, get_args

import numpy as np

from relift.semantics.errors import IllTyped
from relift.semantics.indices.functions import index_function, numbers
from relift.semantics.syntax.scalars import SCALAR_FUNCTIONS
from relift.semantics.syntax.signatures import (
    FunctionKind,
    IndexKind,
    Matching,
    NatKind,
    NumbersKind,
    OperatorKind,
    Signature,
)
from relift.semantics.syntax.sizes import Size, bound_size
from relift.semantics.syntax.terms import (
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
    free_variables,
    unused,
)
from relift.semantics.syntax.types import (
    SCALARS,
    Array,
    Scalar,
    Tuple,
    Type,
    Vector,
    boolean,
    f32,
    i32,
    i64,
)

_BITS = {i32: 31, i64: 63}
"""The integers, and which power of two is beyond each."""

_sizes_bound: ContextVar[int] = ContextVar("how many sizes are bound around", default=0)
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
        return _adapted(term, expected)
    if isinstance(value, tuple):
        parts = expected.parts if isinstance(expected, Tuple) else (None,) * len(value)
        if len(parts) == len(value) >= 2:
            return make_tuple(*(as_term(v, t) for v, t in zip(value, parts, strict=True)))
    if isinstance(value, bool | int | float):
        return literal(value, expected)
    if isinstance(value, Unapplied):
        raise IllTyped(f"{value.pattern.name} still lacks arguments: {', '.join(value.missing)}")
    raise IllTyped(f"{_not_a_term(value)}; a program computes with its parameters and numbers")


def _adapted(t: Term, expected: Type | None) -> Term:
    """t, in another type where it is made of bare whole numbers alone: these are `i32` until they meet a float.

    >>> v = Input("v", f32)
    >>> select(v < 0, 1, 2).type, (v * select(v < 0, 1, 2)).type
    (i32, f32)
    """
    if not isinstance(expected, Scalar) or t.type == expected or not _is_bare(t):
        return t
    return _retyped(t, expected)


def _retyped(t: Term, expected: Scalar) -> Term:
    match t:
        case Literal(value):
            return literal(value, expected)
        case Apply("select", (condition, x, y)):
            return Apply(
                "select", (condition, _retyped(x, expected), _retyped(y, expected)), expected
            )
        case Apply(name, arguments):
            return Apply(name, tuple(_retyped(u, expected) for u in arguments), expected)
        case _:
            raise AssertionError("cannot happen: no bare number")


def _is_bare(t: Term) -> bool:
    """Whether t chooses among whole numbers, or computes with them, and nothing says of what type they are."""

    def bare(u: Term) -> bool:
        return _is_bare(u) or (isinstance(u, Literal) and u.type == i32)

    match t:
        case Apply("select", (_, x, y)):
            return bare(x) and bare(y)
        case Apply("minimum" | "maximum" | "absolute" | "add" | "sub" | "mul" | "neg", arguments):
            return all(map(bare, arguments))
        case _:
            return False


def _common(values: Sequence[Any]) -> Type:
    """The type in which values meet: that of a term which is no bare number, else that of the numbers."""
    for v in values:
        if is_term(v) and not _is_bare(v):
            met: Type = v.type
            return met
    numbers = [v for v in values if not is_term(v)]
    if any(isinstance(v, float) for v in numbers):
        return f32
    return boolean if numbers and all(isinstance(v, bool) for v in numbers) else i32


def _not_a_term(value: object) -> str:
    """What `value` is instead of a term, and the nearest thing that is one."""
    if value is None:
        return "None is not a term: a function that is traced returns its result"
    if isinstance(value, Size):
        return f"the size {value} is not a term: sizes are known to types and patterns only"
    if isinstance(value, list):
        return "a list is not a term: a tuple is written (x, y), and patterns make arrays"
    if isinstance(value, np.ndarray | np.generic):
        number = isinstance(value, np.generic) or np.shape(value) == ()
        hint = "write float(...) or int(...) around it, or " if number else ""
        return f"a NumPy value of shape {np.shape(value)} is not a term: {hint}make it a parameter"
    if callable(value):
        name = getattr(value, "__name__", repr(value))
        return f"the function {name} is not a term: call it, or give it to map"
    return f"{value!r} is not a term"


def refused_by_numpy(function: str, given: Sequence[object]) -> IllTyped:
    """What to write instead of a function of NumPy's on terms, or of a NumPy value beside a term."""
    if numpy := [v for v in given if isinstance(v, np.ndarray | np.generic)]:
        return IllTyped(_not_a_term(numpy[0]))
    known = function in SCALAR_FUNCTIONS
    return IllTyped(
        f"np.{function} knows no terms; "
        + (f"write rl.{function}" if known else "the functions of relift do, such as rl.sqrt")
    )


def literal(value: float, expected: Type | None = None) -> Literal:
    """A scalar constant: of the expected type if there is one, else `f32`, `i32` or `boolean`."""
    if not isinstance(expected, Scalar):
        expected = boolean if isinstance(value, bool) else i32 if isinstance(value, int) else f32
    if isinstance(value, bool) != (expected == boolean):
        raise IllTyped(f"{value!r} is not a value of type {expected}")
    if isinstance(value, float) and not expected.is_float:
        raise IllTyped(f"{value!r} is not a value of type {expected}; write a whole number")
    if expected in _BITS and not -(2 ** _BITS[expected]) <= value < 2 ** _BITS[expected]:
        bits = _BITS[expected]
        hint = "; make it an i64, as in rl.i64(...)" if expected == i32 and value < 2**63 else ""
        raise IllTyped(
            f"{value} is not a value of type {expected}, which has -2**{bits} to 2**{bits} - 1{hint}"
        )
    if expected.is_float and isinstance(value, int) and abs(value) >= 2**1024:
        raise IllTyped(
            f"a whole number of {len(str(abs(value)))} digits is not a value of type {expected}: it is too large"
        )
    return Literal(float(value) if expected.is_float else value, expected)


def scalar(name: str, *arguments: Any) -> Term:
    """A scalar function of the table, applied; all arguments have one scalar type."""
    function = SCALAR_FUNCTIONS[name]
    if len(arguments) != function.arity:
        count = f"{function.arity} argument{'s' * (function.arity != 1)}"
        raise IllTyped(f"{name} takes {count}, {len(arguments)} are given")
    if any(not is_term(a) and not isinstance(a, bool | int | float) for a in arguments):
        odd = next(a for a in arguments if not is_term(a) and not isinstance(a, bool | int | float))
        raise IllTyped(f"{name} works on scalars: {_not_a_term(odd)}")
    compared = arguments[1:] if name == "select" else arguments
    if name in SCALARS and not any(map(is_term, compared)):
        common: Type = SCALARS[name]
    else:
        common = (
            f32
            if function.on == "floats" and not any(map(is_term, compared))
            else _common(compared)
        )
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
        if isinstance(arguments[0], bool):
            raise IllTyped(
                f"select: the condition is {arguments[0]}, whatever the data; "
                "terms are compared with <, <=, equal or not_equal, as == compares programs"
            )
        condition = as_term(arguments[0])
        if condition.type != boolean:
            raise IllTyped(
                f"select: the condition has type {condition.type}, not boolean; compare it first"
            )
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
            raise IllTyped(
                f"a tuple of type {of.type} has no component {index!r}; "
                f"its components are 0 to {len(of.type.parts) - 1}"
            )
        if isinstance(of, MakeTuple):
            return of.parts[index]
        return Get(index, of, of.type.parts[index])
    if isinstance(of.type, Array):
        from relift.semantics.patterns import At

        if isinstance(index, slice):
            raise IllTyped(
                "a part of an array is not written [i:j]; take(j - i, drop(i, xs)) is it"
            )
        if isinstance(index, int) and index < 0:
            last = of.type.length - Size.of(-index)
            raise IllTyped(f"an index counts from the start; for {index} write {last}")
        return build(At, (index, of))
    raise IllTyped(
        f"a value of type {of.type} has no components"
        + (
            "; as_scalar makes an array of vectors one of scalars"
            if isinstance(of.type, Vector)
            else ""
        )
    )


def combine(operator: Operator, left: Any, right: Any) -> Term:
    """A binary operator applied to two terms of one type."""
    expected = (
        operator.element if isinstance(operator, OperatorMetavariable) else _common((left, right))
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
        body = as_term(operator.function(x, y), expected)
        result = body.type
        if result != expected:
            raise IllTyped(
                f"{operator.name} maps two {expected} to {result}; it must stay in {expected}"
            )
        if captured := free_variables(body) - free_variables(x) - free_variables(y):
            raise IllTyped(
                f"operator {operator.name} uses the variable {min(captured)} of the program around it; "
                "its value depends on its two arguments only, so use reduce_seq"
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
            f"{function.name} takes {len(function.types)} argument{'s' * (len(function.types) != 1)}, "
            f"{len(arguments)} are given"
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
        count = f"{len(types)} argument{'s' * (len(types) != 1)}"
        given = f"a term of type {function.type}" if is_term(function) else repr(function)
        raise IllTyped(f"a function of {count} is needed, not {given}; write lambda x: ...")
    names = _parameter_names(function, types)
    used = list(_names_in_scope.get())
    variables: list[Var] = []
    for name, t in zip(names, types, strict=True):
        used.append(unused(name, used))
        variables.append(Var(used[-1], t))
    with scope([x.name for x in variables]):
        return Lambda(tuple(variables), as_term(function(*variables), expected))


def _parameter_names(function: Callable[..., Any], types: Sequence[Type]) -> list[str]:
    """The names of as many parameters as there are types; those that have defaults keep them."""
    count = len(types)
    if not inspect.isfunction(function):
        return ["x", "y", "z"][:count]
    parameters = inspect.signature(function).parameters
    required = [name for name, p in parameters.items() if p.default is p.empty]
    if len(required) == count:
        return required
    if len(required) < count <= len(parameters):
        return list(parameters)[:count]
    hint = ""
    if count == 1 and isinstance(types[0], Tuple) and len(required) == len(types[0].parts):
        parts = ", ".join(f"p[{i}]" for i in range(len(required)))
        hint = f"; an element is a tuple: write lambda p: ... with {parts}"
    raise IllTyped(
        f"a function of {count} argument{'s' * (count != 1)} is needed here, "
        f"but this one takes {len(required)}{hint}"
    )


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

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        given = (*self.arguments, *arguments)
        count = len(self.pattern.signature.parameters)
        if named:
            raise IllTyped(
                f"{self.pattern.name} takes its arguments by position: "
                f"{self.pattern.name}({', '.join(self.pattern.signature.parameters)})"
            )
        if len(given) > count:
            raise IllTyped(
                f"{self.pattern.name} takes {count} argument{'s' * (count != 1)}, "
                f"{len(given)} are given: {', '.join(self.pattern.signature.parameters)}"
            )
        if len(given) < count:
            for (name, kind), value in zip(self.pattern.signature.parameters.items(), given):  # noqa: B905
                if isinstance(kind, NatKind):
                    _natural(self.pattern.name, name, kind.role, value)
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
            case NumbersKind(element, length):
                values[name] = row = numbers(value)
                matching.match(element[length], row.type[len(row.values)], name)
            case FunctionKind() | IndexKind():
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
        if isinstance(kind, FunctionKind) and kind.binds is not None:
            values[name] = _trace_at_any_size(kind, value, matching)
        elif isinstance(kind, FunctionKind):
            expected = matching.apply(kind.result) if matching.determined(kind.result) else None
            function = trace(value, [matching.apply(t) for t in kind.arguments], expected)
            values[name] = function
            matching.match(kind.result, function.body.type, f"the result of {name}")
            matching.solve()
        elif isinstance(kind, IndexKind):
            values[name] = index_function(value, kind.length.substitute(matching.sizes))
    matching.solve(final=True)
    _require_positive(signature, matching)
    for _, kind, value in items:
        if isinstance(kind, OperatorKind):
            element = matching.apply(kind.element)
            combine(value, Var("%left", element), Var("%right", element))  # or raises
    solved = {name.removeprefix("?"): size for name, size in matching.sizes.items()}
    return pattern(**values, type=matching.apply(signature.result), solved=solved)


def _trace_at_any_size(kind: FunctionKind, value: Any, matching: Matching) -> Lambda:
    """A function whose types depend on a size that the pattern binds, traced once at a size of its own.

    It may take that size before its other arguments.
    """
    unknown = f"?{kind.binds}"
    if isinstance(value, FixedLambda):  # whose types say what the size is called
        for schema, x in zip(kind.arguments, value.parameters, strict=True):
            matching.match(schema, x.type, x.name)
        matching.solve()
    else:
        matching.sizes[unknown] = bound_size(1 + _sizes_bound.get())
    size = matching.sizes[unknown]
    function: Any = value
    if inspect.isfunction(value):
        parameters = list(inspect.signature(value).parameters.values())
        if len(parameters) == 1 + len(kind.arguments):

            def at_this_size(*arguments: Any) -> Any:
                return value(size, *arguments)

            setattr(at_this_size, "__signature__", inspect.Signature(parameters[1:]))  # noqa: B010
            function = at_this_size
    token = _sizes_bound.set(1 + _sizes_bound.get())
    try:
        traced = trace(function, [matching.apply(t) for t in kind.arguments])
    finally:
        _sizes_bound.reset(token)
    matching.match(kind.result, traced.body.type, "the result of the function")
    matching.solve()
    return traced


def _require_positive(signature: Signature, matching: Matching) -> None:
    for size in signature.positive:
        if size.substitute(matching.sizes) == 0:
            raise IllTyped(f"{matching.pattern}: {str(size).replace('?', '')} must be at least 1")


def _natural(pattern: str, name: str, role: str, value: Any) -> Size:
    if not isinstance(value, int | Size) or isinstance(value, bool):
        if is_term(value):
            term: Any = value
            raise IllTyped(
                f"{pattern}: {name} is a size, not a term of type {term.type}; "
                "it cannot depend on data"
            )
        if role == "dimension":
            raise IllTyped(
                f"{pattern}: write {pattern}(0)(f, xs), with a dimension 0, 1 or 2 first"
            )
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
