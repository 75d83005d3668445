"""The printer: a term as nested patterns, which reads back (see `parser`), and as a pipeline.

nested:    reduce(add, 0.0, map(lambda p: p[0] * p[1], zip(x, y)))
pipeline:  zip(x, y) >> map(lambda p: p[0] * p[1]) >> reduce(add, 0.0)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Literal as Choice
from typing import TypeAlias, get_args

from relift.semantics.errors import IllTyped
from relift.semantics.indices.functions import LiteralParameter
from relift.semantics.indices.rows import number
from relift.semantics.language.arguments import one_of
from relift.semantics.language.coercion import operator_name
from relift.semantics.patterns import At, Pad, Zip
from relift.semantics.syntax import terms
from relift.semantics.syntax.expression import Expression
from relift.semantics.syntax.scalars import CONVERSIONS, SCALAR_FUNCTIONS
from relift.semantics.syntax.signatures import FunctionKind
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.types import boolean, f32, i32

Style: TypeAlias = Choice["nested", "pipeline"]
_OPERATORS = (terms.BinaryOperator, terms.OperatorMetavariable, terms.Vectorized)


def show(t: terms.Term | terms.Lambda, style: Style = "nested", width: int = 100) -> str:
    """The text of a term, broken over lines where it is wider than `width`.

    >>> from relift import f32, show
    >>> from relift.semantics.notation.parser import parse_term
    >>> from relift.semantics.syntax.terms import Input
    >>> xs = Input("xs", f32[4])
    >>> show(parse_term("join(map(lambda c: c, split(2, xs)))", xs=xs), "pipeline")
    'xs >> split(2) >> map(lambda c: c) >> join'
    """
    if not isinstance(t, Expression | terms.Lambda):
        raise IllTyped(f"a term is shown, such as the body of a program, not {t!r}")
    one_of(style, get_args(Style), "style")
    terms.require_writable(t, "the term")
    return _layout(_node(t, style), width, 0)


# A text is laid out from a small tree: either a string, or (opening, items, closing) that may be broken.
_Node: TypeAlias = "str | _Broken"


class _Broken:
    def __init__(self, opening: str, items: list[_Node], closing: str, separator: str) -> None:
        self.opening, self.items, self.closing, self.separator = opening, items, closing, separator

    @cached_property
    def flat(self) -> str:
        """Its text in one line: each line that is too long asks for those within it."""
        return self.opening + self.separator.join(map(_flat, self.items)) + self.closing


def _flat(node: _Node) -> str:
    return node if isinstance(node, str) else node.flat


def _layout(node: _Node, width: int, indent: int) -> str:
    text = _flat(node)
    if isinstance(node, str) or indent + len(text) <= width:
        return text
    pad = " " * (indent + 2)
    if node.separator == " >> ":
        lines = [_layout(item, width, indent + 3) for item in node.items]
        return (node.opening + ("\n" + " " * indent + ">> ").join(lines)) + node.closing
    lines = [pad + _layout(item, width, indent + 2) for item in node.items]
    close = ("\n" + " " * indent + node.closing) if node.closing else ""
    return node.opening.rstrip() + "\n" + (node.separator.rstrip() + "\n").join(lines) + close


def _call(head: str, items: list[_Node]) -> _Node:
    return _Broken(head + "(", items, ")", ", ")


def _node(t: terms.Term | terms.Lambda, style: Style) -> _Node:
    match t:
        case terms.Lambda(parameters, body):
            eta = _eta(t)
            if eta is not None:
                return eta
            names = ", ".join(x.name for x in parameters)
            return _Broken(f"lambda {names}: ", [_node(body, style)], "", "")
        case terms.Var(name) | terms.Input(name):
            return name
        case terms.Literal():
            return _literal(t)
        case terms.Apply(function, arguments):
            return _applied(function, arguments, style)
        case terms.Call(function, arguments):
            return _call(function.name, [_node(u, style) for u in arguments])
        case terms.Combine(operator):
            return _call(operator_name(operator), _operands((t.left, t.right), style))
        case terms.MakeTuple(parts):
            return _call("", [_node(u, style) for u in parts])
        case terms.Get(index, of):
            return f"{_subject(of, style)}[{index}]"
        case terms.Metavariable(name, arguments):
            return _call(name, [_node(u, style) for u in arguments]) if arguments else name
        case terms.Pattern():
            return _pattern(t, style)


def _subject(t: terms.Term, style: Style) -> str:
    """What is indexed; a pipeline in brackets."""
    node = _node(t, style)
    is_pipeline = isinstance(node, _Broken) and node.separator == " >> "
    return f"({_flat(node)})" if is_pipeline else _flat(node)


def _pattern(t: terms.Pattern, style: Style) -> _Node:
    fields = list(t.signature.parameters)
    if isinstance(t, At):
        return f"{_subject(t.xs, style)}[{t.index}]"
    head = t.spelled or t.name
    if fields[0] == "dim":
        head += f"({getattr(t, 'dim')})"  # noqa: B009
        fields = fields[1:]
    items = [_of_size(t, name, _field(getattr(t, name), style)) for name in fields]
    if isinstance(t, Pad):
        items.insert(2, t.boundary)
    if style == "pipeline" and _is_stage(t):
        data, rest = items[-1], items[:-1]
        stage = _call(head, rest) if rest else head
        if isinstance(data, _Broken) and data.separator == " >> ":
            return _Broken("", [*data.items, stage], "", " >> ")
        return _Broken("", [data, stage], "", " >> ")
    return _call(head, items)


def _of_size(t: terms.Pattern, place: str, shown: _Node) -> _Node:
    """The text of a function that names the size that its pattern binds, which is its first parameter then."""
    size = t.bound_size(place) if isinstance(t.signature.parameters[place], FunctionKind) else None
    text = _flat(shown)
    if size is None or not re.search(rf"\b{size}\b", text):
        return shown
    return _Broken(f"lambda {size}, ", [text.removeprefix("lambda ")], "", "")


def _is_stage(t: terms.Pattern) -> bool:
    """Whether the last parameter is data, so that a pipeline can name it first; `zip` takes all of its arrays at once."""
    return not isinstance(t, Zip) and list(t.signature.parameters)[-1] in t.signature.term_fields


def _field(value: object, style: Style) -> _Node:
    if isinstance(value, Size | LiteralParameter):
        return str(value)
    if isinstance(value, _OPERATORS):
        return operator_name(value)
    assert isinstance(value, terms.Lambda) or hasattr(value, "type"), (
        f"cannot happen: field {value!r}"
    )
    return _node(value, style)  # type: ignore[arg-type]


def _eta(f: terms.Lambda) -> str | None:
    """The name of g when f is `lambda x: g(x)`."""
    match f.body:
        case terms.Metavariable(name, arguments):
            return name if arguments and arguments == f.parameters else None
        case terms.Call(function, arguments):
            return function.name if arguments == f.parameters else None
        case terms.Combine(operator, left, right):
            return operator_name(operator) if (left, right) == f.parameters else None
        case (
            terms.Var() | terms.Input() | terms.Literal() | terms.Apply() | terms.MakeTuple()
            | terms.Get() | terms.Pattern()
        ):  # fmt: skip
            return None


def _literal(t: terms.Literal, *, typed: bool = False) -> str:
    """A constant: bare where a bare number reads back as its type, else with the type, as in f64(1.0)."""
    bare = t.type in (f32, i32, boolean) and not typed
    return number(t.value) if bare else f"{t.type}({number(t.value)})"


def _operands(
    operands: Sequence[terms.Term], style: Style, *, computed: bool = False
) -> list[_Node]:
    """Terms of one type; where a bare number first would read back as something else, it shows its type.

    Of constants alone, that is one whose type no bare number has, or any of what Python has `computed` first;
    and bare numbers beside a float are floats.
    """
    shown = [_node(u, style) for u in operands]
    first = operands[0]
    constants = all(isinstance(u, terms.Literal) for u in operands)
    if isinstance(first, terms.Literal) and constants:
        shown[0] = _literal(first, typed=computed)
    return shown


_REFLECTED = ("lt", "le", "gt", "ge")
"""The comparisons that Python turns round when a number stands on the left."""


def _applied(name: str, arguments: tuple[terms.Term, ...], style: Style) -> _Node:
    function = SCALAR_FUNCTIONS[name]
    computed = (
        name in CONVERSIONS or not function.is_call
    )  # what reads `-2` or `f32(2)` sees a number
    if name == "select":
        condition, *branches = arguments
        shown = [*_operands([condition], style, computed=True), *_operands(branches, style)]
        return _infix(name, shown, arguments)
    shown = _operands(arguments, style, computed=computed)
    first = arguments[0]
    if name in _REFLECTED and isinstance(first, terms.Literal):
        shown[0] = _literal(first, typed=True)
    return _infix(name, shown, arguments)


def _infix(function: str, shown: list[_Node], arguments: tuple[terms.Term, ...]) -> _Node:
    form = SCALAR_FUNCTIONS[function].python
    if SCALAR_FUNCTIONS[function].is_call:
        return _call(function, shown)
    inner = [
        f"({_flat(s)})" if isinstance(u, terms.Apply) and not _is_call(u) else _flat(s)
        for s, u in zip(shown, arguments, strict=True)
    ]
    return form.format(*inner)


def _is_call(t: terms.Apply) -> bool:
    return SCALAR_FUNCTIONS[t.function].is_call
