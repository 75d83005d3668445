"""Private arrays that are registers: where every index is a constant, each element has a name of its own.

Drivers differ in whether they keep an array in registers; a scalar or a vector with a name they all do.  An array with
one index that is known at run time only stays an array.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from relift.compiler.text import tree


def named_registers(body: tree.Block, fresh: Callable[[str], str]) -> tree.Block:
    """The body of a kernel where private arrays with constant indices are variables.

    `fresh` makes a name that nothing in the kernel has.  A variable is declared where it is first written, if that is
    in the block of the array.

    >>> from relift.compiler.codegen.passes.registers import named_registers
    >>> from relift.compiler.dialects.printing import Printer
    >>> from relift.compiler.text.reader import read_kernels
    >>> text = "float4 own[2]; own[0] = x; for (int i = 0; i < 9; ++i) { own[1] = own[0] + own[0]; } y[i] = 1;"
    >>> [kernel] = read_kernels(f"kernel void f() {{ {text} }}")
    >>> print(*Printer().statements(named_registers(kernel.body, lambda hint: hint), 0), sep="\\n")
    float4 own1;
    float4 own0 = x;
    for (int i = 0; i < 9; ++i) {
      own1 = own0 + own0;
    }
    y[i] = 1;
    """
    found: list[tree.Statement] = []
    rest = body
    while rest:
        s, rest = rest[0], rest[1:]
        match s:
            case tree.Declaration(extent=tree.Whole(extent)) if s.type.space.of_item:
                used = _constants(rest, s.name)
                if used is None or max(used, default=0) >= extent:
                    found.append(s)
                    continue
                between = "_" if s.name[-1].isdigit() else ""
                names = {k: fresh(f"{s.name}{between}{k}") for k in sorted(used)}
                late, rest = _declared_at_first_write(_named(rest, s.name, names), s, names)
                found += [
                    tree.Declaration(s.type, name, None, None, joined=i > 0)
                    for i, name in enumerate(late)
                ]
            case tree.Loop() | tree.Guard():
                found.append(replace(s, body=named_registers(s.body, fresh)))
            case tree.Declaration() | tree.Assignment() | tree.Evaluation() | tree.Barrier():
                found.append(s)
    return tuple(found)


def _constants(body: tree.Block, array: str) -> set[int] | None:
    """The constant indices of an array; None where it also occurs in another way."""
    found: set[int] = set()
    mentions = elements = 0
    for s in tree.statements_within(body):
        for e in tree.expressions_of(s):
            for part in tree.within(e):
                if isinstance(part, tree.Name):
                    mentions += part.name == array
                elif (k := _constant_of(part, array)) is not None:
                    elements += 1
                    found.add(k)
    return found if mentions == elements else None


def _constant_of(e: tree.Expression, array: str) -> int | None:
    """The constant index of an element of an array; None for all else."""
    if not isinstance(e, tree.Element) or not isinstance(e.index, tree.Whole):
        return None
    return e.index.value if isinstance(e.array, tree.Name) and e.array.name == array else None


def _named(body: tree.Block, array: str, names: Mapping[int, str]) -> tree.Block:
    """Statements with names for the elements of an array."""

    def element(e: tree.Expression) -> tree.Expression:
        if (k := _constant_of(e, array)) is not None:
            return tree.Name(names[k], parentheses=e.parentheses)
        return tree.mapped_expression(e, element)

    return tree.mapped_block(body, element)


def _declared_at_first_write(
    body: tree.Block, array: tree.Declaration, names: Mapping[int, str]
) -> tuple[list[str], tree.Block]:
    """Make the first mention of a name its declaration, in place; and the names for which it cannot be."""
    found: list[tree.Statement] = []
    waiting, late = set(names.values()), set[str]()
    for s in body:
        new = waiting & tree.mentioned((s,)) if waiting else set[str]()
        waiting -= new
        if (value := _first_value(s, new)) is not None:
            target, first = value
            new.remove(target)
            s = tree.Declaration(array.type, target, None, first)
        late |= new
        found.append(s)
    return [name for name in names.values() if name in late], tuple(found)


def _first_value(s: tree.Statement, new: Collection[str]) -> tuple[str, tree.Expression] | None:
    """The one of some new names that a statement assigns, and the value, where it mentions the name no more."""
    if (
        not isinstance(s, tree.Assignment)
        or s.operator != "="
        or not isinstance(s.target, tree.Name)
    ):
        return None
    name = s.target.name
    return (name, s.value) if name in new and name not in tree.variables(s.value) else None
