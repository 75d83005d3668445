"""Mutants of the rules of the library: one mistake each, of the kinds that the literature made.

    without LAW          a condition on an operator is forgotten
    transpose dropped    on squares, where types do not show it
    chunks swapped       `split(m, ..)` of k * m elements becomes `split(k, ..)`
    pair flipped         the components of a pair change places
    operands swapped     op(x, y) becomes op(y, x)
    other variable       a metavariable is applied to another variable in scope: capture
    border moved         one more element on the left of a pad, one less on the right
    not inverted         a permutation takes the place of its inverse

A mutant is made of the right side, at the types and sizes that make the mistake well typed where there are
any; otherwise types must refuse it.  Mutants that change nothing are listed in EQUIVALENT, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache

from relift.rewrites.families import NUMBERS
from relift.rewrites.library import RULES
from relift.rewrites.rule import RejectedRule, Rule
from relift.rewrites.specialisation import specialised
from relift.semantics.errors import ReliftError
from relift.semantics.indices.functions import IndexFunction, IndexMetavariable
from relift.semantics.patterns import Bordered, Gather, Scatter, Split, Transpose
from relift.semantics.syntax.binding import binders_at, positions, replace_at
from relift.semantics.syntax.signatures import IndexKind
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.substitution import Substitution
from relift.semantics.syntax.terms import Combine, Get, MakeTuple, Metavariable, Term, Var
from relift.semantics.syntax.types import TypeVariable

Mutation = Callable[[Rule], Iterator[Term]]


@cache
def mutants() -> Mapping[str, Rule | RejectedRule]:
    """Every mutant of every rule, by name: the rule's, then the mistake's, then its place if there are several."""
    found: dict[str, Rule | RejectedRule] = {}
    for rule in RULES.values():
        if rule.lowering or rule.refinement:
            continue
        for condition in rule.where:
            where = tuple(c for c in rule.where if c != condition)
            name = f"{rule.name} without {condition.law}"
            found[name] = replace(rule, name=name, where=where, proof="")
        squared = squared_rule(rule)
        for kind, (mutation, on_squares) in MUTATIONS.items():
            made = list(_mutated(squared if on_squares else rule, kind, mutation))
            for number, mutant in enumerate(made, 1):
                name = mutant.name + (f" {number}" if len(made) > 1 else "")
                found[name] = replace(mutant, name=name)
    return found


def _mutated(rule: Rule, kind: str, mutation: Mutation) -> Iterator[Rule | RejectedRule]:
    name = f"{rule.name}, {kind}"
    for t in mutation(rule):
        try:
            right = Substitution().term(t)
            if right.type != rule.left.type:
                raise ReliftError(
                    f"the sides have types {rule.left.type} and {right.type}", place=""
                )
        except ReliftError as error:
            yield RejectedRule(name, error)
        else:
            if right != rule.right and right != rule.left:
                yield replace(rule, name=name, right=right, proof="")


def squared_rule(rule: Rule) -> Rule:
    """The rule with all its type variables and all its chunk sizes made equal."""
    plain = [name for name in rule.sizes if name not in ("size", "step", "left", "right")]
    types = {name: TypeVariable(rule.types[0]) for name in rule.types}
    return specialised(rule, {name: Size.atom(plain[0]) for name in plain}, types)


def transpose_dropped(rule: Rule) -> Iterator[Term]:
    t = rule.right
    for place, u in positions(t):
        if isinstance(u, Transpose) and u.type == u.xss.type:
            yield replace_at(t, place, u.xss)


def chunks_swapped(rule: Rule) -> Iterator[Term]:
    t = rule.right
    for place, u in positions(t):
        if isinstance(u, Split) and u.solved["k"] != u.m:
            yield replace_at(t, place, replace(u, m=u.solved["k"]))


def pair_flipped(rule: Rule) -> Iterator[Term]:
    t = rule.right
    for place, u in positions(t):
        match u:
            case MakeTuple((x, y)) if x.type == y.type:
                yield replace_at(t, place, replace(u, parts=(y, x)))
            case Get(index, of) if index < 2:
                other = replace(u, index=1 - index)
                if of.type.parts[0] == of.type.parts[1]:  # type: ignore[union-attr]  # Get is of a tuple
                    yield replace_at(t, place, other)
            case _:
                pass


def operands_swapped(rule: Rule) -> Iterator[Term]:
    t = rule.right
    for place, u in positions(t):
        if isinstance(u, Combine):
            yield replace_at(t, place, replace(u, left=u.right, right=u.left))


def other_variable(rule: Rule) -> Iterator[Term]:
    t = rule.right
    for place, u in positions(t):
        if not isinstance(u, Metavariable):
            continue
        for i, x in enumerate(u.arguments):
            for y in binders_at(t, place):
                if isinstance(x, Var) and y != x and y.type == x.type:
                    arguments = (*u.arguments[:i], y, *u.arguments[i + 1 :])
                    yield replace_at(t, place, replace(u, arguments=arguments))


def border_moved(rule: Rule) -> Iterator[Term]:
    t = rule.right
    for place, u in positions(t):
        if isinstance(u, Bordered) and u.searched:
            yield replace_at(t, place, replace(u, left=u.left + 1, right=u.right - 1))


def not_inverted(rule: Rule) -> Iterator[Term]:
    t = rule.right
    names = [name for name, kind in rule.parameters.items() if isinstance(kind, IndexKind)]
    for place, u in positions(t):
        match u:
            case Gather(IndexFunction(IndexMetavariable(name) as p)) | Scatter(
                IndexFunction(IndexMetavariable(name) as p)
            ):
                for other in names:
                    if other != name:
                        idx = IndexFunction(replace(p, name=other))
                        yield replace_at(t, place, replace(u, idx=idx))
            case _:
                pass


MUTATIONS: dict[str, tuple[Mutation, bool]] = {
    "transpose dropped": (transpose_dropped, True),
    "chunks swapped": (chunks_swapped, False),
    "pair flipped": (pair_flipped, True),
    "operands swapped": (operands_swapped, False),
    "other variable": (other_variable, True),
    "border moved": (border_moved, False),
    "not inverted": (not_inverted, False),
}
"""Each mistake, and whether it is made at equal types and sizes."""

EQUIVALENT: dict[str, str] = {
    "looked_up_or_computed, other variable": "then every cell holds what is computed",
    "partial_reduce_strided, transpose dropped": "then chunks are reduced, as in partial_reduce_chunks",
    "reduce_strided_idempotent, transpose dropped": "then chunks are reduced, as in reduce_chunks_idempotent",
    "reduce_concat_idempotent, operands swapped": "the operator is commutative",
    "reduce_join_columns, transpose dropped": "then rows are reduced, as in reduce_join",
    "reduce_pairs, operands swapped": "the operator is commutative",
    **{
        f"sum_by_tropical_product{of}, operands swapped": "sums are commutative"
        for of in ("", "_f16", "_f64")
    },
    "reduce_of_sums, operands swapped": "the operator is commutative",
    "reduce_products_about, operands swapped 2": "a(b + e) + c(b + e) is (a + c)b + (a + c)e, so ae and cb commute, and with c = -a ae and ab do",
    **{
        f"{what}_by_operator{of}, operands swapped": "sums, products and extremes are commutative"
        for what in ("sum", "product", "maximum", "minimum")
        for of in NUMBERS.values()
    },
    "reduce_twice without commutative": "x and x make x, whatever the order of the elements in x",
    "reduce_seq_after, pair flipped 5": "both arrays that are zipped are the same",
    "reduce_seq_after, pair flipped 9": "both arrays that are zipped are the same",
    "reduce_seq_after, pair flipped 11": "both numbers before the first step are the same",
    "reduce_seq_rolled, other variable 2": "the other variable is what the name stands for",
    "scan_seq_rolled, other variable 2": "the other variable is what the name stands for",
    "separate_dot_vh, operands swapped 1": "the product is commutative",
    "separate_dot_vh, operands swapped 2": "the product is commutative",
    "vectorize_reduce_padded, border moved": "neutral elements may stand on either side",
}
"""Mutants that are right, with the reason."""
