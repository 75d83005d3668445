"""A work-group as one thread runs it: loops over its work-items, cut at every barrier.

What stands between two barriers becomes a loop over the work-items.  A variable that lives across a barrier is written
out: an array with one place for each work-item, unless it can be computed again, or is the same for all of them.  A
loop or a guard around a barrier is taken by all work-items together, and is the group's own; where its bounds are not
plainly the same for all, they are compared while it runs.

>>> from relift.compiler.dialects.c.groups import in_turns
>>> from relift.compiler.dialects.printing import Printer
>>> from relift.compiler.text.reader import read_kernels
>>> [k] = read_kernels('''
...     __attribute__((reqd_work_group_size(8, 1, 1)))
...     kernel void f(global float* x) {
...       local float t[8];
...       const int l = get_local_id(0);
...       float s = x[l];
...       t[l] = s;
...       barrier(CLK_LOCAL_MEM_FENCE);
...       x[l] = s + t[7 - l];
...     }''')
>>> print("\\n".join(Printer().statements(in_turns(k).body, 0)))
local float t[8];
float s[8];
for (int item_0 = 0; item_0 < 8; ++item_0) {
  const int l = (ulong)(item_0);
  s[item_0] = x[l];
  t[l] = s[item_0];
}
for (int item_0 = 0; item_0 < 8; ++item_0) {
  const int l = (ulong)(item_0);
  x[l] = s[item_0] + t[7 - l];
}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from relift.compiler.dialects.c.names import (
    ALL_OR_NONE,
    DIMENSIONS,
    NUMBERS,
    SAME,
    changed,
    taken,
    uniquely_named,
    with_own_parameters,
)
from relift.compiler.dialects.printing import is_local_array, is_table
from relift.compiler.dialects.types import CONSTANTS
from relift.compiler.text import tree
from relift.compiler.text.c_types import INT, LONG, ULONG
from relift.semantics.errors import Unsupported

_OF_GROUP = {
    "get_group_id": "group",
    "get_num_groups": "groups",
    "get_global_size": "range",
    "get_local_size": "items",
}


@dataclass(frozen=True)
class Group:
    """What a work-group does; the numbers that it mentions are those of `NUMBERS`, and `item_0` and so on.

    One that is `free` asks neither who is in its group, nor who else there is: its work-items may stand in any groups.
    """

    parameters: tuple[tree.Argument, ...]
    body: tuple[tree.Statement, ...]
    free: bool


def in_turns(kernel: tree.KernelText) -> Group:
    """The statements of a group; raises `Unsupported` for a barrier that it cannot place."""
    kernel = uniquely_named(kernel)
    body = with_own_parameters(kernel)
    if any(
        is_local_array(inner) for s in body for inner in tree.statements_within(tree.body_of(s))
    ):
        raise Unsupported(
            f"{kernel.name}: a local array in a block; declare it where the kernel begins"
        )
    free = tree.asked_of_groups(kernel) <= {"get_global_size"}
    items = (
        [tree.Name(f"items_{d}") for d in DIMENSIONS]
        if kernel.group is None
        else map(tree.Whole, kernel.group)
    )
    turns = _Turns(kernel.name, tuple(items), changed(body), taken(kernel, body))
    given = frozenset(p.name for p in kernel.parameters) - turns.changed
    numbers = frozenset(f"{n}_{d}" for n in NUMBERS for d in DIMENSIONS)
    scope = _Scope(given | numbers)
    numbered = tuple(_numbered(s, kernel.group) for s in body)
    return Group(kernel.parameters, tuple(turns.block(numbered, scope)), free)


@dataclass(frozen=True)
class _Scope:
    """What is known of the variables around a block.

    `uniform` are the same for all work-items, and belong to the group; `again` are computed again in each loop over
    the work-items; `apart` are written out.
    """

    uniform: frozenset[str]
    again: tuple[tree.Declaration, ...] = ()
    apart: Mapping[str, tree.Declaration] = field(default_factory=dict[str, tree.Declaration])


@dataclass
class _Turns:
    """Cuts blocks at barriers; `changed` are variables that are assigned to, `taken` all names."""

    kernel: str
    items: tuple[tree.Expression, ...]
    changed: frozenset[str]
    taken: set[str]

    @property
    def all_items(self) -> tree.Expression:
        """How many work-items there are in a group."""
        found: tree.Expression = tree.Whole(1)
        for n in self.items:
            found = _product(found, n)
        return found

    @property
    def item(self) -> tree.Expression:
        """The place of a work-item among those of its group."""
        found: tree.Expression = tree.Whole(0)
        for d in reversed(DIMENSIONS):
            inner = tree.Whole(0) if self.items[d] == tree.Whole(1) else tree.Name(f"item_{d}")
            found = _sum(_product(found, self.items[d]), inner)
        return found

    # ---- blocks

    def block(self, body: Sequence[tree.Statement], scope: _Scope) -> list[tree.Statement]:
        """The statements of a group for a block that all its work-items enter."""
        parts = _cut(body)
        names = [tree.mentioned(part) for part in parts]
        found: list[tree.Statement] = []
        for i, part in enumerate(parts):
            others = set[str]().union(*names[:i], *names[i + 1 :])
            first = part[0]
            if isinstance(first, tree.Barrier):
                continue
            if len(part) == 1 and _waits(first):
                found += self.together(first, scope)
                continue
            kept: list[tree.Statement] = []
            for s in part:
                if isinstance(s, tree.Declaration) and (s.name in others or is_local_array(s)):
                    scope, declared, rest = self.across(s, scope)
                    found += declared
                    kept += rest
                else:
                    kept.append(s)
            found += self.each(kept, scope)
        return found

    def across(
        self, d: tree.Declaration, scope: _Scope
    ) -> tuple[_Scope, list[tree.Statement], list[tree.Statement]]:
        """A variable that lives across a barrier: the scope after it, what the group declares, what a work-item does."""
        d = replace(d, joined=False)
        fixed = d.extent is None and d.name not in self.changed and d.value is not None
        if is_local_array(d) or is_table(d) or (fixed and _is_plain(d.value, scope.uniform)):
            return replace(scope, uniform=scope.uniform | {d.name}), [d], []
        again = frozenset(a.name for a in scope.again) | {f"item_{i}" for i in DIMENSIONS}
        if fixed and _is_plain(d.value, scope.uniform | again):
            return replace(scope, again=(*scope.again, d)), [], []
        extent = self.all_items if d.extent is None else _product(self.all_items, d.extent)
        t = replace(d.type, constant=d.type.constant and d.type.pointer, fixed=False)
        own = replace(d, type=t, extent=extent, value=None)
        after = replace(scope, apart={**scope.apart, d.name: d})
        first = [] if d.value is None else [tree.Assignment(tree.Name(d.name), "=", d.value)]
        return after, [own], [*first]

    def each(self, body: Sequence[tree.Statement], scope: _Scope) -> list[tree.Statement]:
        """A loop over the work-items of the group."""
        if not body:
            return []
        needed, again = tree.mentioned(body), list[tree.Statement]()
        for known in reversed(scope.again):
            if known.name in needed:
                again.insert(0, known)
                needed |= tree.mentioned([known])
        inside = tuple(self.written_out(s, scope) for s in (*again, *body))
        for d in DIMENSIONS:
            if self.items[d] != tree.Whole(1):
                inside = (
                    tree.Loop(
                        INT, f"item_{d}", tree.Whole(0), self.items[d], tree.Whole(1), inside
                    ),
                )
            else:
                inside = tuple(_one(s, d) for s in inside)
        return [*inside]

    def written_out(self, s: tree.Statement, scope: _Scope) -> tree.Statement:
        """A statement in which the variables that are written out are places of arrays."""
        if not scope.apart:
            return s

        def placed(e: tree.Expression) -> tree.Expression:
            if not isinstance(e, tree.Name) or (d := scope.apart.get(e.name)) is None:
                return tree.mapped_expression(e, placed)
            if d.extent is None:
                return tree.Element(tree.Name(e.name), self.item)
            return tree.wrapped(tree.Binary("+", tree.Name(e.name), _product(self.item, d.extent)))

        def inside(body: tuple[tree.Statement, ...]) -> tuple[tree.Statement, ...]:
            return tuple(tree.mapped_statement(s, placed, inside) for s in body)

        return tree.mapped_statement(s, placed, inside)

    # ---- loops and guards around barriers

    def together(self, s: tree.Statement, scope: _Scope) -> list[tree.Statement]:
        """A loop or a guard that all work-items take together."""
        match s:
            case tree.Guard(condition, body):
                if _is_plain(condition, scope.uniform):
                    return [tree.Guard(condition, tuple(self.block(body, scope)))]
                count = self.fresh("entering")
                one = tree.Conditional(condition, tree.Whole(1), tree.Whole(0))
                tried = self.each([tree.Assignment(tree.Name(count), "+=", one)], scope)
                inside = self.block(body, scope)
                return [
                    tree.Declaration(INT, count, None, tree.Whole(0)),
                    *tried,
                    tree.Evaluation(tree.call(ALL_OR_NONE, tree.Name(count), self.all_items)),
                    tree.Guard(tree.Binary("==", tree.Name(count), self.all_items), tuple(inside)),
                ]
            case tree.Loop(_, counter, start, end, step, body):
                if all(_is_plain(e, scope.uniform) for e in (start, end, step)):
                    inner = replace(scope, uniform=scope.uniform | {counter})
                    return [replace(s, body=tuple(self.block(body, inner)))]
                return self.counted(s, scope)
            case tree.Declaration() | tree.Assignment() | tree.Evaluation() | tree.Barrier():
                raise AssertionError(f"cannot happen: a barrier in {s}")

    def counted(self, s: tree.Loop, scope: _Scope) -> list[tree.Statement]:
        """A loop whose bounds differ between work-items, all of which take as many turns."""
        again = frozenset(a.name for a in scope.again) | {f"item_{i}" for i in DIMENSIONS}
        for e in (s.start, s.end, s.step):
            if not _is_plain(e, scope.uniform | again):
                raise Unsupported(
                    f"{self.kernel}: the loop over {s.counter} has a barrier, and bounds that depend on more than the "
                    "numbers of work-items and groups; C with OpenMP cannot tell how often a group takes it"
                )
        turns, turn = self.fresh("turns"), self.fresh("turn")
        gap = tree.Binary("-", tree.wrapped(s.end), tree.wrapped(s.start))
        whole = tree.Binary(
            "/",
            tree.wrapped(
                tree.Binary("-", tree.Binary("+", gap, tree.wrapped(s.step)), tree.Whole(1))
            ),
            tree.wrapped(s.step),
        )
        own = tree.Conditional(
            tree.Binary("<", tree.wrapped(s.start), tree.wrapped(s.end)), whole, tree.Whole(0)
        )
        same = tree.Assignment(tree.Name(turns), "=", tree.call(SAME, tree.Name(turns), own))
        at = tree.Binary(
            "+", tree.wrapped(s.start), tree.Binary("*", tree.Name(turn), tree.wrapped(s.step))
        )
        counter = tree.Declaration(replace(s.type, constant=True), s.counter, None, at)
        inner = replace(scope, uniform=scope.uniform | {turn}, again=(*scope.again, counter))
        body = tuple(self.block(s.body, inner))
        return [
            tree.Declaration(LONG, turns, None, tree.Prefix("-", tree.Whole(1))),
            *self.each([same], scope),
            tree.Loop(LONG, turn, tree.Whole(0), tree.Name(turns), tree.Whole(1), body),
        ]

    def fresh(self, name: str) -> str:
        """A name that nothing has."""
        i = 0
        while f"{name}_{i}" in self.taken:
            i += 1
        self.taken.add(f"{name}_{i}")
        return f"{name}_{i}"


# ---- what stands where


def _cut(body: Sequence[tree.Statement]) -> list[list[tree.Statement]]:
    """A block in parts: each barrier, each statement around one, and what stands between them."""
    parts: list[list[tree.Statement]] = []
    joins = False
    for s in body:
        apart = _waits(s)
        if apart or not joins:
            parts.append([s])
        else:
            parts[-1].append(s)
        joins = not apart
    return parts


def _waits(s: tree.Statement) -> bool:
    return any(isinstance(inner, tree.Barrier) for inner in tree.statements_within([s]))


def _is_plain(e: tree.Expression | None, known: frozenset[str]) -> bool:
    """Whether an expression is computed from some variables alone: it reads no memory, and calls nothing costly."""
    match e:
        case None:
            return False
        case tree.Whole() | tree.Real():
            return True
        case tree.Name(name):
            return name in known or name in CONSTANTS
        case tree.Binary(_, left, right):
            return _is_plain(left, known) and _is_plain(right, known)
        case tree.Prefix(operator, operand):
            return operator in "-+~!" and _is_plain(operand, known)
        case tree.Conditional(condition, yes, no):
            return all(_is_plain(part, known) for part in (condition, yes, no))
        case tree.Cast(_, arguments):
            return all(_is_plain(a, known) for a in arguments)
        case tree.Invocation(name, arguments):
            return name in ("min", "max") and all(_is_plain(a, known) for a in arguments)
        case tree.Member(of, _):
            return _is_plain(of, known)
        case tree.Element():
            return False


# ---- numbers


def _numbered(s: tree.Statement, group: tuple[int, ...] | None) -> tree.Statement:
    """A statement in which the numbers of the work-item are variables."""

    def number(e: tree.Expression) -> tree.Expression:
        if not isinstance(e, tree.Invocation) or (d := _dimension(e)) is None:
            return tree.mapped_expression(e, number)
        name = e.function
        if name == "get_local_id":
            found: tree.Expression = tree.Name(f"item_{d}")
        elif name == "get_global_id":
            found = tree.Binary("+", tree.Name(f"first_{d}"), tree.Name(f"item_{d}"))
        elif name == "get_local_size" and group is not None:
            found = tree.Whole(group[d])
        elif name in _OF_GROUP:
            found = tree.Name(f"{_OF_GROUP[name]}_{d}")
        else:
            return tree.mapped_expression(e, number)
        return tree.Cast(ULONG, (found,))

    def inside(body: tuple[tree.Statement, ...]) -> tuple[tree.Statement, ...]:
        return tuple(tree.mapped_statement(s, number, inside) for s in body)

    return tree.mapped_statement(s, number, inside)


def _one(s: tree.Statement, d: int) -> tree.Statement:
    """A statement for the one work-item in a dimension."""

    def number(e: tree.Expression) -> tree.Expression:
        return tree.Whole(0) if e == tree.Name(f"item_{d}") else tree.mapped_expression(e, number)

    def inside(body: tuple[tree.Statement, ...]) -> tuple[tree.Statement, ...]:
        return tuple(tree.mapped_statement(s, number, inside) for s in body)

    return tree.mapped_statement(s, number, inside)


def _dimension(e: tree.Invocation) -> int | None:
    """The number that a function is given as its only argument."""
    d = e.arguments[0] if len(e.arguments) == 1 else None
    return d.value if isinstance(d, tree.Whole) else None


def _product(x: tree.Expression, y: tree.Expression) -> tree.Expression:
    a = x.value if isinstance(x, tree.Whole) else None
    b = y.value if isinstance(y, tree.Whole) else None
    if a is not None and b is not None:
        return tree.Whole(a * b)
    if a == 0 or b == 1:
        return x
    if a == 1 or b == 0:
        return y
    return tree.Binary("*", _grouped(x), _grouped(y))


def _sum(x: tree.Expression, y: tree.Expression) -> tree.Expression:
    if x == tree.Whole(0):
        return y
    return x if y == tree.Whole(0) else tree.Binary("+", x, y)


def _grouped(e: tree.Expression) -> tree.Expression:
    return tree.wrapped(e) if isinstance(e, tree.Binary) and not e.parentheses else e
