"""The C functions that kernels call: user functions, and what OpenCL C lacks.

A user function that was traced from Python is emitted for scalars and for each vector width that a kernel
needs.  An opaque one (C text) exists for scalars only, and is called lane by lane.
"""

from __future__ import annotations

from collections.abc import Sequence

from relift.compiler.emitter import c_name
from relift.compiler.expressions import (
    CExpression,
    apply,
    c_type,
    extreme_definition,
    extreme_name,
    halves_definition,
    halves_name,
    lane_of,
    needs_halves,
    uses_extreme,
)
from relift.semantics.terms import UserFunction
from relift.semantics.types import Scalar, Type


class Functions:
    """The definitions needed so far, by name, in the order in which C must see them."""

    def __init__(self) -> None:
        self.definitions: dict[str, str] = {}

    def define(self, name: str, text: str) -> None:
        """Add a definition, once."""
        self.definitions.setdefault(name, text)

    def apply(self, function: str, arguments: Sequence[CExpression]) -> CExpression:
        """A function of the table, applied."""
        result = apply(function, arguments)
        if uses_extreme(function, result.scalar):
            name = extreme_name(function, result.scalar, result.width)
            self.define(name, extreme_definition(function, result.scalar, result.width))
        self._define_halves(function, result.scalar, result.width, len(arguments))
        return result

    def _define_halves(self, function: str, scalar: Scalar, width: int | None, arity: int) -> None:
        if width is not None and needs_halves(function, scalar, width):
            self._define_halves(function, scalar, width // 2, arity)
            text = halves_definition(function, scalar, width, arity)
            self.define(halves_name(function, scalar, width), text)

    def call_opaque(
        self, function: UserFunction, arguments: Sequence[CExpression], width: int | None
    ) -> CExpression:
        """A user function in C, applied to scalars, or to each lane of vectors that have names."""
        name, result = function_name(function, None), scalar_of(function.result)
        assert function.c is not None, "cannot happen: a function is traced or in C"
        body = "\n".join("  " + line for line in function.c.strip().splitlines())
        self.define(name, f"{header(function, None, function.parameters)}\n{body}\n}}")
        if width is None:
            return CExpression(f"{name}({', '.join(e.text for e in arguments)})", result)
        calls = [
            f"{name}({', '.join(lane_of(e, k).text for e in arguments)})" for k in range(width)
        ]
        return CExpression(f"({c_type(result, width)})({', '.join(calls)})", result, width)


def function_name(function: UserFunction, width: int | None) -> str:
    """The C name of a user function, on scalars or on vectors."""
    return c_name(function.name) + ("" if width is None else f"_x{width}")


def header(function: UserFunction, width: int | None, parameters: Sequence[str]) -> str:
    """The first line of the definition of a user function."""
    shown = ", ".join(
        f"{c_type(scalar_of(t), width)} {p}"
        for p, t in zip(parameters, function.types, strict=True)
    )
    return (
        f"{c_type(scalar_of(function.result), width)} {function_name(function, width)}({shown}) {{"
    )


def scalar_of(t: Type) -> Scalar:
    """t, which is a scalar type."""
    assert isinstance(t, Scalar), "cannot happen: user functions work on scalars"
    return t
