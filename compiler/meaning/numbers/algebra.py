"""Symbols that stand for values at numbers that are not known: conditions on them, and folds.

A loop that is not written out is a `fold`: how often, and for each of the values that it carries and this one needs,
the first and what a turn makes of it.  Its bound number and values are called after its height, so two folds of the
same range and the same body are one object.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from relift.compiler.meaning.numbers.constants import Constants
from relift.compiler.meaning.numbers.ends import ends_of
from relift.compiler.meaning.numbers.polynomials import Atom, Index, Whole, made, within
from relift.compiler.meaning.numbers.ranges import Ranges
from relift.compiler.validation.symbols import BITS, LIMIT, OPEN, Algebra, Symbol

_NOTHING: frozenset[Any] = frozenset()


class Open(Algebra):
    """An algebra whose whole numbers may be polynomials, and what is free in its values."""

    def __init__(self, ranges: Ranges, limit: int = LIMIT) -> None:
        super().__init__(limit)
        self.ranges = ranges
        ranges.condition = self.condition
        self._free: dict[Symbol, frozenset[Any]] = {}
        self._heights: dict[Symbol, int] = {}
        self._numbers: dict[Symbol, Whole] = {}
        self.loops = 0
        self.ends: dict[str, tuple[Whole, Whole]] = {}
        """Arrays whose numbers lie between two, both within."""

    # ---- whole numbers

    def whole(self, value: Any, type_: str) -> Symbol:
        """A whole number, known or not, as a symbol."""
        if isinstance(value, Index):
            if (data := self.data_of(value)) is not None and data.type == type_:
                return data
            return self._once(("index", value, type_), "index", type_, (value,))
        return super().whole(value, type_)

    def cell_at(self, name: str, place: Whole, type_: str) -> Symbol:
        """An element of an input, at a place that need not be known."""
        if isinstance(name, Constants) and not isinstance(place, Index):
            return name.row[place]  # type: ignore[no-any-return]
        key = ("cell", name, place, type_)
        return self._once(key, "cell", type_, (name, place))

    def looked(self, name: str, path: Sequence[Whole], type_: str) -> Symbol:
        """A cell of an array that a loop carries, at a place that turns differ in."""
        return self._once(("looked", name, *path, type_), "looked", type_, (name, *path))

    def data_of(self, value: Index) -> Symbol | None:
        """The symbol that a number is, where it is that alone."""
        [(m, c), *more] = value.terms.items()
        if not more and c == 1 and len(m) == 1 and m[0].kind == "data":
            return m[0].args[0]  # type: ignore[no-any-return]
        return None

    def number(self, x: Any) -> Whole:
        """A value as a number of indices: data are atoms."""
        if isinstance(x, Symbol):
            while x.op in ("i64", "extended") and x.args[0].type in ("i32", "i64"):
                x = x.args[0]
            if x.op == "index":
                return x.args[0]  # type: ignore[no-any-return]
            if x.op == "whole":
                return int(x.args[0])
            return self._of_data(x)
        return x if isinstance(x, Index) else int(x)

    def _of_data(self, x: Symbol) -> Whole:
        """An atom, with the ends that are known of it; the number, where these are equal."""
        found = self._numbers.get(x)
        if found is None:
            atom = self.ranges.atom("data", "", (x,))
            low, high = ends_of(self, x)
            for end, known in ((low, self.ranges.low), (high, self.ranges.high)):
                if end is not None:
                    known.setdefault(atom, end)
            one = low is not None and low == high
            found = low if one else Index({(atom,): 1}, self.ranges)
            assert found is not None, "cannot happen: one end, and nothing"
            self._numbers[x] = found
        return found

    def condition(self, number: Index) -> Symbol:
        """That a number is at least 0, not known."""
        return self._once(("nonneg", number), "nonneg", "bool", (number,))

    def lt(self, x: Symbol, y: Symbol) -> Symbol:
        """Whether x < y; of whole numbers with signs, that their difference is at least 1."""
        found = self._ordered(x, y, 1)
        return super().lt(x, y) if found is None else found

    def le(self, x: Symbol, y: Symbol) -> Symbol:
        """Whether x <= y."""
        found = self._ordered(x, y, 0)
        return super().le(x, y) if found is None else found

    def select(self, condition: Symbol, x: Symbol, y: Symbol) -> Symbol:
        """x where the condition holds, else y; one of two is asked as whether both others hold, and none twice.

        >>> from relift.compiler.meaning.numbers.algebra import Folding
        >>> from relift.compiler.meaning.numbers.ranges import Ranges
        >>> a = Folding(Ranges(), 1000)
        >>> p, q, x, y, z = (a.cell_at(name, 0, "bool") for name in "pqxyz")
        >>> one, both = a.bits("or", a.invert(p), a.invert(q)), a.bits("and", p, q)
        >>> a.select(one, x, a.select(both, y, z)) is a.select(both, y, x)
        True
        """
        if condition.op == "bitwise_or" and condition.type == "bool":
            neither = self.bits("and", *(self.invert(c) for c in condition.args))
            return self.select(neither, y, x)
        if x.op == "select" and x.args[0] is condition:
            x = x.args[1]
        if y.op == "select" and y.args[0] is condition:
            y = y.args[2]
        return super().select(condition, x, y)

    def _ordered(self, x: Symbol, y: Symbol, apart: int) -> Symbol | None:
        if x is OPEN or y is OPEN or x.type not in BITS or y.type not in BITS:
            return None
        way = self.number(y) - self.number(x) - apart
        if isinstance(way, Index):
            if self.ranges.nonnegative(way):
                way = 0
            elif self.ranges.nonnegative(-1 - way):
                way = -1
        return self.condition(way) if isinstance(way, Index) else self.whole(way >= 0, "bool")

    def invert(self, x: Symbol) -> Symbol:
        """Not x; of a condition, the other."""
        if x.op == "nonneg":
            return self.condition(-1 - x.args[0])
        return super().invert(x)

    # ---- what is inside

    def free(self, x: Any) -> frozenset[Any]:
        """The atoms and accumulators in a value, not those that are bound."""
        if isinstance(x, Index):
            found: set[Any] = set()
            for a in within(x):
                if a.kind == "data":
                    found |= self.free(a.args[0])
                found.add(a)
            return frozenset(found)
        if not isinstance(x, Symbol):
            return _NOTHING
        known = self._free
        if x not in known:
            for y in self._below(x, known):
                if y.op == "accumulator":
                    known[y] = frozenset([y])
                    continue
                if y.op == "looked":
                    known[y] = frozenset([y]).union(*map(self.free, y.args[1:]))
                    continue
                parts = [p for v in y.args if (p := self._free_of(v))]
                known[y] = (
                    parts[0]
                    if len(parts) == 1
                    else frozenset().union(*parts)
                    if parts
                    else _NOTHING
                )
        return known[x]

    def _free_of(self, v: Any) -> frozenset[Any]:
        if isinstance(v, Symbol):
            return self._free[v]
        return self.free(v) if isinstance(v, Index) else _NOTHING

    def height(self, x: Any) -> int:
        """How many folds are nested in a value."""
        if isinstance(x, Index):
            return max((self.height(a.args[0]) for a in within(x) if a.kind == "data"), default=0)
        if not isinstance(x, Symbol):
            return 0
        known = self._heights
        if x not in known:
            for y in self._below(x, known):
                if y.op == "fold":
                    known[y] = y.args[1]
                    continue
                below = [
                    known[v] if isinstance(v, Symbol) else self.height(v)
                    for v in y.args
                    if isinstance(v, Symbol | Index)
                ]
                known[y] = max(below, default=0)
        return known[x]

    def _below(self, x: Symbol, known: Mapping[Symbol, Any]) -> list[Symbol]:
        """x and what is in it that is not known, the inner first."""
        found: list[Symbol] = []
        waiting: list[tuple[Symbol, bool]] = [(x, False)]
        seen: set[Symbol] = set()
        while waiting:
            y, done = waiting.pop()
            if done:
                found.append(y)
            elif y not in known and y not in seen:
                seen.add(y)
                waiting.append((y, True))
                waiting += [(v, False) for v in y.args if isinstance(v, Symbol)]
        return found

    def met(self, x: Symbol, wanted: Mapping[Symbol, Any]) -> list[Symbol]:
        """Which of some accumulators are in a value, in the order in which one meets them."""
        found: dict[Symbol, None] = {}
        seen: set[Any] = set()
        waiting: list[Any] = [x]
        while waiting:
            y = waiting.pop()
            if y in seen or not any(a in wanted for a in self.free(y)):
                continue
            seen.add(y)
            if isinstance(y, Index):
                waiting += [a.args[0] for a in within(y) if a.kind == "data"]
            elif y in wanted:
                found[y] = None
            else:
                waiting += [v for v in reversed(y.args) if isinstance(v, Symbol | Index)]
        return list(found)


class Folding(Open):
    """Values with others for what is free in them, and folds."""

    def substituted(
        self,
        x: Any,
        atoms: Mapping[Atom, Whole],
        accumulators: Mapping[Symbol, Any],
        memo: dict[Any, Any],
    ) -> Any:
        """A value with other numbers for some atoms and other values for some accumulators."""
        wanted = {*atoms, *accumulators}
        return self._replaced(x, atoms, accumulators, memo, wanted)

    def _replaced(self, x: Any, atoms: Any, accumulators: Any, memo: Any, wanted: set[Any]) -> Any:
        if isinstance(x, Index):
            if x not in memo:
                memo[x] = self._renamed(x, atoms, accumulators, memo, wanted)
            return memo[x]
        if not isinstance(x, Symbol) or wanted.isdisjoint(self.free(x)):
            return x
        waiting = [x]
        while waiting:
            y = waiting[-1]
            if y in memo:
                waiting.pop()
                continue
            if y in accumulators:
                memo[y] = accumulators[y]
                continue
            if wanted.isdisjoint(self.free(y)):
                memo[y] = y
                continue
            missing = [v for v in y.args if isinstance(v, Symbol) and v not in memo]
            if missing:
                waiting += missing
                continue
            args = [
                memo[v]
                if isinstance(v, Symbol)
                else self._replaced(v, atoms, accumulators, memo, wanted)
                if isinstance(v, Index)
                else v
                for v in y.args
            ]
            memo[y] = self.again(y, args)
            waiting.pop()
        return memo[x]

    def again(self, y: Symbol, args: Sequence[Any]) -> Symbol:
        """The operation of a symbol on other arguments."""
        match y.op:
            case "cell":
                return self.cell_at(args[0], args[1], y.type)
            case "index" | "whole":
                return self.whole(args[0], y.type)
            case "looked":
                return self.looked(args[0], args[1:], y.type)
            case "nonneg":
                low, high = self.ranges.interval(args[0])
                if (low is not None and low >= 0) or (high is not None and high < 0):
                    return self.whole(int(high is None or high >= 0), "bool")
                return self.condition(args[0])
            case "fold":
                trip, height, count, *values = args
                return self.fold(trip, height, values[:count], values[count:])
            case "add" | "sub" | "mul" if all(v.op == "whole" for v in args):
                u, v = (value.args[0] for value in args)
                found = u + v if y.op == "add" else u - v if y.op == "sub" else u * v
                return self.whole(found, y.type)
            case "add" | "sub" | "mul" | "div":
                return getattr(self, y.op)(*args)  # type: ignore[no-any-return]
            case "select":
                return self.select(*args)
            case "equal" | "not_equal" | "invert":
                return getattr(self, y.op)(*args)  # type: ignore[no-any-return]
            case to if to == y.type:
                return self.convert(args[0], y.type)
            case _:
                return self.made(y.op, y.type, *args)

    def _renamed(self, x: Index, atoms: Any, accumulators: Any, memo: Any, wanted: set[Any]) -> Any:
        if wanted.isdisjoint(self.free(x)):
            return x
        total: Whole = 0
        for m, c in x.terms.items():
            part: Whole = c
            for a in m:
                part = part * self._atom(a, atoms, accumulators, memo, wanted)
            total = part + total
        return total

    def _atom(self, a: Atom, atoms: Any, accumulators: Any, memo: Any, wanted: set[Any]) -> Whole:
        if a in atoms:
            return atoms[a]  # type: ignore[no-any-return]
        r = self.ranges
        if a.kind == "data":
            return self.number(self._replaced(a.args[0], atoms, accumulators, memo, wanted))
        if not a.args or a.kind not in ("div", "mod", "min", "max"):
            return made({(a,): 1}, r)
        u, v = (self._replaced(w, atoms, accumulators, memo, wanted) for w in a.args)
        if not isinstance(u, Index) and not isinstance(v, Index):
            if a.kind in ("div", "mod"):
                return r.quotient(u, v)[a.kind == "mod"]
            return min(u, v) if a.kind == "min" else max(u, v)  # type: ignore[no-any-return]
        return made({(r.atom(a.kind, a.name, (u, v)),): 1}, r)

    # ---- folds

    def bound(self, height: int) -> Atom:
        """The number of turns that are done, in a fold of a height; nothing is known of it."""
        return self.ranges.atom("bound", f"i{height}")

    def open_loop(self, count: Whole) -> Loop:
        """A loop that is run once, for all its turns."""
        self.loops += 1
        return Loop(self, f"t{self.loops}", count)

    def fold(
        self, trip: Whole, height: int, firsts: Sequence[Symbol], nexts: Sequence[Symbol]
    ) -> Symbol:
        """The first of the values of a loop, after all turns.

        A number that is a truth value before each turn, as C has them, is carried as one: those that would be are
        taken to be, and the ones of which a turn then makes something else are dropped, until none is.
        """
        firsts, nexts, type_ = list(firsts), list(nexts), firsts[0].type
        starts: dict[int, Symbol] = {
            k: b for k, x in enumerate(firsts) if (b := self._truth_of(x)) is not None
        }
        truths = {k for k in starts if _may_be_truth(nexts[k])}
        while truths:
            names: dict[Symbol, Symbol] = {}
            for k in truths:
                own = firsts[k].type
                held = self.canonical(height, k, "bool")
                names[self.canonical(height, k, own)] = self.convert(held, own)
            memo: dict[Any, Any] = {}
            closed = [self.substituted(v, {}, names, memo) for v in nexts]
            held_at = {k: self._truth_of(closed[k]) for k in truths}
            found = {k: b for k, b in held_at.items() if b is not None}
            if found.keys() == truths:
                nexts = [found[k] if k in truths else v for k, v in enumerate(closed)]
                firsts = [starts[k] if k in truths else x for k, x in enumerate(firsts)]
                break
            truths = set(found)
        args = (trip, height, len(firsts), *firsts, *nexts)
        key = ("fold", firsts[0].type, *args)
        return self.convert(self._once(key, "fold", firsts[0].type, args), type_)

    def _truth_of(self, x: Symbol) -> Symbol | None:
        """The truth value that a whole number holds as C has it, 0 or 1; None where it may be another number."""
        return self._held(x.type, 1, x) if x.type in BITS else None

    def unfolded(self, x: Symbol, limit: int) -> Symbol | None:
        """A fold of few turns, written out."""
        trip, height, count = x.args[:3]
        if not isinstance(trip, int) or trip > limit:
            return None
        values = list(x.args[3 : 3 + count])
        nexts = x.args[3 + count :]
        names = [self.canonical(height, k, values[k].type) for k in range(count)]
        for turn in range(trip):
            at: dict[Any, Any] = {}
            here = {self.bound(height): turn}
            now = dict(zip(names, values, strict=True))
            values = [self.substituted(v, here, now, at) for v in nexts]
        return values[0]  # type: ignore[no-any-return]

    def raised(self, x: Symbol, height: int) -> Sequence[Symbol]:
        """What a turn of a fold makes, with the names of a greater height."""
        own, count = x.args[1], x.args[2]
        firsts, nexts = x.args[3 : 3 + count], x.args[3 + count :]
        if own == height:
            return nexts
        names = {
            self.canonical(own, k, v.type): self.canonical(height, k, v.type)
            for k, v in enumerate(firsts)
        }
        bound: dict[Atom, Whole] = {self.bound(own): made({(self.bound(height),): 1}, self.ranges)}
        memo: dict[Any, Any] = {}
        return [self.substituted(v, bound, names, memo) for v in nexts]

    def canonical(self, height: int, k: int, type_: str) -> Symbol:
        """Value k of a fold of a height, before a turn."""
        key = ("accumulator", height, k, type_)
        return self.accumulator(key, type_, (height, k))

    def accumulator(self, key: tuple[Any, ...], type_: str, args: tuple[Any, ...]) -> Symbol:
        """What stands for a value that a turn hands to the next."""
        return self._once(key, "accumulator", type_, args)


class Loop:
    """A loop that is run once: its turn is a number that is not known, what it carries are accumulators."""

    def __init__(self, algebra: Folding, name: str, count: Whole) -> None:
        self.algebra, self.name, self.count = algebra, name, count
        turn = algebra.ranges.variable("turn", name, count)
        self.turn = turn
        self.atom = algebra.ranges.atom("turn", name)
        self.accumulators: list[Symbol] = []
        self.firsts: list[Symbol] = []
        self.places: dict[Symbol, int] = {}
        self.next: Callable[[int], Symbol] = lambda k: self.accumulators[k]
        self._shared: dict[Any, Any] = {}

    def carried(self, first: Symbol, type_: str, of: str = "") -> Symbol:
        """A value that a turn hands to the next; what stands for it in a turn, also as a cell `of` an array."""
        k, name = len(self.accumulators), of or self.name
        key = ("accumulator", name, k, type_)
        found = self.algebra.accumulator(key, type_, (name, k))
        self.accumulators.append(found)
        self.firsts.append(first)
        self.places[found] = k
        return found

    def after(self, c: int, turns: Whole | None = None) -> Symbol:
        """Carried value c after all turns, or after some."""
        algebra = self.algebra
        count = self.count if turns is None else turns
        if self.next(c) is self.accumulators[c] or (not isinstance(count, Index) and count <= 0):
            return self.firsts[c]
        order, waiting = list[int](), [c]
        while waiting:
            k = waiting.pop(0)
            if k not in order:
                order.append(k)
                waiting += [self.places[a] for a in algebra.met(self.next(k), self.places)]
        nexts = [self.next(k) for k in order]
        if OPEN in nexts or any(self.firsts[k] is OPEN for k in order):
            return self._of_last(c, count)
        if len(order) == 1 and self.accumulators[c] not in algebra.free(nexts[0]):
            return self._of_last(c, count)
        height = 1 + max(map(algebra.height, nexts))
        names = {
            self.accumulators[k]: algebra.canonical(height, place, self.firsts[k].type)
            for place, k in enumerate(order)
        }
        bound: dict[Atom, Whole] = {self.atom: made({(algebra.bound(height),): 1}, algebra.ranges)}
        memo: dict[Any, Any] = {}
        closed = [algebra.substituted(v, bound, names, memo) for v in nexts]
        return algebra.fold(count, height, [self.firsts[k] for k in order], closed)

    def _of_last(self, c: int, count: Whole) -> Symbol:
        """A value that each turn sets anew, without looking at it: that of the last turn."""
        algebra = self.algebra
        value = self.next(c)
        if any(a in self.places for a in algebra.free(value)) or value is OPEN:
            return OPEN
        if not algebra.ranges.nonnegative(count - 1):
            return OPEN
        return algebra.substituted(value, {self.atom: count - 1}, {}, {})  # type: ignore[no-any-return]


def _may_be_truth(x: Symbol) -> bool:
    """Whether a number may hold a truth value, by how it is computed; a cheap look before the thorough one."""
    return x.op in ("whole", "select", "accumulator", "fold") or x.op == x.type
