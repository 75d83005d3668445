"""What Python writes as terms: numbers, tuples, scalar functions and operators on terms and numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, get_args

import numpy as np

from relift.semantics.errors import IllTyped
from relift.semantics.syntax import overloading
from relift.semantics.syntax.scalars import SCALAR_FUNCTIONS, ScalarFunction
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import (
    Apply,
    BinaryOperator,
    Call,
    Combine,
    Literal,
    MakeTuple,
    Operator,
    OperatorMetavariable,
    Term,
    UserFunction,
    Vectorized,
    free_variables,
)
from relift.semantics.syntax.types import (
    FLOATS,
    INTEGERS,
    SCALARS,
    Scalar,
    Tuple,
    Type,
    Vector,
    boolean,
    f32,
    i32,
)


class Incomplete(ABC):
    """A function that lacks the arguments which are missing."""

    __name__: str

    @property
    @abstractmethod
    def missing(self) -> list[str]:
        """The names of the arguments that are still to come."""


def is_term(value: object) -> bool:
    """Whether `value` is a term already."""
    return isinstance(value, get_args(Term))


def as_term(value: Any, expected: Type | None = None) -> Term:
    """`value` as a term: a term itself, a Python number as a literal, a Python tuple as a tuple, a size as its number."""
    if is_term(value):
        term: Term = value
        return _adapted(term, expected)
    if isinstance(value, tuple):
        parts = expected.parts if isinstance(expected, Tuple) else (None,) * len(value)
        if len(parts) == len(value) >= 2:
            return make_tuple(*(as_term(v, t) for v, t in zip(value, parts, strict=True)))
    if isinstance(value, bool | int | float):
        return literal(value, expected)
    if isinstance(value, Size):
        return overloading.number_of(value, expected)
    hint = (
        ""
        if isinstance(value, Incomplete)
        else "; a program computes with its parameters and numbers"
    )
    raise IllTyped(f"{_not_a_term(value)}{hint}")


def _adapted(t: Term, expected: Type | None) -> Term:
    """t, in another type where it is made of bare numbers alone: whole ones are `i32` until they meet a float, others `f32`.

    >>> from relift import f64, select
    >>> from relift.semantics.syntax.terms import Input
    >>> v = Input("v", f64)
    >>> select(v < 0, 1, 2).type, (v * select(v < 0, 1, 2)).type
    (i32, f64)
    >>> select(v < 0, 0.1, 2).type, (v * select(v < 0, 0.1, 2)).type
    (f32, f64)
    >>> from relift import nat
    >>> (1.0 / nat("n")).type, (v * (1.0 / nat("n"))).type
    (f32, f64)
    """
    if not isinstance(expected, Scalar) or t.type == expected or not _is_bare(t):
        return t
    if isinstance(t.type, Scalar) and t.type.is_float and not expected.is_float:
        return t
    return _retyped(t, expected)


def _retyped(t: Term, expected: Scalar) -> Term:
    if isinstance(t, Literal):
        return _bare(literal(t.value, expected))
    assert isinstance(t, Apply), "cannot happen: no bare number"
    if t.function in SCALARS:  # the number that a size is
        return scalar(str(expected), *t.arguments)
    kept = t.arguments[:1] if t.function == "select" else ()
    changed = (_retyped(u, expected) for u in t.arguments[len(kept) :])
    return Apply(t.function, (*kept, *changed), expected)


def _bare(number: Literal | Apply) -> Term:
    """A constant, or the number of a size, of which nothing says of what type it is, which is no part of what it means."""
    vars(number)["_bare"] = True
    return number


def _is_bare(t: Term) -> bool:
    """Whether t chooses among numbers, or computes with them, and nothing says of what type they are; each keeps its own."""
    if not isinstance(t, Apply):
        return False
    if t.function in SCALARS:
        return "_bare" in vars(t)
    known: bool | None = vars(t).get("_of_bare")
    if known is None:
        of_numbers = t.function == "select"
        if not of_numbers:
            function = SCALAR_FUNCTIONS[t.function]
            of_numbers = function.on in ("numbers", "floats") and function.result not in SCALARS
        known = of_numbers
        for u in t.arguments[t.function == "select" :] if of_numbers else ():
            number = isinstance(u, Literal) and (u.type == i32 or "_bare" in vars(u))
            known = known and (number or _is_bare(u))
        vars(t)["_of_bare"] = known
    return known


def _common(values: Sequence[Any]) -> Type:
    """The type in which values meet: that of a term which is no bare number, else that of the numbers."""
    for v in values:
        if is_term(v) and not _is_bare(v):
            met: Type = v.type
            return met
    numbers = [v for v in values if not is_term(v)]
    if any(v.type == f32 if is_term(v) else isinstance(v, float) for v in values):
        return f32
    return boolean if numbers and all(isinstance(v, bool) for v in numbers) else i32


def _not_a_term(value: object) -> str:
    """What `value` is instead of a term, and the nearest thing that is one."""
    if value is None:
        return "None is not a term: a function that is traced returns its result"
    if isinstance(value, list):
        return "a list is not a term: a tuple is written (x, y), and patterns make arrays"
    if isinstance(value, np.ndarray | np.generic):
        number = isinstance(value, np.generic) or np.shape(value) == ()
        hint = "write float(...) or int(...) around it, or " if number else ""
        constant = "" if number else ", or a constant, rl.literal_array(...)"
        return f"a NumPy value of shape {np.shape(value)} is not a term: {hint}make it a parameter{constant}"
    if isinstance(value, Incomplete):
        return f"{value.__name__} still lacks arguments: {', '.join(value.missing)}"
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
    if expected in INTEGERS.values() and not expected.range[0] <= value <= expected.range[1]:
        bits = expected.range[1].bit_length()
        least = f"-2**{bits}" if expected.has_sign else "0"
        hint = "; make it an i64, as in rl.i64(...)" if expected == i32 and value < 2**63 else ""
        raise IllTyped(
            f"{value} is not a value of type {expected}, which has {least} to 2**{bits} - 1{hint}"
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
    for a in arguments:
        if not is_term(a) and not isinstance(a, bool | int | float | Size):
            raise IllTyped(f"{name} works on scalars: {_not_a_term(a)}")
    if name in SCALARS:  # of a size, its number is what is converted
        arguments = tuple(as_term(a) if isinstance(a, Size) else a for a in arguments)
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
    if not any(is_term(a) and not _is_bare(a) for a in compared):
        terms = [
            _bare(t)
            if isinstance(t, Literal) or (isinstance(t, Apply) and isinstance(a, Size))
            else t
            for a, t in zip(compared, terms, strict=True)
        ]
    for t in terms:
        if not isinstance(t.type, Scalar):
            raise IllTyped(f"{name} works on scalars, not on {t.type}; use map or a component")
        if t.type != common:
            raise unmixed(name, common, t.type)
    _require_defined_on(function, common)
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


def raised(x: Any, exponent: Any) -> Term:
    """`x ** exponent`: of a float its square, cube or fourth power by products, else what `power` computes.

    A product costs one instruction, and `pow` of an H200 as much time as 54; of a square it is the same number.

    >>> from relift import f32
    >>> from relift.semantics.language.coercion import raised
    >>> from relift.semantics.notation.printer import show
    >>> from relift.semantics.syntax.terms import Input
    >>> x = Input("x", f32)
    >>> [show(raised(x, exponent)) for exponent in (2, 3.0, 4, 0.5)]
    ['x * x', '(x * x) * x', '(x * x) * (x * x)', 'power(x, 0.5)']
    """
    of = getattr(x, "type", None)
    small = isinstance(exponent, int | float) and exponent in (2, 3, 4)
    if not (small and isinstance(of, Scalar) and of.is_float):
        return scalar("power", x, exponent)
    square = scalar("mul", x, x)
    return square if exponent == 2 else scalar("mul", square, x if exponent == 3 else square)


def shifted(name: str, x: Any, bits: Any) -> Term:
    """`x << bits` or `x >> bits`: by a number that is written, the product with a power of two or the quotient by one.

    Laws and kernels know these; what is shifted by a number that is computed is a function of its own.

    >>> from relift import i32
    >>> from relift.semantics.notation.printer import show
    >>> from relift.semantics.syntax.terms import Input
    >>> x, k = Input("x", i32), Input("k", i32)
    >>> [show(t) for t in (x << 3, x >> 3, x << k, 1 << k)]
    ['x * 8', 'x // 8', 'x << k', '1 << k']
    """
    found = scalar(name, x, bits)
    if not isinstance(bits, int) or isinstance(bits, bool):
        return found
    of = found.type
    assert isinstance(of, Scalar), "cannot happen: a shift is of whole numbers"
    if not 0 <= bits < 8 * of.bytes:
        raise IllTyped(
            f"{name}: {of} has {8 * of.bytes} bits, so none is shifted by {bits}; write 0 to {8 * of.bytes - 1}"
        )
    if bits == 8 * of.bytes - 1:
        return found  # the power of two is no number of the type
    return scalar("mul" if name == "left_shift" else "floor_divide", x, 1 << bits)


def _require_defined_on(function: ScalarFunction, common: Scalar) -> None:
    """Raise `IllTyped` for a type that a scalar function is not defined on, with what to write instead."""
    name = function.name
    match function.on:
        case "floats" if not common.is_float:
            hint = "x // y is of whole numbers; " if name == "div" and common != boolean else ""
            raise IllTyped(
                f"{name} is defined on {_listed(*FLOATS)}, not on {common}; {hint}{_as_a(f32, common)}"
            )
        case "integers" if common.is_float or common == boolean:
            hint = "; of floats x - floor(x / y) * y is it" if name == "modulo" else ""
            raise IllTyped(
                f"{name} is defined on {_listed(*INTEGERS)}, not on {common}{hint or '; ' + _as_a(i32, common)}"
            )
        case "bits" if common.is_float:
            raise IllTyped(
                f"{name} is defined on {_listed('boolean', *INTEGERS)}, not on {common}; "
                f"compare, as in not_equal(x, 0), or {_as_a(i32, common)}"
            )
        case "numbers" if common == boolean:
            raise IllTyped(f"{name} works on numbers, not on {common}; {_as_a(i32, common)}")
        case "floats" | "integers" | "bits" | "numbers" | "scalars":
            pass


def unmixed(name: str, one: Type, other: Type) -> IllTyped:
    """Two types meet that do not mix: what to write, of two numbers around that which has fewer values.

    >>> from relift import f32, f64
    >>> from relift.semantics.language.coercion import unmixed
    >>> unmixed("add", f64, f32).message
    'add: f64 and f32 do not mix; both sides need one type: write f64(...) around the other'
    """
    if not (isinstance(one, Scalar) and isinstance(other, Scalar)):
        return IllTyped(f"{name}: {one} and {other} do not mix; both sides need one type")
    if boolean in (one, other):
        return IllTyped(
            f"{name}: {one} and {other} do not mix; both sides need one type: select(x, 1, 0) is a number of a truth value"
        )
    more = max(one, other, key=lambda t: (t.is_float, t.bytes))
    return IllTyped(
        f"{name}: {one} and {other} do not mix; both sides need one type: write {more}(...) around the other"
    )


def _as_a(number: Scalar, given: Scalar) -> str:
    """How a value of one type is made a number of another."""
    if given == boolean:
        return "select(x, 1, 0) is a number of a truth value"
    return f"write {number}(...) around the {given}"


def converted(to: Scalar, x: Any) -> Term:
    """A Python number as a constant of a type, or a scalar of another type converted to it."""
    if isinstance(x, bool | int | float) and isinstance(x, bool) == (to == boolean):
        return literal(x, to)
    if to == boolean:
        raise IllTyped("nothing converts to boolean; compare, as in not_equal(x, 0)")
    return scalar(to.name, as_term(x) if isinstance(x, bool) else x)


def make_tuple(*parts: Any) -> Term:
    """A tuple of terms."""
    terms = tuple(as_term(part) for part in parts)
    return MakeTuple(terms, Tuple(tuple(t.type for t in terms)))


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


def _listed(*names: str) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"
