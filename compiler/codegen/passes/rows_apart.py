"""A loop that finds a row and a column for each of its turns is one over rows, around one over columns.

What goes through joined rows divides the number of its turn by the length of a row.  A driver divides each time: the sums of 128
channels, each of 32 rows of 2560 numbers, take PoCL 1.4 ms so, and 0.9 in two loops; with rows of 80 numbers 2.5, and 1.4.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from relift.compiler.text import tree

_FEWEST = 4
"""Columns for which a loop of their own is worth it."""


def rows_apart(body: tree.Block, fresh: Callable[[str], str]) -> tree.Block:
    """The body, where loops of as many turns as rows of a known length have are two, if they divide by nothing else.

    `fresh` makes a name that nothing in the kernel has.

    >>> from relift.compiler.codegen.passes.rows_apart import rows_apart
    >>> from relift.compiler.dialects.printing import Printer
    >>> from relift.compiler.text.reader import read_kernels
    >>> loop = "for (int i = 0; i < 96; ++i) { acc = acc + x[100*(i / 8) + i % 8] * y[i]; }"
    >>> [kernel] = read_kernels(f"kernel void f(global const float* x, global const float* y) {{ {loop} }}")
    >>> print(*Printer().statements(rows_apart(kernel.body, lambda hint: "i_2"), 0), sep="\\n")
    for (int i = 0; i < 12; ++i) {
      for (int i_2 = 0; i_2 < 8; ++i_2) {
        acc = acc + x[100*i + i_2]*y[8*i + i_2];
      }
    }
    """
    return tuple(_statement(s, fresh) for s in body)


def _statement(s: tree.Statement, fresh: Callable[[str], str]) -> tree.Statement:
    if isinstance(s, tree.Loop) and (columns := _row_of(s)) is not None:
        return _statement(_in_two(s, columns, fresh), fresh)  # rows may be joined rows
    if isinstance(s, tree.Loop | tree.Guard):
        return replace(s, body=rows_apart(s.body, fresh))
    return s


def _in_two(loop: tree.Loop, columns: int, fresh: Callable[[str], str]) -> tree.Loop:
    assert isinstance(loop.end, tree.Whole), "cannot happen: rows of this length divide it"
    row, column = tree.Name(loop.counter), tree.Name(fresh(loop.counter))
    flat = tree.Binary("+", tree.Binary("*", tree.Whole(columns), row), column)

    def placed(e: tree.Expression) -> tree.Expression:
        if (found := _divided(e, loop.counter)) is not None:
            of, by = found
            if of == "%":
                return column
            return row if by == columns else tree.Binary("/", row, tree.Whole(by // columns))
        if e == row:
            return flat
        return tree.mapped_expression(e, placed)

    inside = tree.mapped_block(loop.body, placed)
    along = replace(loop, counter=column.name, end=tree.Whole(columns), body=inside)
    return replace(loop, end=tree.Whole(loop.end.value // columns), body=(along,))


def _row_of(loop: tree.Loop) -> int | None:
    """The length of the rows that a loop goes through in order; None where it divides the number of its turn by something else."""
    counted = loop.start == tree.Whole(0) and loop.step == tree.Whole(1)
    if not counted or not isinstance(loop.end, tree.Whole) or loop.unroll is not None:
        return None
    inside = list(tree.statements_within(loop.body))
    whole = [e for s in inside for e in tree.expressions_of(s)]
    found = [d for e in whole for part in tree.within(e) if (d := _divided(part, loop.counter))]
    columns = min((by for _, by in found), default=0)
    if columns < _FEWEST or loop.end.value % columns or loop.end.value == columns:
        return None
    fits = all(by == columns or (of == "/" and by % columns == 0) for of, by in found)
    moved = any(_assigns(s, loop.counter) for s in inside)
    alone = fits and not moved and not any(_is_divided_in(e, loop.counter) for e in whole)
    return columns if alone else None


def _divided(e: tree.Expression, counter: str) -> tuple[str, int] | None:
    """By what an expression divides a counter itself, and whether it is the quotient or what is left."""
    if (
        not isinstance(e, tree.Binary)
        or e.operator not in ("/", "%")
        or e.left != tree.Name(counter)
    ):
        return None
    return (e.operator, e.right.value) if isinstance(e.right, tree.Whole) else None


def _is_divided_in(e: tree.Expression, counter: str) -> bool:
    """Whether a quotient of something else has the counter in it."""
    if isinstance(e, tree.Binary) and e.operator in ("/", "%") and _is_beside(e, counter):
        return True
    return any(_is_divided_in(part, counter) for part in tree.parts(e))


def _is_beside(e: tree.Expression, counter: str) -> bool:
    """Whether the counter is in an expression, other than where it is divided itself."""
    if _divided(e, counter) is not None:
        return False
    return e == tree.Name(counter) or any(_is_beside(part, counter) for part in tree.parts(e))


def _assigns(s: tree.Statement, counter: str) -> bool:
    return isinstance(s, tree.Assignment) and counter in tree.root_of(s.target)
