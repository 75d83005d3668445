"""Where a loop of wide vectors walks along several rows of a memory, each found for itself, it has a pointer to each.

Rows that lie evenly apart share an index: `x[at + 1000]`.  Those that a border holds back do not: `x[at_2 + i]`, where `at_2` was
computed before the loop.  PoCL's compiler adds such whole numbers in vectors, each of which it then takes apart, on the
units that multiply floats: a product of 500 x 9000 by 9000 x 700 takes 1.4 times as long.  A pointer and a counter make
an address as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from relift.compiler.certificates.names import is_whole
from relift.compiler.codegen.passes.alike_reads import WIDEST_ACCESS
from relift.compiler.codegen.passes.shared_indices import Summand, Summands, summands, total_of
from relift.compiler.text import tree
from relift.compiler.text.c_types import vector_function


def row_pointers(
    body: tree.Block, arguments: Sequence[tree.Argument], fresh: Callable[[str], str]
) -> tree.Block:
    """The body, where constants that a loop adds to its indices of one memory are pointers into it, if there are several.

    `fresh` makes a name that nothing in the kernel has.

    >>> from relift.compiler.codegen.passes.row_pointers import row_pointers
    >>> from relift.compiler.dialects.printing import Printer
    >>> from relift.compiler.text.reader import read_kernels
    >>> starts = "const int at = 9*min(g, 7); const int at_2 = 9*min(g + 1, 7);"
    >>> loop = "for (int i = 0; i < 9; i += 1) { own = own + x[at + i] * x[at_2 + i] * vload8(0, y + 8*i); }"
    >>> [kernel] = read_kernels(f"kernel void f(global const float* x, global const float* y, int g) {{ {starts} {loop} }}")
    >>> names = iter(("x_at", "x_at_2"))
    >>> body = row_pointers(kernel.body, kernel.parameters, lambda hint: next(names))
    >>> print(*Printer().statements(body, 0), sep="\\n")
    global const float* const x_at = x + 9*min(g, 7);
    global const float* const x_at_2 = x + 9*min(g + 1, 7);
    for (int i = 0; i < 9; ++i) {
      own = own + x_at[i]*x_at_2[i]*vload8(0, y + 8*i);
    }
    """
    memories = {a.name: a.type for a in arguments if a.type.pointer and a.type.scalar != "half"}
    starts = _starts(body, memories)
    named = {d: fresh(f"{array}_at") for d, array in starts.items()}

    def walking(s: tree.Statement) -> tree.Statement:
        if isinstance(s, tree.Loop) and starts:
            s = replace(s, body=tree.mapped_block(s.body, lambda e: _through(e, starts, named)))
        if isinstance(s, tree.Loop | tree.Guard):
            s = replace(s, body=row_pointers(s.body, arguments, fresh))
        return s

    walked = [walking(s) for s in body]
    kept = tree.mentioned(walked)
    done: list[tree.Statement] = []
    for s in walked:
        if not isinstance(s, tree.Declaration) or s.name not in starts or s.value is None:
            done.append(s)
            continue
        array, start = starts[s.name], s.value
        if s.name in kept:
            done.append(s)
            start = tree.Name(s.name)
        moved = total_of([*summands(tree.Name(array)), *summands(start)])
        t = replace(memories[array], fixed=True)
        done.append(tree.Declaration(t, named[s.name], None, moved))
    return tuple(done)


def _starts(body: tree.Block, memories: Collection[str]) -> dict[str, str]:
    """The constants of a block that its loops add to indices, each of one memory that has several such."""
    whole = {s.name for s in body if isinstance(s, tree.Declaration) and _is_constant(s)}
    reached: dict[str, set[str]] = {}
    for loop in body:
        if not isinstance(loop, tree.Loop):
            continue
        each = [e for s in tree.statements_within(loop.body) for e in tree.expressions_of(s)]
        parts = [part for e in each for part in tree.within(e)]
        if not any(map(_is_wide, parts)):
            continue
        places = [found for part in parts if (found := _place(part)) and found[0] in memories]
        for array, index in places:
            for d in whole & {_name(term) for term in index if term.added}:
                reached.setdefault(d, set()).add(array)
    only = {d: next(iter(arrays)) for d, arrays in reached.items() if len(arrays) == 1}
    several = Counter(only.values())
    return {d: only[d] for d in sorted(only) if several[only[d]] > 1}


def _is_constant(d: tree.Declaration) -> bool:
    t = d.type
    return is_whole(t) and t.constant and not t.pointer and d.extent is None and d.value is not None


def _is_wide(e: tree.Expression) -> bool:
    """Whether it is a vector that no GPU has."""
    match e:
        case tree.Invocation(function, _):
            return vector_function(function, "vload") > WIDEST_ACCESS
        case tree.Cast(t, _):
            return t.width > WIDEST_ACCESS
        case (
            tree.Whole() | tree.Real() | tree.Name() | tree.Element() | tree.Member()
            | tree.Prefix() | tree.Binary() | tree.Conditional()
        ):  # fmt: skip
            return False


def _place(e: tree.Expression) -> tuple[str, Summands] | None:
    """The memory and the terms of the index of an element, or of a pointer that is moved."""
    match e:
        case tree.Element(tree.Name(array), index):
            return array, summands(index)
        case tree.Binary("+"):
            pointer, *moved = summands(e)
            return (_name(pointer), moved) if pointer.added else None
        case (
            tree.Whole() | tree.Real() | tree.Name() | tree.Element() | tree.Member() | tree.Prefix()
            | tree.Binary() | tree.Conditional() | tree.Invocation() | tree.Cast()
        ):  # fmt: skip
            return None


def _name(term: Summand) -> str:
    return term.code.name if isinstance(term.code, tree.Name) else ""


def _through(
    e: tree.Expression, starts: Mapping[str, str], named: Mapping[str, str]
) -> tree.Expression:
    """An expression that reaches memories through the pointers that are `named` after what they are moved by."""
    e = tree.mapped_expression(e, lambda part: _through(part, starts, named))
    found = _place(e)
    if found is None:
        return e
    array, index = found
    moving = next((t for t in index if t.added and starts.get(_name(t)) == array), None)
    if moving is None:
        return e
    pointer = tree.Name(named[_name(moving)])
    left = [term for term in index if term is not moving]
    if isinstance(e, tree.Element):
        return replace(e, array=pointer, index=total_of(left) if left else tree.Whole(0))
    return total_of([*summands(pointer), *left])
