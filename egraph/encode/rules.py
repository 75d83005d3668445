"""A rule in one direction as egglog rules, with every premise derived from the equation.

    scope       a metavariable that is not applied to a binder does not use it
    freshness   a metavariable that moves under a binder does not use that binder's name
    distinct    binders of which one is inside the other have different names
    types       of every metavariable, every binder, and the whole; sizes follow from them
    laws        of operators, where the rule names them
    total       what must be defined everywhere for a union, which is a step both ways, to lose no value;
                only where the program has something partial, for else all is total

A binder of the right side that has the name and type of one on the left is that one.  Any other is a new
name made from the rule, the first binder of the left, and its type: firing twice makes the same name.  Such
a name must exist before a premise can speak of it, so a second rule, of the ruleset `demand`, creates it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from relift.egraph.encode.terms import (
    Equations,
    Field,
    NotSearchable,
    expression,
    law_premises,
    node_text,
    operator_text,
    quoted,
    rule_text,
    type_variable,
    written_text,
)
from relift.rewrites.checks.verdicts import Direction
from relift.rewrites.ledger.book import total_in
from relift.rewrites.matching import FloatPolicy
from relift.rewrites.metavariables import is_miller, named_sizes
from relift.rewrites.rule import Rule
from relift.semantics.indices.functions import Written
from relift.semantics.patterns import PATTERNS
from relift.semantics.syntax.signatures import FunctionKind, IndexKind, OperatorKind
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import (
    Apply,
    BinaryOperator,
    Call,
    Combine,
    Expression,
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
    Var,
    Vectorized,
    subterms,
)
from relift.semantics.syntax.types import Type, Vector, type_names

DIRECTIONS: tuple[Direction, ...] = ("forward", "backward")
_ROOT = '(V "" (Sc "f32"))'


@dataclass(frozen=True)
class Log:
    """The columns of a rule's log, in order: what its metavariables stood for when it fired.

    `parameters` holds, for each metavariable, which of the logged names are its parameters; `matched` and
    `built` say which of the logged names the binders of each side are, in the order of the text.
    """

    relation: str
    functions: tuple[str, ...]
    operators: tuple[str, ...]
    sizes: tuple[str, ...]
    types: tuple[str, ...]
    names: tuple[str, ...]
    parameters: tuple[tuple[int, ...], ...]
    matched: tuple[int, ...]
    built: tuple[int, ...]
    chosen: tuple[str, ...]

    @property
    def sorts(self) -> tuple[str, ...]:
        """The sorts of the columns."""
        return (
            *("Q" for _ in self.functions),
            *("O" for _ in self.operators),
            *("i64" for _ in self.sizes),
            *("T" for _ in self.types),
            *("N" for _ in self.names),
        )

    def declaration(self) -> str:
        return f"(relation {self.relation} ({' '.join(self.sorts)}))\n"


@dataclass(frozen=True)
class EncodedRule:
    """A rule in one direction: its text, the rulesets it uses, and how to read its log.

    The derived premises are listed for the checks that break them: `scope` and `moved` hold a
    metavariable and the index, among the logged names, of the binder that it must not use; `distinct`
    holds pairs of binders of the matched side.
    """

    rule: str
    direction: Direction
    name: str
    text: str
    log: Log
    ruleset: str
    demand: str | None
    scope: tuple[tuple[str, int], ...]
    moved: tuple[tuple[str, int], ...]
    distinct: tuple[tuple[int, int], ...]


def encode_rule(
    rule: Rule,
    direction: Direction = "forward",
    policy: FloatPolicy = "reassociate",
    *,
    partial: bool = False,
    without: frozenset[str] = frozenset(),
) -> EncodedRule:
    """The egglog rules of `rule`; raises `NotSearchable` with the reason.

    `partial`: for a program in which something may be undefined.

    `without` leaves out premises by kind (`scope`, `freshness`, `distinct`); only for tests that show the
    premises matter.
    """
    return _Encoder(rule, direction, policy, partial, without).encode()


@dataclass(frozen=True)
class _Binder:
    """A binder of the matched side: its name in the rule, its variable in egglog, its type."""

    name: str
    variable: str
    type: Type


class _Encoder:
    def __init__(
        self,
        rule: Rule,
        direction: Direction,
        policy: FloatPolicy,
        partial: bool,
        without: frozenset[str],
    ) -> None:
        self.rule, self.partial, self.without = rule, partial, without
        self.direction: Direction = direction
        self.policy: FloatPolicy = policy
        self.left, self.right = rule.side(direction)
        self.label = rule.name if direction == "forward" else rule.name + "_backward"
        self.sizes = Equations()
        self.parameters: dict[str, tuple[str, ...]] = {}
        self.binders: list[_Binder] = []
        self.operators: set[str] = set()
        self.literals: list[str] = []
        self.types_seen: set[str] = set()
        self.distinct: dict[tuple[str, str], None] = {}
        self.scope: dict[tuple[str, str], None] = {}
        self.moved: dict[tuple[str, str], None] = {}
        self.fresh: list[tuple[_Binder, str]] = []
        self.free_used: dict[str, None] = {}
        self.type_premises: list[str] = []
        self.built: list[str] = []

    def encode(self) -> EncodedRule:
        if self.rule.lowering:
            raise NotSearchable("lowering: applied by context")
        if self.rule.refinement:
            raise NotSearchable("refinement: the e-graph only unites what is equal")
        for t in (t for side in (self.left, self.right) for t, _ in subterms(side)):
            if isinstance(t, Pattern) and t.leaves_open:
                raise NotSearchable(f"the e-graph would share cells that {t.name} leaves open")
            if isinstance(t, Pattern) and PATTERNS.get(t.name) is not type(t):
                raise NotSearchable(f"{t.name} is no pattern of relift.semantics.patterns")
            if isinstance(t, Pattern) and t.signature.binds_a_size:
                raise NotSearchable("the e-graph has no function that is typed at every size")
        for name, kind in self.rule.parameters.items():
            if isinstance(kind, IndexKind):
                raise NotSearchable(
                    f"the e-graph has no variables for index functions such as {name}"
                )
        if isinstance(self.left, Metavariable):
            raise NotSearchable("the matched side is a bare metavariable, which matches everything")
        matched = self._match(self.left, ())
        self._type_premises()
        choices = self._choose()
        bounds = [f"(>= {self.sizes.text(b.size)} {b.least})" for b in self.rule.lower_bounds]
        laws = self._laws()
        undetermined = set(self.rule.types) - self.types_seen
        if undetermined:
            raise NotSearchable(f"the type {min(undetermined)} is not determined")
        for name in self.rule.sizes:
            self.sizes.text(Size.atom(name))
        built = self._build(self.right, {})
        moved = self._moved_premises()
        scope = [
            f"(set-not-contains {self._free(name)} {variable})"
            for name, variable in self.scope
            if "scope" not in self.without
        ]
        distinct = [f"(!= {x} {y})" for x, y in self.distinct if "distinct" not in self.without]
        base = [
            f"(= root {matched})",
            *self.type_premises,
            *choices,
            *self.sizes.premises,
            *bounds,
            *laws,
            *self._total(),
        ]
        free = [f"(= f_{name} (fv m_{name}))" for name in self.free_used]
        new = [f"(= {b.variable} {text})" for b, text in self.fresh]
        old_distinct = [p for p in distinct if not any(b.variable in p for b, _ in self.fresh)]
        log = self._log()
        reps = [f"(= q_{name} (rep m_{name}))" for name in log.functions]
        ruleset = "apply_" + self.label
        text = log.declaration() + f"(ruleset {ruleset})\n"
        text += rule_text(
            [*base, *free, *new, *distinct, *scope, *moved, *reps],
            [f"(union root {built})", self._log_row(log)],
            ruleset,
            self.label,
        )
        demand, names = None, self._names
        if self.fresh:
            demand = "demand_" + self.label
            text += f"(ruleset {demand})\n"
            text += rule_text(
                [*base, *free, *old_distinct, *scope],
                [definition for _, definition in self.fresh],
                demand,
                "?" + self.label,
            )
        return EncodedRule(
            self.rule.name,
            self.direction,
            self.label,
            text,
            log,
            ruleset,
            demand,
            tuple((f, names.index(v)) for f, v in self.scope),
            tuple((f, names.index(v)) for f, v in self.moved),
            tuple(
                (names.index(x), names.index(y))
                for x, y in self.distinct
                if max(names.index(x), names.index(y)) < len(self.binders)
            ),
        )

    @property
    def _names(self) -> list[str]:
        """The variables for the logged names: binders of the matched side, then new ones."""
        return [b.variable for b in self.binders] + [b.variable for b, _ in self.fresh]

    # ---- the matched side

    def _match(self, t: Term, scope: tuple[_Binder, ...]) -> str:
        match t:
            case Var(name):
                return f"(Var {_innermost(scope, name).variable})"
            case Metavariable():
                return self._metavariable(t, scope)
            case Input(name):
                raise NotSearchable(f"a rule does not speak of the input {name}")
            case Literal() | Apply() | Call() | Combine() | MakeTuple() | Get() | Pattern():
                return node_text(t, lambda field: self._match_field(field, scope))

    def _match_field(self, value: Field, scope: tuple[_Binder, ...]) -> str:
        match value:
            case str():
                return quoted(value)
            case int():
                return str(value)
            case Size():
                return self._match_size(value)
            case Lambda(parameters, body):
                new = tuple(
                    _Binder(x.name, f"x{len(self.binders) + i}_{x.name}", x.type)
                    for i, x in enumerate(parameters)
                )
                for x, y in itertools.chain(
                    itertools.product(scope, new), itertools.combinations(new, 2)
                ):
                    self._require_distinct(x.variable, y.variable)
                self.binders += new
                return " ".join([*(b.variable for b in new), self._match(body, scope + new)])
            case Written():
                return _constant(value)
            case BinaryOperator() | OperatorMetavariable() | Vectorized():
                return self._match_operator(value)
            case Expression():
                return self._match(value, scope)
            case of:
                return self.sizes.type_pattern(of)

    def _match_size(self, n: Size) -> str:
        if n.constant is not None:
            return str(n.constant)
        value = self.sizes.variable()
        self.sizes.equate(n, value)
        return expression(value)

    def _match_operator(self, operator: Operator) -> str:
        match operator:
            case BinaryOperator():
                return operator_text(operator)
            case OperatorMetavariable(name):
                self.operators.add(name)
                return "o_" + name
            case Vectorized(width, inner):
                return f"(OVec {self._match_size(width)} {self._match_operator(inner)})"

    def _metavariable(self, t: Metavariable, scope: tuple[_Binder, ...]) -> str:
        bound = [Var(b.name, b.type) for b in scope]
        if not is_miller(t, bound):
            raise NotSearchable(
                f"{t.name} is not applied to distinct bound variables (no Miller pattern)"
            )
        parameters = tuple(
            _innermost(scope, u.name).variable for u in t.arguments if isinstance(u, Var)
        )
        if self.parameters.setdefault(t.name, parameters) != parameters:
            raise NotSearchable(
                f"{t.name} occurs twice under different binders, which needs equality up to names"
            )
        for b in scope:
            if b.variable not in parameters:
                self.scope[t.name, b.variable] = None
        return "m_" + t.name

    # ---- types, sizes, laws

    def _type_premises(self) -> None:
        """The type of every metavariable, of every binder, and of the whole."""
        for name, kind in self.rule.parameters.items():
            if name in self.parameters and not isinstance(kind, OperatorKind):
                result = kind.result if isinstance(kind, FunctionKind) else kind
                self._premise(f"ty m_{name}", result)
        for b in self.binders:
            self._premise(f"nty {b.variable}", b.type)
        self._premise("ty root", self.left.type)
        self.sizes.solve()

    def _premise(self, of: str, t: Any) -> None:
        self.types_seen.update(type_names(t))
        self.type_premises.append(f"(= ({of}) {self.sizes.type_pattern(t)})")

    def _choose(self) -> list[str]:
        """Premises that take sizes which matching leaves open from the relations of admissible ones."""
        elements = _vector_elements(self.right)
        premises: list[str] = []
        self.chosen: dict[str, None] = {}

        def choose(n: Size, least: int) -> None:
            value = self.sizes.variable()
            lanes = {t for name in n.names() for t in elements.get(name, ())}
            relation = "lanes" if n.names() & elements.keys() else "tile"
            premises.extend(f"(flat {type_variable(t)})" for t in sorted(lanes))
            self.chosen.update(dict.fromkeys(sorted(self.sizes.unknowns(n))))
            premises.append(f"({relation} {expression(value)})")
            premises.append(f"(> {expression(value)} 1)")
            self.sizes.equate(n, value)
            self.sizes.solve(least)

        for n in self.rule.choose:
            if self.sizes.unknowns(n):
                choose(n, 1)
        named = {
            name for t, _ in subterms(self.right) for n in named_sizes(t) for name in n.names()
        }
        for name in sorted(named):
            if self.sizes.unknowns(Size.atom(name)):
                choose(Size.atom(name), 2)
        if self.sizes.unsolved:
            left = sorted(n for n in self.rule.sizes if self.sizes.unknowns(Size.atom(n)))
            raise NotSearchable(f"the sizes {', '.join(left)} are not determined")
        return premises

    def _laws(self) -> list[str]:
        premises: list[str] = []
        for condition in self.rule.laws():
            if condition.operator not in self.operators:
                raise NotSearchable(f"the operator {condition.operator} is not determined")
            other = None
            if condition.element is not None:
                if condition.element not in self.parameters:
                    raise NotSearchable(f"{condition.element} is named by the other side only")
                other = "m_" + condition.element
            if condition.over is not None:
                if condition.over not in self.operators:
                    raise NotSearchable(f"the operator {condition.over} is not determined")
                other = "o_" + condition.over
            kind = self.rule.parameters[condition.operator]
            assert isinstance(kind, OperatorKind), "cannot happen: a rule checks its conditions"
            premises += law_premises(
                condition.law,
                "o_" + condition.operator,
                other,
                self.sizes.type_value(kind.element),
                self.policy,
            )
        return premises

    def _total(self) -> list[str]:
        """That what must be total is, in both directions."""
        if not self.partial:
            return []
        names: set[str] = set()
        for direction in DIRECTIONS:
            known = total_in(self.rule, direction)
            names.update(self.parameters if known is None else known)
        return [f"(total m_{name})" for name in self.parameters if name in names]

    # ---- the built side

    def _build(self, t: Term, scope: dict[str, str]) -> str:
        match t:
            case Var(name):
                return f"(Var {scope[name]})"
            case Metavariable():
                return self._instance(t, scope)
            case Input(name):
                raise NotSearchable(f"a rule does not speak of the input {name}")
            case Literal() | Apply() | Call() | Combine() | MakeTuple() | Get() | Pattern():
                return node_text(t, lambda field: self._build_field(field, scope))

    def _build_field(self, value: Field, scope: dict[str, str]) -> str:
        match value:
            case str():
                return quoted(value)
            case int():
                return str(value)
            case Size():
                return self.sizes.text(value)
            case Lambda(parameters, body):
                inner = dict(scope)
                new: list[str] = []
                for x in parameters:
                    variable = self._binder(x, [*scope.values(), *new])
                    for outer in (*scope.values(), *new):
                        self._require_distinct(outer, variable)
                    new.append(variable)
                    inner[x.name] = variable
                self.built += new
                return " ".join([*new, self._build(body, inner)])
            case Written():
                return _constant(value)
            case BinaryOperator() | OperatorMetavariable() | Vectorized():
                return self._build_operator(value)
            case Expression():
                return self._build(value, scope)
            case of:
                return self.sizes.type_value(of)

    def _build_operator(self, operator: Operator) -> str:
        match operator:
            case BinaryOperator():
                return operator_text(operator)
            case OperatorMetavariable(name):
                if name not in self.operators:
                    raise NotSearchable(f"the operator {name} is named by the other side only")
                return "o_" + name
            case Vectorized(width, inner):
                return f"(OVec {self.sizes.text(width)} {self._build_operator(inner)})"

    def _binder(self, x: Var, used: Sequence[str]) -> str:
        """The binder of the matched side that `x` is, or a new name."""
        same = [b for b in self.binders if b.name == x.name]
        if len(same) == 1 and same[0].type == x.type and same[0].variable not in used:
            return same[0].variable
        number = len(self.fresh)
        parent = self.binders[0].variable if self.binders else _ROOT
        label = quoted(f"{self.label}.{number}.{x.name}")
        definition = f"(Fr {label} {parent} {self.sizes.type_value(x.type)})"
        self.fresh.append((_Binder(x.name, f"w{number}_{x.name}", x.type), definition))
        return f"w{number}_{x.name}"

    def _instance(self, t: Metavariable, scope: dict[str, str]) -> str:
        """A metavariable on the built side: its term, with arguments for its parameters."""
        if t.name not in self.parameters:
            raise NotSearchable(f"{t.name} is named by the other side only")
        parameters = self.parameters[t.name]
        for variable in scope.values():
            if variable not in parameters:
                self._require_absent(t.name, variable)
        changed = [
            (p, u)
            for p, u in zip(parameters, t.arguments, strict=True)
            if not (isinstance(u, Var) and scope[u.name] == p)
        ]
        # one after the other is all at once when no argument mentions a parameter replaced later
        for order in itertools.permutations(changed):
            if all(
                p not in {scope[x] for x in _variables(u)}
                for i, (_, u) in enumerate(order)
                for p, _ in order[i + 1 :]
            ):
                break
        else:
            raise NotSearchable(f"the arguments of {t.name} depend on each other in a cycle")
        for i, (_, u) in enumerate(order):
            for p, _ in order[i + 1 :]:
                self._keep_out(p, u, scope)
        texts = {p: self._build(u, scope) for p, u in changed}
        text = "m_" + t.name
        for p, _ in order:
            text = f"(Sub {p} {texts[p]} {text})"
        return text

    def _keep_out(self, variable: str, t: Term, scope: dict[str, str]) -> None:
        """Require that `t` does not use `variable`, which is replaced after it was put in."""
        for u, _ in subterms(t):
            match u:
                case Var(name) if name in scope:
                    self._require_distinct(scope[name], variable)
                case Metavariable(name) if name in self.parameters:
                    self._require_absent(name, variable)
                case _:
                    pass

    # ---- premises on names

    def _require_absent(self, name: str, variable: str) -> None:
        """Require that a metavariable does not use a name, unless its scope on the matched side says so."""
        if (name, variable) not in self.scope:
            self.moved[name, variable] = None

    def _require_distinct(self, x: str, y: str) -> None:
        if (y, x) not in self.distinct:
            self.distinct[x, y] = None

    def _free(self, name: str) -> str:
        self.free_used[name] = None
        return "f_" + name

    def _moved_premises(self) -> list[str]:
        if "freshness" in self.without:
            return []
        premises = []
        for name, variable in self.moved:
            free = self._free(name)
            for p in self.parameters[name]:
                free = f"(set-remove {free} {p})"
            premises.append(f"(set-not-contains {free} {variable})")
        return premises

    # ---- the log

    def _log(self) -> Log:
        names = self._names
        functions = tuple(self.parameters)
        return Log(
            "log_" + self.label,
            functions,
            tuple(sorted(self.operators)),
            self.rule.sizes,
            self.rule.types,
            tuple([b.name for b in self.binders] + [b.name for b, _ in self.fresh]),
            tuple(tuple(names.index(p) for p in self.parameters[f]) for f in functions),
            tuple(range(len(self.binders))),
            tuple(names.index(variable) for variable in self.built),
            tuple(self.chosen),
        )

    def _log_row(self, log: Log) -> str:
        columns = [
            *(f"q_{name}" for name in log.functions),
            *(f"o_{name}" for name in log.operators),
            *(self.sizes.text(Size.atom(name)) for name in log.sizes),
            *(type_variable(name) for name in log.types),
            *self._names,
        ]
        return f"({log.relation} {' '.join(columns)})"


def _innermost(scope: tuple[_Binder, ...], name: str) -> _Binder:
    return next(b for b in reversed(scope) if b.name == name)


def _constant(value: Written) -> str:
    if any(n.constant is None for n in value.sizes):
        raise NotSearchable(f"{value} depends on the sizes of the rule")
    return written_text(value)


def _variables(t: Term) -> set[str]:
    """The variables of `t` that are not bound in it."""
    return {u.name for u, bound in subterms(t) if isinstance(u, Var) and u not in bound}


def _vector_elements(t: Term) -> dict[str, set[str]]:
    """For each size that is the width of a vector in `t`, the type variables among its elements.

    A width that is chosen makes new vectors, and OpenCL has vectors of scalars only: each of these types is
    `flat`, a scalar or a tuple of such.
    """
    found: dict[str, set[str]] = {}

    def visit(of: Type) -> Iterator[Vector]:
        if isinstance(of, Vector):
            yield of
        for inner in getattr(of, "parts", None) or filter(None, [getattr(of, "element", None)]):
            yield from visit(inner)

    for u, _ in subterms(t):
        for v in visit(u.type):
            for name in v.width.names():
                found.setdefault(name, set()).update(type_names(v.element))
    return found


__all__ = ["EncodedRule", "Log", "NotSearchable", "encode_rule"]
