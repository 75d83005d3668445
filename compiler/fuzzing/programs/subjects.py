"""What is run: a low-level program at sizes, with arguments, and how it came from another one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from relift.compiler.fuzzing.programs.cases import Case, program_of
from relift.compiler.fuzzing.programs.inputs import SORTS, arguments_of
from relift.compiler.fuzzing.programs.variants import Book, varied
from relift.compiler.program import compile_program, runs
from relift.compiler.running.compiled import Compiled
from relift.rewrites.checks.random.draws import Seeded
from relift.rewrites.checks.random.kernels import random_sizes
from relift.rewrites.derivation.steps import Derivation
from relift.semantics.interpreter import World, evaluate
from relift.semantics.language.programs import Program
from relift.semantics.numpy_values import from_numpy, to_numpy
from relift.semantics.syntax.terms import Term

MOST = (1, 5, 5, 5, 24)
"""Up to these are the sizes that a program leaves open; folds are made vectors of only when they are long."""

LEAST = 0.25
"""So many of them are the least that the program allows, whatever may be drawn."""

LARGEST = 3_000
"""Cells of all buffers together; larger programs are for faster interpreters."""


@dataclass(frozen=True)
class Subject:
    """A low-level program, the sizes that it is run at, and arguments.

    `derivation` leads to it from the program that says what it means, where it is another one.
    """

    program: Program
    sizes: Mapping[str, int]
    arguments: tuple[Any, ...]
    derivation: Derivation | None = None

    @cached_property
    def here(self) -> Program:
        """The program at its sizes."""
        return self.program.at({n: v for n, v in self.sizes.items() if n in self.program.sizes})

    def value(self) -> Any:
        """What the interpreter says that the low-level program is."""
        return valued(self.here, self.here.body, self.arguments)

    def compiled(self) -> Compiled:
        """Its kernels, which round every product and every sum; raises `ReliftError` where they are refused.

        They are run whatever their certificates say: what those miss is to be found, too.
        """
        return replace(compile_program(self.program, contract=False), unchecked=True)

    def rows(self, compiled: Compiled) -> dict[str, Any]:
        """Arguments and sizes by buffer."""
        return {**compiled.rows(self.arguments, {n: self.sizes[n] for n in compiled.plan.sizes})}


def valued(program: Program, body: Term, arguments: tuple[Any, ...]) -> Any:
    """What the interpreter says of a body with the parameters of a program at its sizes."""
    inputs = {
        p.name: from_numpy(a, p.type) for p, a in zip(program.parameters, arguments, strict=True)
    }
    with np.errstate(all="ignore"):
        return to_numpy(evaluate(body, World(inputs=inputs)), body.type)


def subject_of(case: Case, book: Book | None = None) -> Subject | None:
    """The subject of a case, or None where its choices made none.

    `book` has the rules that equal programs are made by; those of the library if none is given.
    """
    program = program_of(case)
    if program is None:
        return None
    sizes = _sizes(program, case)
    derivation = None
    if case.kind.making != "as drawn":
        at_sizes = program.at(sizes)
        accepts = lambda t: runs(replace(at_sizes, body=t))
        derivation = varied(program, sizes, case.random("rules"), accepts, book)
        if derivation is None:
            return None
        program = replace(derivation.program, body=derivation.result)
        sizes = {}
    drawn = case.random("arguments")
    here = program.at(sizes)
    return Subject(program, sizes, arguments_of(here, drawn, drawn.choice(SORTS)), derivation)


def _sizes(program: Program, case: Case) -> dict[str, int]:
    """Sizes for a program; now and then the least, at which loops may have no turn."""
    generator = case.random("sizes")
    drawn = random_sizes(program, Seeded(generator), case.random("most").choice(MOST))
    return {
        n: least if generator.random() < LEAST else drawn[n]
        for n, least in program.least_sizes.items()
    }


def same(x: Any, y: Any) -> bool:
    """Equal in type, shape and every number; all NaN are alike, and so are both zeros.

    >>> import numpy as np
    >>> from relift.compiler.fuzzing.programs.subjects import same
    >>> same(np.float32([0.0, np.nan]), np.float32([-0.0, np.nan])), same(np.float32(1), np.int32(1))
    (True, False)
    """
    if isinstance(x, tuple) or isinstance(y, tuple):
        alike = isinstance(x, tuple) and isinstance(y, tuple) and len(x) == len(y)
        return alike and all(map(same, x, y))
    a, b = np.asarray(x), np.asarray(y)
    return (
        a.dtype == b.dtype
        and a.shape == b.shape
        and bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))
    )
