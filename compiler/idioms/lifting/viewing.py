"""Arrays that a loop reads as cells of two types, as bits of floats are read: one array of the program for each type."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Self

from relift.compiler.idioms.facts.values.folds import replaced
from relift.compiler.idioms.facts.values.terms import Expression, Fold, Opaque, Read, all_of
from relift.compiler.idioms.lifting.effects import Cells, Effect, Result, Running, Updates

_WIDTHS = {"f32": 4, "i32": 4, "f64": 8, "i64": 8}


class Viewed(str):
    """An array as cells of another type than its own, which are as wide.

    >>> from relift.compiler.idioms.lifting.viewing import Viewed
    >>> Viewed("%x", "i32"), Viewed("%x", "i32").array
    ('%x as i32', '%x')
    """

    array: str
    kind: str

    def __new__(cls, array: str, kind: str) -> Self:
        name = super().__new__(cls, f"{array} as {kind}")
        name.array, name.kind = array, kind
        return name

    def __reduce__(self) -> tuple[type[Viewed], tuple[str, str]]:
        return Viewed, (self.array, self.kind)


def array_of(base: str) -> str:
    """The array of C that is read."""
    return base.array if isinstance(base, Viewed) else base


def viewed(effect: Effect) -> Effect:
    """An effect in which each array has cells of one type."""
    match effect:
        case Cells():
            own = {effect.base: effect.type}
            return replace(effect, value=_viewed(effect.value, _others((effect.value,), own)))
        case Updates():
            own = {effect.base: effect.type}
            others = _others((effect.value, effect.guard, effect.cell), own)
            cell = _viewed(effect.cell, others)
            assert isinstance(cell, Read), "cannot happen: a cell stays one"
            value, guard = _viewed(effect.value, others), _viewed(effect.guard, others)
            return replace(effect, value=value, guard=guard, cell=cell)
        case Running():
            own = {effect.base: effect.type}
            parts = effect.start, effect.update, effect.stored
            start, update, stored = (_viewed(e, _others(parts, own)) for e in parts)
            return replace(effect, start=start, update=update, stored=stored)
        case Result(fold):
            found = _viewed(fold, _others((fold,), {}))
            assert isinstance(found, Fold), "cannot happen: a fold stays one"
            return Result(found)


def _others(parts: tuple[Expression, ...], own: dict[str, str]) -> list[Read]:
    """The cells that are read as another type than their array has: the first of floats that it is read as, or its only one."""
    reads = list(dict.fromkeys(e for p in parts for e in all_of(p) if isinstance(e, Read)))
    types = dict(own)
    for r in sorted(reads, key=lambda r: r.type not in ("f32", "f64")):
        types.setdefault(r.base, r.type)
    return list(_read_otherwise(reads, types))


def _read_otherwise(reads: list[Read], types: dict[str, str]) -> Iterator[Read]:
    for r in reads:
        if r.type == types[r.base]:
            continue
        if r.cells or _WIDTHS.get(r.type) != _WIDTHS.get(types[r.base], 0):
            raise Opaque(f"{r.base} is read as {types[r.base]} and as {r.cells or r.type}")
        yield r


def _viewed(e: Expression, others: list[Read]) -> Expression:
    for r in others:
        e = replaced(e, r, replace(r, base=Viewed(r.base, r.type)))
    return e
