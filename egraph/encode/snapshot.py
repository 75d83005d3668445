"""A saturated e-graph as plain data that gives typed terms back.

Only scope-tight nodes count: those that use exactly the free names of their class.  The others mention a
name that the class does not depend on; equal as they are, such a member would use a variable outside its
binder wherever the class has moved.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from relift.egraph.encode.constructors import Constructor, Sort, constructors
from relift.egraph.encode.heads import Head, head, matches
from relift.semantics.errors import ReliftError
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import (
    BinaryOperator,
    Operator,
    OperatorMetavariable,
    Term,
    UserFunction,
    Var,
    Vectorized,
    inside,
)
from relift.semantics.syntax.types import SCALARS, Array, Tuple, Type, Vector


class UnsoundRules(ReliftError):
    """Rules that were used in a search equate what differs."""


@dataclass(frozen=True)
class Dump:
    """The tables of an e-graph: rows of numbers and strings, the result in the last column.

    Numbers stand for values of the sorts E, Q, T, L, N, O, each sort with numbers of its own.
    """

    rows: Mapping[str, list[tuple[Any, ...]]]
    free: Mapping[int, tuple[int, ...]]
    root: int
    firings: Mapping[str, int]


@dataclass(frozen=True)
class ENode:
    """A node of an e-class; `children` are classes."""

    head: Head
    children: tuple[int, ...]


@dataclass
class Names:
    """What the numbers of a dump mean: types, operators, and variables with readable names."""

    dump: Dump
    operators: Mapping[str, BinaryOperator]
    inputs: Sequence[str]
    _types: dict[int, Type] = field(default_factory=dict)
    _variables: dict[int, Var] = field(default_factory=dict)

    @cached_property
    def _type_rows(self) -> dict[int, tuple[Any, ...]]:
        return self._rows_of("Sc", "Arr", "Vec", "Tup")

    def _rows_of(self, *constructors: str) -> dict[int, tuple[Any, ...]]:
        """By its number: what each value of these constructors is made by, and of what."""
        return {
            row[-1]: (name, *row[:-1])
            for name in constructors
            for row in self.dump.rows.get(name, ())
        }

    @cached_property
    def _list_rows(self) -> dict[int, tuple[int, int] | None]:
        rows: dict[int, tuple[int, int] | None] = {
            end: None for (end,) in self.dump.rows.get("Nil", ())
        }
        rows.update({row[-1]: (row[0], row[1]) for row in self.dump.rows.get("Cons", ())})
        return rows

    def type(self, number: int) -> Type:
        if number not in self._types:
            match self._type_rows[number]:
                case ("Sc", str(name)):
                    self._types[number] = SCALARS[name]
                case ("Arr", int(n), int(element)):
                    self._types[number] = Array(self.type(element), Size.of(n))
                case ("Vec", int(n), int(element)):
                    self._types[number] = Vector(self.type(element), Size.of(n))
                case (_, int(parts)):
                    self._types[number] = Tuple(tuple(map(self.type, self._list(parts))))
                case row:
                    raise AssertionError(f"cannot happen: the type {row}")
        return self._types[number]

    def _list(self, number: int) -> list[int]:
        found: list[int] = []
        while (row := self._list_rows[number]) is not None:
            found.append(row[0])
            number = row[1]
        return found

    @cached_property
    def _operator_rows(self) -> dict[int, tuple[Any, ...]]:
        return self._rows_of("OFn", "OAny", "OVec")

    def operator(self, number: int, element: Type | None = None) -> Operator:
        """An operator; `element` is what one without a meaning works on."""
        match self._operator_rows[number]:
            case ("OAny", str(name)):
                assert element is not None, "cannot happen: an unknown operator outside a check"
                return OperatorMetavariable(name, element)
            case ("OFn", str(name)):
                return self.operators[name]
            case ("OVec", int(width), int(inner)):
                lane = element.element if isinstance(element, Vector) else None
                return Vectorized(Size.of(width), self.operator(inner, lane))
            case row:
                raise AssertionError(f"cannot happen: the operator {row}")

    def variable(self, number: int) -> Var:
        return self.variables[number]

    def decode(self, sort: Sort, value: Any, element: Type | None = None) -> Any:
        """What a slot holds; `element` is the type that an operator in it works on."""
        match sort:
            case "T":
                return self.type(value)
            case "N":
                return self.variable(value)
            case "O":
                return self.operator(value, element)
            case "E" | "i64" | "String":
                return value

    @cached_property
    def variables(self) -> dict[int, Var]:
        """All names, each a variable with a name of its own."""
        found: dict[int, Var] = {}
        taken = set(self.inputs)
        rows = [(row[-1], row[0], row[-2]) for row in self.dump.rows.get("V", ())]
        rows += [
            (row[-1], row[0].rsplit(".", 1)[-1], row[-2]) for row in self.dump.rows.get("Fr", ())
        ]
        for number, base, t in sorted(rows):
            name, count = base or "root", 1
            while name in taken:
                count += 1
                name = f"{base.rstrip('_')}_{count}"
            taken.add(name)
            found[number] = Var(name, self.type(t))
        return found


class Snapshot:
    """The scope-tight part of an e-graph, by class."""

    def __init__(
        self,
        dump: Dump,
        *,
        arity: int,
        operators: Mapping[str, BinaryOperator],
        functions: Mapping[str, UserFunction],
        inputs: Sequence[str] = (),
    ) -> None:
        self.dump, self.functions = dump, functions
        self.root = dump.root
        self.names = Names(dump, operators, inputs)
        self.constructors = constructors(arity)
        self._types = {row[0]: row[1] for row in dump.rows.get("ty", ())}
        self._nodes: dict[int, list[tuple[Constructor, tuple[Any, ...]]]] = {}
        self._decoded: dict[int, list[ENode]] = {}
        self._check()
        free = {c: frozenset(names) for c, names in dump.free.items()}
        for constructor in self.constructors.values():
            if constructor.of is None:
                continue
            for row in dump.rows.get(constructor.name, ()):
                *slots, owner = row
                if _tight(constructor, slots, owner, free):
                    self._nodes.setdefault(owner, []).append((constructor, tuple(slots)))

    def type_of(self, eclass: int) -> Type:
        """The type of a class."""
        return self.names.type(self._types[eclass])

    def free(self, eclass: int) -> frozenset[str]:
        """The names of the variables that a class depends on."""
        return frozenset(self.names.variable(n).name for n in self.dump.free[eclass])

    def classes(self) -> Iterable[int]:
        """All classes that have a scope-tight node."""
        return self._nodes.keys()

    def nodes(self, eclass: int) -> list[ENode]:
        """The scope-tight nodes of a class."""
        if eclass not in self._decoded:
            self._decoded[eclass] = [
                self._node(constructor, slots) for constructor, slots in self._nodes.get(eclass, ())
            ]
        return self._decoded[eclass]

    def _node(self, c: Constructor, slots: tuple[Any, ...]) -> ENode:
        first = self.type_of(slots[c.terms[0]]) if c.terms else None
        data = [
            self.names.decode(slot.sort, v, first) for slot, v in zip(c.slots, slots, strict=True)
        ]
        return ENode(head(c, data, self.functions), tuple(slots[i] for i in c.terms))

    # ---- choosing members

    @cached_property
    def _depths(self) -> dict[int, float]:
        """The depth of the shallowest member of every class."""
        depths = dict.fromkeys(self._nodes, math.inf)
        changed = True
        while changed:
            changed = False
            for eclass, nodes in self._nodes.items():
                for c, slots in nodes:
                    below = max((depths.get(slots[i], math.inf) for i in c.terms), default=0.0)
                    if below + 1 < depths[eclass]:
                        depths[eclass] = below + 1
                        changed = True
        return depths

    def sample(self, eclass: int, rng: random.Random, depth: int = 12) -> Term:
        """A random member: any node down to `depth`, below it the shallowest."""
        nodes = [
            node
            for node in self.nodes(eclass)
            if all(self._depths.get(child, math.inf) < math.inf for child in node.children)
        ]
        if depth <= 0:
            nodes = [
                min(nodes, key=lambda n: max((self._depths[c] for c in n.children), default=0.0))
            ]
        node = rng.choice(nodes)
        return node.head.term([self.sample(child, rng, depth - 1) for child in node.children])

    def find(self, t: Term, eclass: int | None = None) -> Term | None:
        """The member of a class (of the root) that equals `t` up to names, with the names used here."""
        return self._find(t, self.root if eclass is None else eclass, {})

    def _find(self, t: Term, eclass: int, names: Mapping[str, Var]) -> Term | None:
        for node in self.nodes(eclass):
            if (inner := matches(node.head, t, names)) is None:
                continue
            parts: list[Term] = []
            for child, part in zip(node.children, _parts(t), strict=True):
                found = self._find(part, child, inner)
                if found is None:
                    break
                parts.append(found)
            else:
                return node.head.term(parts)
        return None

    # ---- alarms

    def _check(self) -> None:
        """Raise `UnsoundRules` when a class has two types or two literals."""
        fired = ", ".join(sorted(self.dump.firings)) or "none"
        if self.dump.rows.get("Clash"):
            raise UnsoundRules(
                f"rules equate terms of different types; one of these fired: {fired}"
            )
        literals: dict[int, tuple[Any, ...]] = {}
        for *value, owner in self.dump.rows.get("Literal", ()):
            other = literals.setdefault(owner, tuple(value))
            if other != tuple(value):
                raise UnsoundRules(
                    f"rules equate the literals {other[0]} and {value[0]}; one of these is wrong: "
                    + fired
                )


def _tight(
    c: Constructor, slots: Sequence[Any], owner: int, free: Mapping[int, frozenset[int]]
) -> bool:
    mine: set[int] = {slots[0]} if c.of is Var else set()
    for i in c.terms:
        if slots[i] not in free:
            return False
        mine |= free[slots[i]] - {slots[j] for j in c.bound(i)}
    return free.get(owner) == frozenset(mine)


def _parts(t: Term) -> list[Term]:
    return [u for _, u, _ in inside(t)]
