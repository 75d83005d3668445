"""What C calls fields of structures, where LLVM loads a number from so many bytes behind an address: `p->n`, `s.inner->v`, `*n`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from relift.compiler.idioms.facts.llvm.declared import Field
from relift.compiler.idioms.facts.llvm.ir import Function, Instruction, Module
from relift.compiler.idioms.facts.names import bare, is_global
from relift.semantics.syntax.sizes import Size

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Fields:
    """The fields that a function looks up."""

    function: Function
    module: Module
    placed: Callable[[str], tuple[str, Size] | None]
    """The array of an address, and how many bytes behind its begin it is."""

    def place(self, value: str) -> tuple[str, int] | None:
        """Where a value is looked up that has one place: the array, and so many bytes behind its begin."""
        i = self.function.values.get(value)
        placed = self.placed(i.operands[0]) if i is not None and _is_plain_load(i) else None
        offset = placed[1].constant if placed is not None else None
        return None if placed is None or offset is None or offset < 0 else (placed[0], offset)

    @cached_property
    def _held(self) -> Mapping[str, set[str]]:
        """All that variables hold, by their names."""
        found: dict[str, set[str]] = {}
        for value, names in self.function.variables.items():
            for name in names:
                found.setdefault(name, set()).add(value)
        return found

    def of(self, value: str, called: Callable[[str], str | None]) -> str | None:
        """What C calls a value that is looked up, where `called` says what it calls those that are not."""
        found = self._said(value, called)
        return found.words if found is not None else None

    def spelled(self, value: str) -> str | None:
        """What C calls a variable, an array, or a value that is looked up."""
        return self._called(value) or self.of(value, self._called)

    def _called(self, value: str) -> str | None:
        names, found = self.function.variables.get(value, ()), self.function.values.get(value)
        if found is not None and found.opcode == "load":  # `i` of `i = p->first` is others later
            names = tuple(n for n in names if self._held[n] == {value})
        if names:
            return names[0]
        return bare(value) if found is None or found.opcode == "alloca" else None

    def _said(self, value: str, called: Callable[[str], str | None]) -> Field | None:
        place = self.place(value)
        if place is None:
            return None
        base, offset = place
        kind, types = self.function.values[value].type, self.module.declared
        name = called(base)
        if name is not None and (is_global(base) or base in self.function.places):
            part = types.part(self.type_of(base), offset, kind)
            return part and Field(f"{name}{part.words}", part.type)
        pointer = Field(name, self.type_of(base)) if name is not None else self._said(base, called)
        if pointer is None:
            return None
        target = types.pointed_at(pointer.type)
        width = types.size(target)
        part = types.part(target, offset % width, kind) if width else None
        return part and Field(_behind(pointer.words, offset // width, part.words), part.type)

    def type_of(self, base: str) -> str:
        """The type that C declares an array with, or a pointer to it; empty where that is not known."""
        if is_global(base):
            return self.module.declared.globals.get(base, "")
        found = self._said(base, self._called) if base in self.function.values else None
        return found.type if found is not None else self.function.types.get(base, "")


def _is_plain_load(i: Instruction) -> bool:
    return i.opcode == "load" and not i.flags - {"truth"}


def _behind(pointer: str, number: int, words: str) -> str:
    """A part of one of the things that a pointer points at.

    >>> from relift.compiler.idioms.facts.fields import _behind
    >>> _behind("p", 0, ".in.v"), _behind("p->q", 2, ".n"), _behind("n", 0, ""), _behind("*p", 0, ".n"), _behind("r", 0, "[2]")
    ('p->in.v', 'p->q[2].n', '*n', '(*p)->n', '(*r)[2]')
    """
    pointer = f"({pointer})" if pointer.startswith("*") else pointer
    if number:
        return f"{pointer}[{number}]{words}"
    if words.startswith("."):
        return f"{pointer}->{words[1:]}"
    return f"(*{pointer}){words}" if words else f"*{pointer}"


def last_word(spelled: str) -> str:
    """The name of a field without those of what it is in.

    >>> from relift.compiler.idioms.facts.fields import last_word
    >>> last_word("p->in.v"), last_word("*n"), last_word("t.w[3]")
    ('v', 'n', 'w')
    """
    found = _IDENTIFIER.findall(spelled)
    return found[-1] if found else spelled
