"""Ways through a kernel that data decide on: each is followed on its own, and where they meet they are one again.

A `Path` is what data must be for a work-item to be where it is; what a work-item writes there holds only then.  Ways
that part at a condition meet behind the branch, behind a loop or at the end of a function: what variables hold is then
chosen by the conditions, so that there are as many values as there were, and never as many as there are ways.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from relift.compiler.foreign.ways.choices import Choices
from relift.compiler.validation.arithmetic import Arithmetic
from relift.compiler.validation.bits import Bits
from relift.compiler.validation.machine import Fault, Item, Memory, Undecided
from relift.compiler.validation.symbols import OPEN, DependsOnData, Symbol

FORKS = 100_000
"""Branches on data that may be followed in one launch."""

TURNS = 512
"""Turns of a loop that data may end."""

Stops: TypeAlias = Iterator[tuple[Any, bool, bool]]
"""The barriers at which a work-item waits."""

State: TypeAlias = tuple[Any, ...]
"""What some variables hold."""


class Dead(Exception):
    """A way through a kernel goes on elsewhere: at the end of a loop, of a turn or of a function."""


class Path:
    """What holds of data where a work-item is: one condition more than at its `parent`."""

    __slots__ = ("known", "literal", "parent", "ways")

    known: dict[Symbol, bool]

    def __init__(self, ways: Ways, parent: Path | None, literal: Symbol) -> None:
        self.ways, self.parent, self.literal = ways, parent, literal
        self.known = dict(parent.known) if parent is not None else {}
        ways.choices.learn(self.known, literal)

    def literals(self, above: Path | None = None) -> list[Symbol]:
        """The conditions since a path, the first one first."""
        found: list[Symbol] = []
        at: Path | None = self
        while at is not None and at is not above:
            found.append(at.literal)
            at = at.parent
        return found[::-1]

    def since(self, above: Path | None) -> Symbol:
        """The conditions since a path as one truth value."""
        return self.ways.all_of(self.literals(above))

    def store(self, memory: Memory, it: Item, i: Any, value: Any) -> None:
        """Set a cell where this holds."""
        place = memory.place(it, i, "writes")
        with self.ways.at(it, None):
            found = self.ways.beside(self, memory, place, value)
            halves = memory.halves.get(place)
            memory.store(it, place, found)
            if halves is not None and found is OPEN:
                memory.halves[place] = halves

    def seen(self, memory: Memory, i: int, value: Any) -> Any:
        """The value of a cell where this holds."""
        if value is OPEN and i in memory.halves:
            return self.ways.written(memory, i, self)
        return self.ways.chosen(value, self.known)


def _common(one: Path | None, other: Path | None) -> Path | None:
    """The last path that both go on from."""
    above: set[int] = set()
    while one is not None:
        above.add(id(one))
        one = one.parent
    while other is not None and id(other) not in above:
        other = other.parent
    return other


def _where(c: Symbol, x: Any, part: int) -> Any:
    """What a value is where a condition that it begins with is known."""
    while x.__class__ is Symbol and x.op == "select" and x.args[0] is c:
        x = x.args[part]
    return x


@dataclass
class Ways:
    """What the code of kernels calls where data may decide."""

    arithmetic: Arithmetic
    bits: Bits = field(default_factory=Bits)
    """Who is asked what conditions on numbers imply."""
    left: int = FORKS
    decided_on: list[Symbol] = field(default_factory=list[Symbol])
    """Conditions that were followed on both sides."""

    def __post_init__(self) -> None:
        self.algebra = self.arithmetic.algebra
        self.choices = Choices(self.algebra)
        self._sure: dict[Symbol, bool] = {}

    # ---- conditions

    def settled(self, it: Item, c: Any) -> Any:
        """A condition of control flow: known, or the truth value that is not."""
        if c.__class__ is not Symbol:
            return bool(c)
        if c is OPEN:
            raise Fault("initialised", f"{it} branches on what nothing was written to")
        b = self.choices.canonical(self.algebra.truth(c))
        found = self.choices.resolved(b, it.under.known if it.under is not None else {})
        return bool(found.args[0]) if found.op == "whole" else found

    def decided(self, it: Item, c: Any) -> bool:
        """A condition that must be known."""
        found = self.settled(it, c)
        if found.__class__ is Symbol:
            raise DependsOnData(found, "a branch")
        return bool(found)

    def under(self, it: Item, b: Symbol) -> Path:
        """Where a work-item is if one condition more holds."""
        return Path(self, it.under, b)

    @contextmanager
    def at(self, it: Item, path: Path | None) -> Generator[None]:
        """A work-item on another path for a while."""
        before, it.under = it.under, path
        try:
            yield
        finally:
            it.under = before

    def all_of(self, literals: Sequence[Symbol]) -> Symbol:
        """Whether all of some conditions hold."""
        a = self.algebra
        found = a.whole(1, "bool")
        for c in literals:
            found = a.bits("and", found, c)
        return found

    def not_(self, b: Symbol) -> Symbol:
        """Whether a condition does not hold."""
        return self.algebra.invert(b)

    def both(self, it: Item, x: Any, y: Callable[[], Any]) -> Any:
        """`x && y`, of which y is computed where x holds."""
        return self._either(it, x, y, "both", holds=True)

    def either(self, it: Item, x: Any, y: Callable[[], Any]) -> Any:
        """`x || y`, of which y is computed where x does not hold."""
        return self._either(it, x, y, "either", holds=False)

    def _either(self, it: Item, x: Any, y: Callable[[], Any], name: str, *, holds: bool) -> Any:
        function = getattr(self.arithmetic, name)
        if x.__class__ is Symbol and x is not OPEN:
            x = self.settled(it, x)
        if x.__class__ is not Symbol or x is OPEN:
            return function(x, y)
        with self.at(it, self.under(it, x if holds else self.not_(x))):
            right = certain(y)
        return function(x, lambda: right)

    def choose(self, it: Item, c: Any, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
        """`c ? yes : no`, each computed where it is asked for."""
        if c.__class__ is Symbol and c is not OPEN:
            c = self.settled(it, c)
        if c.__class__ is not Symbol or c is OPEN:
            return self.arithmetic.choose(c, yes, no)
        found: list[Any] = []
        for b, part in ((c, yes), (self.not_(c), no)):
            with self.at(it, self.under(it, b)):
                found.append(certain(part))
        return self.arithmetic.choose(c, lambda: found[0], lambda: found[1])

    # ---- values

    def chosen(self, value: Any, known: dict[Symbol, bool]) -> Any:
        """A value where some conditions are known."""
        if value.__class__ is tuple:
            return tuple([self.chosen(v, known) for v in value])
        while value.__class__ is Symbol and value.op == "select":
            c = self.choices.resolved(value.args[0], known)
            if c.op != "whole":
                return value
            value = value.args[1] if c.args[0] else value.args[2]
        return value

    def picked(self, c: Symbol, x: Any, y: Any, kind: str) -> Any:
        """x where a condition holds, else y; numbers that are known are of a kind."""
        if x is y:
            return x
        if x.__class__ is tuple and y.__class__ is tuple:
            return tuple([self.picked(c, p, q, kind) for p, q in zip(x, y, strict=True)])
        if x.__class__ is not Symbol and y.__class__ is not Symbol:
            if isinstance(x, int) and isinstance(y, int):
                if x == y:
                    return x
                if kind:
                    x = self.algebra.lift(x, kind)
            if not isinstance(x, Symbol):
                raise Undecided("a pointer is to one place or another, as data decide")
        return self.arithmetic.picked(c, _where(c, x, 1), _where(c, y, 2))

    def merged(self, c: Symbol, x: State, y: State, kinds: Sequence[str]) -> State:
        """What variables hold where two ways meet."""
        return tuple([self.picked(c, p, q, k) for p, q, k in zip(x, y, kinds, strict=True)])

    def meet(
        self, it: Item, ends: Sequence[tuple[Path | None, State]], kinds: Sequence[str]
    ) -> State:
        """Where ways meet: what variables hold, and the path from there."""
        if not ends:
            raise Dead
        kept: list[tuple[Path | None, State]] = []
        for end in ends:
            kept.append(end)
            while len(kept) > 1 and (one := self._siblings(kept[-2], kept[-1], kinds)) is not None:
                kept[-2:] = [one]
        it.under, state = kept[0] if len(kept) == 1 else self._of_several(kept, kinds)
        return state

    def _siblings(
        self, one: tuple[Path | None, State], other: tuple[Path | None, State], kinds: Sequence[str]
    ) -> tuple[Path | None, State] | None:
        """Two ways as one that part at their last condition."""
        (p, x), (q, y) = one, other
        if p is None or q is None or p.parent is not q.parent:
            return None
        if p.literal is not self.not_(q.literal) and q.literal is not self.not_(p.literal):
            return None
        return p.parent, self.merged(p.literal, x, y, kinds)

    def _of_several(
        self, ends: Sequence[tuple[Path | None, State]], kinds: Sequence[str]
    ) -> tuple[Path | None, State]:
        above = ends[0][0]
        for path, _ in ends[1:]:
            above = _common(above, path)
        a = self.algebra
        *others, (last, state) = ends
        any_of = last.since(above) if last is not None else a.whole(1, "bool")
        for path, held in reversed(others):
            here = path.since(above) if path is not None else a.whole(1, "bool")
            state = self.merged(here, held, state, kinds)
            any_of = a.bits("or", any_of, here)
        if self._implied(any_of, above):
            return above, state
        return Path(self, above, any_of), state

    # ---- memory

    def leaves(self, it: Item, i: Symbol) -> list[tuple[Symbol, int]]:
        """The places that an index may be, and where it is which; raises `DependsOnData` where these are not few."""
        found = self.choices.of(i)
        if found is None:
            raise DependsOnData(i, "an index")
        known = it.under.known if it.under is not None else {}
        kept = [(self.choices.resolved(c, known), n) for n, c in found.items()]
        return [(c, n) for c, n in kept if c.op != "whole" or c.args[0]]

    def load(self, memory: Memory, it: Item, i: Symbol) -> Any:
        """The value of a cell at one place or another."""
        value: Any = None
        for c, n in self.leaves(it, i):
            if self._beyond(memory, it, c, n):
                continue
            with self.at(it, self.under(it, c)):
                one = memory.load(it, n)
            value = one if value is None else self.picked(c, one, value, memory.kind)
        if value is None:
            raise DependsOnData(i, "an index")
        return value

    def places(self, memory: Memory, it: Item, i: Any) -> list[tuple[Path | None, Any]]:
        """Each place that an index may be, and the path on which it is there."""
        if i.__class__ is not Symbol or i is OPEN or self.choices.of(i) is None:
            return [(it.under, i)]
        found = [(c, n) for c, n in self.leaves(it, i) if not self._beyond(memory, it, c, n)]
        return [(self.under(it, c), n) for c, n in found]

    def store(self, memory: Memory, it: Item, i: Symbol, value: Any) -> None:
        """Set a cell at one place or another."""
        if self.choices.of(i) is None:
            raise DependsOnData(i, "an index")
        for path, n in self.places(memory, it, i):
            with self.at(it, path):
                certain(partial(memory.store, it, n, value))

    def _beyond(self, memory: Memory, it: Item, c: Symbol, n: int) -> bool:
        """Whether a place is beyond the array, where a work-item never is."""
        if 0 <= n < len(memory.cells):
            return False
        if self._implied(self.not_(c), it.under):
            return True
        raise Undecided(
            f"{it} may be at {memory.name}[{n}] of {len(memory.cells)}, which depends on data"
        )

    def moved(self, place: Any, by: Any) -> Any:
        """A place in an array, moved by a number that may be one of several."""
        if place.__class__ is not Symbol and by.__class__ is not Symbol:
            return place + by
        if place is OPEN or by is OPEN:
            return OPEN
        a = self.algebra
        parts = [a.convert(a.lift(v, "i64"), "i64") for v in (place, by)]
        if any(self.choices.of(v) is None for v in parts):
            return by if isinstance(by, Symbol) else place
        return a.add(*parts)

    def moved_back(self, place: Any, by: Any) -> Any:
        """A place so many elements before."""
        if by.__class__ is not Symbol:
            return self.moved(place, -by)
        a = self.algebra
        return by if by is OPEN else self.moved(place, a.neg(a.convert(by, "i64")))

    def beside(self, path: Path, memory: Memory, i: int, value: Any) -> Any:
        """What a cell holds once a value was written to it on a path; where it was open before, what is known so far."""
        old = memory.cells[i]
        literals = path.literals()
        if old is not OPEN:
            found = value
            for k in range(len(literals), 0, -1):
                known: dict[Symbol, bool] = {}
                for c in literals[: k - 1]:
                    self.choices.learn(known, c)
                self.choices.learn(known, self.not_(literals[k - 1]))
                found = self.picked(literals[k - 1], found, self.chosen(old, known), memory.kind)
            return found
        halves = memory.halves.setdefault(i, [])
        halves.append((self.all_of(literals), value))
        if literals == literals[:1] and len(halves) == 2 and halves[0][0] is self.not_(literals[0]):
            return self.completed(memory, i)
        return OPEN

    def written(self, memory: Memory, i: int, path: Path | None) -> Any:
        """What a cell holds that was written under conditions only: open if none of them surely holds on a path."""
        known = path.known if path is not None else {}
        later: list[tuple[Symbol, Any]] = []
        for condition, value in reversed(memory.halves[i]):
            c = self.choices.resolved(condition, known)
            if c.op == "whole" and not c.args[0]:
                continue
            later.append((c, value))
            if c.op == "whole":
                break
        else:
            if not self._surely([c for c, _ in later], path):
                return OPEN
        value = later[-1][1]
        for c, one in reversed(later[:-1]):
            value = self.picked(c, one, value, memory.kind)
        return value

    def _surely(self, conditions: Sequence[Symbol], path: Path | None) -> bool:
        """Whether one of some conditions holds wherever a path leads."""
        any_of = self.algebra.whole(0, "bool")
        for c in conditions:
            any_of = self.algebra.bits("or", any_of, c)
        return self._implied(any_of, path)

    def _implied(self, b: Symbol, path: Path | None) -> bool:
        """Whether a condition holds wherever a path leads."""
        if path is not None:
            b = self.algebra.bits("or", b, self.not_(path.since(None)))
        found = self._sure.get(b)
        if found is None:
            known = path.known if path is not None else {}
            found = self.choices.always(b, known)
            if found is None:
                found = self.bits.always(b)
            self._sure[b] = found
        return found

    def completed(self, memory: Memory, i: int) -> Any:
        """A cell that is open but for what was written under conditions: if one of these holds in any case, it is not."""
        whole = self.written(memory, i, None)
        if whole is not OPEN:
            del memory.halves[i]
            memory.cells[i] = whole
        return whole


def certain(part: Callable[[], Any]) -> Any:
    """What is computed under a condition on data, where a fault need not happen."""
    try:
        return part()
    except Fault as fault:
        raise Undecided(f"under a condition on data, {fault.detail}") from None


class Fork:
    """A branch on data: its two parts, one after the other, and what variables hold behind it."""

    def __init__(self, ways: Ways, it: Item, c: Symbol, held: State, kinds: Sequence[str]) -> None:
        ways.left -= 1
        if ways.left < 0:
            raise DependsOnData(c, "a branch")
        ways.decided_on.append(c)
        self.ways, self.c, self.held, self.kinds, self.outer = ways, c, held, kinds, it.under
        self.ended: list[tuple[Path | None, State]] = []
        it.under = Path(ways, self.outer, c)

    def ends(self, it: Item, held: State) -> None:
        """A part has come to its end."""
        self.ended.append((it.under, held))

    def other(self, it: Item) -> State:
        """The other part begins."""
        it.under = Path(self.ways, self.outer, self.ways.not_(self.c))
        return self.held

    def joined(self, it: Item) -> State:
        """Both parts are done."""
        return self.ways.meet(it, self.ended, self.kinds)


class Turns:
    """A loop, a switch or a function that data may end: the ways out of it, and those that go on with the next turn."""

    def __init__(self, ways: Ways, it: Item, kinds: Sequence[str]) -> None:
        self.ways, self.kinds, self.outer = ways, kinds, it.under
        self.left = TURNS
        self.out: list[tuple[Path | None, State]] = []
        self.on: list[tuple[Path | None, State]] = []

    def turned(self, it: Item, c: Symbol, held: State) -> None:
        """The condition of a turn is on data: the way out is left for later."""
        self.left -= 1
        self.ways.left -= 1
        if self.left < 0 or self.ways.left < 0:
            raise DependsOnData(c, "a loop")
        self.ways.decided_on.append(c)
        self.out.append((Path(self.ways, it.under, self.ways.not_(c)), held))
        it.under = Path(self.ways, it.under, c)

    def leaves(self, it: Item, held: State) -> None:
        """`break`, or `return`."""
        self.out.append((it.under, held))

    def goes_on(self, it: Item, held: State) -> None:
        """`continue`, or the end of a turn."""
        self.on.append((it.under, held))

    def next(self, it: Item) -> State:
        """The ways meet that go on with the next turn."""
        ends, self.on = self.on, []
        return self.ways.meet(it, ends, self.kinds)

    def end(self, it: Item) -> State:
        """All ways out meet."""
        return self.ways.meet(it, self.out, self.kinds)

    def value(self, it: Item) -> Any:
        """What a function returns, which goes on where it was called."""
        found = self.ways.meet(it, self.out, self.kinds)
        it.under = self.outer
        return found[0] if found else None


def followed(run: Callable[..., Stops], it: Item, *given: Any) -> Stops:
    """A kernel on one work-item: a fault where data decide need not happen."""
    try:
        yield from run(it, *given)
    except Fault as fault:
        if it.under is None:
            raise
        raise Undecided(f"under a condition on data, {fault.detail}") from None
