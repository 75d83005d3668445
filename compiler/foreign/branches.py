"""Branches and loops; where data decide, both sides are followed, and what they hold is chosen where they meet (`ways`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from relift.compiler.foreign.effects import WithEffects, changed
from relift.compiler.foreign.expressions import number, refused
from relift.compiler.foreign.ways.forks import Fork, Turns
from relift.compiler.foreign.ways.paths import Dead
from relift.compiler.foreign.ways.ways import Ways
from relift.compiler.validation.arithmetic import kind_of
from relift.compiler.validation.symbols import Symbol
from relift.compiler.validation.translation.operators import binary, converted
from relift.compiler.validation.translation.python import Code

_LEAVING = ("Break", "Continue", "Return")


@dataclass(frozen=True)
class Left:
    """What a `break` or a `continue` leaves: the name of its ways, and the variables that they keep."""

    ways: str
    held: str
    turns: bool


class WithBranches(WithEffects):
    """Translates control flow."""

    known: dict[str, int]
    ways: Ways
    block: Callable[[Any, int], None]
    step: Callable[[Any, int], None]
    _condition_of: Callable[[Any, int], Code]

    def begin_branches(self) -> None:
        """What the code of branches calls."""
        self.around: list[Left] = []
        self.w.item = "it, "
        self.w.environment |= {
            "Symbol": Symbol, "Dead": Dead, "settled": self.ways.settled, "decided": self.ways.decided,
            "both": self.ways.both, "either": self.ways.either, "choose": self.ways.choose,
            "one_of": self.ways.one_of,
            "moved": self.ways.moved, "moved_back": self.ways.moved_back,
            "fork": partial(Fork, self.ways), "turns": partial(Turns, self.ways),
        }  # fmt: skip

    def held(self, *parts: Any) -> tuple[str, str]:
        """The variables that parts of a kernel change, as a row of Python's, and the name of what they hold."""
        names = set[str]().union(*(changed(p) for p in parts if p is not None))
        found = [v for n in sorted(names) if (v := self.w.known(n)) is not None]
        found = [v for v in found if v.kind in ("value", "pointer") and not v.fixed]
        kinds = tuple(kind_of(v.type.scalar) if v.kind == "value" else "" for v in found)
        row = "".join(f"{name}, " for name in dict.fromkeys(v.python for v in found))
        return f"({row})", self.w.bound(kinds)

    def _if(self, s: Any, depth: int) -> None:
        c = self._condition_of(s.cond, depth)
        if c.known:
            self.w.emit(depth, f"if {c.text}:")
            self.block(s.iftrue, depth + 1)
            if s.iffalse is not None:
                self.w.emit(depth, "else:")
                self.block(s.iffalse, depth + 1)
            return
        yes = partial(self.block, s.iftrue)
        no = None if s.iffalse is None else partial(self.block, s.iffalse)
        leaving = _leaves(s.iftrue), s.iffalse is not None and _leaves(s.iffalse)
        self.forked(c.text, yes, no, self.held(s.iftrue, s.iffalse), leaving, depth)

    def forked(
        self,
        c: str,
        yes: Callable[[int], None],
        no: Callable[[int], None] | None,
        held: tuple[str, str],
        leaving: tuple[bool, bool],
        depth: int,
    ) -> None:
        """A branch: one part where its condition is known, both where data decide on it."""
        emit, (row, kinds) = self.w.emit, held
        truth, fork = self.w.fresh("c"), self.w.fresh("fork")
        emit(depth, f"{truth} = settled(it, {c})")
        emit(
            depth,
            f"{fork} = fork(it, {truth}, {row}, {kinds}) if {truth}.__class__ is Symbol else None",
        )
        self._part(f"{fork} or {truth}", yes, fork, row, leaving[0], depth)
        emit(depth, f"if {fork}: {row} = {fork}.other(it)")
        self._part(f"{fork} or not {truth}", no, fork, row, leaving[1], depth)
        emit(depth, f"if {fork}: {row} = {fork}.joined(it)")

    def _part(
        self,
        runs: str,
        part: Callable[[int], None] | None,
        fork: str,
        row: str,
        leaves: bool,
        depth: int,
    ) -> None:
        emit, inner = self.w.emit, depth + leaves
        if leaves:
            emit(depth, "try:")
        if part is not None:
            emit(inner, f"if {runs}:")
            part(inner + 1)
        emit(inner, f"if {fork}: {fork}.ends(it, {row})")
        if leaves:
            emit(depth, "except Dead:")
            emit(depth + 1, f"if not {fork}: raise")

    # ---- loops

    def _while(
        self, cond: Any, body: Any, ahead: Callable[[int, Left], None], following: Any, depth: int
    ) -> None:
        row, kinds = self.held(cond, body, following)
        loop = Left(self.w.fresh("loop"), row, turns=True)
        self.w.emit(depth, f"{loop.ways} = turns(it, {kinds})")
        self.w.emit(depth, "while True:")
        self.w.emit(depth + 1, "tick()")
        if cond is not None:
            self._turned(cond, loop, depth + 1)
        self._left(loop, partial(self.block, body), _leaves(body), depth + 1)
        ahead(depth + 1, loop)
        self.w.emit(depth, f"{row} = {loop.ways}.end(it)")

    def _left(self, left: Left, body: Callable[[int], None], leaves: bool, depth: int) -> None:
        """The body of a loop; ways that a `continue` takes meet at its end."""
        self.around.append(left)
        if leaves:
            self.w.emit(depth, "try:")
            body(depth + 1)
            self.w.emit(depth + 1, f"{left.ways}.goes_on(it, {left.held})")
            self.w.emit(depth, "except Dead: pass")
            self.w.emit(depth, f"if not {left.ways}.on: break")
            self.w.emit(depth, f"{left.held} = {left.ways}.next(it)")
        else:
            body(depth)
        self.around.pop()

    def _turned(self, cond: Any, loop: Left, depth: int) -> None:
        """The condition of a turn."""
        c, ends = self._condition_of(cond, depth), f"{loop.ways}.leaves(it, {loop.held})"
        if c.known:
            self.w.emit(depth, f"if not {c.text}:")
        else:
            truth = self.w.fresh("c")
            self.w.emit(depth, f"{truth} = settled(it, {c.text})")
            self.w.emit(
                depth,
                f"if {truth}.__class__ is Symbol: {loop.ways}.turned(it, {truth}, {loop.held})",
            )
            self.w.emit(depth, f"elif not {truth}:")
        self.w.emit(depth + 1, ends)
        self.w.emit(depth + 1, "break")

    def _do(self, s: Any, depth: int) -> None:
        self._while(None, s.stmt, lambda d, loop: self._turned(s.cond, loop, d), s.cond, depth)

    def _break(self, s: Any, depth: int) -> None:
        self._goes(self.around[-1], "leaves", depth)

    def _continue(self, s: Any, depth: int) -> None:
        self._goes(next(left for left in reversed(self.around) if left.turns), "goes_on", depth)

    def _goes(self, to: Left, how: str, depth: int) -> None:
        self.w.emit(depth, f"{to.ways}.{how}(it, {to.held})")
        self.w.emit(depth, "raise Dead")

    def _switch(self, s: Any, depth: int) -> None:
        from pycparser import c_ast

        items = s.stmt.block_items or []
        wanted = [
            number(self.trees.of(case.expr), case, self.known)
            for case in items if isinstance(case, c_ast.Case)
        ]  # fmt: skip
        value, met = self.w.fresh("value"), self.w.fresh("met")
        of = self._condition_of(s.cond, depth)
        self.w.emit(depth, f"{value} = {of.text}")
        self.w.emit(depth, f"{met} = 0")
        row, kinds = self.held(s.stmt)
        left = Left(self.w.fresh("switch"), row, turns=False)
        self.w.emit(depth, f"{left.ways} = turns(it, {kinds})")

        def equals(n: int) -> str:
            same = Code(value, of.type)
            return binary(
                self.w, "==", same, converted(self.w, Code(str(n), of.type, n, n), of.type)
            ).text

        self.around.append(left)
        self.w.emit(depth, "try:")
        for case in items:
            match case:
                case c_ast.Case():
                    now = equals(number(self.trees.of(case.expr), case, self.known))
                case c_ast.Default():
                    now = "0"
                    for n in wanted:
                        now = f"either(it, {now}, lambda: {equals(n)})"
                    now = f"negated({now})"
                case _:
                    raise refused(case, "a statement before the cases of a switch")
            self._case(case, met, now, depth + 1)
        self.w.emit(depth + 1, f"{left.ways}.leaves(it, {row})")
        self.w.emit(depth, "except Dead: pass")
        self.around.pop()
        self.w.emit(depth, f"{row} = {left.ways}.end(it)")

    def _case(self, case: Any, met: str, now: str, depth: int) -> None:
        """The statements of a case, which run where it is met or the one before runs into it."""

        def run(d: int) -> None:
            self.w.emit(d, f"{met} = 1")
            self.w.scopes.append({})
            for inner in case.stmts or []:
                self.step(inner, d)
            self.w.scopes.pop()

        row, kinds = self.held(*(case.stmts or []))
        kept = f"({met}, {row[1:]}"
        more = self.w.bound(("i32", *self.w.environment[kinds]))
        c = f"either(it, {met}, lambda: {now})"
        self.forked(c, run, None, (kept, more), (any(map(_leaves, case.stmts or [])), False), depth)


def _leaves(s: Any) -> bool:
    """Whether a statement has another one in it that goes on elsewhere."""
    return type(s).__name__ in _LEAVING or any(_leaves(part) for _, part in s.children())
