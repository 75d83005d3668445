"""Concrete models of a rule: numbers for its types, hash functions for its functions, operations for its operators.

An operation is chosen among those that obey the laws that the rule states; the table has operations for
every set of laws that obey no other, so a rule that forgets to state a law meets one that breaks it.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np

from relift.rewrites.checks.instances import (
    Difference,
    Instances,
    compare,
    counterexample,
    show_value,
)
from relift.rewrites.checks.random.constants import near_constants
from relift.rewrites.checks.random.operations import LEAF_VALUES, OPERATIONS, Leaf, Operation
from relift.rewrites.checks.smt.tables import Table, draw_tables, looked_up
from relift.rewrites.checks.verdicts import Counterexample
from relift.rewrites.rule import Rule
from relift.semantics.domains import UNSPECIFIED, Exact, Value
from relift.semantics.errors import Undefined
from relift.semantics.interpreter import World, refines
from relift.semantics.syntax.scalars import IRRATIONAL, SCALAR_FUNCTIONS
from relift.semantics.syntax.signatures import FunctionKind, IndexKind, NatKind, OperatorKind
from relift.semantics.syntax.types import (
    AnyType,
    Array,
    Scalar,
    Tuple,
    Type,
    TypeVariable,
    Vector,
    boolean,
    components_of,
    i32,
    substitute_type,
    tup,
)

T = TypeVar("T")


class Chooser(Protocol):
    """How a model is drawn: one of several options, the simplest first."""

    def __call__(self, options: Sequence[T], /) -> T: ...


class NoModel(Exception):
    """This draw gives no model: a law has no operation, or arithmetic has no value; draw another."""


class Arithmetic(Exact):
    """Exact numbers, and double precision for the functions that leave the rationals.

    Where a scalar function has no value, there is no model.
    """

    def function(self, name: str) -> Callable[..., Value]:
        exact, meaning = super().function(name), SCALAR_FUNCTIONS[name].meaning

        def guarded(*arguments: Value) -> Value:
            try:
                if name in IRRATIONAL:
                    return float(meaning(*map(np.float64, arguments)))
                return exact(*arguments)
            except (Undefined, ArithmeticError, TypeError):
                raise NoModel from None

        return guarded


@dataclass(frozen=True)
class Model:
    """One concrete model of a rule at concrete sizes.

    `types` says what each type variable stands for; one that stands for itself holds texts.
    """

    rule: Rule
    sizes: Mapping[str, int]
    types: Mapping[str, Type]
    world: World
    operations: Mapping[str, str]
    calls: Mapping[str, Mapping[str, str]]
    tables: Mapping[str, Table]

    def difference(self) -> Difference | None:
        """How the sides differ in this model, or None; raises `NoModel` where arithmetic has no value."""
        result = substitute_type(self.rule.left.type, self.types, {})
        same = equality_for(self.rule)
        return compare(self.rule, self.world, lambda x, y: refines(x, y, same), result)

    def data(self) -> dict[str, str]:
        """What each metavariable stands for; of a function, the values that were asked for."""
        shown: dict[str, str] = {}
        for name, kind in self.rule.parameters.items():
            match kind:
                case OperatorKind():
                    shown[f"{name}(x, y)"] = self.operations[name]
                case FunctionKind():
                    for arguments, result in self.calls[name].items():
                        shown[f"{name}({arguments})"] = result
                case NatKind():
                    pass
                case IndexKind():
                    shown[name] = f"lambda i: {list(self.tables[name])}[i]"
                case AnyType():
                    shown[name] = show_value(self.world.metavariables[name])
        return shown


ROUNDING, ROUNDING_OF_F32 = 1e-9, 1e-6
"""What two values may differ by that Python's floats give, and that functions of the user's give, which round to f32."""


def equality_for(rule: Rule) -> Callable[[Value, Value], bool]:
    """Equality of the values of a rule's sides: functions of the user's compute in a precision of their own."""
    return partial(equal, rounding=ROUNDING_OF_F32 if rule.calls_user_functions else ROUNDING)


def equal(left: Value, right: Value, rounding: float = ROUNDING) -> bool:
    """Equality of values: exact, but up to rounding for floats, whose NaN equals itself."""
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(
            equal(x, y, rounding) for x, y in zip(left, right, strict=True)
        )
    if any(isinstance(value, float | np.floating) for value in (left, right)):
        return _close(left, right, rounding)
    return bool(left == right)


def _close(x: Any, y: Any, rounding: float) -> bool:
    return bool(np.isclose(float(x), float(y), rtol=rounding, atol=rounding, equal_nan=True))


def draw_model(
    rule: Rule, sizes: Mapping[str, int], choose: Chooser, *, partial_functions: bool = False
) -> Model:
    """A model of the rule at these sizes; raises `NoModel` when the choices give none.

    With `partial_functions`, functions have no value at about a third of their arguments.
    """
    types: dict[str, Type] = {}
    for name in rule.types:
        stand_ins: tuple[Type, ...] = (i32, TypeVariable(name), tup(i32, i32), i32[2])
        types[name] = choose(stand_ins)
    draw = _Drawing(rule, sizes, types, choose, partial_functions)
    tables = draw_tables(rule, sizes, choose)
    if tables is None:
        raise NoModel
    near: dict[Leaf, Sequence[Any]] = {"number": near_constants(rule), "text": (), "truth": ()}
    for name, kind in rule.parameters.items():
        if isinstance(kind, OperatorKind):
            draw.operator(name, kind)
    for name, kind in rule.parameters.items():
        match kind:
            case FunctionKind(_, result):
                draw.function(name, result)
            case OperatorKind() | NatKind():
                pass
            case IndexKind():
                draw.metavariables[name] = looked_up(name, tables[name])
            case AnyType():
                if name not in draw.metavariables:  # a neutral element is there already
                    data = draw.value(kind, lambda leaf: choose((*LEAF_VALUES[leaf], *near[leaf])))
                    draw.metavariables[name] = data
    world = World(sizes=sizes, metavariables=draw.metavariables, domain=Arithmetic(), types=types)
    return Model(rule, sizes, types, world, draw.operations, draw.calls, tables)


class _Drawing:
    """The metavariables of a model while it is drawn."""

    def __init__(
        self,
        rule: Rule,
        sizes: Mapping[str, int],
        types: Mapping[str, Type],
        choose: Chooser,
        partial_functions: bool = False,
    ) -> None:
        self.partial_functions = partial_functions
        self.rule, self.sizes, self.types, self.choose = rule, sizes, types, choose
        self.metavariables: dict[str, Any] = {}
        self.operations: dict[str, str] = {}
        self.chosen: dict[str, dict[Leaf, Operation]] = {}
        self.calls: dict[str, dict[str, str]] = {}

    def value(self, t: Type, leaf: Callable[[Leaf], Any]) -> Value:
        """A value of type t whose cells come from `leaf`."""
        match substitute_type(t, self.types, {}):
            case Array(element, n) | Vector(element, n):
                return [self.value(element, leaf) for _ in range(n.evaluate(self.sizes))]
            case Tuple(parts):
                return tuple(self.value(part, leaf) for part in parts)
            case (Scalar() | TypeVariable()) as single:
                return leaf(leaf_of(single))

    def function(self, name: str, result: Type) -> None:
        """A function that scatters its arguments: equal ones give equal results, few others do."""
        seed = self.choose(range(64))
        calls = self.calls[name] = {}

        def scatter(*arguments: Value) -> Value:
            if has_open_cells(arguments):
                return self.value(result, lambda _: UNSPECIFIED)
            shown = ", ".join(map(show_value, arguments))
            state = random.Random(zlib.crc32(f"{seed} {name} {shown}".encode()))
            if self.partial_functions and state.random() < 1 / 3:
                raise Undefined(f"{name}({shown}) has no value", place="")
            value = self.value(result, lambda leaf: state.choice(LEAF_VALUES[leaf]))
            calls[shown] = show_value(value)
            return value

        self.metavariables[name] = scatter

    def operator(self, name: str, kind: OperatorKind) -> None:
        """An operation for each kind of leaf, cell by cell; its neutral element is set, too."""
        element = substitute_type(kind.element, self.types, {})
        conditions = self.rule.laws(name)
        laws = {c.law for c in conditions}
        chosen: dict[Leaf, Operation] = {}
        of_others = [c for c in self.rule.laws() if c.over == name]
        for leaf in sorted(leaves(element)):
            lawful = [o for o in OPERATIONS[leaf] if o.obeys(laws)]
            for c in conditions:
                if c.over in self.chosen:
                    text = self.chosen[c.over][leaf].text
                    lawful = [o for o in lawful if text in o.holds_over(c.law)]
                elif c.over is not None:
                    lawful = [o for o in lawful if o.holds_over(c.law)]
            for c in of_others:
                drawn = self.chosen.get(c.operator)
                options = OPERATIONS[leaf] if drawn is None else (drawn[leaf],)
                lawful = [o for o in lawful if any(o.text in p.holds_over(c.law) for p in options)]
            if not lawful:
                raise NoModel
            chosen[leaf] = self.choose(lawful)
        for condition in conditions:
            if condition.element is not None:
                z = self.value(kind.element, lambda leaf: chosen[leaf].neutral)
                if self.metavariables.setdefault(condition.element, z) != z:
                    raise NoModel
        self.chosen[name] = chosen
        self.metavariables[name] = lambda x, y: _cell_by_cell(chosen, element, x, y)
        self.operations[name] = "; ".join(o.text for o in chosen.values())


def _cell_by_cell(chosen: Mapping[Leaf, Operation], t: Type, x: Value, y: Value) -> Value:
    match t:
        case Array(element, _) | Vector(element, _):
            return [_cell_by_cell(chosen, element, p, q) for p, q in zip(x, y, strict=True)]
        case Tuple(parts):
            return tuple(
                _cell_by_cell(chosen, part, p, q) for part, p, q in zip(parts, x, y, strict=True)
            )
        case Scalar() | TypeVariable():
            if x is UNSPECIFIED or y is UNSPECIFIED:
                return UNSPECIFIED
            return chosen[leaf_of(t)].function(x, y)


def has_open_cells(value: Value) -> bool:
    """Whether a cell of a value is left open."""
    if isinstance(value, list | tuple):
        return any(map(has_open_cells, value))
    return value is UNSPECIFIED


def leaf_of(t: Type) -> Leaf:
    """What a single cell of type t holds."""
    match t:
        case TypeVariable():
            return "text"
        case Scalar():
            return "truth" if t == boolean else "number"
        case Array() | Vector() | Tuple():
            raise AssertionError(f"cannot happen: {t} is no single cell")


def leaves(t: Type) -> set[Leaf]:
    """What the cells of type t hold."""
    return {leaf_of(of) for of, _ in components_of(t)}


def confirm_difference(
    instances: Instances, sizes: Mapping[str, int], attempts: int = 40
) -> Counterexample | None:
    """The simplest of several random models at these sizes in which the sides differ; None if none is."""
    found: list[Counterexample] = []
    for seed in range(attempts):
        try:
            model = draw_model(instances.rule, sizes, random.Random(seed).choice)
            difference = model.difference()
        except (NoModel, Undefined):
            continue
        if difference is not None:
            found.append(counterexample(instances, sizes, model.data(), difference))
    return min(found, key=lambda c: len(c.text()), default=None)
