"""The functions of OpenCL C on the types that a source calls them with, each defined in C where it is needed.

>>> from relift.compiler.dialects.c.library import definition
>>> from relift.compiler.text.tree import CType
>>> print(definition("fma", [CType("float", 4)] * 3, CType("float", 4)).text)
static inline float4 relift_fma_float4(float4 x, float4 y, float4 z) {
  float4 r;
  for (int i = 0; i < 4; ++i) r[i] = __builtin_fmaf(x[i], y[i], z[i]);
  return r;
}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relift.compiler.dialects.types import CONVERSION
from relift.compiler.text.c_types import FLOATS, RANGES, UNSIGNED, Update
from relift.compiler.text.tree import CType
from relift.semantics.errors import Unsupported
from relift.semantics.syntax.scalars import SCALAR_FUNCTIONS

_ENDS = {"float": "f", "double": ""}
"""How the functions of C's library end that compute with a type."""

_BY_WAY_OF = {"half": "float"}
"""The floats that functions of floats are computed in."""

_OF_FLOATS = frozenset(
    f.c for f in SCALAR_FUNCTIONS.values() if f.c is not None and f.c.isidentifier()
) | {"fmin", "fmax", "fmod", "trunc", "round", "rint", "log2", "exp2"}
"""Functions of C's library that have the same name in OpenCL C."""

_OF_WHOLES = {
    "min": "{0} < {1} ? {0} : {1}",
    "max": "{0} > {1} ? {0} : {1}",
    "abs": "{0} < 0 ? -({u}){0} : ({u}){0}",
}
_OF_BOTH = {"mad": "{0} * {1} + {2}", "clamp": "{0} < {1} ? {1} : {0} > {2} ? {2} : {0}"}
_SCALAR_NAMES = {"char": "relift_char", "bool": "_Bool"}


@dataclass(frozen=True)
class Definition:
    """A function in C, and its name."""

    name: str
    text: str


def spelled(t: CType) -> str:
    """The name of a scalar or a vector in C."""
    return t.scalar + str(t.width) if t.width > 1 else _SCALAR_NAMES.get(t.scalar, t.scalar)


def definition(function: str, given: Sequence[CType], result: CType) -> Definition:
    """A function on arguments of these types, which have the lanes of its result; raises `Unsupported`."""
    name = f"relift_{function}_{'_'.join(dict.fromkeys(map(spelled, given)))}"
    names = ["x", "y", "z"][: len(given)]
    if len(names) < len(given):
        raise Unsupported(f"C with OpenMP has no function {function} of {len(given)} arguments")
    parameters = ", ".join(f"{spelled(t)} {x}" for t, x in zip(given, names, strict=True))
    own, lane = spelled(result), CType(result.scalar)
    head = f"static inline {own} {name}({parameters}) {{"
    if result.width == 1:
        return Definition(
            name, f"{head}\n  return {_of_scalars(function, names, given, lane)};\n}}"
        )
    lanes = [f"{x}[i]" if t.width > 1 else x for x, t in zip(names, given, strict=True)]
    each = _of_scalars(function, lanes, [CType(t.scalar) for t in given], lane)
    loop = f"for (int i = 0; i < {result.width}; ++i) r[i] = {each};"
    return Definition(name, f"{head}\n  {own} r;\n  {loop}\n  return r;\n}}")


def _of_scalars(function: str, x: Sequence[str], given: Sequence[CType], result: CType) -> str:
    """A function on scalars of given types, as an expression of C."""
    scalar = given[0].scalar
    if m := CONVERSION.fullmatch(function):
        return _converted(x[0], scalar, m["scalar"], saturated=m["sat"] is not None)
    if function == "select":
        return f"{x[2]} ? {x[1]} : {x[0]}"
    if function in ("/", "%"):
        return f"{x[0]} {function} {x[1]}"
    if function in _OF_BOTH:
        return _OF_BOTH[function].format(*x)
    if scalar not in FLOATS and function in _OF_WHOLES:
        return _OF_WHOLES[function].format(*x, u=spelled(result))
    if (
        scalar in _BY_WAY_OF
    ):  # C's library has no functions of these; twice the digits round as once
        wider = "double" if function == "fma" else _BY_WAY_OF[scalar]
        return _of_scalars(
            function, [f"({wider}){v}" for v in x], [CType(wider)] * len(x), CType(wider)
        )
    if scalar in FLOATS and function in ("min", "max"):
        return f"__builtin_f{function}{_ENDS[scalar]}({', '.join(x)})"
    if function == "rsqrt" and scalar in _ENDS:
        return f"1 / __builtin_sqrt{_ENDS[scalar]}({x[0]})"
    plain = function.removeprefix("native_").removeprefix("half_")
    if scalar in _ENDS and plain in _OF_FLOATS:
        return f"__builtin_{plain}{_ENDS[scalar]}({', '.join(x)})"
    raise Unsupported(f"C with OpenMP has no function {function} of {scalar}")


def _converted(x: str, before: str, after: str, *, saturated: bool) -> str:
    to = spelled(CType(after))
    if not saturated or after in FLOATS:
        return f"({to}){x}"
    if before in FLOATS:
        low, high = RANGES[after]
        ends = (f"({to}){_whole(low, after)}", f"({to}){_whole(high, after)}")
        return f"!({x} == {x}) ? 0 : {x} <= {float(low)!r} ? {ends[0]} : {x} >= {float(high)!r} ? {ends[1]} : ({to}){x}"
    raise Unsupported(f"C with OpenMP has no conversion of {before} to the end of {after}")


def _whole(value: int, scalar: str) -> str:
    if scalar in UNSIGNED:
        return f"{value}ul"
    return f"({value + 1}L - 1)" if value < 0 else f"{value}L"


def _combined(how: Update) -> str:
    """What an update makes of `old` and `x`."""
    whole = how.scalar == "int"
    if how.by == "add":
        return "(int)((unsigned)old + (unsigned)x)" if whole else "old + x"  # which wraps around
    is_nan = "" if whole else " || old != old"
    return f"old {'>' if how.by == 'maximum' else '<'} x{is_nan} ? old : x"


def update_alone(how: Update) -> Definition:
    """What combines a cell with a number where one thread does.

    >>> from relift.compiler.dialects.c.library import update_alone
    >>> from relift.compiler.text.c_types import Update
    >>> print(update_alone(Update("maximum", "float")).text)
    static inline void relift_update_maximum_float(float* p, float x) {
      const float old = *p;
      *p = old > x || old != old ? old : x;
    }
    """
    name, t = f"relift_update_{how.by}_{how.scalar}", how.scalar
    body = f"const {t} old = *p;\n  *p = {_combined(how)};"
    return Definition(name, f"static inline void {name}({t}* p, {t} x) {{\n  {body}\n}}")


def update_at_once(how: Update) -> Definition:
    """What combines a cell with a number where several threads may: again until nobody came between."""
    name, t = f"relift_update_{how.by}_{how.scalar}_at_once", how.scalar
    order = "__ATOMIC_RELAXED"
    body = (
        f"{t} old, now;\n  __atomic_load(p, &old, {order});\n  do {{\n    now = {_combined(how)};\n"
        f"  }} while (!__atomic_compare_exchange(p, &old, &now, 1, {order}, {order}));"
    )
    return Definition(name, f"static inline void {name}({t}* p, {t} x) {{\n  {body}\n}}")
