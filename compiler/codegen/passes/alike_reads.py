"""Wide vectors of floats in a memory that is read at any address are read alike, aligned or not.

What is read through a pointer to vectors has its type, and is known to be aligned.  Where vectors that overlap are
read otherwise, compilers take their lanes out of it one by one: PoCL's takes 1.5 times as long for a stencil of rows.
"""

from __future__ import annotations

from relift.compiler.text import tree
from relift.compiler.text.c_types import vector_function

WIDEST_ACCESS = 4
"""Lanes of the widest access of a GPU, which is one only where vectors are aligned."""


def alike_reads(body: tree.Block) -> tree.Block:
    """The body, where a memory of which some wide vectors are not aligned is read by `vload` only.

    >>> from relift.compiler.codegen.passes.alike_reads import alike_reads
    >>> from relift.compiler.dialects.printing import Printer
    >>> from relift.compiler.text.reader import read_kernels
    >>> text = "float8 a = *(global const float8*)(x + 8) + vload8(0, x + 7);"
    >>> [kernel] = read_kernels(f"kernel void f(global const float* x) {{ {text} }}")
    >>> list(Printer().statements(alike_reads(kernel.body), 0))
    ['float8 a = vload8(0, x + 8) + vload8(0, x + 7);']
    """
    found = {
        memory
        for s in tree.statements_within(body)
        for e in tree.expressions_of(s)
        for part in tree.within(e)
        if isinstance(part, tree.Invocation) and vector_function(part.function, "vload")
        if (memory := _memory(part.arguments[1])) is not None
    }
    return _read_alike(body, found) if found else body


def _read_alike(body: tree.Block, memories: set[str]) -> tree.Block:
    def expression(e: tree.Expression) -> tree.Expression:
        if isinstance(e, tree.Prefix) and e.operator == "*" and isinstance(e.operand, tree.Cast):
            t, (pointer, *_) = e.operand.type, e.operand.arguments
            wide = t.pointer and t.constant and t.scalar == "float" and t.width > WIDEST_ACCESS
            if wide and _memory(pointer) in memories:
                return tree.call(f"vload{t.width}", tree.Whole(0), tree.bare(pointer))
        return tree.mapped_expression(e, expression)

    return tree.mapped_block(body, expression)


def _memory(pointer: tree.Expression) -> str | None:
    """The name of the memory in which a moved pointer points."""
    while isinstance(pointer, tree.Binary):
        pointer = pointer.left
    return pointer.name if isinstance(pointer, tree.Name) else None
