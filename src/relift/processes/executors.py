"""Long work, shared out: to processes of this machine, to a cluster, or to any executor of `concurrent.futures`.

What is shared out are calls of a function of a module; their results come back in the order of the calls, so that
whoever does the work, the result is that of doing it here.  A process that dies takes nothing along: its calls are
made again.

>>> from relift.processes.executors import each, on
>>> list(each(len, ["a", "bc"]))
[1, 2]
>>> with on(workers=2) as executor:
...     list(each(len, ["a", "bc"], executor))
[1, 2]
"""

from __future__ import annotations

import itertools
import logging
import multiprocessing
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from threading import Event, Lock
from typing import Any, ParamSpec, TypeVar

from relift.semantics.errors import ReliftError

T = TypeVar("T")
R = TypeVar("R")
P = ParamSpec("P")

AHEAD = 64
"""Calls that are handed out before the first of them has come back."""

DEATHS = 3
"""So many processes may die of a call before it is given up."""

CONNECTING = 30.0
"""Seconds in which a scheduler has to answer."""

ENDING = 3.0
"""Seconds in which a process that is told to end may end what it has started."""


STDERR = 2


class LostWorkers(ReliftError):
    """Whoever did the work is gone, and the work is not done."""

    def __init__(self, message: str) -> None:
        super().__init__(message, place="")


class Workers(Executor):
    """Processes of this machine; when one of them dies, all are started anew.

    They are started afresh, not forked: there are drivers that do not survive a fork.  Ctrl-C is for who started
    them, who ends them.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._pool = self._started()

    def _started(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(
            self.count, multiprocessing.get_context("spawn"), initializer=_apart
        )

    def submit(self, function: Callable[P, T], /, *given: P.args, **named: P.kwargs) -> Future[T]:
        """A call that one of the processes will make."""
        with _without_interruption():  # a process that is started here inherits it
            return self._pool.submit(function, *given, **named)

    def renew(self) -> None:
        """Start all processes anew; what they had to do is lost."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._pool = self._started()

    def end(self) -> None:
        """End the processes now, whatever they do, and what they have started."""
        running: dict[int, Any] = dict(getattr(self._pool, "_processes", None) or {})
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in running.values():
            process.terminate()
        until = time.monotonic() + ENDING
        for process in running.values():
            process.join(max(until - time.monotonic(), 0))
            process.kill()
            with suppress(ProcessLookupError):  # nothing that it has started is left
                os.killpg(process.pid, signal.SIGKILL)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes, when they have done what they had to do."""
        self._pool.shutdown(wait, cancel_futures=cancel_futures)


@contextmanager
def _without_interruption() -> Generator[None]:
    """Keep Ctrl-C waiting."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _apart() -> None:
    """Let a process that is told to end leave its call; what it starts is of one group with it, and of none here."""
    share()
    os.setpgrp()
    signal.signal(signal.SIGTERM, _leave)


def _leave(number: int, frame: Any) -> None:
    """End where the process is, without a word: a module in C that is being imported makes an error of the exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), STDERR)
    sys.exit(128 + number)


def each(
    function: Callable[[T], R], calls: Iterable[T], executor: Executor | None = None
) -> Iterator[R]:
    """The results of calls of a function, in their order; made here without an executor.

    Raises what a call raises, and `LostWorkers` when those who work are gone.
    """
    if executor is None:
        yield from map(function, calls)
        return
    function = partial(alone, function)
    left, deaths = iter(calls), 0
    waiting: deque[tuple[T, Future[R]]] = deque()
    try:
        while True:
            for call in itertools.islice(left, AHEAD - len(waiting)):
                waiting.append((call, _submitted(executor, function, call)))
            if not waiting:
                return
            call, future = waiting[0]
            try:
                result = future.result()
            except BrokenExecutor:
                deaths += 1
                if not isinstance(executor, Workers) or deaths == DEATHS:
                    raise LostWorkers(
                        "the processes that do the work end before it is done; "
                        "a call may need more memory than they have"
                    ) from None
                executor.renew()
                waiting = deque(_again(executor, function, waiting))
                continue
            except (CancelledError, ConnectionError, TimeoutError) as error:
                raise _gone(error) from None
            waiting.popleft()
            deaths = 0
            yield result
    finally:
        for _, future in waiting:
            future.cancel()


def at_a_time(executor: Executor) -> int:
    """How many calls those who work make at a time: as many as there are processes here, of a cluster as many as are handed out.

    >>> from relift.processes.executors import at_a_time, on
    >>> with on(workers=2) as executor:
    ...     at_a_time(executor)
    2
    """
    return executor.count if isinstance(executor, Workers) else AHEAD


def alone(function: Callable[[T], R], call: T) -> R:
    """The result of a call, while its process makes no other one: provers and drivers do not bear threads."""
    with _ONE:
        return function(call)


_ONE = Lock()
_SHARED = Event()


def share() -> None:
    """From now on this process is one of several that share some work, whatever it does."""
    _SHARED.set()


def is_shared() -> bool:
    """Whether this process is one of several that share some work: it is not to start several others by itself."""
    return _SHARED.is_set() or _ONE.locked()


def _submitted(executor: Executor, function: Callable[[T], R], call: T) -> Future[R]:
    """The future of a call; a pool that broke meanwhile says so when it is asked for the result."""
    try:
        return executor.submit(function, call)
    except BrokenExecutor as error:
        broken: Future[R] = Future()
        broken.set_exception(error)
        return broken
    except (OSError, RuntimeError) as error:
        raise _gone(error) from None


def _again(
    executor: Executor, function: Callable[[T], R], waiting: Iterable[tuple[T, Future[R]]]
) -> Iterator[tuple[T, Future[R]]]:
    """The same calls, of which those are made again that have no result."""
    for call, future in waiting:
        done = future.done() and not future.cancelled() and future.exception() is None
        yield call, future if done else _submitted(executor, function, call)


def _gone(error: BaseException) -> LostWorkers:
    said = " ".join(str(error).split())[:200] or type(error).__name__
    return LostWorkers(f"the cluster has gone before the work was done ({said})")


@contextmanager
def on(workers: int = 1, scheduler: str | None = None) -> Generator[Executor | None]:
    """The executor of `--workers` and `--scheduler`: none for one worker, processes here, or a cluster of Dask.

    Raises `ReliftError` where there is no Dask, or no scheduler at the address.
    """
    if scheduler is not None:
        with _cluster(scheduler) as executor:
            yield executor
        return
    if workers == 1:
        yield None
        return
    pool = Workers(workers)
    try:
        yield pool
    finally:
        pool.end()


@contextmanager
def _cluster(address: str) -> Generator[Executor]:
    """The workers of a scheduler of Dask, which gives their calls to others when they die."""
    try:
        from distributed import Client as connect  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise ReliftError(
            f"--scheduler {address}: Dask is not installed; pip install 'relift[cluster]'", place=""
        ) from None
    open_client: Any = connect
    _silence("distributed")
    try:
        client: Any = open_client(address, timeout=CONNECTING, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        said = " ".join(str(error).split())[:200]
        raise ReliftError(
            f"--scheduler {address}: no scheduler of Dask answers there ({said}); "
            "dask scheduler starts one, and prints its address",
            place="",
        ) from None
    try:
        yield client.get_executor(pure=False)
    finally:
        client.close(timeout=5)


def _silence(package: str) -> None:
    """Let a package log nothing: what is wrong is raised, and said once."""
    for name in (package, *logging.root.manager.loggerDict):
        if name.partition(".")[0] == package:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
