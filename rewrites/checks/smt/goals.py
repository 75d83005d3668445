"""Statements about whole numbers, for all sizes: two indices are equal, an index is in range.

Z3 decides them, but is weak where a size divides: quotients are therefore brought to a normal form first,
by which most statements hold already, and what is left of them Z3 sees as new numbers, each between its
Euclidean bounds.  With a positive divisor, and all divisions rounding down:

    a remainder is a difference      x % d = x - d*(x / d)
    parts by divisibility            (d*q + r) / d = q + r / d
    nested quotients                 (x / c + r) / d = (x + c*r) / (c*d)
    common factor                    (c*x + s) / (c*d) = x / d                    where 0 <= s < c
    sign                             -x / d = -1 - (x - 1) / d
    range                            r / d = 0                                    where 0 <= r < d
    bounds of a quotient             x / d >= y  iff  x >= d*y
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeAlias

import z3

from relift.semantics.indices.expressions import parts_by_divisibility
from relift.semantics.syntax.monomials import Monomial
from relift.semantics.syntax.sizes import Size

EFFORT = 2_000_000
"""What Z3 may spend on one statement, in its own unit, the same on every machine: a second or two."""

GLANCE = 100_000
"""What it may spend on a step of the normal form."""

RULE_EFFORT = 20_000_000
MOST_QUESTIONS = 4000
"""What Z3 may spend, and be asked, on all statements of one rule together: five and twenty times as much as the
rule of the library that takes most."""

PREFERRED_SIZES = (2, 3, 6, 12, 30, 100, 300, 1100)
"""Counterexamples with sizes up to the first of these that allows one are preferred."""

Number: TypeAlias = Any
"""A whole number of Z3's, which ships no types."""

Fact: TypeAlias = Any
"""A truth value of Z3's."""


class Open(Exception):
    """The sides could not be shown equal; the message says where, `sizes` where the goal fails.

    `unfinished`: the work that a rule may take was done before.
    """

    def __init__(
        self, message: str, sizes: Mapping[str, int] | None = None, unfinished: bool = False
    ) -> None:
        super().__init__(message)
        self.sizes = sizes
        self.unfinished = unfinished


@dataclass(frozen=True)
class Unknown:
    """An atom of a polynomial: a number of Z3's that is not a sum or product, known by its text."""

    text: str
    number: Number = field(compare=False)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Quotient:
    """An atom of a polynomial: `dividend / divisor`, the divisor being positive."""

    dividend: Size
    divisor: Size

    def __str__(self) -> str:
        return f"(({self.dividend}) / ({self.divisor}))"


@dataclass(frozen=True)
class Permutation:
    """A function on the indices below `length` that has an inverse."""

    at: Callable[[Number], Number]
    length: Number


@dataclass
class Solver:
    """Proves statements about indices under what is given of sizes and assumed of the indices in scope."""

    given: list[Fact] = field(default_factory=list)
    assumed: list[Fact] = field(default_factory=list)
    names: dict[str, Number] = field(default_factory=dict)
    proved: int = 0
    fresh: int = 0
    quotients: dict[Quotient, Number] = field(default_factory=dict)
    bounds: list[Fact] = field(default_factory=list)
    seen: dict[tuple[int, ...], tuple[bool, Any]] = field(default_factory=dict)
    polynomials: dict[int, tuple[Size, Number]] = field(default_factory=dict)
    divisions: int = 0
    inverses: dict[str, Permutation] = field(default_factory=dict)
    asked: int = 0
    spent: int = 0
    before: int = field(default_factory=lambda: effort_so_far())

    def size(self, n: Size) -> Number:
        """A size as a number of Z3's; a power with an open exponent is a number of its own."""
        total: Number = z3.IntVal(0)
        for monomial, c in n.terms.items():
            product: Number = z3.IntVal(c)
            for atom, power in monomial:
                for _ in range(power):
                    product = product * self.names.setdefault(str(atom), z3.Int(f"size {atom}"))
            total = total + product
        return z3.simplify(total)

    def exhausted(self) -> bool:
        """Whether nothing more will be shown: by what was done, and so on every machine at the same place."""
        return self.spent > RULE_EFFORT or self.asked > MOST_QUESTIONS

    def _check(self, solver: Any) -> Any:
        """The answer of Z3, whose effort is counted."""
        answer = answer_of(solver)
        self.asked += 1
        now = effort_of(solver)
        self.spent += max(0, now - self.before)
        self.before = now
        return answer

    def index(self) -> Number:
        """A new index."""
        return z3.Int(f"i{self.number()}")

    def number(self) -> int:
        """A number that was not given out before."""
        self.fresh += 1
        return self.fresh

    @contextmanager
    def assuming(self, *facts: Fact) -> Generator[None]:
        """With these facts, too."""
        known = len(self.assumed)
        for fact in facts:
            self.assumed.append(self.normal(fact))
        try:
            yield
        finally:
            del self.assumed[known:]

    @contextmanager
    def anywhere(self, *facts: Fact) -> Generator[None]:
        """With these facts alone, whatever is in scope: what is shown here holds everywhere."""
        scope, self.assumed = self.assumed, []
        try:
            with self.assuming(*facts):
                yield
        finally:
            self.assumed = scope

    def know(self, when: Fact, fact: Fact) -> None:
        """From now on, and in every scope: what holds by definition, when something else does."""
        with self.anywhere(when):
            self.given.append(z3.Implies(when, self.normal(fact)))

    def show(self, fact: Fact, what: str) -> None:
        """Prove a fact; raises `Open` with the sizes of a counterexample, where Z3 has one."""
        if self.exhausted():
            raise Open(f"Z3 was asked {self.asked} times, and left {what} open", unfinished=True)
        goal = self.normal(fact)
        if z3.is_true(goal) or self._cancels(fact):
            self.proved += 1
            return
        solver = self._solver()
        solver.add(z3.Not(goal))
        answer = self._check(solver)
        if answer == z3.unsat:
            self.proved += 1
            return
        shown = str(z3.simplify(fact)).replace("\n", " ")
        if answer == z3.unknown:
            raise Open(f"Z3 cannot tell whether {what}: {shown}")
        raise Open(f"not for all sizes: {what}: {shown}", _sizes(solver, self.names, self._check))

    def inverse(self, of: Permutation) -> Callable[[Number], Number]:
        """A new function, the inverse of a permutation."""
        inverse: Any = z3.Function(f"undone{self.number()}", z3.IntSort(), z3.IntSort())
        self.inverses[inverse.name()] = of

        def undone(k: Number) -> Number:
            i = inverse(k)
            given, inside = z3.And(k >= 0, k < of.length), z3.And(i >= 0, i < of.length)
            self.know(given, inside)
            self.know(z3.And(given, inside), of.at(i) == k)
            return i

        return undone

    def _cancels(self, fact: Fact) -> bool:
        """Whether a fact is `undone(k) == i` for an inverse, and f(i) is k."""
        if not z3.is_eq(fact):
            return False
        for undone, i in (fact.children(), reversed(fact.children())):
            f = self.inverses.get(undone.decl().name())
            if f is not None:
                inside = z3.And(i >= 0, i < f.length)
                return self.holds(inside) and self.holds(f.at(i) == undone.arg(0))
        return False

    def holds(self, fact: Fact) -> bool:
        """Whether a fact follows quickly; False where Z3 cannot tell."""
        goal = self.normal(fact)
        if z3.is_true(goal) or z3.is_false(goal):
            return bool(z3.is_true(goal))
        if self.exhausted():
            return False
        key = (goal.get_id(), *(known.get_id() for known in self.assumed))
        if key not in self.seen:
            solver = self._solver(GLANCE, quantified=False)
            solver.add(z3.Not(goal))
            # the facts are kept, so that Z3 gives their numbers to no others
            self.seen[key] = (self._check(solver) == z3.unsat, goal, *self.assumed)
        known, *_ = self.seen[key]
        return known

    def impossible(self) -> bool:
        """Whether nothing satisfies what is assumed; False where Z3 cannot tell."""
        return not self.exhausted() and bool(self._check(self._solver()) == z3.unsat)

    def _solver(self, effort: int = EFFORT, quantified: bool = True) -> Any:
        solver = z3.Solver()
        solver.set(rlimit=effort, random_seed=1)
        solver.add(*(known for known in self.given if quantified or not z3.is_quantifier(known)))
        solver.add(*self.assumed, *self.bounds)
        return solver

    # ---- the normal form

    def normal(self, fact: Fact) -> Fact:
        """The same fact, with its numbers in normal form."""
        if z3.is_and(fact) or z3.is_or(fact) or z3.is_not(fact) or z3.is_implies(fact):
            return z3.simplify(fact.decl()(*map(self.normal, fact.children())))
        if not z3.is_app(fact) or fact.num_args() != 2 or not z3.is_int(fact.arg(0)):
            return fact
        left, right = (self.polynomial(e) for e in fact.children())
        match fact.decl().kind():
            case z3.Z3_OP_EQ:
                return z3.simplify(self.number_of(left - right) == 0)
            case z3.Z3_OP_DISTINCT:
                return z3.simplify(self.number_of(left - right) != 0)
            case z3.Z3_OP_GE:
                return self._not_negative(left - right)
            case z3.Z3_OP_LE:
                return self._not_negative(right - left)
            case z3.Z3_OP_GT:
                return self._not_negative(left - right - 1)
            case z3.Z3_OP_LT:
                return self._not_negative(right - left - 1)
            case _:
                return fact

    def _not_negative(self, x: Size) -> Fact:
        """x >= 0; a quotient is bounded by bounding what it divides."""
        for monomial, c in x.ordered():
            quotient = _lone_quotient(monomial)
            if quotient is None or c not in (1, -1):
                continue
            rest = x - c * Size.atom(quotient)
            if quotient in rest.atoms():
                continue
            dividend, d = quotient.dividend, quotient.divisor
            if c == 1:
                return self._not_negative(dividend + rest * d)
            return self._not_negative((rest + 1) * d - 1 - dividend)
        return z3.simplify(self.number_of(x) >= 0)

    def polynomial(self, e: Number) -> Size:
        """A number as a polynomial over unknowns and quotients."""
        if (known := self.polynomials.get(e.get_id())) is None:
            before = self.divisions
            known = self._polynomial(e), e
            if self.divisions == before:  # else it rests on what is assumed now
                self.polynomials[e.get_id()] = known  # and e: its number stays its own
        return known[0]

    def _polynomial(self, e: Number) -> Size:
        if z3.is_int_value(e):
            return Size.of(e.as_long())
        parts = e.children()
        match e.decl().kind():
            case z3.Z3_OP_ADD:
                return sum((self.polynomial(p) for p in parts), Size.of(0))
            case z3.Z3_OP_SUB:
                first, *others = (self.polynomial(p) for p in parts)
                return first - sum(others, Size.of(0))
            case z3.Z3_OP_UMINUS:
                return -self.polynomial(parts[0])
            case z3.Z3_OP_MUL:
                product = Size.of(1)
                for part in parts:
                    product = product * self.polynomial(part)
                return product
            case z3.Z3_OP_IDIV:
                return self.quotient(self.polynomial(parts[0]), self.polynomial(parts[1]))
            case z3.Z3_OP_MOD:
                x, d = (self.polynomial(p) for p in parts)
                return x - d * self.quotient(x, d)
            case z3.Z3_OP_ITE:
                condition, yes, no = parts
                self.divisions += 1  # what follows from a condition is assumed, too
                condition = self.normal(condition)
                if z3.is_true(condition) or z3.is_false(condition):
                    return self.polynomial(yes if z3.is_true(condition) else no)
                x, y = self.polynomial(yes), self.polynomial(no)
                e = z3.If(condition, self.number_of(x), self.number_of(y))
            case _ if parts and all(map(z3.is_int, parts)):
                e = e.decl()(*(self.number_of(self.polynomial(p)) for p in parts))
            case _:
                pass
        return Size.atom(Unknown(e.sexpr(), e))

    def quotient(self, x: Size, d: Size) -> Size:
        """`x / d` in normal form; of a divisor that may not be positive nothing is known."""
        self.divisions += 1
        if not d.terms:
            return self._raw(x, d)
        if d.constant is None and not self.holds(self.number_of(d) >= 1):
            return self._raw(x, d)
        if d.constant is not None and d.constant < 1:
            return self._raw(x, d)
        return self._divided(x, d)

    def _divided(self, x: Size, d: Size) -> Size:
        """`x / d` by the table of the module, d being positive."""
        whole, r = parts_by_divisibility(x, d)
        if not r.terms or d == 1:
            return whole + (r if d == 1 else 0)
        if r.ordered()[0][1] < 0:
            return whole - 1 - self._divided(-r - 1, d)
        for monomial, c in r.ordered():
            inner = _lone_quotient(monomial)
            if inner is not None and c == 1:
                rest = r - Size.atom(inner)
                return whole + self._divided(
                    inner.dividend + inner.divisor * rest, inner.divisor * d
                )
        for factor in _factors(r, d):
            x, s = parts_by_divisibility(r, factor)
            if x.terms and self._within(s, factor):
                return whole + self._divided(x, d // factor)
        if self._within(r, d):
            return whole
        return whole + Size.atom(self._defined(Quotient(r, d)))

    def _within(self, r: Size, d: Size) -> bool:
        """Whether 0 <= r < d."""
        if not r.terms:
            return True
        return self.holds(z3.And(self._not_negative(r), self._not_negative(d - r - 1)))

    def _defined(self, q: Quotient) -> Quotient:
        """The quotient, once its Euclidean bounds are known to Z3."""
        if q not in self.quotients:
            number = z3.Int(f"q{self.number()}")
            self.quotients[q] = number
            x, d = self.number_of(q.dividend), self.number_of(q.divisor)
            between = z3.And(d * number <= x, x < d * number + d)
            small = z3.Implies(x >= 0, z3.And(number >= 0, number <= x))
            self.bounds.append(z3.Implies(d >= 1, z3.And(between, small)))
        return q

    def _raw(self, x: Size, d: Size) -> Size:
        e = self.number_of(x) / self.number_of(d)
        return Size.atom(Unknown(e.sexpr(), e))

    def number_of(self, x: Size) -> Number:
        """A polynomial as a number of Z3's."""
        total: Number = z3.IntVal(0)
        for monomial, c in x.ordered():
            product: Number = z3.IntVal(c)
            for atom, power in monomial:
                assert isinstance(atom, Unknown | Quotient), "cannot happen: it has these atoms"
                factor = atom.number if isinstance(atom, Unknown) else self.quotients[atom]
                for _ in range(power):
                    product = product * factor
            total = total + product
        return z3.simplify(total)


def _sizes(solver: Any, names: Mapping[str, Number], check: Callable[[Any], Any]) -> dict[str, int]:
    """The sizes of a counterexample, small ones where there are any."""
    model = solver.model()
    for largest in PREFERRED_SIZES:
        solver.push()
        solver.add(*(x <= largest for x in names.values()))
        if check(solver) == z3.sat:
            model = solver.model()
            break
        solver.pop()
    return {n: model.eval(x, model_completion=True).as_long() for n, x in names.items()}


def effort_of(solver: Any) -> int:
    """What Z3 has spent in this process, in its own unit."""
    statistics = solver.statistics()
    # `in` would go through pairs of names and values; a solver that was asked nothing yet has none
    said = "rlimit count" in statistics.keys()  # noqa: SIM118
    return int(statistics.get_key_value("rlimit count")) if said else 0


def effort_so_far() -> int:
    """The same, whichever solver has spent it."""
    return effort_of(_any_solver())


@cache
def _any_solver() -> Any:
    """One that is asked nothing: to make one, and to have it answer, takes as long as many a proof."""
    return z3.Solver()


def answer_of(solver: Any) -> Any:
    """What Z3 says; raises `KeyboardInterrupt` for Ctrl-C, which Z3 takes to itself and answers with `unknown`."""
    answer = solver.check()
    if answer == z3.unknown and "interrupted" in solver.reason_unknown():
        raise KeyboardInterrupt
    return answer


def _lone_quotient(monomial: Monomial) -> Quotient | None:
    """The quotient that a monomial is, if it is just that."""
    if len(monomial) != 1:
        return None
    ((atom, power),) = monomial
    return atom if isinstance(atom, Quotient) and power == 1 else None


def _factors(r: Size, d: Size) -> list[Size]:
    """Proper factors that a term of r shares with d, which is a product."""
    if len(d.terms) != 1:
        return []
    ((divisor, by),) = d.terms.items()
    powers = dict(divisor)
    found: dict[Size, None] = {}
    for monomial, c in r.terms.items():
        shared = tuple((a, min(k, powers[a])) for a, k in monomial if a in powers)
        factor = Size({shared: by if c % by == 0 else 1})
        if factor not in (Size.of(1), d):
            found[factor] = None
    return list(found)
