"""Terms, types and operators as egglog text, generated from the signatures of the patterns.

A pattern becomes one constructor whose slots are its parameters; a lambda is its binders, then its body.
Binders are names, and a name carries its type, so typing needs no context.  Three facts are kept of every
e-class:

    ty    its type; two types for one class are a `Clash`, which must never happen
    fv    its free names, merged by intersection: what every member could do without
    rep   one term of the class, as it was when the class was new, in a mirror sort that is never unioned;
          the log of rule firings is written in these

`(Sub x a b)` is b with a for x.  It is pushed inwards by rules and never extracted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from relift.semantics.errors import Unsupported
from relift.semantics.indices.functions import LiteralParameter
from relift.semantics.indices.rows import Numbers
from relift.semantics.patterns import PATTERNS, IterateSizes
from relift.semantics.syntax import terms
from relift.semantics.syntax.expression import Expression
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.types import AnyType, Array, Scalar, Tuple, Type, TypeVariable, Vector

Applied: TypeAlias = (
    terms.Input
    | terms.Literal
    | terms.Apply
    | terms.Call
    | terms.Metavariable
    | terms.Combine
    | terms.MakeTuple
    | terms.Get
    | terms.Pattern
)
"""A term that is no variable."""


def require_searchable(t: terms.Term) -> None:
    """Raise `Unsupported` when a program has a pattern that no search result can contain."""
    for u, _ in terms.subterms(t):
        if isinstance(u, IterateSizes):
            raise Unsupported(
                "optimize does not lower iterate_sizes of another function than partial_reduce, or so often as a size "
                "says; compile the program as it is written, or write its steps one after the other"
            )
        if isinstance(u, terms.Pattern) and PATTERNS.get(u.name) is not type(u):
            raise Unsupported(
                f"optimize does not know {u.name}: it is no pattern of relift.semantics.patterns; compile "
                "the program as it is written"
            )
        if isinstance(u, terms.Pattern) and not u.searched:
            other = "compile the program as it is written, or " if u.compiled else ""
            only = "" if u.compiled else ", and no kernel computes it: the interpreter does"
            raise Unsupported(
                f"optimize does not lower {u.name} yet{only}; {other}write it without {u.name}"
            )


# ---- text of closed terms


def quoted(text: str) -> str:
    """A string of egglog."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def size_text(n: Size) -> str:
    """A size without names."""
    if n.constant is None:
        raise Unsupported(f"search works at concrete sizes, but {n} is left open")
    return str(n.constant)


def _unexpected(name: str) -> str:
    raise AssertionError(f"cannot happen: a program has the type variable {name}")


def type_text(
    t: Type,
    size: Callable[[Size], str] = size_text,
    variable: Callable[[str], str] = _unexpected,
) -> str:
    """A type, as a term of the sort T; `size` and `variable` say how its sizes and type variables are written."""

    def text(part: Type) -> str:
        return type_text(part, size, variable)

    match t:
        case Scalar(name):
            return f"(Sc {quoted(name)})"
        case Array(element, n):
            return f"(Arr {size(n)} {text(element)})"
        case Vector(element, n):
            return f"(Vec {size(n)} {text(element)})"
        case Tuple(parts):
            return f"(Tup {list_text(map(text, parts))})"
        case TypeVariable(name):
            return variable(name)


def list_text(types: Iterable[str]) -> str:
    """A list of types, as a term of the sort L."""
    text = "(Nil)"
    for t in reversed(list(types)):
        text = f"(Cons {t} {text})"
    return text


def operator_text(operator: terms.Operator) -> str:
    """An operator, as a term of the sort O; a metavariable is an operator of unknown meaning."""
    match operator:
        case terms.BinaryOperator(name):
            return f"(OFn {quoted(name)})"
        case terms.OperatorMetavariable(name):
            return f"(OAny {quoted(name)})"
        case terms.Vectorized(width, inner):
            return f"(OVec {size_text(width)} {operator_text(inner)})"


def literal_text(value: float, t: Type) -> str:
    """The text that tells literals apart: 0.0 and -0.0 differ, and so do 1 and 1.0."""
    return repr(float(value)) if isinstance(t, Scalar) and t.is_float else repr(value)


Field: TypeAlias = (
    terms.Term | terms.Lambda | terms.Operator | Size | Type | LiteralParameter | str | int
)
"""What stands in a slot of a constructor; a lambda fills those of its names too, and what is written those of its text."""


def node_of(t: Applied) -> tuple[str, tuple[Field, ...]]:
    """The constructor of a term that is no variable, and what stands in its slots.

    >>> from relift import i32
    >>> from relift.egraph.encode.terms import node_of
    >>> from relift.semantics.notation.parser import parse_term
    >>> from relift.semantics.syntax.terms import Input
    >>> node_of(parse_term("take(2, xs)", xs=Input("xs", i32[4])))
    ('P_take', (2, Input(name='xs', type=i32[4])))
    """
    match t:
        case terms.Input(name, of):
            return "Input", (name, of)
        case terms.Literal(value, of):
            return "Literal", (literal_text(value, of), of)
        case terms.Apply(function, arguments, of):
            return f"Apply{len(arguments)}", (function, of, *arguments)
        case terms.Call(user, arguments, of):
            return f"Call{len(arguments)}", (user.name, of, *arguments)
        case terms.Metavariable(name, arguments, of):
            return f"Opaque{len(arguments)}", (name, of, *arguments)
        case terms.Combine(operator, left, right):
            return "Combine", (operator, left, right)
        case terms.MakeTuple(parts):
            return f"Tuple{len(parts)}", parts
        case terms.Get(index, of):
            return "Get", (index, of)
        case terms.Pattern():
            return "P_" + t.name, tuple(getattr(t, place) for place in t.signature.parameters)


def node_text(t: Applied, text: Callable[[Field], str]) -> str:
    """A term that is no variable, as text, from the text of what stands in its slots."""
    constructor, fields = node_of(t)
    return f"({' '.join([constructor, *map(text, fields)])})"


def term_text(t: terms.Term) -> str:
    """A program at concrete sizes, as a term of the sort E."""
    return f"(Var {_name(t)})" if isinstance(t, terms.Var) else node_text(t, _field)


_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[()]|[^\s()"]+')
LONGEST = 1_000
"""Letters of one command, about: egglog's parser takes memory with the square of them."""


def let_text(name: str, text: str) -> str:
    """Commands that give a term a name, long parts of it first, each once.

    >>> from relift.egraph.encode.terms import LONGEST, let_text
    >>> long = f'(Input "{"x" * LONGEST}")'
    >>> let_text("$root", f"(Zip {long} {long})").replace("x" * LONGEST, "xs")
    '(let $root_1 (Input "xs"))(let $root (Zip $root_1 $root_1))'
    """
    known: dict[str, str] = {}
    open_: list[list[str]] = [[]]
    for token in _TOKENS.findall(text):
        if token == "(":
            open_.append([])
            continue
        if token == ")":
            token = f"({' '.join(open_.pop())})"
            if len(token) > LONGEST and len(open_) > 1:
                token = known.setdefault(token, f"{name}_{len(known) + 1}")
        open_[-1].append(token)
    lets = "".join(f"(let {part} {value})" for value, part in known.items())
    return f"{lets}(let {name} {' '.join(open_[0])})"


def _name(x: terms.Var) -> str:
    return f"(V {quoted(x.name)} {type_text(x.type)})"


def _field(value: Field) -> str:
    match value:
        case str():
            return quoted(value)
        case int():
            return str(value)
        case Size():
            return size_text(value)
        case terms.Lambda(parameters, body):
            return " ".join([*map(_name, parameters), term_text(body)])
        case terms.BinaryOperator() | terms.OperatorMetavariable() | terms.Vectorized():
            return operator_text(value)
        case LiteralParameter():
            return literal_parameter_text(value)
        case Expression():
            return term_text(value)
        case AnyType():
            return type_text(value)


def literal_parameter_data(value: LiteralParameter) -> list[Any]:
    """What the slots of a written parameter hold: its text, which of numbers leaves their type open."""
    if isinstance(value, Numbers):
        return [str(value), value.type[len(value.values)]]
    return [str(value)]


def literal_parameter_text(value: LiteralParameter) -> str:
    """An index function or a row of numbers, as terms of the sorts of its slots."""
    if any(n.constant is None for n in value.sizes):
        raise Unsupported(f"search works at concrete sizes, but {value} leaves some open")
    text, *types = literal_parameter_data(value)
    return " ".join([quoted(text), *map(type_text, types)])
