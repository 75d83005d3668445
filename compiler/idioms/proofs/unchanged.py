"""What a nest of loops finds as it was before: cells that it writes later, and numbers that it computes from nothing that changes."""

from __future__ import annotations

from relift.compiler.idioms.facts.control import Loop
from relift.compiler.idioms.facts.llvm.ir import Instruction
from relift.compiler.idioms.facts.relations import Relations
from relift.compiler.idioms.facts.values.expressions import SCALARS
from relift.compiler.idioms.lifting.effects import comes_first

_DIVIDES = frozenset(["sdiv", "srem", "udiv", "urem", "ashr", "lshr"])


def is_as_before(relations: Relations, root: Loop, load: Instruction) -> bool:
    """Whether a cell that the nest writes, too, is read before that: in the iteration that does, or in an earlier one."""
    known, known_apart = relations.evolution.accesses, relations.evolution.apart
    read = known.get(load.position)
    inside = (i for block in root.blocks for i in relations.function.blocks[block])
    stores = [known.get(i.position) for i in inside if i.opcode == "store"]
    return read is not None and all(
        s is not None
        and (
            s.base != read.base
            or known_apart(read, s)
            or comes_first(relations, root, read, s, together=False)
            or relations.evolution.reads_ahead(read, s, root)
        )
        for s in stores
    )


def is_one_number(relations: Relations, root: Loop, i: Instruction) -> bool:
    """Whether it is a quotient or a rest of what the nest does not change: one number, of which nothing else is known."""
    divides = i.opcode in _DIVIDES and i.type in SCALARS
    return divides and relations.evolution.stays(i.name, root)
