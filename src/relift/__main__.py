"""`python -m relift`, and the command `relift`: the command line, which Ctrl-C ends at any time.

Python may lose an interruption: one that arrives while it imports the command line is a traceback, one while it
imports a module in C is an `ImportError`, one in a callback is printed and forgotten, and one in code made by `exec`,
as dataclasses make it, ends the process by the signal even where it is handled.  Here it is status 130 and one line,
whenever it comes.
"""

from __future__ import annotations

import _thread
import signal
import sys
import time
from typing import Any, NoReturn

INTERRUPTED = 130


class Interrupted(KeyboardInterrupt):
    """Ctrl-C; of a class of its own, since Python takes a handled `KeyboardInterrupt` in `exec` for unhandled."""


def main() -> NoReturn:
    """Run the command line to its end, or to an interruption."""
    before = sys.unraisablehook
    interrupted = False

    def interrupt(number: int, frame: Any) -> None:
        nonlocal interrupted
        interrupted = True
        raise Interrupted

    def lost(said: Any) -> None:
        if issubclass(said.exc_type, KeyboardInterrupt):
            _thread.start_new_thread(_once_more, (_thread.get_ident(),))
        else:
            before(said)

    try:
        signal.signal(signal.SIGINT, interrupt)
        sys.unraisablehook = lost
        from relift.cli import main as command_line

        command_line()
    except SystemExit:
        _deaf()
        raise
    except (KeyboardInterrupt, Exception) as error:
        if not (interrupted or isinstance(error, KeyboardInterrupt)):
            raise
        _deaf()
        print("relift: interrupted", file=sys.stderr, flush=True)
        sys.exit(INTERRUPTED)
    _deaf()
    sys.exit(0)


def _once_more(main_thread: int) -> None:
    """Interrupt again: it was raised where nothing can be raised, and the main thread has left that place soon."""
    time.sleep(0.02)
    signal.pthread_kill(main_thread, signal.SIGINT)


def _deaf() -> None:
    """The answer is given: there is nothing left to interrupt."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


if __name__ == "__main__":
    main()
