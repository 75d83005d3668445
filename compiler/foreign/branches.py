"""Branches and loops; a branch on data is taken on both sides where these only assign and write."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from relift.compiler.foreign import runtime
from relift.compiler.foreign.atomics import is_update
from relift.compiler.foreign.effects import WithEffects, changed, has_effects, is_effect
from relift.compiler.foreign.expressions import number, refused
from relift.compiler.text.tree import (
    Binary,
    Cast,
    Conditional,
    Element,
    Expression,
    Invocation,
    Member,
    Name,
    Prefix,
    Real,
    Whole,
)
from relift.compiler.validation.symbols import Symbol


class WithBranches(WithEffects):
    """Translates control flow; `under` is the condition on data that what is written depends on."""

    known: dict[str, int]
    block: Callable[[Any, int], None]
    step: Callable[[Any, int], None]
    _truth: Callable[[Any, int], str]

    def begin_branches(self) -> None:
        """What the code of branches calls."""
        self.ahead: list[Callable[[int], None] | None] = []
        self.under: str | None = None
        conditional = runtime.Conditional(self.arithmetic)
        self.w.environment |= {
            "symbolic": lambda c: c.__class__ is Symbol, "on_data": runtime.OnData,
            "merged": partial(runtime.merged, self.arithmetic.picked),
            "also": conditional.also, "store_if": conditional.store,
        }  # fmt: skip

    def _if(self, s: Any, depth: int) -> None:
        names = assigned_by(s.iftrue) | assigned_by(s.iffalse) if predicable(s) else None
        c = self.w.fresh("c")
        truth = self._truth(s.cond, depth)
        self.w.emit(depth, f"{c} = {truth}")
        known = [self.w.known(n) for n in sorted(names or ())]
        if names is not None and all(v is not None and v.kind == "value" for v in known):
            self._both_run(s, c, [v.python for v in known if v is not None], depth)
            return
        self.w.emit(depth, f"if decided(it, {c}):")
        self.block(s.iftrue, depth + 1)
        if s.iffalse is not None:
            self.w.emit(depth, "else:")
            self.block(s.iffalse, depth + 1)

    def _both_run(self, s: Any, c: str, variables: list[str], depth: int) -> None:
        """Both parts of a branch on data; what they assign depends on it, and what they write to memory."""
        held = "".join(f"{v}, " for v in variables)
        data, before, yes = (self.w.fresh(name) for name in ("data", "before", "yes"))
        outer = self.under
        self.w.emit(depth, f"{data} = symbolic({c}) and {c} is not OPEN")
        self.w.emit(depth, f"{c} = {c} if {data} else decided(it, {c})")
        self.w.emit(depth, f"{before} = ({held})")
        for part, holds in ((s.iftrue, True), (s.iffalse, False)):
            self.under = self.w.fresh("under")
            self.w.emit(depth, f"if {data} or {'' if holds else 'not '}{c}:")
            self.w.emit(
                depth + 1, f"{self.under} = also({outer}, {c}, {holds}) if {data} else {outer}"
            )
            self.w.emit(depth + 1, f"with on_data({data}):")
            self.block(part if part is not None else _nothing(), depth + 2)
            if holds and held:
                self.w.emit(depth, f"if {data}:")
                self.w.emit(depth + 1, f"{yes} = ({held})")
                self.w.emit(depth + 1, f"{held} = {before}")
        self.under = outer
        if held:
            self.w.emit(depth, f"if {data}:")
            self.w.emit(depth + 1, f"{held} = merged({c}, {yes}, ({held}))")

    def _while(self, cond: Any, body: Any, ahead: Callable[[int], None], depth: int) -> None:
        self.w.emit(depth, "while True:")
        self.w.emit(depth + 1, "tick()")
        if cond is not None:
            truth = self._truth(cond, depth + 1)
            self.w.emit(depth + 1, f"if not decided(it, {truth}): break")
        self.ahead.append(ahead)
        self.block(without_leaving(body, "Continue"), depth + 1)
        self.ahead.pop()
        ahead(depth + 1)

    def _do(self, s: Any, depth: int) -> None:
        def ahead(d: int) -> None:
            truth = self._truth(s.cond, d)
            self.w.emit(d, f"if not decided(it, {truth}): break")

        self.w.emit(depth, "while True:")
        self.w.emit(depth + 1, "tick()")
        self.ahead.append(ahead)
        self.block(s.stmt, depth + 1)
        self.ahead.pop()
        ahead(depth + 1)

    def _assignment(self, target: Expression, value: Expression, depth: int) -> None:
        match target:
            case Element() | Prefix("*", _) if self.under is not None:
                place = target.operand if isinstance(target, Prefix) else Prefix("&", target)
                memory, at, t = self.values.pointer(place)
                self._writable(t, place)
                text = self._stored(value, t)
                self.w.emit(depth, f"store_if(it, {memory}, {at.text}, {text}, {self.under})")
            case (
                Name() | Element() | Member() | Prefix() | Whole() | Real() | Binary()
                | Conditional() | Invocation() | Cast()
            ):  # fmt: skip
                super()._assignment(target, value, depth)

    def _switch(self, s: Any, depth: int) -> None:
        from pycparser import c_ast

        value, met = self.w.fresh("value"), self.w.fresh("met")
        truth = self._truth(s.cond, depth)
        self.w.emit(depth, f"{value} = placed({truth})")
        self.w.emit(depth, f"{met} = False")
        self.w.emit(depth, "for _ in (0,):")
        self.ahead.append(None)
        items = s.stmt.block_items or []
        wanted = {
            k: number(self.trees.of(case.expr), case, self.known)
            for k, case in enumerate(items)
            if isinstance(case, c_ast.Case)
        }
        for k, case in enumerate(items):
            match case:
                case c_ast.Case():
                    self.w.emit(depth + 1, f"{met} = {met} or decided(it, {value} == {wanted[k]})")
                case c_ast.Default():
                    others = " or ".join(f"decided(it, {value} == {n})" for n in wanted.values())
                    self.w.emit(depth + 1, f"{met} = {met} or not ({others or False})")
                case _:
                    raise refused(case, "a statement before the cases of a switch")
            self.w.emit(depth + 1, f"if {met}:")
            self.w.scopes.append({})
            for inner in case.stmts or []:
                self.step(inner, depth + 2)
            self.w.scopes.pop()
            self.w.emit(depth + 2, "pass")
        self.ahead.pop()
        if not items:
            self.w.emit(depth + 1, "pass")


def _nothing() -> Any:
    """A block of no statements."""
    from pycparser import c_ast

    return c_ast.Compound([])


def without_leaving(body: Any, kind: str) -> Any:
    """Statements of which some are left out by a `continue` or `return`, as those of another part of a branch.

    Only where both parts assign to variables at most: what data decide on can be followed there.
    """
    from pycparser import c_ast

    items = (body.block_items or []) if isinstance(body, c_ast.Compound) else []
    for k, s in enumerate(items):
        if not isinstance(s, c_ast.If) or s.iffalse is not None:
            continue
        inner = s.iftrue.block_items or [] if isinstance(s.iftrue, c_ast.Compound) else [s.iftrue]
        if not inner or type(inner[-1]).__name__ != kind or getattr(inner[-1], "expr", None):
            continue
        rest = without_leaving(c_ast.Compound(items[k + 1 :]), kind)
        made = c_ast.If(s.cond, c_ast.Compound(inner[:-1]), rest, s.coord)
        if predicable(made):
            return c_ast.Compound([*items[:k], made], body.coord)
    return body


def predicable(s: Any) -> bool:
    """Whether a branch only assigns to variables."""
    return _plain_branch(s.iftrue) and (s.iffalse is None or _plain_branch(s.iffalse))


def _plain_branch(s: Any) -> bool:
    from pycparser import c_ast

    if isinstance(s, c_ast.Compound):
        return all(map(_plain_branch, s.block_items or []))
    if isinstance(s, c_ast.Assignment):
        return not has_effects(s.rvalue) and not has_effects(s.lvalue)
    if isinstance(s, c_ast.UnaryOp):
        return is_effect(s) and isinstance(s.expr, c_ast.ID)
    if isinstance(s, c_ast.Cast):
        return _plain_branch(s.expr)
    if isinstance(s, c_ast.FuncCall):
        return is_update(s.name.name) and not any(map(has_effects, s.args.exprs if s.args else ()))
    if isinstance(s, c_ast.Decl):
        return isinstance(s.type, c_ast.TypeDecl) and s.init is not None and not has_effects(s.init)
    return isinstance(s, c_ast.If) and not has_effects(s.cond) and predicable(s)


def assigned_by(s: Any) -> set[str]:
    """The variables of outside that a branch assigns to."""
    from pycparser import c_ast

    if isinstance(s, c_ast.Compound):
        items = s.block_items or []
        own = {d.name for d in items if isinstance(d, c_ast.Decl)}
        return set[str]().union(*map(assigned_by, items)) - own
    if isinstance(s, c_ast.If):
        return assigned_by(s.iftrue) | assigned_by(s.iffalse)
    return set() if s is None else changed(s)
