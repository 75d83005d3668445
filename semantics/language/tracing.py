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
from typing import Any, cast, get_args

from relift.semantics.errors import IllTyped
from relift.semantics.indices.functions import index_function
from relift.semantics.indices.rows import numbers
from relift.semantics.language.coercion import (
    Incomplete,
    as_term,
    combine,
    is_term,
    literal,
    scalar,
)
from relift.semantics.patterns.algorithmic import Generate
from relift.semantics.patterns.layout import At
from relift.semantics.syntax.scalars import CONVERSIONS
from relift.semantics.syntax.signatures import (
    FunctionKind,
    IndexKind,
    Matching,
    NatKind,
    NumbersKind,
    OperatorKind,
    Signature,
)
from relift.semantics.syntax.sizes import Size, Unknown, bound_size, by_letter
from relift.semantics.syntax.terms import (
    BinaryOperator,
    Get,
    Lambda,
    MakeTuple,
    Operator,
    OperatorMetavariable,
    Pattern,
    Term,
    Var,
    Vectorized,
    unused,
)
from relift.semantics.syntax.types import (
    AnyType,
    Array,
    Scalar,
    Tuple,
    Type,
    Vector,
    boolean,
    i32,
    types_within,
)

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
    function = with_laws(function) or function
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
    try:
        parameters = inspect.signature(function).parameters
    except ValueError:  # a function of C that does not say what it takes
        return ["x", "y", "z"][:count]
    if any(p.kind is p.VAR_POSITIONAL for p in parameters.values()):
        return ["x", "y", "z"][:count]
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


class PartialApplication(Incomplete):
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
            return PartialApplication(self.pattern, given)
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
                values[name] = matching.sizes[Unknown(name)] = _natural(
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
            case AnyType() if is_term(value):
                values[name] = value
                matching.match(kind, value.type, name)
            case AnyType():
                late.append((name, kind, value))
    matching.solve()
    for name, kind, value in late:
        if matching.determined(kind):
            expected: Type | None = matching.apply(kind)
        else:
            expected = _started_from(kind, value, items, matching)
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
            left, right = (Var(Unknown(side), element) for side in ("left", "right"))
            combine(value, left, right)  # or raises
    solved = by_letter(matching.sizes)
    return pattern(**values, type=matching.apply(signature.result), solved=solved)


def _started_from(
    kind: Type, value: Any, items: Sequence[tuple[str, Any, Any]], matching: Matching
) -> Type | None:
    """The type of the Python numbers from which a function starts: where that of numbers does not fit, the one that it meets.

    None where their own does, or nothing else does.

    >>> from relift import add, f64, i64, nat, program, reduce_seq, scan_seq, show
    >>> n = nat("n")
    >>> @program
    ... def sums(x: f64[n], k: i64[n]):
    ...     return scan_seq(add, 0.0, x), reduce_seq(lambda most, v: most + v * v, 0, k)
    >>> sums.body.type
    (f64[n], i64)
    """
    if not _is_of_numbers(value):
        return None
    own = as_term(value).type
    functions = [(k, f) for _, k, f in items if isinstance(k, FunctionKind) and k.result == kind]
    met = [t for k, _ in functions for t in k.arguments if t != kind and matching.determined(t)]
    scalars = [s for t in met for s in types_within(matching.apply(t)) if isinstance(s, Scalar)]
    few_first = [_numbers_as(own, s, wholes) for wholes in (False, True) for s in scalars]
    others = [other for other in few_first if other != own]

    def fits(start: Type) -> bool:
        try:
            for k, f in functions:
                trace(f, [start if t == kind else matching.apply(t) for t in k.arguments], start)
        except IllTyped:
            return False
        return True

    if not others or fits(own):
        return None
    return next(filter(fits, others), None)


def _is_of_numbers(value: Any) -> bool:
    """Whether something is a number of Python, or a tuple of them."""
    if isinstance(value, tuple):
        return len(value) >= 2 and all(map(_is_of_numbers, value))
    return isinstance(value, int | float)


def _numbers_as(own: Type, other: Scalar, wholes: bool) -> Type:
    """The type of Python's numbers, those with a point as numbers of another type, or the `wholes` too."""
    if isinstance(own, Tuple):
        return Tuple(tuple(_numbers_as(part, other, wholes) for part in own.parts))
    assert isinstance(own, Scalar), "cannot happen: a number of Python is a scalar"
    rounded = own.is_float and other.is_float
    return other if rounded or (wholes and own == i32 and other != boolean) else own


def _trace_at_any_size(kind: FunctionKind, value: Any, matching: Matching) -> Lambda:
    """A function whose types depend on a size that the pattern binds, traced once at a size of its own.

    It may take that size before its other arguments.
    """
    unknown = Unknown(str(kind.binds))
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


def number_of(size: Size, expected: Type | None) -> Term:
    """The number that a size is: the last of that many counters and one, so that no pattern has to say it.

    It is an `i32` until it meets a value of another type.

    >>> from relift import add, f32, map, nat, program, reduce, show
    >>> n = nat("n")
    >>> @program
    ... def mean(x: f32[n]):
    ...     return map(lambda v: v - reduce(add, 0.0, x) / n, x)
    >>> show(mean.body)
    'map(lambda v: v - (reduce(add, 0.0, x) / f32(generate(n + 1, lambda i: i)[n])), x)'
    """
    if size.constant is not None:
        return literal(size.constant, expected)
    more = Size({monomial: c for monomial, c in size.terms.items() if c > 0})
    number = component(build(Generate, (more + 1, lambda i: i)), more)
    if less := (more - size).terms:  # a difference may be below zero
        number = number - Size(less)
    converts = isinstance(expected, Scalar) and expected.name in CONVERSIONS and expected != i32
    return scalar(str(expected), number) if converts else number


def _require_positive(signature: Signature, matching: Matching) -> None:
    for size in signature.positive:
        if size.substitute(matching.sizes) == 0:
            raise IllTyped(f"{matching.pattern}: {size.with_letters()} must be at least 1")


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


def with_laws(value: Any) -> Operator | None:
    """The operator that a value is, or that a scalar function such as `maximum` is known as."""
    kinds = get_args(Operator)
    known = value if isinstance(value, kinds) else getattr(value, "operator", None)
    return cast("Operator", known) if isinstance(known, kinds) else None


def _operator(pattern: str, value: Any) -> Operator:
    if (operator := with_laws(value)) is not None:
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
