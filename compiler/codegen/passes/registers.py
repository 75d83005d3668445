"""Private arrays that are registers: where every index is a constant, each element has a name of its own.

Drivers differ in whether they keep an array in registers; a scalar or a vector with a name they all do.  An array with
one index that is known at run time only stays an array.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from relift.compiler.text.tree import (
    Assignment,
    Declaration,
    Element,
    Expression,
    Guard,
    Loop,
    Name,
    Statement,
    Whole,
    expressions_of,
    mapped_expression,
    mapped_statement,
    statements_within,
    variables,
    within,
)

Body: TypeAlias = tuple[Statement, ...]


def named_registers(body: Body, fresh: Callable[[str], str]) -> Body:
    """The body of a kernel where private arrays with constant indices are variables.

    `fresh` makes a name that nothing in the kernel has.  A variable is declared where it is first written, if that is
    in the block of the array.

    >>> from relift.compiler.dialects.printing import Printer
    >>> from relift.compiler.text.reader import read_kernels
    >>> text = "float4 own[2]; own[0] = x; for (int i = 0; i < 9; ++i) { own[1] = own[0] + own[0]; } y[i] = 1;"
    >>> [kernel] = read_kernels(f"kernel void f() {{ {text} }}")
    >>> print(*Printer().statements(named_registers(kernel.body, lambda hint: hint), 0), sep="\\n")
    float4 own1;
    float4 own0 = x;
    for (int i = 0; i < 9; ++i) {
      own1 = own0 + own0;
    }
    y[i] = 1;
    """
    found: list[Statement] = []
    rest = body
    while rest:
        s, rest = rest[0], rest[1:]
        match s:
            case Declaration(extent=Whole(extent)) if s.type.space == "private":
                used = _constants(rest, s.name)
                if used is None or max(used, default=0) >= extent:
                    found.append(s)
                    continue
                between = "_" if s.name[-1].isdigit() else ""
                names = {k: fresh(f"{s.name}{between}{k}") for k in sorted(used)}
                late, rest = _declared_at_first_write(_named(rest, s.name, names), s, names)
                found += [
                    Declaration(s.type, name, None, None, joined=i > 0)
                    for i, name in enumerate(late)
                ]
            case Loop() | Guard():
                found.append(replace(s, body=named_registers(s.body, fresh)))
            case _:
                found.append(s)
    return tuple(found)


def _constants(body: Body, array: str) -> set[int] | None:
    """The constant indices of an array; None where it also occurs in another way."""
    found: set[int] = set()
    mentions = elements = 0
    for s in statements_within(body):
        for e in expressions_of(s):
            for part in within(e):
                match part:
                    case Name(name) if name == array:
                        mentions += 1
                    case Element(Name(name), Whole(k)) if name == array:
                        elements += 1
                        found.add(k)
                    case _:
                        pass
    return found if mentions == elements else None


def _named(body: Body, array: str, names: Mapping[int, str]) -> Body:
    """Statements with names for the elements of an array."""

    def element(e: Expression) -> Expression:
        match e:
            case Element(Name(name), Whole(k)) if name == array:
                return Name(names[k], parentheses=e.parentheses)
            case _:
                return mapped_expression(e, element)

    def inside(block: Body) -> Body:
        return tuple(mapped_statement(s, element, inside) for s in block)

    return inside(body)


def _declared_at_first_write(
    body: Body, array: Declaration, names: Mapping[int, str]
) -> tuple[list[str], Body]:
    """Make the first mention of a name its declaration, in place; and the names for which it cannot be."""
    found, late = list(body), list[str]()
    for name in names.values():
        first = next(i for i, s in enumerate(found) if _mentions((s,), name))
        match found[first]:
            case Assignment(Name(target), "=", value) if target == name and name not in variables(
                value
            ):
                found[first] = Declaration(array.type, name, None, value)
            case _:
                late.append(name)
    return late, tuple(found)


def _mentions(body: Sequence[Statement], name: str) -> bool:
    return any(name in variables(e) for s in statements_within(body) for e in expressions_of(s))
