"""What is known of whole numbers: the range of each atom, and facts; with them orders and quotients are decided.

First by the ends of ranges, then by Z3, bounded by a number of its steps.  What is not decided is not guessed: a
condition on numbers of groups, items and sizes is a `Split`, for whoever runs the kernel to run it in both cases;
one on turns of loops or on data stays a condition.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from relift.compiler.meaning.numbers.bounds import Bounds
from relift.compiler.meaning.numbers.polynomials import (
    Atom,
    AtomKind,
    Index,
    Monomial,
    NotConcrete,
    Whole,
    linear_in,
    made,
    rejoined,
    terms_of,
    within,
)

STEPS = 1_000_000
"""Steps that Z3 may take for one question."""

QUESTIONS = 5_000
"""Questions that Z3 may be asked in one run."""

ROUNDS = 8
"""How often all facts may narrow the ranges of their atoms."""

FREE = ("size", "group")
"""Kinds of atoms by which a run can be split into cases."""


def is_free(number: Whole) -> bool:
    """Whether a run can be split by a number."""
    return all(a.kind in FREE or a.kind in ("div", "mod", "min", "max") for a in within(number))


class Split(Exception):
    """Whether a number is at least 0 depends on the work-item: both cases are run."""

    def __init__(self, number: Index) -> None:
        super().__init__(f"whether {number} >= 0")
        self.number = number


class TooManyQuestions(Exception):
    """Z3 was asked more often than is allowed."""


class Proofs(Bounds):
    """What is at least 0, by ends of ranges and by Z3; facts are numbers that are."""

    def same(self, x: Whole, y: Whole) -> bool:
        """Whether two numbers are surely equal."""
        d = x - y
        if not isinstance(d, Index):
            return d == 0
        return self.nonnegative(d) and self.nonnegative(-d)

    def nonnegative(self, number: Whole) -> bool:
        """Whether a number is surely at least 0."""
        if not isinstance(number, Index):
            return number >= 0
        found = self._known.get(number)
        if found is None:
            found = self._proved(rejoined(number))
            self._known[number] = found
        return found

    def _proved(self, number: Whole) -> bool:
        if not isinstance(number, Index):
            return number >= 0
        if self._by_ends(number, 12):
            return True
        if not self.facts and self._is_below_somewhere(number):
            return False
        high = self.interval(number)[1]
        return (high is None or high >= 0) and self._by_z3(number)

    def _is_below_somewhere(self, number: Index) -> bool:
        """Whether it is below 0 at some ends of its atoms, each of which may be any number between its own."""
        total = 0
        for m, c in number.terms.items():
            if not m:
                total += c
                continue
            [atom, *more] = m
            if more or atom.kind in ("div", "mod", "min", "max"):
                return False
            low, high = self.low.get(atom), self.high.get(atom)
            if isinstance(low, Index) or isinstance(high, Index):
                return False
            end = low if c > 0 else high
            if end is None:
                return True
            if low is not None and high is not None and low > high:
                return False
            total += c * end
        return total < 0

    def _by_z3(self, number: Index) -> bool:
        import z3

        self.asked += 1
        if self.asked > QUESTIONS:
            raise TooManyQuestions(f"more than {QUESTIONS} questions to Z3")
        solver = z3.Solver()
        solver.set("rlimit", STEPS)
        self.tell(solver, [number, *self.facts])
        solver.add(self.z3_number(number) < 0)
        return bool(solver.check() == z3.unsat)

    def tell(self, solver: Any, numbers: Iterable[Whole]) -> None:
        """Add what is known to a solver: the facts, and the bounds of the atoms of some numbers, and of those of the bounds."""
        seen: set[Atom] = set()
        waiting = list(numbers)
        while waiting:
            for atom in within(waiting.pop()):
                if atom in seen:
                    continue
                seen.add(atom)
                for end, sign in ((self.low.get(atom), 1), (self.high.get(atom), -1)):
                    if end is not None:
                        solver.add(sign * (self.z3_atom(atom) - self.z3_number(end)) >= 0)
                        waiting.append(end)
        for fact in self.facts:
            solver.add(self.z3_number(fact) >= 0)

    def z3_number(self, x: Whole) -> Any:
        """A number as a term of Z3."""
        import z3

        if not isinstance(x, Index):
            return z3.IntVal(int(x))
        found: list[Any] = []
        for m, c in x.terms.items():
            part: Any = z3.IntVal(c)
            for a in m:
                part = part * self.z3_atom(a)
            found.append(part)
        return z3.Sum(found)

    def z3_atom(self, a: Atom) -> Any:
        """An atom as a term of Z3: an unknown number, or what it is computed from."""
        import z3

        if a not in self._z3:
            if a.kind in ("div", "mod", "min", "max"):
                u, v = map(self.z3_number, a.args)
                self._z3[a] = (
                    u / v
                    if a.kind == "div"
                    else u % v
                    if a.kind == "mod"
                    else z3.If((u < v) == (a.kind == "min"), u, v)
                )
            else:
                self._z3[a] = z3.Int(f"{a.kind}_{a.number}")
        return self._z3[a]


class Ranges(Proofs):
    """Orders and quotients of numbers, decided where they can be."""

    def variable(
        self, kind: AtomKind, name: str, count: Whole | None, least: Whole = 0, args: Any = ()
    ) -> Whole:
        """A number from `least` on, below `count`; itself where only one is left after the facts."""
        atom = self.atom(kind, name, args)
        if atom not in self.low:
            self.low[atom] = least
            self.high[atom] = None if count is None else count - 1
        if self.low[atom] == self.high[atom]:
            return self.low[atom]
        return Index({(atom,): 1}, self)

    def assume(self, number: Index) -> None:
        """A fact: the number is at least 0.  A range is narrowed where it says no more, and those of its atoms.

        >>> from relift.compiler.meaning.numbers.ranges import Ranges
        >>> r = Ranges()
        >>> g, l = r.variable("group", "g", 47), r.variable("group", "l", 8)
        >>> r.assume(64 * g + 4 * l - 2968)
        >>> r.interval(g), r.interval(l)
        ((46, 46), (6, 7))
        """
        self._add(number)
        for _ in range(ROUNDS):
            if not any(list(map(self._narrows, self.facts))):
                break
        self._known.clear()

    def _narrows(self, fact: Index) -> bool:
        """Whether a fact narrows the range of one of its atoms, by the ends of the others."""
        found = False
        for atom in sorted(fact.atoms()):
            parts = linear_in(fact, atom) if atom.kind == "group" else None
            low, high = self.low.get(atom), self.high.get(atom)
            if parts is None or not isinstance(low, int) or not isinstance(high, int):
                continue
            c, most = parts[0], self.interval(parts[1])[1]
            if not isinstance(c, int) or most is None:
                continue
            if c > 0 and low < -(most // c) <= high:
                self.low[atom], found = -(most // c), True
            elif c < 0 and low <= most // -c < high:
                self.high[atom], found = most // -c, True
        return found

    def _add(self, number: Index) -> None:
        """Narrow the range of one atom by a fact that says no more, or keep it."""
        self._known.clear()
        for atom in sorted(number.atoms(), reverse=True):
            parts = linear_in(number, atom)
            if parts is None or parts[0].__class__ is not int or atom not in self.low:
                continue
            if atom.kind not in ("group", "size"):
                continue
            c, r = parts
            if any(a.kind != "size" for a in within(r)):
                continue
            assert isinstance(c, int), "cannot happen: it was asked"
            if c > 0:
                bound = -(r // c) if c != 1 else -r
                if c != 1 and not isinstance(r, int):
                    continue
                if isinstance(bound, int) and c != 1:
                    bound = -(r // c)
                if self.nonnegative(bound - self.low[atom]):
                    self.low[atom] = bound
                    return
            else:
                if c != -1 and not isinstance(r, int):
                    continue
                bound = r // -c if isinstance(r, int) else r
                high = self.high[atom]
                if high is None or self.nonnegative(high - bound):
                    self.high[atom] = bound
                    return
        self.facts.append(number)

    # ---- orders

    def decided(self, number: Whole) -> Any:
        """Whether a number is at least 0: a truth value, or a condition; raises `Split`, unless it splits nothing."""
        if not isinstance(number, Index):
            return number >= 0
        if self.nonnegative(number):
            return True
        if self.nonnegative(-1 - number):
            return False
        if self.splits and is_free(number):
            raise Split(number)
        assert self.condition is not None, "cannot happen: nobody makes conditions"
        return self.condition(number)

    # ---- quotients

    def quotient(self, u: Whole, v: Whole) -> tuple[Whole, Whole]:
        """u divided by v, rounded down, and the rest; v must be at least 1.

        >>> from relift.compiler.meaning.numbers.ranges import Ranges
        >>> r = Ranges()
        >>> i, j = r.variable("turn", "i", 64), r.variable("turn", "j", 256)
        >>> r.quotient(16 * i + 4 * j // 64, 64) == (i // 4, 16 * (i % 4) + j // 16)
        True
        """
        if not isinstance(u, Index) and not isinstance(v, Index):
            return divmod(u, v)
        if not self.nonnegative(v - 1):
            raise NotConcrete(v)
        u = rejoined(u)
        whole, rest = self._divided(u, v)
        if self.nonnegative(rest):
            if self.nonnegative(v - 1 - rest):
                return whole, rest
            if not isinstance(rest, Index) and not isinstance(v, Index):
                return whole + rest // v, rest % v
            found, left = self._nearest(rest, v) or self._in_steps(rest, v)
            return whole + found, left
        if self.nonnegative(-1 - rest) and self.nonnegative(v + rest):
            return whole - 1, rest + v
        return self._atomic("div", u, v), self._atomic("mod", u, v)

    def _nearest(self, u: Whole, v: Whole) -> tuple[Whole, Whole] | None:
        """u divided by v, and the rest, where more than half of v is taken for v and what is below it.

        >>> from relift.compiler.meaning.numbers.ranges import Ranges
        >>> r = Ranges()
        >>> (83 - r.variable("group", "l", 4)) // 4
        20
        """
        if not isinstance(v, int):
            return None
        above = made({m: 1 for m, c in terms_of(u).items() if m and v < 2 * c < 2 * v}, self)
        rest = u - v * above
        if self._by_ends(rest, 12) and self._by_ends(v - 1 - rest, 12):
            return above, rest
        return None

    def _in_steps(self, u: Whole, v: Whole) -> tuple[Whole, Whole]:
        """u divided by v, and the rest: where u is less than one step above a number of steps that divide v, in steps.

        So a quotient has one form, however it was written.
        """
        terms = terms_of(u)
        steps = {math.gcd(v, c) for m, c in terms.items() if m} if isinstance(v, int) else set()
        for step in sorted(steps - {1}, reverse=True):
            many = {m: c // step for m, c in terms.items() if c % step == 0 or not m}
            below = made({m: c for m, c in many.items() if c}, self)
            above = u - step * below
            if self._by_ends(above, 12) and self._by_ends(step - 1 - above, 12):
                whole, rest = self.quotient(below, v // step)
                return whole, step * rest + above
        return self._atomic("div", u, v), self._atomic("mod", u, v)

    def _divided(self, u: Whole, v: Whole) -> tuple[Whole, Whole]:
        """Parts of u that are multiples of v, divided by it, and the others."""
        whole: dict[Monomial, int] = {}
        rest: dict[Monomial, int] = {}
        of_v = list(terms_of(v).items())
        if len(of_v) > 1:
            return self._by_sum(u, v)
        [(by, k)] = of_v
        for m, c in terms_of(u).items():
            left = list(m)
            for a in by:
                if a in left:
                    left.remove(a)
                else:
                    rest[m] = c
                    break
            else:
                if c % k == 0:
                    whole[tuple(left)] = whole.get(tuple(left), 0) + c // k
                elif not by and m:
                    q, r = divmod(c, k)
                    if q and not 0 < c < k:
                        whole[m] = whole.get(m, 0) + q
                    rest[m] = r
                elif not by:
                    q, r = divmod(c, k)
                    if q:
                        whole[m] = q
                    rest[m] = r
                else:
                    rest[m] = c
        return (
            made({m: c for m, c in whole.items() if c}, self),
            made({m: c for m, c in rest.items() if c}, self),
        )

    def _by_sum(self, u: Whole, v: Whole) -> tuple[Whole, Whole]:
        """Where v is a sum: as often as its leading monomial is in u."""
        whole: Whole = 0
        (by, k), *_ = sorted(
            terms_of(v).items(), key=lambda t: (-len(t[0]), [a.number for a in t[0]])
        )
        for _ in range(8):
            for m, c in terms_of(u).items():
                left = list(m)
                fits = c % k == 0
                for a in by:
                    if a in left:
                        left.remove(a)
                    else:
                        fits = False
                        break
                if fits:
                    part = made({tuple(left): c // k}, self)
                    whole, u = whole + part, u - part * v
                    break
            else:
                break
        return whole, u

    def _atomic(self, kind: AtomKind, u: Whole, v: Whole) -> Whole:
        return Index({(self.atom(kind, "", (u, v)),): 1}, self)

    def extreme(self, kind: AtomKind, x: Whole, y: Whole) -> Whole:
        """The smaller or the larger number."""
        d = x - y
        if self.nonnegative(d):
            return x if kind == "max" else y
        if self.nonnegative(-d):
            return y if kind == "max" else x
        return self._atomic(kind, x, y)
