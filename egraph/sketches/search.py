"""Sketches on a frozen e-graph: the smallest term of a class that satisfies a sketch, or why there is none.

From the inside of the sketch outwards, every part gets a table of the classes that have a member like it,
with the smallest one.  A part is looked up by its constructor, and what contains it by the users of a class,
so the time grows with the number of nodes, not with its square.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TypeAlias

from relift.egraph.encode.snapshot import ENode, Snapshot
from relift.egraph.sketches.language import (
    Anything,
    Component,
    Containing,
    Named,
    Number,
    OfPattern,
    OfType,
    Operation,
    Shape,
    fits,
)
from relift.rewrites.library import RULES
from relift.semantics.errors import ReliftError
from relift.semantics.syntax.binding import Position
from relift.semantics.syntax.nodes import fields
from relift.semantics.syntax.signatures import FunctionKind, NatKind
from relift.semantics.syntax.terms import (
    Apply,
    Call,
    Combine,
    Get,
    Input,
    Literal,
    Metavariable,
    Operator,
    Pattern,
    Term,
    Var,
    Vectorized,
)
from relift.semantics.syntax.types import Array, Scalar, Tuple, TypeVariable, Vector


def _lowered() -> Iterator[tuple[type[Pattern], type[Pattern] | None, str]]:
    """What a rule makes a pattern of that holds the same, and more at most that is chosen."""
    for rule in RULES.values():
        left, right = rule.left, rule.right
        if not rule.lowering or not isinstance(right, Pattern) or not right.compiled:
            continue
        if isinstance(left, Metavariable) and fields(right) == (left,):
            yield type(right), None, rule.name
        elif isinstance(left, Pattern) and fields(right)[-len(fields(left)) :] == fields(left):
            yield type(right), type(left), rule.name


_BY_RULES = tuple(_lowered())
LOWERED: Mapping[type[Pattern], tuple[type[Pattern] | None, str]] = {
    lowered: (plain, rule)
    for lowered, plain, rule in _BY_RULES
    if plain not in {other for other, _, _ in _BY_RULES}
}
"""OpenCL's patterns: what they are in the e-graph (None: whatever is stored), and the rule that lowers it."""


class Unsatisfied(ReliftError):
    """No term of the program's class satisfies a sketch; the message quotes the part that fails."""


@dataclass(frozen=True)
class RequiredLowering:
    """A lowering that the sketch demands at a place of the term found."""

    rule: str
    position: Position
    choices: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class SketchMatch:
    """A term that satisfies a sketch, its size, and the lowerings that the sketch demands."""

    term: Term
    size: float
    wanted: tuple[RequiredLowering, ...]


Naming: TypeAlias = frozenset[tuple[str, str]]
"""What the variables of a sketch are called in the e-graph."""


@dataclass(frozen=True)
class _Choice:
    """A node, and for each child the part of the sketch that it satisfies (-1: any) in its scope."""

    node: ENode
    children: tuple[tuple[int, Naming], ...]
    lowering: tuple[str, tuple[tuple[str, int], ...]] | None = None


_Table: TypeAlias = dict[int, dict[Naming, tuple[float, _Choice | None]]]
_ANY = -1
_NONE: Naming = frozenset()


class SketchSearch:
    """Finds terms by sketch in one snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.nodes: list[tuple[int, ENode]] = []
        self.by_head: dict[object, list[int]] = {}
        self.users: dict[int, list[int]] = {}
        for eclass in snapshot.classes():
            for node in snapshot.nodes(eclass):
                number = len(self.nodes)
                self.nodes.append((eclass, node))
                self.by_head.setdefault(_key(node), []).append(number)
                for child in dict.fromkeys(node.children):
                    self.users.setdefault(child, []).append(number)
        self.tables: list[_Table] = []
        self._shapes: dict[Shape, int] = {}
        self.smallest = self._smallest()

    def best(self, shape: Shape, eclass: int | None = None) -> SketchMatch:
        """The smallest member of a class (of the root) that satisfies a sketch; raises `Unsatisfied`."""
        eclass = self.snapshot.root if eclass is None else eclass
        found = self.find(shape, eclass)
        if found is None:
            raise Unsatisfied(self.reason(shape), place="")
        return found

    def find(self, shape: Shape, eclass: int) -> SketchMatch | None:
        """The smallest member of a class that satisfies a sketch, or None."""
        number = self._solve(shape)
        entry = self._entries(number, eclass).get(_NONE)
        if entry is None:
            return None
        wanted: list[RequiredLowering] = []
        term = self._term(eclass, number, _NONE, (), wanted)
        return SketchMatch(term, entry[0], tuple(wanted))

    def reason(self, shape: Shape) -> str:
        """Which part of an unsatisfied sketch fails first, from the inside."""
        for part in _inside_out(shape):
            number = self._solve(part)
            if number != _ANY and not self.tables[number]:
                if isinstance(part, Named):
                    return f"the sketch names {part}, which occurs in no term"
                inner = [str(p) for p in _parts(part) if not isinstance(p, Anything)]
                rest = f"; its parts do occur: {', '.join(inner)}" if inner else ""
                return f"no term satisfies this part of the sketch: {part}{rest}"
        return f"every part of the sketch occurs, but no term equal to the program satisfies it: {shape}"

    # ---- tables

    def _smallest(self) -> dict[int, tuple[float, ENode]]:
        """The smallest member of every class."""
        found: dict[int, tuple[float, ENode]] = {}
        missing = [len(set(node.children)) for _, node in self.nodes]
        queue: list[tuple[float, int]] = []
        for number, (_, node) in enumerate(self.nodes):
            if not node.children:
                heappush(queue, (_weight(node), number))
        while queue:
            cost, number = heappop(queue)
            eclass, node = self.nodes[number]
            if eclass in found:
                continue
            found[eclass] = (cost, node)
            for user in self.users.get(eclass, ()):
                missing[user] -= 1
                if missing[user] == 0:
                    _, above = self.nodes[user]
                    heappush(
                        queue, (_weight(above) + sum(found[c][0] for c in above.children), user)
                    )
        return found

    def _entries(self, number: int, eclass: int) -> Mapping[Naming, tuple[float, _Choice | None]]:
        if number != _ANY:
            return self.tables[number].get(eclass, {})
        known = self.smallest.get(eclass)
        return {} if known is None else {_NONE: (known[0], None)}

    def _solve(self, shape: Shape) -> int:
        """The table of a part of a sketch; -1 for any term."""
        if isinstance(shape, Anything):
            return _ANY
        if shape not in self._shapes:
            table: _Table = {}
            match shape:
                case Containing(part):
                    table = self._containing(self._solve(part), len(self.tables))
                case OfType(wanted):
                    for eclass, (cost, node) in self.smallest.items():
                        if fits(wanted, self.snapshot.type_of(eclass)):
                            _keep(table, eclass, _NONE, cost, _any(node))
                case Named(name, bound=False):
                    for number in self.by_head.get((Input, name), ()):
                        eclass, node = self.nodes[number]
                        _keep(table, eclass, _NONE, _weight(node), _any(node))
                case Named(name):
                    for number in self.by_head.get(Var, ()):
                        eclass, node = self.nodes[number]
                        scope = frozenset([(name, node.head.name)])
                        _keep(table, eclass, scope, _weight(node), _any(node))
                case Number(value):
                    for number in self.by_head.get(Literal, ()):
                        eclass, node = self.nodes[number]
                        if node.head.holds[0] == value:
                            _keep(table, eclass, _NONE, _weight(node), _any(node))
                case Operation(name, parts):
                    solved = [self._solve(part) for part in parts]
                    for number in (
                        *self.by_head.get((Apply, name), ()),
                        *self.by_head.get((Combine, name), ()),
                    ):
                        self._node(table, number, [((), s) for s in solved])
                case Component(index, of):
                    inner = self._solve(of)
                    for number in self.by_head.get((Get, index), ()):
                        self._node(table, number, [((), inner)])
                case OfPattern():
                    self._pattern(table, shape)
            self._shapes[shape] = len(self.tables)
            self.tables.append(table)
        return self._shapes[shape]

    def _containing(self, inner: int, own: int) -> _Table:
        """Classes from which a member like `inner` can be reached, the smallest such terms first."""
        table: _Table = {}
        queue: list[tuple[float, int, int, Naming, _Choice]] = []
        order = 0
        start = self.smallest.keys() if inner == _ANY else self.tables[inner].keys()
        for eclass in start:
            for scope, (cost, choice) in self._entries(inner, eclass).items():
                known = choice or _any(self.smallest[eclass][1])
                queue.append((cost, order, eclass, scope, known))
                order += 1
        queue.sort(key=lambda item: item[:2])
        while queue:
            cost, _, eclass, scope, choice = heappop(queue)
            if scope in table.get(eclass, {}):
                continue
            table.setdefault(eclass, {})[scope] = (cost, choice)
            for number in self.users.get(eclass, ()):
                owner, node = self.nodes[number]
                if scope in table.get(owner, {}) or any(
                    c not in self.smallest for c in node.children
                ):
                    continue
                whole = _weight(node) + sum(self.smallest[c][0] for c in node.children)
                bound = {x.name for x in node.head.binders}
                if any(name in bound for _, name in scope):
                    continue
                place = node.children.index(eclass)
                children = tuple(
                    (own, scope) if i == place else (_ANY, _NONE) for i in range(len(node.children))
                )
                price = whole - self.smallest[eclass][0] + cost
                heappush(queue, (price, order, owner, scope, _Choice(node, children)))
                order += 1
        return table

    def _node(
        self,
        table: _Table,
        number: int,
        wanted: list[tuple[tuple[str, ...], int]],
        lowering: tuple[str, tuple[tuple[str, int], ...]] | None = None,
    ) -> None:
        """Enter a node whose children satisfy these parts, each below variables of these names."""
        eclass, node = self.nodes[number]
        if len(wanted) != len(node.children):
            return
        binders = _binders_of(node)
        found: list[tuple[float, Naming, tuple[tuple[int, Naming], ...]]] = [
            (_weight(node), _NONE, ())
        ]
        for (names, part), child, own in zip(wanted, node.children, binders, strict=True):
            entries = self._entries(part, child)
            longer = []
            for cost, scope, children in found:
                for inner, (price, _) in entries.items():
                    outer = _leave(inner, names, own)
                    if outer is not None and (both := _agree(scope, outer)) is not None:
                        longer.append((cost + price, both, (*children, (part, inner))))
            found = longer
        for cost, scope, children in found:
            _keep(table, eclass, scope, cost, _Choice(node, children, lowering))

    def _pattern(self, table: _Table, shape: OfPattern) -> None:
        pattern, rule = LOWERED.get(shape.pattern, (shape.pattern, ""))
        lowering = (rule, shape.numbers) if rule else None
        parts = {part.place: (part.binders, self._solve(part.shape)) for part in shape.parts}
        if pattern is None:
            self._stored(table, parts.get("xs", ((), _ANY))[1], lowering)
            return
        for number in self.by_head.get(pattern, ()):
            _, node = self.nodes[number]
            if not rule and not _has_numbers(node, shape):
                continue
            if shape.operator is not None and _operator_name(node.head.operator) != shape.operator:
                continue
            if shape.length is not None and self._length(node) != shape.length:
                continue
            wanted = [parts.get(place, ((), _ANY)) for place in node.head.places]
            self._node(table, number, wanted, lowering)

    def _stored(
        self, table: _Table, inner: int, lowering: tuple[str, tuple[tuple[str, int], ...]] | None
    ) -> None:
        """What satisfies the part inside, to be stored."""
        for eclass in self.smallest:
            for scope, (cost, choice) in self._entries(inner, eclass).items():
                known = choice or _any(self.smallest[eclass][1])
                _keep(table, eclass, scope, cost, _Choice(known.node, known.children, lowering))

    def _length(self, node: ENode) -> int | None:
        t = self.snapshot.type_of(node.children[-1])
        match t:
            case Array(_, n) | Vector(_, n):
                return n.constant
            case Scalar() | Tuple() | TypeVariable():
                return None

    # ---- terms

    def _term(
        self,
        eclass: int,
        number: int,
        scope: Naming,
        position: Position,
        wanted: list[RequiredLowering],
    ) -> Term:
        _, choice = self._entries(number, eclass)[scope]
        choice = choice or _any(self.smallest[eclass][1])
        if choice.lowering is not None:
            rule, numbers = choice.lowering
            choices = tuple(("d" if place == "dim" else place, n) for place, n in numbers)
            wanted.append(RequiredLowering(rule, position, choices))
        head = choice.node.head
        return head.term(
            [
                self._term(child, part, inner, (*position, place), wanted)
                for child, (part, inner), place in zip(
                    choice.node.children, choice.children, head.places, strict=True
                )
            ]
        )


def _keep(table: _Table, eclass: int, scope: Naming, cost: float, choice: _Choice) -> None:
    entries = table.setdefault(eclass, {})
    if scope not in entries or cost < entries[scope][0]:
        entries[scope] = (cost, choice)


def _any(node: ENode) -> _Choice:
    return _Choice(node, ((_ANY, _NONE),) * len(node.children))


def _agree(a: Naming, b: Naming) -> Naming | None:
    """Both scopes together, unless they differ on a variable."""
    known = dict(a)
    if any(known.get(x, name) != name for x, name in b):
        return None
    return a | b


def _leave(scope: Naming, names: tuple[str, ...], own: tuple[str, ...]) -> Naming | None:
    """The scope outside a binder: its variables are the node's own, and no other is captured."""
    bound = dict(zip(names, own, strict=False))
    outside = []
    for x, name in scope:
        if x in bound:
            if bound[x] != name:
                return None
        elif name in own:
            return None
        else:
            outside.append((x, name))
    return frozenset(outside)


def _binders_of(node: ENode) -> list[tuple[str, ...]]:
    """For each child, the names that the node binds in it."""
    pattern = node.head.pattern
    if pattern is None:
        return [()] * len(node.children)
    binders = iter(node.head.binders)
    kinds = [pattern.signature.parameters[place] for place in node.head.places]
    return [
        tuple(next(binders).name for _ in kind.arguments) if isinstance(kind, FunctionKind) else ()
        for kind in kinds
    ]


def _has_numbers(node: ENode, shape: OfPattern) -> bool:
    assert node.head.pattern is not None, "cannot happen: it was looked up as a pattern"
    kinds = node.head.pattern.signature.parameters
    places = [place for place, kind in kinds.items() if isinstance(kind, NatKind)]
    actual = {p: n.constant for p, n in zip(places, node.head.naturals, strict=True)}
    return all(actual[place] == n for place, n in shape.numbers)


def _operator_name(operator: Operator | None) -> str | None:
    while isinstance(operator, Vectorized):
        operator = operator.operator
    return None if operator is None else operator.name


def _key(node: ENode) -> object:
    """What a node is looked up by."""
    head = node.head
    if head.kind is Combine:
        return Combine, _operator_name(head.operator)
    if head.kind is Get:
        return Get, head.holds[0]
    if head.kind is Input:
        return Input, head.name
    if head.kind is Apply or head.kind is Call:
        return Apply, head.name
    return head.kind


def _weight(node: ENode) -> float:
    """Loops and reductions weigh more than what only rearranges."""
    return 1.0 if node.head.pattern is None else node.head.pattern.weight


def _parts(shape: Shape) -> Iterator[Shape]:
    match shape:
        case Containing(part):
            yield part
        case Operation(_, parts):
            yield from parts
        case Component(_, of):
            yield of
        case OfPattern(_, parts):
            yield from (inside.shape for inside in parts)
        case Anything() | OfType() | Named() | Number():
            pass


def _inside_out(shape: Shape) -> Iterator[Shape]:
    for part in _parts(shape):
        yield from _inside_out(part)
    yield shape


__all__ = ["LOWERED", "RequiredLowering", "SketchMatch", "SketchSearch", "Unsatisfied"]
