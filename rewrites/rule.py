"""A rule: one object that is the equation on the page, the e-graph rewrite, and the subject of every check.

A rule reads as an equation.  Metavariables are the parameters, their kinds are the annotations, the docstring
is its page:

>>> from relift import Fun, join, map, naturals, rule, split, type_variables
>>> A, B = type_variables("A B")
>>> k, m = naturals("k m")
>>> @rule()
... def split_join(f: Fun[A, B], xs: A[k * m]):
...     "Map the chunks of an array one by one."
...     return map(f, xs), join(map(lambda c: map(f, c), split(m, xs)))
>>> print(split_join)
split_join: map(f, xs) == join(map(lambda c: map(f, c), split(m, xs)))

Divisibility is said by the size of a metavariable (`k * m`).  Scope and freshness conditions are derived
from which metavariable is applied to which variable: in `h(x, y)` it may use both, in plain `ys` neither.
"""

from __future__ import annotations

import dis
import inspect
import traceback
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import CodeType, FunctionType
from typing import Any, ClassVar, TypeAlias, overload

from relift.display.displayed import Displayed
from relift.rewrites.checks.isolation import Stopped, at_most
from relift.rewrites.checks.verdicts import Direction
from relift.rewrites.conditions import (
    Bound,
    Condition,
    IndexCondition,
    require_condition,
    require_possible,
)
from relift.rewrites.families import Chosen, Data, annotations_of, instances, said
from relift.rewrites.metavariables import at_other_sizes, named_sizes
from relift.rewrites.well_formed import (
    require_closed,
    require_lists,
    require_one_type,
    require_used,
)
from relift.semantics.errors import IllTyped, ReliftError, in_a_line
from relift.semantics.indices.functions import index_metavariable
from relift.semantics.language.coercion import as_term
from relift.semantics.language.naming import distinctly_named
from relift.semantics.language.tracing import scope
from relift.semantics.language.vocabulary import VOCABULARY
from relift.semantics.notation.printer import show
from relift.semantics.syntax.signatures import FunctionKind, IndexKind, Kind, NatKind, OperatorKind
from relift.semantics.syntax.sizes import Name, Size, is_bound
from relift.semantics.syntax.terms import (
    Call,
    Metavariable,
    OperatorMetavariable,
    Pattern,
    Term,
    subterms,
)
from relift.semantics.syntax.types import (
    AnyType,
    Array,
    Scalar,
    Tuple,
    TypeVariable,
    Vector,
    type_names,
    type_sizes,
)


@dataclass(frozen=True)
class FunctionMetavariable:
    """A function metavariable while a rule is traced."""

    name: str
    kind: FunctionKind

    def __call__(self, *arguments: Any) -> Term:
        terms = tuple(as_term(a) for a in arguments)
        if len(terms) != len(self.kind.arguments):
            raise IllTyped(f"{self.name} takes {len(self.kind.arguments)} arguments")
        for term, t in zip(terms, self.kind.arguments, strict=True):
            if term.type != t:
                raise IllTyped(f"{self.name} is applied to a value of type {term.type}, not {t}")
        return Metavariable(self.name, terms, self.kind.result)


@dataclass(frozen=True)
class Rule(Displayed):
    """An equation between two terms with metavariables, under laws of operators.

    `equation` rules hold in both directions.  `lowering` rules hold as equations too, but are applied
    forward only, by context, and never unioned: they say who computes and where results are stored.
    `refinement` rules hold from left to right only: the right side fixes cells that the left leaves open.
    `choose` holds sizes that matching does not determine and that the user of the rule picks.
    `proof` is the script that tier 4b runs where its own tactic does not suffice to show that the sides are equal,
    `defined` those, by direction, that show that no value is lost, or after `WHERE_TOTAL` that none of what is total is.
    `bounds` holds what sizes must satisfy besides what their names promise.
    """

    shown_by: ClassVar = "relift.rewrites.displays:of_rule"

    name: str
    parameters: Mapping[str, Kind]
    left: Term
    right: Term
    where: tuple[Condition | IndexCondition, ...] = ()
    choose: tuple[Size, ...] = ()
    lowering: bool = False
    source: str = ""
    doc: str = ""
    place: str | None = None
    refinement: bool = False
    proof: str = ""
    defined: tuple[tuple[Direction, str], ...] = ()
    bounds: tuple[Bound, ...] = ()

    def side(self, direction: Direction) -> tuple[Term, Term]:
        """The term to match and the term to put in its place."""
        return (self.left, self.right) if direction == "forward" else (self.right, self.left)

    @cached_property
    def types(self) -> tuple[str, ...]:
        """The type variables, sorted."""
        return tuple(sorted({v for t in self._all_types() for v in type_names(t)}))

    @cached_property
    def sizes(self) -> tuple[str, ...]:
        """The size variables, sorted."""
        found = {n for size in self._all_sizes() for n in size.names()}
        return tuple(sorted(name for name in found if not is_bound(Size.atom(name))))

    @cached_property
    def least(self) -> dict[str, int]:
        """What size variables promise to be at least, where that is more than 0: `rl.nat("s", least=2)`."""
        found: dict[str, int] = {}
        for size in self._all_sizes():
            for name in size.names():
                if isinstance(name, Name) and name.least > found.get(name, 0):
                    found[name] = name.least
        return dict(sorted(found.items()))

    @cached_property
    def lower_bounds(self) -> tuple[Bound, ...]:
        """All that is required of sizes: by the patterns, by their names, and by `bounds`.

        Every tier and every application of the rule keeps to these.
        """
        return (*(Bound(size, 1) for size in self.positive), *self.stated_bounds)

    @property
    def positive(self) -> tuple[Size, ...]:
        """Sizes that must be at least 1 for both sides to be defined, and are not always."""
        return tuple(size for size in self.divisors if not size.surely_at_least(1))

    @cached_property
    def divisors(self) -> tuple[Size, ...]:
        """Sizes that must be at least 1 for both sides to be defined: of chunks, steps, what data index."""
        found: dict[Size, None] = {}
        for side in (self.left, self.right):
            for t, _ in subterms(side):
                if isinstance(t, Pattern):
                    found |= dict.fromkeys(map(t.sized, (*t.signature.positive, *t.rocq_positive)))
        return tuple(size for size in found if not is_bound(size))

    @property
    def calls_user_functions(self) -> bool:
        """Whether a side calls a function that is Python of the user's, not traced into a term."""
        return any(
            isinstance(t, Call) and t.function.body is None
            for side in (self.left, self.right)
            for t, _ in subterms(side)
        )

    @property
    def needs_reassociation(self) -> bool:
        """Whether the two sides may differ in floating point: it regroups or reorders an operator."""
        return any(condition.law != "idempotent" for condition in self.laws())

    def laws(self, operator: str | None = None) -> tuple[Condition, ...]:
        """The laws that the rule needs of an operator metavariable, or of all of them."""
        return tuple(
            c for c in self.where if isinstance(c, Condition) and operator in (None, c.operator)
        )

    def _all_sizes(self) -> list[Size]:
        """Every size that is written in the rule or in the type of a metavariable."""
        found = [size for t in self._all_types() for size in type_sizes(t)]
        found += [k.length for k in self.parameters.values() if isinstance(k, IndexKind)]
        for side in (self.left, self.right):
            found += [size for t, _ in subterms(side) for size in named_sizes(t)]
        return [*found, *(bound.size for bound in self.bounds)]

    def _all_types(self) -> list[Any]:
        found: list[Any] = []
        for kind in self.parameters.values():
            match kind:
                case FunctionKind(arguments, result):
                    found += [*arguments, result]
                case OperatorKind(element):
                    found.append(element)
                case NatKind() | IndexKind():
                    pass
                case AnyType():
                    found.append(kind)
        return found

    @property
    def sign(self) -> str:
        """What stands between the sides: an arrow where they may not be swapped."""
        return "->" if self.lowering or self.refinement else "=="

    @property
    def stated_bounds(self) -> tuple[Bound, ...]:
        """The bounds of sizes that the rule states, which are printed; those of its patterns are implied."""
        own = [Bound(Size.atom(name), least) for name, least in self.least.items()]
        return (*own, *self.bounds)

    def equation(self, width: int = 100) -> str:
        """Both sides and the conditions, on as many lines as needed."""
        needed = [str(condition) for condition in (*self.where, *self.stated_bounds)]
        conditions = "   where " + ", ".join(needed) if needed else ""
        left, right = show(self.left, width=width), show(self.right, width=width)
        sign = self.sign
        if len(left) + len(right) + len(conditions) + 4 <= width and "\n" not in left + right:
            return f"{left} {sign} {right}{conditions}"
        return f"{left}\n  {sign}\n{right}" + (f"\n{conditions}" if conditions else "")

    def __str__(self) -> str:
        return f"{self.name}: {self.equation()}"


@dataclass(frozen=True)
class RejectedRule(Displayed):
    """A rule whose sides do not even type-check; kept so that a check can say so, and what would repair it.

    `again` makes the rule with other sizes in place of its own; it raises `IllTyped`.  `malformed`: its Python
    fails, so that there are no sides.
    """

    shown_by: ClassVar = "relift.rewrites.displays:of_rejected"

    name: str
    error: ReliftError
    place: str | None = None
    again: Callable[[Mapping[str, Size]], Rule] | None = field(
        default=None, compare=False, repr=False
    )
    malformed: bool = False


@dataclass(frozen=True)
class RuleFamily:
    """One equation with a metavariable over a choice (see `families`): a rule for every value of it."""

    name: str
    rules: tuple[Rule | RejectedRule, ...]


@overload
def rule(where: Callable[..., Any], /) -> Any: ...
@overload
def rule(
    where: Sequence[Condition | IndexCondition] = (),
    *,
    choose: Sequence[Size] = (),
    lowering: bool = False,
    refinement: bool = False,
    source: str = "",
    proof: str = "",
    defined: Mapping[Direction, str] | None = None,
) -> Callable[[Callable[..., Any]], Any]: ...
def rule(
    where: Sequence[Condition | IndexCondition] | Callable[..., Any] = (),
    *,
    choose: Sequence[Size] = (),
    lowering: bool = False,
    refinement: bool = False,
    source: str = "",
    proof: str = "",
    defined: Mapping[Direction, str] | None = None,
) -> Any:
    """Decorator, with brackets or without: a rule from a function of metavariables that returns its two sides.

    An ill-typed rule becomes a `RejectedRule`, which `relift check` reports.
    """
    conditions = () if callable(where) else where

    def made(written: Callable[..., Any]) -> Rule:
        code = written.__code__
        place = f"{code.co_filename}:{code.co_firstlineno}"
        found = make_rule(written, conditions, choose, lowering, said(written, source), place)
        scripts = tuple((defined or {}).items())
        return replace(found, refinement=refinement, proof=proof, defined=scripts)

    return _each(made, where) if callable(where) else lambda function: _each(made, function)


def _each(made: Making, function: Callable[..., Any]) -> Rule | RejectedRule | RuleFamily:
    """The rule that a function writes down, or one for each value of its choices."""
    if not isinstance(function, FunctionType):
        return decorated(made, function)
    rules = tuple(decorated(made, instance) for instance in instances(function))
    return rules[0] if len(rules) == 1 else RuleFamily(function.__name__, rules)


Making: TypeAlias = Callable[[Callable[..., Any]], Rule]


def decorated(made: Making, function: Callable[..., Any]) -> Rule | RejectedRule:
    """The rule that a function writes down, or why it is none; `collecting` is told of either."""
    if not isinstance(function, FunctionType):
        raise IllTyped(f"a rule is a function written with def, not {function!r}")
    code = function.__code__
    place = f"{code.co_filename}:{code.co_firstlineno}"
    collected = _collected.get()
    found: Rule | RejectedRule
    try:
        with nullcontext() if collected is None else at_most(MAKING_SECONDS):
            found = made(function)
    except ReliftError as error:
        error = _hinted(function, error)
        found = RejectedRule(
            function.__name__, error, place, lambda sizes: made(at_other_sizes(function, sizes))
        )
    except Exception as error:
        if collected is None:
            raise
        failure = ReliftError(_told(error), _line(function, error) or place)
        found = RejectedRule(function.__name__, _hinted(function, failure), place, malformed=True)
    if collected is not None:
        collected.append(Collected(found, "<locals>" not in function.__qualname__))
    return found


MAKING_SECONDS = 20
"""How long the Python function of a rule in a file of the user's may take."""


@dataclass(frozen=True)
class Collected:
    """A rule that was made while a file was read; `top`: not inside a function."""

    rule: Rule | RejectedRule
    top: bool


_collected: ContextVar[list[Collected] | None] = ContextVar("rules that are made", default=None)


@contextmanager
def collecting() -> Generator[list[Collected]]:
    """Collect every rule that is made inside, the failing ones too: those are rejected instead of raising."""
    collected: list[Collected] = []
    token = _collected.set(collected)
    try:
        yield collected
    finally:
        _collected.reset(token)


def _told(error: Exception) -> str:
    match error:
        case Stopped():
            return f"the function of the rule did not come to its end: {error}"
        case MemoryError():
            return "the function of the rule ran out of memory"
        case RecursionError():
            return "the rule is nested too deeply"
        case _:
            return in_a_line(error)


def _line(function: FunctionType, error: Exception) -> str | None:
    """The line of the function's file where the error arose."""
    file = function.__code__.co_filename
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == file]
    return f"{file}:{lines[-1]}" if lines else None


def _hinted(function: FunctionType, error: ReliftError) -> ReliftError:
    """The error, and which of Python's own functions stand where Relift's are meant."""
    own = sorted(_names(function.__code__) & PYTHONS_OWN - function.__globals__.keys())
    if own:
        told = ", ".join(own)
        imported = f"from relift import {told}, or write rl.{own[0]}"
        error.message += f" ({told} here is Python's own; {imported})"
    return error


PYTHONS_OWN = frozenset(("filter", "map", "zip"))
"""Names that Python has from the start, with a meaning other than in a program of Relift."""


def _names(code: CodeType) -> set[str]:
    """The global names that a function looks up, and the functions in it."""
    found = {i.argval for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL"}
    inner = [c for c in code.co_consts if isinstance(c, CodeType)]
    return found.union(*map(_names, inner))


def make_rule(
    function: Callable[..., Any],
    where: Sequence[Condition | IndexCondition] = (),
    choose: Sequence[Size] = (),
    lowering: bool = False,
    source: str = "",
    place: str | None = None,
) -> Rule:
    """The rule that `function` writes down; raises `IllTyped` when its sides do not fit."""
    require_lists(function.__name__, where, choose)
    annotations = annotations_of(function)
    parameters: dict[str, Kind] = {}
    arguments: list[Any] = []
    for name in inspect.signature(function).parameters:
        if name not in annotations:
            raise IllTyped(f"{function.__name__}: metavariable {name} needs a type")
        annotation = annotations[name]
        if isinstance(annotation, Chosen):
            if not isinstance(annotation.value, Data):
                arguments.append(annotation.value)
                continue
            name, annotation = annotation.value.name, annotation.value.kind
        kind = parameters[name] = _kind(function.__name__, name, annotation)
        match kind:
            case FunctionKind():
                arguments.append(FunctionMetavariable(name, kind))
            case OperatorKind(element):
                arguments.append(OperatorMetavariable(name, element))
            case IndexKind(length):
                arguments.append(index_metavariable(name, length))
            case NatKind():
                raise AssertionError("cannot happen: a size is no metavariable")
            case Scalar() | Array() | Tuple() | Vector() | TypeVariable():
                arguments.append(Metavariable(name, (), kind))
    with scope(list(parameters)):
        sides = function(*arguments)
        if not isinstance(sides, tuple) or len(sides) != 2:
            raise IllTyped(f"{function.__name__} must return its left and its right side")
        left, right = as_term(sides[0]), as_term(sides[1])
    left, right = distinctly_named([left, right], parameters, VOCABULARY)
    for side, term in (("left", left), ("right", right)):
        require_closed(function.__name__, side, term)
    require_one_type(function.__name__, left, right)
    require_used(function.__name__, parameters, left, right, where)
    for condition in where:
        require_condition(function.__name__, condition, parameters)
    doc = inspect.getdoc(function) or ""
    found = Rule(
        function.__name__, parameters, left, right, tuple(where), tuple(choose), lowering, source,
        doc, place,
    )  # fmt: skip
    require_possible(found.name, found.lower_bounds)
    return found


def _kind(rule: str, name: str, annotation: object) -> Kind:
    """The kind of a metavariable; users without a type checker give anything."""
    if not isinstance(annotation, Kind) or isinstance(annotation, NatKind):
        raise IllTyped(
            f"{rule}: metavariable {name} needs a type, such as rl.f32[n], Fun[A, B] or Op[A], "
            f"not {annotation!r}"
        )
    return annotation
