"""How long a program takes on a device: what a search needs to choose by measurement."""

from __future__ import annotations

from collections.abc import Callable

from relift.compiler.agreement.inputs import random_inputs
from relift.compiler.program import compile_program
from relift.semantics.language.programs import Program

REPEATS = 5


def timer(target: str | None = None, *, contract: bool = True) -> Callable[[Program], float]:
    """A function that runs a program on random inputs and returns the seconds of its fastest run.

    The time is that of the kernels by the device's clock; the first run, which compiles, does not count.
    Without `contract`, what is timed is exact, as `compile_program` says.
    """

    def seconds(program: Program) -> float:
        compiled = compile_program(program, contract=contract)
        return min(compiled.timed(random_inputs(program, 0), target, REPEATS))

    return seconds
