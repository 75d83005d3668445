"""What depends on a value that a loop computes."""

from __future__ import annotations

from collections.abc import Iterator

from relift.compiler.idioms.facts.control import Control, Loop
from relift.compiler.idioms.facts.evolution import harmless
from relift.compiler.idioms.facts.llvm.ir import Function, Instruction


def goes_only(value: str, store: str, function: Function, control: Control, loop: Loop) -> bool:
    """Whether what is computed from a value in a loop is stored by one store and kept nowhere else."""
    met, stack = set[str](), [value]
    while stack:
        for user in function.users.get(stack.pop(), ()):
            name = str(user)
            if user.block not in loop.blocks:
                return False
            if user.opcode == "store" and name != store:
                return False
            if user.opcode == "load" or (user.opcode == "call" and not harmless(user)):
                return False
            if user.opcode == "phi" and user.block in control.loops:
                return False
            if user.name and name not in met:
                met.add(name)
                stack.append(name)
    return True


def goes_nowhere(value: str, function: Function, control: Control, loop: Loop) -> bool:
    """Whether nothing but its own next value depends on a value that a loop carries.

    A branch that it decides may choose between values, which go nowhere either.
    """
    met, stack = set[str](), [value]
    while stack:
        for user in function.users.get(stack.pop(), ()):
            decided = [user] if user.opcode != "br" else list(_decided(user, function, control))
            for i in decided:
                if i.block not in loop.blocks or i.opcode == "load" or _acts(i):
                    return False
                if i.name not in met:
                    met.add(i.name)
                    stack.append(i.name)
    return True


def _acts(i: Instruction) -> bool:
    """Whether an instruction does more than to compute its result."""
    return not i.name or (i.opcode == "call" and not harmless(i))


def _decided(branch: Instruction, function: Function, control: Control) -> Iterator[Instruction]:
    """What a branch decides: the values that are chosen where its ways meet, and what is done on them; itself, where they do not."""
    meeting = control.post_dominator.get(branch.block)
    on_the_way = set[str]()
    for at in branch.labels:
        while at != meeting:
            after = control.post_dominator.get(at)
            if after is None or len(function.successors[at]) != 1:
                yield branch
                return
            on_the_way.add(at)
            at = after
    for block in on_the_way:
        ending = function.blocks[block][-1]
        yield from (
            i for i in function.blocks[block] if i.opcode == "phi" or (_acts(i) and i is not ending)
        )
    yield from (i for i in function.blocks[meeting or branch.block] if i.opcode == "phi")
