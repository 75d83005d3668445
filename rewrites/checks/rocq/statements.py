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
metavariable: proved is what holds for every meaning of it.  i32 and i64 are the whole numbers Z: an index
does not overflow.  `select` is if-then-else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeAlias

from relift.rewrites.checks.rocq.library import defined_names
from relift.rewrites.conditions import Condition, IndexCondition
from relift.rewrites.rule import FunctionMetavariable, Rule
from relift.semantics.errors import Unsupported
from relift.semantics.indices import expressions as indices
from relift.semantics.indices.functions import (
    IndexExpression,
    IndexFunction,
    IndexMetavariable,
    IndexOperation,
    Numbers,
    SizeIndex,
    TheIndex,
    Written,
    folded,
    index_metavariable,
)
from relift.semantics.interpreter import operand_type, operator_lambda
from relift.semantics.language.tracing import trace
from relift.semantics.syntax.signatures import (
    FunctionKind,
    IndexKind,
    Kind,
    NatKind,
    NumbersKind,
    OperatorKind,
    WrittenKind,
)
from relift.semantics.syntax.sizes import Atom, Name, Power, Size
from relift.semantics.syntax.terms import (
    Apply,
    BinaryOperator,
    Call,
    Combine,
    Get,
    Input,
    Lambda,
    Literal,
    MakeTuple,
    Metavariable,
    Operator,
    OperatorMetavariable,
    Pattern,
    Term,
    UserFunction,
    Var,
    Vectorized,
    subterms,
)
from relift.semantics.syntax.types import (
    Array,
    Scalar,
    Tuple,
    Type,
    TypeVariable,
    Vector,
    boolean,
    i32,
    i64,
    substitute_type,
    type_names,
    type_sizes,
)

LARGE = 100
"""From here on a number is not written out in a statement."""

_WORDS = """
    Prop Set Type SProp as at by cofix else end exists exists2 fix for forall fun if in is let match mod open
    return then using where with nat bool Z list prod option fst snd pair true false eq nil cons S O Some None
    not and or True False ex sigma pred rel_of
"""


@cache
def _reserved() -> frozenset[str]:
    """Names that a binder of a statement must not take."""
    return frozenset(_WORDS.split()) | defined_names()


class Names:
    """A Rocq name of its own for everything that a statement binds."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._known: dict[tuple[str, Hashable], str] = {}

    def of(self, space: str, name: str, what: Hashable = None) -> str:
        """The name of `name` in a space of names: types, sizes, metavariables, variables, ...

        Of two things with one name `what` tells them apart.
        """
        key = (space, name if what is None else what)
        if key not in self._known:
            stem = {"variable": "v_", "relation": "R_", "input": "input_"}.get(space, "")
            chosen = re.sub(r"[^A-Za-z0-9_]", "_", stem + name)
            chosen = chosen if chosen[0].isalpha() else "x" + chosen
            while chosen in self._taken or chosen in _reserved():
                chosen += "_"
            self._taken.add(chosen)
            self._known[key] = chosen
        return self._known[key]


@dataclass(frozen=True)
class AnyNumbers:
    """Any row of numbers: what a congruence lemma quantifies over."""

    name: str


@dataclass(frozen=True)
class AnyFunction:
    """Any function that is given a size first."""

    name: str


@dataclass(frozen=True)
class Uninterpreted:
    """Something without a definition here: a scalar function, an opaque user function, a number, an unspecified cell."""

    of: str
    kind: Kind


@dataclass
class Statement:
    """What a statement needs to bind, found while its sides are written.

    `given`: things without a definition here, by their names; `floats`: their types;
    `differences`: sizes written with a minus; `literals`: large numbers, which stand in it by name.
    """

    names: Names = field(default_factory=Names)
    given: dict[str, Uninterpreted] = field(default_factory=dict)
    floats: dict[str, None] = field(default_factory=dict)
    differences: dict[Size, None] = field(default_factory=dict)
    literals: dict[str, int] = field(default_factory=dict)

    def size(self, n: Size) -> str:
        """A polynomial over nat; what is subtracted is known to be no more than the rest."""
        plus, minus = self.signed(n)
        if not minus:
            return plus
        self.differences[n] = None
        return f"({plus} - {minus})"

    def signed(self, n: Size) -> tuple[str, str]:
        def total(sign: int) -> str:
            terms = [
                " * ".join(
                    [self.number(abs(c))] * (abs(c) != 1 or not monomial)
                    + [self.atom(a) for a, power in monomial for _ in range(power)]
                )
                for monomial, c in n.ordered()
                if c * sign > 0
            ]
            text = " + ".join(terms)
            return f"({text})" if len(terms) > 1 or " " in text else text

        return total(1) or "0", total(-1)

    def number(self, value: int) -> str:
        """A natural number; a large one by a name, for the prover counts in unary."""
        if value < LARGE:
            return str(value)
        name = self.names.of("literal", f"number_{value}")
        self.literals[name] = value
        return name

    def atom(self, a: Atom) -> str:
        if isinstance(a, Power):
            return f"{self.size(a.base)} ^ {self.size(a.exponent)}"
        return self.names.of("size", str(a))

    def type(self, t: Type) -> str:
        match t:
            case TypeVariable(name):
                return self.names.of("type", name)
            case Scalar(name):
                if t in (i32, i64):
                    return "Z"
                if t == boolean:
                    return "bool"
                self.floats[name] = None
                return self.names.of("type", name)
            case Array(element, _) | Vector(element, _):
                return f"(arr {self.type(element)})"
            case Tuple(parts):
                return _nested("({} * {})", map(self.type, parts))

    def relation(self, t: Type) -> str:
        match t:
            case TypeVariable(name):
                return self.names.of("relation", name)
            case Scalar(name):
                return self.names.of("relation", name) if t.is_float else f"(@eq {self.type(t)})"
            case Array(element, n) | Vector(element, n):
                return f"(Rarr {self.size(n)} {self.relation(element)})"
            case Tuple(parts):
                return _nested("(Rpair {} {})", map(self.relation, parts))

    def kind_type(self, kind: Kind | WrittenKind) -> str:
        match kind:
            case FunctionKind(arguments, result, binds):
                return " -> ".join(
                    [*["nat"] * (binds is not None), *map(self.type, (*arguments, result))]
                )
            case OperatorKind(element):
                return " -> ".join([self.type(element)] * 3)
            case IndexKind():
                return "nat -> nat"
            case NumbersKind(element, _):
                return f"arr {self.type(element)}"
            case NatKind():
                return "nat"
            case _:
                return self.type(kind)

    def kind_relation(self, kind: Kind | WrittenKind) -> str:
        match kind:
            case FunctionKind(arguments, result, binds):
                related = self._function_relation(arguments, result)
                if binds is None:
                    return related
                return f"(Rsize (fun {self.names.of('size', binds)} => {related}))"
            case OperatorKind(element):
                return self._function_relation((element, element), element)
            case IndexKind(length):
                return f"(Rindex {self.size(length)})"
            case NumbersKind(element, length):
                return self.relation(Array(element, length))
            case NatKind():
                raise AssertionError("cannot happen: a size is no pair")
            case _:
                return self.relation(kind)

    def _function_relation(self, arguments: tuple[Type, ...], result: Type) -> str:
        text = self.relation(result)
        for argument in reversed(arguments):
            text = f"(Rfun {self.relation(argument)} {text})"
        return text

    def without_definition(self, of: str, kind: Kind, what: Hashable = None) -> str:
        """The name of something that every meaning is allowed for; `what` it is, besides its name and kind."""
        arguments = kind.arguments if isinstance(kind, FunctionKind) else (kind,)
        shown = "_".join([of, *map(_word, arguments)])
        chosen = self.names.of("given", shown, (of, kind, what))
        self.given[chosen] = Uninterpreted(of, kind)
        return chosen


def _nested(form: str, parts: Iterable[str]) -> str:
    first, *rest = parts
    for part in rest:
        first = form.format(first, part)
    return first


@dataclass
class Side:
    """Writes one side of a rule; `prime` is what its metavariables end in."""

    statement: Statement
    prime: str

    def metavariable(self, name: str) -> str:
        return self.statement.names.of("metavariable", name) + self.prime

    def given(self, of: str, kind: Kind, what: Hashable = None) -> str:
        return self.statement.without_definition(of, kind, what) + self.prime

    def term(self, t: Term) -> str:
        match t:
            case Var(name):
                return self.statement.names.of("variable", name)
            case Input(name):
                return self.statement.names.of("input", name)
            case Literal(value, of):
                return self.literal(value, of)
            case Apply("select", (condition, x, y)):
                return f"(if {self.term(condition)} then {self.term(x)} else {self.term(y)})"
            case Apply(function, arguments):
                kind = FunctionKind(tuple(u.type for u in arguments), t.type)
                return self.applied(self.given(function, kind), arguments)
            case Call(function, arguments):
                return self.applied(self.user_function(function), arguments)
            case Combine(operator, left, right):
                return self.applied(self.operator(operator, left.type), (left, right))
            case MakeTuple(parts):
                return _nested("({}, {})", map(self.term, parts))
            case Get(index, of):
                assert isinstance(of.type, Tuple), "cannot happen: a component of a tuple"
                return _component(self.term(of), index, len(of.type.parts))
            case Metavariable(name, arguments):
                return self.applied(self.metavariable(name), arguments)
            case Pattern():
                return self.pattern(t)

    def applied(self, head: str, arguments: tuple[Term, ...]) -> str:
        return f"({' '.join([head, *map(self.term, arguments)])})" if arguments else head

    def literal(self, value: float, of: Type) -> str:
        if of == boolean:
            return "true" if value else "false"
        if of in (i32, i64):
            return f"({int(value)})%Z"
        return self.given(f"number {value!r}", of)

    def user_function(self, function: UserFunction) -> str:
        if function.body is not None:
            return self.function(function.body)
        kind = FunctionKind(function.types, function.result)
        return self.given(
            function.name, kind, (function, function.reference)
        )  # a name may be taken twice

    def operator(self, operator: Operator, element: Type) -> str:
        match operator:
            case OperatorMetavariable(name):
                return self.metavariable(name)
            case Vectorized(_, inner):
                assert isinstance(element, Vector), "cannot happen: vectorize works on vectors"
                return f"(vectorize {self.operator(inner, element.element)})"
            case BinaryOperator():
                return self.function(operator_lambda(operator, element))

    def function(self, f: Lambda, size: str | None = None) -> str:
        """A lambda, which is given `size` first where its pattern binds one; `fun x => g x` is g."""
        match f.body:
            case Metavariable(name, arguments) if arguments == f.parameters:
                text = self.metavariable(name)
            case Combine(operator, left, right) if (left, right) == f.parameters:
                text = self.operator(operator, left.type)
            case body:
                binders = [
                    f"({self.term(x)} : {self.statement.type(x.type)})" for x in f.parameters
                ]
                text = f"(fun {' '.join(binders)} => {self.term(body)})"
        return text if size is None else f"(fun {self.statement.names.of('size', size)} => {text})"

    def pattern(self, t: Pattern) -> str:
        """The pattern's own template, over its parameters and the sizes that typing solved."""
        if (head := t.rocq.split()[0]) not in defined_names():
            where = "proofs_tests/rocq/Patterns.v"
            raise Unsupported(f"{t.name}: there is no definition of {head} in {where}", place="")
        values = {name: self.statement.size(n) for name, n in t.solved.items()}
        if "{unspecified}" in t.rocq:
            assert isinstance(t.type, Array), "cannot happen: unspecified cells are of an array"
            values["unspecified"] = self.unspecified(t.type.element)
        return f"({t.rocq.format_map(values | self.parameters(t))})"

    def parameters(self, t: Pattern) -> dict[str, str]:
        """The parameters of a pattern, by name."""
        return {name: self.parameter(t, name, getattr(t, name)) for name in t.signature.parameters}

    def unspecified(self, t: Type) -> str:
        """A value of which nothing is known; see `refines` in `Laws.v`."""
        match t:
            case Array(element, _) | Vector(element, _):
                return f"(repeat {self.unspecified(element)})"
            case Tuple(parts):
                return _nested("({}, {})", map(self.unspecified, parts))
            case _:
                return self.given("unspecified", t)

    def parameter(self, t: Pattern, place: str, value: Any) -> str:
        match value:
            case Size():
                return self.statement.size(value)
            case Lambda():
                return self.function(value, t.bound_size(place))
            case BinaryOperator() | OperatorMetavariable() | Vectorized():
                return self.operator(value, operand_type(t))
            case IndexFunction(body):
                return self.index_function(body, t.solved["n"])
            case Numbers(numbers, of):
                first, *rest = [self.literal(v, of) for v in numbers or (0,)]
                return f"(row {first} ({' :: '.join([*rest, 'nil'])})%list)"
            case AnyNumbers(name) | AnyFunction(name):
                return self.metavariable(name)
            case Written():
                raise Unsupported(f"{value!r} has no denotation in Rocq yet", place="")
            case _:
                return self.term(value)

    def index_function(self, body: IndexExpression, length: Size) -> str:
        """Over nat where nothing turns negative, else over Z and back."""
        alone = IndexFunction(body).metavariable
        if alone is not None:
            return self.metavariable(alone.name)
        return self._index_function(body, length, "{}", "Z.to_nat {}")

    def whole_index_function(self, body: IndexExpression, length: Size) -> str:
        """The same from nat to Z, where an index below 0 is seen to be one."""
        return self._index_function(body, length, "Z.of_nat {}", "{}")

    def _index_function(self, body: IndexExpression, length: Size, natural: str, whole: str) -> str:
        bound = f"v_{self.statement.names.of('index', 'i')}"
        i = indices.variable("an index", length)

        def natural_size(n: Size) -> str:
            plus, minus = self.statement.signed(n)
            return f"({plus} - {minus})" if minus else plus

        def whole_size(n: Size) -> str:
            plus, minus = self.statement.signed(n)
            return f"(Z.of_nat {plus} - Z.of_nat {minus})" if minus else f"(Z.of_nat {plus})"

        if _never_negative(body, i, length):
            text = natural.format(self._index(body, bound, natural_size, "({} {})"))
        else:
            z = self._index(
                body, f"(Z.of_nat {bound})", whole_size, "(Z.of_nat ({} (Z.to_nat {})))"
            )
            text = whole.format(f"{z}%Z")
        return f"(fun {bound} : nat => {text})"

    def _index(
        self, e: IndexExpression, i: str, size: Callable[[Size], str], application: str
    ) -> str:
        def operation(e: IndexOperation, x: str, y: str) -> str:
            return f"({x} {({'//': '/', '%': 'mod'}).get(e.symbol, e.symbol)} {y})"

        def applied(e: IndexMetavariable, x: str) -> str:
            return application.format(self.metavariable(e.name), x)

        return folded(e, i, size, operation, applied)


def _never_negative(e: IndexExpression, i: indices.Index, length: Size) -> bool:
    """Whether nothing that the expression computes is negative, as far as ranges tell; there is an index."""
    match e:
        case IndexMetavariable(_, _, argument):
            return _never_negative(argument, i, length)
        case TheIndex():
            return True
        case SizeIndex(n):
            return n.surely_at_least(0) or (n - length + 1).surely_at_least(0)
        case IndexOperation(symbol, left, right):
            if not (_never_negative(left, i, length) and _never_negative(right, i, length)):
                return False
            if symbol != "-":
                return True
            known = not IndexFunction(e).metavariables
            return known and indices.surely_at_most(Size.of(0), IndexFunction(e).of(i))


def _component(text: str, index: int, count: int) -> str:
    """Tuples nest to the left: of (a, b, c) = ((a, b), c), component 1 is snd (fst t)."""
    for _ in range(count - 1 - index - (index == 0)):
        text = f"(fst {text})"
    return f"(fst {text})" if index == 0 else f"(snd {text})"


def _word(t: Kind) -> str:
    return re.sub(r"\W+", "_", str(t)).strip("_")


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
        s, rule = self.statement, self.rule
        given = [f"({x} {x}' : {s.kind_type(of.kind)})" for x, of in s.given.items()]
        given_related = [f"{s.kind_relation(of.kind)} {x} {x}'" for x, of in s.given.items()]
        types = list(self.types)
        types += [(s.names.of("type", name), s.names.of("relation", name)) for name in s.floats]
        positive = [f"0 < {s.size(n)}" for n in dict.fromkeys((*rule.positive, *_read(rule)))]
        least = _least(s, rule)
        differences = [f"{minus} <= {plus}" for plus, minus in map(s.signed, s.differences)]
        bounds = _bounds(s, rule)
        lines = [f"({a} : Type) ({r} : rel {a})" for a, r in types]
        names = [*self.sizes, *s.literals]
        lines += [f"({' '.join(names)} : nat)"] * bool(names) + given + self.binders
        kind_of_relation = "refines" if rule.refinement else "PER"
        hypotheses = [f"{kind_of_relation} {r}" for _, r in types]
        hypotheses += [f"{name} = Z.to_nat {value}" for name, value in s.literals.items()]
        hypotheses += positive + least + differences + bounds
        hypotheses += [*self.laws, *given_related, *self.related]
        if rule.refinement:  # of values the relation gives this; of functions it has to be said
            functions = {x: k for x, k in self.functions.items() if isinstance(k, FunctionKind)}
            for x, kind in functions.items():
                hypotheses += [f"{s.kind_relation(kind)} {y} {y}" for y in (x, f"{x}'")]
            hypotheses += [
                _open(s, x, of.kind) for x, of in s.given.items() if of.of == "unspecified"
            ]
        quantified = "forall " + "\n  ".join(lines) + ",\n" if lines else ""
        return quantified + "".join(f"{h} ->\n" for h in hypotheses) + conclusion


def denotation(t: Term) -> tuple[str, Mapping[str, Uninterpreted]]:
    """A program without metavariables in Rocq, and what it uses that has no definition there.

    Its inputs are free names, such as `input_xs`.

    >>> denotation(parse("map(lambda x: x + 1, xs)", xs=Input("xs", f32[3])))[0]
    '(map (fun (v_x : f32) => (add_f32_f32 v_x number_1_0_f32)) input_xs)'
    """
    s = Statement()
    return Side(s, "").term(t), s.given


def _open(s: Statement, name: str, kind: Kind) -> str:
    if kind in (i32, i64, boolean):  # whose relation is equality: no number is refined by all
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
        n.substitute({"?" + name: size for name, size in t.solved.items()})
        for side in (rule.left, rule.right)
        for t, _ in subterms(side)
        if isinstance(t, Pattern)
        for n in t.rocq_positive
    ]


def respects(pattern: type[Pattern]) -> Equation:
    """The congruence lemma of a pattern: related arguments give related results, for all sizes.

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
    parameters = {name: _plain_kind(kind) for name, kind in pattern.signature.parameters.items()}
    result = _plain(pattern.signature.result)
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
        tuple(map(_plain_size, pattern.signature.positive)),
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
        case _:
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
        case _:
            return (kind,)


def _plain_kind(kind: Kind | WrittenKind) -> Kind | WrittenKind:
    """A kind of a signature with the variables of rules for those of signatures."""
    match kind:
        case NatKind():
            return kind
        case FunctionKind(arguments, result, binds):
            return FunctionKind(tuple(map(_plain, arguments)), _plain(result), binds)
        case OperatorKind(element):
            return OperatorKind(_plain(element))
        case IndexKind(length):
            return IndexKind(_plain_size(length))
        case NumbersKind(element, length):
            return NumbersKind(_plain(element), _plain_size(length))
        case _:
            return _plain(kind)


def _plain(t: Type) -> Type:
    types: dict[str, Type] = {name: TypeVariable(name.removeprefix("?")) for name in type_names(t)}
    sizes = {name: Size.atom(name.removeprefix("?")) for n in type_sizes(t) for name in n.names()}
    return substitute_type(t, types, sizes)


def _plain_size(n: Size) -> Size:
    return n.substitute({name: Size.atom(name.removeprefix("?")) for name in n.names()})
