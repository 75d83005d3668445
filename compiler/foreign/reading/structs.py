"""Structs as a variable for each of their members, so that nothing that follows knows of them.

A variable becomes an array of one cell for each member, an array or a pointer one of each; what a function takes or
gives by value is copied.  A struct of scalars of one type in a buffer is as many cells.  A union is its first member,
whose bits are taken for the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

from relift.compiler.foreign.expressions import refused
from relift.compiler.foreign.parameters import is_kernel
from relift.compiler.foreign.reading.members import (
    RESULT,
    Held,
    Member,
    Members,
    Source,
    cell_of,
    named,
    variable,
    whole,
)
from relift.compiler.foreign.reading.records import Part, Record, declared_as, renamed

_GLOBAL = frozenset(["global", "__global", "constant", "__constant"])


def without_structs(parts: Sequence[Any], *, aligned: bool) -> list[Any]:
    """What a source defines, without structs; `aligned`: it says how something lies in memory.

    Raises `NotUnderstood` for those that are not followed.
    """
    if not any(map(_mentioned, parts)):
        return list(parts)
    of = Source(aligned)
    found: list[Any] = []
    for part in parts:
        kind = type(part).__name__
        if kind == "Decl" and type(part.type).__name__ in ("Struct", "Union"):
            of.records.of(part.type)
        elif kind == "FuncDef":
            found.append(_Function(of, part).made())
        elif kind == "Decl" and _mentioned(part):
            raise refused(part, f"{part.name}, a struct outside of functions,")
        else:
            found.append(part)
    return found


def _mentioned(node: Any) -> bool:
    return type(node).__name__ in ("Struct", "Union") or any(
        _mentioned(part) for _, part in node.children()
    )


class _Function(Members):
    """Rewrites one function; `before` is what has to run before the statement that is rewritten."""

    def __init__(self, of: Source, f: Any) -> None:
        super().__init__(of)
        self.f = f

    def made(self) -> Any:
        """The function without structs."""
        from pycparser import c_ast

        f, first = copy(self.f), list[Any]()
        f.decl = copy(f.decl)
        kind = f.decl.type = copy(f.decl.type)
        given = (
            []
            if kind.args is None
            else [q for k, p in enumerate(kind.args.params) for q in self._taken(p, k, first)]
        )
        record = self.of.records.of(getattr(kind.type, "type", None))
        if record is not None:
            self.of.results[f.decl.name] = record
            given += [self._pointer(RESULT, p, []) for p in record.stored]
            self.scopes[0][RESULT] = Held(RESULT, record, "pointer")
            kind.type = copy(kind.type)
            kind.type.type = c_ast.IdentifierType(["void"])
        if given:
            kind.args = c_ast.ParamList(given)
        body = self._block(f.body)
        f.body = c_ast.Compound([*first, *(body.block_items or [])], f.body.coord)
        return f

    def _taken(self, p: Any, k: int, first: list[Any]) -> list[Any]:
        """The parameters that the parameter k becomes, and what copies it."""
        from pycparser import c_ast

        how, t, _ = declared_as(p)
        record = self.of.records.of(getattr(t, "type", None))
        if record is None:
            self.scopes[0][getattr(p, "name", None) or ""] = None
            return [p]
        name: str = p.name
        if how == "pointer" and _GLOBAL & {*t.quals}:
            self.scopes[0][name] = Held(name, record, "cells")
            return [self._cell(p, t, record)]
        if how == "pointer":
            self.scopes[0][name] = Held(name, record, "pointer")
            self.of.by_member.add((self.f.decl.name, k))
            return [self._pointer(name, q, t.quals, p.coord) for q in record.stored]
        if how != "alone" or is_kernel(self.f) or any(q.extents for q in record.parts):
            raise refused(p, f"{p.name}, a struct that a kernel takes or one with arrays by value,")
        self.scopes[0][name] = Held(name, record, "alone")
        found: list[Any] = []
        for q in record.stored:
            taken = f"{q.of(name)}·given"
            found.append(variable(taken, renamed(q.node, taken, []), p.coord))
            first += [
                self._variable(name, q, [], ["1"], p.coord),
                c_ast.Assignment(
                    "=", cell_of(named(q.of(name), p), whole(0)), named(taken, p), p.coord
                ),
            ]
        return found

    def _cell(self, p: Any, t: Any, record: Record) -> Any:
        """A pointer into a buffer of structs as one to scalars."""
        from pycparser import c_ast

        types = {q.type for q in record.parts}
        if self.of.aligned or len(types) > 1 or record.union or next(iter(types)).width > 1:
            raise refused(
                p, f"{p.name}, a buffer of structs of several types or with an alignment,"
            )
        return variable(
            p.name, c_ast.PtrDecl([], renamed(record.parts[0].node, p.name, t.quals)), p.coord
        )

    def _pointer(self, name: str, q: Part, quals: Sequence[str], coord: Any = None) -> Any:
        from pycparser import c_ast

        if q.extents:
            raise refused(q.node, f"a pointer to a struct with the array {'·'.join(q.path)}")
        own = q.of(name)
        return variable(own, c_ast.PtrDecl([], renamed(q.node, own, quals)), coord)

    # ---- expressions

    def _struct(self, e: Any) -> tuple[Record, Member] | None:
        return self._one_of(e) if type(e).__name__ == "TernaryOp" else super()._struct(e)

    def _one_of(self, e: Any) -> tuple[Record, Member] | None:
        """One struct or another, in a variable of its own before the statement; None where neither is one."""
        from pycparser import c_ast

        outer, ways = self.before, list[tuple[tuple[Record, Member], list[Any]]]()
        for part in (e.iftrue, e.iffalse):
            self.before = None if outer is None else []
            of = self._struct(part)
            if of is None:
                self.before = outer
                return None
            ways.append((of, self.before or []))
        self.before = outer
        held, before = self._new("one", ways[0][0][0], e)
        to = self._held(held.name, e)
        yes, no = (
            c_ast.Compound([*first, *self._copied(to, of, e)], e.coord) for of, first in ways
        )
        before.append(c_ast.If(self._expression(e.cond), yes, no, e.coord))
        return to

    # ---- statements

    def _block(self, s: Any) -> Any:
        from pycparser import c_ast

        self.scopes.append({})
        items = (s.block_items or []) if isinstance(s, c_ast.Compound) else [s]
        found = [new for item in items for new in self._statement(item)]
        self.scopes.pop()
        return c_ast.Compound(found, s.coord)

    def _statement(self, s: Any) -> list[Any]:
        """What a statement becomes, with what has to run before it."""
        outer, self.before = self.before, []
        made = self._made(s)
        found = [*self.before, *made]
        self.before = outer
        return found

    def _made(self, s: Any) -> list[Any]:
        from pycparser import c_ast

        match s:
            case c_ast.Compound():
                return [self._block(s)]
            case c_ast.Decl():
                return self._declared(s)
            case c_ast.Return() if self.scopes[0].get(RESULT) is not None and s.expr is not None:
                copied = self._copied(self._held(RESULT, s), self._needed(s.expr), s)
                return [*copied, c_ast.Return(None, s.coord)]
            case c_ast.Assignment() if s.op == "=" and (to := self._struct(s.lvalue)) is not None:
                return self._copied(to, self._needed(s.rvalue), s)
            case c_ast.If() | c_ast.While() | c_ast.DoWhile() | c_ast.For() | c_ast.Switch():
                return [self._control(s)]
            case c_ast.Case() | c_ast.Default():
                made = copy(s)
                made.stmts = [new for item in s.stmts or [] for new in self._statement(item)]
                return [made]
            case None:
                return []
            case _:
                return [self.for_its_effect(s)]

    def _control(self, s: Any) -> Any:
        """A branch or a loop: nothing can run before its condition each time."""
        made = copy(s)
        self.scopes.append({})
        for name in ("init", "cond", "next"):
            if (part := getattr(s, name, None)) is not None:
                with self._nothing_before():
                    new = self.for_its_effect if name == "next" else self._expression
                    setattr(made, name, new(part))
        for name in ("iftrue", "iffalse", "stmt"):
            if (part := getattr(s, name, None)) is not None:
                setattr(made, name, self._block(part))
        self.scopes.pop()
        return made

    def _declared(self, d: Any) -> list[Any]:
        how, t, dims = declared_as(d)
        record = self.of.records.of(getattr(t, "type", None))
        if record is None:
            made = self._expression(d)
            if d.name is not None:
                self.scopes[-1][d.name] = None
            return [made]
        if how == "pointer":
            return self._pointed(d, t, record)
        if how == "more" or (how == "array" and d.init is not None):
            raise refused(d, f"{d.name}, structs with first values or pointers to them,")
        held = Held(d.name, record, how)
        found = [self._variable(d.name, q, t.quals, dims or ["1"], d.coord) for q in record.stored]
        given = None if d.init is None else self._given(d.init, record)
        self.scopes[-1][d.name] = held
        if given is not None:
            found += self._copied(self._held(d.name, d), given, d)
        return found

    def _pointed(self, d: Any, t: Any, record: Record) -> list[Any]:
        """A pointer for each member."""
        if _GLOBAL & {*t.quals}:
            made = self._cell(d, t, record)
            made.init = None if d.init is None else self.cell_pointer(d.init, record)
            self.scopes[-1][d.name] = Held(d.name, record, "cells")
            return [made]
        to = None if d.init is None else self._reached(d.init)
        self.scopes[-1][d.name] = Held(d.name, record, "pointer")
        found: list[Any] = []
        for q in record.stored:
            made = self._pointer(d.name, q, t.quals, d.coord)
            made.init = None if to is None else to[1](q)
            found.append(made)
        return found
