"""The inputs on which a kernel is run on numbers, each by what it is called, so that a device can be given the same."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from relift.compiler.foreign.required.drawing import Admitted
from relift.compiler.foreign.required.statements import required
from relift.compiler.meaning.computed import drawn_as
from relift.compiler.validation.cells import row_name, rows_of_type
from relift.compiler.validation.symbols import Symbol
from relift.semantics.language.programs import Program

_DRAWN_TOO = re.compile(r"(.*), and (.*) as they are drawn")


def as_drawn(called: str, drawn: Collection[str]) -> str:
    """What inputs are called of which some whole numbers are those of `Comparison`."""
    return f"{called}, and {', '.join(sorted(drawn))} as they are drawn" if drawn else called


def said_as(cells: Mapping[Symbol, float]) -> str:
    """What inputs of these numbers are called."""
    said = ", ".join(f"{c.args[0]}[{c.args[1]}] = {n}" for c, n in cells.items() if n)
    return f"inputs of 0 but {said}" if said else "inputs of 0"


def drawn_inputs(
    program: Program, called: str = "", requires: Sequence[Program] = ()
) -> dict[str, list[Any]]:
    """The inputs on which a refuted kernel is shown to be wrong: the cells of each, in a row.

    `called`: as its report calls them, ordinary ones if it does not; `requires` says what holds of them.

    >>> import relift as rl
    >>> from relift.compiler.foreign.inputs import drawn_inputs
    >>> @rl.program
    ... def double(x: rl.f32[2]):
    ...     return rl.map(lambda v: v * 2.0, x)
    >>> [len(row) for row in drawn_inputs(double).values()]
    [2]
    """
    too = _DRAWN_TOO.fullmatch(called)
    admitted = Admitted(program, required(program, requires))
    kind = too[1] if too else called or admitted.first
    machine = (admitted.drawn(kind) or drawn_as(kind))({}, 0)
    drawn = admitted.whole(too[2].split(", "), kind) if too else {}
    found: dict[str, list[Any]] = {}
    for p in program.parameters:
        rows = list(rows_of_type(p.type))
        for k, (scalar, cells) in enumerate(rows):
            name = row_name(p.name, k, len(rows))
            if p.name in drawn and not scalar.is_float:
                found[name] = [v.item() for v in drawn[p.name][k]]
            else:
                found[name] = [machine.drawn(name, i, scalar.name) for i in range(cells)]
    return found
