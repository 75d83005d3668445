"""Whether a lifted program does what the C does: both run on drawn inputs.

The C is the compiler's own code, made by LLVM without optimisation; the program runs by the interpreter.  Arrays lie
between cells that neither may touch.  What can be run is a function that is given the arrays and lengths as they are and
whose only effect is the idiom; for others the reason is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np

from relift.compiler.idioms.admitted import conditional
from relift.compiler.idioms.drawing import (
    DTYPES,
    Beside,
    NotRun,
    as_beside,
    as_cells,
    cells_of,
    drawn,
    fit,
    left_beside,
    make_hostile,
    quotients,
    rounded,
)
from relift.compiler.idioms.execution import KINDS, Case, Compiled, called, read_constants
from relift.compiler.idioms.facts.llvm.ir import Instruction
from relift.compiler.idioms.facts.names import Length, is_global
from relift.compiler.idioms.facts.relations import Relations
from relift.compiler.idioms.finding import Found
from relift.compiler.idioms.lifting.conditions import About
from relift.compiler.idioms.lifting.programs import Lifted
from relift.compiler.idioms.rounding import Ambiguous, Bounded, bounds, rounded_inputs
from relift.compiler.idioms.structures import Places, looked_up, put
from relift.semantics.errors import ReliftError, Undefined
from relift.semantics.interpreter import World, evaluate
from relift.semantics.language.programs import Program
from relift.semantics.numpy_values import from_numpy
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.types import Scalar, dimensions

RUNS = 100
_MOST_REFUSED = 40


@dataclass(frozen=True)
class Evidence:
    """How many drawn inputs agreed; or the first that did not; or why none was run."""

    runs: int = 0
    difference: str | None = None
    skipped: str | None = None

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
    others: Sequence[Beside] = (),
) -> Evidence:
    """The program of a find against the C that it was found in; `hostile`: NaN, infinities and the like are drawn, too.

    The C is run on inputs that the conditions admit; these are what a program `beside` it says, where one is given, and that the other
    has no value then is a difference.  What `others` do in the same loop is not compared.
    """
    try:
        result = _result(relations, found)
        places = _require_plain(relations, found, lifted, others)
    except NotRun as reason:
        return Evidence(skipped=str(reason))
    random = Random(f"{relations.function.name} {found.result} {seed}")
    done = refused = 0
    while done < runs:
        try:
            case = drawn(relations, lifted, random, refused, others, places)
        except NotRun as reason:
            return Evidence(done, skipped=str(reason))
        if hostile:
            make_hostile(case, random, [lifted, *(other.lifted for other in others)])
        difference: str | None
        try:
            _put(case, places, relations, compiled, random)
            _require_admitted(relations, lifted, case)
            if beside is not None:
                _interpreted(beside, _for_another(beside, case))
            for other in others:
                if other.lifted.asks("indices"):  # the C goes where its indices lead, too
                    _interpreted(other.lifted, as_beside(case, other.lifted, random))
            try:
                expected = _interpreted(lifted, case)
            except Undefined as error:
                if beside is None:
                    raise
                difference = f"the program has no value: {error.message}"
            else:
                difference = _compared(
                    relations, lifted, compiled, case, expected, others, returned=result
                )
        except (Undefined, IndexError, NotRun):
            refused += 1
            if refused > _MOST_REFUSED * (done + 5):
                return Evidence(done, skipped="no inputs were drawn that the conditions admit")
            continue
        if difference is not None:
            shown = _said(case, relations, places)
            return Evidence(done, difference=f"{difference}, at {shown}")
        done += 1
    return Evidence(done)


def _for_another(lifted: Lifted, case: Case) -> Case:
    """Inputs with the sizes that another program gives them; raises `NotRun`."""
    sizes = dict(case.sizes)
    if not fit(lifted, sizes, case.values):
        raise NotRun("the inputs have no sizes for it")
    return replace(case, sizes=sizes)


def _put(
    case: Case, places: Places, relations: Relations, compiled: Compiled, random: Random
) -> None:
    """Have what is drawn where the C finds it, and the constants of the file where they are drawn; raises `NotRun`."""
    put(case, places, relations, random)
    read_constants(relations.module, compiled, case)


# ---- what can be run


def _require_admitted(relations: Relations, lifted: Lifted, case: Case) -> None:
    """Raise `NotRun` where what was drawn is not what the conditions admit."""
    _require_sizes(lifted, case)
    _require_apart(lifted, case)
    _require_limits(relations, case)


def _require_sizes(lifted: Lifted, case: Case) -> None:
    """Raise `NotRun` where a size is not what the numbers say: one of them would have been below zero."""
    for name, meaning in lifted.sizes.items():
        if any(not isinstance(a, str) or a not in case.values for a in meaning.atoms()):
            continue
        if meaning.evaluate(case.values) != case.sizes[name]:
            raise NotRun("the numbers that were drawn give other sizes")


def _require_apart(lifted: Lifted, case: Case) -> None:
    """Raise `NotRun` where rows of the result lie over each other, and it is a condition that none do."""
    if not (lifted.asks("rows that overlap") or lifted.asks("strides")):
        return
    shape = [n.evaluate(case.sizes) for n in dimensions(lifted.program.body.type)[0]]
    strides = list(map(case.number, lifted.target.strides))
    places = [sum(i * s for i, s in zip(at, strides, strict=True)) for at in np.ndindex(*shape)]
    if len(set(places)) < len(places):
        raise NotRun("rows of the result lie over each other")


def _require_limits(relations: Relations, case: Case) -> None:
    """Raise `NotRun` where a number that has fewer bits in C would leave them: a loop may then never end."""
    function, control = relations.function, relations.control
    for name, (least, most) in function.limits.items():
        ends = [case.values[name]] if name in case.values else []
        if name in function.values:
            size = relations.evolution.of(name)
            for loop in control.around(function.values[name].block):
                last = relations.evolution.trips(loop)
                if last is not None:
                    size = size.substitute({loop.counter: last})
            if not size.names() <= case.values.keys():
                raise NotRun("how far a counter of few bits goes is not drawn")
            ends.append(case.number(size))
        if not all(least <= end <= most for end in ends):
            raise NotRun("a counter of few bits would leave them")


def _result(relations: Relations, found: Found) -> bool:
    """Whether the result is what the function returns; false for an array; raises `NotRun`."""
    if found.result in relations.accesses:
        return False
    for i in relations.instructions.values():
        if i.opcode == "ret" and i.operands:
            value = relations.instructions.get(i.operands[0])
            if value is not None and value.opcode == "zext":  # a number without sign stays itself
                value = relations.instructions.get(value.operands[0])
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
    if relations.is_unused(found.result, found.loop):
        raise NotRun("nothing uses its result")
    raise NotRun("its result stays inside the function")


def _require_plain(
    relations: Relations, found: Found, lifted: Lifted, others: Sequence[Beside]
) -> Places:
    """Where it looks up what is drawn; raises `NotRun` where the function does more than the idiom, or is given what is not drawn."""
    function = relations.function
    if found.loop.parent is not None and any(
        p.value == lifted.target.value for p in lifted.parameters
    ):
        raise NotRun("a loop around it does it again, with what it has stored")
    for value, type_ in function.arguments.items():
        if type_ != "ptr" and type_ not in KINDS:
            raise NotRun(f"its argument {value} has type {type_}")
    known = function.arguments.keys() | set(relations.module.globals)
    needed = {p.value for p in lifted.parameters} | {
        n for m in lifted.sizes.values() for n in m.names() if not isinstance(n, Length)
    }
    if found.result in relations.accesses:
        needed.add(lifted.target.value)
    needed |= {n for m in lifted.sizes.values() for q in quotients(m) for n in q.of.names()}
    needed |= lifted.target.first.names() | {n for s in lifted.target.strides for n in s.names()}
    if any(
        function.type_of(n) == "ptr"
        for m in lifted.sizes.values()
        for n in m.names() | rounded(m, lifted)
    ):
        raise NotRun("a length is a difference of addresses")
    places = looked_up(relations, found.loop, sorted(needed - known))
    inner = [v for v in sorted(needed - known - places.keys()) if v != found.result]
    if inner:
        shown = relations.evolution.spelled(inner[0])
        raise NotRun(f"{shown} is computed inside the function")
    for i in relations.instructions.values():
        outside = i.block not in found.loop.blocks
        if i.opcode == "store" and outside:
            raise NotRun(f"the function stores elsewhere, too (line {i.line})")
        if i.opcode == "store" and not _is_known(relations, i, [found, *(o.found for o in others)]):
            raise NotRun(f"the loop stores elsewhere, too (line {i.line})")
    for p in lifted.parameters:
        if p.first is not None and is_global(p.value) and p.value not in relations.module.globals:
            raise NotRun(f"{p.value} is defined elsewhere")
    return places


def _is_known(relations: Relations, store: Instruction, finds: Sequence[Found]) -> bool:
    """Whether a store goes to cells of one of some finds."""
    own = relations.evolution.accesses.get(store.position)
    results = (relations.accesses.get(f.result) for f in finds)
    return own is not None and any(
        r is not None and r.base == own.base and not relations.evolution.apart(r, own)
        for r in results
    )


# ---- both runs


def _interpreted(lifted: Lifted, case: Case) -> Any:
    """What the program gives, by the interpreter; raises `Undefined` where a condition does not hold."""
    asked: frozenset[About] = frozenset(condition.about for condition in lifted.conditions)
    try:
        program = lifted.program.with_sizes({n: Size.of(v) for n, v in case.sizes.items()})
        return conditional(program, _given(lifted, program, case), asked)
    except Undefined:
        raise
    except ReliftError as error:
        raise NotRun(error.message) from None


def _arguments(lifted: Lifted, program: Program, case: Case) -> list[Any]:
    """The arrays and numbers that a program is given: what the C finds there, wherever an array was placed."""
    arguments: list[Any] = []
    for p, given in zip(lifted.parameters, program.parameters, strict=True):
        if p.first is None:
            assert isinstance(p.type, Scalar), "cannot happen: what is no array is a scalar"
            kind = DTYPES[p.type.name]
            arguments.append(kind(case.values[p.value]))
            continue
        cells, scalar = cells_of(given.type, {})
        shape = [n.evaluate({}) for n in dimensions(given.type)[0]]
        begin = case.firsts[p.value] + case.number(p.first)
        found = as_cells(case.rooms[p.value], p)[begin : begin + cells].reshape(shape)
        arguments.append(found.astype(DTYPES[scalar.name]))
    return arguments


def _given(lifted: Lifted, program: Program, case: Case) -> dict[str, Any]:
    """The arguments of a program as the interpreter has them, by its parameters."""
    arguments = _arguments(lifted, program, case)
    return {
        p.name: from_numpy(x, p.type) for p, x in zip(program.parameters, arguments, strict=True)
    }


def _apart(lifted: Lifted, case: Case) -> Any:
    """How far the result may be from what another order of the operations gives; raises `NotRun`."""
    program = lifted.program.with_sizes({n: Size.of(v) for n, v in case.sizes.items()})
    given = {n: rounded_inputs(x) for n, x in _given(lifted, program, case).items()}
    try:
        found = evaluate(program.body, World(inputs=given, domain=Bounded()))
    except Ambiguous:
        raise NotRun("rounding decides a comparison") from None
    apart = bounds(found)
    if not np.isfinite(apart).all():
        raise NotRun("another order of the operations may overflow")
    return apart


def _compared(
    relations: Relations, lifted: Lifted, compiled: Compiled, case: Case, expected: Any,
    others: Sequence[Beside], *, returned: bool,
) -> str | None:  # fmt: skip
    """The first difference between what the C does and what is expected; raises `NotRun`."""
    before = {b: room.copy() for b, room in case.rooms.items()}
    got = called(relations.function, relations.module, compiled, case)
    if returned:
        near = _same(got, expected) or _near(
            got, expected, _apart(lifted, replace(case, rooms=before))
        )
        return None if near else f"{got} where the program gives {expected}"
    target = lifted.target
    spelled = relations.evolution.spelled(target.value)
    cells = before[target.value].copy()
    origin = case.firsts[target.value] + case.number(target.first)
    strides = list(map(case.number, target.strides))
    expected = np.asarray(expected).astype(cells.dtype)
    allowed = np.zeros(cells.shape)
    places = [
        (place, origin + sum(i * s for i, s in zip(place, strides, strict=True)))
        for place in np.ndindex(expected.shape)
    ]
    for place, at in places:
        cells[at] = expected[place]
    for base, at in left_beside(case, others, Random(0)):
        if base == target.value:
            cells[at] = case.rooms[base][at]
        before[base][at] = case.rooms[base][at]
    for base, room in case.rooms.items():
        if base != target.value and not _same(room, before[base]):
            return f"{relations.evolution.spelled(base)} is changed"
    there = case.rooms[target.value]
    if _same(there, cells):
        return None
    apart = _apart(lifted, replace(case, rooms=before))
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


def _said(case: Case, relations: Relations, places: Places) -> str:
    given = relations.function.arguments.keys() | places.keys()
    shown = [f"{relations.evolution.spelled(n)}={v}" for n, v in case.values.items() if n in given]
    return ", ".join(shown) or "the globals that were drawn"
