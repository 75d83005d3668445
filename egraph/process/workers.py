"""Workers: the jobs of one search, several at once, each in a process forked from this one.

A job runs Python as much as it waits for its e-graph's process, so threads would take turns.  A forked process
starts with all that this one knows, so jobs need not travel, only their numbers and what they return.
Functions do not travel either: what refers to one is `shared`, and is sent as its place there.

What the jobs return does not depend on the number of workers.  A job that fails in a worker, or whose worker
is killed, is done again in this process, so that its failure is the one that is met without workers.

What two workers gain is seen on a machine on which nothing else runs, where the second of these has one worker:
`relift optimize examples/matmul.py --size n=1024,m=1024,k=1024`, and the same after `taskset -c 0`.
"""

from __future__ import annotations

import io
import os
import pickle
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any, TypeAlias, TypeVar

from relift.egraph.process.saturation import Progress
from relift.processes.executors import is_shared

T = TypeVar("T")

Job: TypeAlias = Callable[[Progress | None], T]
"""A piece of work, which tells how far it is."""


MOST_WORKERS = 2
"""More share one memory bus, and each has an e-graph's process beside it."""


def default_workers() -> int:
    """How many workers suit this machine and this process: two, or one.

    One where there is one core, where this process is one of several, and where forked processes are not safe.  Other threads, such as the one that
    draws a progress line, do no harm: a worker prints nothing, so it needs none of their locks.
    """
    if sys.platform != "linux" or is_shared():
        return 1
    return min(MOST_WORKERS, len(os.sched_getaffinity(0)))


def in_order(
    jobs: Sequence[Job[T]],
    workers: int,
    shared: Sequence[object],
    progress: Progress | None = None,
) -> Generator[T]:
    """What the jobs return, in their order; raises what the first of them that fails raises.

    However the iteration is left, the workers and the processes that they started have ended.

    >>> from relift.egraph.process.workers import in_order
    >>> squares = [lambda progress, i=i: i * i for i in range(4)]
    >>> list(in_order(squares, 1, ())), list(in_order(squares, 2, ()))
    ([0, 1, 4, 9], [0, 1, 4, 9])
    """
    if workers < 2 or not jobs:  # a job that is alone is one of several rounds of a search
        yield from (job(progress) for job in jobs)
        return
    waiting = iter(range(len(jobs)))
    done: dict[int, bytes | None] = {}
    started: list[_Worker] = []
    lifeline = os.pipe()
    try:
        for _ in range(min(workers, len(jobs))):
            started.append(_Worker(jobs, shared, lifeline))
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
        for end in lifeline:
            os.close(end)


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
    """A forked process that does one job after the other, and the connection to it.

    It leads a process group, to which the processes that it starts belong: one signal ends them all.
    """

    def __init__(
        self, jobs: Sequence[Job[Any]], shared: Sequence[object], lifeline: tuple[int, int]
    ) -> None:
        self.job: int | None = None
        self.connection, theirs = Pipe()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
        with warnings.catch_warnings():
            # from Python 3.12 on it warns of threads, which NumPy's libraries have; no job uses those
            warnings.simplefilter("ignore", DeprecationWarning)
            self.process = os.fork()
        if not self.process:
            try:
                os.setpgid(0, 0)
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
                _serve(jobs, shared, theirs, lifeline)
            finally:  # it is a copy of its parent, and must never go on as that
                os._exit(0)
        with suppress(ProcessLookupError):
            os.setpgid(self.process, self.process)  # whoever comes first
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()

    def begin(self, job: int | None) -> None:
        """Give it the job with this number, or none."""
        self.job = job
        if job is not None:
            with suppress(BrokenPipeError):  # it was killed, which the next message tells
                self.connection.send(job)

    def end(self) -> None:
        """End it, and what it has started."""
        with suppress(ProcessLookupError):  # it was killed, and what it had started has ended
            os.killpg(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        self.connection.close()


def _serve(
    jobs: Sequence[Job[Any]],
    shared: Sequence[object],
    connection: Connection,
    lifeline: tuple[int, int],
) -> None:
    """Do the jobs whose numbers come, for as long as the parent lives, however it ends."""
    alive, parents = lifeline
    os.close(parents)
    threading.Thread(target=_die_with_parent, args=(alive,), daemon=True).start()
    while True:
        job = jobs[connection.recv()]
        connection.send(("done", _returned(job, shared, connection)))


def _die_with_parent(alive: int) -> None:
    os.read(alive, 1)  # nothing is ever written: it returns when the other end is closed
    os.killpg(0, signal.SIGKILL)


def _returned(job: Job[Any], shared: Sequence[object], connection: Connection) -> bytes | None:
    """What a job returns, as it is sent; nothing when it fails."""

    def progressed(stage: str, nodes: int, seconds: float) -> None:
        connection.send(("progress", (stage, nodes, seconds)))

    data = io.BytesIO()
    try:
        _Pickler(data, shared).dump(job(progressed))
    except Exception:  # noqa: BLE001  # whatever it is: the parent does the job again and meets it
        return None
    return data.getvalue()


def _shared(place: int) -> object:
    """What is shared, by its place: `_Unpickler` reads it as what its own process has there."""
    raise AssertionError(f"cannot happen: {place} is read by what knows the shared objects")


class _Pickler(pickle.Pickler):
    """Writes what is shared as its place among the shared objects.

    Of these it is asked for what is no number, text, or container of Python's alone, as a persistent id would be of everything.
    """

    def __init__(self, file: io.BytesIO, shared: Sequence[object]) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.place_of = {id(value): place for place, value in enumerate(shared)}.get

    def reducer_override(self, obj: Any) -> Any:
        place = self.place_of(id(obj))
        return NotImplemented if place is None else (_shared, (place,))


class _Unpickler(pickle.Unpickler):
    """Reads what `_Pickler` writes."""

    def __init__(self, file: io.BytesIO, shared: Sequence[object]) -> None:
        super().__init__(file)
        self.shared = shared

    def find_class(self, module_name: str, global_name: str) -> Any:
        if (module_name, global_name) == (__name__, _shared.__name__):
            return self.shared.__getitem__
        return super().find_class(module_name, global_name)
