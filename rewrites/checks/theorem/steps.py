"""A step of a derivation as a lemma: down to its position by congruence, there an instance of its rule."""

from __future__ import annotations

from dataclasses import dataclass

from relift.rewrites.checks.theorem.applied import Instance
from relift.rewrites.checks.theorem.congruence import Hole, Pair, Pairs, Shared, Walk
from relift.rewrites.checks.theorem.writer import ProgramSide, Writer
from relift.rewrites.conditions import Condition, IndexCondition
from relift.rewrites.derivation.steps import Step
from relift.rewrites.rule import Rule
from relift.semantics.errors import Unsupported
from relift.semantics.syntax.signatures import FunctionKind, IndexKind, NatKind, OperatorKind
from relift.semantics.syntax.substitution import Substitution
from relift.semantics.syntax.terms import Operator, Pattern, Term, Vectorized, free_variables
from relift.semantics.syntax.types import AnyType, Type, Vector


@dataclass(frozen=True)
class Stated:
    """A lemma, and the writer that says what it binds."""

    name: str
    writer: Writer


def step_lemma(shared: Shared, rule: Rule, step: Step, before: Term, after: Term) -> Stated:
    """That two programs are equal, the second being what the step makes of the first; raises `Unsupported`."""
    walk = Walk(shared, Writer(sizes=shared.sizes))
    left, right = walk.text(before, Pairs()), walk.text(after, Pairs())
    related = walk.w.relation(before.type)
    proof = walk.proof(before, Pairs(), step.position, _hole(walk, rule, step))
    return Stated(walk.stated_lemma("step", (), f"{related}\n  {left}\n  {right}", proof), walk.w)


def stable_lemma(shared: Shared, result: Term) -> Stated:
    """That a program gives equal results on inputs that agree within their bounds.

    It ends in the second inputs x' and their relations; see `second_inputs`.
    """
    walk = Walk(shared, Writer(sizes=shared.sizes))
    first = walk.text(result, Pairs())
    inputs = second_inputs(walk.w)
    second = ProgramSide.of(walk.w, primed=True).term(result)
    proof = walk.proof(result, Pairs(inputs=inputs))
    related = walk.w.relation(result.type)
    own = [
        f"({pair.right} : {walk.w.type(pair.type)}) ({pair.proof} : {walk.w.relation(pair.type)} {pair.left} {pair.right})"
        for pair in inputs.values()
    ]
    return Stated(
        walk.stated_lemma("stable", own, f"{related}\n  {first}\n  {second}", proof), walk.w
    )


def second_inputs(w: Writer) -> dict[str, Pair]:
    """The inputs that a writer has met, each as a pair."""
    return {x.name: Pair(name, f"{name}'", f"I_{name}", x.type) for name, x in w.inputs.items()}


def _hole(walk: Walk, rule: Rule, step: Step) -> Hole:
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
    if isinstance(t, Pattern) and t.rocq.startswith("repeat "):
        (name,) = t.signature.term_fields
        found: Term = getattr(t, name)
        return found
    raise Unsupported(f"a neutral vector {t} that is no one value in all lanes", place="")
