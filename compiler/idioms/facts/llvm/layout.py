"""How many bytes a type of LLVM takes, and where the parts of it are."""

from __future__ import annotations

import re

from relift.compiler.idioms.facts.llvm.ir import Module

_PLAIN = {
    "i1": 1,
    "i8": 1,
    "i16": 2,
    "i32": 4,
    "i64": 8,
    "half": 2,
    "float": 4,
    "double": 8,
    "ptr": 8,
}


class NoLayout(Exception):
    """A type whose layout is not known here."""


def width_of(type_: str) -> int:
    """How many bytes a number or a pointer takes."""
    return _PLAIN[type_]


def size_in_bytes(type_: str, module: Module) -> int:
    """The distance between two elements of an array of this type; raises `NoLayout`.

    >>> from relift.compiler.idioms.facts.llvm.ir import Module
    >>> from relift.compiler.idioms.facts.llvm.layout import size_in_bytes
    >>> of = Module("", {}, {}, {"%struct.s": ["i32", "double"]})
    >>> size_in_bytes("[3 x %struct.s]", of)
    48
    """
    if type_ in _PLAIN:
        return _PLAIN[type_]
    if m := re.fullmatch(r"\[(\d+) x (.*)\]", type_):
        return int(m[1]) * size_in_bytes(m[2], module)
    if type_ in module.structures:
        end = 0
        for part in module.structures[type_]:
            end = _aligned(end, alignment(part, module)) + size_in_bytes(part, module)
        return _aligned(end, alignment(type_, module))
    raise NoLayout(type_)


def alignment(type_: str, module: Module) -> int:
    """What the address of such a value is a multiple of."""
    if m := re.fullmatch(r"\[(\d+) x (.*)\]", type_):
        return alignment(m[2], module)
    if type_ in module.structures:
        return max((alignment(p, module) for p in module.structures[type_]), default=1)
    return size_in_bytes(type_, module)


def member(type_: str, index: str, module: Module) -> tuple[int, str]:
    """Bytes for each step of an index, and the type there; with a `=` before it, bytes to that member of a structure."""
    if m := re.fullmatch(r"\[(\d+) x (.*)\]", type_):
        return size_in_bytes(m[2], module), m[2]
    if type_ in module.structures and re.fullmatch(r"\d+", index):
        at = 0
        for number, part in enumerate(module.structures[type_]):
            at = _aligned(at, alignment(part, module))
            if number == int(index):
                return at, "=" + part
            at += size_in_bytes(part, module)
    raise NoLayout(type_)


def _aligned(offset: int, to: int) -> int:
    return -(-offset // to) * to
