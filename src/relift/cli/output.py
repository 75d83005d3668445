"""What the verbs print: lines, tables as wide as they are, JSON, and what goes on while a person watches."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from relift.processes.interruption import PRESSES

if TYPE_CHECKING:
    from rich.table import Table


@dataclass
class Loudness:
    """How much is said beside the answer: with --quiet nothing but errors, with --verbose every phase, in a line."""

    verbose: bool = False
    errors: TextIO | None = None
    """Where errors go, where standard error is for nothing else."""


LOUDNESS = Loudness()
"""That of this process."""


def set_loudness(*, quiet: bool, verbose: bool) -> None:
    """What --quiet and --verbose ask for; standard output holds the answer in any case."""
    LOUDNESS.verbose = verbose
    if quiet:
        LOUDNESS.errors, sys.stderr = sys.stderr, open(os.devnull, "w")  # noqa: SIM115  # until the end


_LONGEST = 2000
"""Characters of an error: its beginning says of what it is, its end what to do."""


def fail(message: str, status: int) -> NoReturn:
    """End with one line on standard error, which holds no command to a terminal, and no more than a person reads.

    What an interruption made fail, whatever it says, is an interruption.
    """
    if PRESSES.came:
        message, status = "interrupted", 130
    line = " ".join(filter(None, map(str.strip, message.splitlines())))
    line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)
    if len(line) > _LONGEST:
        line = f"{line[: _LONGEST // 2]} ... {line[-_LONGEST // 2 :]}"
    print(f"relift: {line}", file=LOUDNESS.errors or sys.stderr)
    sys.exit(status)


def print_table(table: Table) -> None:
    """A table as wide as it is, where no terminal says how wide a line may be: nothing is cut in a file or a pipe."""
    from rich.console import Console

    console = Console()
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = 1000
    console.print(table)


def print_json(value: Any) -> None:
    """One JSON object."""
    print(json.dumps(value, indent=1, default=str))


def brief(result: Any) -> str:
    """The result of a program in a line: a scalar, or an array's type and shape."""
    if isinstance(result, tuple):
        return "(" + ", ".join(map(brief, result)) + ")"
    shape = getattr(result, "shape", ())
    return f"{result}" if shape == () else f"{result.dtype}{list(shape)}"


@contextmanager
def progress_of(title: str) -> Generator[Callable[[str], None]]:
    """A line on standard error that says what goes on, where a person is watching, or every phase is asked for."""
    from rich.console import Console

    if LOUDNESS.verbose:
        started = time.monotonic()
        yield lambda text: print(
            f"{title}: {text} [{time.monotonic() - started:.2f} s]", file=sys.stderr, flush=True
        )
        return
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda text: None
        return
    with console.status(title) as status:
        yield lambda text: status.update(f"{title}: {text}")
