"""The parser: text printed by `printer` back to the same term.

The text is Python in a small subset (calls, lambdas, arithmetic, subscripts, numbers, known names), and is
traced by the same constructors as a user's program, so it is typed again.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Collection, Mapping
from typing import Any

from relift.semantics.errors import IllTyped
from relift.semantics.language.coercion import as_term
from relift.semantics.language.naming import named_in
from relift.semantics.language.tracing import FixedLambda, PartialApplication, scope, trace
from relift.semantics.language.vocabulary import VOCABULARY, vectorize
from relift.semantics.syntax.signatures import OperatorKind
from relift.semantics.syntax.sizes import Size, nat
from relift.semantics.syntax.terms import BinaryOperator, Term, UserFunction
from relift.semantics.syntax.types import SCALARS, Type, TypeVariable, tup, vec

_ALLOWED = (
    ast.Expression, ast.Call, ast.Name, ast.Load, ast.Lambda, ast.arguments, ast.arg, ast.Constant,
    ast.Tuple, ast.Subscript, ast.UnaryOp, ast.USub, ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div,
    ast.FloorDiv, ast.Mod, ast.Pow, ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift, ast.Invert,
    ast.Compare, ast.Lt, ast.LtE, ast.Gt, ast.GtE,
)  # fmt: skip


DEEPEST = 400
"""How deeply a text may be nested; each level costs several of Python's frames when it is traced."""

WIDEST_NUMBER = 64
"""Bits; no size and no literal is wider."""

LARGEST_POWER = 64
"""Of a name or a number; of a sum, 8."""


class Unreadable(IllTyped):
    """A text does not denote what is asked of it."""


def parse_term(text: str, names: Mapping[str, Any] | None = None, **named: Any) -> Term:
    """The term that `text` denotes, with names for inputs, variables, operators and user functions.

    >>> from relift import i32
    >>> from relift.semantics.notation.parser import parse_term
    >>> from relift.semantics.syntax.terms import Input
    >>> parse_term("x + 1", x=Input("x", i32)).type
    i32
    """
    return as_term(_value(text, {**(names or {}), **named}))


def parse_lambda(text: str, names: Mapping[str, Any], types: list[Type]) -> FixedLambda:
    """The function that `text` denotes, traced on arguments of the given types."""
    with scope(list(names)):
        traced = trace(_value(text, names), types)
    return FixedLambda(traced.parameters, traced.body)


def parse_type(text: str, variables: Collection[str] = ()) -> Type:
    """The type that `text` denotes; `variables` are names that stand for any type.

    >>> from relift.semantics.notation.parser import parse_type
    >>> parse_type("(f32, vec(i32, 4))[2, 3]")
    (f32, vec(i32, 4))[2, 3]
    """
    return _type(_expression(text, "type"), variables)


def parse_size(text: str) -> Size:
    """The size that `text` denotes.

    >>> from relift.semantics.notation.parser import parse_size
    >>> parse_size("2*n + 1")
    2*n + 1
    """
    return _size(_expression(text, "size"))


def _type(node: ast.expr, variables: Collection[str]) -> Type:
    match node:
        case ast.Name(name) if name in SCALARS:
            return SCALARS[name]
        case ast.Name(name) if name in variables:
            return TypeVariable(name)
        case ast.Tuple(parts):
            return tup(*(_type(part, variables) for part in parts))
        case ast.Subscript(element, ast.Tuple(lengths)):
            return _type(element, variables)[tuple(map(_size, lengths))]
        case ast.Subscript(element, length):
            return _type(element, variables)[_size(length)]
        case ast.Call(ast.Name("vec"), [element, width]):
            return vec(_type(element, variables), _size(width))
        case _:
            raise Unreadable(f"not a type: {ast.unparse(node)}")


def _size(node: ast.expr) -> Size:
    match node:
        case ast.Constant(int(value)) if value.bit_length() <= WIDEST_NUMBER:
            return Size.of(value)
        case ast.Name(name):
            return nat(name)
        case ast.BinOp(left, ast.Add(), right):
            return _size(left) + _size(right)
        case ast.BinOp(left, ast.Sub(), right):
            return _size(left) - _size(right)
        case ast.BinOp(left, ast.Mult(), right):
            return _size(left) * _size(right)
        case ast.BinOp(base, ast.Pow(), power) if _is_bounded(base, power):
            return _size(base) ** _size(power)
        case _:
            raise Unreadable(f"not a size: {ast.unparse(node)}")


def parse_operator(text: str, names: Mapping[str, Any] | None = None) -> Any:
    """The operator, or the function of two arguments, that `text` denotes."""
    name, there = text.strip(), names or {}
    own = name in VOCABULARY and not callable(there.get(name))
    return VOCABULARY[name] if own else _value(text, there)


def _expression(text: str, what: str) -> ast.expr:
    """The syntax tree of one expression; raises `Unreadable` for a text that is none, or is nested too deeply."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError) as error:  # ValueError: a NUL byte, or a number of 5000 digits
        reason = (error.msg if isinstance(error, SyntaxError) else str(error)).partition(";")[0]
        raise Unreadable(f"not a {what}: {reason} in {_quoted(text)}") from None
    except (
        RecursionError,
        MemoryError,
    ):  # what Python's own parser raises, depending on the version
        raise Unreadable(f"not a {what}: {_quoted(text)} is nested too deeply") from None
    level, depth = [tree], 0
    while level:
        depth += 1
        if depth > DEEPEST:
            raise Unreadable(f"not a {what}: {_quoted(text)} is nested more than {DEEPEST} deep")
        level = [c for node in level for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr)]
    return tree


def _quoted(text: str) -> str:
    """The beginning of a text, for a message of one line."""
    return repr(text if len(text) <= 80 else f"{text[:77]}...")


def _check(node: ast.expr, text: str, names: Collection[str]) -> None:
    """Raise `Unreadable` for whatever the printer does not write: the tree is evaluated as Python.

    What is refused beyond the syntax could take forever or all memory: powers and multiples of constants.
    """
    nodes = list(ast.walk(node))
    bound = {a.arg for n in nodes if isinstance(n, ast.Lambda) for a in n.args.args}
    for n in nodes:
        match n:
            case ast.Constant(value) if not isinstance(value, bool | int | float):
                raise Unreadable(f"not a term: {value!r} is no number, in {_quoted(text)}")
            case ast.Constant(int(value)) if value.bit_length() > WIDEST_NUMBER:
                raise Unreadable(
                    f"not a term: a number beyond 2**{WIDEST_NUMBER} in {_quoted(text)}"
                )
            case ast.BinOp(base, ast.Pow(), power) if not _is_bounded(base, power):
                raise Unreadable(f"not a term: too large a power in {_quoted(text)}")
            case ast.BinOp(ast.Tuple(), _, _) | ast.BinOp(_, _, ast.Tuple()):
                raise Unreadable(f"not a term: arithmetic with a tuple in {_quoted(text)}")
            case ast.Name(name) if name not in names and name not in VOCABULARY:
                if name not in bound and name not in ("inf", "nan"):
                    raise Unreadable(
                        f"not a term: the name {name} means nothing in {_quoted(text)}"
                    )
            case _ if not isinstance(n, _ALLOWED):
                raise Unreadable(
                    f"not a term: {type(n).__name__} is not allowed in {_quoted(text)}"
                )
            case _:
                pass


def _is_bounded(base: ast.expr, power: ast.expr) -> bool:
    """Whether a power is of a size, or a small power of a number, and is no tower of powers."""
    names = any(isinstance(node, ast.Name) for node in ast.walk(power))
    tower = any(isinstance(node, ast.Pow) for side in (base, power) for node in ast.walk(side))
    match power:
        case ast.Constant(int(value)):
            most = LARGEST_POWER if isinstance(base, ast.Name | ast.Constant) else 8
            return 0 <= value <= most and not tower
        case _:
            return names and not tower


_OWN = {f"{name} of the language": meant for name, meant in VOCABULARY.items()}
"""What the language itself calls so, under names that no text has."""


class _Places(ast.NodeTransformer):
    """What a name means where an input, a size or a variable is called as the language calls a function or an operator.

    What is called is a function, and an operator stands where a pattern takes one: there, data is never meant.
    """

    def __init__(self, names: Mapping[str, Any]) -> None:
        self.names = names

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        node.func, function = self._own(node.func)
        if isinstance(function, PartialApplication):
            kinds = function.pattern.signature.parameters.values()
            for at, (kind, given) in enumerate(zip(kinds, node.args, strict=False)):
                if isinstance(kind, OperatorKind):
                    node.args[at], _ = self._own(given)
        elif function is vectorize and len(node.args) == 2:
            node.args[1], _ = self._own(node.args[1])
        return node

    def _own(self, node: ast.expr) -> tuple[ast.expr, Any]:
        """A name of the language's, spelled so that nothing else is meant, and what it means."""
        if not isinstance(node, ast.Name) or node.id not in VOCABULARY:
            return node, None
        if callable(self.names.get(node.id)):  # a function of the user's, or of a rule
            return node, None
        name = f"{node.id} of the language"
        return ast.copy_location(ast.Name(name, ast.Load()), node), _OWN[name]


def _value(text: str, names: Mapping[str, Any]) -> Any:
    body = _expression(text, "term")
    _check(body, text, names.keys())
    tree = ast.Expression(_Places(names).visit(body))
    constants = {"__builtins__": {}, "inf": math.inf, "nan": math.nan}
    environment = {**constants, **_OWN, **VOCABULARY, **names}
    with scope([name for name in names if not isinstance(names[name], PartialApplication)]):
        try:
            return eval(compile(tree, "<term>", "eval"), environment)  # the tree was checked above
        except RecursionError:
            raise Unreadable(f"not a term: {_quoted(text)} is nested too deeply") from None


def names_used(*terms: Term) -> dict[str, BinaryOperator | UserFunction]:
    """The operators and user functions of some terms, by name; what their texts need besides inputs."""
    found: dict[str, BinaryOperator | UserFunction] = {}

    def keep(name: str, value: BinaryOperator | UserFunction) -> None:
        if found.setdefault(name, value) != value:
            raise IllTyped(
                f"two different operators or user functions are called {name}; rename one"
            )

    for t in terms:
        for named in named_in(t):
            keep(named.name, named)
    return found
