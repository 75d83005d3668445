"""A loop whose turns fill local memory fetches what the next turn reads while it computes.

    for i: fill; wait; use; wait     becomes     for i: fetch; if (i > 0) use the one before; store; wait

What is fetched waits in registers, and is stored where the turn before did not: each array has two halves, which take
turns.  So the memory answers while a work-item computes, and a turn has one barrier.  The last turn fetches in vain.
Source: Tan et al., SC'11.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from relift.compiler.codegen.values.scalars import memory_type
from relift.compiler.lowering.threads import number
from relift.compiler.text.tree import (
    Assignment,
    Barrier,
    Binary,
    Cast,
    CType,
    Declaration,
    Element,
    Expression,
    Guard,
    Invocation,
    Loop,
    Name,
    Prefix,
    Statement,
    Whole,
    mapped_expression,
    mapped_statement,
    mentioned,
    root_of,
    statements_within,
    within,
)
from relift.semantics.errors import Unsupported
from relift.semantics.indices.views import Memory
from relift.semantics.syntax.memory import Space


@dataclass(frozen=True)
class _Turn:
    """A turn as it is written: what it fetches, stores in local memory, and computes of that."""

    fetched: tuple[Declaration, ...]
    stored: tuple[Assignment, ...]
    used: tuple[Statement, ...]


def fetched_ahead(
    loop: Loop, arrays: Sequence[Memory], fresh: Callable[[str], str]
) -> tuple[Loop, list[Memory]]:
    """The loop and the local arrays of a kernel, those twice as long that a turn fills.

    Raises `Unsupported` where a turn is not one that fills local memory, waits, and uses it.

    >>> from relift import f32
    >>> from relift.compiler.codegen.passes.fetched_ahead import fetched_ahead
    >>> from relift.compiler.dialects.printing import Printer
    >>> from relift.compiler.text.reader import read_kernels
    >>> from relift.semantics.indices.views import Memory
    >>> from relift.semantics.syntax.memory import Space
    >>> from relift.semantics.syntax.sizes import Size
    >>> wait = "barrier(CLK_LOCAL_MEM_FENCE);"
    >>> turn = f"t[l] = x[4*i + l]; {wait} acc = acc + t[3 - l]; {wait}"
    >>> [k] = read_kernels(f"kernel void f() {{ for (int i = 0; i < 8; ++i) {{ {turn} }} }}")
    >>> loop, [t] = fetched_ahead(k.body[0], [Memory("t", f32, Size.of(4), Space.LOCAL)], lambda hint: hint)
    >>> print("\\n".join(Printer().statements([loop], 0)), t.cells)
    for (int i = 0; i < 9; ++i) {
      const int next = i % 8;
      const float fetched = x[4*next + l];
      if (i > 0) {
        acc = acc + t[4*((i + 1) % 2) + (3 - l)];
      }
      t[4*(i % 2) + l] = fetched;
      barrier(CLK_LOCAL_MEM_FENCE);
    } 8
    """
    halves = {m.name: number(m.cells) for m in arrays if m.name in _changed(loop.body)}
    turn = _parted(loop, {m.name: m for m in arrays}, fresh)
    following, before = fresh("next"), fresh("before")
    counter, one = Name(loop.counter), Whole(1)
    integer = replace(loop.type, constant=True)
    ahead = {loop.counter: Name(following)}
    fetched = _replaced(turn.fetched, ahead, {})
    now, other = (_half(e) for e in (counter, Binary("+", counter, one, parentheses=1)))
    used = _replaced(turn.used, {loop.counter: Name(before)}, _each(halves, other))
    if before in mentioned(used):
        past = Declaration(integer, before, None, Binary("-", counter, one))
        used = (past, *used)
    stored = _replaced(turn.stored, ahead, _each(halves, now))
    body = (
        Declaration(integer, following, None, Binary("%", counter, _in_parentheses(loop.end))),
        *fetched,
        Guard(Binary(">", counter, Whole(0)), used),
        *stored,
        loop.body[-1],
    )
    longer = [replace(m, cells=m.cells * 2) if m.name in halves else m for m in arrays]
    return replace(loop, end=_one_more(loop.end), body=body), longer


# ---- the parts of a turn


def _parted(loop: Loop, arrays: Mapping[str, Memory], fresh: Callable[[str], str]) -> _Turn:
    """The parts of a turn."""
    body, waits = loop.body, [i for i, s in enumerate(loop.body) if isinstance(s, Barrier)]
    if len(waits) != 2 or waits[1] != len(body) - 1 or _nested_wait(body):
        raise _refused("does not fill local memory once, wait, use it, and wait")
    if loop.start != Whole(0) or loop.step != Whole(1):
        raise _refused("does not count from 0 by 1")
    fetched: list[Declaration] = []
    stored: list[Assignment] = []
    kept: list[Statement] = []
    needed = _needed(body[: waits[0]], arrays)
    for s in body[: waits[0]]:
        if isinstance(s, Declaration) and s.name not in needed:
            kept.append(s)
        elif isinstance(s, Declaration) and s.extent is None and not s.type.pointer:
            fetched.append(s)
        elif isinstance(s, Assignment) and s.operator == "=" and _array(s.target) in arrays:
            value = s.value
            if any(isinstance(e, Element | Prefix | Invocation) for e in within(value)):
                name = fresh("fetched")
                t = replace(_type(s.target, arrays), constant=True)
                fetched.append(Declaration(t, name, None, value))
                value = Name(name)
            stored.append(Assignment(s.target, "=", value))
        else:
            raise _refused("fills local memory in a loop, or under a condition")
    used = (*kept, *body[waits[0] + 1 : -1])
    filled, names = _changed(body[: waits[0]]), {d.name for d in fetched}
    changed = _changed(body) | {s.name for s in kept if isinstance(s, Declaration)}
    if names & mentioned(used) or filled & _changed(used):
        raise _refused("uses otherwise what it fills local memory with")
    if (changed - filled) & mentioned(fetched) or filled & mentioned(fetched):
        raise _refused("fills local memory with what it computes")
    return _Turn(tuple(fetched), tuple(stored), used)


def _needed(body: Sequence[Statement], arrays: Mapping[str, Memory]) -> set[str]:
    """The names that statements mention, or what these are computed from, to fill local memory."""
    found: set[str] = set()
    for s in reversed(body):
        fills = isinstance(s, Assignment) and _array(s.target) in arrays
        if fills or (isinstance(s, Declaration) and s.name in found):
            found |= mentioned([s])
    return found


def _refused(why: str) -> Unsupported:
    return Unsupported(
        f"reduce_seq_ahead fetches what its next step reads from local memory, but a step {why}; use reduce_seq"
    )


def _nested_wait(body: Sequence[Statement]) -> bool:
    return any(
        isinstance(s, Barrier) for t in body if isinstance(t, Guard | Loop)
        for s in statements_within(t.body)
    )  # fmt: skip


def _changed(body: Sequence[Statement]) -> set[str]:
    """The names of all that statements assign to: variables, and arrays in which they store."""
    assigned = (s for s in statements_within(body) if isinstance(s, Assignment))
    return {name for s in assigned for name in root_of(s.target)}


def _array(target: Expression) -> str | None:
    """The array of an element, or of a vector behind a pointer."""
    if isinstance(target, Element):
        return target.array.name if isinstance(target.array, Name) else None
    if isinstance(target, Prefix) and target.operator == "*" and isinstance(target.operand, Cast):
        [pointer] = target.operand.arguments
        return _base(pointer)
    return None


def _base(pointer: Expression) -> str | None:
    """The array in which a pointer points."""
    while isinstance(pointer, Binary) and pointer.operator in ("+", "-"):
        pointer = pointer.left
    return pointer.name if isinstance(pointer, Name) else None


def _type(target: Expression, arrays: Mapping[str, Memory]) -> CType:
    """The type of what is stored."""
    if isinstance(target, Prefix) and isinstance(target.operand, Cast):
        return replace(target.operand.type, pointer=False, space=Space.PRIVATE)
    array = _array(target)
    assert array is not None, "cannot happen: it is stored in an array"
    return memory_type(arrays[array].scalar)


# ---- halves of arrays


def _half(counter: Expression) -> Expression:
    """Which half of an array a turn uses."""
    return Binary("%", counter, Whole(2), parentheses=1)


def _each(halves: Mapping[str, int], which: Expression) -> dict[str, Expression]:
    return {name: Binary("*", Whole(cells), which) for name, cells in halves.items()}


def _one_more(e: Expression) -> Expression:
    return Whole(e.value + 1) if isinstance(e, Whole) else Binary("+", e, Whole(1))


def _in_parentheses(e: Expression) -> Expression:
    return replace(e, parentheses=1) if isinstance(e, Binary) and not e.parentheses else e


def _replaced(
    body: Sequence[Statement], names: Mapping[str, Expression], halves: Mapping[str, Expression]
) -> tuple[Statement, ...]:
    """Statements with other expressions for some names, and with the accesses of some arrays in a half of each."""

    def new(e: Expression) -> Expression:
        if isinstance(e, Name) and e.name in names:
            return names[e.name]
        if isinstance(e, Element) and isinstance(e.array, Name) and e.array.name in halves:
            half = halves[e.array.name]
            return Element(e.array, Binary("+", half, _operand(new(e.index))))
        if isinstance(e, Name) and e.name in halves:
            return Binary("+", e, halves[e.name])
        return mapped_expression(e, new)

    def inside(block: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return tuple(mapped_statement(s, new, inside) for s in block)

    return inside(tuple(body))


def _operand(index: Expression) -> Expression:
    """An index as a summand on the right."""
    minus = isinstance(index, Binary) and index.operator in ("+", "-")
    return _in_parentheses(index) if minus else index
