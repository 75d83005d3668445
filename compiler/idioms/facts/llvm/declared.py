"""The types that a C file declares, as its compiler notes them for debuggers: which field of a structure lies at which byte.

A type is the number of the note that describes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

_QUALIFIERS = frozenset(
    f"DW_TAG_{w}"
    for w in ("typedef", "const_type", "volatile_type", "restrict_type", "atomic_type")
)
_COMPOSITE = frozenset(f"DW_TAG_{w}" for w in ("structure_type", "union_type"))
_TAG = re.compile(r"tag: (\w+)")
_NUMBERED = re.compile(r"!(\d+)")
_FLOATS = ("float", "double")
_WIDTHS = {"i8": 8, "i16": 16, "i32": 32, "i64": 64, "float": 32, "double": 64, "ptr": 64}


class Field(NamedTuple):
    """What C writes behind an expression to name a part of it, and the type of that part."""

    words: str
    type: str


@dataclass(frozen=True)
class Declared:
    """The types of a file, by the numbered notes of its module."""

    notes: Mapping[str, str] = field(default_factory=dict[str, str])
    globals: Mapping[str, str] = field(default_factory=dict[str, str])
    """The types of globals."""

    def is_composite(self, type_: str) -> bool:
        """Whether a type is a structure or a union."""
        return self._tag(self._plain(type_)) in _COMPOSITE

    def is_array(self, type_: str) -> bool:
        """Whether a type is an array."""
        return self._tag(self._plain(type_)) == "DW_TAG_array_type"

    def pointed_at(self, type_: str) -> str:
        """What a pointer points at; empty for other types, and for what has no type."""
        plain = self._plain(type_)
        return self._of(plain, "baseType") if self._tag(plain) == "DW_TAG_pointer_type" else ""

    def of_global(self, note: str) -> str:
        """The type of the global that a note is about."""
        return self._of(self._of(note, "var"), "type")

    def size(self, type_: str) -> int:
        """How many bytes a type takes; 0 where that is not noted."""
        return self._bits(self._plain(type_), "size") // 8

    def part(self, type_: str, offset: int, kind: str) -> Field | None:
        """The number or pointer of an LLVM type that lies so many bytes inside of a type, where C has a name for it."""
        plain = self._plain(type_)
        tag, said = self._tag(plain), self.notes.get(plain, "")
        if tag in _COMPOSITE:
            return next(self._in_members(plain, offset, kind), None)
        if tag == "DW_TAG_array_type":
            return self._in_array(plain, offset, kind)
        is_float = "DW_ATE_float" in said
        is_alike = (tag == "DW_TAG_pointer_type", is_float) == (kind == "ptr", kind in _FLOATS)
        is_whole = offset == 0 and self._bits(plain, "size") == _WIDTHS.get(kind)
        return Field("", plain) if is_alike and is_whole else None

    def _in_array(self, plain: str, offset: int, kind: str) -> Field | None:
        element = self._of(plain, "baseType")
        width = self.size(element)
        if not width or not offset < self.size(plain) or len(self._elements(plain)) != 1:
            return None
        inner = self.part(element, offset % width, kind)
        return inner and Field(f"[{offset // width}]{inner.words}", inner.type)

    def _in_members(self, plain: str, offset: int, kind: str) -> Iterator[Field]:
        for member in self._elements(plain):
            said = self.notes.get(member, "")
            begin, length = self._bits(member, "offset") // 8, self._bits(member, "size") // 8
            if "DIFlagBitField" in said or not begin <= offset < begin + length:
                continue
            inner = self.part(self._of(member, "baseType"), offset - begin, kind)
            if inner is not None:
                name = re.search(r'name: "([^"]+)"', said)
                yield Field(f".{name[1]}{inner.words}" if name else inner.words, inner.type)

    # ---- notes

    def _plain(self, type_: str) -> str:
        """A type without other names for it, and without what is said of how it may be used."""
        while self._tag(type_) in _QUALIFIERS:
            type_ = self._of(type_, "baseType")
        return type_

    def _tag(self, type_: str) -> str:
        said = self.notes.get(type_, "")
        m = _TAG.search(said)
        return m[1] if m is not None else ""

    def _of(self, type_: str, key: str) -> str:
        m = re.search(rf"\b{key}: !(\d+)", self.notes.get(type_, ""))
        return m[1] if m is not None else ""

    def _bits(self, type_: str, key: str) -> int:
        m = re.search(rf"\b{key}: (\d+)", self.notes.get(type_, ""))
        return int(m[1]) if m is not None else 0

    def _elements(self, type_: str) -> list[str]:
        return _NUMBERED.findall(self.notes.get(self._of(type_, "elements"), ""))
