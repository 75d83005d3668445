"""Child processes of searches, which alone run egglog: each learns some rules, and answers messages until it is ended.

Inside `one_child` one that is done waits for whoever needs one that knows the same.
"""

from __future__ import annotations

import os
import pickle
import select
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from relift.semantics.errors import ReliftError


class SearchFailed(ReliftError):
    """The child process ended before the source program was in the e-graph."""


class Child:
    """The child process; leaving the context kills it, however it is left."""

    def __init__(self, message: dict[str, Any]) -> None:
        self._message = message
        self._buffer = bytearray()

    def __enter__(self) -> Self:
        script = Path(__file__).with_name("saturation_child.py")
        path = os.pathsep.join(p for p in sys.path if p)
        self._errors = tempfile.TemporaryFile()  # closed on exit
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, "PYTHONPATH": path},
        )
        self.send(self._message)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None, "cannot happen: it is a pipe"
            with suppress(BrokenPipeError):
                stream.close()
        self._errors.close()

    def send(self, message: dict[str, Any]) -> None:
        """Give the child something to do."""
        assert self._process.stdin is not None, "cannot happen: it is a pipe"
        try:
            pickle.dump(message, self._process.stdin)
            self._process.stdin.flush()
        except BrokenPipeError:
            self._ended()
            raise SearchFailed("the search process ran out of memory") from None

    def ask(self, message: dict[str, Any], seconds: float) -> dict[str, Any]:
        """The answer to a message; raises `SearchFailed` when it does not come in time."""
        self.send(message)
        answer = self.receive(time.monotonic() + seconds)
        if isinstance(answer, str):
            raise SearchFailed(f"the search process ran out of {answer}")
        return answer

    def receive(self, deadline: float) -> dict[str, Any] | str:
        """The next message, or which budget ran out before it came."""
        while True:
            if len(self._buffer) >= 8:
                (length,) = struct.unpack("<Q", self._buffer[:8])
                if len(self._buffer) >= 8 + length:
                    message: dict[str, Any] = pickle.loads(memoryview(self._buffer)[8 : 8 + length])
                    del self._buffer[: 8 + length]
                    return message
            assert self._process.stdout is not None, "cannot happen: it is a pipe"
            ready, _, _ = select.select(
                [self._process.stdout], [], [], max(0.0, deadline - time.monotonic())
            )
            if not ready:
                return "seconds"
            piece = os.read(self._process.stdout.fileno(), 1 << 20)
            if not piece:
                return self._ended()
            self._buffer += piece

    def _ended(self) -> str:
        """The child ended without a word: out of memory, or a fault of its own."""
        self._process.wait()
        self._errors.seek(0)
        text = self._errors.read().decode(errors="replace")
        if "memory allocation" in text or "MemoryError" in text or self._process.returncode < 0:
            return "memory"
        raise SearchFailed(f"the search process ended: {text.strip()[-500:]}")


@dataclass
class _Kept:
    """Child processes that wait for the next search of the process that started them, and what each knows."""

    owner: int
    waiting: list[tuple[Mapping[str, Any], Child]] = field(default_factory=list[Any])

    def take(self, knows: Mapping[str, Any]) -> Child | None:
        """One that knows just this; a process that was forked from its owner has none."""
        if self.owner == os.getpid():
            for place, (known, child) in enumerate(self.waiting):
                if known == knows:
                    del self.waiting[place]
                    return child
        return None

    def keep(self, child: Child, knows: Mapping[str, Any]) -> None:
        """Have this child wait; of more than a few the one that has waited longest ends."""
        if self.owner != os.getpid():
            self.owner, self.waiting = os.getpid(), []
        self.waiting.append((knows, child))
        self.end(MOST_WAITING)

    def end(self, most: int = 0) -> None:
        """End those that have waited longest, until so many are left."""
        while self.owner == os.getpid() and len(self.waiting) > most:
            self.waiting.pop(0)[1].__exit__()


MOST_WAITING = 3
"""Rules for programs that are partial and for those that are not, and the prelude on which rules are tried."""

_kept: ContextVar[_Kept | None] = ContextVar("child processes that wait", default=None)


@contextmanager
def one_child() -> Generator[None]:
    """Searches inside that know the same rules run one after the other in one child process: it takes an eighth of a second to learn them.

    Inside another `one_child` of this process the children are that one's.

    >>> from relift.egraph.process.children import one_child
    >>> from relift.egraph.process.saturation import Request, Stage, saturate
    >>> from relift.rewrites.loading import load_program
    >>> saxpy = load_program("examples/saxpy.py").at({"n": 64})
    >>> request = Request(saxpy, (Stage("all", ("split_join",), 1),), tiles=(4,))
    >>> with one_child():
    ...     saturate(request).firings == saturate(request).firings
    True
    """
    outer = _kept.get()
    if outer is not None and outer.owner == os.getpid():
        yield
        return
    kept = _Kept(os.getpid())
    token = _kept.set(kept)
    try:
        yield
    finally:
        _kept.reset(token)
        kept.end()


def waiting(knows: Mapping[str, Any]) -> Child | None:
    """A child that others have left, which knows just this; None outside of `one_child`."""
    kept = _kept.get()
    return None if kept is None else kept.take(knows)


def leave(child: Child, knows: Mapping[str, Any]) -> None:
    """Have a child that is done wait for who else needs it; outside of `one_child` it ends."""
    kept = _kept.get()
    if kept is None:
        child.__exit__()
    else:
        kept.keep(child, knows)
