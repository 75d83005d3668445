"""Tactics for nests whose operands lie scattered: such an operand is copied first, in the order in which folds read it.

A contraction of tensors is a product of matrices whose rows and steps are several dimensions each.  Where neither
neighbouring rows nor neighbouring steps lie side by side in memory, every number that a tile takes is fetched by itself,
and once for each tile; a copy is scattered once.
Source: transpose, transpose, GEMM, transpose: Springer and Bientinesi, ACM TOMS 2018.
"""

from __future__ import annotations

from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import (
    Rewriting,
    Tactic,
    apply,
    curried,
    inside,
    skip,
    then,
)
from relift.rewrites.tactics.nests.dimensions import nest_at, nested
from relift.rewrites.tactics.nests.normal_form import OPERANDS, normal_form, parts_at
from relift.rewrites.tactics.nests.padding import copied_out
from relift.rewrites.tactics.reuse import neighbours
from relift.semantics.indices.views import is_layout
from relift.semantics.syntax.binding import Position, term_at
from relift.semantics.syntax.terms import Term, free_variables

_SIDE_BY_SIDE = 0.5
"""The part of neighbours that lie so in an operand which is read as it is, in one of its dimensions."""


@curried
def scattered_operands_copied(at: Rewriting, place: Position, tactic: Tactic) -> Rewriting:
    """A tactic for a nest that stands by itself, of whose operands those that lie scattered are copied by kernels of their own.

    Raises `NoMatch` where there is none.

    >>> import relift as rl
    >>> from relift.rewrites.tactics.combinators import derive, skip
    >>> from relift.rewrites.tactics.nests.gathered import scattered_operands_copied
    >>> @rl.program
    ... def contraction(A: rl.f32[4, 6], B: rl.f32[2, 5, 3]):
    ...     columns = rl.transpose(B)
    ...     dot = lambda a, b: rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(a, b)))
    ...     return rl.map(lambda a: rl.map(lambda b: dot(a, rl.join(rl.transpose(b))), columns), A)
    >>> found = derive(contraction, scattered_operands_copied(skip))
    >>> [step.rule for step in found.steps if "copy" in step.rule or "store" in step.rule]
    ['insert_copy', 'insert_copy', 'store_global']
    """
    at = nested()(at, place)
    nest = nest_at(at, place)
    if nest.around:
        raise NoMatch("only operands of a nest that stands by itself are copied")
    here = (*place, *nest.place)
    at = normal_form(at, here)
    table = (*here, *parts_at(at, here).folds)
    scattered = [each for each in OPERANDS if _is_scattered(at, (*table, *each))]
    if not scattered:
        raise NoMatch("what the folds read lies side by side")
    for operand in scattered:
        copy = then(copied_out, apply("store_global"))
        at = inside(*operand)(copy)(at, table)
    return tactic(at, place)


def has_scattered_operands(t: Term) -> bool:
    """Whether there is a nest that stands by itself, of which an operand lies scattered."""
    try:
        scattered_operands_copied(skip)(Rewriting(t, "reassociate"), ())
    except NoMatch:
        return False
    return True


def _is_scattered(at: Rewriting, place: Position) -> bool:
    """Whether an array is there whose neighbours lie apart in all dimensions."""
    t = term_at(at.term, place)
    if free_variables(t) or not is_layout(t):
        return False
    found = neighbours(at.term, place)
    return found is not None and all(near < _SIDE_BY_SIDE for near, _ in found)
