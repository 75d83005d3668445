"""Scalars and vectors in OpenCL C: types, literals, scalar functions.

A `CExpression` is what one scalar of a term is in the kernel: a C scalar, or, inside a vector operation, a
C vector with the value of each lane.  A truth value is an `int` that is 0 or 1; a vector of them is an
integer vector with lanes 0 or -1, as OpenCL compares.  Signed integers are computed as unsigned ones: they
wrap around, where overflow of signed ones means nothing in C and compilers make use of it.

>>> from relift import f32, i32
>>> from relift.compiler.codegen.values.expressions import CExpression, apply
>>> from relift.compiler.text.tree import Whole
>>> from relift.compiler.text.tree import Name
>>> x, v, k = CExpression(Name("x"), f32), CExpression(Name("v"), f32, 4), CExpression(Name("k"), i32)
>>> print(apply("mul", [x, v]))
(x * v)
>>> print(apply("select", [apply("lt", [x, v]), x, v]))
((x < v) ? (float4)(x) : v)
>>> print(apply("mul", [k, apply("add", [k, CExpression(Whole(1), i32)])]))
as_int(as_uint(k) * (as_uint(k) + 1u))
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from relift.compiler.dialects.printing import Printer
from relift.compiler.text import tree
from relift.semantics.syntax.scalars import CONVERSIONS, SCALAR_FUNCTIONS
from relift.semantics.syntax.terms import Literal
from relift.semantics.syntax.types import INTEGERS, SCALARS, Scalar, boolean, f32, i32, i64

WIDTHS = (2, 3, 4, 8, 16)
"""The numbers of lanes that OpenCL has."""

_MASKS = {1: Scalar("i8", 1, "int8", "char"), 2: Scalar("i16", 2, "int16", "short"), 4: i32, 8: i64}
"""The types of the lanes of a comparison of values of so many bytes."""

_COMPARISONS = ("lt", "le", "gt", "ge", "equal", "not_equal")
_WRAPPING = ("add", "sub", "mul", "neg")
_EXTREMES = {"minimum": ("<", "min"), "maximum": (">", "max")}


@dataclass(frozen=True)
class CExpression:
    """The C code of one scalar (`width` None: the same for all lanes) or of one per lane.

    `mask` is the integer type of the lanes of a vector of truth values.
    """

    code: tree.Expression
    scalar: Scalar
    width: int | None = None
    mask: Scalar = i32

    def __str__(self) -> str:
        return Printer().expression(self.code)


def c_type(t: Scalar, width: int | None = None) -> tree.CType:
    """The C type of a scalar, or of a vector of them, in registers.

    >>> from relift import boolean, f32
    >>> from relift.compiler.codegen.values.expressions import c_type
    >>> from relift.compiler.dialects.printing import Printer
    >>> [Printer().type(t) for t in (c_type(f32, 16), c_type(boolean))]
    ['float16', 'int']
    """
    return tree.CType(t.c, width or 1)


def memory_type(t: Scalar, width: int | None = None) -> tree.CType:
    """The C type of a scalar in memory, or of a vector of them: NumPy's truth values are bytes."""
    return tree.CType("uchar", width or 1) if t == boolean else c_type(t, width)


def literal(t: Literal) -> CExpression:
    """A constant, exact in its type.

    >>> from relift import f32
    >>> from relift.compiler.codegen.values.expressions import literal
    >>> import math
    >>> from relift.semantics.syntax.terms import Literal
    >>> [str(literal(Literal(v, f32))) for v in (0.0, -1.5, 1e-7, math.inf)]
    ['0.0f', '(-1.5f)', '1e-07f', 'INFINITY']
    """
    assert isinstance(t.type, Scalar), "cannot happen: a literal is a scalar"
    if t.type.is_float:
        return CExpression(_float(float(t.value), t.type), t.type)
    return CExpression(_whole(int(t.value), t.type), t.type)


def _whole(value: int, t: Scalar) -> tree.Expression:
    if t.bytes < i32.bytes and t != boolean:
        return tree.Cast(c_type(t), (_signed(tree.Whole(abs(value)), value < 0),))
    if not t.has_sign:
        return tree.Real(f"{value}{_ending(t)}")
    if t != boolean and value == t.range[0]:
        return tree.Name("INT_MIN" if t == i32 else "LONG_MIN")
    return _signed(tree.Whole(abs(value), t == i64), value < 0)


def _ending(t: Scalar) -> str:
    """What constants of as many bytes and without a sign end with."""
    return "ul" if t.bytes == i64.bytes else "u"


def _signed(e: tree.Expression, negative: bool) -> tree.Expression:
    return tree.wrapped(tree.Prefix("-", e)) if negative else e


def _float(value: float, t: Scalar) -> tree.Expression:
    negative = math.copysign(1.0, value) < 0 and not math.isnan(value)
    if math.isfinite(value):
        return _signed(tree.Real(repr(abs(value)) + t.ending), negative)
    name = tree.Name("NAN" if math.isnan(value) else "INFINITY")
    if t == f32:
        return _signed(name, negative)
    return tree.Cast(c_type(t), (tree.bare(_signed(name, negative)),))


def spread(e: CExpression, width: int | None) -> CExpression:
    """e with `width` lanes; e itself when it has them already.

    >>> from relift import f32
    >>> from relift.compiler.codegen.values.expressions import CExpression, spread
    >>> from relift.compiler.text.tree import Name
    >>> print(spread(CExpression(Name("x"), f32), 4))
    (float4)(x)
    """
    if width is None or e.width is not None:
        return e
    return CExpression(tree.Cast(c_type(e.scalar, width), (lane_value(e),)), e.scalar, width)


def lane_value(e: CExpression) -> tree.Expression:
    """A scalar as a lane of a vector: truth is -1."""
    return tree.Prefix("-", tree.wrapped(e.code)) if e.scalar == boolean else e.code


def lane_of(e: CExpression, lane: int) -> CExpression:
    """One lane of a vector, as a scalar; e itself when it is the same for all lanes."""
    if e.width is None:
        return e
    if isinstance(e.code, tree.Cast) and len(e.code.arguments) == e.width and e.scalar != boolean:
        one = e.code.arguments[lane]
        return CExpression(
            one if isinstance(one, tree.Name | tree.Element) else tree.wrapped(one), e.scalar
        )
    whole = e.code if isinstance(e.code, tree.Name) else tree.wrapped(e.code)
    found: tree.Expression = tree.Member(whole, f"s{lane:x}")
    return CExpression(nonzero(found) if e.scalar == boolean else found, e.scalar)


def nonzero(e: tree.Expression) -> tree.Expression:
    """Whether a number is not 0."""
    return tree.wrapped(_binary("!=", e, tree.Whole(0)))


def _binary(operator: str, left: tree.Expression, right: tree.Expression) -> tree.Binary:
    return tree.Binary(operator, left, right, set="spaced")


def apply(function: str, arguments: Sequence[CExpression]) -> CExpression:
    """A scalar function of the table, on scalars or lane by lane."""
    width = next((e.width for e in arguments if e.width is not None), None)
    scalar = arguments[-1].scalar
    if function in _COMPARISONS:
        sides = _lanes_of_one_type(arguments, width) if scalar == boolean else arguments
        return CExpression(_written(function, sides), boolean, width, _mask(scalar))
    if function == "select":
        condition, x, y = arguments
        return _select(condition, x, y, width)
    if function in CONVERSIONS:
        return _convert(arguments[0], SCALARS[function])
    if (own := definition(function, scalar, width)) is not None:
        return CExpression(
            tree.Invocation(own.name, tuple(spread(e, width).code for e in arguments)),
            scalar,
            width,
        )
    if scalar == boolean:
        lanes = _lanes_of_one_type(arguments, width)
        if function == "invert":
            return CExpression(tree.wrapped(tree.Prefix("!", lanes[0].code)), boolean, width)
        return CExpression(_written(function, lanes), boolean, width)
    if not scalar.is_float:
        return CExpression(_integer(function, arguments, scalar, width), scalar, width)
    if _is_call(function):  # all arguments need one type
        arguments = [spread(e, width) for e in arguments]
    return CExpression(_written(function, arguments), scalar, width)


def _is_call(function: str) -> bool:
    """Whether C has a function for it, and no operator."""
    return (SCALAR_FUNCTIONS[function].c or "").isidentifier()


def _written(function: str, arguments: Sequence[CExpression]) -> tree.Expression:
    word = SCALAR_FUNCTIONS[function].c
    assert word is not None, f"cannot happen: {function} has no notation in C"
    return _of_c(word, [e.code for e in arguments])


def _of_c(word: str, arguments: Sequence[tree.Expression]) -> tree.Expression:
    """An operator of C, in parentheses, or a function of its library."""
    if word.isidentifier():
        return tree.Invocation(word, tuple(arguments))
    if len(arguments) == 1:
        return tree.wrapped(tree.Prefix(word, arguments[0]))
    left, right = arguments
    return tree.wrapped(_binary(word, left, right))


def _lanes_of_one_type(arguments: Sequence[CExpression], width: int | None) -> list[CExpression]:
    """Truth values as they meet: all int, in one number of lanes."""
    return [as_mask(spread(e, width), i32) for e in arguments]


def _integer(
    function: str, arguments: Sequence[CExpression], scalar: Scalar, width: int | None
) -> tree.Expression:
    promoted = width is None and scalar.bytes < i32.bytes  # C computes it in int
    word = SCALAR_FUNCTIONS[function].c
    if word is not None and (function in _WRAPPING or (promoted and not word.isidentifier())):
        found = _of_c(word, [_unsigned(e, promoted=promoted) for e in arguments])
        if promoted:
            return tree.Cast(c_type(scalar), (tree.bare(found),))
        return tree.call(_as(scalar, width), tree.bare(found)) if scalar.has_sign else found
    whole = [spread(e, width).code for e in arguments]
    if function == "absolute":  # of a number with a sign it has none
        return (
            tree.call(_as(scalar, width), tree.call("abs", whole[0]))
            if scalar.has_sign
            else whole[0]
        )
    if function in _EXTREMES:
        return tree.call(_EXTREMES[function][1], *whole)
    return _written(function, arguments)


def _as(scalar: Scalar, width: int | None, sign: str = "") -> str:
    """The function that takes bits as such an integer."""
    return f"as_{sign}{Printer().scalar(c_type(scalar, width))}"


def _unsigned(e: CExpression, *, promoted: bool = False) -> tree.Expression:
    """The bits of an integer as an unsigned one, of as many as `int` has where it is `promoted`."""
    code, same = e.code, _as(e.scalar, e.width)
    if promoted:
        return tree.Cast(tree.CType("uint"), (code,))
    if not e.scalar.has_sign:
        return code
    if isinstance(code, tree.Whole) and code.parentheses == 0:
        return tree.Real(f"{code.value}{_ending(e.scalar)}")
    if isinstance(code, tree.Invocation) and code.function == same and code.parentheses == 0:
        (inner,) = code.arguments
        return tree.wrapped(inner)
    return tree.call(_as(e.scalar, e.width, "u"), code)


def _convert(e: CExpression, to: Scalar) -> CExpression:
    """e in another scalar type, on one scalar or on all lanes."""
    if e.scalar == to:
        return e
    if (own := definition(to.name, e.scalar, e.width)) is not None:
        return CExpression(tree.call(own.name, e.code), to, e.width)
    if e.width is None:
        return CExpression(tree.Cast(c_type(to), (e.code,)), to)
    code = tree.wrapped(tree.Prefix("-", as_mask(e, i32).code)) if e.scalar == boolean else e.code
    return CExpression(converted(code, c_type(to, e.width), max(to.bytes, 4)), to, e.width)


def _select(
    condition: CExpression, x: CExpression, y: CExpression, width: int | None
) -> CExpression:
    if x.scalar == boolean:
        x, y = _lanes_of_one_type((x, y), width)
    if condition.width is None:
        x, y = spread(x, width), spread(y, width)
        return CExpression(_chosen(condition, x, y), x.scalar, width)
    mask = as_mask(condition, _mask(x.scalar))
    return CExpression(_chosen(mask, spread(x, width), spread(y, width)), x.scalar, width)


def _mask(t: Scalar) -> Scalar:
    """The type of the lanes of a comparison of such values."""
    return i32 if t == boolean else _MASKS[t.bytes]


def _chosen(condition: CExpression, x: CExpression, y: CExpression) -> tree.Expression:
    return tree.wrapped(tree.Conditional(condition.code, x.code, y.code))


def as_mask(condition: CExpression, mask: Scalar) -> CExpression:
    """A vector of truth values with lanes of the integer type `mask`; scalars stay as they are."""
    if condition.width is None or condition.mask == mask:
        return condition
    code = converted(condition.code, c_type(mask, condition.width), i64.bytes)
    return CExpression(code, boolean, condition.width, mask)


def definition(function: str, scalar: Scalar, width: int | None) -> tree.Function | None:
    """The C function for what OpenCL C lacks on arguments of this type; None where it has all that is needed.

    >>> from relift import f32, i32
    >>> from relift.compiler.codegen.values.expressions import definition
    >>> from relift.compiler.dialects.printing import Printer
    >>> print(Printer().function(definition("minimum", f32, 4)))
    float4 minimum_f32x4(float4 x, float4 y) {
      return (x < y) | (x != x) ? x : y;
    }
    >>> definition("minimum", i32, 4) is None
    True
    """
    body: list[tree.Declaration | tree.Return]
    names = [tree.Name(x) for x in "xyz"[: SCALAR_FUNCTIONS[function].arity]]
    match function:
        case "minimum" | "maximum" if scalar.is_float:
            body = [_extreme(_EXTREMES[function][0], width)]  # fmin and fmax drop NaN
        case _ if width is not None and needs_halves(function, scalar, width):
            body = [_halves(function, scalar, width)]
        case _ if width is not None and _is_wide_call(function, scalar, width):
            word = SCALAR_FUNCTIONS[function].c
            assert word is not None, "cannot happen: a function of the library has a name"
            body = [
                tree.Return(None, tree.call(word, *names))
            ]  # drivers that cannot: see `in_halves`
        case "floor_divide" | "modulo" if not scalar.has_sign:
            body = [_divided_unsigned(function, scalar, width)]
        case "floor_divide" | "modulo":
            body = _divided(function, scalar, width)
        case _ if function in INTEGERS and scalar.is_float:
            body = [_truncated(SCALARS[function], width)]
        case _:
            return None
    lanes = "" if width is None else f"x{width}"
    convert = function in CONVERSIONS
    name = f"{function}_from_{scalar}{lanes}" if convert else f"{function}_{scalar}{lanes}"
    result = SCALARS[function] if convert else scalar
    parameters = tuple(tree.Argument(c_type(scalar, width), x.name) for x in names)
    return tree.Function(name, c_type(result, width), parameters, tuple(body))


LARGEST_ARGUMENT = 32
"""Bytes of the largest vectors that functions of OpenCL's library are given."""


def needs_halves(function: str, scalar: Scalar, width: int) -> bool:
    """Whether a function is called on each half of vectors of this width: some of integers, and conversions.

    What is an operator of C, not of its library, is not concerned, nor is what is one call of its library on floats:
    see `_is_wide_call`.
    """
    word = SCALAR_FUNCTIONS[function].c
    is_operator = word is not None and not word.isidentifier()
    if _is_wide_call(function, scalar, width) or (function in _EXTREMES and scalar.is_float):
        return False
    result = SCALARS[function] if function in CONVERSIONS else scalar
    widest = max(scalar.bytes, result.bytes) * width
    return (
        widest > LARGEST_ARGUMENT and scalar != boolean and not is_operator and function != "select"
    )


def _is_wide_call(function: str, scalar: Scalar, width: int) -> bool:
    """Whether a function is one call of the library on floats, with vectors of 64 bytes and more.

    It gets a definition of its own, which is written anew for a driver that cannot do the call: PoCL aborts in its
    library, or computes nonsense, where it takes the processor for one without AVX-512.
    """
    own = function in CONVERSIONS or function in ("floor_divide", "modulo", "select")
    wide = scalar.bytes * width > LARGEST_ARGUMENT
    return scalar.is_float and wide and not own and _is_call(function) and function not in _EXTREMES


_X, _Y = tree.Name("x"), tree.Name("y")
_ZERO, _MINUS_ONE = tree.Whole(0), tree.Prefix("-", tree.Whole(1))


def _halves(function: str, scalar: Scalar, width: int) -> tree.Return:
    names = [tree.Name(x) for x in "xyz"[: SCALAR_FUNCTIONS[function].arity]]
    low, high = (
        apply(function, [CExpression(tree.Member(x, half), scalar, width // 2) for x in names])
        for half in ("lo", "hi")
    )
    return tree.Return(None, tree.Cast(c_type(low.scalar, width), (low.code, high.code)))


def converted(e: tree.Expression, after: tree.CType, size: int) -> tree.Expression:
    """A vector as one of C type `after`; `size` is the number of bytes of the larger scalar.

    >>> from relift.compiler.codegen.values.expressions import converted
    >>> from relift.compiler.dialects.printing import Printer
    >>> from relift.compiler.text.tree import CType
    >>> from relift.compiler.text.tree import Name
    >>> [Printer().expression(converted(Name("m"), CType("long", width), 8)) for width in (4, 8)]
    ['convert_long4(m)', '(long8)(convert_long4((m).lo), convert_long4((m).hi))']
    """
    if after.width * size <= LARGEST_ARGUMENT:
        return tree.call(f"convert_{Printer().scalar(after)}", e)
    half = replace(after, width=after.width // 2)
    low, high = (converted(tree.Member(tree.wrapped(e), part), half, size) for part in ("lo", "hi"))
    return tree.Cast(after, (low, high))


def _one(scalar: Scalar, width: int | None) -> tree.Expression:
    return spread(literal(Literal(1.0 if scalar.is_float else 1, scalar)), width).code


def _extreme(sign: str, width: int | None) -> tree.Return:
    """The one that is smaller or larger, or the first where it is NaN."""
    less, nan = tree.wrapped(_binary(sign, _X, _Y)), tree.wrapped(_binary("!=", _X, _X))
    return tree.Return(
        None, tree.Conditional(_binary("||" if width is None else "|", less, nan), _X, _Y)
    )


def _divided(
    function: str, scalar: Scalar, width: int | None
) -> list[tree.Declaration | tree.Return]:
    """Division rounded down; by 0 and -1, where C has no value for all x, apart."""
    t = replace(c_type(scalar, width), constant=True)
    negated = _integer("neg", [CExpression(_X, scalar, width)], scalar, width)
    narrow = width is not None and scalar.bytes < i32.bytes  # C converts no constant to its lanes
    zero, minus_one = (_whole(0, scalar), _whole(-1, scalar)) if narrow else (_ZERO, _MINUS_ONE)
    by_zero, by_minus_one = _binary("==", _Y, zero), _binary("==", _Y, minus_one)
    r, d, down, q = map(tree.Name, ("r", "d", "down", "q"))

    def apart(of: tree.Expression, by: tree.Expression) -> tree.Expression:
        return _binary("<", tree.wrapped(_binary("^", of, by)), zero)

    def declared(name: tree.Name, value: tree.Expression) -> tree.Declaration:
        return tree.Declaration(t, name.name, None, value)

    if width is None and function == "modulo":
        inexact = _binary("&&", _binary("!=", r, zero), apart(r, _Y))
        return [
            tree.Return(_binary("||", by_zero, by_minus_one), zero),
            declared(r, _binary("%", _X, _Y)),
            tree.Return(None, tree.Conditional(inexact, _binary("+", r, _Y), r)),
        ]
    if width is None:
        inexact = _binary("&&", _binary("!=", _binary("%", _X, _Y), zero), apart(_X, _Y))
        return [
            tree.Return(by_zero, zero),
            tree.Return(by_minus_one, negated),
            tree.Return(None, _binary("-", _binary("/", _X, _Y), tree.wrapped(inexact))),
        ]
    either = _binary("|", tree.wrapped(by_zero), tree.wrapped(by_minus_one))
    inexact = _binary("&", tree.wrapped(_binary("!=", r, zero)), tree.wrapped(apart(r, d)))
    safe: list[tree.Declaration | tree.Return] = [
        declared(d, tree.call("select", _Y, _one(scalar, width), either)),
        declared(r, _binary("%", _X, d)),
        declared(down, inexact),
    ]
    if function == "modulo":
        return [*safe, tree.Return(None, tree.call("select", r, _binary("+", r, d), down))]
    quotient = _binary("+", _binary("/", _X, d), down)
    zeros = tree.Cast(c_type(scalar, width), (zero,))
    return [
        *safe,
        declared(q, tree.call("select", quotient, negated, by_minus_one)),
        tree.Return(None, tree.call("select", q, zeros, by_zero)),
    ]


def _divided_unsigned(function: str, scalar: Scalar, width: int | None) -> tree.Return:
    """Division of numbers without a sign; by 0 it is 0."""
    zero = _whole(0, scalar) if width else tree.Whole(0)
    operator, by_zero = "/" if function == "floor_divide" else "%", _binary("==", _Y, zero)
    if width is None:
        return tree.Return(None, tree.Conditional(by_zero, zero, _binary(operator, _X, _Y)))
    safe = tree.call("select", _Y, _one(scalar, width), by_zero)
    zeros = tree.Cast(c_type(scalar, width), (zero,))
    return tree.Return(None, tree.call("select", _binary(operator, _X, safe), zeros, by_zero))


def _truncated(to: Scalar, width: int | None) -> tree.Return:
    """Towards zero, to the end of the range beyond it, NaN to 0."""
    t, nan = c_type(to, width), _binary("!=", _X, _X)
    convert = f"convert_{Printer().scalar(t)}"
    if width is None:
        return tree.Return(None, tree.Conditional(nan, _ZERO, tree.call(f"{convert}_sat", _X)))
    zero = tree.Cast(t, (_ZERO,))
    return tree.Return(
        None, tree.call("select", tree.call(f"{convert}_sat", _X), zero, tree.call(convert, nan))
    )
