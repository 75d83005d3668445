"""Operations of a size with what is no size: terms, numbers with a point, and what only numbers have."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from relift.semantics.errors import IllTyped
from relift.semantics.syntax import overloading

if TYPE_CHECKING:
    from relift.semantics.syntax.sizes import Size


class Combined:
    """What has arithmetic of its own that takes sizes in: terms, and the index expressions of `written`."""


ELSEWHERE = (Combined, float)
"""What a size is beside in an operation that is not of sizes."""

UNKNOWN = "is not known while a program is traced; state it with rl.nat(name, least=...)"


def as_number(size: Size, function: str, other: Any, *, swapped: bool = False) -> Size:
    """An operation of scalars, to type checkers one of sizes: beside a number with a point a size is the number that it is.

    Terms have their own.
    """
    if isinstance(other, Combined):
        return cast("Size", NotImplemented)
    number = other if type(other) is float else size.of(other)
    sides = (number, size) if swapped else (size, number)
    return cast("Size", overloading.scalar(function, *sides))


def reflected(function: str, of_sizes: Callable[[Any, Any], Size]) -> Callable[[Size, Any], Size]:
    """An operation of sizes with its sides swapped."""

    def operation(self: Size, other: Any) -> Any:
        if isinstance(other, ELSEWHERE):
            return as_number(self, function, other, swapped=True)
        return of_sizes(self.of(other), self)

    return operation


def refused(why: str) -> Callable[[Size, object], Any]:
    """An operation that numbers have, sizes do not, and terms do again."""

    def operation(self: Size, other: object) -> Any:
        if isinstance(other, Combined):
            return NotImplemented
        raise IllTyped(why.format(self, other))

    return operation


uneven = refused(
    "sizes divide exactly or not at all; write ({0}) // {1}, or of numbers f32({0}) / {1}"
)
