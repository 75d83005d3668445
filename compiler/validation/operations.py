"""What a symbol is of its parts: a function by its name, or what is made of such a function."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Unsigned:
    """A function of whole numbers that are read without a sign, where that makes a difference.

    >>> from relift.compiler.validation.operations import Unsigned
    >>> str(Unsigned("quotient"))
    'quotient_unsigned'
    """

    function: str

    def __str__(self) -> str:
        return f"{self.function}_unsigned"


Named: TypeAlias = str | Unsigned
"""A function by its name, with how it reads whole numbers."""


@dataclass(frozen=True)
class Variadic:
    """A function that combines any number of parts, without an order and without brackets, where it has two arguments.

    >>> from relift.compiler.validation.operations import Variadic
    >>> str(Variadic("add"))
    'any_add'
    """

    function: Named

    def __str__(self) -> str:
        return f"any_{self.function}"


@dataclass(frozen=True)
class FirstOf:
    """Of pairs v0, p0, v1, p1, ... the p of the first v that is their minimum, or maximum.

    >>> from relift.compiler.validation.operations import FirstOf
    >>> str(FirstOf("minimum"))
    'first_minimum'
    """

    extreme: Named

    def __str__(self) -> str:
        return f"first_{self.extreme}"


Operation: TypeAlias = Named | Variadic | FirstOf


CONNECTIVES: Mapping[Operation, str] = {
    "bitwise_and": "and",
    "bitwise_or": "or",
    "bitwise_xor": "xor",
}
"""Functions of the language that combine truth values, or bits, and what logic calls them."""

SIGNS: Mapping[Operation, str] = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "lt": "<", "le": "<=", "equal": "==",
}  # fmt: skip
"""How functions of two are written between them."""

ANY_SUM, ANY_PRODUCT = Variadic("add"), Variadic("mul")


def read_as(function: str, *, unsigned: bool) -> Named:
    """A function of whole numbers with a sign, or without one."""
    return Unsigned(function) if unsigned else function


def plain(operation: Operation) -> Operation:
    """What is combined two by two, of what combines any number of parts; another operation itself.

    >>> from relift.compiler.validation.operations import Variadic, plain
    >>> plain(Variadic("add")), plain("neg")
    ('add', 'neg')
    """
    return operation.function if isinstance(operation, Variadic) else operation


def name_of(operation: Operation) -> str:
    """The name of a function, however it reads whole numbers; of what is made of one, its text, which names none."""
    match operation:
        case str(name) | Unsigned(name):
            return name
        case Variadic() | FirstOf():
            return str(operation)
