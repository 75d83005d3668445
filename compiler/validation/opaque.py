"""Functions of a source that are not run as they are written: the program's own in C, and quotients and shifts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from relift.compiler.text.lexing import tokens_of
from relift.compiler.text.tree import Function, Source
from relift.compiler.validation.division import checked_division
from relift.compiler.validation.domain import opaque
from relift.compiler.validation.symbols import Algebra, Symbol
from relift.compiler.validation.translation.python import Opaque
from relift.semantics.syntax.scalars import SCALAR_FUNCTIONS
from relift.semantics.syntax.terms import Call, Term, UserFunction, subterms


def opaque_functions(
    source: Source, body: Term, algebra: Algebra, lifted: Callable[[Any], Symbol]
) -> tuple[dict[str, Opaque], list[str]]:
    """What these functions do, by name, and what a verdict rests on that uses them.

    The program's opaque functions are those with the same text; raises `Fault` for one that divides wrongly.
    """
    wanted = {
        u.function: tokens_of(u.function.c)
        for u, _ in subterms(body)
        if isinstance(u, Call) and u.function.c is not None
    }
    found: dict[str, Opaque] = {}
    notes: list[str] = []
    for f in source.functions:
        for function, tokens in wanted.items():
            if list(f.tokens) == tokens and _fits(f, function):
                found[f.name] = _of_c(algebra, opaque(algebra, function, lifted), function)
                notes.append(f"{function.name} is known by its name: its C text was not read")
    for f in source.functions:
        if f.name not in found and (name := _division(f.name)) is not None:
            found[f.name], note = checked_division(source, f, *name, algebra)
            if note:
                notes.append(note)
    return found, notes


def _of_c(a: Algebra, made: Callable[..., Symbol], function: UserFunction) -> Opaque:
    """The function as C calls it: truth values are numbers there."""
    kinds = ["bool" if str(t) == "boolean" else str(t) for t in function.types]

    def called(it: Any, *values: Any) -> Any:
        lifted = [
            a.truth(a.lift(v, "i32")) if kind == "bool" else a.lift(v, kind)
            for v, kind in zip(values, kinds, strict=True)
        ]
        result = made(*lifted)
        return a.convert(result, "i32") if result.type == "bool" else result

    return called


def _fits(f: Function, function: UserFunction) -> bool:
    """Whether a function of the source has the types of a function of the program, and calls its parameters alike."""
    from relift.compiler.codegen.values.functions import scalar_of
    from relift.compiler.codegen.values.scalars import c_type

    wanted = [c_type(scalar_of(t)) for t in (*function.types, function.result)]
    given = [p.type for p in f.parameters] + [f.result]
    named = tuple(p.name for p in f.parameters) == function.parameters
    return named and wanted == [replace(t, constant=False) for t in given]


def _division(name: str) -> tuple[str, str] | None:
    """The function of the table and the type that a helper function is called after, if it divides or shifts."""
    for function in (f.name for f in SCALAR_FUNCTIONS.values() if f.on == "integers"):
        for kind in ("i32", "i64"):
            if name.startswith(f"{function}_{kind}"):
                return function, kind
    return None
