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

from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from relift.egraph.encode.built import Built
from relift.egraph.encode.equations import NotSearchable, expression, type_variable
from relift.egraph.encode.matched import Matched
from relift.egraph.encode.prelude import law_premises, rule_text
from relift.rewrites.checks.verdicts import Direction
from relift.rewrites.declared_laws import FloatPolicy
from relift.rewrites.ledger.book import total_in
from relift.rewrites.metavariables import named_sizes
from relift.rewrites.rule import Rule
from relift.semantics.patterns import PATTERNS
from relift.semantics.syntax.signatures import FunctionKind, IndexKind, NatKind, OperatorKind
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import Metavariable, Pattern, Term, subterms
from relift.semantics.syntax.types import AnyType, Type, Vector, type_names

DIRECTIONS: tuple[Direction, ...] = ("forward", "backward")


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
    premises matter.  What comes of it stays with the rule, which every search asks for again, unless it is
    `partial`: then it hangs on the ledger.
    """
    _require_equation(rule, direction)
    known: dict[Hashable, EncodedRule] = vars(rule).setdefault(ENCODED, {})
    asked = (direction, policy, without)
    if asked in known and not partial:
        return known[asked]
    encoded = _Encoder(rule, direction, policy, partial, without).encode()
    if not partial:
        known[asked] = encoded
    return encoded


ENCODED = "encode_rule"
"""Where it is among what is known of a rule."""


def _require_equation(rule: Rule, direction: Direction) -> None:
    """Raise `NotSearchable` for what no e-graph can hold, whatever is matched."""
    if rule.lowering:
        raise NotSearchable("lowering: applied by context")
    if rule.refinement:
        raise NotSearchable("refinement: the e-graph only unites what is equal")
    left, right = rule.side(direction)
    for t in (t for side in (left, right) for t, _ in subterms(side)):
        if isinstance(t, Pattern) and t.leaves_open:
            raise NotSearchable(f"the e-graph would share cells that {t.name} leaves open")
        if isinstance(t, Pattern) and PATTERNS.get(t.name) is not type(t):
            raise NotSearchable(f"{t.name} is no pattern of relift.semantics.patterns")
        if isinstance(t, Pattern) and t.signature.binds_a_size:
            raise NotSearchable("the e-graph has no function that is typed at every size")
    for name, kind in rule.parameters.items():
        if isinstance(kind, IndexKind):
            raise NotSearchable(f"the e-graph has no variables for index functions such as {name}")
    if isinstance(left, Metavariable):
        raise NotSearchable("the matched side is a bare metavariable, which matches everything")


class _Encoder:
    """One direction of a rule: its sides, and the premises between them."""

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
        left, self.right = rule.side(direction)
        self.label = rule.name if direction == "forward" else rule.name + "_backward"
        self.matched = Matched(left)
        self.sizes, self.names = self.matched.sizes, self.matched.names
        self.types_seen: set[str] = set()
        self.chosen: dict[str, None] = {}
        self.free_used: dict[str, None] = {}
        premises = self._type_premises(left)
        choices = self._choose()
        bounds = [f"(>= {self.sizes.text(b.size)} {b.least})" for b in self.rule.lower_bounds]
        laws = self._laws()
        self._require_determined()
        self.built = Built(self.label, self.right, self.matched)
        self.base = [
            f"(= root {self.matched.text})",
            *premises,
            *choices,
            *self.sizes.premises,
            *bounds,
            *laws,
            *self._total(),
        ]

    def encode(self) -> EncodedRule:
        """The rule, and what it needs."""
        moved, scope, distinct = self._moved(), self._scope(), self._distinct()
        free = [f"(= f_{name} (fv m_{name}))" for name in self.free_used]
        fresh = self.built.fresh
        log = self._log()
        ruleset, demand = "apply_" + self.label, "demand_" + self.label if fresh else None
        premises = [
            *self.base,
            *free,
            *(f"(= {b.variable} {text})" for b, text in fresh),
            *distinct,
            *scope,
            *moved,
            *(f"(= q_{name} (rep m_{name}))" for name in log.functions),
        ]
        actions = [f"(union root {self.built.text})", self._log_row(log)]
        text = log.declaration() + f"(ruleset {ruleset})\n"
        text += rule_text(premises, actions, ruleset, self.label)
        if demand is not None:
            known = [p for p in distinct if not any(b.variable in p for b, _ in fresh)]
            made = [definition for _, definition in fresh]
            text += f"(ruleset {demand})\n"
            text += rule_text([*self.base, *free, *known, *scope], made, demand)
        names, old = self._variables, len(self.matched.binders)
        apart = ((names.index(x), names.index(y)) for x, y in self.names.distinct)
        return EncodedRule(
            self.rule.name,
            self.direction,
            self.label,
            text,
            log,
            ruleset,
            demand,
            tuple((f, names.index(v)) for f, v in self.names.scope),
            tuple((f, names.index(v)) for f, v in self.names.moved),
            tuple((x, y) for x, y in apart if max(x, y) < old),
        )

    @property
    def _variables(self) -> list[str]:
        """The variables for the logged names: binders of the matched side, then new ones."""
        return [b.variable for b in (*self.matched.binders, *(b for b, _ in self.built.fresh))]

    # ---- types, sizes, laws

    def _type_premises(self, left: Term) -> list[str]:
        """The type of every metavariable, of every binder, and of the whole."""
        premises: list[str] = []
        for name, kind in self.rule.parameters.items():
            if name not in self.matched.parameters:
                continue
            match kind:
                case FunctionKind(_, result):
                    premises.append(self._premise(f"ty m_{name}", result))
                case OperatorKind() | NatKind() | IndexKind():
                    pass
                case AnyType():
                    premises.append(self._premise(f"ty m_{name}", kind))
        for b in self.matched.binders:
            premises.append(self._premise(f"nty {b.variable}", b.type))
        premises.append(self._premise("ty root", left.type))
        self.sizes.solve()
        return premises

    def _premise(self, of: str, t: Type) -> str:
        self.types_seen.update(type_names(t))
        return f"(= ({of}) {self.sizes.type_pattern(t)})"

    def _choose(self) -> list[str]:
        """Premises that take sizes which matching leaves open from the relations of admissible ones."""
        elements = _vector_elements(self.right)
        premises: list[str] = []

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
            if condition.operator not in self.matched.operators:
                raise NotSearchable(f"the operator {condition.operator} is not determined")
            other = None
            if condition.element is not None:
                if condition.element not in self.matched.parameters:
                    raise NotSearchable(f"{condition.element} is named by the other side only")
                other = "m_" + condition.element
            if condition.over is not None:
                if condition.over not in self.matched.operators:
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
            names.update(self.matched.parameters if known is None else known)
        return [f"(total m_{name})" for name in self.matched.parameters if name in names]

    def _require_determined(self) -> None:
        """Raise `NotSearchable` for a type or a size that matching leaves open."""
        undetermined = set(self.rule.types) - self.types_seen
        if undetermined:
            raise NotSearchable(f"the type {min(undetermined)} is not determined")
        for name in self.rule.sizes:
            self.sizes.text(Size.atom(name))

    # ---- premises on names

    def _scope(self) -> list[str]:
        if "scope" in self.without:
            return []
        scope = self.names.scope
        return [f"(set-not-contains {self._free(name)} {variable})" for name, variable in scope]

    def _distinct(self) -> list[str]:
        if "distinct" in self.without:
            return []
        return [f"(!= {x} {y})" for x, y in self.names.distinct]

    def _moved(self) -> list[str]:
        if "freshness" in self.without:
            return []
        premises = []
        for name, variable in self.names.moved:
            free = self._free(name)
            for p in self.matched.parameters[name]:
                free = f"(set-remove {free} {p})"
            premises.append(f"(set-not-contains {free} {variable})")
        return premises

    def _free(self, name: str) -> str:
        self.free_used[name] = None
        return "f_" + name

    def _log(self) -> Log:
        names = self._variables
        functions = tuple(self.matched.parameters)
        return Log(
            "log_" + self.label,
            functions,
            tuple(sorted(self.matched.operators)),
            self.rule.sizes,
            self.rule.types,
            tuple([b.name for b in self.matched.binders] + [b.name for b, _ in self.built.fresh]),
            tuple(tuple(names.index(p) for p in self.matched.parameters[f]) for f in functions),
            tuple(range(len(self.matched.binders))),
            tuple(names.index(variable) for variable in self.built.bound),
            tuple(self.chosen),
        )

    def _log_row(self, log: Log) -> str:
        columns = [
            *(f"q_{name}" for name in log.functions),
            *(f"o_{name}" for name in log.operators),
            *(self.sizes.text(Size.atom(name)) for name in log.sizes),
            *(type_variable(name) for name in log.types),
            *self._variables,
        ]
        return f"({log.relation} {' '.join(columns)})"


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
