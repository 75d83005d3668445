"""Drawn inputs: sizes, then numbers and arrays that fit them, near to what a program compares with and divides by.

Arrays lie between cells that neither the C nor the program may touch.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np

from relift.compiler.idioms.execution import Case
from relift.compiler.idioms.facts.evolution import Quotient
from relift.compiler.idioms.facts.llvm.numbers import BITS
from relift.compiler.idioms.facts.names import Length, is_global
from relift.compiler.idioms.facts.relations import Relations
from relift.compiler.idioms.facts.values.narrow import CELLS
from relift.compiler.idioms.finding import Found
from relift.compiler.idioms.lifting.programs import Lifted, Parameter
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import Apply, Literal, distinct
from relift.semantics.syntax.types import Array, Scalar, Type, dimensions

GUARD = 256
"""Cells on each side of an array that must stay as they are."""
MOST_CELLS = 100_000
"""Of so many cells an array is drawn: the interpreter goes through each of them."""
_HOSTILE = (math.nan, math.inf, -math.inf, -0.0, 1e30, -1e30, 1e-40, 16777217.0)
"""What is drawn, now and then, where hostile inputs are asked for."""
DTYPES = {
    "f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64, "boolean": np.bool_,
    "u8": np.uint8, "s8": np.int8, "u16": np.uint16, "s16": np.int16, "truth": np.uint8,
}  # fmt: skip
"""What NumPy calls the types of programs, and those of cells that are narrower."""


class NotRun(Exception):
    """Why a function is not run."""


@dataclass(frozen=True)
class Beside:
    """What the same loop does beside: another find, and its program."""

    found: Found
    lifted: Lifted


def drawn(
    relations: Relations,
    lifted: Lifted,
    random: Random,
    refused: int,
    others: Sequence[Beside] = (),
    fields: Iterable[str] = (),
) -> Case:
    """Sizes, then values, those of `fields` too, and arrays that fit them; and room for what the loop does beside; raises `NotRun`."""
    length = random.randint(1, 12) if refused % 3 else random.randint(4, 40)
    if near := [int(k) for k in _edges(lifted) if 0 < k <= 1024]:
        edge = random.choice(near)  # twice as far, data that lie beyond it lead to cells
        far = random.choice((edge, edge, 2 * edge)) if edge < 64 else edge
        length = random.choice((length, far + random.randint(0, 3)))
    for most in (7, 7, 7, 7, 5, 3, 2, 1, 1):
        sizes = _sizes(lifted, length, most, random)
        values: dict[str, Any] = {v: size.evaluate(sizes) for v, size in lifted.values.items()}
        if fit(lifted, sizes, values):
            break
    else:
        raise NotRun("the rows are shorter than what is used of them")
    ends: dict[str, tuple[str, int]] = {}
    _rounded_sizes(lifted, values, sizes, ends, random)
    if relations.evolution.wraps:  # read without a sign, a negative number is a very large one
        values = {v: abs(x) if isinstance(x, int) else x for v, x in values.items()}
    case = Case(values, sizes=sizes, ends=ends)
    few = random.choice((1, 2, 4, length))
    edges, asks_for_nan = _edges(lifted), _asks_for_nan(lifted)
    for p in lifted.parameters:
        if isinstance(p.type, Scalar) and p.value not in values:
            values[p.value] = _number(p.type, random, few)
    looked_up = {v: relations.function.type_of(v) for v in fields}
    rows = {n for stride in lifted.target.strides for n in stride.names()}
    longest = max(sizes.values(), default=0)
    for value, type_ in {**relations.function.arguments, **looked_up}.items():
        if value not in values and type_ in ("i32", "i64"):
            further = random.choice((0, longest)) if value in rows else 0
            values[value] = further + random.randint(1, 5)
        elif value not in values and type_ in ("float", "double"):
            values[value] = _number(None, random, few)
        if type_ in BITS or type_ == "i1":
            values[value] = int(values.get(value, few)) % 2 ** BITS.get(type_, 1)
    if relations.evolution.wraps:
        values.update({v: abs(x) for v, x in values.items() if isinstance(x, int)})
    for p in lifted.parameters:
        if p.first is not None:
            _place(case, p, random, few)
            room = case.rooms[p.value]
            _draw_edges(room, edges, p.cells, random)
            if asks_for_nan and room.dtype.kind == "f" and random.random() < 0.3:
                room[random.randrange(GUARD, max(GUARD + 1, len(room) - GUARD))] = math.nan
            if relations.evolution.wraps and room.dtype.kind == "i":
                np.absolute(room, out=room)
    target = lifted.target.value
    if target not in case.rooms and relations.function.type_of(target) == "ptr":
        _place_target(case, lifted, random)
    for other in others:
        _place_beside(case, other.lifted, relations, random, few)
    return case


def as_beside(case: Case, other: Lifted, random: Random) -> Case:
    """The same rooms and numbers, with the sizes of another program; raises `NotRun`."""
    fixed = (p.value for p in other.parameters if p.first is None)
    if not case.values.keys() >= set(fixed):
        raise NotRun("what the loop stores elsewhere is not drawn")
    return replace(case, sizes=_sizes_beside(case, other, random))


def _place_beside(
    case: Case, other: Lifted, relations: Relations, random: Random, few: int
) -> None:
    """Room for another program's arrays, by the numbers that are drawn; raises `NotRun`."""
    there = replace(case, sizes=_sizes_beside(case, other, random))  # the same rooms
    for p in other.parameters:
        if p.first is not None and p.value not in case.rooms:
            _place(there, p, random, few)
    target = other.target.value
    if target not in case.rooms and relations.function.type_of(target) == "ptr":
        _place_target(there, other, random)


def _sizes_beside(case: Case, other: Lifted, random: Random) -> dict[str, int]:
    """The sizes of another program; raises `NotRun`."""
    sizes: dict[str, int] = {}
    for name, meaning in other.sizes.items():
        if any(isinstance(n, Length) for n in meaning.names()):
            known = (
                case.rooms[n.array]
                for n in meaning.names()
                if isinstance(n, Length) and n.array in case.rooms
            )
            sizes[name] = max(
                (len(room) - 2 * GUARD for room in known), default=random.randint(1, 12)
            )
        elif meaning.names() <= case.values.keys() and not quotients(meaning):
            sizes[name] = meaning.evaluate(case.values)
        else:
            raise NotRun("what the loop stores elsewhere is not drawn")
    if any(n < 0 for n in sizes.values()):
        raise NotRun("what the loop stores elsewhere has no length")
    return sizes


def left_beside(case: Case, others: Sequence[Beside], random: Random) -> Iterator[tuple[str, int]]:
    """The cells that the loop writes beside: the array, and where in its room."""
    for other in others:
        target = other.lifted.target
        sizes = _sizes_beside(case, other.lifted, random)
        if target.value in case.rooms:
            shape = [n.evaluate(sizes) for n in dimensions(other.lifted.program.body.type)[0]]
            strides = list(map(case.number, target.strides))
            origin = case.firsts[target.value] + case.number(target.first)
            for place in np.ndindex(*shape):
                yield target.value, origin + sum(i * s for i, s in zip(place, strides, strict=True))


def _sizes(lifted: Lifted, length: int, most: int, random: Random) -> dict[str, int]:
    """A number for each size."""
    sizes: dict[str, int] = {}
    data = any(isinstance(part, Length) for m in lifted.sizes.values() for part in m.names())
    often = 0.3 if data else 0.06  # of many cells that data choose, few are cells all
    for name in lifted.sizes:
        small = random.choice([k for k in (1, 1, 2, 3, 4, 5, 7) if k <= most])
        if (
            most == 7 and random.random() < often
        ):  # a row or two more than what the program divides by
            small = random.choice(
                [small, *(int(k) + random.randint(0, 2) for k in _edges(lifted) if 0 < k < 64)]
            )
        unsaid = any(isinstance(part, Length) for part in lifted.sizes[name].names())
        sizes[name] = length if unsaid else small
        if random.random() < 0.08 and not unsaid:
            sizes[name] = 0
    for size, least in lifted.natural:
        for name in (n for n, m in lifted.sizes.items() if m == size):
            sizes[name] = max(sizes[name], least)
    return sizes


def fit(lifted: Lifted, sizes: dict[str, int], values: Mapping[str, int]) -> bool:
    """Give the sizes that follow from others their numbers; false where one would be below zero."""
    for name, meaning in lifted.sizes.items():
        if meaning.names() <= values.keys() and not quotients(meaning):
            sizes[name] = meaning.evaluate(values)
    return all(n >= 0 for n in sizes.values())


def _edges(lifted: Lifted) -> list[float]:
    """The numbers that a program says, but for the smallest and for those that are only very large."""
    said = (t.value for t in distinct(lifted.program.body) if isinstance(t, Literal))
    return sorted({v for v in said if type(v) is not bool and 2 < abs(v) < 1e6})


def _draw_edges(room: Any, edges: Sequence[float], cells: str, random: Random) -> None:
    """A few cells become what the program compares with and divides by, or what stands beside that."""
    if not edges or random.random() < 0.7:
        return
    least, most = CELLS.get(cells, (-(2**31), 2**31 - 1))
    for _ in range(random.randint(1, 3)):
        at = random.randrange(GUARD, max(GUARD + 1, len(room) - GUARD))
        edge = random.choice(edges)
        if room.dtype.kind == "f":
            room[at] = edge + random.choice((-1, -0.5, 0, 0.5, 1))
            continue
        beside = (
            edge + random.randint(-1, 2) if random.random() < 0.6 else edge * random.randint(-7, 2)
        )
        room[at] = min(max(int(beside), least), most)


def _asks_for_nan(lifted: Lifted) -> bool:
    """Whether a program asks whether something is a number."""
    return any(
        isinstance(t, Apply) and t.function == "not_equal" and t.arguments[0] == t.arguments[1]
        for t in distinct(lifted.program.body)
    )


def make_hostile(case: Case, random: Random, programs: Collection[Lifted]) -> None:
    """A few cells of arrays of floats become what programs are seldom tried on; arrays that are only read may be one, or overlap."""
    for room in case.rooms.values():
        if room.dtype.kind == "f" and random.random() < 0.5:
            for _ in range(random.randint(1, 6)):
                room[random.randrange(GUARD, max(GUARD + 1, len(room) - GUARD))] = random.choice(
                    _HOSTILE
                )
    written = {lifted.target.value for lifted in programs}
    read = [b for b in case.rooms if b not in written and not is_global(b)]
    if len(read) > 1 and random.random() < 0.3:
        one, other = sorted(random.sample(read, 2), key=lambda b: len(case.rooms[b]))
        if case.rooms[one].dtype == case.rooms[other].dtype:
            case.rooms[one] = case.rooms[other]
            case.firsts[one] += random.choice((0, 0, 1, random.randint(0, GUARD // 2)))


def rounded(size: Size, lifted: Lifted) -> set[str]:
    """The values of the function inside of the quotients of a size, but for addresses one of which lies in an array of the other."""
    return {n for a in quotients(size) for n in a.of.names() - {*(beyond(a, lifted) or ())[:2]}}


def quotients(size: Size) -> list[Quotient]:
    """The quotients of a size."""
    return [a for a in size.atoms() if isinstance(a, Quotient)]


def _rounded_sizes(
    lifted: Lifted,
    values: dict[str, Any],
    sizes: dict[str, int],
    ends: dict[str, tuple[str, int]],
    random: Random,
) -> None:
    """Sizes that are quotients: of values that are drawn first, or of how far addresses lie apart."""
    between: dict[Quotient, int] = {}
    for name, meaning in lifted.sizes.items():
        if not (found := quotients(meaning)):
            continue
        least = max((k for size, k in lifted.natural if size == meaning), default=0)
        for q in found:
            if (other := beyond(q, lifted)) is not None and q not in between:
                between[q] = least + random.randint(0, 12)
                value, base, sign = other
                rest = q.of - sign * (Size.atom(value) - Size.atom(base))
                further = sign * (between[q] * q.by - rest.evaluate(values))
                ends[value] = base, further
            elif other is None:
                for value in sorted(q.of.names()):
                    values.setdefault(value, random.randint(least * q.by, 12))
        by_atom = {
            str(q): between[q] if q in between else -(-q.of.evaluate(values) // q.by) for q in found
        }
        values.update(by_atom)
        sizes[name] = max(least, Case(values).number(meaning))


def beyond(q: Quotient, lifted: Lifted) -> tuple[str, str, int] | None:
    """Of a quotient of the distance of two addresses: the one of no array, that of an array, the sign of the first."""
    arrays = {p.value for p in lifted.parameters if p.first is not None} | {lifted.target.value}
    for base in sorted(q.of.names() & arrays):
        for other in sorted(q.of.names() - arrays):
            for sign in (1, -1):
                rest = q.of - sign * (Size.atom(other) - Size.atom(base))
                if not rest.names() & {base, other}:
                    return other, base, sign
    return None


def _number(type_: Type | None, random: Random, few: int, *, plain: bool = False) -> Any:
    """A number; a whole one that is `plain` is an index of a few cells."""
    if isinstance(type_, Scalar) and not type_.is_float:
        if plain:
            return random.randint(0, max(0, few - 1))
        if random.random() < 0.01:  # far enough for quotients and rests below zero
            return random.randint(-40, 40)
        return (
            random.randint(0, max(0, few - 1)) if random.random() < 0.9 else random.randint(-3, few)
        )
    return random.choice(
        (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, random.uniform(0, 3), random.uniform(-2, 2))
    )


def _far(random: Random) -> int:
    """A whole number of any size, small ones as often as large ones; seldom one below zero."""
    size = int(2 ** random.uniform(3, 31))
    return -size if random.random() < 0.2 else min(size, 2**31 - 1)


def _place(case: Case, p: Parameter, random: Random, few: int) -> None:
    """An array with drawn cells, and with cells around it."""
    assert p.first is not None, "cannot happen: it is an array"
    if p.value in case.rooms:
        _place_view(case, p, random, few)
        return
    cells, scalar = cells_of(p.type, case.sizes)
    plain = random.random() < 0.5  # of many cells, one would always be no index
    drawn = [_number(scalar, random, few, plain=plain) for _ in range(cells + 2 * GUARD)]
    if not scalar.is_float and random.random() < 0.5:
        drawn[GUARD : GUARD + cells] = sorted(drawn[GUARD : GUARD + cells])
    if not scalar.is_float and cells and random.random() < 0.06:
        for _ in range(random.randint(1, 3)):
            drawn[GUARD + random.randrange(cells)] = _far(random)
    if scalar.is_float and random.random() < 0.5:
        drawn = [abs(x) for x in drawn]
    if p.cells in CELLS:
        _draw_narrow(drawn, p.cells, random)
    case.rooms[p.value] = np.array(drawn, DTYPES[p.cells or scalar.name])
    case.firsts[p.value] = GUARD - case.number(p.first)


def _place_view(case: Case, p: Parameter, random: Random, few: int) -> None:
    """An array that is there already, of which some cells are drawn as numbers of another type."""
    assert p.first is not None, "cannot happen: it is an array"
    cells, scalar = cells_of(p.type, case.sizes)
    begin = case.firsts[p.value] + case.number(p.first)
    more = max(0, GUARD - begin), max(0, begin + cells + GUARD - len(case.rooms[p.value]))
    room = case.rooms[p.value] = np.pad(case.rooms[p.value], more, mode="edge")
    case.firsts[p.value] += more[0]
    own: Any = room.view(DTYPES[scalar.name])
    for at in range(begin + more[0], begin + more[0] + cells):
        if random.random() < 0.4:
            own[at] = _number(scalar, random, max(few, 5))


def as_cells(room: Any, p: Parameter) -> Any:
    """The cells of an array of C as those of a parameter, which may be of another type."""
    _, scalar = dimensions(p.type)
    assert isinstance(scalar, Scalar), "cannot happen: arrays of scalars are lifted"
    kind = np.dtype(DTYPES[p.cells or scalar.name])
    return room if room.dtype == kind else room.view(kind)


def _draw_narrow(drawn: list[Any], cells: str, random: Random) -> None:
    """Bring numbers between the ends of what cells of few bits hold, now and then near to these."""
    least, most = CELLS[cells]
    near = random.random() < 0.3
    for at, x in enumerate(drawn):
        if near and random.random() < 0.5:
            drawn[at] = random.choice((least, least + 1, most - 1, most))
        else:
            drawn[at] = least + (x - least) % (most - least + 1)


def _place_target(case: Case, lifted: Lifted, random: Random) -> None:
    """Room for what is written: as far as the strides go."""
    result = lifted.program.body.type
    scalar = result
    reach = 0
    for stride in lifted.target.strides:
        assert isinstance(scalar, Array), "cannot happen: there is a stride for each dimension"
        reach += abs(case.number(stride)) * max(0, scalar.length.evaluate(case.sizes))
        scalar = scalar.element
    assert isinstance(scalar, Scalar), "cannot happen: there is a stride for each dimension"
    first = case.number(lifted.target.first)
    cells_of(result, case.sizes)
    _require_few(reach)
    case.rooms[lifted.target.value] = np.zeros(
        2 * (reach + abs(first) + GUARD), DTYPES[lifted.target.cells or scalar.name]
    )
    case.rooms[lifted.target.value][:] = [
        random.random() * 9 for _ in case.rooms[lifted.target.value]
    ]
    case.firsts[lifted.target.value] = reach + abs(first) + GUARD - first


def cells_of(type_: Type, sizes: Mapping[str, int]) -> tuple[int, Scalar]:
    """How many cells an array has, and of what; raises `NotRun` where these are too many to be drawn."""
    lengths, element = dimensions(type_)
    assert isinstance(element, Scalar), "cannot happen: arrays of scalars are lifted"
    cells = max(0, math.prod(n.evaluate(sizes) for n in lengths))
    _require_few(cells)
    return cells, element


def _require_few(cells: int) -> None:
    if cells > MOST_CELLS:
        raise NotRun(f"an array of {cells} cells is not drawn")
