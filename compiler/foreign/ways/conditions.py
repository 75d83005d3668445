"""Conditions on data: which of them are known where a work-item is, and what variables hold where ways meet."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

from relift.compiler.foreign.required.facts import Facts
from relift.compiler.foreign.ways.choices import Choices
from relift.compiler.foreign.ways.paths import Dead, Path, State, certain, common
from relift.compiler.foreign.ways.pointers import one_pointer
from relift.compiler.validation.arithmetic import Arithmetic
from relift.compiler.validation.bits import Bits
from relift.compiler.validation.machine import Fault, Item, Undecided
from relift.compiler.validation.symbols import OPEN, DependsOnData, Symbol

FORKS = 100_000
"""Branches on data that may be followed in one launch."""


def _where(c: Symbol, x: Any, part: int) -> Any:
    """What a value is where a condition that it begins with is known."""
    while x.__class__ is Symbol and x.op == "select" and x.args[0] is c:
        x = x.args[part]
    return x


@dataclass
class Conditions:
    """What the code of kernels asks of conditions on data."""

    arithmetic: Arithmetic
    bits: Bits = field(default_factory=Bits)
    """Who is asked what conditions on numbers imply."""
    left: int = FORKS
    decided_on: list[Symbol] = field(default_factory=list[Symbol])
    """Conditions that were followed on both sides."""
    doubts: list[Symbol] = field(default_factory=list[Symbol])
    """Conditions under which something may be wrong."""
    placed: list[Symbol] = field(default_factory=list[Symbol])
    """Indices of which nothing more is known than that they are in their array."""
    required: Facts | None = None
    """What is required of the inputs."""
    asks: bool = False
    """Whether a solver is asked if a way can be taken at all before it is."""
    in_one_order: ClassVar[bool] = False
    """Whether work-items are followed in one of the orders that they may run in, which shows what may happen but proves nothing."""

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
        if found.op == "whole":
            return bool(found.args[0])
        if self.asks:
            for n, one in enumerate((self.not_(found), found)):
                if self._implied(one, it.under):
                    return bool(n)
        return found

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

    def one_of(self, it: Item, c: Any, yes: tuple[Any, Any], no: tuple[Any, Any]) -> Any:
        """`c ? yes : no`, of pointers."""
        found = self.settled(it, c)
        if found.__class__ is Symbol:
            return self.picked(found, yes, no, "")
        return yes if found else no

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
            right = certain(it, y)
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
                found.append(certain(it, part))
        return self.arithmetic.choose(c, lambda: found[0], lambda: found[1])

    def _any_of(self, conditions: Sequence[Symbol]) -> Symbol:
        """Whether one of some conditions holds."""
        any_of = self.algebra.whole(0, "bool")
        for c in conditions:
            any_of = self.algebra.bits("or", any_of, c)
        return any_of

    def _implied(self, b: Symbol, path: Path | None) -> bool:
        """Whether a condition holds wherever a path leads."""
        if path is not None:
            b = self.algebra.bits("or", b, self.not_(path.since(None)))
        found = self._sure.get(b)
        if found is None:
            known = path.known if path is not None else {}
            found = self.choices.always(b, known)
            if found is None:
                found = self.required.decides(b, known) if self.required is not None else None
            if found is None:
                found = self.bits.always(b)
            self._sure[b] = found
        return found

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
        if not kind:
            return one_pointer(self, c, x, y)
        if x.__class__ is tuple and y.__class__ is tuple:
            return tuple([self.picked(c, p, q, kind) for p, q in zip(x, y, strict=True)])
        if x.__class__ is not Symbol and y.__class__ is not Symbol:
            if not isinstance(x, int) or not isinstance(y, int):
                raise Undecided("what is waited for depends on data")
            if x == y:
                return x
            x = self.algebra.lift(x, kind)
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
            above = common(above, path)
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
