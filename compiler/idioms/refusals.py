"""Functions that are left as they are, each by the name of what is in them."""

from __future__ import annotations

from relift.compiler.idioms.facts.control import Control
from relift.compiler.idioms.facts.evolution import library_name
from relift.compiler.idioms.facts.ir import Function, Instruction, Module


def refusal(function: Function, module: Module) -> str | None:
    """Why nothing is looked for in a function; None where something is."""
    if function.variadic:
        return "it takes a variable number of arguments"
    for i in function.instructions():
        reason = _reason(i)
        if reason is not None:
            return f"{reason} (line {i.line})" if i.line else reason
    if _calls_itself(function, module):
        return "it calls itself"
    if _is_irreducible(function):
        return "a jump leads into the middle of a loop"
    return None


def _reason(i: Instruction) -> str | None:
    if "volatile" in i.flags:
        return "a volatile access"
    if "atomic" in i.flags or i.opcode in ("atomicrmw", "cmpxchg", "fence"):
        return "an atomic access"
    if i.opcode == "callbr" or (i.opcode == "call" and i.about == "asm"):
        return "inline assembly"
    if i.opcode == "call" and library_name(i.about) in (
        "setjmp",
        "_setjmp",
        "longjmp",
        "__sigsetjmp",
    ):
        return f"a call of {library_name(i.about)}"
    if i.opcode in ("indirectbr", "invoke"):
        return "a computed jump"
    return None


def _calls_itself(function: Function, module: Module) -> bool:
    """Whether a function comes back to itself through functions of the file."""
    met: set[str] = set()
    stack = [function.name]
    while stack:
        at = module.functions.get(stack.pop())
        for i in at.instructions() if at is not None else ():
            called = i.about.lstrip("@") if i.opcode == "call" else ""
            if called == function.name:
                return True
            if called and called not in met:
                met.add(called)
                stack.append(called)
    return False


def _is_irreducible(function: Function) -> bool:
    """Whether an edge goes back to a block that does not dominate where it comes from."""
    control = Control(function)
    state: dict[str, int] = {}
    stack: list[tuple[str, int]] = [(control.entry, 0)]
    while stack:
        block, number = stack.pop()
        state[block] = 1
        after = function.successors[block]
        if number == len(after):
            state[block] = 2
            continue
        stack.append((block, number + 1))
        to = after[number]
        if state.get(to) == 1 and not control.dominates(to, block):
            return True
        if to not in state:
            stack.append((to, 0))
    return False
