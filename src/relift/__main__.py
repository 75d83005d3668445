"""`python -m relift`, and the command `relift`: the command line, which Ctrl-C ends at any time.

Python may lose an interruption: one that arrives while it imports the command line is a traceback, one while it
makes a class is a `RuntimeError`, one while it imports a module in C is an `ImportError`, one in a callback is printed
and forgotten, and one in code made by `exec`, as dataclasses make it, ends the process by the signal even where it is
handled.  Here it is status 130 and one line, whenever it comes.
"""

from __future__ import annotations

import sys
from typing import Any, NoReturn

from relift.processes.interruption import PRESSES

INTERRUPTED = 130


def main() -> NoReturn:
    """Run the command line to its end, or to an interruption."""
    before = sys.unraisablehook

    def lost(said: Any) -> None:
        if issubclass(said.exc_type, KeyboardInterrupt):
            PRESSES.again(0.02)
        else:
            before(said)

    try:
        PRESSES.listen()
        sys.unraisablehook = lost
        from relift.cli import main as command_line

        command_line()
    except SystemExit as stop:
        PRESSES.ignore()
        if stop.code == INTERRUPTED or not PRESSES.came:
            raise
    except (KeyboardInterrupt, Exception) as error:
        PRESSES.ignore()
        if not (PRESSES.came or isinstance(error, KeyboardInterrupt)):
            raise
    else:
        PRESSES.ignore()
        if not PRESSES.came:
            sys.exit(0)
    print("relift: interrupted", file=sys.stderr, flush=True)
    sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
