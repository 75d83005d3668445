"""Proofs that related values make related programs: a term of Rocq, put together as the program is.

Below binders every variable is a pair of values with a proof that they are related.  `Walk.proof` shows that a term
with the first values is related to the same term with the second ones: at a pattern by its congruence lemma, at a
variable by its own proof.  Given a position, the proof at that place is another one, such as the instance of a rule;
then the term there is another, too, and the rest is as before.

Each type, relation and size is written out, so that the prover only compares; nothing is searched for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from relift.rewrites.checks.rocq.statements import Provable, respects
from relift.rewrites.checks.theorem.applied import Instance
from relift.rewrites.checks.theorem.flat import Flat, flat
from relift.rewrites.checks.theorem.sizes import NamedSizes
from relift.rewrites.checks.theorem.writer import ProgramSide, Writer
from relift.semantics.errors import Unsupported
from relift.semantics.interpreter import operand_type, operator_lambda
from relift.semantics.syntax import terms
from relift.semantics.syntax.binding import Position, canonical, map_children, substitute
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
    """The variables, and the inputs, that stand for pairs."""

    variables: Mapping[str, Pair] = field(default_factory=dict)
    inputs: Mapping[str, Pair] = field(default_factory=dict)

    def side(self, right: bool) -> dict[str, str]:
        """How the variables are written on one side."""
        return {x: pair.right if right else pair.left for x, pair in self.variables.items()}

    def turned(self, w: Writer) -> Pairs:
        """The same with sides swapped."""

        def swapped(pair: Pair) -> Pair:
            proof = f"(per_sym {w.per(pair.type)} _ _ {pair.proof})"
            return Pair(pair.right, pair.left, proof, pair.type)

        return Pairs({x: swapped(pair) for x, pair in self.variables.items()}, self.inputs)


@dataclass(frozen=True)
class Lemma:
    """A lemma of the proof, with all of its text."""

    name: str
    text: str


Lemmas: TypeAlias = dict[str, Lemma]
"""What has been proved so far, each after what it needs."""

Hole: TypeAlias = Callable[[Pairs], str]
"""The proof at a position, by the pairs that are bound there."""


@dataclass
class Shared:
    """What the lemmas of one theorem have in common: its sizes, what is proved already, what terms mention."""

    sizes: NamedSizes
    lemmas: Lemmas = field(default_factory=dict)
    known: dict[terms.Term, tuple[str, Writer]] = field(default_factory=dict)
    _flat: dict[str, Flat] = field(default_factory=dict)
    _mentioned: dict[int, tuple[terms.Term, frozenset[str]]] = field(default_factory=dict)
    _functions: dict[tuple[terms.BinaryOperator, Type], terms.Lambda] = field(default_factory=dict)

    def mentioned(self, t: terms.Term) -> frozenset[str]:
        """The free variables of a term, and its inputs as `input x`."""
        if id(t) not in self._mentioned:
            found: frozenset[str] = frozenset()
            match t:
                case terms.Var(name):
                    found = frozenset((name,))
                case terms.Input(name):
                    found = frozenset((f"input {name}",))
                case (
                    terms.Literal() | terms.Apply() | terms.Call() | terms.Combine()
                    | terms.MakeTuple() | terms.Get() | terms.Metavariable() | terms.Pattern()
                ):  # fmt: skip
                    for _, u, binders in terms.inside(t):
                        found |= self.mentioned(u) - {x.name for x in binders}
            self._mentioned[id(t)] = t, found
        return self._mentioned[id(t)][1]

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
            self.lemmas[found.name] = Lemma(found.name, found.text)
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

    # ---- text

    def text(self, t: terms.Term, pairs: Pairs, *, right: bool = False) -> str:
        """A term, with one value of each pair."""
        return ProgramSide.of(self.w, pairs.side(right), primed=right and bool(pairs.inputs)).term(
            t
        )

    def function_text(self, f: terms.Lambda, pairs: Pairs, *, right: bool = False) -> str:
        """The same of a function."""
        return ProgramSide.of(self.w, pairs.side(right)).lambda_(f)

    # ---- proofs

    def under(self, parameters: Sequence[terms.Var], pairs: Pairs) -> tuple[list[Pair], Pairs]:
        """New pairs for variables that are bound, and with them all that there are."""
        new: dict[str, Pair] = {}
        for x in parameters:
            self._count += 1
            name = self.w.names.of("variable", x.name)
            new[x.name] = Pair(name, f"{name}'", f"H{self._count}", x.type)
        return list(new.values()), Pairs({**pairs.variables, **new}, pairs.inputs)

    def binder(self, pair: Pair) -> str:
        """A pair, as binders of a lemma or of a function."""
        of, related = self.w.type(pair.type), self.w.relation(pair.type)
        return (
            f"({pair.left} {pair.right} : {of}) ({pair.proof} : {related} {pair.left} {pair.right})"
        )

    def function(
        self, f: terms.Lambda, pairs: Pairs, path: Position | None = None, hole: Hole | None = None
    ) -> str:
        """That a function takes related values to related values."""
        new, inner = self.under(f.parameters, pairs)
        binders = "".join(f"fun {pair.left} {pair.right} {pair.proof} => " for pair in new)
        return f"({binders}{self.proof(f.body, inner, path, hole)})"

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

    def proof(
        self, t: terms.Term, pairs: Pairs, path: Position | None = None, hole: Hole | None = None
    ) -> str:
        """That the term with the first values is related to it with the second ones.

        Where a path is given, what stands at its end is proved by the hole.
        """
        if path == () and hole is not None:
            return hole(pairs)
        w = self.w
        if path is None and not self._uses(t, pairs):
            return f"({w.reflexive(t.type)} {self.text(t, Pairs())})"

        if path is None and _is_scalar(t):
            return self._equal(t, pairs)

        def below(place: str, u: terms.Term) -> str:
            on_path = path is not None and path[0] == place
            return self.proof(u, pairs, path[1:] if path and on_path else None, hole)

        match t:
            case terms.Var(name):
                return pairs.variables[name].proof
            case terms.Input(name):
                return pairs.inputs[name].proof
            case terms.Apply("select", arguments):
                proofs = [below(f"arguments.{i}", u) for i, u in enumerate(arguments)]
                related = w.relation(t.type)
                return f"(@select_related _ {related} _ _ _ _ _ _ {' '.join(proofs)})"
            case terms.Apply(function, arguments):
                kind = FunctionKind(tuple(u.type for u in arguments), t.type)
                head = w.without_definition(function, kind)
                return self._scalar(
                    head, t, [below(f"arguments.{i}", u) for i, u in enumerate(arguments)]
                )
            case terms.Call(function, arguments):
                proofs = [below(f"arguments.{i}", u) for i, u in enumerate(arguments)]
                if function.body is None:
                    return self._scalar(ProgramSide.of(w).user_function(function), t, proofs)
                own = self.function(function.body, Pairs())
                return self._applied(own, [u.type for u in arguments], t.type, proofs)
            case terms.Combine(operator, left, right):
                proofs = [below("left", left), below("right", right)]
                own = self.operator(operator, left.type)
                return self._applied(own, [left.type, right.type], t.type, proofs)
            case terms.MakeTuple(parts):
                return self._tuple(parts, [below(f"parts.{i}", u) for i, u in enumerate(parts)])
            case terms.Get(index, of):
                return self._component(of.type, index, below("of", of))
            case terms.Pattern():
                if path is None and not pairs.inputs:
                    return self.stated(t, pairs)
                return self.pattern(t, pairs, path, hole)
            case terms.Literal() | terms.Metavariable():
                raise AssertionError(f"cannot happen: {t} uses no variable")

    def _equal(self, t: terms.Term, pairs: Pairs) -> str:
        """That a scalar expression is equal on both sides: it is one function of what else occurs in it."""
        leaves: dict[terms.Term, terms.Var] = {}

        def abstracted(u: terms.Term) -> terms.Term:
            if not self._uses(u, pairs):
                return u
            if _is_scalar(u):
                return map_children(u, abstracted, lambda f: f)
            return leaves.setdefault(u, terms.Var(f"leaf{len(leaves)}", u.type))

        body = abstracted(t)
        whole = ProgramSide.of(self.w).function(terms.Lambda(tuple(leaves.values()), body))
        text = f"(@eq_refl _ {whole})"
        for u in leaves:
            text = f"(equal_applied {text} {self.proof(u, pairs)})"
        return text

    def _uses(self, t: terms.Term, pairs: Pairs) -> bool:
        found = self.shared.mentioned(t)
        return any(x in found for x in pairs.variables) or any(
            f"input {x}" in found for x in pairs.inputs
        )

    def _scalar(self, head: str, t: terms.Apply | terms.Call, proofs: Sequence[str]) -> str:
        """A function without a definition respects equality."""
        if not all(isinstance(u.type, Scalar) for u in (t, *t.arguments)):
            raise Unsupported(f"{head} takes or gives what is no scalar", place="")
        text = f"(@eq_refl _ {head})"
        for proof in proofs:
            text = f"(equal_applied {text} {proof})"
        return text

    def _applied(self, own: str, types: Sequence[Type], result: Type, proofs: Sequence[str]) -> str:
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

    def stated(self, t: terms.Pattern, pairs: Pairs) -> str:
        """The proof for a pattern, stated once over its free variables and then applied."""
        free = [x for x in _in_order(t) if x in pairs.variables]
        types = {x: pairs.variables[x].type for x in free}
        key = canonical(
            substitute(t, {x: terms.Var(f"free{i}", types[x]) for i, x in enumerate(free)})
        )
        if key not in self.shared.known:
            self.shared.known[key] = self._state(t, [terms.Var(x, types[x]) for x in free])
        name, of = self.shared.known[key]
        own = (pairs.variables[x] for x in free)
        values = " ".join(f"{p.left} {p.right} {p.proof}" for p in own)
        return f"({self.w.instance(of, name)} {values})"

    def _state(self, t: terms.Pattern, free: Sequence[terms.Var]) -> tuple[str, Writer]:
        inner = Walk(self.shared, Writer(sizes=self.shared.sizes))
        new, pairs = inner.under(free, Pairs())
        left, right = inner.text(t, pairs), inner.text(t, pairs, right=True)
        proof = inner.pattern(t, pairs, None, None)
        own = [inner.binder(pair) for pair in new]
        conclusion = f"{inner.w.relation(t.type)}\n  {left}\n  {right}"
        return inner.stated_lemma("shared", own, conclusion, proof), inner.w

    def stated_lemma(self, stem: str, own: Sequence[str], conclusion: str, proof: str) -> str:
        """Add a lemma about what the writer has met; its name."""
        binders = " ".join([*self.w.binders(), *own])
        statement = f"forall {binders},\n  {conclusion}" if binders else conclusion
        name = lemma_name(stem, statement)
        term = f"(fun {binders} => {proof})" if binders else proof
        text = f"Theorem {name} : {statement}.\nProof. exact {term}. Qed.\n"
        self.shared.lemmas.setdefault(name, Lemma(name, text))
        return name

    def pattern(
        self, t: terms.Pattern, pairs: Pairs, path: Position | None, hole: Hole | None
    ) -> str:
        """A pattern by its congruence lemma."""
        lemma = self.shared.flat(f"respects {t.name}", lambda: respects(type(t)))
        types = {letter_of(name): of for name, of in _types_at(t).items()}
        sizes = {letter_of(name): n for name, n in t.solved.items()}
        sizes |= {n: v for n in lemma.rule.sizes if isinstance(v := getattr(t, n, None), Size)}
        values: dict[str, tuple[str, str]] = {}
        proofs: dict[str, str] = {}
        for place, kind in t.signature.parameters.items():
            value = getattr(t, place)
            rest = path[1:] if path and path[0] == place else None
            match kind:
                case NatKind():
                    pass
                case FunctionKind(binds=binds):
                    if binds is not None:
                        raise Unsupported(f"{t.name} has a function for every size", place="")
                    proofs[place] = self.function(value, pairs, rest, hole)
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
                    proofs[place] = self.proof(value, pairs, rest, hole)
        own = Instance(self.w, lemma, types, sizes, values, proofs)
        return own.text(lambda condition: "_")


def _is_scalar(t: terms.Term) -> bool:
    """Whether a node computes a scalar of scalars."""
    if not isinstance(t, terms.Apply | terms.Call | terms.Combine):
        return False
    return all(isinstance(u.type, Scalar) for u in (t, *(u for _, u, _ in terms.inside(t))))


def _in_order(t: terms.Term) -> Iterator[str]:
    """The free variables of a term, each once, as they occur."""
    found: dict[str, None] = {}
    for u, bound in terms.subterms(t):
        if isinstance(u, terms.Var) and u.name not in {x.name for x in bound}:
            found[u.name] = None
    return iter(found)


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
