"""Functions and loops that are left as they are, each by the name of what is in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from relift.compiler.idioms.facts.accesses import Access
from relift.compiler.idioms.facts.control import Control, Loop
from relift.compiler.idioms.facts.evolution import harmless, library_name
from relift.compiler.idioms.facts.llvm.ir import Function, Instruction, Module
from relift.compiler.idioms.facts.names import Counter, bare
from relift.compiler.idioms.facts.relations import Relations
from relift.compiler.idioms.facts.values.expressions import SCALARS, line_of
from relift.compiler.idioms.finding import Found

_REFUSED = {
    **dict.fromkeys(("atomicrmw", "cmpxchg", "fence"), "an atomic access"),
    "callbr": "inline assembly",
    **dict.fromkeys(("indirectbr", "invoke"), "a computed jump"),
}
_JUMPS = frozenset(["setjmp", "_setjmp", "longjmp", "__sigsetjmp"])


def refusal(function: Function, module: Module, control: Control | None = None) -> str | None:
    """Why nothing is looked for in a function; None where something is."""
    if function.variadic:
        return "it takes a variable number of arguments"
    for i in function.instructions():
        reason = _reason(i)
        if reason is not None:
            return f"{reason} (line {i.line})" if i.line else reason
    if _calls_itself(function, module):
        return "it calls itself"
    if _is_irreducible(control or Control(function)):
        return "a jump leads into the middle of a loop"
    return None


def passed_over(relations: Relations, found: Sequence[Found]) -> Iterator[str]:
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
        yield f"the loop at line {line} is no idiom: {_in_the_way(relations, loop)}"


def _in_the_way(relations: Relations, loop: Loop) -> str:
    blocks = relations.function.blocks
    inside = [i for label in blocks if label in loop.blocks for i in blocks[label]]
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
        return _carried(relations, loop)
    return _stored(relations, loop, stores[0])


def _carried(relations: Relations, loop: Loop) -> str:
    """Which value a loop carries that is no reduction."""
    for phi, _, update, begin in relations.carried():
        inside = relations.instructions[begin].block in loop.blocks
        if inside and not any((u, a) == (update, phi) for u, a, _ in relations.folds):
            i = relations.instructions.get(update) or relations.instructions[phi]
            return (
                f"what {relations.evolution.spelled(phi)} becomes (line {i.line}) depends on the order of the iterations: it is "
                "no sum, product, minimum, maximum or place of one"
            )
    return "what it carries from one iteration to the next depends on their order"


def _stored(relations: Relations, loop: Loop, store: Access | None) -> str:
    """Why a store is part of no idiom."""
    assert store is not None, "cannot happen: an address that is not understood is said before"
    array, line = relations.evolution.spelled(store.base), store.instruction.line
    fixed = [n for n in store.index.names() if not isinstance(n, Counter)]
    if not all(relations.evolution.stays(n, loop) for n in fixed):
        return (
            f"which cells of {array} it stores to is read or computed (line {line}), and two iterations may choose one: only "
            "updates that may come in any order, such as +=, are an idiom there"
        )
    if any(relations.evolution.stride(store, x) == 0 for x in _around(relations, store, loop)):
        return (
            f"it stores to the same cell of {array} again and again (line {line}), and what stays there depends on the order "
            "of the iterations"
        )
    if phi := _goes_on(relations, loop, store):
        bits = _cut_each_time(relations, phi)
        becomes = (
            f"it is cut to {bits} bits each time"
            if bits
            else "it is no sum, product, minimum or maximum"
        )
        return (
            f"what it stores to {array} (line {line}) is made from {relations.evolution.spelled(phi)}, which each iteration makes from "
            f"the one before: {becomes}"
        )
    return f"what it stores to {array} (line {line}) is not computed from what the loop reads alone"


def _around(relations: Relations, store: Access, loop: Loop) -> Iterator[Loop]:
    """The loops of a nest that a store is in."""
    around = relations.control.around(store.instruction.block)
    return (inner for inner in around if inner.header in loop.blocks)


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
    if "atomic" in i.flags:
        return "an atomic access"
    if i.opcode != "call":
        return _REFUSED.get(i.opcode)
    name = library_name(i.about)
    return (
        "inline assembly" if i.about == "asm" else f"a call of {name}" if name in _JUMPS else None
    )


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


def _is_irreducible(control: Control) -> bool:
    """Whether an edge goes back to a block that does not dominate where it comes from."""
    state: dict[str, int] = {}
    stack: list[tuple[str, int]] = [(control.entry, 0)]
    while stack:
        block, number = stack.pop()
        state[block] = 1
        after = control.function.successors[block]
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


def _goes_on(relations: Relations, loop: Loop, store: Access) -> str | None:
    """A value that goes into a store and that a loop carries, which is no reduction."""
    combined = {a for _, a, _ in relations.folds}
    carried = {phi for phi, _, _, _ in relations.carried()}
    met, stack = set[str](), [store.instruction.operands[0]]
    while stack:
        at = stack.pop()
        i = relations.instructions.get(at)
        if at in met or i is None or i.block not in loop.blocks:
            continue
        if at in carried - combined:
            return at
        met.add(at)
        stack += i.operands if i.opcode != "load" else ()
    return None


def _cut_each_time(relations: Relations, phi: str) -> int:
    """To how many bits, with a sign, a carried number is cut where an iteration goes on with it; 0 where it is not."""
    users = relations.function.users.get(phi, ())
    return max((32 - int(i.operands[1]) for i in users if _is_shifted(i)), default=0)


def _is_shifted(i: Instruction) -> bool:
    return i.opcode == "shl" and i.type == "i32" and i.operands[1] in ("16", "24")
