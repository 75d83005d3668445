"""Where the sides of a rule are defined, as statements for the Rocq prover beside the equality.

The language is partial: an index may be out of range, an index function no permutation.  The interpreter is
strict in data: an array is computed whole before any of it is read, and `x` in `let(f, x)` even where f does
not use it.  Functions it calls for the elements that there are: under a map over an empty array nothing is
computed.  So a term is defined where its data are and each of its calls is:

    D(x) = nothing to show, for a variable      D(x) = D_x for a data metavariable, D_x : Prop
    D(f(t)) = D_f t, and D(t) if asked           D_f : A -> Prop, of a function metavariable
    D(map(f, xs)) = D(xs) and D(f(xs[i])) for all i below the length          see `Pattern.rocq_defined`

f(t) stands for the body of f with t put in, which computes t where it uses it: not at all, perhaps.  So D(t)
is shown of the side that is put in place, and not known of the side that was there.

A rule may be used from left to right where what the left side is defined at, the right side is, too:

    .. premises ..,  iff D_x D_x' -> .. -> D(left) -> D(right')

Some directions compute more than the side before (`calls` finds out what): there the substitutions of some
metavariables must be total, and their D is True.
Operators and opaque functions are total, index metavariables stay in range; `matching` sees to that.

What branches on a cell that `pad_empty` leaves open is undefined, too; `Literal["total"]` of a rule with such
a cell means that its substitutions do not even branch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from relift.rewrites.checks.rocq import library as rocq_library
from relift.rewrites.checks.rocq.statements import Head, Provable, proposition
from relift.rewrites.checks.rocq.text import AnyFunction, Side, Statement, Uninterpreted
from relift.rewrites.checks.verdicts import Direction
from relift.rewrites.rule import Rule
from relift.semantics.indices.functions import (
    IndexExpression,
    IndexFunction,
    IndexMetavariable,
    folded,
)
from relift.semantics.interpreter import operand_type, operator_lambda
from relift.semantics.patterns import Gather
from relift.semantics.syntax import terms
from relift.semantics.syntax.signatures import (
    FunctionKind,
    IndexKind,
    Kind,
    NatKind,
    NumbersKind,
    OperatorKind,
    WrittenKind,
)
from relift.semantics.syntax.types import AnyType, Type, Vector


@dataclass
class Domains(Side):
    """Writes where terms are defined; `used` are the metavariables that it speaks of, by their names.

    `asked`: it is to be shown; otherwise it is what is known.
    """

    asked: bool = True
    total: frozenset[str] = frozenset()
    used: dict[str, Kind | WrittenKind] = field(default_factory=dict)
    kinds: Mapping[str, Kind | WrittenKind] = field(default_factory=dict)

    def of(self, t: terms.Term) -> list[str]:
        """What must hold for `t` to be defined, its variables being so; without repetition."""
        return list(dict.fromkeys(self._parts(t)))

    def _parts(self, t: terms.Term) -> Iterator[str]:
        for _, child in terms.children(t):
            if not isinstance(child, terms.Lambda) and (
                self.asked or not isinstance(t, terms.Metavariable)
            ):
                yield from self._parts(child)
        match t:
            case terms.Metavariable(name, arguments):
                if name not in self.total:
                    yield self.applied(self.domain(name), arguments)
            case terms.Call(function, arguments):
                known = None if function.body is None else self.function_domain(function.body)
                if known is not None:
                    yield self.applied(known, arguments)
            case terms.Combine(operator, left, right):
                if (known := self.operator_domain(operator, left.type)) is not None:
                    yield self.applied(known, (left, right))
            case terms.Pattern():
                yield from self._pattern(t)
            case (
                terms.Var() | terms.Input() | terms.Literal() | terms.Apply() | terms.MakeTuple()
                | terms.Get()
            ):  # fmt: skip
                pass

    def domain(self, name: str) -> str:
        """Where a metavariable is defined: a predicate of its arguments."""
        x = self.statement.names.of("metavariable", name)
        self.used[name] = self.kinds[name]
        return self.statement.names.of("domain", f"D_{x}") + self.prime

    def _pattern(self, t: terms.Pattern) -> Iterator[str]:
        """The pattern's own template; nothing where all its functions are total and nothing else can fail."""
        if not t.rocq_defined:
            return
        functions: dict[str, str | None] = {}
        values = {name: self.statement.size(n) for name, n in t.solved.items()}
        for name, kind in t.signature.parameters.items():
            value = getattr(t, name)
            match kind:
                case FunctionKind():
                    functions[name] = self._of_function(t, name)
                case OperatorKind():
                    functions[name] = self.operator_domain(value, operand_type(t))
                case IndexKind():
                    if value.metavariable is None:
                        yield from self._index_metavariables(value, t)
                        body = self.whole_index_function(value.body, t.solved["n"])
                    else:  # it stays in range, by what is assumed of it
                        if isinstance(t, Gather):
                            return
                        i = f"v_{self.statement.names.of('index', 'i')}"
                        p = self.metavariable(value.body.name)
                        body = f"(fun {i} : nat => Z.of_nat ({p} {i}))"
                    values[f"{name}_whole"] = body
                case NatKind() | NumbersKind() | AnyType():
                    pass
        if functions and not t.partial and not any(functions.values()):
            return
        for name, known in functions.items():
            values[f"{name}_defined"] = known or self._everywhere(t, name)
        yield f"({t.rocq_defined.format_map(values | self.parameters(t))})"

    def _everywhere(self, t: terms.Pattern, name: str) -> str:
        """The domain of a total function."""
        kind = t.signature.parameters[name]
        count = len(kind.arguments) if isinstance(kind, FunctionKind) else 2
        return f"(fun {'_ ' * (count + (isinstance(kind, FunctionKind) and kind.binds is not None))}=> True)"

    def _index_metavariables(self, f: IndexFunction, t: terms.Pattern) -> Iterator[str]:
        """An index metavariable is given indices in range only."""
        for name in f.metavariables:
            for argument in _arguments(f, name):
                if isinstance(argument, IndexMetavariable):
                    continue
                body = self.whole_index_function(argument, t.solved["n"])
                yield f"(gather_defined {body} {self.statement.size(t.solved['n'])})"

    def _of_function(self, t: terms.Pattern, name: str) -> str | None:
        """Where the function of a pattern is defined."""
        f = getattr(t, name)
        if isinstance(f, AnyFunction):
            return self.domain(f.name)
        return self.function_domain(f, t.bound_size(name))

    def function_domain(self, f: terms.Lambda, size: str | None = None) -> str | None:
        """Where a lambda is defined; None: everywhere.  It is given a size first where its pattern binds one."""
        parts = self.of(f.body)
        if not parts:
            return None
        body = f.body
        if (
            isinstance(body, terms.Metavariable)
            and body.arguments == f.parameters
            and len(parts) == 1
        ):
            text = self.domain(body.name)
        else:
            binders = [f"({self.term(x)} : {self.statement.type(x.type)})" for x in f.parameters]
            text = f"(fun {' '.join(binders)} => {conjunction(parts)})"
        return text if size is None else f"(fun {self.statement.names.of('size', size)} => {text})"

    def operator_domain(self, operator: terms.Operator, element: Type) -> str | None:
        """Where an operator is defined; operator metavariables stand for total ones."""
        match operator:
            case terms.OperatorMetavariable():
                return None
            case terms.Vectorized(width, inner):
                assert isinstance(element, Vector), "cannot happen: vectorize works on vectors"
                known = self.operator_domain(inner, element.element)
                if known is None:
                    return None
                return f"(vectorize_defined {known} {self.statement.size(width)})"
            case terms.BinaryOperator():
                return self.function_domain(operator_lambda(operator, element))


def _arguments(f: IndexFunction, name: str) -> Iterator[IndexExpression]:
    """What an index metavariable is applied to inside an index function."""
    found: list[IndexExpression] = []

    def applied(e: IndexMetavariable, _: None) -> None:
        if e.name == name:
            found.append(e.argument)

    folded(f.body, None, lambda n: None, lambda e, x, y: None, applied)
    return iter(found)


def conjunction(parts: list[str]) -> str:
    """All of them, in Rocq."""
    if not parts:
        return "True"
    first, *rest = parts
    for part in rest:
        first = f"({first} /\\ {part})"
    return first


def definedness(rule: Provable, direction: Direction, total: Collection[str] = ()) -> str | None:
    r"""That in this direction no value is lost, as a Rocq proposition; None where there is nothing to show.

    The metavariables `total` are defined everywhere.

    >>> from relift.rewrites.checks.rocq.definedness import definedness
    >>> from relift.rewrites.library import RULES
    >>> print(definedness(RULES["take_map"], "forward"))
    forall (A : Type) (R_A : rel A)
      (B : Type) (R_B : rel B)
      (m r : nat)
      (f f' : A -> B)
      (xs xs' : (arr A))
      (D_xs D_xs' : Prop)
      (D_f D_f' : A -> Prop),
    PER R_A ->
    PER R_B ->
    (Rfun R_A R_B) f f' ->
    (Rarr (m + r) R_A) xs xs' ->
    iff D_xs D_xs' ->
    (Rfun R_A iff) D_f D_f' ->
    (D_xs /\ (map_defined D_f (m + r) xs)) ->
      (D_xs' /\ (map_defined D_f' m (take xs')))
    """
    s = Statement()
    head = Head.of(s, rule)
    kinds = rule.parameters
    everywhere = frozenset(total)
    forward = direction == "forward"
    left = Domains(s, "", not forward, everywhere, kinds=kinds)
    right = Domains(s, "'", forward, everywhere, kinds=kinds)
    parts = left.of(rule.left), right.of(rule.right)
    before, after = parts if forward else parts[::-1]
    if not after:
        return None
    related = "implies" if rule.refinement else "iff"
    for name, kind in (left.used | right.used).items():
        domain = s.names.of("domain", "D_" + s.names.of("metavariable", name))
        head.binders.append(f"({domain} {domain}' : {_domain_type(s, kind)})")
        head.related.append(f"{_domain_relation(s, kind, related)} {domain} {domain}'")
    return head.closed(f"{conjunction(before)} ->\n  {conjunction(after)}")


def defined(t: terms.Term) -> tuple[list[str], Mapping[str, Uninterpreted]]:
    """Where a program without metavariables is defined, in Rocq, and what that uses without a definition there."""
    s = Statement()
    return Domains(s, "").of(t), s.given


def _domain_type(s: Statement, kind: Kind | WrittenKind) -> str:
    if not isinstance(kind, FunctionKind):
        return "Prop"
    sized = ["nat"] * (kind.binds is not None)
    return " -> ".join([*sized, *map(s.type, kind.arguments), "Prop"])


def _domain_relation(s: Statement, kind: Kind | WrittenKind, related: str) -> str:
    if not isinstance(kind, FunctionKind):
        return related
    for argument in reversed(kind.arguments):
        related = f"(Rfun {s.relation(argument)} {related})"
    if kind.binds is None:
        return related
    return f"(Rsize (fun {s.names.of('size', kind.binds)} => {related}))"


def may_be_partial(kind: Kind | WrittenKind) -> bool:
    """Whether what a metavariable of this kind stands for may be undefined: data and functions."""
    return not isinstance(kind, NatKind | OperatorKind | IndexKind)


# ---- all that is stated of a rule


def directions(rule: Provable) -> tuple[Direction, ...]:
    """The directions that a rule holds in; of a congruence lemma one says both."""
    one_way = not isinstance(rule, Rule) or rule.lowering or rule.refinement
    return ("forward",) if one_way else ("forward", "backward")


def statements_of(rule: Provable) -> tuple[str, ...]:
    """All that tier 4b says of a rule, with substitutions that may be partial.

    They stay with the rule: each search asks the ledger of those that it applied, which are always the same.
    """
    stated: tuple[str, ...] | None = vars(rule).get(STATED)
    if stated is None:
        kept = (definedness(rule, direction) for direction in directions(rule))
        stated = (proposition(rule), *(statement for statement in kept if statement is not None))
        vars(rule)[STATED] = stated
    return stated


STATED = "statements_of"
"""Where they are among what is known of a rule."""


def statement_hash(rule: Provable) -> str:
    """sha256 of a rule's statements and of the definitions that these are made of."""
    return rocq_library.statement_hash(statements_of(rule))


def proof_hash(rule: Provable) -> str:
    """sha256 of what proves a rule: its scripts, or the tactics, with every lemma that these can reach."""
    return rocq_library.proof_hash(statements_of(rule), rule.proof, scripts_of(rule).values())


def scripts_of(rule: Provable) -> Mapping[Direction, str]:
    """The scripts that show, by direction, that a rule loses no value, where the tactic does not."""
    return dict(rule.defined) if isinstance(rule, Rule) else {}
