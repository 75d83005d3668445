"""Loops that try to exchange a cell until nobody else changed it in between, as one update of the cell.

`do { old = *p; } while (atomic_cmpxchg(p, old, f(old)) != old)` is what OpenCL C has for updates that it has no function
for.  An attempt changes the cell only where it holds what was found there, and the loop ends only then: so the attempt
that succeeds is the only one that matters, if the others leave nothing behind.  What a loop finds in the cell becomes a
call of `FOUND`, its attempt one of `EXCHANGED`, which `attempts` follows; a loop that is not seen to be such stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from relift.compiler.foreign.effects import with_parts, within
from relift.compiler.foreign.reading.written import (
    WHOLE,
    Cell,
    always,
    attempts_in,
    bare,
    in_order,
    is_private,
    looked_at,
    name_of,
    of_bits,
    only_leaves,
    orders,
    pointed,
    reads,
    text_of,
    value_set,
)

FOUND = "atomic_·found"
"""The function that gives what an attempt finds in a cell: (pointer)."""

EXCHANGED = "atomic_·exchanged"
"""The function of an attempt that succeeds: (pointer, what was found, what is put there)."""

_LOOPS = ("While", "DoWhile", "For")
_OTHERS = (
    "Constant",
    "BinaryOp",
    "TernaryOp",
    "Cast",
    "UnaryOp",
    "ExprList",
    "Compound",
    "DeclList",
    "EmptyStatement",
)
_COUNTERS = ("p++", "p--", "++", "--")


def with_attempts(parts: Sequence[Any]) -> list[Any]:
    """What a source defines, whose loops of attempts are updates."""
    own = {p.decl.name for p in parts if type(p).__name__ == "FuncDef"}
    return [_Function(p, own).made() if attempts_in(p) else p for p in parts]


class _Refused(Exception):
    """A loop is not seen to be one of attempts."""


@dataclass(frozen=True)
class _Step:
    """What a loop does at a node: it uses a variable, sets it, attempts an exchange, or asks whether one succeeded."""

    does: str
    name: str
    node: Any


class _Function:
    """Rewrites a function; `own` are the functions of the source, which may do anything."""

    def __init__(self, f: Any, own: set[str]) -> None:
        self.f, self.own = f, own
        self.arrays = {
            n.name
            for n in within(f)
            if type(n).__name__ == "Decl" and type(n.type).__name__ == "ArrayDecl" and is_private(n)
        }

    def made(self) -> Any:
        """The function with its loops as updates."""
        f = self.f
        refused = 0
        while loops := [n for n in within(f) if type(n).__name__ in _LOOPS and attempts_in(n)][
            refused:
        ]:
            try:
                f = _rewritten(f, loops[0], _Loop(self, loops[0]).updates())
            except _Refused:
                refused += 1
        return f


@dataclass
class _Loop:
    """A loop, and what it does in a turn, in order."""

    of: _Function
    loop: Any
    steps: list[_Step] = field(default_factory=list[_Step])
    guards: list[tuple[Any, bool]] = field(default_factory=list[tuple[Any, bool]])
    """Comparisons of what was found, and whether there is no attempt where one holds."""

    def updates(self) -> _Updates:
        """What becomes of it; raises `_Refused`."""
        loop, kind = self.loop, type(self.loop).__name__
        attempts = attempts_in(loop)
        if len(attempts) != 1 or (kind == "For" and (loop.init or loop.next)):
            raise _Refused
        self.call = attempts[0]
        if self.call.args is None or len(self.call.args.exprs) != 3:
            raise _Refused
        turn = [loop.cond, loop.stmt]
        if kind == "DoWhile" or not (
            loop.cond is not None and (attempts_in(loop.cond) or orders(loop.cond))
        ):
            turn.reverse()
        for part in turn:
            if part is loop.cond and part is not None and not always(part):
                self._asks(part, succeeded=False)
            elif part is loop.stmt:
                self._follow(part)
        pointer, compared, _ = self.call.args.exprs
        cell = pointed(pointer)
        carried = self._carried(cell)
        if self._at("asks"):
            self._require_outcome(compared)
        else:
            self._require_once(carried)
        self._require_stable(pointer)
        self._require_guards(carried)
        return _Updates(
            self.call, cell, carried, self._variable, self.guards, once=not self._at("asks")
        )

    # ---- what it does

    def _follow(self, node: Any) -> None:
        match type(node).__name__:
            case "Assignment":
                self._follow(node.rvalue)
                if node.op != "=":
                    self._follow(node.lvalue)
                self._set(node.lvalue, node)
            case "Decl" if type(node.type).__name__ == "ArrayDecl" and node.init is None:
                self.steps.append(_Step("set", f"{node.name}[0]", node))
            case "Decl" if type(node.type).__name__ == "TypeDecl":
                if node.init is not None:
                    self._follow(node.init)
                self.steps.append(_Step("set", node.name, node))
            case "ID" | "ArrayRef" if (name := self._variable(node)) is not None:
                self.steps.append(_Step("use", name, node))
            case "ArrayRef":
                self._follow(node.name)
                self._follow(node.subscript)
            case "FuncCall":
                self._called(node)
            case "If":
                if not only_leaves(node.iftrue) or node.iffalse is not None:
                    raise _Refused
                self._asks(node.cond, succeeded=True)
            case "UnaryOp" if node.op in _COUNTERS or node.op == "&":
                raise _Refused
            case kind if kind in _OTHERS:
                for part in in_order(node):
                    self._follow(part)
            case _:
                raise _Refused

    def _set(self, place: Any, node: Any) -> None:
        name = self._variable(place)
        if name is None:
            raise _Refused  # an attempt that fails would leave something in memory
        self.steps.append(_Step("set", name, node))

    def _variable(self, node: Any) -> str | None:
        """A variable, or a cell of a private array that is always the same; None for other memory."""
        if type(node).__name__ == "ID":
            return None if node.name in self.of.arrays else str(node.name)
        if type(node).__name__ != "ArrayRef" or type(node.subscript).__name__ != "Constant":
            return None
        known = type(node.name).__name__ == "ID" and node.name.name in self.of.arrays
        return f"{node.name.name}[{node.subscript.value}]" if known else None

    def _called(self, node: Any) -> None:
        name = name_of(node)
        if node is self.call:
            for part in node.args.exprs[1:]:
                self._follow(part)
            self.steps.append(_Step("attempt", "", node))
            return
        if name in self.of.own or name.startswith(
            ("atom", "vstore", "async", "work_group", "sub_group", "printf")
        ):
            raise _Refused
        if "barrier" in name or "fence" in name or "wait" in name:
            raise _Refused
        for part in node.args.exprs if node.args is not None else []:
            self._follow(part)

    def _asks(self, cond: Any, *, succeeded: bool) -> None:
        """A condition that holds where an attempt has succeeded, or where it has not."""
        cond = bare(cond)
        if type(cond).__name__ == "UnaryOp" and cond.op == "!":
            self._asks(cond.expr, succeeded=not succeeded)
            return
        if type(cond).__name__ == "BinaryOp" and cond.op == ("||" if succeeded else "&&"):
            self._asks(cond.left, succeeded=succeeded)
            self._asks(cond.right, succeeded=succeeded)
            return
        if orders(cond) and not self._at("attempt"):
            self._follow(cond)
            self.steps.append(_Step("guard", "", cond))
            self.guards.append((cond, succeeded))
            return
        if type(cond).__name__ != "BinaryOp" or cond.op != ("==" if succeeded else "!="):
            raise _Refused
        self._follow(cond.left)
        self._follow(cond.right)
        self.steps.append(_Step("asks", "", cond))

    # ---- what has to hold of it

    def _at(self, does: str) -> list[int]:
        return [k for k, s in enumerate(self.steps) if s.does == does]

    def _require_outcome(self, compared: Any) -> None:
        """Each condition is asked behind the attempt, and compares what it gave with what it was to find, bit by bit."""
        [tried], asked = self._at("attempt"), self._at("asks")
        known = bare(compared)
        if not asked or min(asked) < tried:
            raise _Refused
        for k in asked:
            between = {s.name for s in self.steps[tried:k] if s.does == "set"}
            if between & self._names(known):
                raise _Refused
            sides = [bare(self.steps[k].node.left), bare(self.steps[k].node.right)]
            if not any(
                self._is_given(a) and not self._is_float(a) and text_of(b) == text_of(known)
                for a, b in (sides, sides[::-1])
            ):
                raise _Refused

    def _require_once(self, carried: Mapping[str, Any]) -> None:
        """A loop that does not ask whether it succeeded: it goes on while less, or more, is there than it puts there."""
        if len(self.guards) != 1 or self.guards[0][0] is not bare(self.loop.cond):
            raise _Refused
        cond, _ = self.guards[0]
        new = text_of(of_bits(self.call.args.exprs[2]))
        sides = [of_bits(v) for v in (cond.left, cond.right)]
        if cond.op not in ("<", ">") or not any(
            self._variable(a) in carried and text_of(b) == new for a, b in (sides, sides[::-1])
        ):
            raise _Refused

    def _require_guards(self, carried: Mapping[str, Any]) -> None:
        """A guard may be asked where the attempt is, and what is not set where it ends the loop is asked for nowhere else."""
        if not self.guards:
            return
        [tried] = self._at("attempt")
        for k in self._at("guard"):
            between = {s.name for s in self.steps[k:tried] if s.does == "set"}
            if between & self._names(self.steps[k].node):
                raise _Refused
        own = {n.name for n in within(self.loop) if type(n).__name__ == "Decl"}
        inside = [n for n in within(self.loop) if type(n).__name__ == "ID"]
        for name in {s.name for s in self.steps if s.does == "set"} - own - carried.keys():
            every = [n for n in within(self.of.f) if type(n).__name__ == "ID" and n.name == name]
            if len(every) > sum(n.name == name for n in inside):
                raise _Refused

    def _is_given(self, node: Any) -> bool:
        """Whether an expression is what the attempt gave back."""
        node = of_bits(node)
        if node is self.call:
            return True
        if type(node).__name__ == "Assignment" and node.op == "=":
            return self._is_given(bare(node.rvalue))
        name = self._variable(node)
        return name is not None and self._gives(name)

    def _gives(self, name: str) -> bool:
        """Whether a variable is set to what the attempt gave back, and to nothing else."""
        values = [value_set(s.node) for s in self.steps if s.does == "set" and s.name == name]
        if len(values) != 1 or values[0] is None or of_bits(values[0]) is not self.call:
            return False
        held = self._types(name)
        return not held or (held == {"float"} if self._is_float(values[0]) else held <= WHOLE)

    def _types(self, name: str) -> set[str]:
        """The words of the type that a variable is declared of; nothing where it is no scalar variable."""
        declared = [
            n.type for n in within(self.of.f) if type(n).__name__ == "Decl" and n.name == name
        ]
        kinds = [t.type for t in declared if type(t).__name__ == "TypeDecl"]
        return {word for t in kinds for word in getattr(t, "names", ["struct"])}

    def _is_float(self, node: Any) -> bool:
        """Whether an expression that has the bits of a number is a float."""
        node = bare(node)
        if type(node).__name__ == "FuncCall":
            return name_of(node) == "as_float"
        if type(node).__name__ == "Assignment":
            node = node.lvalue
        name = self._variable(node)
        return name is not None and "float" in self._types(name)

    def _require_stable(self, pointer: Any) -> None:
        """Each attempt is at the same cell."""
        moved = {s.name for s in self.steps if s.does == "set"}
        if moved & self._names(pointer):
            raise _Refused
        if any(type(n).__name__ in ("Assignment", "FuncCall") for n in within(pointer)):
            raise _Refused

    def _names(self, node: Any) -> set[str]:
        return {v for n in within(node) if (v := self._variable(n)) is not None}

    def _carried(self, cell: Cell) -> dict[str, tuple[Any, Any]]:
        """The variables that a turn begins with, each where it is used, and what it holds."""
        every = {s.name for s in self.steps if s.does == "set"}
        found: dict[str, Any] = {}
        done: set[str] = set()
        for s in self.steps:
            if s.does == "use" and s.name in every - done:
                found.setdefault(s.name, s.node)
            elif s.does == "set":
                done.add(s.name)
        return {name: (node, self._begun(name, cell)) for name, node in found.items()}

    def _begun(self, name: str, cell: Cell) -> Any:
        """What a turn finds in a variable: what the attempt before gave back, or what was read behind it."""
        values = [value_set(s.node) for s in self.steps if s.does == "set" and s.name == name]
        if len(values) != 1 or values[0] is None:
            raise _Refused
        value = bare(values[0])
        source = self._variable(value)
        if source is not None and self._gives(source):
            [value] = [
                value_set(s.node) for s in self.steps if s.does == "set" and s.name == source
            ]
        if self._is_given(value):
            return value
        every = {s.name for s in self.steps if s.does == "set"}
        if every & self._names(value) or not any(reads(n, cell) for n in within(value)):
            raise _Refused
        return value


@dataclass(frozen=True)
class _Updates:
    """An attempt, its cell, the variables that hold what was found there before the loop, and what has to hold of that.

    `once`: nothing else ends the loop, which ends after one turn.
    """

    call: Any
    cell: Cell
    carried: dict[str, tuple[Any, Any]]
    variable: Callable[[Any], str | None]
    guards: Sequence[tuple[Any, bool]] = ()
    once: bool = False


def _rewritten(f: Any, loop: Any, by: _Updates) -> Any:
    """A function in which the cell is looked at as an attempt does: in the loop, and where a variable is set for it.

    What was found before the loop is another value than what the attempt finds that succeeds.
    """

    def found_at(pointer: Any) -> Any:
        from pycparser import c_ast

        given = c_ast.ExprList([pointer], pointer.coord)
        return c_ast.FuncCall(c_ast.ID(FOUND, pointer.coord), given, pointer.coord)

    def everywhere(e: Any) -> Any:
        from pycparser import c_ast

        if e is by.call:
            args = [e.args.exprs[0], *map(everywhere, e.args.exprs[1:])]
            for guard, leaves in by.guards:
                # where there is no attempt, the cell is exchanged for what is there already
                yes, no = (args[1], args[2]) if leaves else (args[2], args[1])
                args[2] = c_ast.TernaryOp(with_parts(guard, everywhere), yes, no, e.coord)
            name = c_ast.ID(EXCHANGED, e.coord)
            return c_ast.FuncCall(name, c_ast.ExprList(args, e.coord), e.coord)
        for guard, leaves in by.guards:
            if e is guard:
                return c_ast.Constant("int", str(int(not leaves)), e.coord)
        if reads(e, by.cell):
            return found_at(looked_at(e))
        made = with_parts(e, everywhere)
        if e is loop and by.once:
            made.stmt = c_ast.Compound([made.stmt, c_ast.Break(e.coord)], e.coord)
        return made

    def first(e: Any) -> Any:
        """What an attempt would give back, as it is held."""
        return found_at(e.args.exprs[0]) if e is by.call else with_parts(everywhere_but(e), first)

    def everywhere_but(e: Any) -> Any:
        return everywhere(e) if not attempts_in(e) else e

    def before(e: Any) -> Any:
        from pycparser import c_ast

        if e is loop:
            begun = [c_ast.Assignment("=", v, first(of), e.coord) for v, of in by.carried.values()]
            return c_ast.Compound([*begun, everywhere(e)], e.coord) if begun else everywhere(e)
        kind = type(e).__name__
        if kind == "Assignment" and by.variable(e.lvalue) in by.carried:
            made = copy(e)
            made.rvalue = everywhere(e.rvalue)
            return made
        if kind == "Decl" and e.name in by.carried and e.init is not None:
            made = copy(e)
            made.init = everywhere(e.init)
            return made
        return with_parts(e, before)

    return before(f)
