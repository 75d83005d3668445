"""Proofs that related values make related programs: a term of Rocq, put together as the program is.

Below binders every variable is a pair of values with a proof that they are related.  `Walk.proof` shows that a term
with the first values is related to the same term with the second ones: at a pattern by its congruence lemma, at a
variable by its own proof.  Given some positions, the proofs at those places are others, such as the instance of a rule;
then the terms there are others, too, and the rest is as before.

Each type, relation and size is written out, so that the prover only compares; nothing is searched for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from relift.rewrites.checks.rocq.statements import Provable, respects
from relift.rewrites.checks.theorem.applied import Instance
from relift.rewrites.checks.theorem.flat import Flat, flat
from relift.rewrites.checks.theorem.sizes import NamedSizes
from relift.rewrites.checks.theorem.writer import ProgramSide, Writer
from relift.semantics.errors import Unsupported
from relift.semantics.interpreter import operand_type, operator_lambda
from relift.semantics.syntax import terms
from relift.semantics.syntax.binding import Position, canonical, map_children
from relift.semantics.syntax.places import in_row
from relift.semantics.syntax.signatures import (
    FunctionKind,
    IndexKind,
    NatKind,
    NumbersKind,
    OperatorKind,
)
from relift.semantics.syntax.sizes import Size, letter_of
from relift.semantics.syntax.types import (
    AnyType,
    Array,
    Scalar,
    Tuple,
    Type,
    TypeVariable,
    Vector,
    substitute_type,
)


@dataclass(frozen=True)
class Pair:
    """Two values of a variable: how each is written, and the proof that they are related."""

    left: str
    right: str
    proof: str
    type: Type


@dataclass(frozen=True)
class Pairs:
    """The variables that stand for pairs."""

    variables: Mapping[str, Pair] = field(default_factory=dict)

    def side(self, right: bool) -> dict[str, str]:
        """How the variables are written on one side."""
        return {x: pair.right if right else pair.left for x, pair in self.variables.items()}

    def turned(self, w: Writer) -> Pairs:
        """The same with sides swapped."""

        def swapped(pair: Pair) -> Pair:
            proof = f"(per_sym {w.per(pair.type)} _ _ {pair.proof})"
            return Pair(pair.right, pair.left, proof, pair.type)

        return Pairs({x: swapped(pair) for x, pair in self.variables.items()})

    def seconds(self, w: Writer) -> Pairs:
        """The second values, each related to itself."""

        def doubled(pair: Pair) -> Pair:
            if isinstance(pair.type, Scalar):
                proof = f"(@eq_refl {w.type(pair.type)} {pair.right})"
            else:
                per = w.per(pair.type)
                proof = f"(per_trans {per} _ _ _ (per_sym {per} _ _ {pair.proof}) {pair.proof})"
            return Pair(pair.right, pair.right, proof, pair.type)

        return Pairs({x: doubled(pair) for x, pair in self.variables.items()})


@dataclass(frozen=True)
class Lemma:
    """A lemma of the proof, with all of its text; `rule` is the one that it states on symbols, if any."""

    name: str
    text: str
    rule: str = ""


Lemmas: TypeAlias = dict[str, Lemma]
"""What has been proved so far, each after what it needs."""

Hole: TypeAlias = Callable[[Pairs], str]
"""The proof at a position, by the pairs that are bound there."""

Holes: TypeAlias = Mapping[Position, Hole]
"""The proofs at some positions, of which none is below another."""

NO_HOLES: Holes = {}


def _below(holes: Holes, place: str) -> Holes:
    """The holes in a part, as that sees them."""
    return {path[1:]: hole for path, hole in holes.items() if path[0] == place}


@dataclass(frozen=True)
class WrittenLemma:
    """A lemma about variables: its name, what has written it, and the variables as they are called here."""

    name: str
    writer: Writer
    free: Sequence[str] = ()


@dataclass
class Shared:
    """What the lemmas of one theorem have in common: its sizes, what is proved already, what terms mention."""

    sizes: NamedSizes
    lemmas: Lemmas = field(default_factory=dict)
    known: dict[tuple[terms.Term, terms.Term], WrittenLemma] = field(default_factory=dict)
    _called: dict[tuple[terms.Term, tuple[str, ...]], terms.Term] = field(default_factory=dict)
    _flat: dict[str, Flat] = field(default_factory=dict)
    _mentioned: dict[int, tuple[terms.Term, dict[str, None]]] = field(default_factory=dict)
    _functions: dict[tuple[terms.BinaryOperator, Type], terms.Lambda] = field(default_factory=dict)

    def mentioned(self, t: terms.Term) -> Mapping[str, None]:
        """The free variables of a term, as they occur."""
        if id(t) not in self._mentioned:
            found: dict[str, None] = {}
            match t:
                case terms.Var(name):
                    found[name] = None
                case (
                    terms.Input() | terms.Literal() | terms.Apply() | terms.Call() | terms.Combine()
                    | terms.MakeTuple() | terms.Get() | terms.Metavariable() | terms.Pattern()
                ):  # fmt: skip
                    for _, u, binders in terms.inside(t):
                        bound = {x.name for x in binders}
                        found |= {x: None for x in self.mentioned(u) if x not in bound}
            self._mentioned[id(t)] = t, found
        return self._mentioned[id(t)][1]

    def canonical(self, t: terms.Term, free: tuple[str, ...]) -> terms.Term:
        """A term with its binders named by their depth, and its free variables by their places in a row."""
        key = t, free
        if key not in self._called:
            self._called[key] = canonical(t, {x: f"free{i}" for i, x in enumerate(free)})
        return self._called[key]

    def function(self, operator: terms.BinaryOperator, element: Type) -> terms.Lambda:
        """The function that an operator abbreviates."""
        key = operator, element
        if key not in self._functions:
            self._functions[key] = operator_lambda(operator, element)
        return self._functions[key]

    def flat(self, name: str, rule: Callable[[], Provable]) -> Flat:
        """A rule or congruence lemma in its flat form, which is proved when it is first asked for."""
        if name not in self._flat:
            self._flat[name] = found = flat(rule())
            self.lemmas[found.name] = Lemma(found.name, found.text, found.rule.name)
        return self._flat[name]


def lemma_name(stem: str, statement: str) -> str:
    """A name that no other statement has."""
    return f"{stem}_{hashlib.sha256(statement.encode()).hexdigest()[:16]}"


@dataclass
class Walk:
    """Writes the proof of one lemma."""

    shared: Shared
    w: Writer
    _count: int = 0
    _sides: dict[tuple[tuple[str, str], ...], ProgramSide] = field(default_factory=dict)

    # ---- text

    def text(self, t: terms.Term, pairs: Pairs, *, right: bool = False) -> str:
        """A term, with one value of each pair; what it shares with others is written once."""
        values = pairs.side(right)
        bound = tuple((x, values[x]) for x in self.shared.mentioned(t) if x in values)
        if bound not in self._sides:
            self._sides[bound] = ProgramSide.of(self.w, dict(bound))
        return self._sides[bound].term(t)

    # ---- proofs

    def under(self, parameters: Sequence[terms.Var], pairs: Pairs) -> tuple[list[Pair], Pairs]:
        """New pairs for variables that are bound, and with them all that there are."""
        new: dict[str, Pair] = {}
        for x in parameters:
            self._count += 1
            name = self.w.names.of("variable", x.name)
            new[x.name] = Pair(name, f"{name}'", f"H{self._count}", x.type)
        return list(new.values()), Pairs({**pairs.variables, **new})

    def binder(self, pair: Pair) -> str:
        """A pair, as binders of a lemma or of a function."""
        of, related = self.w.type(pair.type), self.w.relation(pair.type)
        return (
            f"({pair.left} {pair.right} : {of}) ({pair.proof} : {related} {pair.left} {pair.right})"
        )

    def function(self, f: terms.Lambda, pairs: Pairs, holes: Holes = NO_HOLES) -> str:
        """That a function takes related values to related values."""
        new, inner = self.under(f.parameters, pairs)
        binders = "".join(f"fun {pair.left} {pair.right} {pair.proof} => " for pair in new)
        return f"({binders}{self.proof(f.body, inner, holes)})"

    def operator(self, operator: terms.Operator, element: Type) -> str:
        """The same of an operator."""
        match operator:
            case terms.Vectorized(_, inner):
                assert isinstance(element, Vector), "cannot happen: vectorize works on vectors"
                own, width = self.w.relation(element.element), self.w.size(element.width)
                proof = self.operator(inner, element.element)
                return f"(@vectorize_related _ {own} {width} _ _ {proof})"
            case terms.BinaryOperator():
                return self.function(self.shared.function(operator, element), Pairs())
            case terms.OperatorMetavariable(name):
                raise AssertionError(f"cannot happen: a program without the metavariable {name}")

    def proof(self, t: terms.Term, pairs: Pairs, holes: Holes = NO_HOLES) -> str:
        """That the term with the first values is related to it with the second ones.

        What stands at a hole is proved by that, and may be another term on the second side.
        """
        if () in holes:
            return holes[()](pairs)
        w = self.w
        if not holes and not self._uses(t, pairs):
            return f"({w.reflexive(t.type)} {self.text(t, Pairs())})"

        if _is_scalar(t):
            return self._equal(t, pairs, holes)

        def below(place: str, u: terms.Term) -> str:
            return self.proof(u, pairs, _below(holes, place))

        match t:
            case terms.Var(name):
                return pairs.variables[name].proof
            case terms.Apply("select", arguments):
                proofs = [below(in_row("arguments", i), u) for i, u in enumerate(arguments)]
                related = w.relation(t.type)
                return f"(@select_related _ {related} _ _ _ _ _ _ {' '.join(proofs)})"
            case terms.Apply(function):
                raise Unsupported(f"{function} takes or gives what is no scalar", place="")
            case terms.Call(function, arguments):
                if function.body is None:
                    said = f"{function.name} takes or gives what is no scalar"
                    raise Unsupported(said, place="")
                proofs = [below(in_row("arguments", i), u) for i, u in enumerate(arguments)]
                own = self.function(function.body, Pairs())
                types = [u.type for u in arguments]
                return self._operator_applied(own, types, t.type, proofs)
            case terms.Combine(operator, left, right):
                proofs = [below("left", left), below("right", right)]
                own = self.operator(operator, left.type)
                return self._operator_applied(own, [left.type, right.type], t.type, proofs)
            case terms.MakeTuple(parts):
                return self._tuple(
                    parts, [below(in_row("parts", i), u) for i, u in enumerate(parts)]
                )
            case terms.Get(index, of):
                return self._component(of.type, index, below("of", of))
            case terms.Pattern():
                if not holes:
                    known = self.lemma(t, t, pairs, lambda walk, own: walk.pattern(t, own))
                    return self.applied(known, pairs)
                return self.pattern(t, pairs, holes)
            case terms.Input() | terms.Literal() | terms.Metavariable():
                raise AssertionError(f"cannot happen: {t} uses no variable")

    def _equal(self, t: terms.Term, pairs: Pairs, holes: Holes) -> str:
        """That a scalar expression is equal on both sides: it is one function of what else occurs in it."""
        leaves: dict[str, terms.Var] = {}

        def abstracted(u: terms.Term, holes: Holes) -> terms.Term:
            if not holes and not self._uses(u, pairs):
                return u
            if () not in holes and _is_scalar(u):
                parts = (abstracted(v, _below(holes, place)) for place, v, _ in terms.inside(u))
                return map_children(u, lambda _: next(parts), lambda f: f)
            proof = self.proof(u, pairs, holes)
            return leaves.setdefault(proof, terms.Var(f"leaf{len(leaves)}", u.type))

        body = abstracted(t, holes)
        whole = ProgramSide.of(self.w).function(terms.Lambda(tuple(leaves.values()), body))
        text = f"(@eq_refl _ {whole})"
        for proof in leaves:
            text = f"(equal_applied {text} {proof})"
        return text

    def _uses(self, t: terms.Term, pairs: Pairs) -> bool:
        found = self.shared.mentioned(t)
        return any(x in found for x in pairs.variables)

    def _operator_applied(
        self, own: str, types: Sequence[Type], result: Type, proofs: Sequence[str]
    ) -> str:
        for i, proof in enumerate(proofs):
            rest = self.w.function_relation(tuple(types[i + 1 :]), result)
            own = f"(@applied _ _ {self.w.relation(types[i])} {rest} _ _ _ _ {own} {proof})"
        return own

    def _tuple(self, parts: Sequence[terms.Term], proofs: Sequence[str]) -> str:
        text, related = proofs[0], self.w.relation(parts[0].type)
        for u, proof in zip(parts[1:], proofs[1:], strict=True):
            own = self.w.relation(u.type)
            text = f"(@pair_related _ _ {related} {own} _ _ _ _ {text} {proof})"
            related = f"(Rpair {related} {own})"
        return text

    def _component(self, of: Type, index: int, text: str) -> str:
        """Tuples nest to the left; see `rocq.text`."""
        assert isinstance(of, Tuple), "cannot happen: a component of a tuple"
        parts = list(of.parts)

        def outer(which: str) -> str:
            first, last = self._nested(parts[:-1]), self.w.relation(parts[-1])
            return f"(@{which} _ _ {first} {last} _ _ {text})"

        for _ in range(len(of.parts) - 1 - index - (index == 0)):
            text = outer("fst_of")
            parts.pop()
        return outer("fst_of" if index == 0 else "snd_of")

    def _nested(self, parts: Sequence[Type]) -> str:
        return self.w.relation(parts[0] if len(parts) == 1 else Tuple(tuple(parts)))

    # ---- patterns

    def applied(self, known: WrittenLemma, pairs: Pairs) -> str:
        """A lemma about variables, of these pairs."""
        own = (pairs.variables[x] for x in known.free)
        values = " ".join(f"{p.left} {p.right} {p.proof}" for p in own)
        return f"({self.w.instance(known.writer, known.name)} {values})"

    def lemma(
        self,
        first: terms.Term,
        second: terms.Term,
        pairs: Pairs,
        proof: Callable[[Walk, Pairs], str],
        stem: str = "shared",
    ) -> WrittenLemma:
        """That a term with the first values is related to another with the second ones, for all values.

        It is stated once over the free variables of both, wherever they occur; `proof` writes its proof.
        """
        found = {**self.shared.mentioned(first), **self.shared.mentioned(second)}
        types = {x: pairs.variables[x].type for x in found if x in pairs.variables}
        free = tuple(types)
        key = self.shared.canonical(first, free), self.shared.canonical(second, free)
        if key not in self.shared.known:
            inner = Walk(self.shared, Writer(sizes=self.shared.sizes))
            own, inside = inner.under([terms.Var(x, of) for x, of in types.items()], Pairs())
            left, right = inner.text(first, inside), inner.text(second, inside, right=True)
            whole = proof(inner, inside)
            conclusion = f"{inner.w.relation(first.type)}\n  {left}\n  {right}"
            name = inner.stated_lemma(stem, [*map(inner.binder, own)], conclusion, whole)
            self.shared.known[key] = WrittenLemma(name, inner.w)
        return replace(self.shared.known[key], free=free)

    def stated_lemma(self, stem: str, own: Sequence[str], conclusion: str, proof: str) -> str:
        """Add a lemma about what the writer has met; its name."""
        binders = " ".join([*self.w.binders(), *own])
        statement = f"forall {binders},\n  {conclusion}" if binders else conclusion
        name = lemma_name(stem, statement)
        term = f"(fun {binders} => {proof})" if binders else proof
        text = f"Theorem {name} : {statement}.\nProof. exact {term}. Qed.\n"
        self.shared.lemmas.setdefault(name, Lemma(name, text))
        return name

    def pattern(self, t: terms.Pattern, pairs: Pairs, holes: Holes = NO_HOLES) -> str:
        """A pattern by its congruence lemma."""
        lemma = self.shared.flat(f"respects {t.name}", lambda: respects(type(t)))
        types = {letter_of(name): of for name, of in _types_at(t).items()}
        sizes = {letter_of(name): n for name, n in t.solved.items()}
        sizes |= {n: v for n in lemma.rule.sizes if isinstance(v := getattr(t, n, None), Size)}
        values: dict[str, tuple[str, str]] = {}
        proofs: dict[str, str] = {}
        for place, kind in t.signature.parameters.items():
            value = getattr(t, place)
            rest = _below(holes, place)
            match kind:
                case NatKind():
                    pass
                case FunctionKind(binds=binds):
                    if binds is not None:
                        raise Unsupported(f"{t.name} has a function for every size", place="")
                    proofs[place] = self.function(value, pairs, rest)
                case OperatorKind():
                    proofs[place] = self.operator(value, operand_type(t))
                case IndexKind(length):
                    text = ProgramSide.of(self.w).parameter(t, place, value)
                    values[place] = text, text
                    n = self.w.size(t.sized(length))
                    proofs[place] = self.w.fact(f"Rindex {n} {text} {text}", "index")
                case NumbersKind(element):
                    text = ProgramSide.of(self.w).parameter(t, place, value)
                    values[place] = text, text
                    of = substitute_type(element, types, sizes)
                    proofs[place] = f"(fun _ _ => {self.w.reflexive(of)} _)"
                case AnyType():
                    proofs[place] = self.proof(value, pairs, rest)
        own = Instance(self.w, lemma, types, sizes, values, proofs)
        return own.text(lambda condition: "_")


def _is_scalar(t: terms.Term) -> bool:
    """Whether a node computes a scalar of scalars."""
    if not isinstance(t, terms.Apply | terms.Call | terms.Combine):
        return False
    return all(isinstance(u.type, Scalar) for u in (t, *(u for _, u, _ in terms.inside(t))))


def _types_at(t: terms.Pattern) -> dict[str, Type]:
    """What the type variables of a pattern's signature are at a node."""
    found: dict[str, Type] = {}

    def bind(schema: Type, actual: Type) -> None:
        match schema:
            case TypeVariable(name):
                found[name] = actual
            case Array(inner, _) | Vector(inner, _):
                assert isinstance(actual, Array | Vector), "cannot happen: it has been typed"
                bind(inner, actual.element)
            case Tuple(parts):
                assert isinstance(actual, Tuple), "cannot happen: it has been typed"
                for part, own in zip(parts, actual.parts, strict=True):
                    bind(part, own)
            case Scalar():
                pass

    for place, kind in t.signature.parameters.items():
        value = getattr(t, place)
        match kind:
            case NatKind() | IndexKind():
                pass
            case FunctionKind(arguments, result):
                for schema, x in zip(arguments, value.parameters, strict=True):
                    bind(schema, x.type)
                bind(result, value.body.type)
            case OperatorKind(element):
                bind(element, operand_type(t))
            case NumbersKind(element):
                bind(element, value.type)
            case AnyType():
                bind(kind, value.type)
    bind(t.signature.result, t.type)
    return found
