"""How far accesses move with what they stand in: loops, work-items, lanes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

from relift.egraph.cost.fetched import Around, Moving
from relift.semantics.indices.atoms import (
    Index,
    Loaded,
    Variable,
    depends_on,
    linear_in,
    variables_of,
)
from relift.semantics.indices.expressions import evaluate


def moving_with(around: Sequence[Around], offset: Index) -> list[Moving] | None:
    """How an access moves with what it stands in; None where that depends on data."""
    moving: list[Moving] = []
    for each in around:
        stride = stride_of(offset, each.index)
        if stride is None:
            return None
        moving.append(Moving(each, stride))
    return moving


def turns_of(loop: Index | None) -> int:
    """The turns of a loop."""
    if loop is None:
        return 0
    extents = [v.extent.constant for v in variables_of(loop) if isinstance(v, Variable)]
    return prod(n or 0 for n in extents)


def stride_between(offset: Index, thread: Index) -> int | None:
    """How far the accesses of neighbouring work-items are apart; None where the index of each is data of its own."""
    data = (atom for atom in variables_of(offset) if isinstance(atom, Loaded))
    if any(atom.offset is None or depends_on(atom.offset, thread) for atom in data):
        return None
    return stride_of(offset, thread)


def stride_of(offset: Index, v: Index) -> int | None:
    """How far the offset moves when `v` grows by one; None when that is not a constant.

    Where it is clamped or goes round, as at the border of a stencil, how far it moves inside.
    """
    linear = linear_in(offset, v)
    if linear is not None:
        return linear[0].constant
    inside = _inside(offset)
    if inside is None:
        return None
    moved = {atom.name for atom in variables_of(v) if isinstance(atom, Variable)}
    after = {name: n + (name in moved) for name, n in inside.items()}
    return evaluate(offset, after) - evaluate(offset, inside)


def _inside(offset: Index) -> dict[str, int] | None:
    """Values of its variables in the middle of their ranges; None where one is data or has an unknown range."""
    inside: dict[str, int] = {}
    for atom in variables_of(offset):
        if not isinstance(atom, Variable) or atom.extent.constant is None:
            return None
        inside[atom.name] = atom.extent.constant // 2
    return inside


def somewhere(offset: Index) -> int:
    """Where an access is in the middle of the loops around it; 0 where that depends on data."""
    inside = _inside(offset)
    return 0 if inside is None else evaluate(offset, inside)


def moving_alike(loops: Sequence[tuple[Index, float]], offset: Index) -> dict[int, list[float]]:
    """The turns of the loops that are written out, by how far each moves an access."""
    alike: dict[int, list[float]] = {}
    for i, n in loops:
        if (stride := stride_of(offset, i)) and n > 1:
            alike.setdefault(abs(stride), []).append(n)
    return alike


def places_of(turns: Sequence[float]) -> float:
    """At how many addresses loops of these turns are that all move an access alike."""
    return sum(turns) - len(turns) + 1


def turns_written_out(loops: Sequence[tuple[Index, float]], offset: Index) -> set[int]:
    """Where the turns of loops that are written out access a memory, from where the first of them does."""
    steps = [
        [k * stride for k in range(int(n))]
        for i, n in loops
        if (stride := stride_of(offset, i)) is not None
    ]
    return {sum(each) for each in product(*steps)}
