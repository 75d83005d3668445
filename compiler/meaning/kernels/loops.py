"""A kernel's text as Python, in which a loop may be run once for all its turns."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from relift.compiler.meaning.kernels.memory import STALE, Ghost, Own, Result, Write
from relift.compiler.meaning.kernels.tables import Table
from relift.compiler.meaning.numbers.algebra import Folding
from relift.compiler.meaning.numbers.arithmetic import Indices
from relift.compiler.meaning.numbers.lookups import Lookups
from relift.compiler.meaning.numbers.polynomials import Atom, Index
from relift.compiler.meaning.numbers.polynomials import Whole as Int
from relift.compiler.text import tree
from relift.compiler.text.c_types import FLOATS, INT, RANGES, common, plain
from relift.compiler.text.expressions import in_c
from relift.compiler.text.lexing import NotUnderstood
from relift.compiler.validation.machine import Fault, Item, Undecided
from relift.compiler.validation.symbols import OPEN, Symbol, TooLarge
from relift.compiler.validation.translation.expressions import Expressions
from relift.compiler.validation.translation.operators import as_int, as_type
from relift.compiler.validation.translation.python import Code
from relift.compiler.validation.translation.statements import Translator

MOST_TURNS = 4096
"""Turns of one loop that are written out."""


@dataclass
class Progress:
    """What a work-item is in the middle of."""

    loops: list[Turns] = field(default_factory=list)
    entered: dict[int, int] = field(default_factory=dict)


@dataclass
class Loops:
    """The loops of one run of a kernel: which are written out, and what they hold of local memory."""

    algebra: Folding
    arithmetic: Indices
    unroll: int
    written_out: frozenset[int]
    budget: int
    joint: dict[Int, Int] = field(default_factory=dict)
    """Numbers of work-items with which loops start in whose turns they join, and their steps."""
    progress: dict[int, Progress] = field(default_factory=dict)
    stale: set[Any] = field(default_factory=set)
    by_atom: dict[Any, int] = field(default_factory=dict)
    tables: frozenset[str] = frozenset()
    """Arrays that are updated where data say, by name."""

    def __post_init__(self) -> None:
        self.lookups = Lookups(self.algebra)

    def table(self, name: str, base: Callable[[Int], Any]) -> Table | None:
        """What has the cells of an array that is kept as a table; `base` are those that it began with."""
        if name not in self.tables:
            return None
        return Table(name, self.lookups, self.arithmetic, base)

    def of(self, it: Item) -> Progress:
        """What a work-item is in the middle of."""
        return self.progress.setdefault(id(it), Progress())

    def inside(self, it: Item) -> list[Any]:
        """The loops around, those that are run once."""
        return self.of(it).loops

    def turns(
        self,
        it: Item,
        loop: int,
        start: Any,
        end: Any,
        step: Any,
        arrays: Sequence[tuple[Any, str]],
        moves: bool,
        waits: bool,
    ) -> Turns:
        """The turns of a loop of a work-item, which writes arrays; one that moves pointers is written out."""
        return Turns(self, it, loop, start, end, step, arrays, moves=moves, waits=waits)


class Turns:
    """The turns of one loop: all, one after the other, or one that stands for all."""

    def __init__(
        self,
        loops: Loops,
        it: Item,
        number: int,
        start: Any,
        end: Any,
        step: Any,
        arrays: Sequence[tuple[Any, str]],
        *,
        moves: bool,
        waits: bool,
    ) -> None:
        self.loops, self.it, self.number = loops, it, number
        a, r = loops.algebra, loops.algebra.ranges
        self.start, end, self.step = (a.number(x) for x in (start, end, step))
        if not r.nonnegative(self.step - 1):
            raise Undecided(f"a loop by {self.step}, which may be below 1")
        span = end - self.start
        self.joint: Any = None
        self.count: Int = span if self.step == 1 else r.quotient(span + self.step - 1, self.step)[0]
        stride = loops.joint.get(self.start)
        if isinstance(self.count, Index) and stride is not None and r.same(self.step, stride):
            # all that start at their numbers take turns: together, each number below the end once
            self.joint, self.count, self.start, self.step = self.start, end, 0, 1
        if isinstance(self.count, Index):
            if r.nonnegative(-self.count):
                self.count = 0
            elif not r.nonnegative(self.count):
                self.count = r.extreme("max", self.count, 0) if r.decided(self.count) else 0
        self.written_out = moves or number in loops.written_out
        self.symbolic = self._is_symbolic()
        self.pending: list[Write] = []
        self.inner: set[Atom] = set()
        self.cells: dict[int, Callable[[], Symbol]] = {}
        self.kept: list[Table] = []
        self.local: list[Own] = []
        if not self.symbolic:
            return
        progress = loops.of(it)
        nth = progress.entered.get(number, 0)
        progress.entered[number] = nth + 1
        self.loop = self._opened(f"t{number}_{nth}")
        loops.by_atom[self.loop.atom] = number
        for around in progress.loops:
            around.inner.add(self.loop.atom)
        for array, kind in arrays:
            self._entered(array, kind, waits=waits)
        key = (number, nth)
        if key not in loops.stale:
            loops.stale.add(key)
            for tile in self.local:
                _forget(tile)

    def _entered(self, array: Any, kind: str, *, waits: bool) -> None:
        """An array that is written in the loop, of the group or of the device."""
        if isinstance(array, Own) and (array.table is None or waits):
            self.local.append(array)
        elif isinstance(array, Own) and isinstance(self.it, Ghost):
            array.touched = self.it.phase
        elif isinstance(array, Own | Result) and array.table is not None:
            if waits:
                raise Undecided(f"{array.name} is updated in a loop with a barrier")
            self._keep(array.table, kind)

    def _keep(self, table: Table, kind: str) -> None:
        table.enter(self, kind)
        self.kept.append(table)

    def _is_symbolic(self) -> bool:
        count = self.count
        if isinstance(count, Index):
            if self.written_out:
                raise Undecided(f"a loop of {count} turns would have to be written out")
            return True
        if count <= 1 or (self.written_out and count <= MOST_TURNS):
            return False
        if self.written_out:
            raise Undecided(f"a loop of {count} turns would have to be written out")
        return count > self.loops.unroll

    def _opened(self, name: str) -> Any:
        from relift.compiler.meaning.numbers.algebra import Loop as Opened

        return Opened(self.loops.algebra, f"{name}_{self.count}", self.count)

    def __iter__(self) -> Iterator[Int]:
        if not self.symbolic:
            assert isinstance(self.count, int), "cannot happen: an open loop is run once"
            for k in range(max(self.count, 0)):
                self.loops.budget -= 1
                if self.loops.budget < 0:
                    raise TooLarge("more turns of loops than the limit allows")
                yield self.start + k * self.step
            return
        progress = self.loops.of(self.it)
        progress.loops.append(self)
        yield self.start + self.loop.turn * self.step
        assert progress.loops.pop() is self, "cannot happen: loops are nested"

    # ---- what a loop carries

    def entered(self, values: Sequence[Any], kinds: Sequence[str]) -> tuple[Any, ...]:
        """What stands for the values of variables in a turn."""
        self.kinds = kinds
        return tuple([self._held(v, kind) for v, kind in zip(values, kinds, strict=True)])

    def _held(self, value: Any, kind: str) -> Any:
        if isinstance(value, Own):
            if value.table is not None:
                self._keep(value.table, kind)
            else:
                value.become([self._one(v, kind) for v in value.cells])
            return value
        return self._one(value, kind)

    def _one(self, value: Any, kind: str) -> Any:
        if isinstance(value, tuple):
            return tuple([self._one(v, kind) for v in value])
        first = self._lifted(value, kind)
        return self.loop.carried(first, kind if first is OPEN else first.type)

    def _lifted(self, value: Any, kind: str) -> Symbol:
        if isinstance(value, Symbol):
            return value
        return self.loops.algebra.whole(value, kind)

    def left(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """The values of variables after all turns, where these are those after one."""
        flat: list[Any] = []
        for v, kind in zip(values, self.kinds, strict=True):
            for cell in _cells(v):
                lanes = cell if isinstance(cell, tuple) else (cell,)
                flat += [self._lifted(x, kind) for x in lanes]
        if self.joint is not None and any(
            v is not held for v, held in zip(flat, self.loop.accumulators, strict=False)
        ):
            raise Undecided("a loop in which work-items take turns carries a value")
        self.loop.next = lambda k: flat[k] if k < len(flat) else self.cells[k]()
        for table in self.kept:
            table.leave()
        self._settle(flat)
        places = iter(range(len(flat)))

        def after(cell: Any) -> Any:
            if isinstance(cell, tuple):
                return tuple([self.loop.after(next(places)) for _ in cell])
            return self.loop.after(next(places))

        found: list[Any] = []
        for v in values:
            if isinstance(v, Own):
                if v.table is None:
                    v.become([after(cell) for cell in v.cells])
                found.append(v)
            else:
                found.append(after(v))
        for tile in self.local:
            _forget(tile)
        return tuple(found)

    def _settle(self, flat: Sequence[Symbol]) -> None:
        """Writes in a turn see what the turns before it have made."""
        a = self.loops.algebra
        held = self.loop.places
        for w in self.pending:
            inner = {s for s in a.free(w.value) if s in held}
            if inner:
                now = {s: self.loop.after(held[s], self.loop.turn) for s in inner}
                w.value = a.substituted(w.value, {}, now, {})


def _cells(v: Any) -> Sequence[Any]:
    """What a loop carries of a variable from turn to turn; of a table, its cells are made when they are looked at."""
    if not isinstance(v, Own):
        return [v]
    return v.cells if v.table is None else ()


def _forget(tile: Own) -> None:
    """A turn begins: what a turn before has written is not known here."""
    tile.become([tuple([STALE] * len(c)) if isinstance(c, tuple) else STALE for c in tile.cells])


class Comparisons(Expressions):
    """Expressions in which a comparison of known numbers may be one of polynomials."""

    def value(self, e: tree.Expression) -> Code:
        """An expression, with the type that C gives it."""
        if isinstance(e, tree.Binary) and e.operator in ("<", "<=", ">", ">=", "==", "!="):
            left, right = self.value(e.left), self.value(e.right)
            if left.known and right.known and left.type.width == right.type.width == 1:
                t = common(left.type, right.type)
                left, right = as_type(self.w, left, t), as_type(self.w, right, t)
                return Code(f"compared({e.operator!r}, {left.text}, {right.text})", INT)
        if isinstance(e, tree.Binary) and e.operator in ("/", "%"):
            found = super().value(e)
            return found
        return super().value(e)


@dataclass
class Folded(Translator):
    """Translates loops so that `Loops` says whether they are run once."""

    numbers: Mapping[int, int] = field(default_factory=dict)
    """Loops by their identity: the same number in a kernel and in what is left of it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.values = Comparisons(self.w, self.functions, self.opaque, self.limits, self.defined)

    def _statement(self, statement: tree.Statement, depth: int) -> None:
        if isinstance(statement, tree.Guard):
            names = sorted(_assigned(statement.body))
            if not waits(statement.body) and all(self._is_value(name) for name in names):
                self._guarded(statement, names, depth)
                return
        super()._statement(statement, depth)

    def _is_value(self, name: str) -> bool:
        return bool(self.w.known(name)) and self.w.find(name).kind == "value"

    def _guarded(self, guard: tree.Guard, names: Sequence[str], depth: int) -> None:
        """Statements that only set variables: where data decide, these are chosen from what they are both ways."""
        w = self.w
        condition = self.values.value(guard.condition)
        if condition.type.width > 1:
            raise NotUnderstood(f"the condition {in_c(guard.condition)}")
        asked, held = w.fresh("asked"), w.fresh("held")
        values = "".join(w.find(name).python + ", " for name in names)
        kinds = tuple(kind_of(w.find(name).type.scalar) for name in names)
        w.environment |= {"maybe": _maybe, "merged": self._merged}
        text = condition.text if condition.known else as_int(w, condition).text
        w.emit(depth, f"{asked} = asked(it, {text})")
        w.emit(depth, f"{held} = ({values})")
        w.emit(depth, f"if {asked} is not False:")
        w.emit(depth + 1, f"with maybe({asked}):")
        self._block(guard.body, depth + 2)
        if names:
            w.emit(depth + 1, f"if {asked} is not True:")
            w.emit(depth + 2, f"{values} = merged({asked}, ({values}), {held}, {kinds!r})")

    def _merged(
        self, c: Symbol, yes: Sequence[Any], no: Sequence[Any], kinds: Sequence[str]
    ) -> tuple[Any, ...]:
        """Values of variables after statements that may not be run."""
        return tuple(
            [self._either(c, x, y, kind) for x, y, kind in zip(yes, no, kinds, strict=True)]
        )

    def _either(self, c: Symbol, x: Any, y: Any, kind: str) -> Any:
        if isinstance(x, tuple):
            return tuple([self._either(c, p, q, kind) for p, q in zip(x, y, strict=True)])
        if x is y:
            return x
        if x is OPEN or y is OPEN:
            raise Undecided(f"a variable that is set where {c}")
        a = self.arithmetic.algebra
        return a.select(c, a.lift(x, kind), a.lift(y, kind))

    def _loop(self, loop: tree.Loop, depth: int) -> None:
        w, t = self.w, plain(loop.type)
        start = as_type(w, self.values.value(loop.start), t)
        end, step = self.values.value(loop.end), self.values.value(loop.step)
        number = self.numbers[id(loop)]
        carried = [w.find(name) for name in sorted(_assigned(loop.body)) if w.known(name)]
        private = [v for v in carried if v.kind == "value" or v.type.space.of_item]
        moves = any(v.kind == "pointer" for v in carried)
        arrays = "".join(
            f"({v.python}, {kind_of(v.type.scalar)!r}), "
            for v in carried
            if v.kind == "array" and not v.type.space.of_item
        )
        names = "".join(v.python + ", " for v in private)
        kinds = tuple(kind_of(v.type.scalar) for v in private)
        turns = w.fresh("turns")
        w.emit(
            depth,
            f"{turns} = loops.turns(it, {number}, {start.text}, {end.text}, {step.text}, ({arrays}), {moves}, {waits(loop.body)})",
        )
        w.scopes.append({})
        name = w.fresh(loop.counter)
        low = start.range[0] if start.known else RANGES[t.scalar][0]
        high = end.range[1] - 1 if end.known else RANGES[t.scalar][1]
        counter = Code(name, t, low, max(min(high, RANGES[t.scalar][1]), low))
        from relift.compiler.validation.translation.python import Variable

        w.declare(loop.counter, Variable(name, t, "value", counter, True))
        w.emit(depth, f"for {name} in {turns}:")
        if names:
            w.emit(
                depth + 1, f"if {turns}.symbolic: {names} = {turns}.entered(({names}), {kinds!r})"
            )
        else:
            w.emit(depth + 1, f"if {turns}.symbolic: {turns}.entered((), ())")
        self._block(loop.body, depth + 1)
        # what is carried ends with the one turn that was run; `left` closes the loop
        if names:
            w.emit(depth + 1, f"if {turns}.symbolic: {names} = {turns}.left(({names}))")
        else:
            w.emit(depth + 1, f"if {turns}.symbolic: {turns}.left(())")
        w.scopes.pop()


@contextmanager
def _maybe(asked: bool | Symbol) -> Generator[None, None, None]:
    """Statements that may not be run: what they do wrong is known only where they are."""
    try:
        yield
    except Fault as fault:
        if asked is True:
            raise
        raise Undecided(f"where {asked}, {fault.detail}") from None


def _assigned(body: Sequence[tree.Statement]) -> set[str]:
    """Names that statements assign to, of what is declared outside of them."""
    found: set[str] = set()
    declared: set[str] = set()
    for s in body:
        match s:
            case tree.Declaration():
                declared.add(s.name)
            case tree.Assignment(target, _, _):
                found |= tree.root_of(target) - declared
            case tree.Evaluation(tree.Invocation(_, (_, _, pointer))):
                found |= tree.root_of(pointer) - declared
            case tree.Evaluation(tree.Invocation(_, (tree.Prefix("&", cell), _))):
                found |= tree.root_of(cell) - declared
            case tree.Loop() | tree.Guard():
                found |= _assigned(s.body) - declared
            case tree.Evaluation() | tree.Barrier():
                pass
    return found


def kind_of(scalar: str) -> str:
    """The type of symbols that a variable of C holds."""
    return FLOATS.get(scalar, "i64" if "long" in scalar else "i32")


def waits(body: Sequence[tree.Statement]) -> bool:
    """Whether statements have a barrier."""
    return any(isinstance(s, tree.Barrier) for s in tree.statements_within(body))
