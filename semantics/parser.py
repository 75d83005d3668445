"""The parser: text printed by `printer` back to the same term.

The text is Python in a small subset (calls, lambdas, arithmetic, subscripts, numbers, known names), and is
traced by the same constructors as a user's program, so it is typed again.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from typing import Any

from relift.semantics.errors import IllTyped
from relift.semantics.language import VOCABULARY
from relift.semantics.sizes import Size, nat
from relift.semantics.terms import (
    BinaryOperator,
    Call,
    Combine,
    Operator,
    Pattern,
    Term,
    UserFunction,
    Vectorized,
    subterms,
)
from relift.semantics.tracing import FixedLambda, Unapplied, as_term, scope, trace
from relift.semantics.types import SCALARS, Type, tup, vec

_ALLOWED = (
    ast.Expression, ast.Call, ast.Name, ast.Load, ast.Lambda, ast.arguments, ast.arg, ast.Constant,
    ast.Tuple, ast.Subscript, ast.UnaryOp, ast.USub, ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div,
    ast.FloorDiv, ast.Mod, ast.Pow, ast.BitAnd, ast.BitOr, ast.BitXor, ast.Invert,
    ast.Compare, ast.Lt, ast.LtE, ast.Gt, ast.GtE,
)  # fmt: skip


def parse_term(text: str, names: Mapping[str, Any]) -> Term:
    """The term that `text` denotes, with `names` for inputs, variables, operators and user functions."""
    return as_term(_value(text, names))


def parse_lambda(text: str, names: Mapping[str, Any], types: list[Type]) -> FixedLambda:
    """The function that `text` denotes, traced on arguments of the given types."""
    with scope(list(names)):
        traced = trace(_value(text, names), types)
    return FixedLambda(traced.parameters, traced.body)


def parse_type(text: str) -> Type:
    """The type that `text` denotes.

    >>> parse_type("(f32, vec(i32, 4))[2, 3]")
    (f32, vec(i32, 4))[2, 3]
    """
    try:
        return _type(ast.parse(text.strip(), mode="eval").body)
    except SyntaxError:
        raise IllTyped(f"not a type: {text!r}") from None


def parse_size(text: str) -> Size:
    """The size that `text` denotes.

    >>> parse_size("2*n + 1")
    2*n + 1
    """
    try:
        return _size(ast.parse(text.strip(), mode="eval").body)
    except SyntaxError:
        raise IllTyped(f"not a size: {text!r}") from None


def _type(node: ast.expr) -> Type:
    match node:
        case ast.Name(name) if name in SCALARS:
            return SCALARS[name]
        case ast.Tuple(parts):
            return tup(*map(_type, parts))
        case ast.Subscript(element, ast.Tuple(lengths)):
            return _type(element)[tuple(map(_size, lengths))]
        case ast.Subscript(element, length):
            return _type(element)[_size(length)]
        case ast.Call(ast.Name("vec"), [element, width]):
            return vec(_type(element), _size(width))
        case _:
            raise IllTyped(f"not a type: {ast.unparse(node)}")


def _size(node: ast.expr) -> Size:
    match node:
        case ast.Constant(int(value)):
            return Size.of(value)
        case ast.Name(name):
            return nat(name)
        case ast.BinOp(left, ast.Add(), right):
            return _size(left) + _size(right)
        case ast.BinOp(left, ast.Sub(), right):
            return _size(left) - _size(right)
        case ast.BinOp(left, ast.Mult(), right):
            return _size(left) * _size(right)
        case ast.BinOp(left, ast.Pow(), right):
            return _size(left) ** _size(right)
        case _:
            raise IllTyped(f"not a size: {ast.unparse(node)}")


def parse_operator(text: str, names: Mapping[str, Any] | None = None) -> Any:
    """The operator, or the function of two arguments, that `text` denotes."""
    return _value(text, names or {})


def _value(text: str, names: Mapping[str, Any]) -> Any:
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        raise IllTyped(f"not a term: {error.msg} in {text!r}") from None
    for node in ast.walk(tree):
        if not isinstance(node, _ALLOWED):
            raise IllTyped(f"not a term: {type(node).__name__} is not allowed in {text!r}")
        if isinstance(node, ast.Name) and node.id not in names and node.id not in VOCABULARY:
            bound = {
                a.arg for n in ast.walk(tree) if isinstance(n, ast.Lambda) for a in n.args.args
            }
            if node.id not in bound and node.id not in ("inf", "nan"):
                raise IllTyped(f"not a term: the name {node.id} means nothing in {text!r}")
    environment = {"__builtins__": {}, "inf": math.inf, "nan": math.nan, **VOCABULARY, **names}
    with scope([name for name in names if not isinstance(names[name], Unapplied)]):
        return eval(compile(tree, "<term>", "eval"), environment)  # the tree was checked above


def names_used(t: Term) -> dict[str, BinaryOperator | UserFunction]:
    """The operators and user functions of a term, by name; what its text needs besides its inputs."""
    found: dict[str, BinaryOperator | UserFunction] = {}

    def keep(name: str, value: BinaryOperator | UserFunction) -> None:
        if found.setdefault(name, value) != value:
            raise IllTyped(
                f"two different operators or user functions are called {name}; rename one"
            )

    def add(operator: Operator) -> None:
        match operator:
            case BinaryOperator(name):
                keep(name, operator)
            case Vectorized(_, inner):
                add(inner)
            case _:
                pass

    for u, _ in subterms(t):
        match u:
            case Call(function):
                keep(function.name, function)
            case Combine(operator):
                add(operator)
            case Pattern() if (op := getattr(u, "op", None)) is not None:
                add(op)
            case _:
                pass
    return found
