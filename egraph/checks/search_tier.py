"""Tier 5 of rule checking: a rule in the e-graph does what its equation says, and nothing else.

The left side is grounded at small sizes, its metavariables staying opaque, and the rule is fired once.  Then

    members   random members of the class are typed again and compared with the interpreter
    scope     a term that breaks one derived scope premise must not fire
    names     a term that already uses a name that the rule would move it under must not fire, nor must one
              in which two binders that the rule brings together have one name

This checks the encoding for egglog, which a proof of the equation says nothing about.
"""

from __future__ import annotations

import hashlib
import itertools
import operator as operator_
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from relift.egraph.checks.bench import ARITY, Bench
from relift.egraph.checks.search_verdicts import DirectionVerdict, SearchVerdict
from relift.egraph.encode.constructors import arity_of
from relift.egraph.encode.equations import NotSearchable
from relift.egraph.encode.prelude import laws_text
from relift.egraph.encode.rules import EncodedRule, encode_rule
from relift.egraph.encode.snapshot import Dump, Names, Snapshot
from relift.egraph.encode.terms import quoted, term_text, type_text
from relift.egraph.process.children import SearchFailed
from relift.egraph.process.saturation import names_of
from relift.rewrites.checks.instances import Instances
from relift.rewrites.checks.random.models import equality_for
from relift.rewrites.checks.verdicts import Direction
from relift.rewrites.rule import Rule
from relift.semantics.domains import Exact, Numeric
from relift.semantics.errors import IllTyped, Undefined
from relift.semantics.interpreter import World, evaluate
from relift.semantics.language.vocabulary import add, operator, select
from relift.semantics.syntax.binding import map_children
from relift.semantics.syntax.signatures import FunctionKind, IndexKind, NatKind, OperatorKind
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.substitution import Substitution
from relift.semantics.syntax.terms import (
    BinaryOperator,
    Lambda,
    Literal,
    Metavariable,
    Term,
    UserFunction,
    Var,
    children,
    free_variables,
    subterms,
)
from relift.semantics.syntax.types import (
    AnyType,
    Array,
    Scalar,
    Tuple,
    Type,
    TypeVariable,
    Vector,
    boolean,
    cells,
    i32,
)

_SIZES = ((2, 3), (2, 3, 4), (3, 2), (4, 2), (2, 2), (3, 3))
_CHOICES = (2, 3, 4)
_SAMPLES = 40
_WORLDS = 6
_DRAWN = 60
"""How many worlds are drawn at most until the term has a value in enough of them; the later ones have small
numbers only, which are indices of most arrays."""
_MOST_CELLS = 2000
"""A term with an array of more cells is not tried."""


def check_search(rule: Rule, bench: Bench | None = None) -> SearchVerdict:
    """Check a rule in both directions; a bench that is given is reused."""
    arity = arity_of((rule.left, rule.right)) + 1  # a mutant has one argument more
    if bench is None or bench.arity < arity:
        with Bench(arity=max(ARITY, arity)) as own:
            return check_search(rule, own)
    return SearchVerdict(
        rule.name,
        _check_direction(rule, "forward", bench),
        _check_direction(rule, "backward", bench),
    )


def _check_direction(rule: Rule, direction: Direction, bench: Bench) -> DirectionVerdict:
    try:
        encoded = encode_rule(rule, direction)
    except NotSearchable as reason:
        return DirectionVerdict(direction, reason=str(reason))
    verdict = DirectionVerdict(direction)
    for trial in _trials(rule, direction, encoded, bench):
        if trial.fire(trial.term).fired:
            verdict = trial.verdict()
            if verdict.members > 1:
                break
    return verdict


@dataclass(frozen=True)
class _Fired:
    """An e-graph in which a rule was tried once."""

    dump: Dump
    fired: bool
    row: tuple[Any, ...]


@dataclass
class Trial:
    """A rule in one direction, its matched side at given sizes, and one value for sizes left open.

    `encoded` may be another encoding of the rule, for tests that show which premises matter.
    """

    rule: Rule
    direction: Direction
    encoded: EncodedRule
    substitution: Substitution
    operators: Mapping[str, BinaryOperator]
    functions: Mapping[str, UserFunction]
    choice: int
    bench: Bench

    @property
    def matched(self) -> Term:
        return self.rule.side(self.direction)[0]

    @property
    def term(self) -> Term:
        """The matched side, ground."""
        return self.substitution.term(self.matched)

    def fire(self, t: Term, rename: Mapping[str, str] | None = None) -> _Fired:
        """Fire the rule once on a term; `rename` puts names of egglog in place of names of Python."""
        text = term_text(t)
        for old, new in (rename or {}).items():
            text = text.replace(old, new)
        demand = "" if self.encoded.demand is None else f"(run {self.encoded.demand})"
        dump = self.bench.run(
            laws_text({name: o.laws for name, o in self.operators.items()})
            + self.encoded.text
            + f"(tile {self.choice})(lanes {self.choice})(let $root {text})"
            + f"(run-schedule (saturate (run analysis)) {demand} (saturate (run analysis)))"
            + f"(run-schedule (run {self.encoded.ruleset}))"
            + "(run-schedule (repeat 8 (saturate (run analysis)) (run substitution)))"
            + "(run-schedule (saturate (run analysis)))",
            self.encoded,
        )
        rows = dump.rows.get(self.encoded.log.relation, [])
        return _Fired(dump, bool(rows), rows[0] if rows else ())

    # ---- the three checks

    def verdict(self) -> DirectionVerdict:
        """All three checks."""
        members, wrong = self.compare()
        scope = list(self.scope_mutants())
        names = list(self.name_mutants())
        return DirectionVerdict(
            self.direction,
            fired=True,
            members=members,
            wrong=wrong,
            scope_mutants=len(scope),
            scope_fired=sum(self.fire(*mutant).fired for mutant in scope),
            name_mutants=len(names),
            name_fired=sum(self.fire(*mutant).fired for mutant in names),
        )

    def compare(self) -> tuple[int, int]:
        """How many distinct random members of the class were compared, and how many are wrong."""
        fired = self.fire(self.term)
        snapshot = Snapshot(
            fired.dump,
            arity=self.bench.arity,
            operators=self.operators,
            functions=self.functions,
        )
        worlds, expected = self._defined()
        rng = random.Random(0)
        seen: dict[Term, bool] = {}
        for _ in range(_SAMPLES):
            try:
                t = snapshot.sample(snapshot.root, rng)
            except IllTyped:
                return len(seen) + 1, sum(seen.values()) + 1
            if t not in seen:
                seen[t] = self._differs(t, worlds, expected)
        return len(seen), sum(seen.values())

    def _defined(self) -> tuple[list[World], list[Any]]:
        """Worlds in which the term has a value, and the values: an index that is data is not always in range."""
        worlds: list[World] = []
        expected: list[Any] = []
        # a user's function means what its Python computes, which knows floats, and no free sqrt
        domain = Numeric() if self.rule.calls_user_functions else Exact()
        for seed in range(_DRAWN):
            world = World(metavariables=self._meanings(seed), domain=domain)
            try:
                expected.append(evaluate(self.term, world))
            except Undefined:
                continue
            worlds.append(world)
            if len(worlds) == _WORLDS:
                break
        return worlds, expected

    def _differs(self, t: Term, worlds: Sequence[World], expected: Sequence[Any]) -> bool:
        if free_variables(t) or t.type != self.term.type:
            return True
        pairs = zip(worlds, expected, strict=True)
        return any(self._differs_in(t, world, value) for world, value in pairs)

    def _differs_in(self, t: Term, world: World, value: Any) -> bool:
        """Whether a term is not worth this; where a function of the user's has a value, the other side may have none."""
        own = self.rule.calls_user_functions
        same = equality_for(self.rule) if own else operator_.eq
        try:
            return not same(evaluate(t, world), value)
        except Undefined:
            return not own

    def _meanings(self, seed: int) -> dict[str, Any]:
        """Opaque functions and data: different arguments mostly give different numbers."""
        found: dict[str, Any] = {}
        for name, kind in self.rule.parameters.items():
            match kind:
                case FunctionKind(_, result):
                    found[name] = _opaque_function((seed, name), self.substitution.type(result))
                case OperatorKind() | NatKind() | IndexKind():
                    pass
                case AnyType():
                    found[name] = _value(
                        self.substitution.type(kind), (seed, name), seed >= _WORLDS
                    )
        return found

    def scope_mutants(self) -> Iterator[tuple[Term, dict[str, str]]]:
        """For each scope premise, the matched side with a metavariable that breaks it."""
        for name, index in self.encoded.scope:
            t = self._mutant(name, self._binders[index])
            if t is not None and not free_variables(t):
                yield t, {}

    def name_mutants(self) -> Iterator[tuple[Term, dict[str, str]]]:
        """The matched side using a name that the rule moves it under, and with binders of one name."""
        log = self.encoded.log
        row = self.fire(self.term)
        logged = row.row[len(log.sorts) - len(log.names) :]
        for name, index in self.encoded.moved:
            if index < len(self._binders):
                t = self._mutant(name, self._binders[index])
                if t is not None and free_variables(t):
                    yield t, {}
            else:
                t = self._mutant(name, Var("taken", i32))
                if t is not None:
                    marker = f"(V {quoted('taken')} {type_text(i32)})"
                    yield t, {marker: _name_text(row.dump, logged[index])}
        for i, j in self.encoded.distinct:
            x, y = self._binders[i], self._binders[j]
            if self.substitution.type(x.type) == self.substitution.type(y.type):
                yield self.term, {f"(V {quoted(y.name)} ": f"(V {quoted(x.name)} "}

    @property
    def _binders(self) -> list[Var]:
        """The binders of the matched side, in the order of the log."""
        return list(_binders(self.matched))

    def _mutant(self, name: str, extra: Var) -> Term | None:
        """The matched side, ground, where a metavariable uses one more name; None for a literal."""
        if name in self.substitution.functions:
            return None
        return self.substitution.term(_with_argument(self.matched, name, extra))


def _trials(
    rule: Rule, direction: Direction, encoded: EncodedRule, bench: Bench
) -> Iterator[Trial]:
    """Trials at small sizes, until one fires."""
    for sizes, choice in itertools.product(_SIZES, _CHOICES if encoded.log.chosen else (2,)):
        try:
            trial = make_trial(rule, direction, encoded, bench, sizes, choice)
            free_variables(trial.term)
            if any(_has_many_cells(trial.substitution.term(side)) for side in rule.side(direction)):
                continue
        except IllTyped:
            continue
        yield trial


def _has_many_cells(t: Term) -> bool:
    """Whether a ground term has an array that is too large to be computed."""
    return any((cells(u.type).constant or 0) > _MOST_CELLS for u, _ in subterms(t))


def too_large(rule: Rule) -> bool:
    """Whether a rule has arrays that are too large to be computed, whatever its open sizes are."""
    return any(_has_many_cells(side) for side in (rule.left, rule.right)) or all(
        Instances(rule).largest(dict.fromkeys(rule.sizes, size)) > _MOST_CELLS for size in (1, 2)
    )


def make_trial(
    rule: Rule,
    direction: Direction,
    encoded: EncodedRule,
    bench: Bench,
    sizes: tuple[int, ...] = (2, 3),
    choice: int = 2,
) -> Trial:
    """A trial at the given sizes, taken in turn; raises `IllTyped` when they do not fit."""
    operators = lawful_operators(rule)
    neutral: dict[str, Lambda] = {}
    for condition in rule.laws():
        if condition.element is not None:
            value = operators[condition.operator].laws.neutral
            assert value is not None, "cannot happen: the operator was chosen to have one"
            neutral[condition.element] = Lambda((), Literal(value, i32))
    substitution = Substitution(
        dict.fromkeys(rule.types, i32),
        {
            n: Size.of(max(v, rule.least.get(n, 0)))
            for n, v in zip(rule.sizes, itertools.cycle(sizes), strict=False)
        },
        neutral,
        operators,
    )
    own, functions = names_of((rule.left, rule.right))
    by_name = {**own, **{o.name: o for o in operators.values()}}
    return Trial(rule, direction, encoded, substitution, by_name, functions, choice, bench)


def lawful_operators(rule: Rule) -> dict[str, BinaryOperator]:
    """An operator on whole numbers for each that a rule speaks of, which obey the laws that it asks for."""
    operators: dict[str, BinaryOperator] = {}
    for name, kind in rule.parameters.items():
        if isinstance(kind, OperatorKind):
            laws = frozenset(c.law for c in rule.laws(name))
            of_others = frozenset(c.law for c in rule.laws() if c.over == name)
            operators[name] = under_others(laws, of_others) if of_others else lawful_operator(laws)
    for condition in rule.laws():
        if condition.over is not None:
            laws = frozenset(c.law for c in rule.laws(condition.operator))
            operators[condition.operator] = over_another(laws, operators[condition.over])
    return operators


@cache
def lawful_operator(laws: frozenset[str]) -> BinaryOperator:
    """An operator on whole numbers that obeys these laws, and no other where there is such a one."""
    if laws == frozenset(("associative", "neutral")):
        return operator(
            lambda x, y: select(x < 0, x, select(x > 0, x, y)),
            associative=True,
            neutral=0,
            name="first_nonzero",
        )
    if laws == frozenset(("neutral",)):
        return operator(lambda x, y: x + y + x * x * y, neutral=0, name="skew_sum")
    if laws == frozenset(("commutative",)):
        return operator(lambda x, y: x * y + 1, commutative=True, name="product_and_one")
    if laws == frozenset(("idempotent",)):
        return operator(lambda x, y: 2 * x - y, idempotent=True, name="reflection")
    if laws == frozenset(("idempotent", "associative")):
        return operator(lambda x, y: x + 0 * y, associative=True, idempotent=True, name="first")
    if "idempotent" in laws:
        return operator(
            lambda x, y: x & y,
            associative=True,
            commutative=True,
            neutral=-1,
            idempotent=True,
            name="both_bits",
        )
    if laws:
        return add
    return operator(lambda x, y: x - 2 * y, name="lawless")


def under_others(laws: frozenset[str], of_others: frozenset[str]) -> BinaryOperator:
    """An operator with these laws, over which others have laws: a product distributes over it, a difference telescopes.

    The product distributes over each of `lawful_operator`, but for those that only commute or have a neutral element, or
    are idempotent and have more laws.
    """
    if "telescoping" in of_others or laws == frozenset(("commutative",)):
        return add
    regrouped = frozenset(("associative",)) if laws == frozenset(("neutral",)) else frozenset()
    return lawful_operator(laws | regrouped)


def over_another(laws: frozenset[str], plus: BinaryOperator) -> BinaryOperator:
    """An operator with the laws that it has over one of `under_others`, as a product and a difference have."""
    if "telescoping" in laws:
        return operator(lambda x, y: x - y, telescopes_over=(plus,), name="difference")
    return operator(
        lambda x, y: x * y,
        associative="associative" in laws,
        commutative="commutative" in laws,
        neutral=1 if "neutral" in laws else None,
        distributes_over=(plus,),
        name="product",
    )


def _binders(t: Term) -> Iterator[Var]:
    """The binders of a term in the order of its text."""
    for _, child in children(t):
        if isinstance(child, Lambda):
            yield from child.parameters
            child = child.body
        yield from _binders(child)


def _with_argument(t: Term, name: str, extra: Var) -> Term:
    """`t` with one more argument for a metavariable, so that what it stands for uses it."""

    def change(u: Term) -> Term:
        if isinstance(u, Metavariable) and u.name == name:
            return Metavariable(name, (*map(change, u.arguments), extra), u.type)
        return map_children(u, change, lambda f: Lambda(f.parameters, change(f.body)))

    return change(t)


def _name_text(dump: Dump, number: int) -> str:
    """A name as egglog text."""
    for text, t, owner in dump.rows.get("V", ()):
        if owner == number:
            return f"(V {quoted(text)} {_type_text(dump, t)})"
    for text, parent, t, owner in dump.rows.get("Fr", ()):
        if owner == number:
            return f"(Fr {quoted(text)} {_name_text(dump, parent)} {_type_text(dump, t)})"
    raise AssertionError("cannot happen: a name without a row")


def _type_text(dump: Dump, number: int) -> str:
    return type_text(Names(dump, {}, ()).type(number))


def _opaque_function(key: object, result: Type) -> Any:
    def meaning(*arguments: Any) -> Any:
        return _value(result, (key, repr(arguments)))

    return meaning


def _value(t: Type, key: object, small: bool = False) -> Any:
    """A value of a type that depends on the key as if at random; small ones are 0, 1 and 2."""
    match t:
        case Array(element, n) | Vector(element, n):
            return [_value(element, (key, i), small) for i in range(n.constant or 0)]
        case Tuple(parts):
            return tuple(_value(part, (key, i), small) for i, part in enumerate(parts))
        case Scalar():
            digest = hashlib.sha256(repr(key).encode()).digest()
            if t == boolean:  # of other numbers, both may stand for truth and have no bit in common
                return bool(digest[0] % 2)
            if small:
                return digest[0] % 3
            if digest[2] % 3 == 0:  # for operators that treat zero in a way of their own
                return 0
            return int.from_bytes(digest[:2], "big") % 199 - 99
        case TypeVariable():
            raise AssertionError(f"cannot happen: a value of type {t}")


__all__ = [
    "DirectionVerdict", "SearchFailed", "SearchVerdict", "Trial", "check_search",
    "make_trial", "too_large",
]  # fmt: skip
