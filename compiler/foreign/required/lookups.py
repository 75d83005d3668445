"""The interpreter on symbols, where a program looks up an element that data choose: it is one of all that there are."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from relift.compiler.foreign.required.facts import Facts
from relift.compiler.meaning.computed import GivenUp, Machine
from relift.compiler.validation.domain import Symbols
from relift.compiler.validation.symbols import OPEN, Algebra, DependsOnData, Symbol
from relift.semantics.by_cell import Lists
from relift.semantics.indices.algebra import asked_for
from relift.semantics.syntax.terms import Pattern

EFFORT = 5_000_000
"""Operations that may be computed for the indices of one run."""

ANYWHERE = 256
"""An element is looked up among so many at most."""


class Looking(Symbols):
    """Symbols that may be indices; that one is in range where it must be is left to `inside`.

    What `facts` decide is not chosen; with a `machine`, which draws inputs, an index is the number that it is on these.

    >>> from relift.compiler.foreign.required.lookups import Looking, Lookups
    >>> from relift.compiler.validation.symbols import Algebra
    >>> a, asked = Algebra(), []
    >>> k = a.cell("k", 0, "i32")
    >>> found = Lookups("at_runtime_unsafe", Looking(a, asked.append)).at([a.cell("x", i, "f32") for i in (0, 1)], k)
    >>> str(found) in ("select(k[0] == 0, x[0], x[1])", "select(k[0] == 1, x[1], x[0])")
    True
    """

    def __init__(
        self,
        algebra: Algebra,
        inside: Callable[[Symbol], object],
        facts: Facts | None = None,
        machine: type[Machine] | None = None,
    ) -> None:
        super().__init__(algebra)
        self.inside, self.facts = inside, facts
        self.decided: dict[Symbol, bool | None] = {}
        self.machine = None if machine is None else machine({}, EFFORT)
        self.computed: dict[Symbol, Any] = {}

    def index(self, x: Any) -> Any:
        """A value as an index: a number where it is one."""
        if not isinstance(x, Symbol):
            return operator.index(x)
        if self.machine is None or x is OPEN:
            return x
        try:
            return int(self.machine.remembered(x, self.computed))
        except (GivenUp, RecursionError):
            raise DependsOnData(x, "an index") from None

    def meaning(self, pattern: Pattern) -> tuple[tuple[str, ...], Callable[..., Any]]:
        """Of a pattern that has no value everywhere, or branches, its view: there an index may be a symbol."""
        if not pattern.has_view() or not (pattern.partial or pattern.branches):
            return super().meaning(pattern)
        return asked_for(pattern.view), partial(pattern.view, Lookups(pattern.name, self))

    def within(self, i: Symbol, n: int) -> Symbol:
        """Whether an index is one of an array."""
        a = self.algebra
        zero, end = (a.whole(k, i.type) for k in (0, n))
        return a.bits("and", a.le(zero, i), a.lt(i, end))

    def _select(self, c: Any, x: Any, y: Any) -> Any:
        if isinstance(c, Symbol) and c is not OPEN and self.facts is not None:
            if c not in self.decided:
                self.decided[c] = self.facts.decides(c, {})
            if (holds := self.decided[c]) is not None:
                return x if holds else y
        return super()._select(c, x, y)

    def picked(self, c: Symbol, x: Any, y: Any) -> Any:
        """x where a condition holds, else y, of values of any type."""
        if isinstance(x, list):
            return [self.picked(c, p, q) for p, q in zip(x, y, strict=True)]
        if isinstance(x, tuple):
            return tuple([self.picked(c, p, q) for p, q in zip(x, y, strict=True)])
        return self._select(c, x, y)


@dataclass(frozen=True)
class Lookups(Lists):
    """The algebra of views on lists, in which a place may be a symbol."""

    domain: Looking

    def array(self, n: int, at: Callable[[int], Any]) -> Any:
        return [at(i) for i in range(n)]

    def vector(self, width: int, lane: Callable[[int], Any]) -> Any:
        return [lane(i) for i in range(width)]

    def at(self, xs: Sequence[Any], i: Any) -> Any:
        if not isinstance(i, Symbol):
            return super().at(xs, i)
        if i is OPEN or not 0 < len(xs) <= ANYWHERE:
            raise DependsOnData(i, "an index")
        a, *others = range(len(xs))
        found, known = xs[a], self.domain.algebra
        for k in others:
            found = self.domain.picked(known.equal(i, known.whole(k, i.type)), xs[k], found)
        return found

    def inside(self, i: Any, n: int, yes: Any, no: Any) -> Any:
        if not isinstance(i, Symbol):
            return super().inside(i, n, yes, no)
        return self.domain.picked(self.domain.within(i, n), yes, no)

    def whole(self, x: Any) -> Any:
        return self.domain.index(x)

    def below(self, x: Any, n: int) -> Any:
        return self.domain.index(x)

    def within(self, x: Any, n: int) -> Any:
        i = self.domain.index(x)
        if not isinstance(i, Symbol):
            return super().within(i, n)
        self.domain.inside(self.domain.within(i, n))
        return i
