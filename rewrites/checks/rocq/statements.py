"""Rules as statements for the Rocq prover, generated from the rule object.

A statement is fully relational.  Each type variable A comes with a partial equivalence R_A; each metavariable
is a related pair x, x' (also functions, operators and single values); the left side is made of the x, the
right side of the x', and the statement says that they are related:

    forall A R_A .. sizes .. x x' ..,  PER R_A -> 0 < m -> laws -> R x x' -> R (left x) (right x')

What this gives: A may be an array type, for `Rarr n R_A` is a partial equivalence; neither side reads out of
bounds, for x and x' agree within bounds only; and a proved rule may be applied anywhere in a program.

Note [Congruence].  Let P[.] be a program with a hole below binders.  The variables bound around the hole are
captured by the rule's metavariables: data metavariables become terms with those variables free, function
metavariables functions that use them.  Give each free variable of P a related pair.  By induction on P each
term, with the first values for its variables, is related to itself with the second values: at a pattern this
is its lemma `respects(pattern)`; at a variable it is the assumption; scalar functions respect equality.  So
what the metavariables stand for are related pairs, the statement of the rule applies, and the two sides are
related as the hole's value; the same induction carries that from the hole to the root of P.  The lemmas are
generated from the signatures of the patterns and proved like rules.

What has no definition here (arithmetic, opaque user functions, numbers in floating point) becomes one more
metavariable: proved is what holds for every meaning of it.  i32 and i64 are the whole numbers Z, with their
order; an index does not overflow, nor does what counts steps.  Other sums have no definition: those of a machine wrap
around, so that x + 1 > x holds of Z only.  `select` is if-then-else, and x > y is y < x.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from relift.rewrites.checks.rocq.text import AnyFunction, AnyNumbers, Side, Statement, Uninterpreted
from relift.rewrites.conditions import Condition, IndexCondition
from relift.rewrites.rule import FunctionMetavariable, Rule
from relift.semantics.errors import Unsupported
from relift.semantics.indices.functions import index_metavariable
from relift.semantics.language.tracing import trace
from relift.semantics.syntax.signatures import (
    FunctionKind,
    IndexKind,
    Kind,
    NatKind,
    NumbersKind,
    OperatorKind,
    WrittenKind,
    kind_with_letters,
)
from relift.semantics.syntax.sizes import Name, Size
from relift.semantics.syntax.terms import (
    Metavariable,
    OperatorMetavariable,
    Pattern,
    Term,
    subterms,
)
from relift.semantics.syntax.types import (
    AnyType,
    Array,
    Scalar,
    Type,
    i32,
    type_names,
    type_sizes,
    with_letters,
)


@dataclass(frozen=True)
class Equation:
    """What a statement is made of: a rule, or a congruence lemma."""

    name: str
    parameters: Mapping[str, Kind | WrittenKind]
    left: Term
    right: Term
    types: tuple[str, ...]
    sizes: tuple[str, ...]
    positive: tuple[Size, ...]
    where: tuple[Condition | IndexCondition, ...] = ()
    refinement: bool = False
    proof: str = ""


Provable: TypeAlias = Rule | Equation


def proposition(rule: Provable) -> str:
    """The statement of a rule or of a congruence lemma, as a Rocq proposition.

    Raises `Unsupported` where a rule uses what has no denotation.

    >>> from relift.rewrites.checks.rocq.statements import proposition
    >>> from relift.rewrites.library import RULES
    >>> print(proposition(RULES["join_split"]))
    forall (A : Type) (R_A : rel A)
      (k m : nat)
      (xs xs' : (arr A)),
    PER R_A ->
    0 < m ->
    (Rarr (k * m) R_A) xs xs' ->
    (Rarr (k * m) R_A)
      (join m (split m xs))
      xs'
    """
    s = Statement()
    head = Head.of(s, rule)
    result = s.relation(rule.left.type)
    left, right = Side(s, "").term(rule.left), Side(s, "'").term(rule.right)
    return head.closed(f"{result}\n  {left}\n  {right}")


@dataclass
class Head:
    """What stands before the conclusion of a statement: everything it binds, and what is assumed of it.

    `binders` and `related` are of the metavariables; more of them may be added before `closed`.
    """

    statement: Statement
    rule: Provable
    types: list[tuple[str, str]]
    sizes: list[str]
    functions: Mapping[str, Kind | WrittenKind]
    binders: list[str]
    related: list[str]
    laws: list[str]

    @classmethod
    def of(cls, s: Statement, rule: Provable) -> Head:
        """The head of what is said of a rule."""
        types = [(s.names.of("type", name), s.names.of("relation", name)) for name in rule.types]
        sizes = [s.names.of("size", name) for name in rule.sizes]
        kinds = {
            s.names.of("metavariable", name): kind
            for name, kind in rule.parameters.items()
            if not isinstance(kind, NatKind)
        }
        binders = [f"({x} {x}' : {s.kind_type(kind)})" for x, kind in kinds.items()]
        related = [f"{s.kind_relation(kind)} {x} {x}'" for x, kind in kinds.items()]
        laws = [_law(s, rule, condition) for condition in rule.where]
        return cls(s, rule, types, sizes, kinds, binders, related, laws)

    def closed(self, conclusion: str) -> str:
        """The statement with this conclusion, which has been written with the same names."""
        premises = self.premises()
        quantified = "forall " + "\n  ".join(premises.binders) + ",\n" if premises.binders else ""
        return quantified + "".join(f"{h} ->\n" for h in premises.all) + conclusion

    def premises(self) -> Premises:
        """All that is bound and assumed, once everything that the statement says has been written."""
        s, rule = self.statement, self.rule
        given = [f"({x} {x}' : {s.kind_type(of.kind)})" for x, of in s.given.items()]
        given_related = [f"{s.kind_relation(of.kind)} {x} {x}'" for x, of in s.given.items()]
        types = list(self.types)
        types += [(s.names.of("type", name), s.names.of("relation", name)) for name in s.floats]
        positive = [f"0 < {s.size(n)}" for n in dict.fromkeys((*rule.positive, *_read(rule)))]
        least = _least(s, rule)
        differences = [f"{minus} <= {plus}" for plus, minus in map(s.signed, s.differences)]
        bounds = _bounds(s, rule)
        names = [*self.sizes, *s.literals]
        kind_of_relation = "refines" if rule.refinement else "PER"
        monotone: list[str] = []
        if rule.refinement:  # of values the relation gives this; of functions it has to be said
            functions = {x: k for x, k in self.functions.items() if isinstance(k, FunctionKind)}
            for x, kind in functions.items():
                monotone += [f"{s.kind_relation(kind)} {y} {y}" for y in (x, f"{x}'")]
            monotone += [
                _open(s, x, of.kind) for x, of in s.given.items() if of.of == "unspecified"
            ]
        return Premises(
            types=types,
            sizes=names,
            pairs=[*given, *self.binders],
            relations=[f"{kind_of_relation} {r}" for _, r in types],
            arithmetic=[
                *(f"{name} = Z.to_nat {value}" for name, value in s.literals.items()),
                *(positive + least + differences + bounds),
            ],
            laws=self.laws,
            related=[*given_related, *self.related],
            monotone=monotone,
        )


@dataclass(frozen=True)
class Premises:
    """What a statement binds, and what it assumes, in the order in which it is written."""

    types: list[tuple[str, str]]
    sizes: list[str]
    pairs: list[str]
    relations: list[str]
    arithmetic: list[str]
    laws: list[str]
    related: list[str]
    monotone: list[str]

    @property
    def binders(self) -> list[str]:
        """A line for each type, one for all sizes, one for each pair."""
        lines = [f"({a} : Type) ({r} : rel {a})" for a, r in self.types]
        lines += [f"({' '.join(self.sizes)} : nat)"] * bool(self.sizes)
        return lines + self.pairs

    @property
    def all(self) -> list[str]:
        """Every assumption."""
        return [
            *self.relations,
            *self.arithmetic,
            *self.laws,
            *self.related,
            *self.monotone,
        ]


def denotation(t: Term) -> tuple[str, Mapping[str, Uninterpreted]]:
    """A program without metavariables in Rocq, and what it uses that has no definition there.

    Its inputs are free names, such as `input_xs`.

    >>> from relift import f32
    >>> from relift.rewrites.checks.rocq.statements import denotation
    >>> from relift.semantics.notation.parser import parse_term
    >>> from relift.semantics.syntax.terms import Input
    >>> denotation(parse_term("map(lambda x: x + 1, xs)", xs=Input("xs", f32[3])))[0]
    '(map (fun (v_x : f32) => (add_f32_f32 v_x number_1_0_f32)) input_xs)'
    """
    s = Statement()
    return Side(s, "").term(t), s.given


def _open(s: Statement, name: str, kind: Kind) -> str:
    if (
        isinstance(kind, Scalar) and not kind.is_float
    ):  # whose relation is equality: no number is refined by all
        raise Unsupported(f"an unspecified {kind} has no denotation in Rocq yet", place="")
    return f"unspecified {s.kind_relation(kind)} {name}"


def _law(s: Statement, rule: Provable, condition: Condition | IndexCondition) -> str:
    def name(of: str | None) -> list[str]:
        return [] if of is None else [s.names.of("metavariable", of)]

    if isinstance(condition, IndexCondition):
        kind = rule.parameters[condition.function]
        assert isinstance(kind, IndexKind), "cannot happen: such laws are of index functions"
        arguments = [s.size(kind.length), *name(condition.function), *name(condition.inverse)]
    else:
        of = rule.parameters[condition.operator]
        assert isinstance(of, OperatorKind), "cannot happen: laws are of operators"
        arguments = [s.relation(of.element), *name(condition.operator), *name(condition.element)]
        arguments += name(condition.over)
    return f"{condition.law} {' '.join(arguments)}"


def _least(s: Statement, rule: Provable) -> list[str]:
    """What sizes promise by themselves: `nat("n", least=4)`."""
    return [
        f"{name.least} <= {s.names.of('size', name)}"
        for name in rule.sizes
        if isinstance(name, Name) and name.least > 0
    ]


def _bounds(s: Statement, rule: Provable) -> list[str]:
    """What a rule requires of its sizes besides: `n <= 5`."""
    signed = [s.signed(b.size - b.least) for b in rule.bounds] if isinstance(rule, Rule) else []
    return [f"{minus or '0'} <= {plus}" for plus, minus in signed]


def _read(rule: Provable) -> list[Size]:
    """Sizes of arrays that are read at computed indices; see `Pattern.rocq_positive`."""
    return [
        t.sized(n)
        for side in (rule.left, rule.right)
        for t, _ in subterms(side)
        if isinstance(t, Pattern)
        for n in t.rocq_positive
    ]


def respects(pattern: type[Pattern]) -> Equation:
    """The congruence lemma of a pattern: related arguments give related results, for all sizes.

    >>> from relift.rewrites.checks.rocq.statements import proposition, respects
    >>> from relift.semantics.patterns import Slide
    >>> print(proposition(respects(Slide)))
    forall (a : Type) (R_a : rel a)
      (k size step : nat)
      (xs xs' : (arr a)),
    PER R_a ->
    0 < step ->
    (Rarr (k * step + size) R_a) xs xs' ->
    (Rarr (k + 1) (Rarr size R_a))
      (slide step xs)
      (slide step xs')
    """
    parameters = {
        name: kind_with_letters(kind) for name, kind in pattern.signature.parameters.items()
    }
    result = with_letters(pattern.signature.result)
    types = [t for kind in parameters.values() for t in _types_of(kind)] + [result]
    names = {a for t in types for n in type_sizes(t) for a in n.names()}
    names |= {name for name, kind in parameters.items() if isinstance(kind, NatKind)}
    names -= {kind.binds for kind in parameters.values() if isinstance(kind, FunctionKind)}
    solved = {name: Size.atom(name) for name in sorted(names)}
    values = {name: _any(name, kind) for name, kind in parameters.items()}
    node = pattern(**values, type=result, solved=solved)
    return Equation(
        f"{pattern.name}_respects",
        parameters,
        node,
        node,
        tuple(sorted({a for t in types for a in type_names(t)})),
        tuple(solved),
        tuple(n.with_letters() for n in pattern.signature.positive),
        proof=pattern.rocq_respects,
    )


def _any(name: str, kind: Kind | WrittenKind) -> Any:
    """A metavariable of a kind, as a field of a pattern."""
    match kind:
        case NatKind():
            return Size.atom(name)
        case FunctionKind(arguments, result, binds):
            function = FunctionMetavariable(name, kind)
            return AnyFunction(name) if binds else trace(function, arguments, result)
        case OperatorKind(element):
            return OperatorMetavariable(name, element)
        case IndexKind(length):
            return index_metavariable(name, length)
        case NumbersKind():
            return AnyNumbers(name)
        case AnyType():
            return Metavariable(name, (), kind)


def _types_of(kind: Kind | WrittenKind) -> tuple[Type, ...]:
    match kind:
        case NatKind():
            return ()
        case FunctionKind(arguments, result):
            return (*arguments, result)
        case OperatorKind(element):
            return (element,)
        case IndexKind(length):
            return (Array(i32, length),)
        case NumbersKind(element, length):
            return (Array(element, length),)
        case AnyType():
            return (kind,)
