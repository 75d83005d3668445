"""Expressions over structs, as expressions over their members."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from relift.compiler.foreign.effects import has_effects, with_parts
from relift.compiler.foreign.expressions import refused
from relift.compiler.foreign.reading.buffers import COUNTERS, InBuffers, cells_of
from relift.compiler.foreign.reading.records import Part, Record, Records, renamed

Member: TypeAlias = Callable[[Part], Any]
"""A member of a struct that lies somewhere, as an expression."""

RESULT = "returned·"
"""The struct that a function gives, as one that is no name of C."""


@dataclass(frozen=True)
class Held:
    """A variable that is or reaches structs: in members of their own, or in the cells of a buffer."""

    name: str
    record: Record
    how: str


@dataclass
class Source:
    """What is known of a source: its structs, and the functions that give one."""

    aligned: bool
    records: Records = field(default_factory=Records)
    results: dict[str, Record] = field(default_factory=dict[str, Record])
    by_member: set[tuple[str, int]] = field(default_factory=set[tuple[str, int]])
    """Which arguments of functions are pointers to structs that are no cells of a buffer."""
    made: int = 0


class Members(InBuffers):
    """Rewrites expressions; `before` is what has to run before the statement that is rewritten, None where nothing can."""

    def __init__(self, of: Source) -> None:
        self.of = of
        self.scopes: list[dict[str, Held | None]] = [{}]
        self.before: list[Any] | None = []

    def _variable(
        self, name: str, q: Part, quals: Sequence[str], dims: Sequence[Any], coord: Any
    ) -> Any:
        """The array of a member."""
        from pycparser import c_ast

        own = q.of(name)
        made = renamed(q.node, own, [w for w in quals if w != "const"])
        for n in reversed([*dims, *map(str, q.extents)]):
            made = c_ast.ArrayDecl(made, c_ast.Constant("int", n) if isinstance(n, str) else n, [])
        return variable(own, made, coord)

    @contextmanager
    def _nothing_before(self) -> Generator[None]:
        outer, self.before = self.before, None
        yield
        self.before = outer

    def _given(self, init: Any, record: Record) -> tuple[Record, Member]:
        """The first values of a struct, of which those left out are 0; or another struct."""
        from pycparser import c_ast

        if not isinstance(init, c_ast.InitList):
            return self._needed(init)
        if record.union or any(q.extents for q in record.parts):
            raise refused(init, "the first values of a union or of a struct with arrays")
        values: dict[tuple[str, ...], Any] = {}
        following = [q.path for q in record.parts]
        for e in flat(init):
            if isinstance(e, c_ast.NamedInitializer):
                path = tuple(n.name for n in e.name)
                following = following[following.index(path) :] if path in following else []
                e = e.expr
            if not following:
                raise refused(init, "more first values than a struct has")
            values[following.pop(0)] = self._expression(e)
        return record, lambda q: values.get(q.path, whole(0))

    def _copied(self, to: tuple[Record, Member], of: tuple[Record, Member], node: Any) -> list[Any]:
        """One struct set to another, member by member."""
        from pycparser import c_ast

        if [q.path for q in to[0].parts] != [q.path for q in of[0].parts]:
            raise refused(node, "a struct of another type")
        found: list[Any] = []
        for q in to[0].stored:
            pairs = [(to[1](q), of[1](q))]
            for n in q.extents:
                pairs = [
                    (cell_of(x, whole(k)), cell_of(y, whole(k))) for x, y in pairs for k in range(n)
                ]
            if any(has_effects(x) for pair in pairs for x in pair):
                raise refused(node, "an assignment inside of one of structs")
            found += [c_ast.Assignment("=", x, y, node.coord) for x, y in pairs]
        return found

    def _held(self, name: str, node: Any) -> tuple[Record, Member]:
        from pycparser import c_ast

        found = self._struct(
            c_ast.UnaryOp("*", c_ast.ID(name, node.coord))
            if name == RESULT
            else c_ast.ID(name, node.coord)
        )
        assert found is not None, "cannot happen: a struct"
        return found

    def _find(self, name: str) -> Held | None:
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), None)

    def _needed(self, e: Any) -> tuple[Record, Member]:
        found = self._struct(e)
        if found is None:
            raise refused(e, "what is no struct in the place of one")
        return found

    def _struct(self, e: Any) -> tuple[Record, Member] | None:
        """Where a struct lies, by its members; None where an expression is no struct."""
        from pycparser import c_ast

        match e:
            case c_ast.ID() if (v := self._find(e.name)) is not None and v.how == "alone":
                return v.record, lambda q: cell_of(named(q.of(v.name), e), whole(0))
            case c_ast.ArrayRef():
                if (reached := self._reached(e.name)) is None:
                    return None
                return reached[0], self._element(e.name, reached, self._expression(e.subscript))
            case c_ast.UnaryOp() if e.op == "*" and (reached := self._reached(e.expr)):
                return reached[0], self._element(e.expr, reached, whole(0))
            case c_ast.StructRef() if (outer := self._outer(e)) is not None:
                record, member = outer
                name = e.field.name
                if (inner := record.within(name)) is None:
                    return None
                return inner, lambda q: member(replace(q, path=(name, *q.path)))
            case c_ast.FuncCall() if e.name.name in self.of.results:
                return self._called(e)
            case c_ast.CompoundLiteral():
                made = self.of.records.of(getattr(e.type.type, "type", None))
                return None if made is None else self._kept(self._given(e.init, made), "of", e)
            case _:
                return None

    def _element(self, base: Any, reached: tuple[Record, Member], at: Any) -> Member:
        """The members of a struct in an array, or in the cells of a buffer."""
        from pycparser import c_ast

        record, member = reached
        if self.cells(base) is None:
            return lambda q: cell_of(member(q), at)
        parts = record.parts
        each = whole(cells_of(record))

        def cell(q: Part) -> Any:
            before = parts[: [p.path for p in parts].index(q.path)]
            first = c_ast.BinaryOp("*", at, each, at.coord)
            place = c_ast.BinaryOp("+", first, whole(cells_of(Record(before))), at.coord)
            return (
                c_ast.BinaryOp("+", member(q), place, at.coord)
                if q.extents
                else cell_of(member(q), place)
            )

        return cell

    def _reached(self, e: Any) -> tuple[Record, Member] | None:
        """Where a pointer to structs leads, or an array of them, by their members."""
        from pycparser import c_ast

        if (cells := self.cells(e)) is not None:
            return cells[0], lambda q: cells[1]
        match e:
            case c_ast.ID() if (v := self._find(e.name)) is not None and v.how != "alone":
                return v.record, lambda q: named(q.of(v.name), e)
            case c_ast.UnaryOp() if e.op == "&" and (of := self._struct(e.expr)) is not None:
                if self._in_buffer(e.expr):
                    raise refused(e, "a pointer to a part of a struct in a buffer")
                member = of[1]
                return of[0], lambda q: c_ast.UnaryOp("&", member(q), e.coord)
            case c_ast.BinaryOp() if e.op in "+-" and (of := self._reached(e.left)) is not None:
                by, first = self._expression(e.right), of[1]
                return of[0], lambda q: c_ast.BinaryOp(e.op, first(q), by, e.coord)
            case c_ast.ArrayRef() if (of := self._reached(e.name)) is not None:
                at, row = self._expression(e.subscript), of[1]
                return of[0], lambda q: cell_of(row(q), at)
            case _:
                return None

    def _outer(self, e: Any) -> tuple[Record, Member] | None:
        """The struct of which a member is asked."""
        from pycparser import c_ast

        return self._struct(c_ast.UnaryOp("*", e.name, e.coord) if e.type == "->" else e.name)

    def _called(self, e: Any) -> tuple[Record, Member]:
        """What a function gives, in a variable of its own before the statement."""
        from pycparser import c_ast

        held, before = self._new(e.name.name, self.of.results[e.name.name], e)
        call = self._expression(e)
        given = call.args.exprs if call.args else []
        call.args = c_ast.ExprList(
            [*given, *(named(q.of(held.name), e) for q in held.record.stored)]
        )
        before.append(call)
        return self._held(held.name, e)

    def _kept(self, of: tuple[Record, Member], name: str, e: Any) -> tuple[Record, Member]:
        """A struct of values, in a variable of its own before the statement: what is set from it may be read in it."""
        held, before = self._new(name, of[0], e)
        to = self._held(held.name, e)
        before += self._copied(to, of, e)
        return to

    def _new(self, name: str, record: Record, e: Any) -> tuple[Held, list[Any]]:
        """A variable before the statement, and what runs there."""
        if self.before is None:
            raise refused(e, "a struct that is made in a condition")
        self.of.made += 1
        held = Held(f"{name}·{self.of.made}", record, "alone")
        self.scopes[0][held.name] = held
        self.before += [self._variable(held.name, q, [], ["1"], e.coord) for q in record.stored]
        return held, self.before

    def _expression(self, e: Any) -> Any:
        """An expression without structs."""
        from pycparser import c_ast

        if (cells := self.cells(e)) is not None:
            return cells[1]
        if (distance := self.distance(e)) is not None:
            return distance
        match e:
            case c_ast.StructRef():
                return self._member(e)
            case c_ast.Assignment() if isinstance(e.lvalue, c_ast.StructRef) and (
                bits := self._bits(e.lvalue)
            ):
                return self._set(e, *bits)
            case c_ast.UnaryOp() if e.op in COUNTERS and (
                isinstance(e.expr, c_ast.StructRef) and self._bits(e.expr)
            ):
                raise refused(e, "a counter in a union")
            case c_ast.FuncCall() if e.args is not None:
                made = copy(e)
                for k, x in enumerate(e.args.exprs):
                    if (e.name.name, k) in self.of.by_member and self.cells(x) is not None:
                        raise refused(
                            e, "a pointer to a struct in a buffer, with no address space,"
                        )
                made.args = c_ast.ExprList([new for x in e.args.exprs for new in self._handed(x)])
                return made
            case c_ast.TernaryOp() | c_ast.BinaryOp() if getattr(e, "op", "&&") in ("&&", "||"):
                with self._nothing_before():
                    return with_parts(e, self._expression)
            case _:
                return with_parts(e, self._expression)

    def _handed(self, x: Any) -> list[Any]:
        """An argument, by its members where it is a struct or reaches one."""
        if (cells := self.cells(x)) is not None:
            return [cells[1]]
        found = self._struct(x) or self._reached(x)
        if found is None:
            return [self._expression(x)]
        return [found[1](q) for q in found[0].stored]

    def _in_buffer(self, e: Any) -> bool:
        """Whether a struct lies in the cells of a buffer."""
        while type(e).__name__ in ("StructRef", "ArrayRef", "UnaryOp"):
            e = e.expr if type(e).__name__ == "UnaryOp" else e.name
            if self.cells(e) is not None:
                return True
        return False

    def _member(self, e: Any) -> Any:
        outer = self._outer(e)
        if outer is None:
            made = copy(e)
            made.name = self._expression(e.name)
            return made
        record, member = outer
        part = record.part(e.field.name)
        if part is None:
            raise refused(e, f"the member {e.field.name}, a struct or none,")
        if not record.union or part.type == record.parts[0].type:
            return member(record.parts[0] if record.union else part)
        return call_of(f"as_{part.type.scalar}", member(record.parts[0]), e)

    def _bits(self, e: Any) -> tuple[Any, Part, Part] | None:
        """The cell of a union that is set by a member of another type, how it is kept, and the member."""
        outer = self._outer(e)
        if outer is None or not outer[0].union:
            return None
        kept, part = outer[0].parts[0], outer[0].part(e.field.name)
        return None if part is None or part.type == kept.type else (outer[1](kept), kept, part)

    def _set(self, e: Any, cell: Any, kept: Part, part: Part) -> Any:
        from pycparser import c_ast

        value = self._expression(e.rvalue)
        if e.op != "=":
            value = c_ast.BinaryOp(e.op[:-1], self._member(e.lvalue), value, e.coord)
        to = c_ast.Typename(None, [], None, renamed(part.node, "", []))
        value = c_ast.Cast(to, value, e.coord)
        return c_ast.Assignment("=", cell, call_of(f"as_{kept.type.scalar}", value, e), e.coord)


def flat(init: Any) -> Iterator[Any]:
    for e in init.exprs:
        if type(e).__name__ == "InitList":
            yield from flat(e)
        else:
            yield e


def whole(n: int) -> Any:
    from pycparser import c_ast

    return c_ast.Constant("int", str(n))


def named(name: str, node: Any) -> Any:
    from pycparser import c_ast

    return c_ast.ID(name, node.coord)


def cell_of(array: Any, index: Any) -> Any:
    from pycparser import c_ast

    return c_ast.ArrayRef(array, index, array.coord)


def call_of(function: str, x: Any, node: Any) -> Any:
    from pycparser import c_ast

    return c_ast.FuncCall(c_ast.ID(function, node.coord), c_ast.ExprList([x]), node.coord)


def variable(name: str, t: Any, coord: Any) -> Any:
    from pycparser import c_ast

    return c_ast.Decl(name, [], [], [], [], t, None, None, coord)
