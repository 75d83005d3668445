"""Truth values by their parts, and whole numbers that are one of a few: what data choose among.

>>> from relift.compiler.foreign.ways.choices import Choices
>>> from relift.compiler.validation.symbols import Algebra
>>> a = Algebra()
>>> c, d = a.cell("c", 0, "bool"), a.cell("d", 0, "bool")
>>> k = a.add(a.select(c, a.whole(3, "i32"), a.whole(5, "i32")), a.convert(d, "i32"))
>>> sorted(Choices(a).of(k))
[3, 4, 5, 6]
>>> Choices(a).of(a.cell("n", 0, "i32"))
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import TypeAlias

from relift.compiler.validation.operations import CONNECTIVES, Operation
from relift.compiler.validation.symbols import BITS, Algebra, Symbol, parts_first

MOST = 256
"""A number is one of so many at most, or is not known at all."""

PAIRS = 64
"""Of two numbers that data choose so many pairs are compared, to see that one is always the smaller.

What decides otherwise which of them is smaller is not written out: trees of pairs would double it with each level.
"""

SPLITS = 64
"""Cases that are told apart to see that a condition always holds."""

Among: TypeAlias = Mapping[int, Symbol]
"""Numbers, and where it is which."""

_OF_TWO: Mapping[Operation, Callable[[int, int], int]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "minimum": min, "maximum": max,
    "bitwise_and": operator.and_, "bitwise_or": operator.or_, "bitwise_xor": operator.xor,
}  # fmt: skip
_COMPARED: Mapping[Operation, Callable[[int, int], bool]] = {
    "lt": operator.lt, "le": operator.le, "equal": operator.eq, "not_equal": operator.ne,
}  # fmt: skip
_COMPARED_UNSIGNED: Mapping[Operation, Callable[[int, int], bool]] = {
    "below": operator.lt,
    "at_most": operator.le,
}
_OF_TRUTHS = ("bitwise_and", "bitwise_or", "bitwise_xor", "invert", "select")


class Choices:
    """What is known of symbols that are chosen by conditions; each is looked at once."""

    def __init__(self, algebra: Algebra) -> None:
        self.algebra = algebra
        self.true, self.false = (algebra.whole(n, "bool") for n in (1, 0))
        self._among: dict[Symbol, Among | None] = {}
        self._canonical: dict[Symbol, Symbol] = {}

    # ---- whole numbers

    def of(self, x: Symbol) -> Among | None:
        """The numbers that a symbol may be; None where these are not few."""
        return parts_first(x, self._among, _wholes, self._found)

    def _found(self, x: Symbol) -> Among | None:
        if x.op == "whole" and x.type in BITS:
            return {int(x.args[0]): self.true}
        if x.type not in BITS:
            return None
        if x.op == "select":
            return self._one_of(x)
        if x.op in BITS and x.args[0].type == "bool":
            b = self.canonical(x.args[0])
            return {1: b, 0: self.algebra.invert(b)}
        if x.op in BITS and x.args[0].type in BITS:
            inner = self._among[x.args[0]]
            return (
                None
                if inner is None
                else self._together(x.type, inner, {0: self.true}, operator.add)
            )
        if x.op == "neg":
            inner = self._among[x.args[0]]
            return (
                None
                if inner is None
                else self._together(x.type, {0: self.true}, inner, operator.sub)
            )
        if x.op in _OF_TWO:
            one, other = (self._among[v] for v in x.args)
            if one is not None and other is not None:
                return self._together(x.type, one, other, _OF_TWO[x.op])
        return None

    def _one_of(self, x: Symbol) -> Among | None:
        c, (yes, no) = self.canonical(x.args[0]), (self._among[v] for v in x.args[1:])
        if yes is None or no is None or len({*yes, *no}) > MOST:
            return None
        return {
            n: self._chosen(c, yes.get(n, self.false), no.get(n, self.false))
            for n in sorted({*yes, *no})
        }

    def _chosen(self, c: Symbol, x: Symbol, y: Symbol) -> Symbol:
        """x where c holds, else y, of truth values."""
        a = self.algebra
        if x is y:
            return x
        if c.op == "whole":
            return x if c.args[0] else y
        if x is self.true:
            return a.bits("or", c, y)
        if y is self.true:
            return a.bits("or", a.invert(c), x)
        if x is self.false:
            return a.bits("and", a.invert(c), y)
        return a.bits("and", c, x) if y is self.false else a.select(c, x, y)

    def _together(
        self, kind: str, one: Among, other: Among, of: Callable[[int, int], int]
    ) -> Among | None:
        if len(one) * len(other) > MOST * 4:
            return None
        a, found = self.algebra, dict[int, Symbol]()
        for n, c in one.items():
            for m, d in other.items():
                value = int(a.whole(of(n, m), kind).args[0])
                both = a.bits("and", c, d)
                found[value] = a.bits("or", found[value], both) if value in found else both
        return found if len(found) <= MOST else None

    # ---- truth values

    def canonical(self, b: Symbol) -> Symbol:
        """A truth value in which comparisons of what is one of few are those conditions that choose it."""
        found = self._canonical.get(b)
        if found is None:
            found = self._canonical[b] = self._made(b)
        return found

    def _made(self, b: Symbol) -> Symbol:
        a = self.algebra
        if b.op in _OF_TRUTHS and all(v.type == "bool" for v in b.args):
            parts = [self.canonical(v) for v in b.args]
            return self._of_parts(b.op, parts)
        compare = _COMPARED.get(b.op) or _COMPARED_UNSIGNED.get(b.op)
        if compare is None or any(v.type not in BITS for v in b.args):
            return b
        one, other = (self.of(v) for v in b.args)
        if one is None or other is None or len(one) * len(other) > MOST * 4:
            return b
        several = len(one) > 1 < len(other)
        if several and len(one) * len(other) > PAIRS:
            return b
        above = 1 << BITS[b.args[0].type] if b.op in _COMPARED_UNSIGNED else 0
        holds = self.false
        fails = self.false
        for n, c in one.items():
            for m, d in other.items():
                here = compare(n % above, m % above) if above else compare(n, m)
                both = a.bits("and", c, d)
                if here:
                    holds = a.bits("or", holds, both)
                else:
                    fails = a.bits("or", fails, both)
        if fails is self.false or holds is self.false:
            return self.true if fails is self.false else self.false
        return b if several else holds

    def _of_parts(self, op: Operation, parts: list[Symbol]) -> Symbol:
        if op == "invert":
            return self.algebra.invert(parts[0])
        if op == "select":
            return self._chosen(parts[0], parts[1], parts[2])
        p, q = parts
        if op != "bitwise_xor":
            if p is q:
                return p
            if p is self.algebra.invert(q):
                return self.false if op == "bitwise_and" else self.true
        return self.algebra.bits(CONNECTIVES[op], parts[0], parts[1])

    def learn(self, known: dict[Symbol, bool], b: Symbol, holds: bool = True) -> None:
        """What follows from a condition, of its parts."""
        known[b] = holds
        if b.op == "invert":
            self.learn(known, b.args[0], not holds)
        elif b.op == ("bitwise_and" if holds else "bitwise_or") and b.type == "bool":
            for part in b.args:
                self.learn(known, part, holds)

    def resolved(self, b: Symbol, known: Mapping[Symbol, bool]) -> Symbol:
        """A truth value where some others are known."""
        return self._resolved(b, known, {})

    def _resolved(
        self, b: Symbol, known: Mapping[Symbol, bool], memo: dict[Symbol, Symbol]
    ) -> Symbol:
        if b in known:
            return self.true if known[b] else self.false
        if b.op not in _OF_TRUTHS or b.type != "bool" or any(v.type != "bool" for v in b.args):
            return b
        found = memo.get(b)
        if found is None:
            parts = [self._resolved(v, known, memo) for v in b.args]
            if b.op in ("bitwise_and", "bitwise_or") and parts[1].op in _OF_TRUTHS:
                self.learn(more := dict(known), parts[0], b.op == "bitwise_and")
                parts[1] = self._resolved(parts[1], more, {})
            found = memo[b] = self._of_parts(b.op, parts)
            if found in known:
                found = memo[b] = self.true if known[found] else self.false
        return found

    def always(self, b: Symbol, known: Mapping[Symbol, bool]) -> bool | None:
        """Whether a condition holds in all cases of its parts, where others are known; None where these are too many, or numbers decide."""
        waiting = [(b, dict(known))]
        left = SPLITS
        while waiting:
            now, here = waiting.pop()
            now = self.resolved(now, here)
            if now.op == "whole":
                if not now.args[0]:
                    return None
                continue
            left -= 1
            if left < 0:
                return None
            atom = _atom(now)
            for holds in (True, False):
                more = dict(here)
                self.learn(more, atom, holds)
                waiting.append((now, more))
        return True


def _wholes(x: Symbol) -> list[Symbol]:
    """The parts of a number that are numbers."""
    if x.op == "select":
        return list(x.args[1:])
    if x.op in _OF_TWO or x.op == "neg" or x.op in BITS:
        return [v for v in x.args if v.type in BITS]
    return []


def _atom(b: Symbol) -> Symbol:
    """A condition within a truth value that has no parts."""
    while b.op in _OF_TRUTHS and b.args[0].type == "bool":
        b = next(v for v in b.args if v.op != "whole")
    return b
