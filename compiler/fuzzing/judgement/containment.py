"""A device in a process of its own: a driver that crashes or hangs there costs one answer, and the process is replaced.

The process stays, so that a program costs no more than to build and run it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Pipe
from threading import get_ident
from typing import Any, Literal, TypeAlias

from relift.compiler.running.arrays.buffers import Row
from relift.compiler.running.compiled import Compiled
from relift.compiler.running.processes.isolated import child_environment
from relift.semantics.errors import ReliftError, Unsupported

How: TypeAlias = Literal["not printed", "not built", "crashed", "hangs"]

SECONDS = 60.0
"""A program that takes longer hangs."""

STARTING = 600.0
"""Seconds in which a device has to show itself; its self-test may run first."""


@dataclass(frozen=True)
class NoResult:
    """A program that gave no result: how, and what was said."""

    how: How
    detail: str


@dataclass(frozen=True)
class Ran:
    """The results of a program, by buffer, and the text that the driver was given."""

    rows: list[Row]
    text: str


Answer: TypeAlias = Ran | NoResult


@dataclass
class Contained:
    """One device, in a process that starts when it is first asked; `words` is the command of that process.

    `plain` gives the driver the kernels as they are written, without what Relift does about defects that it knows.
    """

    target: str | None
    plain: bool = False
    seconds: float = SECONDS
    words: Sequence[str] = (sys.executable, "-m", "relift.compiler.fuzzing.judgement.child")
    label: str = ""
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)
    _connection: Connection | None = field(default=None, init=False)

    def name(self) -> str:
        """What the device is called; raises `ReliftError` where there is none."""
        if not self.label:
            self._start()
        return self.label

    def run(self, compiled: Compiled, rows: Mapping[str, Any]) -> Answer:
        """The results of a program, or how it gave none."""
        if self._process is None:
            self._start()
        request = (compiled.source, json.dumps(compiled.launch), dict(rows))
        connection = self._connection
        assert connection is not None, "cannot happen: it has started"
        try:
            connection.send(request)
            if not connection.poll(self.seconds):
                self.end()
                return NoResult("hangs", f"it did not end within {self.seconds:g} s")
            kind, content = connection.recv()
        except (EOFError, OSError):
            return NoResult("crashed", self._death())
        if kind == "refused":
            return NoResult("not built", content)
        if kind == "not printed":
            return NoResult("not printed", content)
        return Ran(*content)

    def _start(self) -> None:
        self._connection, other = Pipe()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed when it ends)
        with other:
            words = [*self.words, str(other.fileno()), self.target or "", str(int(self.plain))]
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                env=child_environment(),
                pass_fds=[other.fileno()],
                start_new_session=True,  # Ctrl-C is heard by the one that asks
            )
        try:
            if not self._connection.poll(STARTING):
                raise EOFError
            kind, self.label = self._connection.recv()
        except (EOFError, OSError):
            raise Unsupported(
                f"the process of the device {self.target or 'cpu'} ended: {self._death()}"
            ) from None
        if kind == "refused":
            said, self.label = self.label, ""
            self.end()
            raise ReliftError(said, place="")

    def _death(self) -> str:
        """How the process ended, and what its last words were."""
        assert self._process is not None, "cannot happen: it has started"
        status = self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        self.end()
        if status < 0:
            try:
                return signal.Signals(-status).name
            except ValueError:
                return f"signal {-status}"
        return lines[-1][:200] if lines else f"status {status}"

    def end(self) -> None:
        """End the process, whatever it does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
            self._errors.close()
        if self._connection is not None:
            self._connection.close()
            self._connection = None


_DEVICES: dict[tuple[int, int, str | None, bool], Contained] = {}


def device_of(target: str | None, *, plain: bool = False, seconds: float = SECONDS) -> Contained:
    """The device of this process and thread for a target; it is kept, for whoever asks next."""
    key = (os.getpid(), get_ident(), target, plain)
    found = _DEVICES.setdefault(key, Contained(target, plain))
    found.seconds = seconds
    return found


def end_all() -> None:
    """End the processes of all devices of this process."""
    for (owner, *_), device in list(_DEVICES.items()):
        if owner == os.getpid():
            device.end()
