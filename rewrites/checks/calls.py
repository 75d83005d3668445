"""What each side of a rule computes at small sizes: which data, and which functions of what.

A side is defined where all that it computes is.  So a direction of a rule loses definedness for partial
substitutions where the side that is put in place computes something that the other does not: one call of a
function, on free symbols, that is made on one side only.  Of f(t) the side that was there computes t only
perhaps: f may not use it.  This refutes at small sizes what `definedness` states and Rocq proves for all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice

from relift.rewrites.checks.free.algebra import Algebra, Symbolic
from relift.rewrites.checks.free.tier import LARGEST, free_world
from relift.rewrites.checks.instances import Instances
from relift.rewrites.checks.smt.tables import all_tables
from relift.rewrites.checks.verdicts import Direction
from relift.rewrites.rule import Rule
from relift.semantics.domains import Value
from relift.semantics.errors import Undefined, Unsupported
from relift.semantics.interpreter import World, evaluate
from relift.semantics.syntax.binding import map_children
from relift.semantics.syntax.signatures import FunctionKind
from relift.semantics.syntax.terms import Call, Lambda, Metavariable, Term, UserFunction, Var
from relift.semantics.syntax.types import Type, i32

INSTANCES = 60
"""How many instances are looked at, smallest first."""


class _Noting(Symbolic):
    """Free symbols; what is computed of the metavariables is noted, in order, with what is printed of it."""

    def __init__(self, world: World) -> None:
        super().__init__(Algebra())
        self.values = world.metavariables
        self.found: dict[tuple[str, str], None] = {}
        self.perhaps = 0

    def note(self, name: str, shown: str) -> None:
        if not self.perhaps:
            self.found[name, shown] = None

    def reference(self, function: UserFunction) -> Callable[..., Value]:
        what, _, name = function.name.partition(" ")
        match what:
            case "data":
                return lambda: self._data(name)
            case "begin" | "end":
                return lambda: self._set(1 if what == "begin" else -1)
            case "apply":
                return lambda _begin, *xs: self.apply(name, *xs[:-1])
            case _:
                return super().reference(function)

    def _data(self, name: str) -> Value:
        self.note(name, name)
        return self.values[name]

    def _set(self, more: int) -> None:
        self.perhaps += more

    def apply(self, name: str, *arguments: Value) -> Value:
        self.note(name, f"{name}({', '.join(map(repr, arguments))})")
        return self.values[name](*arguments)


def lost(rule: Rule, direction: Direction, bound: int = 2) -> dict[str, str]:
    """What this direction computes at some sizes and the side before does not: by metavariable, the first.

    >>> from relift.rewrites.checks.calls import lost
    >>> from relift.rewrites.library import RULES
    >>> lost(RULES["take_map"], "forward"), lost(RULES["take_map"], "backward")
    ({}, {'f': 'f(x0) at m = 0, r = 1'})
    """
    found: dict[str, str] = {}
    before, after = (
        _noted(t, asked) for t, asked in zip(rule.side(direction), (False, True), strict=True)
    )
    functions = [name for name, kind in rule.parameters.items() if isinstance(kind, FunctionKind)]
    instances = Instances(rule)
    tried = (
        (sizes, tables)
        for sizes in instances.assignments(bound)
        if instances.largest(sizes) <= LARGEST
        for tables in all_tables(rule, sizes)
    )
    for sizes, tables in islice(tried, INSTANCES):
        try:
            world, _ = free_world(rule, sizes, tables)
            needed = _computed(before, world, functions)
            computed = _computed(after, world, functions)
        except Undefined:
            continue  # of what is written in the rule itself
        except Unsupported:
            break
        at = ", ".join(f"{name} = {value}" for name, value in sizes.items())
        for name, call in computed:
            if (name, call) not in needed:
                found.setdefault(name, f"{call} at {at}" if at else call)
    return found


def _noted(t: Term, asked: bool) -> Term:
    """The term with calls in the place of data, and around arguments that are computed only perhaps."""

    def inside(u: Term) -> Term:
        return _noted(u, asked)

    if isinstance(t, Metavariable):
        if not t.arguments:
            return _call(f"data {t.name}", (), t.type)
        if not asked and not all(isinstance(u, Var) for u in t.arguments):
            begin, end = _call("begin ", (), i32), _call("end ", (), i32)
            return _call(f"apply {t.name}", (begin, *map(inside, t.arguments), end), t.type)
    return map_children(t, inside, lambda f: Lambda(f.parameters, inside(f.body)))


def _call(name: str, arguments: tuple[Term, ...], result: Type) -> Term:
    types = tuple(u.type for u in arguments)
    names = tuple(f"x{i}" for i in range(len(types)))
    return Call(UserFunction(name, names, types, result, "", None, _call), arguments, result)


def _computed(t: Term, world: World, functions: Sequence[str]) -> dict[tuple[str, str], None]:
    """What the interpreter computes of the metavariables."""
    domain = _Noting(world)
    values = dict(world.metavariables)
    values |= {name: partial(domain.apply, name) for name in functions}
    evaluate(t, replace(world, metavariables=values, domain=domain))
    return domain.found
