"""Reading what is written out in a pattern: index functions, and rows of numbers."""

from __future__ import annotations

import ast

from relift.semantics.errors import IllTyped
from relift.semantics.indices.functions import (
    IndexExpression,
    IndexFunction,
    LiteralParameter,
    SizeIndex,
    Symbol,
    TheIndex,
    combine_indices,
)
from relift.semantics.indices.rows import Numbers
from relift.semantics.syntax.sizes import Size, nat
from relift.semantics.syntax.types import SCALARS


def read_index_function(text: str) -> IndexFunction:
    """The index function that a text denotes; its free names are sizes."""
    read = read_literal_parameter(text)
    if not isinstance(read, IndexFunction):
        raise IllTyped(f"not an index function: {text}")
    return read


def read_literal_parameter(text: str) -> LiteralParameter:
    """What a text denotes; its free names are sizes.  Raises `IllTyped`; nothing in the text is executed.

    >>> from relift.semantics.indices.reader import read_literal_parameter
    >>> read_literal_parameter("lambda i: (i + 1) % n"), read_literal_parameter("(1.0, 2.0), f32")
    (lambda i: (i + 1) % n, (1.0, 2.0), f32)
    """
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        raise IllTyped(f"not an index function or a row of numbers: {text!r}") from None
    match tree:
        case ast.Lambda(ast.arguments(args=[ast.arg(i)]), body):
            return IndexFunction(_read(body, i))
        case ast.Tuple([ast.Tuple(values), ast.Name(of)]) if of in SCALARS:
            return Numbers(tuple(map(_number, values)), SCALARS[of])
        case _:
            raise IllTyped(f"not an index function or a row of numbers: {text!r}")


def _number(node: ast.expr) -> float:
    match node:
        case ast.Constant(bool() | int() | float() as value):
            return value
        case ast.Name("inf" | "nan" as name):
            return float(name)
        case ast.UnaryOp(ast.USub(), operand):
            return -_number(operand)
        case _:
            raise IllTyped(f"not a number: {ast.unparse(node)}")


_SYMBOLS: dict[type[ast.operator], Symbol] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%",
}  # fmt: skip


def _read(node: ast.expr, i: str) -> IndexExpression:
    match node:
        case ast.Name(name):
            return TheIndex() if name == i else SizeIndex(nat(name))
        case ast.Constant(int(value)):
            return SizeIndex(Size.of(value))
        case ast.UnaryOp(ast.USub(), operand):
            return combine_indices("-", 0, _read(operand, i))
        case ast.BinOp(left, operator, right) if type(operator) in _SYMBOLS:
            return combine_indices(_SYMBOLS[type(operator)], _read(left, i), _read(right, i))
        case _:
            raise IllTyped(f"not an index expression: {ast.unparse(node)}")
