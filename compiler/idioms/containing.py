"""Work in a process of its own: C that is compared, for what is drawn may be what it was never meant for; and what may take long."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import pickle
import signal
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import IO, TypeVar

from relift.compiler.idioms.evidence import Evidence
from relift.semantics.errors import in_a_line

T = TypeVar("T")


def contained(work: Callable[[], Evidence]) -> Evidence:
    """What a run shows, in a process of its own where there can be one: C that crashes on what is drawn ends that one."""
    if not hasattr(os, "fork"):
        return work()
    reading, writing = os.pipe()
    with warnings.catch_warnings():  # the child runs nothing that other threads may hold
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        faulthandler.disable()  # the parent says how it ended
        status = 1
        try:
            with os.fdopen(writing, "wb") as out:
                _compare(work, out)
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading, "rb") as said:
        found = said.read()
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if found:
        shown: Evidence = pickle.loads(found)  # what this process's own child has written
        return shown
    return Evidence(skipped=f"the C ended its process on drawn inputs ({_ending(ended)})")


def _compare(work: Callable[[], Evidence], out: IO[bytes]) -> None:
    """Write what a run shows; where it is not the C that fails, that is said before it is raised."""
    try:
        pickle.dump(work(), out)
    except Exception as error:
        said = f"the comparison failed: {in_a_line(error)}"
        pickle.dump(Evidence(skipped=said), out)
        raise


def _ending(status: int) -> str:
    return signal.Signals(-status).name if status < 0 else f"status {status}"


@dataclass(frozen=True)
class Stopped:
    """The process ended before its work did, and how."""

    reason: str


def until(work: Callable[[], Iterable[T]], seconds: float) -> Iterator[T | Stopped]:
    """What some work yields, each as soon as it is there, by a process that is ended after so many seconds."""
    context = multiprocessing.get_context("fork")
    reading, writing = context.Pipe(duplex=False)
    process = context.Process(target=_sending, args=(work, writing))
    with warnings.catch_warnings():  # the child runs nothing that other threads may hold
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    assert process.pid is not None, "cannot happen: it was started"
    writing.close()
    ends = time.monotonic() + seconds
    try:
        while reading.poll(max(ends - time.monotonic(), 0)):
            said = reading.recv()
            if said is None:
                return
            yield said
        yield Stopped(f"cut after {seconds:g} s")
    except EOFError:
        yield Stopped("its process ended")
    finally:
        reading.close()
        with suppress(ProcessLookupError):  # the compiler, where it still runs
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        process.join()


def _sending(work: Callable[[], Iterable[T]], out: Connection) -> None:
    """Send what the work yields, then nothing."""
    os.setpgrp()
    faulthandler.disable()
    try:
        for said in work():
            out.send(said)
        out.send(None)
    except Exception as error:  # noqa: BLE001  # whatever it is, it is said of the file
        out.send(Stopped(f"failed ({in_a_line(error)})"))
