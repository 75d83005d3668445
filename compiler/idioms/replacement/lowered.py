"""Lifted programs as low-level ones: the outermost map over work-items, all else in order, as the C does it.

Nothing is regrouped, so sums are rounded as those of the loops are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from relift.semantics.language import vocabulary as rl
from relift.semantics.language.coercion import as_term
from relift.semantics.language.programs import Program, well_formed
from relift.semantics.language.tracing import FixedLambda, scope
from relift.semantics.patterns import Accumulating, Fold, Generate, Map, Reduce, Reduction, ScanSeq
from relift.semantics.syntax.binding import substitute
from relift.semantics.syntax.nodes import fields, rebuilt
from relift.semantics.syntax.terms import Get, Lambda, MakeTuple, Term, Var, distinct
from relift.semantics.syntax.types import Array

DIMENSIONS = 3
"""Maps that may be over work-items, one in another."""


def lowered(program: Program, *, by_cells: bool = False) -> Program:
    """The low-level program; its result may be in one more array of one element.

    With `by_cells`, each cell of the result has a work-item, as devices with many of them want it, and not each row.

    >>> from relift import add, f32, map, nat, program, reduce, show
    >>> from relift.compiler.idioms.replacement.lowered import lowered
    >>> n, m = nat("n"), nat("m")
    >>> @program
    ... def rows(x: f32[n, m]):
    ...     return map(lambda row: reduce(add, 0.0, row), x)
    >>> print(show(lowered(rows).body))
    map_glb(0)(lambda row: reduce_seq(add, 0.0, row), x)
    >>> @program
    ... def twice(x: f32[n, m]):
    ...     return map(lambda row: map(lambda v: v + v, row), x)
    >>> print(show(lowered(twice, by_cells=True).body))
    map_glb(1)(lambda row: map_glb(0)(lambda v: v + v, row), x)
    """
    names = [p.name for p in program.parameters]
    with scope([*names, *_bound(program.body)]):
        body = as_term(_outermost(program.body, _depth(program.body) if by_cells else 1))
    return replace(program, body=well_formed(body, program.parameters))


def _bound(t: Term) -> list[str]:
    return [u.name for u in distinct(t) if isinstance(u, Var)]


def _depth(t: Term) -> int:
    """How many maps lie one directly in another, none of them over a scan."""
    if (isinstance(t, Map) and not isinstance(t.xs, ScanSeq)) or isinstance(t, Generate):
        return min(DIMENSIONS, 1 + _depth(t.f.body))
    return 0


def _function_and_elements(t: Term) -> tuple[Lambda, Any] | None:
    """What is computed of each element, and the elements: those of an array, or indices."""
    if isinstance(t, Map):
        return t.f, _inside(t.xs)
    return (t.f, rl.generate(t.n, lambda i: i)) if isinstance(t, Generate) else None


def _outermost(t: Term, depth: int) -> Any:
    if depth > 1 and (each := _function_and_elements(t)) is not None:
        f, over = each
        inner = FixedLambda(f.parameters, as_term(_outermost(f.body, depth - 1)))
        return rl.map_glb(depth - 1)(inner, over)
    if isinstance(t, Map):
        if isinstance(t.xs, ScanSeq) and (before := _before(t.f, t.xs)) is not None:
            return before
        return rl.map_glb(0)(_function(t.f), _inside(t.xs))
    if isinstance(t, Generate):
        return rl.map_glb(0)(_function(t.f), rl.generate(t.n, lambda i: i))
    if isinstance(t, Fold) and isinstance(t.type, Array):
        start = as_term(rl.map_seq(_copied, _inside(t.init)))
        return replace(t, f=_field(t.f), init=start, xs=_inside(t.xs))
    if isinstance(t.type, Array) and not _folds(t):
        return rl.map_glb(0)(_copied, _inside(t))
    return rl.map_glb(0)(lambda one: _computed(t), rl.generate(1, lambda i: i))


def _before(shown: Lambda, t: ScanSeq) -> Any:
    """A scan that shows each value as it was before its element: a fold that reads the cell before, where it writes."""
    state, element = t.f.parameters
    pair, init, chosen = t.f.body, t.init, shown.body
    if not (isinstance(pair, MakeTuple) and isinstance(init, MakeTuple)):
        return None
    (update, stored, *more), first = pair.parts, init.parts[0]
    if more or not (_is_part(stored, 0, state) and _is_part(chosen, 1, shown.parameters[0])):
        return None
    start, xs, places = _inside(first), _inside(t.xs), rl.generate(t.solved["n"], lambda i: i)

    def step(cells: Any, i: Any) -> Any:
        place = rl.select(rl.equal(i, 0), 0, i - 1)
        last = rl.at_runtime_unsafe(place, cells)
        known = {
            state.name: as_term((last, last)),
            element.name: as_term(rl.at_runtime_unsafe(place, xs)),
        }
        value = rl.select(rl.equal(i, 0), start, substitute(_inside(update), known))
        return rl.scatter_indices(rl.make_array(i), rl.make_array(value), cells)

    return rl.reduce_seq(step, rl.map_seq(lambda _: start, places), places)


def _is_part(t: Term, index: int, of: Var) -> bool:
    return (
        isinstance(t, Get) and t.index == index and isinstance(t.of, Var) and t.of.name == of.name
    )


def _folds(t: Term) -> bool:
    parts = list(distinct(t))
    return any(isinstance(u, Accumulating) for u in parts) or any(
        isinstance(u, Reduction) for u in parts
    )


def _copied(row: Any) -> Any:
    """A row as it is, stored cell by cell."""
    return rl.map_seq(_copied, row) if isinstance(row.type, Array) else row


def _function(f: Lambda) -> FixedLambda:
    return FixedLambda(f.parameters, as_term(_computed(f.body)))


def _computed(t: Term) -> Any:
    """A value that one work-item computes: its maps are loops."""
    if not isinstance(t.type, Array) or isinstance(t, ScanSeq):
        return _inside(t)
    if isinstance(t, Map):
        return rl.map_seq(_function(t.f), _inside(t.xs))
    if isinstance(t, Generate):
        return rl.map_seq(_function(t.f), rl.generate(t.n, lambda i: i))
    return rl.map_seq(_copied, _inside(t))


def _inside(t: Term) -> Term:
    """A term with its folds in order; what is mapped before a fold is computed in it."""
    if isinstance(t, Reduce):
        return _fold(t)
    if not t.below and not t.row:
        return t
    return rebuilt(t, [_field(value) for value in fields(t)])


def _field(value: Any) -> Any:
    if isinstance(value, Lambda):
        return Lambda(value.parameters, _inside(value.body))
    if isinstance(value, tuple):
        return tuple(_inside(part) for part in value)
    return _inside(value) if hasattr(value, "holds") else value


def _fold(t: Reduce) -> Term:
    xs: Term = t.xs
    g: Lambda | None = None
    if isinstance(t.xs, Map):
        xs, g = t.xs.xs, t.xs.f
    elif isinstance(t.xs, Generate):
        xs, g = as_term(rl.generate(t.xs.n, lambda i: i)), t.xs.f

    def step(acc: Any, x: Any) -> Any:
        element = (
            x if g is None else substitute(_inside(g.body), {g.parameters[0].name: as_term(x)})
        )
        return t.op(acc, element)

    return as_term(rl.reduce_seq(step, _inside(t.init), _inside(xs)))
