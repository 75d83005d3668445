"""What is known of whole numbers: the range of each atom, and facts; with them orders and quotients are decided.

First by the ends of ranges, then by Z3, bounded by a number of its steps.  What is not decided is not guessed: a
condition on numbers of groups, items and sizes is a `Split`, for whoever runs the kernel to run it in both cases;
one on turns of loops or on data stays a condition.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

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


class Bounds:
    """Atoms with their ranges, both ends within, and what follows from the ends alone."""

    def __init__(self, facts: Sequence[tuple[int, int, tuple[str, ...], Any]] = ()) -> None:
        self.by_key: dict[Any, Atom] = {}
        self.low: dict[Atom, Whole] = {}
        self.high: dict[Atom, Whole | None] = {}
        self.facts: list[Index] = []
        self.condition: Callable[[Index], Any] | None = None
        self.splits = True
        self.below: list[Whole] = []
        self.asked = 0
        self._known: dict[Index, bool] = {}
        self._z3: dict[Atom, Any] = {}

    # ---- atoms

    def atom(self, kind: AtomKind, name: str, args: tuple[Any, ...] = ()) -> Atom:
        """The atom of a kind, a name and arguments."""
        key = (kind, name, args)
        if key not in self.by_key:
            self.by_key[key] = Atom(kind, name, args, len(self.by_key))
        return self.by_key[key]

    def _by_ends(self, number: Whole, depth: int) -> bool:
        """By the ends of ranges, innermost atoms first."""
        while isinstance(number, Index):
            atom = max(number.atoms(), key=_order)
            if atom.kind == "size":
                return self._of_sizes(number)
            parts = linear_in(number, atom)
            if parts is None:
                return False
            c, r = parts
            if self._by_ends(c, depth - 1) if isinstance(c, Index) else c >= 0:
                end = self._low_of(atom)
            elif self._by_ends(-c, depth - 1):
                end = self._high_of(atom)
            else:
                return False
            if end is None or depth == 0:
                return False
            number = c * end + r
        return number >= 0

    def _of_sizes(self, number: Index) -> bool:
        """A polynomial of sizes whose coefficients are not negative once each size counts from its least value."""
        shifted: Whole = 0
        for m, c in number.terms.items():
            part: Whole = c
            for a in m:
                part = part * (Index({(a,): 1}, number.ranges) + self.low[a])
            shifted = shifted + part
        return all(c >= 0 for c in terms_of(shifted).values()) or self._by_highs(number)

    def _by_highs(self, number: Index) -> bool:
        """Sizes with ends of their own, each at one of them."""
        rest: Whole = number
        for a in sorted(number.atoms(), reverse=True):
            if not isinstance(rest, Index):
                break
            parts = linear_in(rest, a)
            if parts is None:
                return False
            c, r = parts
            if not isinstance(c, int):
                return False
            end = self.low[a] if c >= 0 else self.high[a]
            if end is None:
                return False
            rest = c * end + r
        return not isinstance(rest, Index) and rest >= 0

    def _low_of(self, atom: Atom) -> Whole | None:
        if atom in self.low:
            return self.low[atom]
        match atom.kind:
            case "mod":
                return 0
            case "div":
                low = self.interval(atom.args[0])[0]
                return 0 if low is not None and low >= 0 else None
            case "min" | "max":
                ends = [self.interval(x)[0] for x in atom.args]
                known = [e for e in ends if e is not None]
                if atom.kind == "max" and known:
                    return max(known)
                return min(known) if len(known) == 2 else None
            case "size" | "group" | "turn" | "bound" | "data":
                return None

    def _high_of(self, atom: Atom) -> Whole | None:
        if atom in self.high:
            return self.high[atom]
        match atom.kind:
            case "mod":
                return atom.args[1] - 1  # type: ignore[no-any-return]
            case "div" if isinstance(atom.args[1], int):
                high = self.interval(atom.args[0])[1]
                return None if high is None else high // atom.args[1]
            case "min" | "max":
                ends = [self.interval(x)[1] for x in atom.args]
                known = [e for e in ends if e is not None]
                if atom.kind == "min":
                    return min(known) if known else atom.args[1]
                return max(known) if len(known) == 2 else None
            case "div" | "size" | "group" | "turn" | "bound" | "data":
                return None

    def interval(self, x: Whole) -> tuple[int | None, int | None]:
        """Numbers between which x lies, where there are such."""
        if not isinstance(x, Index):
            return int(x), int(x)
        low: int | None = 0
        high: int | None = 0
        for m, c in x.terms.items():
            a: int | None = 1
            b: int | None = 1
            for atom in m:
                p, q = self._ends(atom)
                if p is None or p < 0 or a is None:
                    if q is None or p is None or a is None or b is None:
                        a = b = None
                    else:
                        corners = (a * p, a * q, b * p, b * q)
                        a, b = min(corners), max(corners)
                else:
                    if a < 0:
                        a = None if q is None else a * q
                        b = None if b is None or q is None else max(b * p, b * q)
                    else:
                        a, b = a * p, None if b is None or q is None else b * q
            if c < 0:
                a, b = b, a
            low = None if low is None or a is None else low + c * a
            high = None if high is None or b is None else high + c * b
        return low, high

    def _ends(self, atom: Atom) -> tuple[int | None, int | None]:
        low, high = self._low_of(atom), self._high_of(atom)
        return (
            None if low is None else self.interval(low)[0],
            None if high is None else self.interval(high)[1],
        )


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
        """A fact: the number is at least 0.  A range is narrowed where it says no more."""
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
            found, left = self._in_steps(rest, v)
            return whole + found, left
        if self.nonnegative(-1 - rest) and self.nonnegative(v + rest):
            return whole - 1, rest + v
        return self._atomic("div", u, v), self._atomic("mod", u, v)

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


_DEPTH = {
    "div": 5, "mod": 5, "min": 5, "max": 5, "data": 4, "bound": 3, "turn": 3, "group": 2, "size": 1,
}  # fmt: skip


def _order(a: Atom) -> tuple[int, int]:
    return _DEPTH[a.kind], a.number
