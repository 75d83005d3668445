"""Programs: Python functions over typed parameters, traced, and called on NumPy values."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from relift.display.displayed import Displayed
from relift.semantics.array_exchange import as_given, host_arguments
from relift.semantics.errors import IllTyped, Unsupported, bounded_depth
from relift.semantics.interpreter import World, evaluate
from relift.semantics.language.arguments import MOST_CELLS, an_instance, sizes_by_name
from relift.semantics.language.coercion import as_term
from relift.semantics.language.common_subexpressions import with_names
from relift.semantics.language.given import actual_type
from relift.semantics.language.naming import distinctly_named
from relift.semantics.language.tracing import scope
from relift.semantics.language.vocabulary import VOCABULARY
from relift.semantics.notation.printer import show
from relift.semantics.numpy_values import from_numpy, to_numpy
from relift.semantics.syntax.signatures import Matching, schema_size
from relift.semantics.syntax.sizes import Size, by_letter, is_bound
from relift.semantics.syntax.substitution import at_sizes
from relift.semantics.syntax.terms import MOST_PARTS, Input, Pattern, Term, distinct, parts_of
from relift.semantics.syntax.types import (
    Array,
    Scalar,
    Tuple,
    Type,
    Vector,
    components_of,
    least_values,
    substitute_type,
    type_names,
    type_sizes,
)


def _least_cells(t: Type) -> int:
    """The scalars that a value of type t holds, where what is open is one."""
    return sum(math.prod(n.constant or 1 for n in lengths) for _, lengths in components_of(t))


def _uncountable(t: Term) -> Type | None:
    """The type of an array in a term that has too many cells to count; the term keeps the answer."""
    held = vars(t)
    if "_uncountable" not in held:
        of_all = (u.type for u in distinct(t))
        held["_uncountable"] = next(
            (each for each in of_all if _least_cells(each) > MOST_CELLS), None
        )
    found: Type | None = held["_uncountable"]
    return found


@dataclass(frozen=True)
class Program(Displayed):
    """A traced program: typed parameters and one term."""

    shown_by: ClassVar = "relift.semantics.notation.displays:of_program"

    name: str
    parameters: tuple[Input, ...]
    body: Term
    doc: str = ""
    file: str | None = None
    reference: Callable[..., Any] | None = field(default=None, compare=False)

    @cached_property
    def sizes(self) -> tuple[str, ...]:
        """The names of the sizes, in the order in which the parameters mention them."""
        found: dict[str, None] = {}
        for t in [*(p.type for p in self.parameters), self.body.type]:
            for size in type_sizes(t):
                found.update(dict.fromkeys(sorted(size.names())))
        return tuple(found)

    @property
    def least_sizes(self) -> dict[str, int]:
        """The sizes that are no numbers, each with the least value that it promises."""
        least = least_values(*(p.type for p in self.parameters), self.body.type)
        return {name: least[name] for name in self.sizes}

    @bounded_depth("the program")
    def __call__(self, *arguments: Any) -> Any:
        """The meaning of the program on NumPy values, by the interpreter; arrays of a library that speaks DLPack
        are taken, and given, too."""
        given = arguments
        arguments = host_arguments(given, ((p.name, None) for p in self.parameters), self.name)
        sizes = self.solve_sizes(arguments)
        values = {
            p.name: from_numpy(a, p.type) for p, a in zip(self.parameters, arguments, strict=True)
        }
        result = evaluate(self.body, World(sizes=sizes, inputs=values))
        known = {name: Size.of(value) for name, value in sizes.items()}
        return as_given(to_numpy(result, substitute_type(self.body.type, {}, known)), given)

    def solve_sizes(self, arguments: tuple[Any, ...]) -> dict[str, int]:
        """The sizes that the shapes of the arguments determine; raises `IllTyped` when they clash."""
        if len(arguments) != len(self.parameters):
            raise IllTyped(
                f"{self.name} takes {len(self.parameters)} arrays, {len(arguments)} are given"
            )
        matching = Matching(self.name)
        schema = {name: schema_size(name) for name in self.sizes}
        for p, argument in zip(self.parameters, arguments, strict=True):
            wanted = substitute_type(p.type, {}, schema)
            matching.match(wanted, actual_type(argument, p.type, p.name), p.name)
        matching.solve(final=True)
        found = {n: size.constant for n, size in by_letter(matching.sizes).items()}
        sizes = {name: value for name, value in found.items() if value is not None}
        self._require_least(sizes)
        return sizes

    def _require_least(self, sizes: Mapping[str, int]) -> None:
        for name, least in self.least_sizes.items():
            given = sizes.get(name, least)
            if given < 0:
                raise IllTyped(f"{self.name}: size {name} is {given}, but not negative")
            if given < least:
                raise IllTyped(
                    f"{self.name}: size {name} is {given}, but it is at least {least}; "
                    f'rl.nat("{name}", least={given}) allows {given}'
                )

    @bounded_depth("the program")
    def at(self, sizes: Mapping[str, int], *, partly: bool = False) -> Program:
        """The program at concrete sizes; at some of them, if `partly`."""
        sizes = sizes_by_name(sizes)
        missing = [name for name in self.sizes if name not in sizes]
        if missing and not partly:
            wanted = ", ".join(f'"{name}": ...' for name in missing)
            option = ",".join(f"{name}=..." for name in missing)
            raise IllTyped(
                f"{self.name}: size {missing[0]} is not given; "
                f"say sizes={{{wanted}}}, or --size {option}"
            )
        extra = sorted(set(sizes) - set(self.sizes))
        if extra:
            known = ", ".join(self.sizes) or "none"
            raise IllTyped(f"{self.name} has no size {extra[0]}; its sizes are: {known}")
        self._require_least(sizes)
        found = self.with_sizes({name: Size.of(value) for name, value in sizes.items()})
        found._require_countable()
        return found

    def _require_countable(self) -> None:
        """Raise `IllTyped` for an array with too many cells to count."""
        for u in (*self.parameters, self.body):
            if (t := _uncountable(u)) is not None:
                raise IllTyped(f"{self.name}: an array of type {t} has more than 2**48 cells")

    def with_sizes(self, values: Mapping[str, Size]) -> Program:
        """The program with sizes in the place of named ones; without any it keeps its variables' names, too."""
        if not values:
            return self
        parameters = tuple(Input(p.name, substituted(p.type, values)) for p in self.parameters)
        body = at_sizes(self.body, values)
        return Program(self.name, parameters, body, self.doc, self.file, self.reference)

    def gold(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorator: a NumPy function that computes the same, for checks at sizes out of reach."""
        object.__setattr__(self, "reference", function)
        return function

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        parameters = ", ".join(f"{p.name}: {p.type}" for p in self.parameters)
        try:
            body = show(self.body)
        except Unsupported as error:
            body = f"({error.message})"
        indented = body.replace("\n", "\n  ")
        return f"{self.name}({parameters}) -> {self.body.type} =\n  {indented}"


def well_formed(body: Term, parameters: Sequence[Input]) -> Term:
    """The body of a program, no two functions of it called alike; raises `IllTyped` where sizes do not fit."""
    _require_positive_sizes(body)
    sizes = {name for p in parameters for n in type_sizes(p.type) for name in n.names()}
    (found,) = distinctly_named([body], {*(p.name for p in parameters), *sizes}, VOCABULARY)
    return found


def _require_positive_sizes(body: Term) -> None:
    """Raise `IllTyped` where a pattern divides by a size, or pads an array, that may be 0 at some sizes."""
    for t in distinct(body):
        if not isinstance(t, Pattern):
            continue
        for size in t.signature.positive:
            found = t.sized(size)
            if not (is_bound(found) or found.surely_at_least(1)):
                names = ", ".join(f'rl.nat("{name}")' for name in sorted(found.names()))
                raise IllTyped(f"{t.name}: {found} must be at least 1; {names} is, without least=0")


def substituted(t: Type, sizes: Mapping[str, Size]) -> Type:
    """A type at given sizes; raises `IllTyped` where one becomes negative."""
    result = substitute_type(t, {}, sizes)
    for size in type_sizes(result):
        if size.constant is not None and size.constant < 0:
            raise IllTyped(f"{t} has a negative length at these sizes: {result}")
    return result


def a_program(value: Any) -> Program:
    """The value, when it is a program; else `IllTyped` says how one is made.

    >>> from relift.semantics.language.programs import a_program
    >>> a_program(None)
    Traceback (most recent call last):
    relift.semantics.errors.IllTyped: ...the program cannot be None; decorate its function with rl.program
    """
    return an_instance(value, Program, "the program", "decorate its function with rl.program")


def program(function: Callable[..., Any]) -> Program:
    """A program, traced from a Python function whose parameters are annotated with types.

    What Python computes once and reads often stands wherever it is read, unless the program were so long that none writes it out: then it has
    names (`let`).
    """
    if not inspect.isfunction(function):
        raise IllTyped(
            f"a program is traced from a function written with def, not from {function!r}"
        )
    annotations = inspect.get_annotations(function, eval_str=True)
    annotations.pop("return", None)
    names = list(inspect.signature(function).parameters)
    for name in names:
        t = annotations.get(name)
        if not isinstance(t, Scalar | Array | Tuple | Vector):
            raise IllTyped(f"{function.__name__}: parameter {name} needs a type such as rl.f32[n]")
        if isinstance(t, Vector) or _has_variable(t):
            raise IllTyped(f"{function.__name__}: parameter {name} cannot have type {t}")
    parameters = tuple(Input(name, annotations[name]) for name in names)
    with scope(names), bounded_depth(f"the program {function.__name__}", traced=True):
        body = as_term(function(*parameters))
    with bounded_depth(f"the program {function.__name__}"):
        body = well_formed(body, parameters)
        if parts_of(body) > MOST_PARTS:
            body = with_names(body)
    made = Program(
        function.__name__,
        parameters,
        body,
        inspect.getdoc(function) or "",
        inspect.getsourcefile(function),
    )
    for name in names:
        if name in made.sizes:
            raise IllTyped(
                f"{made.name}: parameter {name} has the name of a size, which is a value, too; give one another name"
            )
    return made


def _has_variable(t: Type) -> bool:
    return any(True for _ in type_names(t))
