"""Workers: what a search finds does not depend on them, and nothing of them is left."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from proofs_tests.command_line import ROOT, session
from proofs_tests.portions import portioned
from relift.device import CPU, GPU, DeviceDescription
from relift.egraph.process.saturation import Budget, Progress
from relift.egraph.process.workers import Job, in_order
from relift.egraph.search.proposals import Proposals
from relift.rewrites.loading import load_program
from relift.semantics.errors import Undefined, Unsupported


@portioned(
    "example,sizes,device",
    [
        ("j2d5pt", {"n": 64, "m": 64}, CPU),  # several starts
        ("matmul", {"n": 64, "m": 64, "k": 64}, CPU),  # plans
        ("matmul", {"n": 64, "m": 64, "k": 64}, GPU),  # tactics
        ("kmeans", {"n": 64, "k": 4, "d": 16}, GPU),  # a function of the user's
    ],
    3,
)
def test_proposals_do_not_depend_on_the_number_of_workers(
    example: str,
    sizes: Mapping[str, int],
    device: DeviceDescription,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One worker or two: the same proposals in the same order, the same derivations, the same e-graphs.

    With two, nothing is searched in this process, so all that is found came from another one.
    """
    program = load_program(str(ROOT / "examples" / f"{example}.py"))
    heard: list[str] = []
    results: list[object] = []
    for workers in (1, 2):
        if workers == 2:
            for way in (Proposals.saturated, Proposals.sketched, Proposals.derived):
                monkeypatch.setattr(Proposals, way.__name__, elsewhere(way))
        progress: list[str] = []
        task = Proposals(
            program,
            sizes,
            device,
            Budget(seconds=120),
            progress=listener(progress),
            workers=workers,
        )
        grown, proposals = task.all()
        assert len(proposals) > 2
        results.append(
            (
                [(p.cost, p.low, p.round) for p in proposals],
                [p.derive() for p in proposals[:4]],
                (grown.stopped, grown.complete, grown.nodes, grown.firings, set(grown.profile)),
            )
        )
        heard.append("\n".join(sorted(progress)))
    assert results[0] == results[1]
    assert heard[0] == heard[1]


def listener(heard: list[str]) -> Progress:
    """What keeps the stages that it is told of."""

    def listen(stage: str, nodes: int, seconds: float) -> None:
        heard.append(f"{stage}: {nodes}")

    return listen


def elsewhere(way: Callable[..., Any]) -> Callable[..., Any]:
    """The same, in every process but this one."""
    here = os.getpid()

    def checked(*arguments: Any, **options: Any) -> Any:
        assert os.getpid() != here
        return way(*arguments, **options)

    return checked


def told(number: int) -> Job[tuple[int, int]]:
    """A job that takes a while and returns its number and its process."""

    def job(progress: Progress | None) -> tuple[int, int]:
        time.sleep(0.1)
        return number, os.getpid()

    return job


def test_two_processes_share_the_jobs_and_results_keep_their_order() -> None:
    """Both workers do something, and this process does nothing."""
    numbers, processes = zip(*in_order([told(i) for i in range(6)], 2, ()), strict=True)
    assert numbers == (0, 1, 2, 3, 4, 5)
    assert len(set(processes)) == 2
    assert os.getpid() not in processes


def fails(error: Exception, seconds: float) -> Job[tuple[int, int]]:
    def job(progress: Progress | None) -> tuple[int, int]:
        time.sleep(seconds)
        raise error

    return job


@pytest.mark.parametrize("workers", [1, 2])
def test_the_first_job_that_fails_is_the_one_that_is_told(workers: int) -> None:
    """The results before it come, and its error, although a later job fails earlier."""
    jobs = [told(0), fails(Unsupported("slow", place=""), 0.3), fails(Undefined("fast", ""), 0)]
    results = in_order(jobs, workers, ())
    assert next(results)[0] == 0
    with pytest.raises(Unsupported, match="slow"):
        next(results)


def test_a_job_whose_worker_is_killed_is_done_here() -> None:
    """All workers are killed, as by a system out of memory: the results are the same."""
    here = os.getpid()

    def killed(progress: Progress | None) -> int:
        if os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return 7

    assert list(in_order([killed, killed, killed], 2, ())) == [7, 7, 7]


def test_what_is_shared_is_the_same_object_again() -> None:
    """A function, which no message can hold, comes back as the object that it was."""

    def function() -> None:
        pass

    jobs: list[Job[tuple[object, int]]] = [lambda progress: (function, os.getpid())] * 2
    for returned, process in in_order(jobs, 2, (function,)):
        assert returned is function
        assert process != os.getpid()


needs_proc = pytest.mark.skipif(
    not Path("/proc").exists(), reason="the processes of a session are read in /proc"
)

SEARCH = """
import time
from relift.device import GPU
from relift.egraph.process.saturation import Searcher
from relift.egraph.search.proposals import Proposals
from relift.rewrites.loading import load_program

def waits(*given):
    time.sleep(60)

Searcher._receive = waits
program = load_program("examples/j2d5pt.py")
Proposals(program, {"n": 4096, "m": 4096}, GPU, workers=2).all()
"""


def searching() -> subprocess.Popen[bytes]:
    """A search with two workers in a session of its own, each of which has begun to grow an e-graph.

    What the first asked for does not come, so it is not done before the other begins, however busy the machine is.
    """
    process = subprocess.Popen(
        [sys.executable, "-c", SEARCH],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    while process.poll() is None:
        if len(session(process.pid)) == 5:
            return process
        time.sleep(0.02)
    pytest.fail("the search ended before two workers had the process of an e-graph each")


@needs_proc
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_end_of_a_search_is_the_end_of_its_workers(number: signal.Signals) -> None:
    """However the search is ended, its workers and the processes of their e-graphs end too, and soon."""
    with searching() as process:
        process.send_signal(number)
        assert process.wait(timeout=10) != 0
        deadline = time.monotonic() + 2
        while session(process.pid) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert session(process.pid) == []


@needs_proc
def test_an_interrupt_in_progress_leaves_no_worker() -> None:
    """The workers, and the processes that they have started, have ended when the exception arrives."""
    jobs: list[Job[None]] = [sleeps, sleeps]
    before = children()
    started: list[int] = []

    def interrupt(stage: str, process: int, seconds: float) -> None:
        started.append(process)
        if len(started) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(in_order(jobs, 2, (), interrupt))
    assert children() <= before
    time.sleep(0.1)  # a process that was killed takes a moment
    assert not set(started) & set(session(os.getsid(0)))


def children() -> set[int]:
    """The processes that this one has started; that which builds kernels may be among them."""
    found: set[int] = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state = stat.read_text().rpartition(")")[2].split()
            if int(state[1]) == os.getpid():
                found.add(int(stat.parent.name))
    return found


def sleeps(progress: Progress | None) -> None:
    """A job that starts a process and tells its number."""
    process = subprocess.Popen(["sleep", "30"])
    assert progress is not None
    progress("sleeps", process.pid, 0.0)
    process.wait()
