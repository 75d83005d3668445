"""Rows of constants that a kernel looks up: arrays in constant memory, which its text declares with their values.

One that neighbouring work-items may read at different places is called `lookup`: constant memory of a GPU sends one number
at a time.  A palette of 256 colours takes an H200 133 us for 2^24 pixels there, and 38 where it is in global memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from relift.compiler.codegen.values.scalars import literal, memory_type
from relift.compiler.text.tree import (
    Assignment,
    Barrier,
    Block,
    Declaration,
    Element,
    Evaluation,
    Expression,
    Guard,
    Loop,
    Name,
    Prefix,
    Statement,
    Whole,
    bare,
    expressions_of,
    mentioned,
    renamed,
    root_of,
    statements_within,
    within,
)
from relift.semantics.errors import Unsupported
from relift.semantics.indices.rows import Numbers
from relift.semantics.indices.views import table_of
from relift.semantics.patterns import LiteralArray
from relift.semantics.syntax.memory import Space
from relift.semantics.syntax.terms import Literal, Term, distinct

MOST_BYTES = 1 << 16
"""The constant memory that every device of OpenCL has."""

LOOKUP = "lookup"
"""What a table is called that neighbours read at different places: who has the text only, as the runner of a bundle, may move it."""


def tables_of(
    t: Term, body: Block, fresh: Callable[[str], str], items: Collection[str] = ()
) -> tuple[tuple[Declaration, ...], Block]:
    """The tables of a term that the statements of its kernel mention, and these statements with names that read well.

    Raises `Unsupported` where they are more than `MOST_BYTES`.

    >>> from relift import literal_array
    >>> from relift.compiler.codegen.values.tables import tables_of
    >>> from relift.compiler.dialects.printing import Printer
    >>> from relift.compiler.text.tree import Assignment, Element, Name
    >>> from relift.semantics.indices.views import table_of
    >>> row = literal_array([1, 2, -3])
    >>> read = Assignment(Name("v"), "=", Element(Name(table_of(row.values).name), Name("i")))
    >>> (table,), (now,) = tables_of(row, (read,), lambda hint: hint)
    >>> Printer().declaration(table), Printer().assignment(now)
    ('constant int table[3] __attribute__((aligned(128))) = {1, 2, -3}', 'v = table[i]')
    """
    rows = {table_of(u.values).name: u.values for u in distinct(t) if isinstance(u, LiteralArray)}
    if not rows:
        return (), body
    known = mentioned(body)
    used = {name: row for name, row in rows.items() if name in known}
    size = sum(len(row.values) * row.type.bytes for row in used.values())
    if size > MOST_BYTES:
        raise Unsupported(
            f"literal_array: a kernel looks up {size:,} bytes of constants, and {MOST_BYTES:,} is the most; give it "
            "the numbers as an input"
        )
    apart = read_apart(body, used, items)
    names = {name: fresh(LOOKUP if name in apart else "table") for name in used}
    declared = (_declared(names[name], row, apart=name in apart) for name, row in used.items())
    return tuple(declared), renamed(body, names)


def read_apart(body: Block, tables: Collection[str], items: Collection[str] = ()) -> set[str]:
    """The tables whose index may differ between work-items that run as one: it comes of their numbers, `items`, or of what they read.

    None of them is one of which anything takes the place: that is in constant memory.

    >>> from relift.compiler.codegen.values.tables import read_apart
    >>> from relift.compiler.text.tree import Assignment, Element, Name
    >>> looked_up = Assignment(Name("v"), "=", Element(Name("table"), Element(Name("x"), Name("i"))))
    >>> in_order = Assignment(Name("w"), "=", Element(Name("weights"), Name("i")))
    >>> read_apart((looked_up, in_order), {"table", "weights"})
    {'table'}
    """
    statements = list(statements_within(body))
    differing, before = set(items), -1
    while before < len(differing):
        before = len(differing)
        for s in statements:
            targets, values = _set_by(s)
            if any(_differs(e, differing, tables) for e in values):
                differing |= targets
    apart, names = Counter[str](), Counter[str]()
    found = set[str]()
    for u in (u for s in statements for e in expressions_of(s) for u in within(e)):
        if isinstance(u, Name):
            names[u.name] += 1
        elif isinstance(u, Element) and isinstance(u.array, Name) and u.array.name in tables:
            apart[u.array.name] += 1
            if _differs(u.index, differing, tables):
                found.add(u.array.name)
    return {name for name in found if apart[name] == names[name]}


def _set_by(s: Statement) -> tuple[set[str], Sequence[Expression]]:
    """The variables that a statement sets, and what says to which values."""
    match s:
        case Declaration(name=name, value=value):
            return {name}, () if value is None else (value,)
        case Assignment(target=target, value=value):
            return root_of(target), (value,)
        case Loop(counter=counter):
            return {counter}, tuple(expressions_of(s))
        case Evaluation() | Barrier() | Guard():
            return set(), ()


def _differs(e: Expression, differing: Collection[str], tables: Collection[str]) -> bool:
    """Whether work-items that run as one may have different values of an expression."""

    def own(u: Expression) -> bool:
        if isinstance(u, Name):
            return u.name in differing
        if isinstance(u, Element):
            return not (isinstance(u.array, Name) and u.array.name in tables)
        return isinstance(u, Prefix) and u.operator == "*"

    return any(map(own, within(e)))


def _declared(name: str, row: Numbers, *, apart: bool) -> Declaration:
    values = tuple(bare(literal(Literal(value, row.type)).code) for value in row.values)
    t = replace(memory_type(row.type), space=Space.CONSTANT, constant=True)
    return Declaration(t, name, Whole(len(values)), None, aligned=128, apart=apart, values=values)
