"""What each side of a rule computes at small sizes: which data, and which functions of what.

A side is defined where all that it computes is.  So a direction of a rule loses definedness for partial
fillings where the side that is put in place computes something that the other does not: one call of a
function, on free symbols, that is made on one side only.  This refutes at small sizes what `definedness`
states and Rocq proves for all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice

from relift.rewrites.free import LARGEST, Algebra, Symbolic, free_world
from relift.rewrites.index_tables import all_tables
from relift.rewrites.instances import Instances
from relift.rewrites.rule import Direction, Rule
from relift.semantics.binding import map_children
from relift.semantics.errors import Undefined, Unsupported
from relift.semantics.interpreter import Value, World, evaluate
from relift.semantics.signatures import FunctionKind
from relift.semantics.terms import Call, Lambda, Metavariable, Term, UserFunction

INSTANCES = 60
"""How many instances are looked at, smallest first."""
_DATA = "data "


class _Noting(Symbolic):
    """Free symbols; that data are computed is noted."""

    def __init__(self, note: Callable[[str], Value]) -> None:
        super().__init__(Algebra())
        self.note = note

    def twin(self, function: UserFunction) -> Callable[..., Value]:
        if not function.name.startswith(_DATA):
            return super().twin(function)
        name = function.name.removeprefix(_DATA)
        return lambda: self.note(name)


def lost(rule: Rule, direction: Direction, bound: int = 2) -> dict[str, str]:
    """What this direction computes at some sizes and the side before does not: by metavariable, the first.

    >>> from relift.rewrites.library import RULES
    >>> lost(RULES["take_map"], "forward"), lost(RULES["take_map"], "backward")
    ({}, {'f': 'f(x0) at m = 0, r = 1'})
    """
    found: dict[str, str] = {}
    before, after = map(_noting_data, rule.side(direction))
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


def _noting_data(t: Term) -> Term:
    """The term with a call in the place of data, so that the interpreter is seen to compute them."""
    if isinstance(t, Metavariable) and not t.arguments:
        function = UserFunction(_DATA + t.name, (), (), t.type, "", None, lambda: None)
        return Call(function, (), t.type)
    return map_children(t, _noting_data, lambda f: Lambda(f.parameters, _noting_data(f.body)))


def _computed(t: Term, world: World, functions: Sequence[str]) -> dict[tuple[str, str], None]:
    """What the interpreter computes of the metavariables, in order: each with what is printed of it."""
    found: dict[tuple[str, str], None] = {}

    def data(name: str) -> Value:
        found[name, name] = None
        return world.metavariables[name]

    def noted(name: str, f: Callable[..., Value]) -> Callable[..., Value]:
        def called(*arguments: Value) -> Value:
            found[name, f"{name}({', '.join(map(repr, arguments))})"] = None
            return f(*arguments)

        return called

    values = dict(world.metavariables)
    values |= {name: noted(name, values[name]) for name in functions}
    evaluate(t, replace(world, metavariables=values, domain=_Noting(data)))
    return found
