"""Scalars and vectors in OpenCL C: types, literals, scalar functions.

A `CExpression` is what one scalar of a term is in the kernel: a C scalar, or, inside a vector operation, a
C vector with the value of each lane.  A truth value is an `int` that is 0 or 1; a vector of them is an
integer vector with lanes 0 or -1, as OpenCL compares.  Signed integers are computed as unsigned ones: they
wrap around, where overflow of signed ones means nothing in C and compilers make use of it.

>>> from relift import f32, i32
>>> from relift.compiler.codegen.values.expressions import apply
>>> from relift.compiler.codegen.values.scalars import CExpression
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

from collections.abc import Sequence
from dataclasses import replace

from relift.compiler.codegen.values.quotients import (
    by_a_power_of_two,
    divided,
    divided_unsigned,
    shifted,
)
from relift.compiler.codegen.values.scalars import CExpression, binary, c_type, ending, spread
from relift.compiler.dialects.printing import Printer
from relift.compiler.text import tree
from relift.semantics.syntax.scalars import CONVERSIONS, SCALAR_FUNCTIONS
from relift.semantics.syntax.types import INTEGERS, SCALARS, Scalar, boolean, i32, i64

_MASKS = {1: Scalar("i8", 1, "int8", "char"), 2: Scalar("i16", 2, "int16", "short"), 4: i32, 8: i64}
"""The types of the lanes of a comparison of values of so many bytes."""

_COMPARISONS = ("lt", "le", "gt", "ge", "equal", "not_equal")
_WRAPPING = ("add", "sub", "mul", "neg")
_EXTREMES = {"minimum": ("<", "min"), "maximum": (">", "max")}


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
    if (bits := by_a_power_of_two(function, arguments)) is not None:
        return CExpression(bits, scalar, width)
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
    return tree.wrapped(binary(word, left, right))


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
        return tree.Real(f"{code.value}{ending(e.scalar)}")
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
            body = [divided_unsigned(function, scalar, width)]
        case "floor_divide" | "modulo":
            negated = _integer("neg", [CExpression(_X, scalar, width)], scalar, width)
            body = divided(function, scalar, width, negated)
        case "left_shift" | "right_shift":
            body = [shifted(function, scalar, width)]
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
    own = (
        function in CONVERSIONS
        or function == "select"
        or SCALAR_FUNCTIONS[function].on == "integers"
    )
    wide = scalar.bytes * width > LARGEST_ARGUMENT
    return scalar.is_float and wide and not own and _is_call(function) and function not in _EXTREMES


_X, _Y = tree.Name("x"), tree.Name("y")
_ZERO = tree.Whole(0)


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


def _extreme(sign: str, width: int | None) -> tree.Return:
    """The one that is smaller or larger, or the first where it is NaN."""
    less, nan = tree.wrapped(binary(sign, _X, _Y)), tree.wrapped(binary("!=", _X, _X))
    return tree.Return(
        None, tree.Conditional(binary("||" if width is None else "|", less, nan), _X, _Y)
    )


def _truncated(to: Scalar, width: int | None) -> tree.Return:
    """Towards zero, to the end of the range beyond it, NaN to 0."""
    t, nan = c_type(to, width), binary("!=", _X, _X)
    convert = f"convert_{Printer().scalar(t)}"
    if width is None:
        return tree.Return(None, tree.Conditional(nan, _ZERO, tree.call(f"{convert}_sat", _X)))
    zero = tree.Cast(t, (_ZERO,))
    return tree.Return(
        None, tree.call("select", tree.call(f"{convert}_sat", _X), zero, tree.call(convert, nan))
    )
