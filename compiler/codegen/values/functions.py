"""The C functions that kernels call: user functions, and what OpenCL C lacks.

A user function that was traced from Python is emitted for scalars and for each vector width that a kernel
needs.  An opaque one (C text) exists for scalars only, and is called lane by lane.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relift.compiler.codegen.values.expressions import apply, definition, needs_halves
from relift.compiler.codegen.values.quotients import by_a_power_of_two
from relift.compiler.codegen.values.scalars import CExpression, c_type, lane_of
from relift.compiler.text.lexing import NotUnderstood
from relift.compiler.text.names import Names, c_name, on_any_width
from relift.compiler.text.reader import read_body
from relift.compiler.text.tree import Argument, Cast, Function, call
from relift.semantics.errors import IllTyped
from relift.semantics.syntax.terms import UserFunction
from relift.semantics.syntax.types import Scalar, Type


class Functions:
    """The definitions needed so far, by name, in the order in which C must see them.

    User functions are told apart by what they are: two of one name have two names in C.
    """

    def __init__(self, names: Names | None = None) -> None:
        self.names = names or Names()
        self.definitions: dict[str, Function] = {}
        self._called: dict[UserFunction, str] = {}

    def name_of(self, function: UserFunction, width: int | None = None) -> str:
        """The C name of a user function, on scalars or on vectors."""
        if function not in self._called:
            self._called[function] = self.names.fresh(function.name, on_any_width)
        return self._called[function] + ("" if width is None else f"_x{width}")

    def define(self, function: Function) -> None:
        """Add a definition, once."""
        self.definitions.setdefault(function.name, function)

    def apply(self, function: str, arguments: Sequence[CExpression]) -> CExpression:
        """A function of the table, applied."""
        result = apply(function, arguments)
        if by_a_power_of_two(function, arguments) is None:
            self._bring(function, arguments[-1].scalar, result.width)
        return result

    def _bring(self, function: str, scalar: Scalar, width: int | None) -> None:
        if width is not None and needs_halves(function, scalar, width):
            self._bring(function, scalar, width // 2)  # the whole calls it for its halves
        if (own := definition(function, scalar, width)) is not None:
            self.define(own)

    def call_opaque(
        self, function: UserFunction, arguments: Sequence[CExpression], width: int | None
    ) -> CExpression:
        """A user function in C, applied to scalars, or to each lane of vectors that have names."""
        for p in function.parameters:
            if c_name(p) != p:
                raise IllTyped(
                    f"userfun {function.name}: its C text cannot have a parameter {p}, which is no name that "
                    f"OpenCL C leaves to programs; call it {c_name(p)}"
                )
        result = scalar_of(function.result)
        name = self.name_of(function)
        if name not in self.definitions:
            self.define(self._in_c(function))
        if width is None:
            return CExpression(call(name, *(e.code for e in arguments)), result)
        calls = tuple(call(name, *(lane_of(e, k).code for e in arguments)) for k in range(width))
        return CExpression(Cast(c_type(result, width), calls), result, width)

    def _in_c(self, function: UserFunction) -> Function:
        """The definition of a user function that was written in C."""
        text = function.c
        assert text is not None, "cannot happen: a function is traced or in C"
        declared = self.head(function, None, function.parameters)
        try:
            body = read_body(text)
        except NotUnderstood:
            body = None
        return replace(declared, body=body, text=text)

    def head(
        self, function: UserFunction, width: int | None, parameters: Sequence[str]
    ) -> Function:
        """A user function without its body."""
        given = tuple(
            Argument(c_type(scalar_of(t), width), p)
            for p, t in zip(parameters, function.types, strict=True)
        )
        result = c_type(scalar_of(function.result), width)
        return Function(self.name_of(function, width), result, given, None)


def scalar_of(t: Type) -> Scalar:
    """t, which is a scalar type."""
    assert isinstance(t, Scalar), "cannot happen: user functions work on scalars"
    return t
