"""Loops that try to exchange a cell until nobody else changed it in between, as one update of the cell.

`do { old = *p; } while (atomic_cmpxchg(p, old, f(old)) != old)` is what OpenCL C has for updates that it has no function
for.  An attempt changes the cell only where it holds what was found there, and the loop ends only then: so the attempt
that succeeds is the only one that matters, if the others leave nothing behind.  What a loop finds in the cell becomes a
call of `FOUND`, its attempt one of `EXCHANGED`, which `attempts` follows; a loop that is not seen to be such stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from relift.compiler.foreign.effects import with_parts, within

FOUND = "atomic_·found"
"""The function that gives what an attempt finds in a cell: (pointer)."""

EXCHANGED = "atomic_·exchanged"
"""The function of an attempt that succeeds: (pointer, what was found, what is put there)."""

_ATTEMPTS = ("atomic_cmpxchg", "atom_cmpxchg")
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

Cell: TypeAlias = tuple[str, str]
"""An array and an index in it, as they are written."""


def with_attempts(parts: Sequence[Any]) -> list[Any]:
    """What a source defines, whose loops of attempts are updates."""
    own = {p.decl.name for p in parts if type(p).__name__ == "FuncDef"}
    return [_Function(p, own).made() if _attempts(p) else p for p in parts]


def _attempts(node: Any) -> list[Any]:
    return [n for n in within(node) if type(n).__name__ == "FuncCall" and _name(n) in _ATTEMPTS]


def _name(call: Any) -> str:
    return str(getattr(call.name, "name", ""))


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
            if type(n).__name__ == "Decl" and type(n.type).__name__ == "ArrayDecl" and _private(n)
        }

    def made(self) -> Any:
        """The function with its loops as updates."""
        f = self.f
        refused = 0
        while loops := [n for n in within(f) if type(n).__name__ in _LOOPS and _attempts(n)][
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

    def updates(self) -> _Updates:
        """What becomes of it; raises `_Refused`."""
        loop, kind = self.loop, type(self.loop).__name__
        attempts = _attempts(loop)
        if len(attempts) != 1 or (kind == "For" and (loop.init or loop.next)):
            raise _Refused
        self.call = attempts[0]
        if self.call.args is None or len(self.call.args.exprs) != 3:
            raise _Refused
        turn = [loop.cond, loop.stmt]
        if kind == "DoWhile" or not (loop.cond is not None and _attempts(loop.cond)):
            turn.reverse()
        for part in turn:
            if part is loop.cond and part is not None and not _always(part):
                self._asks(part, succeeded=False)
            elif part is loop.stmt:
                self._follow(part)
        pointer, compared, _ = self.call.args.exprs
        cell = _pointed(pointer)
        self._require_outcome(compared)
        self._require_stable(pointer)
        return _Updates(self.call, cell, self._carried(cell), self._variable)

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
                if not _only_leaves(node.iftrue) or node.iffalse is not None:
                    raise _Refused
                self._asks(node.cond, succeeded=True)
            case "UnaryOp" if node.op in _COUNTERS or node.op == "&":
                raise _Refused
            case kind if kind in _OTHERS:
                for part in _in_order(node):
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
        name = _name(node)
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
        cond = _bare(cond)
        if type(cond).__name__ == "UnaryOp" and cond.op == "!":
            self._asks(cond.expr, succeeded=not succeeded)
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
        known = _bare(compared)
        if not asked or min(asked) < tried:
            raise _Refused
        for k in asked:
            between = {s.name for s in self.steps[tried:k] if s.does == "set"}
            if between & self._names(known):
                raise _Refused
            sides = [_bare(self.steps[k].node.left), _bare(self.steps[k].node.right)]
            if not any(
                self._is_given(a) and _text(b) == _text(known) for a, b in (sides, sides[::-1])
            ):
                raise _Refused

    def _is_given(self, node: Any) -> bool:
        """Whether an expression is what the attempt gave back."""
        if node is self.call:
            return True
        if type(node).__name__ == "Assignment" and node.op == "=":
            return self._is_given(_bare(node.rvalue))
        name = self._variable(node)
        return name is not None and self._gives(name)

    def _gives(self, name: str) -> bool:
        """Whether a variable is set to what the attempt gave back, and to nothing else."""
        values = [_value(s.node) for s in self.steps if s.does == "set" and s.name == name]
        return len(values) == 1 and values[0] is not None and _bare(values[0]) is self.call

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
        """What a turn finds in a variable: what the attempt before gave back (None), or what was read behind it."""
        values = [_value(s.node) for s in self.steps if s.does == "set" and s.name == name]
        if len(values) != 1 or values[0] is None:
            raise _Refused
        value = _bare(values[0])
        source = self._variable(value)
        if self._is_given(value) or (source is not None and self._gives(source)):
            return None
        every = {s.name for s in self.steps if s.does == "set"}
        if every & self._names(value) or not any(_reads(n, cell) for n in within(value)):
            raise _Refused
        return value


@dataclass(frozen=True)
class _Updates:
    """An attempt, its cell, and the variables that hold what was found there before the loop."""

    call: Any
    cell: Cell
    carried: dict[str, tuple[Any, Any]]
    variable: Callable[[Any], str | None]


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
            name = c_ast.ID(EXCHANGED, e.coord)
            return c_ast.FuncCall(name, c_ast.ExprList(args, e.coord), e.coord)
        if _reads(e, by.cell):
            return found_at(_looked_at(e))
        return with_parts(e, everywhere)

    def before(e: Any) -> Any:
        from pycparser import c_ast

        if e is loop:
            there = found_at(by.call.args.exprs[0])
            begun = [
                c_ast.Assignment("=", v, there if of is None else everywhere(of), e.coord)
                for v, of in by.carried.values()
            ]
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


def _in_order(node: Any) -> Iterator[Any]:
    return (part for _, part in node.children() if type(part).__name__ != "Typename")


def _value(node: Any) -> Any:
    """What a variable is set to; None where that is no value alone."""
    if type(node).__name__ == "Decl":
        return node.init
    return node.rvalue if node.op == "=" else None


def _only_leaves(s: Any) -> bool:
    items = (s.block_items or []) if type(s).__name__ == "Compound" else [s]
    return [type(i).__name__ for i in items] == ["Break"]


def _always(cond: Any) -> bool:
    return (type(cond).__name__ == "Constant" and cond.value not in ("0", "0u")) or (
        type(cond).__name__ == "ID" and cond.name == "true"
    )


def _bare(e: Any) -> Any:
    """An expression without casts between whole numbers of at least the 32 bits that are exchanged."""
    while type(e).__name__ == "Cast" and not _is_pointer(e):
        names = getattr(e.to_type.type.type, "names", ["struct"])
        if not {"int", "uint", "unsigned", "signed", "long", "ulong"}.issuperset(names):
            break
        e = e.expr
    return e


def _is_pointer(cast: Any) -> bool:
    return type(cast.to_type.type).__name__ == "PtrDecl"


def _without_casts(pointer: Any) -> Any:
    while type(pointer).__name__ == "Cast" and _is_pointer(pointer):
        pointer = pointer.expr
    return pointer


def _pointed(pointer: Any) -> Cell:
    """The cell that a pointer points to."""
    pointer = _without_casts(pointer)
    kind, op = type(pointer).__name__, getattr(pointer, "op", "")
    if kind == "UnaryOp" and op == "&":
        inner = pointer.expr
        if type(inner).__name__ == "ArrayRef":
            return _text(_without_casts(inner.name)), _text(inner.subscript)
        if type(inner).__name__ == "UnaryOp" and inner.op == "*":
            return _pointed(inner.expr)
        return f"&{_text(inner)}", "0"
    if kind == "BinaryOp" and op == "+":
        return _text(_without_casts(pointer.left)), _text(pointer.right)
    return _text(pointer), "0"


def _looked_at(e: Any) -> Any:
    """The pointer through which an expression reads a cell; None where it reads none."""
    from pycparser import c_ast

    match e:
        case c_ast.UnaryOp(op="*"):
            return e.expr
        case c_ast.ArrayRef() | c_ast.ID():
            return c_ast.UnaryOp("&", e, e.coord)
        case _:
            return None


def _reads(e: Any, cell: Cell) -> bool:
    pointer = _looked_at(e)
    return pointer is not None and _pointed(pointer) == cell


def _text(node: Any) -> str:
    """An expression as it is written, without spaces."""
    from pycparserext.ext_c_generator import OpenCLCGenerator

    return str(OpenCLCGenerator().visit(node))


def _private(d: Any) -> bool:
    words = {w.strip("_") for w in _words(d.type)} | {w.strip("_") for w in d.quals or []}
    return not words & {"local", "global", "constant"}


def _words(t: Any) -> list[str]:
    while type(t).__name__ != "TypeDecl":
        t = t.type
    return list(t.quals or [])
