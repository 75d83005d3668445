"""Tier 3: the interpreter on free symbols, for every size up to a bound.

An element is a term of the free algebra over the metavariables: data are generators, functions are free,
and an operator obeys its declared laws and no others:

    associative                   words               op(a, b, c)
    associative, commutative      sorted words
    neutral                       its element is dropped from words and trees
    idempotent                    op(t, t) is t in trees; of sorted words each letter is kept once
    associative, idempotent       words, equal where Green and Rees say so (see `algebra.Bands`)
    distributive                  sums of products, the sum being sorted words
    none                          trees               op(op(a, b), c)

Two elements are equal in this algebra exactly when they are equal in every model of the laws, so one run
proves the rule for its sizes, for all types, data, functions and operators at once.  Of a few sets of laws
no normal form is known here (see `undecided`); then equal elements are still equal in every model, but a
difference counts only when a model shows it.  Index metavariables stand for every map, or
permutation, of their indices in turn.  Each unspecified cell is a generator of its own; see `algebra.covers`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace

from relift.rewrites.checks.free.algebra import (
    Algebra,
    FreeOperator,
    Symbolic,
    covers,
    freeze,
    open_in_words,
)
from relift.rewrites.checks.instances import (
    Difference,
    Instances,
    compare,
    counterexample,
    show_value,
)
from relift.rewrites.checks.random.models import confirm_difference
from relift.rewrites.checks.smt.tables import Table, all_tables, looked_up
from relift.rewrites.checks.verdicts import Counterexample, Status, TierResult
from relift.rewrites.rule import Rule
from relift.semantics.domains import Value
from relift.semantics.errors import Undefined, Unsupported, nesting_deeply
from relift.semantics.interpreter import World
from relift.semantics.syntax.signatures import FunctionKind, IndexKind, NatKind, OperatorKind
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import (
    Apply,
    BinaryOperator,
    Call,
    Literal,
    innermost,
    operator_of,
    subterms,
)
from relift.semantics.syntax.types import AnyType, Scalar, Type, TypeVariable

LARGEST = 20_000
"""An instance with an array of more cells than this is left out, and the result says so."""


def free_world(
    rule: Rule,
    sizes: Mapping[str, int],
    tables: Mapping[str, Table] | None = None,
    algebra: Algebra | None = None,
) -> tuple[World, dict[str, str]]:
    """Every metavariable as freely as its laws allow, and how that is shown.

    Index metavariables are what `tables` says.  Raises `Unsupported` for laws of operators on arrays.
    """
    algebra = algebra or Algebra()
    world = World(sizes=sizes, domain=Symbolic(algebra))
    values: dict[str, Value] = {}
    shown: dict[str, str] = {}
    stems = _stems(rule)
    for name, kind in rule.parameters.items():
        match kind:
            case FunctionKind(_, result):
                values[name] = _free_function(algebra, name, result, world.size)
                shown[name] = "any function"
            case OperatorKind() | NatKind():
                pass
            case IndexKind():
                table = (tables or {})[name]
                values[name], shown[name] = looked_up(name, table), f"lambda i: {list(table)}[i]"
            case AnyType():
                values[name] = algebra.value(kind, world.size, stems[name])
                shown[name] = show_value(values[name])
    operators = {n: kind for n, kind in rule.parameters.items() if isinstance(kind, OperatorKind)}
    for name in sorted(operators, key=lambda n: any(c.over for c in rule.laws(n))):
        kind = operators[name]
        values[name], shown[name] = _free_operator(rule, algebra, name, kind, values, world)
    ordered = {name: shown[name] for name in rule.parameters if name in shown}
    return replace(world, metavariables=values), ordered


def _stems(rule: Rule) -> dict[str, str]:
    """Short names of elements: those of xs are x0, x1, ... unless another name is that short."""
    short = {name: name.rstrip("s") or name for name in rule.parameters}
    counts = Counter([*short.values(), *rule.parameters])
    return {
        name: stem if stem != name and counts[stem] == 1 else name for name, stem in short.items()
    }


def _free_function(
    algebra: Algebra, name: str, result: Type, size: Callable[[Size], int]
) -> Callable[..., Value]:
    return lambda *xs: algebra.value(result, size, name, tuple(map(freeze, xs)))


def _free_operator(
    rule: Rule,
    algebra: Algebra,
    name: str,
    kind: OperatorKind,
    values: Mapping[str, Value],
    world: World,
) -> tuple[Callable[..., Value], str]:
    conditions = rule.laws(name)
    if not isinstance(kind.element, Scalar | TypeVariable):
        if conditions:
            raise Unsupported(
                f"{conditions[0]}: {name} works on {kind.element}; laws are checked on free symbols "
                "for operators on single elements only",
                place="",
            )
        return _free_function(algebra, name, kind.element, world.size), "any operator"
    units = {c.element for c in conditions if c.element is not None}
    if len(units) > 1:
        raise Unsupported(
            f"{name} has two neutral elements, {' and '.join(sorted(units))}, so they are equal; "
            "use one name",
            place="",
        )
    unit = values[units.pop()] if units else None
    laws = {c.law for c in conditions}
    sums = [c.over for c in conditions if c.law == "distributive" and c.over is not None]
    free = FreeOperator(algebra, name, laws, unit, values.get(sums[0]) if sums else None)
    return free, free.describe()


LARGEST_BAND = 60
"""The same for rules with an operator of which words are bands, whose classes take the cube of their length."""


def has_bands(rule: Rule) -> bool:
    """Whether an operator is associative and idempotent, but not commutative."""
    laws = [{c.law for c in rule.laws(name)} for name in rule.parameters]
    return any(of >= {"associative", "idempotent"} and "commutative" not in of for of in laws)


def undecided(rule: Rule) -> list[str]:
    """The operators whose laws have a normal form that is not known here, each with the reason.

    What has one normal form is equal by the laws, but what has two may be, too.

    Idempotent: in trees op(t, t) -> t has no overlaps, so it ends in one normal form; sorted words are
    multisets, and become sets; of other words see `Bands`.
    Distributive: sums multiply out to one sum of products if sums are multisets, or sets.  In other sums
    (a + b)(c + d) multiplies out in two ways; with a neutral element 0 of sums x*0 is no sum of products;
    an idempotent product, or one over two sums, equates sums in still more ways.
    Telescoping: a difference is the sum of any chain of differences with its ends.
    """
    found: list[str] = []
    for name, kind in rule.parameters.items():
        if not isinstance(kind, OperatorKind):
            continue
        laws = {c.law for c in rule.laws(name)}
        sums = [c.over for c in rule.laws(name) if c.law == "distributive" and c.over is not None]
        of_sums = {c.law for plus in sums for c in rule.laws(plus)}
        multiplied_out = of_sums >= {"associative", "commutative"} and len(sums) == 1
        beyond = of_sums & {"neutral", "distributive"} or "idempotent" in laws
        if "telescoping" in laws or (sums and (beyond or not multiplied_out)):
            found.append(" and ".join(str(c) for c in rule.laws(name)))
    return found


WORK = 2_000_000
"""How many symbols a rule is given: some seconds, but as many on every machine."""

EACH = 200
"""For how many symbols an instance stands that makes few: a rule of nine sizes has 3^9 of them."""


def check_free(
    rule: Rule, *, bound: int = 3, work: int = WORK, largest: int = LARGEST
) -> TierResult:
    """Both sides on free symbols, for every size up to `bound`, smallest first, and near the rule's numbers.

    A rule that says `i // 1000` may hold below 1000 only; so sizes beside the numbers of the rule are tried as
    well.  What stops the tier is `work`, the number of symbols made, and never a clock.

    >>> from relift.rewrites.checks.free.tier import check_free
    >>> from relift.rewrites.library import RULES
    >>> check_free(RULES["split_join"]).detail
    'exhaustive to 3, 12 instances'
    """
    start = time.monotonic()
    run = Run(rule, work, largest)
    found = run.all(bound)
    return replace(found, seconds=time.monotonic() - start)


class Run:
    """The instances of a rule on free symbols: what was tried, and what was seen."""

    def __init__(self, rule: Rule, work: int = WORK, largest: int = LARGEST) -> None:
        self.rule, self.work = rule, work
        self.most_cells = min(largest, LARGEST_BAND) if has_bands(rule) else largest
        self.instances = Instances(rule)
        self.meanings, self.unknown = interpreted(rule), undecided(rule)
        self.tried = self.too_large = self.without = self.used = 0
        self.with_cells = self.needs_laws = False

    def all(self, bound: int) -> TierResult:
        """Every size up to a bound, by rising total; then the sizes beside the numbers of the rule."""
        with nesting_deeply():  # a result may be a symbol of a symbol of a symbol
            return self._all(bound)

    def _all(self, bound: int) -> TierResult:
        reached, complete = f"exhaustive to {bound}", True
        for sizes in self.instances.assignments(bound):
            answer = self.at(sizes)
            if answer is not None:
                return answer
            if self.used > self.work:
                reached = f"exhaustive to total size {sum(sizes.values()) - 1} in {self.work} steps"
                complete = False
                break
        if not self.rule.sizes:
            reached = "exhaustive, there are no sizes"
        near = 0
        for sizes in self.instances.near_numbers(bound) if complete else ():
            answer = self.at(sizes)
            if answer is not None:
                return answer
            near += 1
        return self._passed(bound, reached, complete, near)

    def at(self, sizes: Mapping[str, int]) -> TierResult | None:
        """What the tier says if it ends at these sizes; None where it goes on."""
        if self.instances.largest(sizes) > self.most_cells:
            self.too_large += 1
            return None
        for tables in all_tables(self.rule, sizes):
            if self.used > self.work and self.tried:
                return None
            algebra = Algebra()
            try:
                world, data = free_world(self.rule, sizes, tables, algebra)
                difference = compare(self.rule, world, covers)
            except Unsupported as error:
                return _result("skipped", error.message)
            except Undefined:
                self.without += 1
                continue
            finally:
                self.used += algebra.work + self.instances.largest(sizes) + EACH
            self.tried += 1
            if difference is not None:
                return self._different(difference, sizes, data)
        self.with_cells = self.with_cells or self.instances.result_cells(sizes) > 0
        return None

    def _different(
        self, difference: Difference, sizes: Mapping[str, int], data: Mapping[str, str]
    ) -> TierResult | None:
        """A difference counts where symbols tell all; otherwise a model must show it."""
        self.with_cells = self.with_cells or self.instances.result_cells(sizes) > 0
        if open_in_words((difference.left, difference.right)):
            return _result(
                "skipped", "free symbols cannot tell what fills a cell inside an operator"
            )
        if self.meanings or self.unknown:
            confirmed = confirm_difference(self.instances, sizes)
            if confirmed is not None:
                return _result("refuted", confirmed.obligation, confirmed)
            self.needs_laws = True
            return None
        found = counterexample(self.instances, sizes, data, difference)
        return _result("refuted", found.obligation, found)

    def _passed(self, bound: int, reached: str, complete: bool, near: int) -> TierResult:
        if self.needs_laws and self.meanings:
            by = f"by what {', '.join(self.meanings)} mean, and free symbols mean nothing"
            return _result("skipped", f"the sides agree only {by}", needs_arithmetic=True)
        if self.needs_laws:
            which = self.unknown[0]
            return _result("skipped", f"free symbols cannot tell whether {which} equates the sides")
        if self.without and not self.tried:
            return _result("skipped", f"neither side has a value at any sizes up to {bound}")
        if not self.with_cells:
            why = f"no sizes up to {bound} give a result with a cell; raise the bound"
            if self.too_large:
                why = f"its arrays have more than {self.most_cells} cells"
            return _result("skipped", why)
        if near:
            reached += f" and beside {', '.join(map(str, self.instances.numbers))}"
        if self.too_large:
            reached += f" but for {self.too_large} instances of more than {self.most_cells} cells"
        if self.without:
            reached += f"; neither side has a value in {self.without} others"
        said = f"{reached}, {self.tried} instance{'s' * (self.tried != 1)}"
        return replace(_result("ok", said), complete=complete and not self.too_large)


def _result(
    status: Status,
    detail: str,
    found: Counterexample | None = None,
    needs_arithmetic: bool = False,
) -> TierResult:
    return TierResult(
        "3", "free", status, detail, counterexample=found, needs_arithmetic=needs_arithmetic
    )


def interpreted(rule: Rule) -> list[str]:
    """What a rule names that has a meaning of its own: scalar functions, operators, user functions, numbers."""
    found: set[str] = set()
    for side in (rule.left, rule.right):
        for t, _ in subterms(side):
            if isinstance(t, Apply):
                found.add(t.function)
            elif isinstance(t, Call):
                found.add(t.function.name)
            elif isinstance(t, Literal):
                found.add(repr(t.value))
            elif (operator := operator_of(t)) is not None and isinstance(
                inner := innermost(operator), BinaryOperator
            ):
                found.add(inner.name)
    return sorted(found)
