"""Types, sizes, kinds and terms as text of Rocq."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import ClassVar

from relift.rewrites.checks.rocq.integers import counters, infix
from relift.rewrites.checks.rocq.library import defined_names
from relift.semantics.errors import Unsupported
from relift.semantics.indices import expressions as indices
from relift.semantics.indices.atoms import Index
from relift.semantics.indices.functions import (
    IndexExpression,
    IndexFunction,
    IndexMetavariable,
    IndexOperation,
    LiteralParameter,
    SizeIndex,
    TheIndex,
    folded,
)
from relift.semantics.indices.ranges import surely_at_most
from relift.semantics.indices.rows import Numbers
from relift.semantics.interpreter import operand_type, operator_lambda
from relift.semantics.syntax import terms
from relift.semantics.syntax.expression import Expression
from relift.semantics.syntax.monomials import Atom
from relift.semantics.syntax.nodes import Field
from relift.semantics.syntax.signatures import (
    FunctionKind,
    IndexKind,
    Kind,
    NatKind,
    NumbersKind,
    OperatorKind,
    WrittenKind,
)
from relift.semantics.syntax.sizes import Power, Size
from relift.semantics.syntax.types import (
    INTEGERS,
    AnyType,
    Array,
    Scalar,
    Tuple,
    Type,
    TypeVariable,
    Vector,
    boolean,
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

    def known(self, space: str, what: Hashable) -> str | None:
        """The name that was given to `what` before, if one was."""
        return self._known.get((space, what))


class _Leaf:
    """What stands in the place of a term and has nothing below it."""

    below: ClassVar[tuple[str, ...]] = ()
    row: ClassVar[str] = ""


@dataclass(frozen=True)
class AnyNumbers(_Leaf):
    """Any row of numbers: what a congruence lemma quantifies over."""

    name: str


@dataclass(frozen=True)
class AnyFunction(_Leaf):
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
            monomials = [
                " * ".join(
                    [self.number(abs(c))] * (abs(c) != 1 or not monomial)
                    + [self.atom(a) for a, power in monomial for _ in range(power)]
                )
                for monomial, c in n.ordered()
                if c * sign > 0
            ]
            text = " + ".join(monomials)
            return f"({text})" if len(monomials) > 1 or " " in text else text

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
                if t in INTEGERS.values():
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
            case AnyType():
                return self.type(kind)

    def kind_relation(self, kind: Kind | WrittenKind) -> str:
        match kind:
            case FunctionKind(arguments, result, binds):
                related = self.function_relation(arguments, result)
                if binds is None:
                    return related
                return f"(Rsize (fun {self.names.of('size', binds)} => {related}))"
            case OperatorKind(element):
                return self.function_relation((element, element), element)
            case IndexKind(length):
                return f"(Rindex {self.size(length)})"
            case NumbersKind(element, length):
                return self.relation(Array(element, length))
            case NatKind():
                raise AssertionError("cannot happen: a size is no pair")
            case AnyType():
                return self.relation(kind)

    def function_relation(self, arguments: tuple[Type, ...], result: Type) -> str:
        text = self.relation(result)
        for argument in reversed(arguments):
            text = f"(Rfun {self.relation(argument)} {text})"
        return text

    def without_definition(self, of: str, kind: Kind, what: Hashable = None) -> str:
        """The name of something that every meaning is allowed for; `what` it is, besides its name and kind."""
        key = of, kind, what
        chosen = self.names.known("given", key)
        if chosen is None:
            arguments = kind.arguments if isinstance(kind, FunctionKind) else (kind,)
            chosen = self.names.of("given", "_".join([of, *map(_word, arguments)]), key)
        if chosen not in self.given:
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
    counters: frozenset[terms.Term] = field(default=frozenset(), init=False)

    def metavariable(self, name: str) -> str:
        return self.statement.names.of("metavariable", name) + self.prime

    def given(self, of: str, kind: Kind, what: Hashable = None) -> str:
        return self.statement.without_definition(of, kind, what) + self.prime

    def term(self, t: terms.Term) -> str:
        match t:
            case terms.Pattern():  # first, as most are, and to ask for a class takes time
                return self.pattern(t)
            case terms.Var(name):
                return self.statement.names.of("variable", name)
            case terms.Input(name):
                return self.statement.names.of("input", name)
            case terms.Literal(value, of):
                return self.literal(value, of)
            case terms.Apply("select", (condition, x, y)):
                return f"(if {self.term(condition)} then {self.term(x)} else {self.term(y)})"
            case terms.Apply("bitwise_and", (x, y)) if t.type == boolean:
                return f"({self.term(x)} && {self.term(y)})%bool"
            case terms.Apply("gt", (x, y)):
                return self.term(terms.Apply("lt", (y, x), t.type))
            case terms.Apply(f, (x, y)) if (sign := infix(f, x, y)) and (
                f != "add" or self.sums(x, y)
            ):
                return f"({self.term(x)} {sign} {self.term(y)})%Z"
            case terms.Apply(function, arguments):
                kind = FunctionKind(tuple(u.type for u in arguments), t.type)
                return self.applied(self.given(function, kind), arguments)
            case terms.Call(function, arguments):
                return self.applied(self.user_function(function), arguments)
            case terms.Combine(operator, left, right):
                return self.applied(self.operator(operator, left.type), (left, right))
            case terms.MakeTuple(parts):
                return _nested("({}, {})", map(self.term, parts))
            case terms.Get(index, of):
                assert isinstance(of.type, Tuple), "cannot happen: a component of a tuple"
                return _component(self.term(of), index, len(of.type.parts))
            case terms.Metavariable(name, arguments):
                return self.applied(self.metavariable(name), arguments)

    def sums(self, x: terms.Term, y: terms.Term) -> bool:
        """Whether a sum of two integers is that of the whole numbers: in a rule, one that counts (see `integers`)."""
        return x in self.counters and y == terms.Literal(1, y.type)

    def applied(self, head: str, arguments: tuple[terms.Term, ...]) -> str:
        return f"({' '.join([head, *map(self.term, arguments)])})" if arguments else head

    def literal(self, value: float, of: Type) -> str:
        if of == boolean:
            return "true" if value else "false"
        if of in INTEGERS.values():
            return f"({int(value)})%Z"
        return self.given(f"number {value!r}", of)

    def user_function(self, function: terms.UserFunction) -> str:
        if function.body is not None:
            return self.function(function.body)
        kind = FunctionKind(function.types, function.result)
        return self.given(
            function.name, kind, (function, function.reference)
        )  # a name may be taken twice

    def operator(self, operator: terms.Operator, element: Type) -> str:
        match operator:
            case terms.OperatorMetavariable(name):
                return self.metavariable(name)
            case terms.Vectorized(_, inner):
                assert isinstance(element, Vector), "cannot happen: vectorize works on vectors"
                return f"(vectorize {self.operator(inner, element.element)})"
            case terms.BinaryOperator():
                return self.function(operator_lambda(operator, element))

    def function(
        self,
        f: terms.Lambda,
        size: str | None = None,
        counting: frozenset[terms.Term] = frozenset(),
    ) -> str:
        """A lambda, given `size` first where its pattern binds one; `fun x => g x` is g.  Of it, `counting` are counters."""
        body, outer = f.body, self.counters
        own = {x.name for x in f.parameters}
        self.counters = counting | {x for x in outer if own.isdisjoint(terms.free_variables(x))}
        if isinstance(body, terms.Metavariable) and body.arguments == f.parameters:
            text = self.metavariable(body.name)
        elif isinstance(body, terms.Combine) and (body.left, body.right) == f.parameters:
            text = self.operator(body.operator, body.left.type)
        else:
            binders = [f"({self.term(x)} : {self.statement.type(x.type)})" for x in f.parameters]
            text = f"(fun {' '.join(binders)} => {self.term(body)})"
        self.counters = outer
        return text if size is None else f"(fun {self.statement.names.of('size', size)} => {text})"

    def pattern(self, t: terms.Pattern) -> str:
        """The pattern's own template, over its parameters and the sizes that typing solved."""
        head = t.rocq.split()[0]
        if head[0] != "(" and head not in defined_names():
            where = "proofs_tests/rocq/Patterns.v"
            raise Unsupported(f"{t.name}: there is no definition of {head} in {where}", place="")
        values = {name: self.statement.size(n) for name, n in t.solved.items()}
        if "{unspecified}" in t.rocq:
            assert isinstance(t.type, Array), "cannot happen: unspecified cells are of an array"
            values["unspecified"] = self.unspecified(t.type.element)
        return f"({t.rocq.format_map(values | self.parameters(t))})"

    def parameters(self, t: terms.Pattern) -> dict[str, str]:
        """The parameters of a pattern, by name."""
        return {name: self.parameter(t, name, getattr(t, name)) for name in t.signature.parameters}

    def unspecified(self, t: Type) -> str:
        """A value of which nothing is known; see `refines` in `Laws.v`."""
        match t:
            case Array(element, _) | Vector(element, _):
                return f"(repeat {self.unspecified(element)})"
            case Tuple(parts):
                return _nested("({}, {})", map(self.unspecified, parts))
            case Scalar() | TypeVariable():
                return self.given("unspecified", t)

    def parameter(
        self, t: terms.Pattern, place: str, value: Field | AnyNumbers | AnyFunction
    ) -> str:
        match value:
            case Expression():
                return self.term(value)
            case Size():
                return self.statement.size(value)
            case terms.Lambda():
                return self.function(value, t.bound_size(place), counters(t, place))
            case terms.BinaryOperator() | terms.OperatorMetavariable() | terms.Vectorized():
                return self.operator(value, operand_type(t))
            case IndexFunction(body):
                return self.index_function(body, t.solved["n"])
            case Numbers(numbers, of):
                first, *rest = [self.literal(v, of) for v in numbers or (0,)]
                return f"(row {first} ({' :: '.join([*rest, 'nil'])})%list)"
            case AnyNumbers(name) | AnyFunction(name):
                return self.metavariable(name)
            case LiteralParameter():
                raise Unsupported(f"{value!r} has no denotation in Rocq yet", place="")
            case str() | int() | float() | tuple() | terms.UserFunction() | AnyType():
                raise AssertionError(f"cannot happen: a pattern holds no {value!r}")

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
        if self.stays_natural(body, length):
            text = natural.format(self._index(body, bound, self.natural_size, "({} {})"))
        else:
            z = self._index(
                body, f"(Z.of_nat {bound})", self.whole_size, "(Z.of_nat ({} (Z.to_nat {})))"
            )
            text = whole.format(f"{z}%Z")
        return f"(fun {bound} : nat => {text})"

    def stays_natural(self, body: IndexExpression, length: Size) -> bool:
        """Whether nothing that the expression computes is negative, as far as ranges tell."""
        return never_negative(body, length)

    def natural_size(self, n: Size) -> str:
        """A size in an index function over nat."""
        plus, minus = self.statement.signed(n)
        return f"({plus} - {minus})" if minus else plus

    def whole_size(self, n: Size) -> str:
        """A size in an index function over Z."""
        plus, minus = self.statement.signed(n)
        return f"(Z.of_nat {plus} - Z.of_nat {minus})" if minus else f"(Z.of_nat {plus})"

    def _index(
        self, e: IndexExpression, i: str, size: Callable[[Size], str], application: str
    ) -> str:
        def operation(e: IndexOperation, x: str, y: str) -> str:
            return f"({x} {({'//': '/', '%': 'mod'}).get(e.symbol, e.symbol)} {y})"

        def applied(e: IndexMetavariable, x: str) -> str:
            return application.format(self.metavariable(e.name), x)

        return folded(e, i, size, operation, applied)


def never_negative(e: IndexExpression, length: Size) -> bool:
    """Whether nothing that the expression computes is negative at any index below a length, as far as ranges tell."""
    return _never_negative(e, indices.variable("an index", length), length)


def _never_negative(e: IndexExpression, i: Index, length: Size) -> bool:
    """The same at an index."""
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
            return known and surely_at_most(Size.of(0), IndexFunction(e).of(i))


def _component(text: str, index: int, count: int) -> str:
    """Tuples nest to the left: of (a, b, c) = ((a, b), c), component 1 is snd (fst t)."""
    for _ in range(count - 1 - index - (index == 0)):
        text = f"(fst {text})"
    return f"(fst {text})" if index == 0 else f"(snd {text})"


def _word(t: Kind) -> str:
    return re.sub(r"\W+", "_", str(t)).strip("_")
