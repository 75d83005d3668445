"""Statements of C as people write them, as Python that a work-item runs.

A branch on data is taken on both sides.  What is not translated raises `NotUnderstood` with its line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from relift.compiler.foreign import runtime
from relift.compiler.foreign.atomics import Updating, in_no_order, is_atomic, updated
from relift.compiler.foreign.attempts import without_interruption
from relift.compiler.foreign.declarations import WithDeclarations
from relift.compiler.foreign.effects import changed, has_effects, within
from relift.compiler.foreign.expressions import Placed, Trees, ctype, refused
from relift.compiler.foreign.functions import COPIES, EVENT, Loosely
from relift.compiler.foreign.groups.copies import Copies
from relift.compiler.foreign.groups.together import Together, is_of_group
from relift.compiler.foreign.longhand.floats import stored_halves
from relift.compiler.foreign.ways.ways import Ways
from relift.compiler.text.c_types import plain
from relift.compiler.text.lexing import NotUnderstood
from relift.compiler.text.tree import (
    Barrier,
    Binary,
    CType,
    Element,
    Evaluation,
    Expression,
    Invocation,
    Member,
    Name,
    Prefix,
    Whole,
)
from relift.compiler.validation.arithmetic import kind_of
from relift.compiler.validation.symbols import TooLarge
from relift.compiler.validation.translation.operators import as_int, as_type
from relift.compiler.validation.translation.python import Code, Local, Translated, Variable
from relift.semantics.syntax.memory import Owner

_FENCES: Mapping[int, frozenset[Owner]] = {
    1: frozenset(["group"]),
    2: frozenset(["device"]),
    3: frozenset(["group", "device"]),
}


@dataclass(frozen=True)
class Helper:
    """A function that kernels call; one with barriers is run step by step."""

    parameters: tuple[CType, ...]
    result: CType | None
    run: Callable[..., Any]
    waits: bool


@dataclass
class ByHand(WithDeclarations):
    """Translates parsed kernels; `local_cells` has the lengths of local arrays that are arguments."""

    local_cells: Mapping[str, int] = field(default_factory=dict)
    helpers: Mapping[str, Any] = field(default_factory=dict)
    contracted: bool = True
    copies: Copies = field(default_factory=Copies)
    updating: Updating = field(default_factory=Updating)
    constants: Sequence[Any] = ()
    ways: Ways = field(kw_only=True)
    sub_group: int = 0
    values: Loosely = field(init=False)
    together: Together = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.together = Together(self.arithmetic, sub_group=self.sub_group)
        self.values = Loosely(
            self.w, {}, {}, self.limits, self.defined, self.contracted, self.helpers,
            sub_group=self.sub_group,
        )  # fmt: skip
        self.begin_branches()
        self.trees = Trees()
        self.known: dict[str, int] = dict(self.arguments)
        self.returns: Any = None
        self.out, self.in_kernel = "", True  # the ways out of a function, where it has several
        self.w.environment |= {
            "row": partial(runtime.row, self.ways), "negated": partial(self.arithmetic.refused, "int"), "short": partial(runtime.short, self.arithmetic), "tick": self._tick,
            "beside": runtime.beside, "sited": runtime.sited, "everywhere": runtime.everywhere, "placed": partial(runtime.placed, self.ways),
            "copied": self.copies.copied, "waited": self.copies.waited, "together": self.together.found,
            **without_interruption(self.arithmetic, self.updating),
            **{f"h_{name}": helper.run for name, helper in self.helpers.items()},
        }  # fmt: skip
        for d in self.constants:
            self._constant(d)

    def _tick(self) -> None:
        self.arithmetic.turns -= 1
        if self.arithmetic.turns < 0:
            raise TooLarge("more turns of loops than the limit allows")

    def foreign(self, kernel: Any) -> tuple[Translated, list[tuple[str, Any]]]:
        """A kernel, and its parameters without those in local memory."""
        names: list[str] = []
        parameters: list[tuple[str, Any]] = []
        moved = changed(kernel.body)
        for p in taken_by(kernel):
            t = self._taken(p)
            name = self.w.fresh(p.name)
            if t.pointer and t.space.of_group:
                if p.name not in self.local_cells:
                    raise refused(
                        p, f"how many cells {p.name} has, which --argument {p.name}=… says"
                    )
                element = replace(t, pointer=False)
                self.local.append(Local(name, p.name, self.local_cells[p.name], element, True))
                self.w.scopes[0][p.name] = Variable(name, element, "array")
                if p.name in moved:
                    held = self.w.fresh(p.name)
                    self.w.emit(1, f"{held} = {name}, 0")
                    self.w.scopes[0][p.name] = Variable(held, t, "pointer")
                continue
            names.append(name)
            parameters.append((p.name, t))
            kind = "array" if t.pointer else "value"
            if t.pointer and p.name in moved:
                kind = "pointer"
                self.w.emit(1, f"{name} = {name}, 0")
            self.w.scopes[0][p.name] = Variable(name, t if t.pointer else plain(t), kind)
        self.w.emit(1, "try:")
        self.block(kernel.body, 2)
        self.w.emit(1, "except Dead: pass")
        head = f"def run({', '.join(['it', *names, *(a.python for a in self.local)])}):"
        text = "\n".join([head, *self.w.lines, "    if False: yield", ""])
        made = Translated(self.w.compiled(text, kernel.decl.name), tuple(self.local), text)
        return made, parameters

    def helper(self, f: Any) -> Helper:
        """A function that kernels call."""
        self.in_kernel = False
        parameters: list[CType] = []
        names: list[str] = []
        for p in taken_by(f):
            t = self._taken(p)
            name = self.w.fresh(p.name)
            kind = "pointer" if t.pointer else "value"
            self.w.scopes[0][p.name] = Variable(name, t if t.pointer else plain(t), kind)
            parameters.append(t)
            names.append(name)
        words = f.decl.type.type.type.names
        self.returns = None if words == ["void"] else ctype(words, f)
        self._function(f, 1)
        text = "\n".join([f"def run({', '.join(['it', *names])}):", *self.w.lines, ""])
        run = self.w.compiled(text, f.decl.name)
        return Helper(tuple(parameters), self.returns, run, self.barriers > 0)

    def _function(self, f: Any, depth: int) -> None:
        """The body of a function; ways that return meet where it was called."""
        if not _has_several_ends(f.body.block_items or []):
            self.block(f.body, depth)
            return
        kinds = self.w.bound(() if self.returns is None else (kind_of(self.returns.scalar),))
        self.out = self.w.fresh("function")
        self.w.emit(depth, f"{self.out} = turns(it, {kinds})")
        self.w.emit(depth, "try:")
        self.block(f.body, depth + 1)
        self.w.emit(
            depth + 1, f"{self.out}.leaves(it, {'()' if self.returns is None else '(OPEN,)'})"
        )
        self.w.emit(depth, "except Dead: pass")
        self.w.emit(depth, f"return {self.out}.value(it)")

    # ---- statements

    def block(self, body: Any, depth: int) -> None:
        """Statements in a scope of their own."""
        from pycparser import c_ast

        self.w.scopes.append({})
        items = (body.block_items or []) if isinstance(body, c_ast.Compound) else [body]
        for s in items:
            self.step(s, depth)
        self.w.scopes.pop()
        self.w.emit(depth, "pass")

    def step(self, s: Any, depth: int) -> None:
        """One statement."""
        if s is None:
            return
        by_kind: dict[str, Callable[[Any, int], None]] = {
            "EmptyStatement": lambda s, d: None, "Pragma": lambda s, d: None,
            "Compound": self.block, "Decl": self._declare, "FuncCall": self._call, "If": self._if,
            "For": self._for, "DoWhile": self._do, "Switch": self._switch, "Return": self._return,
            "DeclList": lambda s, d: _each(self.step, s.decls, d), "ExprList": lambda s, d: _each(self.step, s.exprs, d),
            "Assignment": self._assigned,
            "UnaryOp": self._counted, "Break": self._break,
            "Cast": self._for_nothing, "While": lambda s, d: self._while(s.cond, s.stmt, lambda _, __: None, None, d),
            "Continue": self._continue,
        }  # fmt: skip
        kind = type(s).__name__
        if kind not in by_kind:
            raise refused(s, kind)
        try:
            by_kind[kind](s, depth)
        except Placed:
            raise
        except NotUnderstood as error:
            raise refused(s, str(error)) from None

    def _for_nothing(self, s: Any, depth: int) -> None:
        """`(void)` before what is done for its effect."""
        if getattr(s.to_type.type.type, "names", None) != ["void"]:
            raise refused(s, "Cast")
        self.step(s.expr, depth)

    def _assigned(self, s: Any, depth: int) -> None:
        if any(map(self._waits, within(s.rvalue))):
            if s.op != "=" and type(s.lvalue).__name__ != "ID":
                raise refused(s, "a cell that is changed by what has barriers")
            self._simple(s.lvalue, s.op, self.trees.of(self.pure(s.rvalue, depth)), depth)
        elif has_effects(s.rvalue) or has_effects(s.lvalue):
            self.pure(s, depth)
        else:
            self._simple(s.lvalue, s.op, self.trees.of(s.rvalue), depth)

    def _counted(self, s: Any, depth: int) -> None:
        if s.op not in ("p++", "++", "p--", "--"):
            raise refused(s, f"{s.op} as a statement")
        place = self.pure(s.expr, depth)
        self._simple(place, "+=" if "+" in s.op else "-=", Whole(1), depth)

    def _for(self, s: Any, depth: int) -> None:
        self.w.scopes.append({})
        self.step(s.init, depth)
        self._while(s.cond, s.stmt, lambda d, _: self.step(s.next, d), s.next, depth)
        self.w.scopes.pop()

    def _simple(self, place: Any, operator: str, value: Expression, depth: int) -> None:
        """An assignment, also to several lanes."""
        target = self.trees.of(place)
        if operator != "=":
            value = Binary(operator[:-1], target, value)
        if isinstance(target, Element) and self.values.pointer(target.array)[2].scalar == EVENT:
            memory, at, _ = self.values.pointer(Prefix("&", target))
            self.w.emit(depth, f"{memory}.store(it, {at.text}, {self.values.value(value).text})")
            return
        if isinstance(target, Member) and isinstance(target.of, Name):
            from relift.compiler.validation.translation.expressions import lanes_of

            v = self.w.find(target.of.name)
            places = lanes_of(target.field, v.type.width)
            if len(places) > 1:
                whole = as_type(
                    self.w, self.values.value(value), replace(v.type, width=len(places))
                )
                held = self.w.fresh("held")
                self.w.emit(depth, f"{held} = {whole.text}")
                lanes = [
                    f"{held}[{places.index(k)}]" if k in places else f"{v.python}[{k}]"
                    for k in range(v.type.width)
                ]
                self.w.emit(depth, f"{v.python} = ({', '.join(lanes)},)")
                return
        self._assignment(target, value, depth)

    def _call(self, s: Any, depth: int) -> None:
        if is_of_group(s.name.name):
            self.pure(s, depth)
            return
        if s.name.name == "printf" and not any(map(has_effects, s.args.exprs)):
            return
        e = self.trees.of(super().pure(s, depth))
        assert isinstance(e, Invocation), "cannot happen: a call"
        if e.function in ("barrier", "work_group_barrier"):
            flags = e.arguments[0]
            value = _flags(flags)
            if value not in _FENCES:
                raise refused(s, "the flags of a barrier")
            self.w.emit(depth, "everywhere(it)")
            self._statement(Barrier(frozenset(_FENCES[value])), depth)
        elif e.function.startswith("vstore"):
            self._statement(stored_halves(e) or Evaluation(e), depth)
        elif e.function in self.helpers:
            self._helped(e, depth)
        elif is_atomic(e.function):
            text = updated(self.values, e)
            if text is None:
                raise in_no_order(e.function)
            self.w.emit(depth, text)
        elif e.function in COPIES:
            self.w.emit(depth, self.values.value(e).text)
        elif e.function == "wait_group_events" and len(e.arguments) == 2:
            self._waited(e, depth)
        elif e.function in ("mem_fence", "read_mem_fence", "write_mem_fence", "prefetch"):
            return
        else:
            raise refused(s, f"a call of {e.function} for its effect")

    def _helped(self, e: Invocation, depth: int) -> None:
        """A call of a function for its effect; its barriers are barriers here, apart from those of other calls."""
        text = self.values.helper_called(e.function, e.arguments).text
        if self.helpers[e.function].waits:
            self.barriers += 1
            text = f"yield from sited({self.barriers}, {text})"
        self.w.emit(depth, text)

    def _waits(self, e: Any) -> bool:
        """Whether an expression is a call of a function with barriers."""
        known = self.helpers.get(e.name.name) if type(e).__name__ == "FuncCall" else None
        return known is not None and known.waits

    def pure(self, e: Any, depth: int) -> Any:
        """The same; what a function with barriers gives is known before the statement, where nothing stands beside its call."""
        from pycparser import c_ast

        if not self._waits(e):
            return super().pure(e, depth)
        call = self.trees.of(super().pure(e, depth))
        assert isinstance(call, Invocation), "cannot happen: a call"
        code = self.values.helper_called(call.function, call.arguments)
        if self.helpers[call.function].result is None:
            raise refused(e, f"the result of {call.function}, which gives none,")
        self.barriers += 1
        held = self.w.fresh("given")
        self.w.emit(depth, f"{held} = yield from sited({self.barriers}, {code.text})")
        self.w.declare(held, Variable(held, code.type, "value"))
        return c_ast.ID(held, e.coord)

    def _waited(self, e: Invocation, depth: int) -> None:
        count = self.values.value(e.arguments[0]).text
        memory, first, t = self.values.pointer(e.arguments[1])
        if t.scalar != EVENT:
            raise NotUnderstood("events that are none")
        self.barriers += 1
        self.w.emit(depth, "everywhere(it)")
        self.w.emit(depth, f"yield ({self.barriers}, False, False)")
        self.w.emit(depth, f"waited(it, {memory}, {first.text}, {count})")

    def _condition_of(self, e: Any, depth: int) -> Code:
        """A condition as a number that is not 0 where it holds."""
        value = self.values.value(self.trees.of(self.pure(e, depth)))
        if value.type.width > 1:
            raise refused(e, "a condition of lanes")
        return value if value.known else as_int(self.w, value)

    def _return(self, s: Any, depth: int) -> None:
        text = "()"
        if self.returns is not None:
            given = self.values.value(self.trees.of(self.pure(s.expr, depth)))
            text = as_type(self.w, given, plain(self.returns)).text
        elif s.expr is not None:
            raise refused(s, "a value that is returned")
        if self.in_kernel:
            self.w.emit(depth, "raise Dead")
        elif not self.out:
            self.w.emit(depth, f"return {text}")
        else:
            held = text if self.returns is None else f"({text},)"
            self.w.emit(depth, f"{self.out}.leaves(it, {held})")
            self.w.emit(depth, "raise Dead")


def _each(step: Callable[[Any, int], None], statements: Sequence[Any], depth: int) -> None:
    for s in statements:
        step(s, depth)


def _has_several_ends(items: Sequence[Any]) -> bool:
    """Whether a function may end before its last statement, or within it."""
    *before, last = items or [None]
    ends_within = last is not None and type(last).__name__ != "Return" and _ends(last)
    return ends_within or any(map(_ends, before))


def _ends(s: Any) -> bool:
    """Whether a function may end in a statement."""
    return type(s).__name__ == "Return" or any(_ends(part) for _, part in s.children())


def taken_by(f: Any) -> list[Any]:
    """The parameters of a function; `(void)` is none."""
    found = list(f.decl.type.args.params) if f.decl.type.args else []
    return [p for p in found if type(p).__name__ != "Typename"]


def _flags(e: Expression) -> int:
    """The flags of a fence."""
    if isinstance(e, Binary) and e.operator == "|":
        return _flags(e.left) | _flags(e.right)
    return e.value if isinstance(e, Whole) else -1
