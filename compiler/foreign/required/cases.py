"""Two values that are equal whatever numbers those inputs are that decide: one case after the other.

A sum between two ends that are data is another one for each two ends; where these are some of few numbers, as is
required, each pair of ends is a case, in which both sums are plain ones.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from relift.compiler.foreign.required.facts import Facts
from relift.compiler.meaning.computed import GivenUp, Machine
from relift.compiler.validation.bits import shape_of
from relift.compiler.validation.operations import CONNECTIVES, Operation
from relift.compiler.validation.symbols import (
    BITS,
    FLOATING,
    Algebra,
    Symbol,
    TooLarge,
    cells_within,
    parts_first,
    symbols_within,
)

CASES = 4_000
"""So many cases of one cell are looked at."""

CONDITIONS = 10
"""Where nothing is required, each condition makes two cases: of so many at most."""

MOST_FAILED = 4
"""After so many cells that are not shown to be equal, no other one is looked at."""

WIDE = 300
"""A number that may be one of more does not make cases."""

Constants: TypeAlias = Mapping[Symbol, Symbol]
"""Cells, and the constants that they are."""


class Cases:
    """Values in each case of what decides; `same` compares two in one case."""

    def __init__(
        self, algebra: Algebra, facts: Facts, same: Callable[[Symbol, Symbol], bool]
    ) -> None:
        self.algebra, self.facts, self.same = algebra, facts, same
        self.left, self.failed = 0, 0
        self.without: dict[Symbol, set[Symbol]] = {}
        self.answers: dict[tuple[Any, ...], bool] = {}
        self._known: dict[Symbol, frozenset[Symbol]] = {}

    def equal(self, x: Symbol, y: Symbol) -> bool:
        """Whether two values are equal in all cases that are not ruled out: of values of one shape, once."""
        facts = self.facts.inside(cells_within(x, y))
        shape = shape_of(x, None, y, None, *facts)
        if shape not in self.answers and self.failed >= MOST_FAILED:
            return False
        if shape not in self.answers:
            self.left = CASES
            few = facts or len(_atoms(symbols_within(x) | symbols_within(y))) <= CONDITIONS
            try:
                self.answers[shape] = bool(few) and self._equal(x, y, facts)
            except (TooLarge, GivenUp):
                self.answers[shape] = False
            self.failed += not self.answers[shape]
        return self.answers[shape]

    def _equal(self, x: Symbol, y: Symbol, facts: list[Symbol]) -> bool:
        self.left -= 1
        if self.left < 0:
            raise GivenUp
        if self.same(x, y):
            return True
        found = self._deciding(x, y, facts)
        if found is None:
            return self._whether_or_not(x, y, facts)
        condition, cell = found
        a = self.algebra
        if condition.op in ("equal", "not_equal") and cell in condition.args:
            other = condition.args[condition.args[0] is cell]
            if other.op == "whole":
                apart, one = a.not_equal(cell, other), a.equal(cell, other)
                no = {apart: a.whole(1, "bool"), one: a.whole(0, "bool")}
                return self._in_case(x, y, facts, cell, {cell: other}) and self._in_case(
                    x, y, facts, cell, no, [apart]
                )
        low, high = self._ends(cell, facts) or (0, -1)
        return all(
            self._in_case(x, y, facts, cell, {cell: a.whole(n, cell.type)})
            for n in range(low, high + 1)
        )

    def _whether_or_not(self, x: Symbol, y: Symbol, facts: list[Symbol]) -> bool:
        """Whether two values are equal where the first condition holds that chooses in only one, and where it does not."""
        b = next((b for c in _choosing(x, y) if (b := _atom(c)) is not None), None)
        if b is None:
            return False
        for holds in (1, 0):
            here = Put(self.algebra, {b: self.algebra.whole(holds, "bool")})
            known = [here.of(f) for f in facts]
            if any(f.op == "whole" and not f.args[0] for f in known):
                continue
            rest = [f for f in known if f.op != "whole"]
            if not self._equal(here.of(x), here.of(y), rest):
                return False
        return True

    def _in_case(
        self,
        x: Symbol,
        y: Symbol,
        facts: list[Symbol],
        cell: Symbol,
        numbers: Constants,
        more: Sequence[Symbol] = (),
    ) -> bool:
        """Whether two values are equal where more is known of a cell, or nothing is so."""
        without = None if more else self.without.setdefault(cell, set())
        here = Put(self.algebra, numbers, without)
        follow = {b: here.of(b) for b in facts if cell in self._cells(b)}
        if any(b.op == "whole" and not b.args[0] for b in follow.values()):
            return True
        rest = [*more, *(b for b in (follow.get(b, b) for b in facts) if b.op != "whole")]
        known = dict(numbers)
        for b in follow.values():
            if b.op == "not_equal":
                known[self.algebra.equal(*b.args)] = self.algebra.whole(0, "bool")
        there = here if len(known) == len(numbers) else Put(self.algebra, known)
        return self._equal(there.of(x), there.of(y), rest)

    def _cells(self, b: Symbol) -> frozenset[Symbol]:
        """The inputs that a condition speaks of."""
        found = self._known.get(b)
        if found is None:
            found = self._known[b] = frozenset(cells_within(b))
        return found

    def _ends(self, cell: Symbol, facts: list[Symbol]) -> tuple[int, int] | None:
        """The numbers that a cell may be in this case."""
        low: int | None = None
        high: int | None = None
        for b in facts:
            if b.op not in ("le", "lt"):
                continue
            x, y = b.args
            strictly = b.op == "lt"
            if y is cell and x.op == "whole":
                least = x.args[0] + strictly
                low = least if low is None else max(low, least)
            if x is cell and y.op == "whole":
                most = y.args[0] - strictly
                high = most if high is None else min(high, most)
        if low is None or high is None or high - low >= WIDE:
            return None
        return low, high

    def _deciding(self, x: Symbol, y: Symbol, facts: list[Symbol]) -> tuple[Symbol, Symbol] | None:
        """The first condition, from the outside, that chooses in only one value, and the cell of it whose number is to be told."""
        for condition in _choosing(x, y) if facts else ():
            for b in _compared(condition):
                for c in sorted(cells_within(b), key=lambda c: c.number):
                    if self._ends(c, facts):
                        return b, c
        return None


def _choosing(x: Symbol, y: Symbol) -> Iterator[Symbol]:
    """The conditions that choose in only one of two values, from the outside."""
    apart = symbols_within(x).symmetric_difference(symbols_within(y))
    waiting, seen = deque([x, y]), {x, y}
    while waiting:
        v = waiting.popleft()
        if v in apart and (v.op == "select" or v.type == "bool"):
            condition = v.args[0] if v.op == "select" else v
            if condition.op != "whole":
                yield condition
        more = [u for u in v.args if isinstance(u, Symbol) and u in apart and u not in seen]
        waiting += more
        seen.update(more)


def _atom(c: Symbol) -> Symbol | None:
    """The first condition on inputs that a condition is made of, and that is made of no other one."""
    return next((b for b in _atoms(symbols_within(c)) if cells_within(b)), None)


def _atoms(values: set[Symbol]) -> list[Symbol]:
    """The conditions among values, with all that these are made of, that are made of no other one."""
    by_others: set[Symbol] = set()
    found: list[Symbol] = []
    for v in sorted(values, key=lambda v: v.number):  # what it is made of comes before it
        parts = [u for u in v.args if isinstance(u, Symbol)]
        if any(u.type == "bool" or u in by_others for u in parts):
            by_others.add(v)
        elif v.type == "bool" and v.op != "whole":
            found.append(v)
    return found


def _compared(c: Symbol) -> Iterator[Symbol]:
    """The comparisons of whole numbers in a condition."""
    waiting = [c]
    while waiting:
        b = waiting.pop()
        if b.op in _COMPARED and b.args[0].type in BITS:
            yield b
        elif b.type == "bool":
            waiting += [v for v in b.args if isinstance(v, Symbol)]


_COMPARED = frozenset(["lt", "le", "equal", "not_equal", "below", "at_most"])


def _of_constants(x: Symbol, parts: Sequence[Any]) -> bool:
    """Whether a whole number, or a truth value, is computed from such that are known."""
    known = [v for v in parts if isinstance(v, Symbol) and v.op == "whole"]
    return bool(parts) and x.type not in FLOATING and len(known) == len(parts)


class Put:
    """Values in which some cells are constants; what follows from that alone is computed.

    `without` are values that have no such cell in them: others who put the same cells need not look at them again.
    """

    def __init__(
        self, algebra: Algebra, numbers: Constants, without: set[Symbol] | None = None
    ) -> None:
        self.algebra = algebra
        self.without = set[Symbol]() if without is None else without
        self.known: dict[Symbol, Symbol] = dict(numbers)
        self.machine = Machine({}, 0)

    def of(self, x: Symbol) -> Symbol:
        """A value; of a selection whose condition is known, only what is selected is looked at."""
        return parts_first(x, self.known, self._needed, self._made)

    def _needed(self, x: Symbol) -> list[Symbol]:
        if x in self.without:
            return []
        if x.op == "select":
            c, yes, no = x.args
            if c not in self.known:
                return [c]
            found = self.known[c]
            return [yes, no] if found.op != "whole" else [yes if found.args[0] else no]
        if x.op in _BOTH and x.type == "bool" and x.args[0] in self.known:
            found = self.known[x.args[0]]
            if found.op == "whole" and bool(found.args[0]) == _BOTH[x.op]:
                return []
        return [v for v in x.args if isinstance(v, Symbol)]

    def _made(self, x: Symbol) -> Symbol:
        if x in self.without:
            return x
        a = self.algebra
        if x.op == "select":
            c, yes, no = x.args
            found = self.known[c]
            if found.op == "whole":
                return self.known[yes if found.args[0] else no]
        elif x.op in _BOTH and x.type == "bool":
            found = self.known[x.args[0]]
            if found.op == "whole" and bool(found.args[0]) == _BOTH[x.op]:
                return found
        parts = [self.known[v] if isinstance(v, Symbol) else v for v in x.args]
        if parts == list(x.args) or not parts:
            self.without.add(x)
            return x
        if _of_constants(x, parts):
            return self._computed(x, parts)
        again = self._again(x.op)
        new: Symbol = a.made(x.op, x.type, *parts) if again is None else again(*parts)
        return self._computed(new, list(new.args)) if _of_constants(new, new.args) else new

    def _computed(self, x: Symbol, parts: list[Symbol]) -> Symbol:
        """An operation on constants."""
        a = self.algebra
        self.machine.left = len(parts) + 1
        kind = "bool" if x.type == "bool" else x.type
        return a.whole(int(self.machine.value(a.made(x.op, x.type, *parts))), kind)

    def _again(self, op: Operation) -> Callable[..., Any] | None:
        """Who makes an operation, so that values that are written alike are one."""
        a = self.algebra
        if isinstance(op, str) and op in CONNECTIVES:
            word = CONNECTIVES[op]
            return lambda x, y: a.bits(word, x, y)
        table: Mapping[Operation, Callable[..., Any]] = {
            "add": a.add, "sub": a.sub, "mul": a.mul, "div": a.div, "neg": a.neg, "select": a.select,
            "invert": a.invert, "equal": a.equal, "not_equal": a.not_equal, "lt": a.lt, "le": a.le,
        }  # fmt: skip
        return table.get(op)


_BOTH: Mapping[Operation, bool] = {"bitwise_and": False, "bitwise_or": True}
"""Which truth value decides on two."""
