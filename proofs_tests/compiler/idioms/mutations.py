"""Lifted programs with one mistake: another number or function, another begin, stride or length."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from relift.compiler.idioms.lifting.programs import Lifted
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.programs import Program
from relift.semantics.patterns import Reduce
from relift.semantics.syntax.nodes import fields, rebuilt
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import Apply, Lambda, Literal, Term

_OTHERS = {"add": "sub", "sub": "add", "mul": "add", "div": "mul", "lt": "ge", "gt": "le"}


def mutants(program: Program) -> Iterator[Program]:
    """The program with one mistake, in each place where one can be made."""
    number = 0
    while True:
        planted = _Planting(number)
        body = planted.term(program.body)
        if planted.left >= 0:
            return
        if body != program.body:
            yield replace(program, body=body)
        number += 1


def misplaced(lifted: Lifted) -> Iterator[Lifted]:
    """What was lifted with a wrong begin of an array, a wrong stride, or a loop that runs once more."""
    for i, p in enumerate(lifted.parameters):
        if p.first is not None:
            moved = replace(p, first=p.first + 1)
            yield replace(
                lifted, parameters=(*lifted.parameters[:i], moved, *lifted.parameters[i + 1 :])
            )
    target = lifted.target
    for d, stride in enumerate(target.strides):
        for wrong in (stride + 1, -stride):
            strides = (*target.strides[:d], wrong, *target.strides[d + 1 :])
            yield replace(lifted, target=replace(target, strides=strides))
    if target.strides:
        yield replace(lifted, target=replace(target, first=target.first + 1))
    for name, meaning in lifted.sizes.items():
        if not any("length of" in part for part in meaning.names()):
            less = {name: Size.atom(name) - 1}
            values = {value: size.substitute(less) for value, size in lifted.values.items()}
            yield replace(lifted, sizes={**lifted.sizes, name: meaning + 1}, values=values)


class _Planting:
    """Walks through a term and makes the mistake at the place with a number."""

    def __init__(self, number: int) -> None:
        self.left = number

    def term(self, t: Term) -> Term:
        wrong = self._wrong(t)
        if wrong is not None:
            self.left -= 1
            if self.left == -1:
                return wrong
        return (
            rebuilt(t, [self._field(f) for f in fields(t)])
            if (fields(t) and t.below) or t.row
            else t
        )

    def _field(self, f: Any) -> Any:
        if isinstance(f, Lambda):
            return Lambda(f.parameters, self.term(f.body))
        if isinstance(f, tuple):
            return tuple(self.term(t) for t in f)
        return self.term(f) if hasattr(f, "holds") else f

    def _wrong(self, t: Term) -> Term | None:
        match t:
            case Literal(value, kind) if not isinstance(value, bool) and abs(value) < 1e6:
                return Literal(value + 1, kind)
            case Apply(function) if function in _OTHERS:
                return replace(t, function=_OTHERS[function])
            case Reduce() if t.op == rl.add:
                return rebuilt(t, (rl.mul, t.init, t.xs))
            case _:
                return None
