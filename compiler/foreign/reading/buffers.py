"""Pointers to structs in a buffer, as pointers to the scalars that the buffer is made of.

A step from one struct to the next is a step of as many scalars as a struct has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from copy import copy
from typing import Any

from relift.compiler.foreign.expressions import refused
from relift.compiler.foreign.reading.records import Record

COUNTERS: Mapping[str, str] = {"p++": "+=", "p--": "-=", "++": "+=", "--": "-="}
"""The assignments that counters are, where nobody asks for the value before."""


class InBuffers:
    """Rewrites pointers into buffers of structs."""

    _find: Callable[[str], Any]
    _struct: Callable[[Any], Any]
    _expression: Callable[[Any], Any]

    def cells(self, e: Any) -> tuple[Record, Any] | None:
        """The pointer to scalars that a pointer to structs in a buffer is; None where an expression is no such pointer."""
        from pycparser import c_ast

        match e:
            case c_ast.ID() if (v := self._find(e.name)) is not None and v.how == "cells":
                return v.record, c_ast.ID(v.name, e.coord)
            case c_ast.UnaryOp(op="&", expr=c_ast.ArrayRef(name=base, subscript=at)) if (
                of := self.cells(base)
            ):
                return of[0], _moved(of, "+", self._expression(at), e)
            case c_ast.UnaryOp(op="&", expr=c_ast.UnaryOp(op="*", expr=pointer)):
                return self.cells(pointer)
            case c_ast.UnaryOp() if e.op in COUNTERS and (of := self.cells(e.expr)):
                if e.op.startswith("p"):
                    raise refused(e, f"{e.op[1:]} behind a pointer to structs in an expression")
                return of[0], self._stepped(of, e)
            case c_ast.BinaryOp(op="+" | "-", left=a, right=b):
                return self._moved(e, a, b)
            case c_ast.TernaryOp():
                yes, no = self.cells(e.iftrue), self.cells(e.iffalse)
                if yes is None or no is None or yes[0] != no[0]:
                    return None
                made = c_ast.TernaryOp(self._expression(e.cond), yes[1], no[1], e.coord)
                return yes[0], made
            case c_ast.Assignment() if of := self.cells(e.lvalue):
                return of[0], self._set_to(of, e)
            case _:
                return None

    def _moved(self, e: Any, a: Any, b: Any) -> tuple[Record, Any] | None:
        """A pointer, moved by a number of structs."""
        of, by = self.cells(a), b
        if of is None and e.op == "+":
            of, by = self.cells(b), a
        if of is None or self.cells(by) is not None:
            return None
        return of[0], _moved(of, e.op, self._expression(by), e)

    def _set_to(self, of: tuple[Record, Any], e: Any) -> Any:
        made = copy(e)
        made.lvalue = of[1]
        if e.op == "=":
            made.rvalue = self.cell_pointer(e.rvalue, of[0])
        elif e.op in ("+=", "-="):
            made.rvalue = _times(self._expression(e.rvalue), of[0])
        else:
            raise refused(e, f"{e.op} of a pointer")
        return made

    def _stepped(self, of: tuple[Record, Any], e: Any) -> Any:
        from pycparser import c_ast

        one = c_ast.Constant("int", "1")
        return c_ast.Assignment(COUNTERS[e.op], of[1], _times(one, of[0]), e.coord)

    def for_its_effect(self, e: Any) -> Any:
        """An expression of which nobody asks for the value."""
        from pycparser import c_ast

        match e:
            case c_ast.UnaryOp() if e.op in COUNTERS and (of := self.cells(e.expr)):
                return self._stepped(of, e)
            case c_ast.ExprList():
                return c_ast.ExprList([self.for_its_effect(x) for x in e.exprs], e.coord)
            case _:
                return self._expression(e)

    def cell_pointer(self, e: Any, record: Record) -> Any:
        """The same; raises `NotUnderstood` for anything but a pointer to such structs."""
        of = self.cells(e)
        if of is None or of[0] != record:
            raise refused(e, "what is no pointer into a buffer of such structs, where one is")
        return of[1]

    def distance(self, e: Any) -> Any:
        """How many structs are from one pointer to another; None where an expression is nothing such."""
        from pycparser import c_ast

        if type(e).__name__ != "BinaryOp" or e.op != "-":
            return None
        a, b = self.cells(e.left), self.cells(e.right)
        if a is None or b is None:
            return None
        if a[0] != b[0]:
            raise refused(e, "pointers to structs of two kinds")
        cells = c_ast.BinaryOp("-", a[1], b[1], e.coord)
        return c_ast.BinaryOp("/", cells, c_ast.Constant("int", str(cells_of(a[0]))), e.coord)


def cells_of(record: Record) -> int:
    """How many scalars a struct has."""
    return sum(math.prod(q.extents) for q in record.parts)


def _times(by: Any, record: Record) -> Any:
    from pycparser import c_ast

    return c_ast.BinaryOp("*", by, c_ast.Constant("int", str(cells_of(record))), by.coord)


def _moved(of: tuple[Record, Any], operator: str, by: Any, e: Any) -> Any:
    from pycparser import c_ast

    return c_ast.BinaryOp(operator, of[1], _times(by, of[0]), e.coord)
