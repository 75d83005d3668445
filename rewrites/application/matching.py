"""Applying a rule at a place: Miller matching, side conditions, instantiation.

This matcher works on terms alone and shares no code with the e-graph, so a derivation found there is
replayed here independently.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from relift.rewrites.application.abstraction import beside, component_of, named, names_in
from relift.rewrites.application.beginnings import unlike
from relift.rewrites.application.substitutions import (
    broken_index_law,
    require_fits,
    with_neutral_elements,
)
from relift.rewrites.application.totality import (
    closed_around,
    computes_surely,
    first_partial,
    first_partial_operator,
    has_open_cells,
    sees_open_cells,
)
from relift.rewrites.checks.verdicts import Direction
from relift.rewrites.conditions import Condition
from relift.rewrites.declared_laws import (
    EXACT_LAWS,
    FloatPolicy,
    float_policy,
    has_law,
    has_law_over,
    holds_floats,
    is_neutral,
)
from relift.rewrites.metavariables import is_miller
from relift.rewrites.rule import Rule
from relift.semantics.errors import IllTyped, ReliftError
from relift.semantics.indices.functions import IndexFunction, LiteralParameter
from relift.semantics.interpreter import operand_type
from relift.semantics.syntax import terms
from relift.semantics.syntax.binding import (
    Position,
    alpha_equal,
    binders_at,
    free_types,
    replace_at,
    substitute,
    term_at,
)
from relift.semantics.syntax.expression import Expression
from relift.semantics.syntax.nodes import Field, fields
from relift.semantics.syntax.signatures import Matching, OperatorKind, schema_size, schema_type
from relift.semantics.syntax.sizes import Size, Unknown, by_letter
from relift.semantics.syntax.substitution import Substitution
from relift.semantics.syntax.types import AnyType, Type, Vector, substitute_type


class NoMatch(ReliftError):
    """A rule does not apply at a place; the message says why."""


def apply_rule(
    rule: Rule,
    t: terms.Term,
    position: Position = (),
    *,
    direction: Direction = "forward",
    choices: Mapping[str, int] | None = None,
    parts: Mapping[str, Position] | None = None,
    given: Mapping[str, terms.Term] | None = None,
    policy: FloatPolicy = "reassociate",
) -> tuple[terms.Term, Substitution]:
    """`t` with the rule applied at a position, and what its metavariables stand for.

    `choices` gives values to sizes that matching does not determine, and `parts` the places, from the
    position on, of what metavariables stand for in `g(h(x))`, where any part could be `h(x)`, or under the name
    of g of what that is given in `g(let(h, x))`.  `given` are values that stand nowhere in the term.  Raises `NoMatch`.

    >>> from relift import i32, show
    >>> from relift.rewrites.application.matching import apply_rule
    >>> from relift.semantics.notation.parser import parse_term
    >>> from relift.semantics.syntax.terms import Input
    >>> from relift.rewrites.library import RULES
    >>> t = parse_term("map(lambda x: x + 1, xs)", xs=Input("xs", i32[8]))
    >>> show(apply_rule(RULES["split_join"], t, choices={"m": 4})[0])
    'join(map(lambda c: map(lambda x: x + 1, c), split(4, xs)))'
    """
    here = term_at(t, position)
    substitution = matched(rule, here, direction, choices or {}, parts or {}, given or {})
    return apply_filled(rule, t, position, direction, substitution, policy), substitution


def matched(
    rule: Rule,
    here: terms.Term,
    direction: Direction,
    choices: Mapping[str, int],
    parts: Mapping[str, Position],
    given: Mapping[str, terms.Term],
) -> Substitution:
    """What the metavariables of a side stand for where it is this term, whatever that stands in; raises `NoMatch`."""
    before, _ = rule.side(direction)
    chosen = {name: term_at(here, place) for name, place in parts.items()}
    return match(rule, before, here, choices, chosen, given)


def apply_filled(
    rule: Rule,
    t: terms.Term,
    position: Position,
    direction: Direction,
    substitution: Substitution,
    policy: FloatPolicy,
) -> terms.Term:
    """`t` with the rule applied, its metavariables being given; every premise is checked.

    Raises `NoMatch` when an entry of the substitution is not what its metavariable is declared as, the filled side is
    not what stands at the position, a law is not declared, a size that must be positive is not, or a value
    might be lost.
    """
    policy = float_policy(policy)
    if rule.refinement and direction == "backward":
        raise NoMatch(f"{rule.name} is a refinement: it holds from left to right only")
    before, after = rule.side(direction)
    here = term_at(t, position)
    try:
        require_fits(rule, substitution)
        if not alpha_equal(substitution.term(before), here):
            raise NoMatch(f"{rule.name}: its side, filled in, is not the term at this place")
        for condition in rule.where:
            if isinstance(condition, Condition):
                require(rule, condition, substitution, policy)
        if (broken := broken_index_law(rule, substitution)) is not None:
            raise NoMatch(f"{rule.name}: {broken}")
        for bound in rule.lower_bounds:
            if not bound.at(substitution.sizes).surely():
                raise NoMatch(f"{rule.name}: {bound.size} must be at least {bound.least}")
        _require_uncopied(rule, before, after, substitution)
        new = substitution.term(after)
        _require_defined(rule, direction, substitution, (t, position), (here, new))
    except IllTyped as error:
        raise NoMatch(f"{rule.name}: {error.message}") from None
    if new.type != here.type:
        raise NoMatch(f"{rule.name}: the result has type {new.type} instead of {here.type}")
    around = {x.name: x.type for x in binders_at(t, position)}
    before_it = free_types(here)
    if unbound := terms.free_variables(new) - before_it.keys() - around.keys():
        raise NoMatch(
            f"{rule.name}: the result uses {', '.join(sorted(unbound))} outside its binder"
        )
    for name, of in free_types(new).items():
        if of != {**before_it, **around}[name]:
            raise NoMatch(f"{rule.name}: the result uses {name} as if it had type {of}")
    return replace_at(t, position, new)


def match(
    rule: Rule,
    pattern: terms.Term,
    t: terms.Term,
    choices: Mapping[str, int],
    parts: Mapping[str, terms.Term] | None = None,
    given: Mapping[str, terms.Term] | None = None,
) -> Substitution:
    """What the metavariables of `pattern`, a side of `rule`, stand for in `t`; raises `NoMatch`."""
    if (differing := unlike(pattern, t)) is not None:
        _fail(rule, *differing)
    matcher = _Matcher(rule, parts or {})
    matcher.functions |= {name: terms.Lambda((), value) for name, value in (given or {}).items()}
    try:
        matcher.match(pattern, t, {})
        matcher.sizes.solve()
        for name, value in choices.items():
            matcher.sizes.sizes.setdefault(Unknown(name), Size.of(value))
        matcher.sizes.solve(final=True)
    except IllTyped as error:
        raise NoMatch(f"{rule.name}: {error.message}") from None
    substitution = with_neutral_elements(rule, matcher.substitution())
    missing = [n for n in rule.sizes if n not in substitution.sizes]
    if missing:
        raise NoMatch(f"{rule.name}: size {missing[0]} is not determined; choose it")
    for name in matcher.applied_to_terms:
        if name not in substitution.functions and name not in substitution.indices:
            raise NoMatch(f"{rule.name}: {name} is not determined by this side")
    return substitution


def match_sides(rule: Rule, left: terms.Term, right: terms.Term) -> Substitution:
    """What the metavariables stand for where both sides of a rule are given; raises `NoMatch`.

    So sizes that one side alone names are determined, too.
    """
    matcher = _Matcher(rule, {})
    try:
        matcher.match(rule.left, left, {})
        matcher.match(rule.right, right, {})
        matcher.sizes.solve(final=True)
    except IllTyped as error:
        raise NoMatch(f"{rule.name}: {error.message}") from None
    return matcher.substitution()


class _Matcher:
    """Collects what metavariables stand for; sizes are solved like those of a pattern's signature."""

    def __init__(self, rule: Rule, parts: Mapping[str, terms.Term]) -> None:
        self.rule, self.parts = rule, parts
        self.sizes = Matching(rule.name)
        self.functions: dict[str, terms.Lambda] = {}
        self.operators: dict[str, terms.Operator] = {}
        self.indices: dict[str, IndexFunction] = {}
        self.applied_to_terms: list[str] = []  # not Miller patterns: checked once all is filled in
        self._type_schema = {name: schema_type(name) for name in rule.types}
        self._size_schema = {name: schema_size(name) for name in rule.sizes}

    def schema(self, t: Type) -> Type:
        return substitute_type(t, self._type_schema, self._size_schema)

    def substitution(self) -> Substitution:
        return Substitution(
            by_letter(self.sizes.types),
            by_letter(self.sizes.sizes),
            self.functions,
            self.operators,
            self.indices,
        )

    def match(self, p: terms.Term, t: terms.Term, names: Mapping[str, terms.Var]) -> None:
        """Match `p` against `t`; `names` maps the binders of the rule above `p` to those of the term."""
        if isinstance(p, terms.Metavariable):
            self._metavariable(p, t, names)
        elif type(p) is not type(t):
            _fail(self.rule, p, t)
        elif isinstance(p, terms.Var) and isinstance(t, terms.Var):
            if names[p.name] != t:
                raise NoMatch(f"{self.rule.name}: variable {t.name} is not the one needed")
        elif isinstance(p, terms.Literal) and isinstance(t, terms.Literal):
            if p.value != t.value or repr(p.value) != repr(t.value):
                raise NoMatch(f"{self.rule.name}: {p.value} is needed, not {t.value}")
            self.sizes.match(self.schema(p.type), t.type, "a literal")
        else:
            if isinstance(p, terms.Pattern):
                self.sizes.match(self.schema(p.type), t.type, p.name)
            for mine, theirs in zip(fields(p), fields(t), strict=True):
                if not self._field(mine, theirs, t, names):
                    _fail(self.rule, p, t)

    def _field(
        self, mine: Field, theirs: Any, t: terms.Term, names: Mapping[str, terms.Var]
    ) -> bool:
        """Match what a node holds against what `t` holds there; False where the nodes differ in it."""
        match mine:
            case Expression():
                self.match(mine, theirs, names)
            case Size():
                self.sizes.equate(mine.substitute(self._size_schema), theirs)
            case terms.Lambda(parameters, body):
                inner = {x: beside(y, theirs) for x, y in names.items()}
                for x, y in zip(parameters, theirs.parameters, strict=True):
                    self.sizes.match(self.schema(x.type), y.type, y.name)
                    inner[x.name] = y
                self.match(body, theirs.body, inner)
            case IndexFunction():
                self._index_function(mine, theirs)
            case LiteralParameter() | AnyType():
                pass  # compared when all sizes are known, by `apply_filled`
            case terms.BinaryOperator() | terms.OperatorMetavariable() | terms.Vectorized():
                self._operator(mine, theirs, operand_type(t))
            case str() | int() | float() | terms.UserFunction():
                return bool(mine == theirs)
            case tuple():
                if len(mine) != len(theirs):
                    return False
                for u, v in zip(mine, theirs, strict=True):
                    self.match(u, v, names)
        return True

    def _index_function(self, p: IndexFunction, t: IndexFunction) -> None:
        """A metavariable alone is bound; all else is compared when all is known, by `apply_filled`."""
        if (alone := p.metavariable) is None:
            self.applied_to_terms.extend(p.metavariables)
        elif self.indices.setdefault(alone.name, t) != t:
            raise NoMatch(f"{self.rule.name}: {alone.name} stands for two index functions")

    def _operator(self, p: terms.Operator, t: terms.Operator, element: Type) -> None:
        if isinstance(p, terms.OperatorMetavariable):
            known = self.operators.setdefault(p.name, t)
            if known != t:
                raise NoMatch(f"{self.rule.name}: {p.name} stands for two different operators")
            self.sizes.match(self.schema(p.element), element, p.name)
        elif isinstance(p, terms.Vectorized) and isinstance(t, terms.Vectorized):
            self.sizes.equate(p.width.substitute(self._size_schema), t.width)
            assert isinstance(element, Vector), "cannot happen: vectorize works on vectors"
            self._operator(p.operator, t.operator, element.element)
        elif p != t:
            raise NoMatch(f"{self.rule.name}: the operators differ")

    def _metavariable(
        self, p: terms.Metavariable, t: terms.Term, names: Mapping[str, terms.Var]
    ) -> None:
        self.sizes.match(self.schema(p.type), t.type, p.name)
        p, t, names = self._abstracted(p, t, names)
        bound = [terms.Var(name, names[name].type) for name in names]
        if not is_miller(p, bound):
            self.applied_to_terms.append(p.name)
            return
        parameters = tuple(names[u.name] for u in p.arguments if isinstance(u, terms.Var))
        allowed = {x.name for x in parameters}
        escaping = {x.name for x in names.values()} & terms.free_variables(t) - allowed
        if escaping:
            raise NoMatch(f"{self.rule.name}: {p.name} may not use {', '.join(sorted(escaping))}")
        function = terms.Lambda(parameters, t)
        known = self.functions.setdefault(p.name, function)
        if known is not function and not same_function(known, function):
            raise NoMatch(f"{self.rule.name}: {p.name} stands for two different terms")

    def _abstracted(
        self, p: terms.Metavariable, t: terms.Term, names: Mapping[str, terms.Var]
    ) -> tuple[terms.Metavariable, terms.Term, Mapping[str, terms.Var]]:
        """`g(h(x), x)` as `g(y, x)`, where it is known what `h(x)` stands for, or in `g(let(h, x))` what g is given: y is that, wherever it occurs.

        So are components `p[0]` of a bound pair, of which `t` then uses nothing else.
        """
        arguments: list[terms.Term] = []
        for u in p.arguments:
            name = u.name if isinstance(u, terms.Metavariable) else p.name
            if isinstance(u, terms.Get) and (component := component_of(u, names)) is not None:
                y = terms.Var(terms.unused("component", names_in(t, names)), component.type)
                names, t = {**names, y.name: y}, named(component, y, t)
                u = terms.Var(y.name, u.type)
            elif not isinstance(u, terms.Var) and (part := self.parts.get(name)) is not None:
                if inner := terms.free_variables(part) - terms.free_variables(t):
                    raise NoMatch(
                        f"{self.rule.name}: {name} may not use {', '.join(sorted(inner))}, which is bound "
                        "further in"
                    )
                self.match(u, part, names)
                y = terms.Var(terms.unused(name, names_in(t, names)), part.type)
                names, t = {**names, y.name: y}, named(part, y, t)
                u = terms.Var(y.name, u.type)
            arguments.append(u)
        return replace(p, arguments=tuple(arguments)), t, names


def _fail(rule: Rule, p: terms.Term, t: terms.Term) -> None:
    raise NoMatch(f"{rule.name}: {_kind(p)} is needed where {_kind(t)} stands")


def same_function(f: terms.Lambda, g: terms.Lambda) -> bool:
    """Whether two functions are one but for the names of variables."""
    renaming = dict(zip((x.name for x in g.parameters), f.parameters, strict=True))
    return alpha_equal(f.body, substitute(g.body, renaming))


def _kind(t: terms.Term) -> str:
    match t:
        case terms.Pattern():
            return t.name
        case terms.Var(name) | terms.Input(name) | terms.Metavariable(name):
            return name
        case (
            terms.Literal() | terms.Apply() | terms.Call() | terms.Combine() | terms.MakeTuple()
            | terms.Get()
        ):  # fmt: skip
            return type(t).__name__.lower()


def _require_uncopied(
    rule: Rule, before: terms.Term, after: terms.Term, substitution: Substitution
) -> None:
    """Raise `NoMatch` when a term with unspecified cells would be copied: each copy would leave them open anew."""
    for name, f in substitution.functions.items():
        if has_open_cells(f.body):
            uses, depth = _uses(after, name)
            most_uses, most_depth = _uses(before, name)
            if uses > most_uses or (not f.parameters and depth > most_depth):
                raise NoMatch(
                    f"{rule.name}: {name} has cells that pad_empty leaves open, and is copied"
                )


def _require_defined(
    rule: Rule,
    direction: Direction,
    substitution: Substitution,
    where: tuple[terms.Term, Position],
    sides: tuple[terms.Term, terms.Term],
) -> None:
    """Raise `NoMatch` when the new term might be undefined where the one in its place was not.

    A direction that is not shown to keep definedness for all substitutions needs such as are total, or
    data that the term in its place surely computes: where these are undefined, so was that.
    """
    here, new = sides
    if first_partial(new, open_cells=True) is None:
        return  # whether cells are open somewhere around it, which takes long to see, or not
    open_cells = has_open_cells(closed_around(*where)) or has_open_cells(new)
    if first_partial(new, open_cells=open_cells) is None:
        return
    for name, operator in substitution.operators.items():
        kind = rule.parameters[name]
        assert isinstance(kind, OperatorKind), "cannot happen: an operator fills it"
        element = substitution.type(kind.element)
        if (what := first_partial_operator(operator, element, open_cells)) is not None:
            raise NoMatch(f"{rule.name}: {name} must be total, and {what} is not")
    partial = {
        name: what
        for name, f in substitution.functions.items()
        if (what := first_partial(f.body, open_cells=open_cells and sees_open_cells(f))) is not None
    }
    from relift.rewrites.ledger.book import (
        total_in,  # which knows all rules, as this module need not
    )

    known = total_in(rule, direction)
    if known is None and partial:
        name, what = next(iter(partial.items()))
        raise NoMatch(
            f"{rule.name}: {name} must be total, and {what} is not, for no proof shows that "
            "this direction loses no value"
        )
    for name in known or ():
        if name not in partial:
            continue
        f = substitution.functions[name]
        if f.parameters or open_cells or not computes_surely(here, f.body):
            way = "left to right" if direction == "forward" else "right to left"
            raise NoMatch(
                f"{rule.name}: from {way} {name} must be total, and {partial[name]} is not"
            )


def _uses(t: terms.Term, name: str) -> tuple[int, int]:
    """How often a metavariable occurs, and under how many binders at most."""
    depths = [
        len(bound)
        for u, bound in terms.subterms(t)
        if isinstance(u, terms.Metavariable) and u.name == name
    ]
    return len(depths), max(depths, default=0)


def require(
    rule: Rule, condition: Condition, substitution: Substitution, policy: FloatPolicy
) -> None:
    """Raise `NoMatch` unless the law is declared, and granted for the type that the operator works on."""
    operator = substitution.operators[condition.operator]
    if condition.over is not None:
        if not has_law_over(operator, condition.law, substitution.operators[condition.over]):
            raise NoMatch(f"{condition} is not declared of these operators")
    elif condition.element is None:
        if not has_law(operator, condition.law):
            raise NoMatch(f"{condition} is not declared of this operator")
    elif not is_neutral(operator, substitution.functions[condition.element].body):
        raise NoMatch(f"{condition} is not declared of this operator and value")
    if policy == "exact" and condition.law not in EXACT_LAWS:
        kind = rule.parameters[condition.operator]
        assert isinstance(kind, OperatorKind), "cannot happen: a rule checks its conditions"
        t = substitution.type(kind.element)
        if holds_floats(t):
            raise NoMatch(f"{condition} does not hold exactly on {t}; float=exact forbids it")
