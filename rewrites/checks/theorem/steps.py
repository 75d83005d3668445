"""The instance of a rule in a program: its metavariables filled in, its conditions as assumptions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from relift.rewrites.checks.theorem.applied import Instance
from relift.rewrites.checks.theorem.congruence import Hole, Pair, Pairs, Shared, Walk, WrittenLemma
from relift.rewrites.checks.theorem.writer import ProgramSide, Writer
from relift.rewrites.conditions import Condition, IndexCondition
from relift.rewrites.derivation.steps import Step
from relift.rewrites.rule import Rule
from relift.semantics.errors import Unsupported
from relift.semantics.patterns import Splat
from relift.semantics.syntax.binding import map_children
from relift.semantics.syntax.signatures import FunctionKind, IndexKind, NatKind, OperatorKind
from relift.semantics.syntax.substitution import Substitution
from relift.semantics.syntax.terms import (
    Input,
    Lambda,
    Operator,
    Term,
    Var,
    Vectorized,
    distinct,
    free_variables,
)
from relift.semantics.syntax.types import AnyType, Type, Vector


def stable_lemma(shared: Shared, result: Term) -> WrittenLemma:
    """That a program gives equal results on inputs that agree within their bounds.

    It is about the inputs as variables; see `second_inputs`.
    """
    walk = Walk(shared, Writer(sizes=shared.sizes))
    given = {u.name: u for u in distinct(result) if isinstance(u, Input)}
    _, pairs = walk.under([_variable(x) for x in given.values()], Pairs())

    def abstracted(t: Term) -> Term:
        if isinstance(t, Input):
            return _variable(t)
        return map_children(t, abstracted, lambda f: Lambda(f.parameters, abstracted(f.body)))

    of = abstracted(result)
    return walk.lemma(of, of, pairs, lambda inner, own: inner.proof(of, own), "stable")


def _variable(x: Input) -> Var:
    """An input as a variable, of which no program has the name."""
    return Var(f"input {x.name}", x.type)


def as_pairs(inputs: Mapping[str, Pair]) -> Pairs:
    """Pairs of inputs, for a lemma about them as variables."""
    return Pairs({f"input {name}": pair for name, pair in inputs.items()})


def second_inputs(w: Writer) -> dict[str, Pair]:
    """The inputs that a writer has met, each as a pair."""
    return {x.name: Pair(name, f"{name}'", f"I_{name}", x.type) for name, x in w.inputs.items()}


def instance(walk: Walk, rule: Rule, step: Step) -> Hole:
    """The instance of the rule, at the pairs that are bound around the position."""

    def proof(pairs: Pairs) -> str:
        back = step.direction == "backward"
        text = _Applied(
            walk, rule, step.substitution, pairs.turned(walk.w) if back else pairs
        ).text()
        if not back:
            return text
        per = walk.w.per(step.substitution.type(rule.left.type))
        return f"(per_sym {per} _ _ {text})"

    return proof


@dataclass
class _Applied:
    """A rule with its metavariables filled in, below some binders."""

    walk: Walk
    rule: Rule
    filled: Substitution
    pairs: Pairs

    def text(self) -> str:
        w, walk, pairs = self.walk.w, self.walk, self.pairs
        values: dict[str, tuple[str, str]] = {}
        proofs: dict[str, str] = {}
        for name, kind in self.rule.parameters.items():
            match kind:
                case NatKind():
                    pass
                case FunctionKind():
                    f = self.filled.functions[name]
                    proofs[name] = walk.function(f, pairs)
                case OperatorKind(element):
                    operator, of = self.filled.operators[name], self.filled.type(element)
                    text = ProgramSide.of(w).operator(operator, of)
                    values[name] = text, text
                    proofs[name] = walk.operator(operator, of)
                case IndexKind(length):
                    text = self._index_function(name)
                    values[name] = text, text
                    n = w.size(length.substitute(self.filled.sizes))
                    proofs[name] = w.fact(f"Rindex {n} {text} {text}", "index")
                case AnyType():
                    body = self.filled.functions[name].body
                    proofs[name] = walk.proof(body, pairs)
        lemma = walk.shared.flat(self.rule.name, lambda: self.rule)
        own = Instance(w, lemma, self.filled.types, self.filled.sizes, values, proofs)
        return own.text(self._law)

    def _index_function(self, name: str) -> str:
        kind = self.rule.parameters[name]
        assert isinstance(kind, IndexKind), "cannot happen: it is an index metavariable"
        length = kind.length.substitute(self.filled.sizes)
        side = ProgramSide.of(self.walk.w)
        return side.index_function(self.filled.indices[name].body, length)

    def _law(self, condition: Condition | IndexCondition) -> str:
        """A law of the program's own operators, or of index functions, as an assumption."""
        if isinstance(condition, IndexCondition):
            kind = self.rule.parameters[condition.function]
            assert isinstance(kind, IndexKind), "cannot happen: a rule checks its conditions"
            n = self.walk.w.size(kind.length.substitute(self.filled.sizes))
            functions = " ".join(map(self._index_function, condition.metavariables))
            return self.walk.w.fact(f"{condition.law} {n} {functions}", "index")
        kind = self.rule.parameters[condition.operator]
        assert isinstance(kind, OperatorKind), "cannot happen: a rule checks its conditions"
        element = (
            None if condition.element is None else self.filled.functions[condition.element].body
        )
        over = None if condition.over is None else self.filled.operators[condition.over]
        operator = self.filled.operators[condition.operator]
        return self._operator_law(
            condition.law, operator, self.filled.type(kind.element), element, over
        )

    def _operator_law(
        self, law: str, operator: Operator, of: Type, element: Term | None, over: Operator | None
    ) -> str:
        w, side = self.walk.w, ProgramSide.of(self.walk.w)
        if isinstance(operator, Vectorized) and isinstance(of, Vector):  # it holds lane by lane
            inner = None if element is None else _lane(element)
            plus = over.operator if isinstance(over, Vectorized) else None
            proof = self._operator_law(law, operator.operator, of.element, inner, plus)
            more = "_ " * (element is not None or over is not None)
            return f"(@vec_{law} _ {w.relation(of.element)} {w.size(of.width)} _ {more}{proof})"
        parts = [law, w.relation(of), side.operator(operator, of)]
        if element is not None:
            if free_variables(element):
                raise Unsupported("a neutral element that depends on variables", place="")
            parts.append(side.term(element))
        if over is not None:
            parts.append(side.operator(over, of))
        return w.fact(" ".join(parts), "law")


def _lane(t: Term) -> Term:
    """The value of each lane of a vector that has the same in all."""
    if isinstance(t, Splat):
        return t.x
    raise Unsupported(f"a neutral vector {t} that is no one value in all lanes", place="")
