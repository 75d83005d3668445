"""Workers: the jobs of one search, several at once, each in a process forked from this one.

A job runs Python as much as it waits for its e-graph's process, so threads would take turns.  A forked process
starts with all that this one knows, so jobs need not travel, only their numbers and what they return.
Functions do not travel either: what refers to one is `shared`, and is sent as its place there.

What the jobs return does not depend on the number of workers.  A job that fails in a worker, or whose worker
is killed, is done again in this process, so that its failure is the one that is met without workers.
"""

from __future__ import annotations

import io
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe, wait
from types import FrameType
from typing import Any, NoReturn, TypeAlias, TypeVar

from relift.egraph.saturation import Progress

T = TypeVar("T")

Job: TypeAlias = Callable[[Progress | None], T]
"""A piece of work, which tells how far it is."""


def default_workers() -> int:
    """How many workers suit this machine and this process: two, or one.

    One where there is one core, where processes are not forked, and where other threads run, whose locks a
    forked process would find taken for ever.
    """
    alone = threading.active_count() == 1
    return 2 if sys.platform == "linux" and (os.cpu_count() or 1) > 1 and alone else 1


def in_order(
    jobs: Sequence[Job[T]],
    workers: int,
    shared: Sequence[object],
    progress: Progress | None = None,
) -> Iterator[T]:
    """What the jobs return, in their order; raises what the first of them that fails raises.

    However the iteration is left, the workers and the processes that they started have ended.

    >>> squares = [lambda progress, i=i: i * i for i in range(4)]
    >>> list(in_order(squares, 1, ())), list(in_order(squares, 2, ()))
    ([0, 1, 4, 9], [0, 1, 4, 9])
    """
    if min(workers, len(jobs)) < 2:
        yield from (job(progress) for job in jobs)
        return
    waiting = iter(range(len(jobs)))
    done: dict[int, bytes | None] = {}
    started: list[_Worker] = []
    try:
        for _ in range(min(workers, len(jobs))):
            started.append(_Worker(jobs, shared))
            started[-1].begin(next(waiting))
        for number, job in enumerate(jobs):
            while number not in done:
                for worker in _ready(started):
                    _hear(worker, done, waiting, progress)
            data = done.pop(number)
            yield job(progress) if data is None else _Unpickler(io.BytesIO(data), shared).load()
    finally:
        for worker in started:
            worker.end()


def _ready(workers: Sequence[_Worker]) -> list[_Worker]:
    """The workers that have something to say; waits for one."""
    said = wait([worker.connection for worker in workers if worker.job is not None])
    return [worker for worker in workers if worker.connection in said]


def _hear(
    worker: _Worker,
    done: dict[int, bytes | None],
    waiting: Iterator[int],
    progress: Progress | None,
) -> None:
    """Take one message of a worker: how far it is, or that its job is done; it gets the next one."""
    assert worker.job is not None, "cannot happen: an idle worker says nothing"
    try:
        kind, content = worker.connection.recv()
    except (EOFError, ConnectionResetError):  # it was killed
        done[worker.job], worker.job = None, None
        done.update((number, None) for number in waiting)
        return
    if kind == "progress":
        if progress is not None:
            progress(*content)
        return
    done[worker.job] = content
    worker.begin(next(waiting, None))


class _Worker:
    """A forked process that does one job after the other, and the connection to it."""

    def __init__(self, jobs: Sequence[Job[Any]], shared: Sequence[object]) -> None:
        self.job: int | None = None
        self.connection, theirs = Pipe()
        self.process = os.fork()
        if not self.process:
            _serve(jobs, shared, theirs)
        theirs.close()

    def begin(self, job: int | None) -> None:
        """Give it the job with this number, or none."""
        self.job = job
        if job is not None:
            with suppress(BrokenPipeError):  # it was killed, which the next message tells
                self.connection.send(job)

    def end(self) -> None:
        """End it, and what it has started."""
        os.kill(self.process, signal.SIGTERM)
        os.waitpid(self.process, 0)
        self.connection.close()


def _serve(jobs: Sequence[Job[Any]], shared: Sequence[object], connection: Connection) -> NoReturn:
    """Do the jobs whose numbers come, until the process is told to end.

    A signal raises `SystemExit`, so that every context is left: that of an e-graph ends its process.
    """
    try:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _exit)
        while True:
            job = jobs[connection.recv()]
            connection.send(("done", _returned(job, shared, connection)))
    except BaseException:  # the process is a copy of its parent, and must not go on as that
        os._exit(1)
    finally:
        os._exit(0)


def _exit(number: int, frame: FrameType | None) -> NoReturn:
    sys.exit(number)


def _returned(job: Job[Any], shared: Sequence[object], connection: Connection) -> bytes | None:
    """What a job returns, as it is sent; nothing when it fails."""
    data = io.BytesIO()
    try:
        _Pickler(data, shared).dump(job(lambda *content: connection.send(("progress", content))))
    except Exception:  # done again by the parent, which then meets the same
        return None
    return data.getvalue()


class _Pickler(pickle.Pickler):
    """Writes what is shared as its place among the shared objects."""

    def __init__(self, file: io.BytesIO, shared: Sequence[object]) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.places = {id(value): place for place, value in enumerate(shared)}

    def persistent_id(self, obj: Any) -> int | None:
        return self.places.get(id(obj))


class _Unpickler(pickle.Unpickler):
    """Reads what `_Pickler` writes."""

    def __init__(self, file: io.BytesIO, shared: Sequence[object]) -> None:
        super().__init__(file)
        self.shared = shared

    def persistent_load(self, pid: Any) -> Any:
        return self.shared[pid]
