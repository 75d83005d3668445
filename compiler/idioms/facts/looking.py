"""One value for a field that a loop looks up in several places: nothing that the loop writes is taken to lie there.

That is a condition of what is found (`looked_up` of `lifting/effects.py` says it); without it each look is an array, or a length, of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from relift.compiler.idioms.facts.control import Control, Loop
from relift.compiler.idioms.facts.evolution import Evolution
from relift.compiler.idioms.facts.llvm.ir import Function, Instruction, Module
from relift.compiler.idioms.facts.names import is_constant, is_global
from relift.compiler.idioms.facts.sharing import renamed, shared


def looked_up_once(function: Function, module: Module, control: Control) -> Function:
    """A function whose loops look up each field in one place, where an iteration comes to that first."""
    while again := _again(function, module, control):
        same = {later: first.name for later, first in again.items()}

        def kept(value: str, same: dict[str, str] = same) -> str:
            return same.get(value, value)

        blocks = {
            label: tuple(i._replace(operands=tuple(map(kept, i.operands))) for i in block if i.name not in same)
            for label, block in function.blocks.items()
        }  # fmt: skip
        known = {later: (kept(first), block) for later, (first, block) in function.again.items()}
        known |= {later: (first, function.values[later].block) for later, first in same.items()}
        function = shared(replace(renamed(function, blocks, kept), again=known))
        control = Control(function)
    return function


def _again(function: Function, module: Module, control: Control) -> dict[str, Instruction]:
    """The loads that look up what another one has looked up already, and that one."""
    several = list(_several(function, control))
    if not several:
        return {}
    evolution = Evolution(function, control, module)
    found: dict[str, Instruction] = {}
    for root, loads in several:
        still = [i for i in loads if evolution.stays(i.name, root)]
        for later in still:
            first = next(
                (i for i in still if i.name not in found and _comes_first(i, later, control)), None
            )
            if first is not None:
                found[later.name] = first
    return found


def _comes_first(one: Instruction, other: Instruction, control: Control) -> bool:
    return one is not other and control.instruction_dominates(one, other)


def _several(function: Function, control: Control) -> Iterator[tuple[Loop, list[Instruction]]]:
    """The loads of one field that are in one outermost loop, where there are several, each after those that dominate it."""
    found: dict[tuple[str, str, str], list[Instruction]] = {}
    for block in control.order:
        around = control.around(block)
        for i in function.blocks[block] if around else ():
            if i.opcode == "load" and not i.flags - {"truth"}:
                found.setdefault((around[0].header, i.type, i.operands[0]), []).append(i)
    for (header, _, pointer), loads in found.items():
        if len(loads) > 1 and _is_fixed(function, pointer):
            yield control.loops[header], loads


def _is_fixed(function: Function, pointer: str) -> bool:
    """Whether an address is so far behind an argument, a global, or a pointer that is a field."""
    i = function.values.get(pointer)
    if i is None:
        return pointer in function.arguments or is_global(pointer)
    if i.opcode == "getelementptr":
        return all(map(is_constant, i.operands[1:])) and _is_fixed(function, i.operands[0])
    return i.opcode in ("load", "alloca") and (
        i.opcode == "alloca" or _is_fixed(function, i.operands[0])
    )
