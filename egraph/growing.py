"""A small e-graph of a program, to be looked at: what rules make of it in a few rounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from relift.egraph.process.saturation import (
    Budget,
    Request,
    Saturation,
    Stage,
    encode_rules,
    saturate,
)
from relift.rewrites.library import RULES
from relift.rewrites.rule import Rule
from relift.semantics.errors import IllTyped, Unsupported
from relift.semantics.language.arguments import an_instance
from relift.semantics.language.programs import Program, a_program

BUDGET = Budget(seconds=10.0, nodes=2_000)


def e_graph(
    program: Program,
    rules: Iterable[str | Rule],
    sizes: Mapping[str, int] | None = None,
    *,
    rounds: int = 3,
) -> Saturation:
    """The e-graph of a program at some sizes, after rounds in which rules are applied wherever they match.

    A rule is named as `relift check` names it, with `<` behind it where it is used from right to left; or it is one of
    your own.  Notebooks draw the result.  Raises `Unsupported` for what no rule is, or cannot be searched.

    >>> import relift as rl
    >>> n = rl.nat("n")
    >>> @rl.program
    ... def twice(x: rl.f32[n]):
    ...     return rl.map(rl.sqrt, rl.map(rl.sqrt, x))
    >>> grown = rl.e_graph(twice, ["map_fusion"], {"n": 4})
    >>> grown.complete, len(grown.snapshot.nodes(grown.snapshot.root))
    (True, 2)
    """
    if isinstance(rules, str) or not isinstance(rules, Iterable):
        raise IllTyped(f'rules are given as a list, such as ["map_fusion"], not as {rules!r}')
    for rule in (rules := list(rules)):
        an_instance(rule, (str, Rule), "a rule", "name one, as relift check does")
    own = {rule.name: rule for rule in rules if isinstance(rule, Rule)}
    names = tuple(rule.name if isinstance(rule, Rule) else rule for rule in rules)
    at = a_program(program).at(sizes or {})
    stage = Stage("rules", names, rounds)
    return saturate(Request(at, (stage,), budget=BUDGET, rules={**RULES, **own}))


def is_searchable(program: Program, rule: str) -> bool:
    """Whether an e-graph can use a rule of the library, named as `e_graph` takes it.

    >>> import relift as rl
    >>> from relift.egraph.growing import is_searchable
    >>> @rl.program
    ... def negated(x: rl.f32[4]):
    ...     return rl.map(lambda v: -v, x)
    >>> is_searchable(negated, "map_fusion"), is_searchable(negated, "map_fusion<")
    (True, False)
    """
    try:
        encode_rules(Request(program, (Stage("rules", (rule,), 1),)))
    except Unsupported:
        return False
    return True
