"""Agreement at the sizes that a kernel was made for, on each device: with the interpreter, NumPy, or single cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from relift.compiler.agreement.comparison import Agreement, agreed, compared, rounding
from relift.compiler.agreement.inputs import whole_inputs
from relift.compiler.agreement.sampled import sampled
from relift.compiler.running.compiled import Compiled
from relift.compiler.running.processes.isolated import Failed, run_apart
from relift.rewrites.derivation.confirmation import work
from relift.semantics.errors import ReliftError
from relift.semantics.language.programs import Program

REACH = 6_000_000
"""Cells and calls (see `confirmation.work`) of a source that the interpreter runs at its own sizes."""


def at_own_sizes(
    kernel: Compiled,
    source: Program,
    devices: Sequence[str],
    report: Callable[[str], None],
    reference: Callable[..., Any] | None = None,
) -> Iterator[Agreement]:
    """A kernel of a program at its sizes, on each device, in a process of its own."""
    try:
        arrays = whole_inputs(source, seed=0)
    except ReliftError as error:
        yield Agreement("the interpreter at its own sizes", False, error.message, known=False)
        return
    reached = work(source.body) <= REACH
    expected = source(*arrays) if reached else reference(*arrays) if reference else None
    judge = "NumPy" if reference and not reached else "the interpreter"
    for device in devices:
        report(device)
        on = f"at its own sizes (kernel on {device})"
        result = run_apart(kernel, arrays, device)
        if isinstance(result, Failed):
            yield Agreement(f"{judge} {on}", False, result.reason, known=result.finished)
        elif reached:
            yield agreed(f"{judge} {on}", source, result, expected)
        else:
            cells = sampled(f"cells of the interpreter {on}", source, arrays, result)
            if reference is not None:
                yield compared(f"{judge} {on}", result, expected, rounding(source))
            if reference is None or cells.known:
                yield cells
