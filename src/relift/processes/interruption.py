"""Whether somebody pressed Ctrl-C: what Python, or a module in C, makes another error of is an interruption still."""

from __future__ import annotations

import signal
import threading
import time
from typing import Any

AGAIN = 3.0
"""Seconds after which an interruption that something has swallowed, such as a search for drivers, comes again."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C; of a class of its own, since Python takes a handled `KeyboardInterrupt` in `exec` for unhandled."""


class Presses:
    """Ctrl-C as the command `relift` takes it: an `Interrupted` wherever it is, and a fact from then on."""

    def __init__(self) -> None:
        self.came = False

    def listen(self) -> None:
        """Take Ctrl-C from now on."""
        signal.signal(signal.SIGINT, self._press)

    def _press(self, number: int, frame: Any) -> None:
        self.came = True
        self.again(AGAIN)
        raise Interrupted

    def again(self, seconds: float) -> None:
        """Interrupt the main thread again: it was raised where nothing can be raised, which is left by then."""

        def later() -> None:
            time.sleep(seconds)
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

        threading.Thread(target=later, daemon=True).start()

    def ignore(self) -> None:
        """The answer is given: there is nothing left to interrupt."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)


PRESSES = Presses()
