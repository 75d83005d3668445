"""What structs and unions are made of: their members, one after another, those of inner structs among them."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

from relift.compiler.foreign.expressions import ctype, refused
from relift.compiler.text.c_types import SIZES, with_sign
from relift.compiler.text.tree import CType


@dataclass(frozen=True)
class Part:
    """A member: its name after those of the structs that it is in, its type, and the extents of an array."""

    path: tuple[str, ...]
    type: CType
    node: Any
    extents: tuple[int, ...] = ()

    def of(self, variable: str) -> str:
        """What the member of a variable is called, which is no name of C."""
        return "·".join((variable, *self.path))


@dataclass(frozen=True)
class Record:
    """A struct, or a union, whose members are the same cell."""

    parts: tuple[Part, ...]
    inner: frozenset[tuple[str, ...]] = frozenset()
    """The members that are structs themselves."""
    union: bool = False

    def part(self, name: str) -> Part | None:
        """A member by its name."""
        return next((p for p in self.parts if p.path == (name,)), None)

    def within(self, name: str) -> Record | None:
        """A member that is a struct itself."""
        if (name,) not in self.inner:
            return None
        parts = (replace(p, path=p.path[1:]) for p in self.parts if p.path[0] == name)
        inner = (path[1:] for path in self.inner if path[0] == name and len(path) > 1)
        return Record(tuple(parts), frozenset(inner))

    @property
    def stored(self) -> tuple[Part, ...]:
        """What is kept of it: of a union the first member, whose bits the others are."""
        return self.parts[:1] if self.union else self.parts


class Records:
    """The structs and unions of a source."""

    def __init__(self) -> None:
        self.named: dict[str, Record] = {}

    def of(self, t: Any) -> Record | None:
        """The struct that a type is; None where it is another one."""
        if type(t).__name__ not in ("Struct", "Union"):
            return None
        if t.decls is None:
            if t.name not in self.named:
                raise refused(t, f"{type(t).__name__.lower()} {t.name}, of which nothing is said,")
            return self.named[t.name]
        found = self._made(t)
        if t.name is not None:
            self.named[t.name] = found
        return found

    def _made(self, t: Any) -> Record:
        union = type(t).__name__ == "Union"
        parts: list[Part] = []
        inner: set[tuple[str, ...]] = set()
        for d in t.decls:
            of, extents = _within_arrays(d)
            if type(of).__name__ != "TypeDecl" or d.bitsize is not None:
                raise refused(d, f"the member {d.name}, a pointer or a field of bits,")
            nested = self.of(of.type)
            if nested is None:
                parts.append(Part((d.name,), ctype(of.type.names, d), of, extents))
                continue
            if extents or nested.union or union:
                raise refused(d, f"the member {d.name}, structs in an array or a union,")
            inner |= {(d.name,), *((d.name, *path) for path in nested.inner)}
            parts += [replace(p, path=(d.name, *p.path)) for p in nested.parts]
        if union:
            _require_one_cell(t, parts)
        return Record(tuple(parts), frozenset(inner), union)


def _within_arrays(d: Any) -> tuple[Any, tuple[int, ...]]:
    t, extents = d.type, list[int]()
    while type(t).__name__ == "ArrayDecl":
        if type(t.dim).__name__ != "Constant" or not t.dim.value.isdecimal():
            raise refused(d, f"the extent of the member {d.name}")
        extents.append(int(t.dim.value))
        t = t.type
    return t, tuple(extents)


def _require_one_cell(node: Any, parts: Sequence[Part]) -> None:
    """Raise `NotUnderstood` unless all members of a union are scalars of as many bytes."""
    bytes_ = {SIZES.get(with_sign(p.type.scalar), 0) * p.type.width for p in parts}
    if len(bytes_) != 1 or any(p.extents or p.type.width > 1 for p in parts) or not bytes_ & {4, 8}:
        raise refused(node, "a union of other than numbers of 4 or 8 bytes")


def declared_as(d: Any) -> tuple[str, Any, list[Any]]:
    """How a declaration uses a type: alone, as a pointer to it or as an array of it; the type and the extents."""
    t, dims, how = d.type, list[Any](), "alone"
    while type(t).__name__ in ("ArrayDecl", "PtrDecl"):
        if type(t).__name__ == "PtrDecl":
            how = "pointer" if how == "alone" else "more"
        else:
            dims.append(t.dim)
            how = "array" if how in ("alone", "array") else "more"
        t = t.type
    return how, t, dims


def renamed(of: Any, name: str, quals: Sequence[str]) -> Any:
    """A type as that of a variable of another name."""
    found = copy(of)
    found.declname, found.quals = name, [*quals]
    return found
