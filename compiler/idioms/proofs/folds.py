"""Equations between what loops and programs compute: by congruence, by Z3, and by induction over their folds.

A fold is an unknown for each value that it carries, with its first values, its step and its number of steps.  Two folds are
related where the relation holds of their first values, and each step keeps it: the loop's value so far is the program's, or
it is what the loop began with combined with the program's.  That is the loop's invariant, and it is found among these.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

import z3

from relift.compiler.idioms.facts.llvm.numbers import BITS
from relift.compiler.idioms.proofs.scalars import FLOATS, INTEGERS, Scalars, Term
from relift.rewrites.checks.smt.goals import EFFORT, Fact, Number, Open, Solver, answer_of

_OPERATORS = ("add", "mul", "minimum", "maximum", "bitwise_or", "bitwise_and", "bitwise_xor")


@dataclass(frozen=True, eq=False)
class Folded:
    """What is left after `trips` steps: an unknown for each value that is carried."""

    results: tuple[Term, ...]
    kinds: tuple[str, ...]
    first: tuple[Term, ...]
    step: Callable[[tuple[Term, ...], Number], tuple[Term, ...]]
    trips: Number
    by_program: bool


@dataclass(frozen=True)
class _Relation:
    """A value of a loop, by that of a program; in words."""

    of: Callable[[Term], Term]
    said: str
    of_begin: bool = False


@dataclass
class Equations:
    """Shows terms equal, or raises `Open`."""

    prover: Solver
    scalars: Scalars
    effort: int = EFFORT
    folds: dict[str, tuple[Folded, int]] = field(default_factory=dict[str, "tuple[Folded, int]"])
    proved: int = 0
    invariants: dict[str, None] = field(default_factory=dict[str, None])
    depth: int = 0

    def fold(
        self,
        kinds: tuple[str, ...],
        first: tuple[Term, ...],
        step: Callable[[tuple[Term, ...], Number], tuple[Term, ...]],
        trips: Number,
        *,
        by_program: bool,
    ) -> tuple[Term, ...]:
        """The results of a new fold."""
        results = tuple(self.unknown(kind) for kind in kinds)
        made = Folded(results, kinds, first, step, trips, by_program)
        self.folds.update({r.decl().name(): (made, i) for i, r in enumerate(results)})
        return results

    def unknown(self, kind: str) -> Term:
        """A value of which nothing is known."""
        return self.scalars.named(f"?{self.prover.number()}", kind)

    def same(self, x: Term, y: Term, what: str) -> None:
        """Show that a term of the loops is one of the program."""
        x, y = z3.simplify(x, som=True), z3.simplify(y, som=True)
        if x.eq(y):
            self.proved += 1
            return
        if self.depth > 6:
            raise Open(f"{what}: the folds in it are nested too deeply")
        facts: list[Fact] = []
        for f, i in self._folds_of(x):
            for g, j in self._folds_of(y):
                if f.by_program != g.by_program:
                    facts += (
                        self._related(f, i, g, j) if g.by_program else self._related(g, j, f, i)
                    )
        self._decided(x == y, facts, what)

    def holds(self, fact: Fact, what: str) -> None:
        """Show a fact of the loops themselves, such as a test that stays true."""
        self._decided(fact, [], what)

    def _decided(self, goal: Fact, facts: list[Fact], what: str) -> None:
        solver = z3.Solver()
        solver.set(rlimit=self.effort, random_seed=1)
        facts = [*facts, *self._rests(goal, *facts)]
        solver.add(*self.prover.given, *self.prover.assumed, *self.prover.bounds, *facts)
        solver.add(*self.scalars.ordered(goal, *facts), z3.Not(goal))
        answer = answer_of(solver)
        if answer != z3.unsat:
            raise Open(f"{what}: {'Z3 cannot tell' if answer == z3.unknown else 'not shown'}")
        self.proved += 1

    def _rests(self, *terms: Term) -> list[Fact]:
        """Of each rest and quotient by a number in some terms, that it is what the normal form makes of it.

        What loops and programs divide alike is one unknown there; Z3 has to find that out of two, and large divisors lead it astray.
        """
        found: list[Fact] = []
        met: set[int] = set()
        stack = list(terms)
        while stack:
            e = stack.pop()
            if e.get_id() in met:
                continue
            met.add(e.get_id())
            stack += e.children()
            if (z3.is_mod(e) or z3.is_idiv(e)) and z3.is_int_value(e.arg(1)):
                found.append(e == self.prover.number_of(self.prover.polynomial(e)))
        return found

    def _folds_of(self, e: Term) -> list[tuple[Folded, int]]:
        met: set[int] = set()
        found: list[tuple[Folded, int]] = []
        stack = [e]
        while stack:
            at = stack.pop()
            if at.get_id() in met:
                continue
            met.add(at.get_id())
            stack += at.children()
            if z3.is_const(at) and at.decl().name() in self.folds:
                found.append(self.folds[at.decl().name()])
        return found

    # ---- induction

    def _related(self, f: Folded, i: int, g: Folded, j: int) -> list[Fact]:
        """What is known of value i of a loop's fold and value j of a program's."""
        if f.results[i].sort() != g.results[j].sort():
            return []
        program, last = self._as_long(f, g)
        if program is None:
            return []
        for relation in self._relations(f, i):
            for pairs in _pairings(f, i, program, None if last else j):
                if relation.of_begin and len(pairs) > 1:
                    continue
                if self._is_kept(f, program, pairs, relation):
                    self.invariants[relation.said] = None
                    return [
                        *(f.results[a] == relation.of(program.results[b]) for a, b in pairs),
                        *last,
                    ]
        return []

    def _is_kept(
        self,
        f: Folded,
        g: Folded,
        pairs: tuple[tuple[int, int], ...],
        relation: _Relation,
    ) -> bool:
        """Whether a relation is shown by induction."""
        proved = self.proved
        self.depth += 1
        try:
            self._induction(
                f, g, pairs, relation, () if relation.of_begin else self._never_negative(g)
            )
        except Open:
            self.proved = proved
            return False
        finally:
            self.depth -= 1
        return True

    def _never_negative(self, g: Folded) -> tuple[int, ...]:
        """Which whole numbers that a fold carries begin with no negative one, and never become one."""
        found = [
            b
            for b, kind in enumerate(g.kinds)
            if kind in INTEGERS and self._follows(g.first[b] >= 0)
        ]
        while found:
            there, k = tuple(map(self.unknown, g.kinds)), self.prover.index()
            with self.prover.assuming(k >= 0, k < g.trips, *(there[b] >= 0 for b in found)):
                after = g.step(there, k)
                rest = [b for b in found if self._follows(after[b] >= 0)]
            if rest == found:
                break
            found = rest
        return tuple(found)

    def _follows(self, fact: Fact) -> bool:
        """Whether a fact can be shown."""
        try:
            self._decided(fact, [], "")
        except Open:
            return False
        return True

    def _as_long(self, f: Folded, g: Folded) -> tuple[Folded | None, list[Fact]]:
        """The program's fold over as many steps as the loop's; where it has one more, and how that follows."""
        if self.prover.holds(f.trips == g.trips):
            return g, []
        if not self.prover.holds(g.trips == f.trips + 1):
            return None, []
        before = Folded(tuple(map(self.unknown, g.kinds)), g.kinds, g.first, g.step, f.trips, True)
        after = g.step(before.results, f.trips)
        return before, [r == a for r, a in zip(g.results, after, strict=True)]

    def _relations(self, f: Folded, i: int) -> Iterator[_Relation]:
        yield _Relation(
            lambda s: s, "so far, the loop has what the program has of as many elements"
        )
        kind, begin = f.kinds[i], f.first[i]
        for bits in BITS.values() if kind == "i32" else ():
            keeps = partial(self._lowest, bits)
            yield _Relation(
                keeps, f"so far, the loop has the lowest {bits} bits of what the program has"
            )
        if kind == "boolean" or (self.scalars.rounded and kind in FLOATS):
            return
        for operator in _OPERATORS:
            by = partial(self._combined, operator, begin, kind)
            said = f"so far, the loop has what it began with, and ({operator}) what the program has"
            yield _Relation(by, said, of_begin=True)

    def _combined(self, operator: str, begin: Term, kind: str, s: Term) -> Term:
        return self.scalars.applied(operator, [begin, s], [kind, kind], kind)

    def _lowest(self, bits: int, s: Term) -> Term:
        return s % 2**bits if s.sort() == z3.IntSort() else s

    def _induction(
        self,
        f: Folded,
        g: Folded,
        pairs: tuple[tuple[int, int], ...],
        relation: _Relation,
        natural: tuple[int, ...],
    ) -> None:
        for a, b in pairs:
            self.same(f.first[a], relation.of(g.first[b]), "the value before the first iteration")
        k = self.prover.index()
        there = tuple(map(self.unknown, g.kinds))
        here = [self.unknown(kind) for kind in f.kinds]
        for a, b in pairs:
            here[a] = relation.of(there[b])
        facts = [there[b] >= 0 for b in natural]
        with self.prover.assuming(k >= 0, k < f.trips, *facts):
            after, wanted = f.step(tuple(here), k), g.step(there, k)
            for a, b in pairs:
                self.same(after[a], relation.of(wanted[b]), "the value after one more iteration")


def _pairings(f: Folded, i: int, g: Folded, j: int | None) -> Iterator[tuple[tuple[int, int], ...]]:
    """Which values of a loop stand for which of a program's fold: i for j, or for any where that is not said."""
    sorts, others = [[r.sort() for r in x.results] for x in (f, g)]
    for chosen in itertools.islice(itertools.permutations(range(len(sorts)), len(others)), 60):
        if (i in chosen if j is None else chosen[j] == i) and all(
            sorts[a] == other for a, other in zip(chosen, others, strict=True)
        ):
            yield tuple((a, b) for b, a in enumerate(chosen))
    for b, other in enumerate(others):
        if len(others) > 1 and j in (None, b) and sorts[i] == other:
            yield ((i, b),)
