"""Rows of constants that a kernel looks up: arrays in constant memory, which its text declares with their values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from relift.compiler.codegen.values.expressions import literal, memory_type
from relift.compiler.text.tree import Block, Declaration, Whole, bare, mentioned, renamed
from relift.semantics.errors import Unsupported
from relift.semantics.indices.rows import Numbers
from relift.semantics.indices.views import table_of
from relift.semantics.patterns import LiteralArray
from relift.semantics.syntax.memory import Space
from relift.semantics.syntax.terms import Literal, Term, distinct

MOST_BYTES = 1 << 16
"""The constant memory that every device of OpenCL has."""


def tables_of(
    t: Term, body: Block, fresh: Callable[[str], str]
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
    names = {name: fresh("table") for name in used}
    return tuple(_declared(names[name], row) for name, row in used.items()), renamed(body, names)


def _declared(name: str, row: Numbers) -> Declaration:
    values = tuple(bare(literal(Literal(value, row.type)).code) for value in row.values)
    t = replace(memory_type(row.type), space=Space.CONSTANT, constant=True)
    return Declaration(t, name, Whole(len(values)), None, aligned=128, values=values)
