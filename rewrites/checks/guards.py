"""Guard inference: what is missing from a rule that fails, and what a rule states needlessly.

A guard is a conjunction of conditions from a menu.  Of sizes: one is at least 1, divides another (or a difference
of two), is at most another or a number, equals an expression, is 1 or 0.  Of operators and index functions: the
laws of `rule`.  Of functions: a variable is not free in them.

A rule whose sides do not type says which size obligation failed, and that obligation, solved for one of its
names, is the guard: "m divides n" makes the rule one about arrays of c * m elements.  A rule that types is
tried with conditions from the menu, few before many and weak before strong, at every size up to a bound; what
passes is then judged on random models and by the proving tiers, and dropped when one of them refutes it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from relift.rewrites.checks.free.tier import Run, check_free
from relift.rewrites.checks.instances import Instances
from relift.rewrites.checks.random.tier import check_random
from relift.rewrites.checks.verdicts import Guard, TierResult
from relift.rewrites.conditions import (
    Bound,
    Condition,
    IndexCondition,
    associative,
    bijective,
    commutative,
    distributive,
    idempotent,
    inverse,
    neutral,
    telescoping,
)
from relift.rewrites.rule import RejectedRule, Rule
from relift.rewrites.specialisation import specialised, without_argument
from relift.semantics.errors import IllTyped
from relift.semantics.syntax.signatures import FunctionKind, IndexKind, OperatorKind, Unproved
from relift.semantics.syntax.sizes import Size

Judge: TypeAlias = Callable[[Rule], TierResult]
Change: TypeAlias = Callable[[Rule], Rule]
"""Adds one condition to a rule; raises `IllTyped` when the rule then does not type."""

MOST = 3
"""More laws than this are not tried together."""

MOST_TYPED = 40
"""How many ways to make an ill-typed rule type are looked at before the weakest is taken."""

MOST_SOLVED = 4
"""An ill-typed rule is given up when more of its sizes would have to be solved for."""

MOST_REMADE = 400
"""How often an ill-typed rule is made anew."""

WORK = 1_500_000
"""How many symbols all candidates for one guard have together (see `free`): work, which no clock limits."""

MOST_CANDIDATES = 1500
"""More conjunctions than this are not tried."""


@dataclass(frozen=True)
class Conjunct:
    """One condition: how it reads, and how it changes a rule."""

    text: str
    change: Change


def infer_guard(
    rule: Rule | RejectedRule,
    *,
    bound: int = 3,
    work: int = WORK,
    provers: Sequence[Judge] = (),
) -> Guard | None:
    """The smallest guard that makes a failing rule hold; None when none is found, or none is needed.

    A guard is proposed only where the rule holds under it at every size up to `bound`, on random models, and as
    far as `provers` can tell.  Where free symbols say nothing of the rule itself and random models agree, none is: one
    that leaves the symbols something to say, such as "n is 0", is then no guard that was missing.  `work` counts symbols, so the answer does not depend on the machine.

    >>> from dataclasses import replace
    >>> from relift.rewrites.checks.guards import infer_guard
    >>> from relift.rewrites.library import RULES
    >>> print(infer_guard(replace(RULES["partial_reduce_strided"], where=())).text())
    holds if op is associative and z is neutral for op and op is commutative (exhaustive to 3, 12 instances)
    >>> infer_guard(RULES["partial_reduce_strided"]) is None
    True
    """
    search = _Search(bound, work, provers)
    try:
        for texts, typed in _well_typed(rule):
            if results := search.holds(typed):
                return _guard(texts, typed, results) if texts else None
            if not texts and search.knows_nothing_against(typed):
                return None
            for conjuncts in itertools.islice(_conjunctions(typed), MOST_CANDIDATES):
                candidate = _with(typed, conjuncts)
                if candidate is not None and (results := search.holds(candidate)):
                    texts = (*texts, *(c.text for c in conjuncts))
                    return _guard(texts, candidate, results)
    except _Spent:
        pass
    return None


class _Spent(Exception):
    """The work that one guard may take is done."""


class _Search:
    """Judges candidates, the cheap judges first."""

    def __init__(self, bound: int, work: int, provers: Sequence[Judge]) -> None:
        self.bound, self.left, self.provers = bound, work, provers
        self.free: TierResult | None = None
        """What free symbols said last."""

    def holds(self, candidate: Rule) -> tuple[TierResult, ...]:
        """What the tiers say of a rule that holds as far as they can tell; nothing of one that does not."""
        if self.left <= 0:
            raise _Spent
        run = Run(candidate, self.left)
        free = self.free = run.all(self.bound)
        self.left -= run.used + 1
        if free.status != "ok" or not free.complete:
            return ()
        if check_random(candidate).status == "refuted":
            return ()
        results = [free]
        for prove in self.provers:
            results.append(prove(candidate))
            if results[-1].status in ("refuted", "rejected"):
                return ()
        return tuple(results)

    def knows_nothing_against(self, asked: Rule) -> bool:
        """Whether free symbols said nothing of the rule that was just asked of, and random models agree."""
        silent = self.free is not None and self.free.status == "skipped"
        return silent and check_random(asked).status == "ok"


def redundant_conditions(rule: Rule, *, bound: int = 3, provers: Sequence[Judge] = ()) -> list[str]:
    """The stated conditions without each of which the rule still holds, as far as all judges can tell.

    >>> from dataclasses import replace
    >>> from relift.rewrites.checks.guards import redundant_conditions
    >>> from relift.rewrites.library import RULES
    >>> redundant_conditions(replace(RULES["map_fusion"], where=()))
    []
    """
    redundant: list[str] = []
    for condition in rule.where:
        weaker = replace(rule, where=tuple(c for c in rule.where if c != condition))
        judges = (lambda r: check_free(r, bound=bound), *provers)
        said = (judge(weaker) for judge in judges)
        if all(result.status in ("ok", "proved") and result.complete for result in said):
            redundant.append(str(condition))
    return redundant


def _guard(texts: Sequence[str], rule: Rule, results: tuple[TierResult, ...]) -> Guard:
    return Guard(tuple(texts), rule.equation(), results)


# ---- sizes that types demand


def _well_typed(rule: Rule | RejectedRule) -> Iterator[tuple[tuple[str, ...], Rule]]:
    """The rule, or the rules that result when the failed obligations of an ill-typed one are granted."""
    if isinstance(rule, Rule):
        yield (), rule
        return
    again, error = rule.again, rule.error
    if again is None or not isinstance(error, Unproved):
        return
    queue: list[tuple[dict[str, Size], Unproved]] = [({}, error)]
    found: list[tuple[tuple[str, ...], Rule]] = []
    remade = 0
    while queue and len(found) < MOST_TYPED and remade < MOST_REMADE:
        sizes, failed = queue.pop(0)
        taken = {n for v in sizes.values() for n in v.names()} | sizes.keys()
        for name, value in _solutions(failed, taken):
            solved = {n: v.substitute({name: value}) for n, v in sizes.items()} | {name: value}
            remade += 1
            try:
                typed = again(solved)
            except Unproved as next_failed:
                if len(solved) <= MOST_SOLVED:
                    queue.append((solved, next_failed))
            except IllTyped:
                continue
            else:
                if all(v.surely_at_least(0) and (v != 0 or FRESH in n) for n, v in solved.items()):
                    texts = _described(solved, typed)
                    if not any(FRESH in text for text in texts):  # nobody knows what it would be
                        found.append((texts, _named(typed)))
    yield from sorted(found, key=_strength)


def _strength(item: tuple[tuple[str, ...], Rule]) -> tuple[int, int, int]:
    """Weak guards first: those that fix no size, then those of few conditions and few words."""
    texts, _ = item
    return sum(" is " in t for t in texts), len(texts), sum(map(len, texts))


def _solutions(failed: Unproved, taken: set[str]) -> Iterator[tuple[str, Size]]:
    """Ways to grant an obligation: a name, and what it must stand for."""
    left, right = failed.left, failed.right
    c = _fresh(left.names() | right.names() | taken)
    match failed.relation:
        case "divides":
            rest = Size({m: n for m, n in right.terms.items() if not _divides(left, Size({m: n}))})
            yield from _solved(rest - c * left, c)
            products = {a for m in rest.terms if len(m) > 1 for a in Size({m: 1}).names()}
            for name in sorted(products - left.names()):
                yield name, c * left
        case "equals":
            yield from _solved(right - left, c)
        case "at most":
            yield from _solved(right - left - c, c)
            for name in sorted(right.names() | left.names()):
                yield name, c + 1


def _divides(left: Size, right: Size) -> bool:
    return right.divided_by(left) is not None


def _solved(zero: Size, fresh: Size) -> Iterator[tuple[str, Size]]:
    """The names that make a size 0, each with what it must stand for."""
    for name in sorted(zero.names() - fresh.names()):
        linear = zero.linear_in(name)
        value = None if linear is None else (-linear[1]).divided_by(linear[0])
        if value is not None:
            yield name, value


def _described(sizes: Mapping[str, Size], typed: Rule) -> tuple[str, ...]:
    """How it reads that names stand for these sizes; sizes that had to be made up are not named.

    `u = size + c*step` and `v = (c + 1)*step` read `step divides u - size` and `v equals u - size + step`.
    """
    own = {n: v for n, v in sizes.items() if not FRESH in n}
    made_up = {n for v in own.values() for n in v.names() if FRESH in n}
    found: list[str] = []
    meaning: dict[
        str, tuple[Size, Size]
    ] = {}  # of a made-up size: factor * size, in the rule's own sizes
    for name, value in sorted(own.items()):
        used = [c for c in sorted(made_up) if c in value.names()]
        if not used:
            found.append(f"{name} {'is' if value.constant is not None else 'equals'} {value}")
            continue
        linear = value.linear_in(used[0])
        if len(used) > 1 or linear is None:
            found.append(f"{name} equals {value}")
            continue
        factor, offset = linear
        if used[0] in meaning and _divides(meaning[used[0]][0], factor):
            known_factor, product = meaning[used[0]]
            found.append(f"{name} equals {factor // known_factor * product + offset}")
            continue
        meaning.setdefault(used[0], (factor, Size.atom(name) - offset))
        if factor == 1:
            found += [f"{offset} is at most {name}"] * (
                offset != 0 and not (offset == 1 and value in typed.divisors)
            )
        else:
            found.append(f"{factor} divides {_difference(Size.atom(name), offset)}")
    return tuple(found)


def _difference(size: Size, offset: Size) -> str:
    return f"{size} - {offset}" if offset != 0 and len(offset.terms) == 1 else str(size - offset)


FRESH = "'"
"""What the name of a made-up size has, and no name of a user's."""


def _fresh(taken: set[str] | frozenset[str]) -> Size:
    return Size.atom(
        next(c for c in (f"c{FRESH}{i}" for i in itertools.count(1)) if c not in taken)
    )


def _named(rule: Rule) -> Rule:
    """The rule with letters of its own for sizes that were made up, which its equation shows."""
    taken = {*rule.sizes, *rule.parameters, *rule.types}
    letters = (
        f"{c}{i or ''}" for i in itertools.count() for c in "kqrt" if f"{c}{i or ''}" not in taken
    )
    names = {name: Size.atom(letter) for name, letter in _pairs(rule, letters)}
    return specialised(rule, names) if names else rule


def _pairs(rule: Rule, letters: Iterator[str]) -> Iterator[tuple[str, str]]:
    for name in rule.sizes:
        if FRESH in name:
            yield name, next(letters)


# ---- the menu


def _conjunctions(rule: Rule) -> Iterator[tuple[Conjunct, ...]]:
    """Few conditions before many; those that restrict sizes to few values come last of all."""
    weakest = list(_not_empty(rule))
    laws, sizes, strict = _laws(rule), list(_size_relations(rule)), list(_size_values(rule))
    menus = (weakest, laws, [*weakest, *laws, *sizes], [*weakest, *laws, *sizes, *strict])
    seen: set[tuple[str, ...]] = set()
    for menu in menus:
        for count in range(1, min(len(menu), MOST if menu is laws else 2) + 1):
            for conjuncts in itertools.combinations(menu, count):
                texts = tuple(c.text for c in conjuncts)
                if texts not in seen:
                    seen.add(texts)
                    yield conjuncts


def _with(rule: Rule, conjuncts: Sequence[Conjunct]) -> Rule | None:
    try:
        for conjunct in conjuncts:
            rule = conjunct.change(rule)
    except IllTyped:
        return None
    return _named(rule)


def _laws(rule: Rule) -> list[Conjunct]:
    """Laws that the rule does not state, and variables that its functions might not use."""
    menu: list[tuple[Condition | IndexCondition, str]] = []
    kinds = rule.parameters
    for name, kind in kinds.items():
        if isinstance(kind, OperatorKind):
            menu.append((associative(name), f"{name} is associative"))
            menu += [
                (neutral(name, z), f"{z} is neutral for {name}")
                for z, of in kinds.items()
                if of == kind.element
            ]
            menu.append((commutative(name), f"{name} is commutative"))
    for name, kind in kinds.items():
        if isinstance(kind, OperatorKind):
            menu.append((idempotent(name), f"{name} is idempotent"))
            menu += [
                (law(name, plus), f"{name} {says} over {plus}")
                for law, says in ((distributive, "distributes"), (telescoping, "telescopes"))
                for plus, of in kinds.items()
                if of == kind and plus != name
            ]
        if isinstance(kind, IndexKind):
            menu.append((bijective(name), f"{name} is a permutation"))
            menu += [
                (
                    inverse(name, q),
                    f"{name} and {q} are inverse" if name != q else f"{name} is its own inverse",
                )
                for q, of in kinds.items()
                if of == kind and q >= name
            ]
    found = [Conjunct(text, _stating(law)) for law, text in menu if law not in rule.where]
    for name, kind in kinds.items():
        if isinstance(kind, FunctionKind) and len(kind.arguments) > 1:
            for i in range(len(kind.arguments)):
                text = f"argument {i + 1} is not free in {name}"
                found.append(Conjunct(text, _ignoring(name, i)))
    return found


def _stating(condition: Condition | IndexCondition) -> Change:
    return lambda rule: replace(rule, where=(*rule.where, condition))


def _ignoring(name: str, index: int) -> Change:
    return lambda rule: without_argument(rule, name, index)


def _at(sizes: Mapping[str, Size]) -> Change:
    return lambda rule: specialised(rule, sizes)


def _not_empty(rule: Rule) -> Iterator[Conjunct]:
    """A size is at least 1."""
    for name in rule.sizes:
        if not Size.atom(name).surely_at_least(1) and rule.least.get(name, 0) < 1:
            yield Conjunct(f"{name} is at least 1", _at({name: Size.atom(name) + 1}))


def _size_relations(rule: Rule) -> Iterator[Conjunct]:
    """A size divides another, or is at most it."""
    c = _fresh(set(rule.sizes))
    for a, b in itertools.permutations(rule.sizes, 2):
        yield Conjunct(f"{a} divides {b}", _at({b: c * Size.atom(a)}))
        yield Conjunct(f"{a} is at most {b}", _at({b: Size.atom(a) + c}))


def _size_values(rule: Rule) -> Iterator[Conjunct]:
    """Two sizes are equal; a size is at most a number that the rule names, or 1, or is 0 or 1."""
    for a, b in itertools.combinations(rule.sizes, 2):
        yield Conjunct(f"{a} equals {b}", _at({b: Size.atom(a)}))
    numbers = {k for number in Instances(rule).numbers for k in (number - 1, number)}
    for name in rule.sizes:
        for number in sorted(numbers, reverse=True):
            yield Conjunct(f"{name} is at most {number}", _bounded(name, number))
        yield Conjunct(f"{name} is at most 1", _bounded(name, 1))
    for name, value in itertools.product(rule.sizes, (1, 0)):
        yield Conjunct(f"{name} is {value}", _at({name: Size.of(value)}))


def _bounded(name: str, most: int) -> Change:
    return lambda rule: replace(rule, bounds=(*rule.bounds, Bound(most - Size.atom(name), 0)))
