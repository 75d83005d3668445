"""Declarations: of parameters, constants of the source, variables, arrays, pointers and events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from relift.compiler.foreign.branches import WithBranches
from relift.compiler.foreign.expressions import declared, number, refused
from relift.compiler.foreign.functions import EVENT, seen_as
from relift.compiler.text.c_types import INT, plain
from relift.compiler.text.lexing import NotUnderstood
from relift.compiler.text.tree import CType, Declaration, Element, Expression, Name, Whole
from relift.compiler.validation.arithmetic import kind_of
from relift.compiler.validation.machine import Item, Memory
from relift.compiler.validation.translation.operators import as_type
from relift.compiler.validation.translation.python import Code, Variable


class WithDeclarations(WithBranches):
    """Translates declarations."""

    def _taken(self, p: Any) -> CType:
        """The type of a parameter; an array is a pointer to its first row."""
        t, extents = declared(p)
        if extents:
            rows = [0, *(number(self.trees.of(e), p, self.known) for e in extents[1:])]
            self.trees.extents[p.name] = rows
        return replace(t, pointer=True) if extents else t

    def _constant(self, d: Any) -> None:
        """A constant of the source: its cells, or its value."""
        if is_enumeration(d):
            self._enumeration(d)
            return
        t, extents = declared(d)
        if not t.constant or d.init is None:
            raise refused(d, f"the variable {d.name} outside of functions")
        self.w.lines.clear()
        if extents:
            self._declare(d, 1)
            made = self.w.scopes[-1].pop(d.name)
        else:
            value = as_type(self.w, self.values.value(self.trees.of(d.init)), plain(t))
            made = Variable(self.w.fresh(d.name), plain(t), "value", fixed=True)
            self.w.emit(1, f"{made.python} = {value.text}")
        text = "\n".join(["def run(it):", *self.w.lines, f"    return {made.python}", ""])
        found = self.w.compiled(text, d.name)(Item())
        self.w.lines.clear()
        self.w.environment[made.python] = found
        if isinstance(found, Memory):
            found.constant = True
        elif isinstance(found, int):
            made = replace(made, code=Code(str(found), made.type, found, found))
            self.known[d.name] = found
        self.w.declare(d.name, replace(made, type=replace(made.type, constant=True)))

    def _enumeration(self, d: Any) -> None:
        """Names for whole numbers, which go on by 1."""
        following = 0
        for e in d.type.values.enumerators:
            if e.value is not None:
                following = number(self.trees.of(e.value), e, self.known)
            self.known[e.name] = following
            code = Code(f"({following})", INT, following, following)
            self.w.declare(e.name, Variable(e.name, INT, "value", code, fixed=True))
            following += 1

    def _declare(self, d: Any, depth: int) -> None:
        from pycparser import c_ast

        t, dims = declared(d)
        self.trees.extents.pop(d.name, None)
        self.trees.singles.discard(d.name)
        if t.scalar == EVENT or (t.space.of_group and not t.pointer and not dims):
            self._single(d, t, dims, depth)
            return
        if not dims:
            if isinstance(d.init, c_ast.InitList):
                raise refused(d, "the first values of a scalar")
            if t.pointer and d.init is None:
                self._unset(d.name, t, depth)
                return
            value = None if d.init is None else self.trees.of(self.pure(d.init, depth))
            self._declaration(
                Declaration(replace(t, constant=t.constant and t.pointer), d.name, None, value),
                depth,
            )
            return
        if dims[0] is None and isinstance(d.init, c_ast.InitList):
            dims = [c_ast.Constant("int", str(len(d.init.exprs))), *dims[1:]]
        extents = [number(self.trees.of(e), d, self.known) for e in dims]
        cells = 1
        for n in extents:
            cells *= n
        self.trees.extents[d.name] = extents
        made = Declaration(replace(t, constant=False), d.name, Whole(cells), None, aligned=128)
        self._declaration(made, depth)
        if not t.space.of_group:
            array = self.w.find(d.name).python
            self.w.emit(depth, f"{array}.kind = {kind_of(t.scalar)!r}")
        if d.init is not None:
            flat = list(_flattened(d.init))
            if len(flat) > cells:
                raise refused(d, f"more than {cells} first values")
            zero = [Whole(0)] * (cells - len(flat))
            for i, e in enumerate([*map(self.trees.of, flat), *zero]):
                self._assignment(Element(Name(d.name), Whole(i)), e, depth)

    def _unset(self, name: str, t: CType, depth: int) -> None:
        """A pointer that has no value yet: into nothing, in which every access is out of bounds."""
        held = self.w.fresh(name)
        self.w.environment["seen_as"] = seen_as
        self.w.emit(depth, f"{held} = seen_as(Memory({name!r}, []), {t.width}), 0")
        self.w.declare(name, Variable(held, t, "pointer"))

    def _single(self, d: Any, t: CType, dims: Sequence[Any], depth: int) -> None:
        """What is followed as a cell though it is declared as a variable: one of local memory, or an event."""
        cells = number(self.trees.of(dims[0]), d, self.known) if dims else 1
        if not dims:
            if any(d.name in scope for scope in self.w.scopes):
                raise refused(d, f"{d.name}, declared twice")
            self.trees.singles.add(d.name)
        if t.scalar == EVENT:
            name = self.w.fresh(d.name)
            self.w.emit(depth, f"{name} = Memory({d.name!r}, [OPEN] * {cells})")
            self.w.declare(d.name, Variable(name, t, "array"))
        else:
            self._declaration(
                Declaration(replace(t, constant=False), d.name, Whole(cells), None), depth
            )
        if d.init is not None:
            if t.space.of_group or dims:
                raise refused(d, f"a first value of {d.name}")
            from pycparser import c_ast

            self._simple(c_ast.ID(d.name, d.coord), "=", self.trees.of(d.init), depth)

    def _pointed(self, name: str, t: CType, value: Expression) -> str:
        """What a pointer is set to; where it points is seen when the kernel runs."""
        memory, offset, of = self.values.pointer(value)
        if (plain(of), of.space) != (plain(t), t.space) or (of.constant and not t.constant):
            raise NotUnderstood(f"the pointer {name} into an array of another type")
        return f"{memory}, {offset.text if offset.known else f'placed(it, {offset.text})'}"


def is_enumeration(d: Any) -> bool:
    """Whether a declaration only gives names to numbers."""
    return type(d.type).__name__ == "Enum" and d.name is None and d.type.values is not None


def _flattened(init: Any) -> Sequence[Any]:
    """The values of an initialiser, row by row."""
    from pycparser import c_ast

    if isinstance(init, c_ast.InitList):
        return [e for part in init.exprs for e in _flattened(part)]
    return [init]
