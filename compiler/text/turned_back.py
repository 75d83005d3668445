"""A loop that fetches what its next turn uses is read as one whose turns use what they fetch themselves.

    for i to n + 1: fetch(i); if (i > 0) use(i - 1); store(i); wait     is     for i to n: fetch(i); store(i); wait; use(i); wait

A work-item does the same in the same order, but for what the last turn stores, which nobody reads.  The halves of
arrays that take turns become one: in the text, no half is used otherwise, and that no turn stores what another one
uses is for the certificates to show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from relift.compiler.text import tree

Body = tuple[tree.Statement, ...]


def turned_back(kernel: tree.KernelText) -> tree.KernelText:
    """The kernel with its loops that fetch ahead as loops that do not; others stay as they are.

    >>> from relift.compiler.dialects.printing import Printer
    >>> from relift.compiler.text.reader import read_kernels
    >>> from relift.compiler.text.turned_back import turned_back
    >>> text = '''
    ...     kernel void f(global const float* x) {
    ...       local float t[8];
    ...       float acc = 0.0f;
    ...       for (int i = 0; i < 4; ++i) {
    ...         const float v = x[4*(i % 3)];
    ...         if (i > 0) { acc = acc + t[4*((i + 1) % 2) + 1]; }
    ...         t[4*(i % 2) + 1] = v;
    ...         barrier(CLK_LOCAL_MEM_FENCE);
    ...       }
    ...     }'''
    >>> print("\\n".join(Printer().statements(turned_back(read_kernels(text)[0]).body[2:], 0)))
    for (int i = 0; i < 3; ++i) {
      const float v = x[4*(i % 3)];
      t[1] = v;
      barrier(CLK_LOCAL_MEM_FENCE);
      acc = acc + t[1];
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    """
    arrays = {
        s.name: s.extent.value
        for s in kernel.body
        if isinstance(s, tree.Declaration)
        and s.type.space.of_group
        and isinstance(s.extent, tree.Whole)
    }
    body = list(kernel.body)
    for place, s in enumerate(body):
        if isinstance(s, tree.Loop) and (found := _turned_back(s, arrays)) is not None:
            loop, halved = found
            if halved & tree.mentioned((*body[:place], *body[place + 1 :])):
                continue
            body[place] = loop
            for k, d in enumerate(body):
                if isinstance(d, tree.Declaration) and d.name in halved:
                    body[k] = replace(d, extent=tree.Whole(arrays[d.name] // 2))
    return replace(kernel, body=tuple(body))


class _Otherwise(Exception):
    """The loop is not one that fetches ahead."""


def _turned_back(loop: tree.Loop, arrays: Mapping[str, int]) -> tuple[tree.Loop, set[str]] | None:
    """The loop without fetching ahead, and the arrays of which it has one half."""
    try:
        return _read(loop, arrays)
    except _Otherwise:
        return None


def _read(loop: tree.Loop, arrays: Mapping[str, int]) -> tuple[tree.Loop, set[str]]:
    if not loop.body or not isinstance(loop.body[-1], tree.Barrier):
        raise _Otherwise
    body = _inlined(loop.body, {})
    counter = tree.Name(loop.counter)
    guards = [k for k, s in enumerate(body) if isinstance(s, tree.Guard)]
    waits = [s for s in tree.statements_within(body) if isinstance(s, tree.Barrier)]
    if (
        loop.start != tree.Whole(0)
        or loop.step != tree.Whole(1)
        or len(guards) != 1
        or len(waits) != 1
    ):
        raise _Otherwise
    [at] = guards
    used, fetched, stored = body[at], body[:at], body[at + 1 : -1]
    assert isinstance(used, tree.Guard), "cannot happen: it was found as one"
    if used.condition != tree.Binary(">", counter, tree.Whole(0)):
        raise _Otherwise
    halved = _independent(fetched, stored, used.body, set(arrays))
    later = tree.Binary("+", counter, tree.Whole(1), parentheses=1)
    halves = {name: arrays[name] // 2 for name in halved}
    if any(arrays[name] % 2 for name in halved):
        raise _Otherwise
    turn = (
        *fetched,
        *_in_one_half(stored, halves, counter),
        body[-1],
        *_with(_in_one_half(used.body, halves, later), loop.counter, later),
        body[-1],
    )
    if halved & tree.mentioned(fetched):
        raise _Otherwise
    return replace(loop, end=_one_less(loop.end), body=turn), halved


def _one_less(end: tree.Expression) -> tree.Expression:
    if isinstance(end, tree.Whole) and end.value > 1:
        return tree.Whole(end.value - 1)
    if isinstance(end, tree.Binary) and end.operator == "+" and end.right == tree.Whole(1):
        return end.left
    raise _Otherwise


def _independent(fetched: Body, stored: Body, used: Body, local: set[str]) -> set[str]:
    """The arrays that are filled, where what is fetched and stored depends on nothing that a turn changes."""
    names: set[str] = set()
    for s in fetched:
        if not isinstance(s, tree.Declaration) or s.type.pointer or s.extent or s.value is None:
            raise _Otherwise
        names.add(s.name)
    filled: set[str] = set()
    for s in stored:
        if not isinstance(s, tree.Assignment) or s.operator != "=":
            raise _Otherwise
        filled |= tree.root_of(s.target)
    inner = list(tree.statements_within(used))
    changed = {
        name for s in inner if isinstance(s, tree.Assignment) for name in tree.root_of(s.target)
    } | {s.name for s in inner if isinstance(s, tree.Declaration)}
    values = [s.value for s in stored if isinstance(s, tree.Assignment)]
    read = tree.mentioned(fetched).union(*map(tree.variables, values))
    if (
        any(isinstance(s, tree.Evaluation) for s in inner)
        or not filled <= local
        or changed & (tree.mentioned((*fetched, *stored)) | names)
        or names & tree.mentioned(used)
        or filled & read
    ):
        raise _Otherwise
    return filled


# ---- expressions


def _inlined(body: Sequence[tree.Statement], known: dict[str, tree.Expression]) -> Body:
    """Statements without the names of indices that are computed from others."""
    known = dict(known)
    found: list[tree.Statement] = []

    def new(e: tree.Expression) -> tree.Expression:
        if isinstance(e, tree.Name):
            return known.get(e.name, e)
        return tree.mapped_expression(e, new)

    for s in body:
        made = tree.mapped_statement(s, new, lambda inner: _inlined(inner, known))
        if isinstance(made, tree.Declaration) and _is_index(made):
            assert made.value is not None, "cannot happen: it has a value"
            known[made.name] = replace(made.value, parentheses=1)
            continue
        found.append(made)
    return tuple(found)


def _is_index(d: tree.Declaration) -> bool:
    """Whether a declaration names an index that is computed from others, and never changes."""
    t = d.type
    if t.scalar not in ("int", "long") or not t.constant or t.pointer or t.width > 1:
        return False
    plain = tree.Whole | tree.Name | tree.Binary
    return d.value is not None and all(isinstance(e, plain) for e in tree.within(d.value))


def _with(body: Sequence[tree.Statement], name: str, e: tree.Expression) -> Body:
    """Statements in which an expression stands for a name."""

    def new(part: tree.Expression) -> tree.Expression:
        if isinstance(part, tree.Name):
            return e if part.name == name else part
        return tree.mapped_expression(part, new)

    def inside(block: Body) -> Body:
        return tuple(tree.mapped_statement(s, new, inside) for s in block)

    return inside(tuple(body))


def _in_one_half(
    body: Sequence[tree.Statement], halves: Mapping[str, int], turn: tree.Expression
) -> Body:
    """Statements that use the half of arrays that a turn has, where each has only one."""

    def new(e: tree.Expression) -> tree.Expression:
        if isinstance(e, tree.Element) and isinstance(e.array, tree.Name):
            if e.array.name not in halves:
                return tree.Element(e.array, new(e.index), parentheses=e.parentheses)
            rest = _rest(e.index, halves[e.array.name], turn)
            return tree.Element(e.array, _sum(rest))
        if isinstance(e, tree.Binary) and e.operator == "+" and (found := _pointer(e)) is not None:
            name, offsets = found
            rest = _without_half(offsets, halves[name], turn)
            return tree.Binary("+", tree.Name(name), _sum(rest))
        if isinstance(e, tree.Name) and e.name in halves:
            raise _Otherwise
        return tree.mapped_expression(e, new)

    def _pointer(e: tree.Expression) -> tuple[str, list[tree.Expression]] | None:
        first, *others = _summands(e)
        if isinstance(first, tree.Name) and first.name in halves:
            return first.name, others
        return None

    def inside(block: Body) -> Body:
        return tuple(tree.mapped_statement(s, new, inside) for s in block)

    return inside(tuple(body))


def _rest(index: tree.Expression, cells: int, turn: tree.Expression) -> list[tree.Expression]:
    return _without_half(_summands(index), cells, turn)


def _without_half(
    summands: Sequence[tree.Expression], cells: int, turn: tree.Expression
) -> list[tree.Expression]:
    """What is added to the start of the half that a turn has."""
    half = tree.Binary("*", tree.Whole(cells), tree.Binary("%", turn, tree.Whole(2)))
    rest = [e for e in summands if e != half]
    if len(rest) != len(summands) - 1 or any(_is_sign(e) for e in rest):
        raise _Otherwise
    return rest


def _is_sign(e: tree.Expression) -> bool:
    return isinstance(e, tree.Prefix)


def _summands(e: tree.Expression) -> list[tree.Expression]:
    if isinstance(e, tree.Binary) and e.operator == "+":
        return [*_summands(e.left), *_summands(e.right)]
    return [e]


def _sum(summands: Sequence[tree.Expression]) -> tree.Expression:
    found: tree.Expression | None = None
    for e in summands:
        found = e if found is None else tree.Binary("+", found, e)
    return tree.Whole(0) if found is None else found
