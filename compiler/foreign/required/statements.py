"""Programs of the inputs that say what is required of these, and the conditions that they make of symbols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from relift.compiler.foreign.required.lookups import Looking
from relift.compiler.validation.cells import flattened
from relift.compiler.validation.symbols import OPEN, Algebra, DependsOnData, Symbol, TooLarge
from relift.semantics.errors import ReliftError, Undefined
from relift.semantics.interpreter import World, evaluate
from relift.semantics.language.programs import Program
from relift.semantics.syntax.signatures import Matching, schema_size
from relift.semantics.syntax.sizes import by_letter
from relift.semantics.syntax.types import Array, Type, boolean, substitute_type


class NotRequired(ReliftError):
    """A program does not say what is required of the inputs of another one."""

    def __init__(self, message: str) -> None:
        super().__init__(message, place="")


@dataclass(frozen=True)
class Required:
    """Programs at the sizes of the inputs that they speak of; all that they give must be true."""

    programs: tuple[Program, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.programs)

    @property
    def names(self) -> str:
        """What they are called, for a person."""
        return " and ".join(p.name for p in self.programs)

    @property
    def note(self) -> str:
        """What a verdict rests on."""
        return f"for inputs of which is required: {self.names}"

    @property
    def inputs(self) -> frozenset[str]:
        """The inputs that they speak of."""
        return frozenset(q.name for p in self.programs for q in p.parameters)

    def conditions(self, algebra: Algebra, values: Mapping[str, Any]) -> list[Symbol]:
        """What must be true of the inputs; raises `NotRequired` where that cannot be written down.

        Where a statement looks up an element that is not there, it says nothing, so that there it does not hold.
        """
        found: list[Symbol] = []
        for p in self.programs:
            domain = Looking(algebra, found.append)
            rows: list[list[Any]] = [[]]
            try:
                said = evaluate(p.body, World(inputs=values, domain=domain))
                flattened(p.body.type, said, rows)
            except (DependsOnData, Undefined, TooLarge, RecursionError) as error:
                raise NotRequired(
                    f"{p.name} cannot be followed on inputs that are not known: {error}; "
                    "say it by comparisons of elements, such as map(lambda p: p[0] <= p[1], zip(…))"
                ) from None
            for row in rows:
                if OPEN in row:
                    raise NotRequired(f"{p.name} gives what is left open; compare what is written")
                found += [domain.lifted(v) for v in row]
        return _parts(found)


def _parts(conditions: Sequence[Symbol]) -> list[Symbol]:
    """Conditions none of which is one and another one, and none of which is known to hold."""
    found: dict[Symbol, None] = {}
    waiting = list(reversed(conditions))
    while waiting:
        b = waiting.pop()
        if b.op == "bitwise_and":
            waiting += reversed(b.args)
        elif b.op != "whole" or not b.args[0]:
            found[b] = None
    return list(found)


def required(program: Program, statements: Sequence[Program]) -> Required:
    """Statements about the inputs of a program, at its sizes; raises `NotRequired` where one does not fit.

    A statement is a program whose parameters are inputs by name, each of the same type; it gives a truth value, or an
    array of them.

    >>> import relift as rl
    >>> from relift.compiler.foreign.required.statements import required
    >>> n = rl.nat("n")
    >>> @rl.program
    ... def shifted(k: rl.i32[8], x: rl.f32[8]):
    ...     return rl.map(lambda v: v + 1.0, x)
    >>> @rl.program
    ... def natural(k: rl.i32[n]):
    ...     return rl.map(lambda v: v >= 0, k)
    >>> required(shifted, [natural]).programs[0].body.type
    boolean[8]
    """
    return Required(tuple(_fitted(program, s) for s in statements))


def _fitted(program: Program, statement: Program) -> Program:
    own = {p.name: p.type for p in program.parameters}
    said = f"what is required by {statement.name}"
    matching = Matching(statement.name)
    schema = {name: schema_size(name) for name in statement.sizes}
    for p in statement.parameters:
        if p.name not in own:
            raise NotRequired(
                f"{said} is about {p.name}, which is no input of {program.name}; "
                f"its inputs are: {', '.join(own)}"
            )
        try:
            matching.match(substitute_type(p.type, {}, schema), own[p.name], p.name)
            matching.solve()
        except ReliftError:
            raise NotRequired(
                f"{said} is about {p.name} of type {p.type}, but the input {p.name} of {program.name} is {own[p.name]}; "
                "give it that type"
            ) from None
    if not statement.parameters:
        raise NotRequired(f"{said} is about no input; give it parameters called as inputs are")
    result = _cell(statement.body.type)
    if result != boolean:
        raise NotRequired(
            f"{said} is {statement.body.type}; what is required is a truth value or an array of them, by <, == or the like"
        )
    matching.solve(final=True)
    solved = by_letter(matching.sizes)
    sizes = {n: solved[n].constant or 0 for n in statement.sizes}
    try:
        return statement.at(sizes)
    except ReliftError as error:
        raise NotRequired(f"{said} does not fit {program.name}: {error.message}") from None


def _cell(t: Type) -> Type:
    while isinstance(t, Array):
        t = t.element
    return t
