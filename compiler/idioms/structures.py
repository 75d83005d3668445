"""Structures around what is drawn: a loop that looks up its lengths and pointers finds there what was drawn for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random

import numpy as np

from relift.compiler.idioms.drawing import GUARD, NotRun
from relift.compiler.idioms.execution import Case
from relift.compiler.idioms.facts.control import Loop
from relift.compiler.idioms.facts.llvm.layout import size_in_bytes
from relift.compiler.idioms.facts.names import is_global
from relift.compiler.idioms.facts.relations import Relations

Places = Mapping[str, tuple[str, int]]
"""Where values are looked up, by value: the array, and so many bytes behind its begin."""
_NUMBERS = {
    "i8": "u1",
    "i16": "u2",
    "i32": "i4",
    "i64": "i8",
    "float": "f4",
    "double": "f8",
    "ptr": "u8",
}
"""What NumPy calls what lies in a field."""


def looked_up(
    relations: Relations, loop: Loop, values: Iterable[str]
) -> dict[str, tuple[str, int]]:
    """Where some values of a function are looked up, and the pointers that these are behind; what is computed is left out.

    Every pointer that the function looks up is among them: it may follow one that no program needs.
    """
    pointers = (
        i.name for i in relations.instructions.values() if i.opcode == "load" and i.type == "ptr"
    )
    found: dict[str, tuple[str, int]] = {}
    for value in dict.fromkeys((*values, *pointers)):
        chain = _chain(relations, loop, value)
        found.update(chain or {})
    return found


def _chain(relations: Relations, loop: Loop, value: str) -> dict[str, tuple[str, int]] | None:
    """A value, and the pointers that it is behind, each where it is looked up; none where that is not where the function begins."""
    place = relations.evolution.fields.place(value)
    if place is None or relations.function.values[value].type not in _NUMBERS:
        return None
    if place[0] in relations.module.constants:
        return None
    if not relations.evolution.stays(value, loop):
        return None
    base = place[0]
    if base in relations.function.arguments or (
        is_global(base) and base in relations.module.globals
    ):
        return {value: place}
    behind = _chain(relations, loop, base)
    return None if behind is None else {**behind, value: place}


def put(case: Case, places: Places, relations: Relations, random: Random) -> None:
    """Put what is drawn where the C looks it up; raises `NotRun` where one field would be two numbers."""
    kinds = {v: relations.function.type_of(v) for v in places}
    for base, _ in places.values():
        _make_room(
            case,
            base,
            [(offset, kinds[v]) for v, (b, offset) in places.items() if b == base],
            relations,
            random,
        )
    known: dict[tuple[str, int], bytes] = {}
    for value, (base, offset) in places.items():
        number = case.address(value) if kinds[value] == "ptr" else case.values[value]
        if number is None:  # a pointer that nothing needs, or that is looked up elsewhere, too
            continue
        content = np.array([number]).astype(_NUMBERS[kinds[value]]).tobytes()
        if known.setdefault((base, offset), content) != content:
            raise NotRun("a field would be two numbers")
        room = case.rooms[base]
        begin = case.firsts[base] * room.itemsize + offset
        room.view(np.uint8)[begin : begin + len(content)] = np.frombuffer(content, np.uint8)


def _make_room(
    case: Case, base: str, fields: Iterable[tuple[int, str]], relations: Relations, random: Random
) -> None:
    """Room for a structure, or more of it, in which each other field is a small number."""
    end = max(offset + np.dtype(_NUMBERS[kind]).itemsize for offset, kind in fields)
    if is_global(base):
        end = max(end, size_in_bytes(relations.module.globals[base], relations.module))
    elif base in relations.function.by_value:
        end = max(end, size_in_bytes(relations.function.by_value[base], relations.module))
    if base not in case.rooms:
        small = [random.randint(1, 3) for _ in range(2 * GUARD + -(-end // 4))]
        case.rooms[base], case.firsts[base] = np.array(small, np.int32), GUARD
        return
    room = case.rooms[base]
    lacking = case.firsts[base] * room.itemsize + end - room.nbytes
    if case.firsts[base] < 0:
        raise NotRun("a structure begins before what is drawn of it")
    if lacking > 0:
        case.rooms[base] = np.pad(room, (0, -(-lacking // room.itemsize) + GUARD), mode="edge")
