"""A rule at other sizes and types, or with functions that use less."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from relift.rewrites.conditions import Bound
from relift.rewrites.metavariables import kind_at
from relift.rewrites.rule import Rule
from relift.rewrites.well_formed import require_one_type
from relift.semantics.syntax.signatures import FunctionKind
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.substitution import Substitution
from relift.semantics.syntax.terms import Lambda, Metavariable, Var
from relift.semantics.syntax.types import Type


def specialised(
    rule: Rule, sizes: Mapping[str, Size], types: Mapping[str, Type] | None = None
) -> Rule:
    """The rule with other sizes and types in place of its own; raises `IllTyped`.

    >>> from relift.rewrites.specialisation import specialised
    >>> from relift.semantics.syntax.sizes import Size
    >>> from relift.rewrites.library import RULES
    >>> print(specialised(RULES["join_split"], {"m": Size.of(4)}))
    join_split: join(split(4, xs)) == xs
    """
    substitution = Substitution(types or {}, sizes)
    left, right = substitution.term(rule.left), substitution.term(rule.right)
    require_one_type(rule.name, left, right)
    promised = [
        Bound(Size.atom(name), least) for name, least in rule.least.items() if name in sizes
    ]
    bounds = [bound.at(sizes) for bound in (*promised, *rule.bounds)]
    return replace(
        rule,
        bounds=tuple(bound for bound in bounds if not bound.surely()),
        parameters={name: kind_at(kind, substitution) for name, kind in rule.parameters.items()},
        left=left,
        right=right,
        choose=tuple(size.substitute(sizes) for size in rule.choose),
    )


def without_argument(rule: Rule, name: str, index: int) -> Rule:
    """The rule where a function metavariable does not use one of its arguments.

    >>> from relift import show
    >>> from relift.rewrites.specialisation import without_argument
    >>> from relift.rewrites.library import RULES
    >>> print(show(without_argument(RULES["map_interchange"], "h", 0).right))
    transpose(map(lambda y: map(lambda x: h(y), xs), ys))
    """
    kind = rule.parameters[name]
    assert isinstance(kind, FunctionKind), f"cannot happen: {name} is no function"
    rest = (*kind.arguments[:index], *kind.arguments[index + 1 :])
    names = [Var(f"a{i}", t) for i, t in enumerate(kind.arguments)]
    used = (*names[:index], *names[index + 1 :])
    body = Metavariable(name, used, kind.result)
    substitution = Substitution(functions={name: Lambda(tuple(names), body)})
    parameters = {**rule.parameters, name: FunctionKind(rest, kind.result) if rest else kind.result}
    return replace(
        rule,
        parameters=parameters,
        left=substitution.term(rule.left),
        right=substitution.term(rule.right),
    )
