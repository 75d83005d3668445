"""Tactics for nests in whose steps one operand stands beside other arrays: what both give is computed once, as a table.

    fold (\\s p. s + (a * b) * w) z (zip a (zip b w))  =  fold (\\s q. s + v * b) z (zip v b)      where v = map2 (*) a w

for every row a and column b: a weighted covariance multiplies its weights with each row once, not once for each pair of rows.
Products are regrouped by the laws of their operator; what else a step makes of one operand alone goes along.
"""

from __future__ import annotations

from collections.abc import Iterator

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.rules.traversals.identities import operator_rule
from relift.rewrites.tactics.batches import beside_each
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    at_kinds,
    attempt,
    curried,
    first,
    fission,
    inside,
    repeat,
    the,
    then,
)
from relift.rewrites.tactics.flat_tables import flat_tables
from relift.rewrites.tactics.nests.dimensions import joined_map, rows_first
from relift.rewrites.tactics.nests.normal_form import Nest, nest_in
from relift.rewrites.tactics.nests.zips import by_owner, exchanges
from relift.semantics.indices.views import is_layout
from relift.semantics.patterns import Fold, Map, Reduce, ReduceSeq
from relift.semantics.syntax.binding import Position, places_of, positions, term_at
from relift.semantics.syntax.terms import Apply, Combine, Get, Term, Var, children, free_variables

_OWNERS = ("reduce_zip_map_left", "reduce_zip_map_right")
"""The rules that compute before a fold what its steps make of the outer operand, and of the inner one."""


@at_kinds(Reduce)
def weights_within(at: Rewriting, place: Position) -> Rewriting:
    """A sum of sums, each with a weight of its own, as one sum whose elements have the weights; raises `NoMatch` for others.

    A product with a scale for each group of numbers is a nest then, and what it makes of one operand is a table.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.nests.factors import weights_within
    >>> @rl.program
    ... def scaled(x: rl.f32[2, 4], s: rl.f32[2]):
    ...     def group(g):
    ...         return g[1] * rl.reduce(rl.add, 0.0, g[0])
    ...     return rl.reduce(rl.add, 0.0, rl.map(group, rl.zip(x, s)))
    >>> print(rl.show(derive(scaled, weights_within).result))
    reduce(
      add,
      0.0,
      map(lambda x: mul(x[1], x[0]), zip(join(x), join(map(lambda x: repeat(4, x), s))))
    )
    """
    t = the(Reduce, at, place)
    each = t.xs.f.body if isinstance(t.xs, Map) else t.init
    rule = operator_rule(each)
    if rule is None or not any(isinstance(u, Reduce) for _, u in children(each)):
        raise NoMatch("no sum of sums with a weight each")
    here = (*place, "xs", "f")
    at = apply(rule)(at, here)
    if isinstance(the(Combine, at, here).left, Reduce):
        at = apply("operands_swapped")(at, here)
    if not isinstance(the(Reduce, at, (*here, "right")).xs, Map):
        at = apply("map_identity", "backward")(at, (*here, "right", "xs"))
    return then(
        inside("xs", "f")(apply("reduce_factor", "backward")),
        inside("xs")(rows_first),
        apply("reduce_join", "backward"),
        inside("xs", "xss")(beside_each),
        inside("xs")(joined_map),
        flat_tables(),
    )(at, place)


def factors_apart(at: Rewriting, place: Position) -> Rewriting:
    """The outermost nest, where a step makes something of one operand, and arrays beside it, alone: that is a table of its own.

    Raises `NoMatch` where there is no such nest.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.nests.factors import factors_apart
    >>> @rl.program
    ... def weighted(x: rl.f32[4, 8], w: rl.f32[8]):
    ...     def cell(a, b):
    ...         return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1] * p[2], rl.zip(a, b, w)))
    ...     return rl.map(lambda a: rl.map(lambda b: cell(a, b), x), x)
    >>> table = derive(weighted, factors_apart).result.xs
    >>> rl.show(table)
    'map(lambda x_: map(lambda x: x[0] * x[1], zip(x_, w)), x)'
    """
    nest = nest_in(term_at(at.term, place), beside=True)
    if nest is None:
        raise NoMatch("no two maps around one fold of the elements of both")
    here = (*place, *nest.place)
    fold = (*here, "f", "f", *nest.fold)
    if len(places_of(nest.inner.f.body, nest.folded)) > 1:
        raise NoMatch("the folds of the nest stand in several places")
    y = nest.inner.f.parameters[0].name
    in_order = then(attempt(apply("reduce_to_seq")), repeat(apply("reduce_map_fusion")))
    at = then(in_order, by_owner(lambda t: y not in free_variables(t)))(at, fold)
    at = attempt(_regrouped)(at, fold)
    found = [index for index in (0, 1) if _of_one(_step(at, fold), index) is not None]
    if not found:
        raise NoMatch("no step makes anything of one operand alone")
    for index in found:
        at = _computed_before(here, nest, index)(at, fold)
    return at


def factors_of_all(at: Rewriting, place: Position) -> Rewriting:
    """The same of the outermost nest where maps are around it: what steps make of the rows is computed for all elements of these maps.

    So the nests of all elements are those of one table with more rows.  Raises `NoMatch` where no map is around a nest, or all that a step makes is of columns.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive
    >>> from relift.rewrites.tactics.nests.factors import factors_of_all
    >>> @rl.program
    ... def of_three(A: rl.f32[4, 8], B: rl.f32[2, 8], C: rl.f32[3, 8]):
    ...     def cell(a, b, c):
    ...         return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1] * p[2], rl.zip(a, b, c)))
    ...     return rl.map(lambda a: rl.map(lambda b: rl.map(lambda c: cell(a, b, c), C), B), A)
    >>> table = derive(of_three, factors_of_all).result.xs
    >>> rl.show(table)
    'map(lambda x: map(lambda x_: map(lambda x: x[0] * x[1], zip(x, x_)), B), A)'
    """
    nest = nest_in(term_at(at.term, place), beside=True)
    if nest is None or not nest.around:
        raise NoMatch("no map is around two maps around one fold")
    table = (*place, *nest.place, "xs")
    at = factors_apart(at, place)
    if is_layout(term_at(at.term, table)):
        raise NoMatch("no step makes anything of the rows alone")
    for around in reversed(nest.around):
        outside = (*place, *around)
        at = fission(*table[len(outside) :])(at, outside)
        table = (*outside, "xs")
    return at


def _step(at: Rewriting, fold: Position) -> Fold:
    t = the(ReduceSeq, at, fold)
    return t


def _computed_before(here: Position, nest: Nest, index: int) -> Tactic:
    """What the steps make of one operand is an array that they read, and a table for all rows, or all columns."""
    operand = ("f", *nest.fold, "xs", ("xs", "ys")[index])
    outer = here if index == 0 else (*here, "f")
    table = ("f", *operand) if index == 0 else operand

    def tactic(at: Rewriting, fold: Position) -> Rewriting:
        part = _of_one(_step(at, fold), index)
        assert part is not None, "cannot happen: it was looked for"
        at = apply(_OWNERS[index], parts={"u": ("f", *part)})(at, fold)
        alone = fission(*table)
        return first(alone, fission(*table, beside=True))(at, outer)

    return tactic


def _of_one(t: Fold, index: int) -> Position | None:
    """Where the largest part is that is computed of one operand alone, and of what is the same for all steps."""
    _, pair = t.f.parameters
    for place, u in positions(t.f.body):
        if isinstance(u, Apply | Combine) and not is_layout(u) and _owners(u, pair, t) == {index}:
            return place
    return None


def _owners(u: Term, pair: Var, t: Fold) -> set[int | None]:
    """The operands that a part of a step reads; None for all else that is not closed, such as what was folded so far."""
    acc, _ = t.f.parameters
    found: set[int | None] = set()
    for place, v in positions(u):
        if v == pair:
            above = term_at(u, place[:-1]) if place else v
            found.add(above.index if isinstance(above, Get) else None)
        elif v == acc:
            found.add(None)
    return found


# ---- products


def _regrouped(at: Rewriting, fold: Position) -> Rewriting:
    """The outermost product of both operands and of more than one array of one of them: what that one gives comes first."""
    t = _step(at, fold)
    for place, u in positions(t.f.body):
        rule = operator_rule(u)
        if rule is None or not isinstance(u, Apply) or u.function != "mul":
            continue
        factors = list(_factors(u))
        if any(isinstance(factor, Combine) for factor in factors):
            continue
        owners = [_owners(factor, t.f.parameters[1], t) for factor in factors]
        reading = [owner for owner in owners if owner]
        if {frozenset(owner) for owner in reading} != {frozenset({0}), frozenset({1})} or len(
            reading
        ) < 3:
            continue
        many = 0 if reading.count({0}) > 1 else 1
        ranks = [0 if owner in (set(), {many}) else 1 for owner in owners]
        return _sorted(ranks, rule)(at, (*fold, "f", *place))
    raise NoMatch("no product of both operands and more")


def _factors(t: Term) -> Iterator[Term]:
    if isinstance(t, Apply) and t.function == "mul":
        for factor in t.arguments:
            yield from _factors(factor)
    else:
        yield t


def _sorted(ranks: list[int], rule: str) -> Tactic:
    """A product as that of its factors of rank 0, and of those of rank 1."""
    last = len(ranks) - 1
    regrouped, swapped = apply("operands_regrouped"), apply("operands_swapped")
    swapped_within = then(
        apply("operands_regrouped", "backward"), inside("left")(swapped), regrouped
    )

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        at = _by_operator(rule)(at, place)
        at = _one_by_one(at, place)
        for out in exchanges(ranks):
            one = swapped if out + 1 == last else swapped_within
            at = one(at, (*place, *("right",) * out))
        for _ in range(ranks.count(0) - 1):
            at = apply("operands_regrouped", "backward")(at, place)
        return _as_written(rule)(at, place)

    return tactic


@curried
def _by_operator(at: Rewriting, place: Position, rule: str) -> Rewriting:
    """A product of products as what an operator gives, which has laws."""
    if operator_rule(term_at(at.term, place)) != rule:
        return at
    at = apply(rule)(at, place)
    return then(inside("left")(_by_operator(rule)), inside("right")(_by_operator(rule)))(at, place)


def _one_by_one(at: Rewriting, place: Position) -> Rewriting:
    """Operands of an operator, each of which is combined with all that follow."""
    t = term_at(at.term, place)
    if not isinstance(t, Combine):
        return at
    while isinstance(term_at(at.term, (*place, "left")), Combine):
        at = apply("operands_regrouped")(at, place)
    return _one_by_one(at, (*place, "right"))


@curried
def _as_written(at: Rewriting, place: Position, rule: str) -> Rewriting:
    """What an operator gives as the product that it is."""
    if not isinstance(term_at(at.term, place), Combine):
        return at
    at = then(inside("left")(_as_written(rule)), inside("right")(_as_written(rule)))(at, place)
    return apply(rule, "backward")(at, place)
