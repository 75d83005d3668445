"""Functions and loops that are left as they are, each by the name of what is in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from relift.compiler.idioms.facts.accesses import Access
from relift.compiler.idioms.facts.control import Control, Loop
from relift.compiler.idioms.facts.evolution import harmless, library_name
from relift.compiler.idioms.facts.llvm.ir import Function, Instruction, Module
from relift.compiler.idioms.facts.names import bare
from relift.compiler.idioms.facts.relations import Relations
from relift.compiler.idioms.facts.values.expressions import SCALARS, line_of
from relift.compiler.idioms.finding import Found


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


def passed_over(relations: Relations, found: Sequence[Found]) -> Iterator[tuple[str, str]]:
    """The loops that are counted and in which nothing is found, the outermost of a nest, each with what is in the way."""
    said: set[str] = set()
    for loop in relations.control.loops.values():  # the outer ones first
        if relations.evolution.trips(loop) is None or loop.header in said:
            continue
        if any(f.loop.blocks & loop.blocks for f in found):
            continue
        inner = [x for x in relations.control.loops.values() if x.header in loop.blocks]
        if any(relations.evolution.trips(x) is None for x in inner):
            continue  # that one is named
        said |= {x.header for x in inner}
        line = line_of(relations.evolution, loop)
        yield (
            relations.function.name,
            f"the loop at line {line} is no idiom: {_in_the_way(relations, loop)}",
        )


def _in_the_way(relations: Relations, loop: Loop) -> str:
    inside = [i for label in loop.blocks for i in relations.function.blocks[label]]
    for i in inside:
        if i.opcode == "call" and not harmless(i):
            return f"it calls {bare(i.about)} (line {i.line})"
        kind = _cells(relations, i)
        if kind and kind not in (*SCALARS, "ptr"):
            return f"its cells are of type {kind}, which programs do not have (line {i.line})"
    known = {a.instruction.position: a for a in relations.accesses.values()}
    stores = [known.get(i.position) for i in inside if i.opcode == "store"]
    for i in inside:
        if i.opcode == "store" and known.get(i.position) is None:
            return f"it stores to an address that is not understood (line {i.line})"
    reads = [known[i.position] for i in inside if i.opcode == "load" and i.position in known]
    for store in stores:
        other = _other_cell(store, reads)
        if store is not None and other is not None:
            array = relations.evolution.spelled(store.base)
            return f"it reads cells of {array} that other iterations write (line {other.instruction.line})"
    if not stores:
        return "what it carries from one iteration to the next depends on their order"
    return "no constraint of the library explains what it stores"


def _cells(relations: Relations, i: Instruction) -> str | None:
    """The type, as LLVM says it, of what an instruction reads or writes of memory; empty for a constant."""
    if i.opcode == "load":
        return i.type
    return relations.function.type_of(i.operands[0]) if i.opcode == "store" else None


def _other_cell(store: Access | None, reads: Sequence[Access]) -> Access | None:
    """A read of the array of a store, at another cell than that of the same iteration."""
    if store is None:
        return None
    return next((r for r in reads if r.base == store.base and r.index != store.index), None)


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
            called = bare(i.about) if i.opcode == "call" else ""
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
