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
    DIMENSIONS,
    NUMBERS,
    changed,
    expressions_in,
    taken,
    uniquely_named,
    with_own_parameters,
)
from relift.compiler.dialects.printing import is_local_array
from relift.compiler.dialects.types import CONSTANTS
from relift.compiler.text.c_types import INT, LONG, ULONG
from relift.compiler.text.tree import (
    Argument,
    Assignment,
    Barrier,
    Binary,
    Cast,
    Conditional,
    Declaration,
    Element,
    Evaluation,
    Expression,
    Guard,
    Invocation,
    KernelText,
    Loop,
    Member,
    Name,
    Prefix,
    Real,
    Statement,
    Whole,
    body_of,
    call,
    mapped_expression,
    mapped_statement,
    mentioned,
    statements_within,
    wrapped,
)
from relift.semantics.errors import Unsupported

_OF_GROUP = {
    "get_group_id": "group",
    "get_num_groups": "groups",
    "get_global_size": "range",
    "get_local_size": "items",
}
_BY_GROUP = frozenset(["get_local_id", "get_group_id", "get_num_groups", "get_local_size"])


@dataclass(frozen=True)
class Group:
    """What a work-group does; the numbers that it mentions are those of `NUMBERS`, and `item_0` and so on.

    One that is `free` asks neither who is in its group, nor who else there is: its work-items may stand in any groups.
    """

    parameters: tuple[Argument, ...]
    body: tuple[Statement, ...]
    free: bool


def in_turns(kernel: KernelText) -> Group:
    """The statements of a group; raises `Unsupported` for a barrier that it cannot place."""
    kernel = uniquely_named(kernel)
    body = with_own_parameters(kernel)
    calls = {e.function for e in expressions_in(body) if isinstance(e, Invocation)}
    waits = any(isinstance(s, Barrier) for s in statements_within(body))
    shares = any(is_local_array(s) for s in statements_within(body))
    if any(is_local_array(inner) for s in body for inner in statements_within(body_of(s))):
        raise Unsupported(
            f"{kernel.name}: a local array in a block; declare it where the kernel begins"
        )
    free = not (waits or shares or calls & _BY_GROUP or kernel.group)
    items = (
        [Name(f"items_{d}") for d in DIMENSIONS]
        if kernel.group is None
        else map(Whole, kernel.group)
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
    again: tuple[Declaration, ...] = ()
    apart: Mapping[str, Declaration] = field(default_factory=dict[str, Declaration])


@dataclass
class _Turns:
    """Cuts blocks at barriers; `changed` are variables that are assigned to, `taken` all names."""

    kernel: str
    items: tuple[Expression, ...]
    changed: frozenset[str]
    taken: set[str]

    @property
    def all_items(self) -> Expression:
        """How many work-items there are in a group."""
        found: Expression = Whole(1)
        for n in self.items:
            found = _product(found, n)
        return found

    @property
    def item(self) -> Expression:
        """The place of a work-item among those of its group."""
        found: Expression = Whole(0)
        for d in reversed(DIMENSIONS):
            inner = Whole(0) if self.items[d] == Whole(1) else Name(f"item_{d}")
            found = _sum(_product(found, self.items[d]), inner)
        return found

    # ---- blocks

    def block(self, body: Sequence[Statement], scope: _Scope) -> list[Statement]:
        """The statements of a group for a block that all its work-items enter."""
        parts = _cut(body)
        names = [mentioned(part) for part in parts]
        found: list[Statement] = []
        for i, part in enumerate(parts):
            others = set[str]().union(*names[:i], *names[i + 1 :])
            first = part[0]
            if isinstance(first, Barrier):
                continue
            if len(part) == 1 and _waits(first):
                found += self.together(first, scope)
                continue
            kept: list[Statement] = []
            for s in part:
                if isinstance(s, Declaration) and (s.name in others or is_local_array(s)):
                    scope, declared, rest = self.across(s, scope)
                    found += declared
                    kept += rest
                else:
                    kept.append(s)
            found += self.each(kept, scope)
        return found

    def across(
        self, d: Declaration, scope: _Scope
    ) -> tuple[_Scope, list[Statement], list[Statement]]:
        """A variable that lives across a barrier: the scope after it, what the group declares, what a work-item does."""
        d = replace(d, joined=False)
        fixed = d.extent is None and d.name not in self.changed and d.value is not None
        if is_local_array(d) or (fixed and _is_plain(d.value, scope.uniform)):
            return replace(scope, uniform=scope.uniform | {d.name}), [d], []
        again = frozenset(a.name for a in scope.again) | {f"item_{i}" for i in DIMENSIONS}
        if fixed and _is_plain(d.value, scope.uniform | again):
            return replace(scope, again=(*scope.again, d)), [], []
        extent = self.all_items if d.extent is None else _product(self.all_items, d.extent)
        t = replace(d.type, constant=d.type.constant and d.type.pointer, fixed=False)
        own = replace(d, type=t, extent=extent, value=None)
        after = replace(scope, apart={**scope.apart, d.name: d})
        first = [] if d.value is None else [Assignment(Name(d.name), "=", d.value)]
        return after, [own], [*first]

    def each(self, body: Sequence[Statement], scope: _Scope) -> list[Statement]:
        """A loop over the work-items of the group."""
        if not body:
            return []
        needed, again = mentioned(body), list[Statement]()
        for known in reversed(scope.again):
            if known.name in needed:
                again.insert(0, known)
                needed |= mentioned([known])
        inside = tuple(self.written_out(s, scope) for s in (*again, *body))
        for d in DIMENSIONS:
            if self.items[d] != Whole(1):
                inside = (Loop(INT, f"item_{d}", Whole(0), self.items[d], Whole(1), inside),)
            else:
                inside = tuple(_one(s, d) for s in inside)
        return [*inside]

    def written_out(self, s: Statement, scope: _Scope) -> Statement:
        """A statement in which the variables that are written out are places of arrays."""
        if not scope.apart:
            return s

        def placed(e: Expression) -> Expression:
            if not isinstance(e, Name) or (d := scope.apart.get(e.name)) is None:
                return mapped_expression(e, placed)
            if d.extent is None:
                return Element(Name(e.name), self.item)
            return wrapped(Binary("+", Name(e.name), _product(self.item, d.extent)))

        def inside(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
            return tuple(mapped_statement(s, placed, inside) for s in body)

        return mapped_statement(s, placed, inside)

    # ---- loops and guards around barriers

    def together(self, s: Statement, scope: _Scope) -> list[Statement]:
        """A loop or a guard that all work-items take together."""
        match s:
            case Guard(condition, body):
                if _is_plain(condition, scope.uniform):
                    return [Guard(condition, tuple(self.block(body, scope)))]
                count = self.fresh("entering")
                one = Conditional(condition, Whole(1), Whole(0))
                tried = self.each([Assignment(Name(count), "+=", one)], scope)
                inside = self.block(body, scope)
                return [
                    Declaration(INT, count, None, Whole(0)),
                    *tried,
                    Evaluation(call("relift_all_or_none", Name(count), self.all_items)),
                    Guard(Binary("==", Name(count), self.all_items), tuple(inside)),
                ]
            case Loop(_, counter, start, end, step, body):
                if all(_is_plain(e, scope.uniform) for e in (start, end, step)):
                    inner = replace(scope, uniform=scope.uniform | {counter})
                    return [replace(s, body=tuple(self.block(body, inner)))]
                return self.counted(s, scope)
            case Declaration() | Assignment() | Evaluation() | Barrier():
                raise AssertionError(f"cannot happen: a barrier in {s}")

    def counted(self, s: Loop, scope: _Scope) -> list[Statement]:
        """A loop whose bounds differ between work-items, all of which take as many turns."""
        again = frozenset(a.name for a in scope.again) | {f"item_{i}" for i in DIMENSIONS}
        for e in (s.start, s.end, s.step):
            if not _is_plain(e, scope.uniform | again):
                raise Unsupported(
                    f"{self.kernel}: the loop over {s.counter} has a barrier, and bounds that depend on more than the "
                    "numbers of work-items and groups; C with OpenMP cannot tell how often a group takes it"
                )
        turns, turn = self.fresh("turns"), self.fresh("turn")
        gap = Binary("-", wrapped(s.end), wrapped(s.start))
        whole = Binary(
            "/", wrapped(Binary("-", Binary("+", gap, wrapped(s.step)), Whole(1))), wrapped(s.step)
        )
        own = Conditional(Binary("<", wrapped(s.start), wrapped(s.end)), whole, Whole(0))
        same = Assignment(Name(turns), "=", call("relift_same", Name(turns), own))
        at = Binary("+", wrapped(s.start), Binary("*", Name(turn), wrapped(s.step)))
        counter = Declaration(replace(s.type, constant=True), s.counter, None, at)
        inner = replace(scope, uniform=scope.uniform | {turn}, again=(*scope.again, counter))
        body = tuple(self.block(s.body, inner))
        return [
            Declaration(LONG, turns, None, Prefix("-", Whole(1))),
            *self.each([same], scope),
            Loop(LONG, turn, Whole(0), Name(turns), Whole(1), body),
        ]

    def fresh(self, name: str) -> str:
        """A name that nothing has."""
        i = 0
        while f"{name}_{i}" in self.taken:
            i += 1
        self.taken.add(f"{name}_{i}")
        return f"{name}_{i}"


# ---- what stands where


def _cut(body: Sequence[Statement]) -> list[list[Statement]]:
    """A block in parts: each barrier, each statement around one, and what stands between them."""
    parts: list[list[Statement]] = []
    joins = False
    for s in body:
        apart = _waits(s)
        if apart or not joins:
            parts.append([s])
        else:
            parts[-1].append(s)
        joins = not apart
    return parts


def _waits(s: Statement) -> bool:
    return any(isinstance(inner, Barrier) for inner in statements_within([s]))


def _is_plain(e: Expression | None, known: frozenset[str]) -> bool:
    """Whether an expression is computed from some variables alone: it reads no memory, and calls nothing costly."""
    match e:
        case None:
            return False
        case Whole() | Real():
            return True
        case Name(name):
            return name in known or name in CONSTANTS
        case Binary(_, left, right):
            return _is_plain(left, known) and _is_plain(right, known)
        case Prefix(operator, operand):
            return operator in "-+~!" and _is_plain(operand, known)
        case Conditional(condition, yes, no):
            return all(_is_plain(part, known) for part in (condition, yes, no))
        case Cast(_, arguments):
            return all(_is_plain(a, known) for a in arguments)
        case Invocation(name, arguments):
            return name in ("min", "max") and all(_is_plain(a, known) for a in arguments)
        case Member(of, _):
            return _is_plain(of, known)
        case Element():
            return False


# ---- numbers


def _numbered(s: Statement, group: tuple[int, ...] | None) -> Statement:
    """A statement in which the numbers of the work-item are variables."""

    def number(e: Expression) -> Expression:
        if not isinstance(e, Invocation) or (d := _dimension(e)) is None:
            return mapped_expression(e, number)
        name = e.function
        if name == "get_local_id":
            found: Expression = Name(f"item_{d}")
        elif name == "get_global_id":
            found = Binary("+", Name(f"first_{d}"), Name(f"item_{d}"))
        elif name == "get_local_size" and group is not None:
            found = Whole(group[d])
        elif name in _OF_GROUP:
            found = Name(f"{_OF_GROUP[name]}_{d}")
        else:
            return mapped_expression(e, number)
        return Cast(ULONG, (found,))

    def inside(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return tuple(mapped_statement(s, number, inside) for s in body)

    return mapped_statement(s, number, inside)


def _one(s: Statement, d: int) -> Statement:
    """A statement for the one work-item in a dimension."""

    def number(e: Expression) -> Expression:
        return Whole(0) if e == Name(f"item_{d}") else mapped_expression(e, number)

    def inside(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return tuple(mapped_statement(s, number, inside) for s in body)

    return mapped_statement(s, number, inside)


def _dimension(e: Invocation) -> int | None:
    """The number that a function is given as its only argument."""
    d = e.arguments[0] if len(e.arguments) == 1 else None
    return d.value if isinstance(d, Whole) else None


def _product(x: Expression, y: Expression) -> Expression:
    a = x.value if isinstance(x, Whole) else None
    b = y.value if isinstance(y, Whole) else None
    if a is not None and b is not None:
        return Whole(a * b)
    if a == 0 or b == 1:
        return x
    if a == 1 or b == 0:
        return y
    return Binary("*", _grouped(x), _grouped(y))


def _sum(x: Expression, y: Expression) -> Expression:
    if x == Whole(0):
        return y
    return x if y == Whole(0) else Binary("+", x, y)


def _grouped(e: Expression) -> Expression:
    return wrapped(e) if isinstance(e, Binary) and not e.parentheses else e
