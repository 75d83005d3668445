"""What is required of inputs, as facts about the few of them that a question is about."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

from relift.compiler.meaning.computed import GivenUp, Machine
from relift.compiler.validation.operations import Operation
from relift.compiler.validation.symbols import BITS, Algebra, Symbol, cells_within, parts_first

PAIRS = 12
"""Of so many cells it is said how far each is from each other one."""

MOST = 4_000
"""No more facts are handed to a solver for one question."""

Range: TypeAlias = tuple[int, int]
"""The least number that a value may be, and the largest."""

EFFORT = 3_000_000
"""Operations that may be computed on each of the inputs that are known to be as is required."""

Apart: TypeAlias = tuple[Symbol | None, Symbol | None, int]
"""Two numbers, the first of which is at most the second and so much; nothing stands for 0."""


class Facts:
    """Conditions on cells of inputs, which all hold; what follows of the order of whole numbers is found once.

    >>> from relift.compiler.foreign.required.facts import Facts
    >>> from relift.compiler.validation.symbols import Algebra
    >>> a = Algebra()
    >>> p = [a.cell("p", i, "i32") for i in range(3)]
    >>> ends = [a.equal(p[0], a.whole(0, "i32")), a.lt(p[2], a.whole(9, "i32"))]
    >>> facts = Facts(a, [a.le(p[0], p[1]), a.lt(p[1], p[2]), *ends])
    >>> facts.ends(p[1]), facts.inside([p[1]])
    ((0, 7), [0 <= p[1], p[1] <= 7])
    """

    def __init__(
        self,
        algebra: Algebra,
        conditions: Sequence[Symbol],
        machines: Iterable[type[Machine]] = (),
    ) -> None:
        self.algebra = algebra
        self._examples: list[tuple[Machine, dict[Symbol, Any]]] = [
            (machine({}, EFFORT), {}) for machine in machines
        ]
        self.conditions = list(conditions)
        self.cells: dict[Symbol, frozenset[Symbol]] = {}
        self._above: dict[Symbol | None, dict[Symbol | None, int]] = {}
        self._longest: dict[Symbol | None, dict[Symbol | None, int]] = {}
        self._speaking: dict[Symbol, list[Symbol]] = {}
        self._orders: set[Symbol] = set()
        """Conditions that say nothing but the order of two cells, or of one and a number."""
        self._limited: set[Symbol] = set()
        self._ranges: dict[Symbol, Range | None] = {}
        for b in self.conditions:
            self._learn(b)
        for b in self._all_taken():
            self.conditions.append(b)
            self._learn(b)

    def _learn(self, b: Symbol) -> None:
        self.cells[b] = frozenset(cells_within(b))
        for c in self.cells[b]:
            self._speaking.setdefault(c, []).append(b)
        for x, y, n in _orders(b, holds=True):
            self._orders.add(b)
            step = self._above.setdefault(y, {})
            step[x] = min(n, step.get(x, n))
            self._limited |= {v for v in (x, y) if v is not None}
        self._longest.clear()
        self._ranges.clear()

    # ---- the order of whole numbers

    def ends(self, x: Symbol) -> Range | None:
        """The least and the largest number that a cell may be; None where these are not known."""
        low, high = self._at_most(x).get(None), self._at_most(None).get(x)
        return None if low is None or high is None else (-low, high)

    def _at_most(self, y: Symbol | None) -> dict[Symbol | None, int]:
        """How much larger others may be than a number: the shortest ways to them."""
        found = self._longest.get(y)
        if found is None:
            found = self._longest[y] = {y: 0}
            waiting, left = deque([y]), 64 * (len(self._limited) + 2)
            while waiting and left:
                at, left = waiting.popleft(), left - 1
                for x, n in self._above.get(at, {}).items():
                    if found[at] + n < found.get(x, found[at] + n + 1):
                        found[x] = found[at] + n
                        waiting.append(x)
        return found

    def range(self, x: Symbol) -> Range | None:
        """The least and the largest number that a value may be; None where these are not known."""
        return parts_first(x, self._ranges, _numbers, self._range)

    def _range(self, x: Symbol) -> Range | None:
        if x.op == "whole":
            return int(x.args[0]), int(x.args[0])
        if x.type == "bool":
            return 0, 1
        if x.op == "cell":
            return self.ends(x)
        parts = [self._ranges[v] for v in _numbers(x)]
        known = [r for r in parts if r is not None]
        if not parts or len(known) < len(parts) or x.type not in BITS:
            return None
        if x.op == "select":
            return min(r[0] for r in known), max(r[1] for r in known)
        found = _OF_RANGES[x.op](*known) if x.op in _OF_RANGES else None
        return found if found is not None and _inside(found, x.type) else None

    def fits(self, operator: str, x: Symbol, y: Symbol) -> bool:
        """Whether `x + y`, `x - y` or `x * y` is surely in the type of both."""
        of = _OF_RANGES[{"+": "add", "-": "sub", "*": "mul"}[operator]]
        one, other = self.range(x), self.range(y)
        return one is not None and other is not None and _inside(of(one, other), x.type)

    def decides(self, b: Symbol, known: Mapping[Symbol, bool]) -> bool | None:
        """Whether a condition holds or not where others are known, by the ranges of what it compares; None where these do not tell."""
        if b in known:
            return known[b]
        if b.op == "whole":
            return bool(b.args[0])
        if b.op == "invert" and b.type == "bool":
            found = self.decides(b.args[0], known)
            return None if found is None else not found
        if b.op in ("bitwise_and", "bitwise_or") and b.type == "bool":
            ends = b.op == "bitwise_or"
            parts = [self.decides(v, known) for v in b.args]
            return ends if ends in parts else None if None in parts else not ends
        if b.op not in _OTHERWISE or b.args[0].type not in BITS:
            return None
        x, y = (self.range_where(v, known) for v in b.args)
        return None if x is None or y is None else _compared(b.op, x, y)

    def range_where(self, x: Symbol, known: Mapping[Symbol, bool]) -> Range | None:
        """The range of a value where some conditions are known."""
        while x.op in BITS and x.args[0].type in BITS and BITS[x.args[0].type] <= BITS[x.type]:
            x = x.args[0]
        found = self.range(x)
        if found is None:
            return None
        low, high = found
        for b, holds in known.items():
            if b.op in ("lt", "le") and x in b.args:
                (u, v), strictly = b.args if holds else b.args[::-1], holds == (b.op == "lt")
                other = self.range(v if x is u else u)
                if other is not None and x is u:
                    high = min(high, other[1] - strictly)
                elif other is not None:
                    low = max(low, other[0] + strictly)
        return low, high

    def fails(self, b: Symbol) -> bool:
        """Whether there are inputs, as is required, for which a condition does not hold."""
        for machine, computed in self._examples:
            with suppress(GivenUp, RecursionError):
                if not machine.remembered(b, computed):
                    return True
        return False

    # ---- facts about cells

    def inside(self, cells: Iterable[Symbol]) -> list[Symbol]:
        """What holds of some cells and speaks of no other."""
        known = [c for c in sorted(cells, key=lambda c: c.number) if c in self._limited]
        found = dict.fromkeys(b for c in known for b in self._between_ends(c))
        if len(known) <= PAIRS:
            found.update(dict.fromkeys(b for x in known for b in self._beside(x, known)))
        among = frozenset(cells)
        found.update(dict.fromkeys(b for b in self._touching(among) if self.cells[b] <= among))
        return list(found)

    def _between_ends(self, x: Symbol) -> Iterator[Symbol]:
        a = self.algebra
        low, high = self._at_most(x).get(None), self._at_most(None).get(x)
        if low is not None:
            yield a.le(a.whole(-low, x.type), x)
        if high is not None:
            yield a.le(x, a.whole(high, x.type))

    def _beside(self, y: Symbol, others: Sequence[Symbol]) -> Iterator[Symbol]:
        a = self.algebra
        for x in others:
            n = self._at_most(y).get(x)
            if n is None or n > 0 or x is y or x.type != y.type:
                continue
            by = a.whole(-n, x.type)
            if n < -1 and self.fits("+", x, by):
                yield a.le(a.add(x, by), y)
            else:
                yield (a.lt if n else a.le)(x, y)

    def about(self, cells: Iterable[Symbol]) -> Iterator[list[Symbol]]:
        """Facts for a question about some cells: the few that speak of them alone, then more, then all.

        Where all that is known is an order of cells, what follows of this for some is all that is to be known of them.
        """
        among = frozenset(cells)
        last = self.inside(among)
        yield last
        reached = self._reached(among)
        if reached <= self._orders and len(among & self._limited) <= PAIRS:
            return
        for more in (self._touching(among), [b for b in self.conditions if b in reached]):
            wider = list(dict.fromkeys([*last, *more]))
            if len(last) < len(wider) <= MOST:
                yield wider
                last = wider

    def _touching(self, among: Iterable[Symbol]) -> list[Symbol]:
        """The conditions that speak of one of some cells."""
        return list(dict.fromkeys(b for c in among for b in self._speaking.get(c, ())))

    def _reached(self, among: frozenset[Symbol]) -> set[Symbol]:
        """The conditions that speak of some cells, of those that such conditions speak of, and so on."""
        found: set[Symbol] = set()
        waiting, seen = list(among), set(among)
        while waiting:
            for b in self._speaking.get(waiting.pop(), ()):
                if b not in found:
                    found.add(b)
                    more = self.cells[b] - seen
                    waiting += more
                    seen |= more
        return found

    # ---- what is all there

    def _all_taken(self) -> list[Symbol]:
        """Of as many different numbers as there are in a range, all of which are in it, each number is one of them."""
        different: dict[Symbol, set[Symbol]] = {}
        for b in self.conditions:
            for x, y in _different(b):
                different.setdefault(x, set()).add(y)
                different.setdefault(y, set()).add(x)
        rows: dict[str, list[Symbol]] = {}
        for x in different:
            rows.setdefault(x.args[0], []).append(x)
        found: list[Symbol] = []
        for row in rows.values():
            ends = [self.ends(x) for x in row]
            known = [e for e in ends if e is not None]
            if len(known) < len(row):
                continue
            low, high = min(e[0] for e in known), max(e[1] for e in known)
            if high - low + 1 == len(row) and all(
                different[x].issuperset(y for y in row if y is not x) for x in row
            ):
                found += [self._one_is(row, n) for n in range(low, high + 1)]
        return found

    def _one_is(self, row: Sequence[Symbol], n: int) -> Symbol:
        a = self.algebra
        found = a.whole(0, "bool")
        for x in row:
            found = a.bits("or", found, a.equal(x, a.whole(n, x.type)))
        return found


def _products(x: Range, y: Range) -> Range:
    found = [u * v for u in x for v in y]
    return min(found), max(found)


_OF_RANGES: Mapping[Operation, Callable[..., Range | None]] = {
    "add": lambda x, y: (x[0] + y[0], x[1] + y[1]),
    "sub": lambda x, y: (x[0] - y[1], x[1] - y[0]),
    "mul": _products,
    "neg": lambda x: (-x[1], -x[0]),
    "minimum": lambda x, y: (min(x[0], y[0]), min(x[1], y[1])),
    "maximum": lambda x, y: (max(x[0], y[0]), max(x[1], y[1])),
    "shift": lambda x, y: (x[0] >> y[0], x[1] >> y[0]) if y[0] == y[1] >= 0 <= x[0] else None,
    "quotient": lambda x, y: (x[0] // y[0], x[1] // y[0]) if y[0] == y[1] > 0 <= x[0] else None,
    "extended": lambda x: x if x[0] >= 0 else None,
    **dict.fromkeys(BITS, lambda x: x),
}
"""What whole numbers in ranges come to, where nothing overflows."""


def _compared(op: Operation, x: Range, y: Range) -> bool | None:
    """Whether one number is less than another one, or the like, by their ranges."""
    if op in ("lt", "le"):
        strictly = op == "lt"
        if x[1] <= y[0] - strictly:
            return True
        return False if x[0] > y[1] - strictly else None
    apart = x[1] < y[0] or y[1] < x[0]
    one = x[0] == x[1] == y[0] == y[1]
    return None if not apart and not one else one == (op == "equal")


def _inside(r: Range | None, type_: str) -> bool:
    """Whether a type has all numbers of a range."""
    half = 1 << (BITS[type_] - 1)
    return r is not None and -half <= r[0] and r[1] < half


def _numbers(x: Symbol) -> list[Symbol]:
    """The parts of a value from which its range follows."""
    parts = x.args[1:] if x.op == "select" else x.args
    return [v for v in parts if isinstance(v, Symbol)]


_OTHERWISE: Mapping[Operation, Operation] = {
    "lt": "le",
    "le": "lt",
    "equal": "not_equal",
    "not_equal": "equal",
}


def _orders(b: Symbol, *, holds: bool) -> Iterator[Apart]:
    """What a comparison of cells and numbers says of their order."""
    if b.op == "invert":
        yield from _orders(b.args[0], holds=not holds)
        return
    if b.op not in _OTHERWISE or any(v.type not in BITS for v in b.args):
        return
    op, (x, y) = b.op, b.args
    if not holds:
        op = _OTHERWISE[op]
        x, y = (y, x) if op in ("lt", "le") else (x, y)
    one, other = _end(x), _end(y)
    if one is None or other is None or op == "not_equal":
        return
    (u, n), (v, m) = one, other
    if u is v:
        return
    yield u, v, m - n - (op == "lt")
    if op == "equal":
        yield v, u, n - m


def _end(x: Symbol) -> tuple[Symbol | None, int] | None:
    """A cell, or a number."""
    if x.op == "whole":
        return None, int(x.args[0])
    return (x, 0) if x.op == "cell" else None


def _different(b: Symbol) -> Iterator[tuple[Symbol, Symbol]]:
    """Cells of one array that are not equal."""
    if b.op == "invert":
        b, op = b.args[0], _OTHERWISE.get(b.args[0].op)
    else:
        op = b.op
    if op in ("not_equal", "lt") and all(v.op == "cell" and v.type in BITS for v in b.args):
        x, y = b.args
        if x.args[0] == y.args[0] and x is not y:
            yield x, y
