"""Running what a rule of the user's may do to a check: loop forever, fill the memory, end the process.

Relift counts its own work, so a check of a rule ends by itself.  A user function is Python that Relift did not
write; what calls one runs in a process of its own, under limits.  A limit that is reached is no verdict: the
tier is then not finished.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TypeVar

from relift.semantics.errors import ReliftError, in_a_line

T = TypeVar("T")

SECONDS = 10
"""Processor time that a tier may take on a rule that calls a user function."""

WAITING = 3
"""How much longer it may take in all, for a function that waits instead of working."""

MEMORY = 2 << 30
"""Bytes that it may take beyond what the process has already."""


class Stopped(Exception):
    """What ran in a process of its own did not come to its end; the message says why."""


def in_a_process(work: Callable[[], T], *, seconds: int | None = None, memory: int = MEMORY) -> T:
    """What `work` returns, computed in a process of its own; raises `Stopped` when it does not come to its end.

    It may take `seconds` of processor time, `SECONDS` where none are given.  A `ReliftError` that it raises is
    raised here.  Without `fork`, as on Windows, it runs in this process.

    >>> import os
    >>> from relift.rewrites.checks.isolation import in_a_process
    >>> in_a_process(lambda: 6 * 7)
    42
    >>> in_a_process(lambda: os._exit(9))
    Traceback (most recent call last):
        ...
    relift.rewrites.checks.isolation.Stopped: the process ended with status 9
    """
    if not hasattr(os, "fork"):
        return work()
    seconds = SECONDS if seconds is None else seconds
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _run(work, writing, seconds, memory)
    os.close(writing)
    try:
        answer = _read(reading, time.monotonic() + WAITING * seconds)
        if answer is None:
            os.kill(child, signal.SIGKILL)
    except BaseException:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    finally:
        os.close(reading)
    _, status = os.waitpid(child, 0)
    if answer is None:
        raise Stopped(f"it had not ended after {WAITING * seconds} s")
    if not answer:
        raise Stopped(_ending(status, seconds))
    kind, value = pickle.loads(answer)
    match kind:
        case "value":
            result: T = value
            return result
        case "error":
            message, place = value
            raise ReliftError(message, place or "")
        case _:
            raise Stopped(value)


def _run(work: Callable[[], object], writing: int, seconds: int, memory: int) -> None:
    """The child's part: limits, work, answer, end."""
    import resource

    answer: tuple[str, object] = ("stopped", "it left the process")
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it, and ends this process
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _limit(resource.RLIMIT_CPU, seconds)
        _limit(resource.RLIMIT_AS, taken() + memory)
        answer = ("value", work())
    except ReliftError as error:
        answer = ("error", (error.message, error.place))
    except MemoryError:
        answer = ("stopped", "it ran out of memory")
    except RecursionError:
        answer = ("stopped", "it is nested too deeply")
    except Exception as error:  # noqa: BLE001  whatever a function of the user's raises
        answer = ("stopped", in_a_line(error))
    finally:  # whatever happens, this process does not go on with what its parent was doing
        with suppress(Exception):
            data = pickle.dumps(answer)
            while data:
                data = data[os.write(writing, data) :]
        os._exit(0)


def _limit(resource_of: int, most: int) -> None:
    import resource

    _, hard = resource.getrlimit(resource_of)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(resource_of, (most, hard))


def taken() -> int:
    """Bytes of address space that this process has."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 4 << 30


def _read(reading: int, end: float) -> bytes | None:
    """What a child writes until it ends; None when it has not ended in time."""
    data = b""
    while (left := end - time.monotonic()) > 0:
        ready, _, _ = select.select([reading], [], [], left)
        if ready:
            part = os.read(reading, 1 << 16)
            if not part:
                return data
            data += part
    return None


def _ending(status: int, seconds: int) -> str:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number in (signal.SIGXCPU, signal.SIGKILL):
            return f"it used {seconds} s of processor time, and was stopped"
        return f"the process ended by {signal.Signals(number).name}"
    return f"the process ended with status {os.WEXITSTATUS(status)}"


@contextmanager
def at_most(seconds: int, *, memory: int = MEMORY) -> Generator[None]:
    """Stop Python code of the user's that does not come to its end; raises `Stopped`, or `MemoryError`.

    It must stay in this process, for what it makes is needed here; only the main thread can be stopped so.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        raise Stopped(f"it had not ended after {seconds} s")

    try:
        before = signal.signal(signal.SIGALRM, stop)
    except (ValueError, AttributeError):  # not the main thread; not a system with this signal
        yield
        return
    started = time.monotonic()
    left, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
    with _at_most_memory(memory):
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
            if left:
                signal.setitimer(signal.ITIMER_REAL, max(0.01, left - (time.monotonic() - started)))


@contextmanager
def _at_most_memory(memory: int) -> Generator[None]:
    """This process takes at most this many bytes more."""
    import resource

    limits = resource.getrlimit(resource.RLIMIT_AS)
    _limit(resource.RLIMIT_AS, taken() + memory)
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
