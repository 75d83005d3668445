"""How terms, types and programs are displayed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relift.display.blocks import Block, Cells, Code, Folded, Title, Words
from relift.display.cells import cells_of
from relift.semantics.domains import Value
from relift.semantics.interpreter import World, evaluate
from relift.semantics.language.programs import Program
from relift.semantics.notation.printer import show
from relift.semantics.numpy_values import from_numpy
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import Input, Lambda, Pattern, Term, children, free_variables
from relift.semantics.syntax.types import substitute_type


def of_term(t: Term) -> list[Block]:
    """A term as a pipeline, with its type."""
    return [Code(show(t, "pipeline")), Words(f"of type {t.type}")]


def of_program(program: Program) -> list[Block]:
    """The parameters, the result, the pipeline, and the same as nested calls."""
    parameters = ", ".join(f"{p.name}: {p.type}" for p in program.parameters)
    said: list[Block] = [Words(program.doc)] if program.doc else []
    return [
        Title(f"{program.name}({parameters}) -> {program.body.type}"),
        *said,
        Code(show(program.body, "pipeline")),
        Folded("as nested patterns", [Code(show(program.body))]),
    ]


def stages(t: Term) -> list[Term]:
    """The closed parts of a term that a pattern computes, each once, those that are needed first before the others.

    >>> from relift import f32, show
    >>> from relift.semantics.notation.displays import stages
    >>> from relift.semantics.notation.parser import parse_term
    >>> from relift.semantics.syntax.terms import Input
    >>> t = parse_term("join(map(lambda c: c, split(2, xs)))", xs=Input("xs", f32[4]))
    >>> [show(u) for u in stages(t)]
    ['split(2, xs)', 'map(lambda c: c, split(2, xs))', 'join(map(lambda c: c, split(2, xs)))']
    """
    found: dict[int, Term] = {}

    def visit(u: Term) -> None:
        if id(u) in found:
            return
        for _, child in children(u):
            if not isinstance(child, Lambda):
                visit(child)
        if isinstance(u, Pattern) and not free_variables(u):
            found[id(u)] = u

    visit(t)
    if not found and not isinstance(t, Input):
        return [t]
    return list(found.values())


def of_run(program: Program, arguments: Sequence[Any]) -> list[Block]:
    """The inputs, the array after each stage, and the result, as the interpreter computes them."""
    sizes = program.solve_sizes(tuple(arguments))
    values: Mapping[str, Value] = {
        p.name: from_numpy(a, p.type) for p, a in zip(program.parameters, arguments, strict=True)
    }
    world = World(sizes=sizes, inputs=values)
    known = {name: Size.of(n) for name, n in sizes.items()}
    at = ", ".join(f"{name} = {n}" for name, n in sizes.items())
    found: list[Block] = [Words(f"at {at}" if at else "at fixed sizes")]
    found += [
        Cells(f"{p.name}: {substitute_type(p.type, {}, known)}", cells_of(a))
        for p, a in zip(program.parameters, arguments, strict=True)
    ]
    for number, t in enumerate(stages(program.body), 1):
        kind = substitute_type(t.type, {}, known)
        found.append(Cells(f"{number}. {_head(t)}: {kind}", cells_of(evaluate(t, world))))
    return found


def _head(t: Term) -> str:
    """The last stage of a pipeline, in a line."""
    text = show(t, "pipeline", width=10_000)
    last = text.rpartition(" >> ")[2] if text.count("(") == text.count(")") else text
    return last if len(last) <= 120 else last[:117] + "..."
