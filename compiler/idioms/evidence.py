"""Whether a lifted program does what the C does: both run on drawn inputs.

The C is the compiler's own code, made by LLVM without optimisation; the program runs by the interpreter.  Arrays lie
between cells that neither may touch.  What can be run is a function that is given the arrays and lengths as they are and
whose only effect is the idiom; for others the reason is said.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import numpy as np

from relift.compiler.idioms.execution import KINDS, Case, Compiled, called
from relift.compiler.idioms.facts.evolution import Quotient
from relift.compiler.idioms.facts.names import Length, is_global
from relift.compiler.idioms.facts.relations import Relations
from relift.compiler.idioms.finding import Found
from relift.compiler.idioms.lifting.programs import Lifted, Parameter
from relift.compiler.idioms.rounding import Ambiguous, Bounded, bounds, rounded_inputs
from relift.semantics.errors import ReliftError, Undefined
from relift.semantics.interpreter import World, evaluate
from relift.semantics.language.programs import Program
from relift.semantics.numpy_values import from_numpy
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import Literal, distinct
from relift.semantics.syntax.types import Array, Scalar, Type, dimensions

RUNS = 100
GUARD = 256
"""Cells on each side of an array that must stay as they are."""
_MOST_REFUSED = 40
_HOSTILE = (math.nan, math.inf, -math.inf, -0.0, 1e30, -1e30, 1e-40, 16777217.0)
"""What is drawn, now and then, where hostile inputs are asked for."""
_DTYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64}


@dataclass(frozen=True)
class Evidence:
    """How many drawn inputs agreed; or the first that did not; or why none was run.

    `outside` counts those for which the C itself goes beyond its arrays: nothing is said of them.
    """

    runs: int = 0
    difference: str | None = None
    skipped: str | None = None
    outside: int = field(default=0, repr=False)

    @property
    def ok(self) -> bool:
        """Whether inputs were run, and all agreed."""
        return self.runs > 0 and self.difference is None

    def __str__(self) -> str:
        if self.skipped is not None:
            return f"not run: {self.skipped}"
        if self.difference is not None:
            return f"DIFFERS after {self.runs} inputs: {self.difference}"
        return f"agrees with the compiled C on {self.runs} drawn inputs"


class NotRun(Exception):
    """Why a function is not run."""


def evidence(
    relations: Relations,
    found: Found,
    lifted: Lifted,
    compiled: Compiled,
    runs: int = RUNS,
    seed: int = 0,
    *,
    hostile: bool = False,
    beside: Lifted | None = None,
) -> Evidence:
    """The program of a find against the C that it was found in; `hostile`: NaN, infinities and the like are drawn, too.

    Inputs for which it has no value are others than the conditions admit; where a program `beside` it has one, that is a difference.
    """
    try:
        result = _result(relations, found)
        _require_plain(relations, found, lifted)
    except NotRun as reason:
        return Evidence(skipped=str(reason))
    random = Random(f"{relations.function.name} {found.result} {seed}")
    done = refused = outside = 0
    while done < runs:
        case = _drawn(relations, lifted, random, refused)
        if hostile and not any("NaN" in c for c in lifted.conditions):
            _make_hostile(case, random)
        given = replace(case, rooms={b: room.copy() for b, room in case.rooms.items()})
        difference = None
        try:
            try:
                expected = _interpreted(lifted, case)
            except Undefined as error:
                if beside is None:
                    raise
                _interpreted(beside, case)
                difference = f"the program has no value: {error.message}"
            else:
                difference = _compared(relations, lifted, compiled, case, expected, returned=result)
            if difference is not None and _reaches_outside(relations, lifted, compiled, given):
                outside += 1
                raise NotRun("the C goes beyond its arrays")
        except (Undefined, IndexError, NotRun):
            refused += 1
            if refused > _MOST_REFUSED * (done + 5):
                return Evidence(done, skipped="no inputs were drawn that the conditions admit")
            continue
        if difference is not None:
            return Evidence(done, difference=f"{difference}, at {_said(case, relations)}")
        done += 1
    return Evidence(done, outside=outside)


def _reaches_outside(relations: Relations, lifted: Lifted, compiled: Compiled, case: Case) -> bool:
    """Whether the C looks at, or changes, what lies around arrays whose length data say: it does something else where something else lies there."""
    open_ended = {
        n for n, m in lifted.sizes.items() if any(isinstance(x, Length) for x in m.names())
    }
    inside = {
        p.value: _inside(p, lifted, case)
        for p in lifted.parameters
        if isinstance(p.type, Array) and p.type.length.names() & open_ended
    }  # where other arrays begin and end is what the program says, and may be wrong
    if not inside:
        return False
    found: list[list[Any]] = []
    for change in (0, 1):
        own = replace(case, rooms={b: room.copy() for b, room in case.rooms.items()})
        for base, (begin, end) in inside.items():
            for around in (own.rooms[base][:begin], own.rooms[base][end:]):
                around[:] = (around + change) % 5 if around.dtype.kind == "i" else around + change
        before = {b: room.copy() for b, room in own.rooms.items()}
        got = called(relations.function, relations.module, compiled, own)
        for base, (begin, end) in inside.items():
            if base != lifted.target.value or len(lifted.target.strides) == 1:
                pieces = ((room[:begin], room[end:]) for room in (own.rooms[base], before[base]))
                if any(not _same(a, b) for a, b in zip(*pieces, strict=True)):
                    return True
        found.append([got, *(own.rooms[b][begin:end] for b, (begin, end) in inside.items())])
        if lifted.target.value in own.rooms and lifted.target.value not in inside:
            found[-1].append(own.rooms[lifted.target.value])
    return any(not _same(a, b) for a, b in zip(*found, strict=True))


def _inside(p: Parameter, lifted: Lifted, case: Case) -> tuple[int, int]:
    """Where the cells of an array lie in its room."""
    program = lifted.program.with_sizes({n: Size.of(v) for n, v in case.sizes.items()})
    given = next(i for i in program.parameters if i.name == p.name)
    return GUARD, GUARD + _cells(given.type, {})[0]


# ---- what can be run


def _result(relations: Relations, found: Found) -> bool:
    """Whether the result is what the function returns; false for an array; raises `NotRun`."""
    if found.result in relations.accesses:
        return False
    for i in relations.instructions.values():
        if i.opcode == "ret" and i.operands:
            value = relations.instructions.get(i.operands[0])
            while value is not None and value.opcode == "phi" and len(set(value.operands)) == 1:
                if value.operands[0] == found.result:
                    return True
                back = relations.instructions.get(value.operands[0])
                if (
                    back is not None
                    and found.result in relations.instructions
                    and value.operands[0] in relations.instructions[found.result].operands
                ):
                    return True
                value = back
            if value is not None and value.name == found.result:
                return True
    raise NotRun("its result stays inside the function")


def _require_plain(relations: Relations, found: Found, lifted: Lifted) -> None:
    """Raise `NotRun` where the function does more than the idiom, or is given what is not drawn."""
    function = relations.function
    for value, type_ in function.arguments.items():
        if type_ != "ptr" and type_ not in KINDS:
            raise NotRun(f"its argument {value} has type {type_}")
    known = function.arguments.keys() | set(relations.module.globals)
    needed = {p.value for p in lifted.parameters} | {
        n for m in lifted.sizes.values() for n in m.names() if not isinstance(n, Length)
    }
    if found.result in relations.accesses:
        needed.add(lifted.target.value)
    needed |= lifted.target.first.names() | {n for s in lifted.target.strides for n in s.names()}
    if any(
        function.arguments.get(n) == "ptr"
        for m in lifted.sizes.values()
        for n in m.names() | _rounded(m)
    ):
        raise NotRun("a length is a difference of addresses")
    inner = [v for v in needed - known if v != found.result]
    if inner:
        shown = relations.evolution.spelled(inner[0])
        raise NotRun(f"{shown} is computed inside the function")
    for i in relations.instructions.values():
        outside = i.block not in found.loop.blocks
        if i.opcode == "store" and outside:
            raise NotRun(f"the function stores elsewhere, too (line {i.line})")
        if i.opcode == "store" and not _writes_target(relations, i.operands[1], lifted):
            raise NotRun(f"the loop stores elsewhere, too (line {i.line})")
    for p in lifted.parameters:
        if p.first is not None and is_global(p.value) and p.value not in relations.module.globals:
            raise NotRun(f"{p.value} is defined elsewhere")


def _writes_target(relations: Relations, pointer: str, lifted: Lifted) -> bool:
    return relations.evolution.base_of(pointer) == lifted.target.value


# ---- inputs


def _drawn(relations: Relations, lifted: Lifted, random: Random, refused: int) -> Case:
    """Sizes, then values and arrays that fit them."""
    length = random.randint(1, 12) if refused % 3 else random.randint(4, 40)
    for most in (7, 7, 7, 7, 5, 3, 2, 1, 1):
        sizes = _sizes(lifted, length, most, random)
        values: dict[str, Any] = {v: size.evaluate(sizes) for v, size in lifted.values.items()}
        if _fit(lifted, sizes, values):
            break
    else:
        raise NotRun("the rows are shorter than what is used of them")
    _rounded_sizes(lifted, values, sizes, random)
    if relations.evolution.wraps:  # read without a sign, a negative number is a very large one
        values = {v: abs(x) if isinstance(x, int) else x for v, x in values.items()}
    case = Case(values, sizes=sizes)
    few = random.choice((1, 2, 4, length))
    for p in lifted.parameters:
        if isinstance(p.type, Scalar) and p.value not in values:
            values[p.value] = _number(p.type, random, few)
    for value, type_ in relations.function.arguments.items():
        if value not in values and type_ in ("i32", "i64"):
            values[value] = random.randint(1, 5)
        elif value not in values and type_ in ("float", "double"):
            values[value] = _number(None, random, few)
    edges = _edges(lifted)
    for p in lifted.parameters:
        if p.first is not None:
            _place(case, p.value, p.type, p.first, random, few)
            room = case.rooms[p.value]
            if edges and room.dtype.kind == "i" and random.random() < 0.2:
                at = random.randrange(GUARD, max(GUARD + 1, len(room) - GUARD))
                room[at] = random.choice((1, *range(-7, 0))) * random.choice(edges)
            if relations.evolution.wraps and room.dtype.kind == "i":
                np.absolute(room, out=room)
    target = lifted.target.value
    if target not in case.rooms and relations.function.type_of(target) == "ptr":
        _place_target(case, lifted, relations, random)
    return case


def _sizes(lifted: Lifted, length: int, most: int, random: Random) -> dict[str, int]:
    """A number for each size."""
    sizes: dict[str, int] = {}
    for name in lifted.sizes:
        small = random.choice([k for k in (1, 1, 2, 3, 4, 5, 7) if k <= most])
        if (
            most == 7 and random.random() < 0.06
        ):  # a row or two more than what the program divides by
            small = random.choice([small, *(k + random.randint(0, 2) for k in _edges(lifted))])
        sizes[name] = length if name.startswith("len") else small
        if random.random() < 0.08 and not name.startswith("len"):
            sizes[name] = 0
    for size, least in lifted.natural:
        for name in (n for n, m in lifted.sizes.items() if m == size):
            sizes[name] = max(sizes[name], least)
    return sizes


def _fit(lifted: Lifted, sizes: dict[str, int], values: Mapping[str, int]) -> bool:
    """Give the sizes that follow from others their numbers; false where one would be below zero."""
    for name, meaning in lifted.sizes.items():
        if meaning.names() <= values.keys() and not any(map(_is_quotient, meaning.atoms())):
            sizes[name] = meaning.evaluate(values)
    return all(n >= 0 for n in sizes.values())


def _edges(lifted: Lifted) -> list[int]:
    """The whole numbers that a program says, but for the smallest."""
    said = (t.value for t in distinct(lifted.program.body) if isinstance(t, Literal))
    return sorted({v for v in said if type(v) is int and 2 < v < 64})


def _is_quotient(atom: object) -> bool:
    return isinstance(atom, Quotient)


def _make_hostile(case: Case, random: Random) -> None:
    """A few cells of arrays of floats become what programs are seldom tried on."""
    for room in case.rooms.values():
        if room.dtype.kind == "f" and random.random() < 0.5:
            for _ in range(random.randint(1, 6)):
                room[random.randrange(GUARD, max(GUARD + 1, len(room) - GUARD))] = random.choice(
                    _HOSTILE
                )


def _rounded(size: Size) -> set[str]:
    """The values of the function inside of the quotients of a size."""
    return {n for a in size.atoms() if isinstance(a, Quotient) for n in a.of.names()}


def _rounded_sizes(
    lifted: Lifted, values: dict[str, Any], sizes: dict[str, int], random: Random
) -> None:
    """Sizes that are quotients: of values that are drawn first."""
    for name, meaning in lifted.sizes.items():
        quotients = [a for a in meaning.atoms() if isinstance(a, Quotient)]
        if not quotients:
            continue
        least = max((k for size, k in lifted.natural if size == meaning), default=0)
        for value in sorted(_rounded(meaning)):
            values.setdefault(value, random.randint(least * quotients[0].by, 12))
        by_atom = {str(q): -(-q.of.evaluate(values) // q.by) for q in quotients}
        plain = Size(
            {tuple((str(a), p) for a, p in monomial): c for monomial, c in meaning.terms.items()}
        )
        sizes[name] = max(least, plain.evaluate({**values, **by_atom}))


def _number(type_: Type | None, random: Random, few: int) -> Any:
    if isinstance(type_, Scalar) and not type_.is_float:
        if random.random() < 0.01:  # far enough for quotients and rests below zero
            return random.randint(-40, 40)
        return (
            random.randint(0, max(0, few - 1)) if random.random() < 0.9 else random.randint(-3, few)
        )
    return random.choice(
        (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, random.uniform(0, 3), random.uniform(-2, 2))
    )


def _place(case: Case, base: str, type_: Type, first: Size, random: Random, few: int) -> None:
    cells, scalar = _cells(type_, case.sizes)
    room = np.zeros(cells + 2 * GUARD, _DTYPES[scalar.name])
    drawn = [_number(scalar, random, few) for _ in range(len(room))]
    if not scalar.is_float and random.random() < 0.5:
        drawn[GUARD : GUARD + cells] = sorted(drawn[GUARD : GUARD + cells])
    if scalar.is_float and random.random() < 0.5:
        drawn = [abs(x) for x in drawn]
    room[:] = drawn
    case.rooms[base] = room
    case.firsts[base] = GUARD - first.evaluate(case.values)


def _place_target(case: Case, lifted: Lifted, relations: Relations, random: Random) -> None:
    """Room for what is written: as far as the strides go."""
    result = lifted.program.body.type
    scalar = result
    reach = 0
    for stride in lifted.target.strides:
        assert isinstance(scalar, Array), "cannot happen: there is a stride for each dimension"
        reach += abs(stride.evaluate(case.values)) * max(0, scalar.length.evaluate(case.sizes))
        scalar = scalar.element
    assert isinstance(scalar, Scalar), "cannot happen: there is a stride for each dimension"
    first = lifted.target.first.evaluate(case.values)
    case.rooms[lifted.target.value] = np.zeros(
        2 * (reach + abs(first) + GUARD), _DTYPES[scalar.name]
    )
    case.rooms[lifted.target.value][:] = [
        random.random() * 9 for _ in case.rooms[lifted.target.value]
    ]
    case.firsts[lifted.target.value] = reach + abs(first) + GUARD - first


def _cells(type_: Type, sizes: Mapping[str, int]) -> tuple[int, Scalar]:
    lengths, element = dimensions(type_)
    assert isinstance(element, Scalar), "cannot happen: arrays of scalars are lifted"
    return max(0, math.prod(n.evaluate(sizes) for n in lengths)), element


# ---- both runs


def _interpreted(lifted: Lifted, case: Case) -> Any:
    """What the program gives, by the interpreter."""
    try:
        program = lifted.program.with_sizes({n: Size.of(v) for n, v in case.sizes.items()})
        with np.errstate(all="ignore"):
            return program(*_arguments(lifted, program, case.rooms, case.values))
    except Undefined:
        raise
    except ReliftError as error:
        raise NotRun(error.message) from None


def _arguments(
    lifted: Lifted, program: Program, rooms: Mapping[str, Any], values: Mapping[str, Any]
) -> list[Any]:
    """The arrays and numbers that a program is given."""
    arguments: list[Any] = []
    for p, given in zip(lifted.parameters, program.parameters, strict=True):
        if p.first is None:
            assert isinstance(p.type, Scalar), "cannot happen: what is no array is a scalar"
            arguments.append(_DTYPES[p.type.name](values[p.value]))
            continue
        cells, _ = _cells(given.type, {})
        shape = [n.evaluate({}) for n in dimensions(given.type)[0]]
        arguments.append(rooms[p.value][GUARD : GUARD + cells].reshape(shape).copy())
    return arguments


def _apart(lifted: Lifted, case: Case, rooms: Mapping[str, Any]) -> Any:
    """How far the result may be from what another order of the operations gives; raises `NotRun`."""
    program = lifted.program.with_sizes({n: Size.of(v) for n, v in case.sizes.items()})
    arguments = _arguments(lifted, program, rooms, case.values)
    given = {
        p.name: rounded_inputs(from_numpy(x, p.type))
        for p, x in zip(program.parameters, arguments, strict=True)
    }
    try:
        found = evaluate(program.body, World(inputs=given, domain=Bounded()))
    except Ambiguous:
        raise NotRun("rounding decides a comparison") from None
    apart = bounds(found)
    if not np.isfinite(apart).all():
        raise NotRun("another order of the operations may overflow")
    return apart


def _compared(
    relations: Relations, lifted: Lifted, compiled: Compiled, case: Case, expected: Any, *, returned: bool
) -> str | None:  # fmt: skip
    """The first difference between what the C does and what is expected; raises `NotRun`."""
    before = {b: room.copy() for b, room in case.rooms.items()}
    got = called(relations.function, relations.module, compiled, case)
    if returned:
        near = _same(got, expected) or _near(got, expected, _apart(lifted, case, before))
        return None if near else f"{got} where the program gives {expected}"
    target = lifted.target
    spelled = relations.evolution.spelled(target.value)
    cells = before[target.value].copy()
    origin = case.firsts[target.value] + target.first.evaluate(case.values)
    strides = [s.evaluate(case.values) for s in target.strides]
    expected = np.asarray(expected)
    allowed = np.zeros(cells.shape)
    places = [
        (place, origin + sum(i * s for i, s in zip(place, strides, strict=True)))
        for place in np.ndindex(expected.shape)
    ]
    for place, at in places:
        cells[at] = expected[place]
    for base, room in case.rooms.items():
        if base != target.value and not _same(room, before[base]):
            return f"{relations.evolution.spelled(base)} is changed"
    there = case.rooms[target.value]
    if _same(there, cells):
        return None
    apart = _apart(lifted, case, before)
    for place, at in places:
        allowed[at] = apart[place]
    wrong = [at for at in range(len(cells)) if not _near(there[at], cells[at], allowed[at])]
    if not wrong:
        return None
    cell = f"{spelled}[{wrong[0] - case.firsts[target.value]}]"
    return f"{cell} is {there[wrong[0]]} where the program gives {cells[wrong[0]]}"


def _same(a: Any, b: Any) -> bool:
    """Whether all numbers are the same, one NaN being like another."""
    a, b = np.asarray(a), np.asarray(b)
    return bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f" and b.dtype.kind == "f"))


def _near(a: Any, b: Any, allowed: Any) -> bool:
    """Whether a float is as near to another as the roundings of both allow."""
    if _same(a, b):
        return True
    difference = abs(float(a) - float(b))
    return bool(np.isfinite(difference) and np.isfinite(allowed) and difference <= allowed)


def _said(case: Case, relations: Relations) -> str:
    shown = [
        f"{relations.evolution.spelled(n)}={v}" for n, v in case.values.items() if n in relations.function.arguments
    ]  # fmt: skip
    return ", ".join(shown) or "the globals that were drawn"
