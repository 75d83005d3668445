"""Long work on processes of this machine and on a cluster: what is killed is done again, and the result is the serial one."""

from __future__ import annotations

import gc
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from proofs_tests.calls import (
    Imported,
    died,
    inverse,
    squared_but_for_a_victim,
    waited_for,
    waited_with_a_child,
)
from proofs_tests.cluster import cluster
from proofs_tests.command_line import command
from proofs_tests.compiler.programs import typed
from relift.compiler.agreement.verification import failure_on_symbols
from relift.compiler.fuzzing.programs.variants import lowered
from relift.egraph.checks.shared import Portion, check_shared, parts_of
from relift.egraph.checks.tiers import check_all
from relift.egraph.process.workers import default_workers
from relift.optimization import judged
from relift.processes import executors
from relift.processes.collecting import rarely_collected, uncollected
from relift.processes.executors import LostWorkers, Workers, each, on
from relift.rewrites.derivation.steps import Derivation
from relift.rewrites.library import RULES
from relift.semantics.errors import ReliftError
from relift.semantics.language import vocabulary as rl
from relift.semantics.syntax.types import f32

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def calls_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes of their own import what they call, and they look where this one looks."""
    monkeypatch.syspath_prepend(str(ROOT))


def squares_with_a_death(executor: Executor, folder: Path) -> list[int]:
    """The squares of some numbers; who squares 0 is killed meanwhile."""

    def kill() -> None:
        os.kill(int(waited_for(folder / "victim").read_text()), signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    calls = [(str(folder), number) for number in range(12)]
    found = list(each(squared_but_for_a_victim, calls, executor))
    killer.join()
    return found


SQUARES = [number * number for number in range(12)]


def test_a_process_that_dies_takes_nothing_along(tmp_path: Path) -> None:
    """Its calls are made again, and the others are not lost."""
    with on(workers=2) as executor:
        assert executor is not None
        assert squares_with_a_death(executor, tmp_path) == SQUARES


def test_who_is_interrupted_ends_who_works_for_him(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once, with the programs that they have started: Ctrl-C does not wait for their calls."""
    monkeypatch.setattr(executors, "ENDING", 0.1)
    with pytest.raises(KeyboardInterrupt):
        _interrupted(tmp_path)
    child = int((tmp_path / "child").read_text())
    for _ in range(1000):
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            return
        time.sleep(0.01)
    raise AssertionError("the program that a worker has started still runs")


def _interrupted(folder: Path) -> None:
    """A call of another process that waits, when Ctrl-C comes."""
    with on(workers=2) as executor:
        assert executor is not None
        executor.submit(waited_with_a_child, str(folder))
        waited_for(folder / "child")
        raise KeyboardInterrupt


def test_who_is_ended_says_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Not even in the middle of an import, which makes another error of the exit."""
    workers = Workers(1)
    workers.submit(bool, Imported(tmp_path))
    waited_for(tmp_path / "child")
    workers.end()
    assert capfd.readouterr().err == ""


def test_a_call_that_nobody_survives_is_given_up() -> None:
    """With one message."""
    with Workers(1) as executor, pytest.raises(LostWorkers, match="end before it is done"):
        list(each(died, [1], executor))


def test_who_shares_the_machine_has_no_workers_of_its_own() -> None:
    """A search in one of several processes is done there, by that process."""
    with Workers(1) as executor:
        assert executor.submit(default_workers).result() == 1


def test_an_error_of_a_call_is_raised_here() -> None:
    """As if it had been made here."""
    with ThreadPoolExecutor(1) as executor, pytest.raises(ZeroDivisionError):
        list(each(inverse, [0], executor))
    assert isinstance(Workers(1), Executor)


def test_a_cluster_loses_a_worker_and_nothing_else(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A real scheduler, two workers, one of them killed; and then the scheduler, which is one message."""
    with cluster(tmp_path) as (address, processes):
        with on(scheduler=address) as executor:
            assert executor is not None
            assert squares_with_a_death(executor, tmp_path) == SQUARES
            rules = ["join_split", "map_fusion"]
            how = Portion((), tiers=("1", "3"))
            found = [r.text() for r in check_shared(rules, how, executor)]
        here = check_all([RULES[name] for name in rules], tiers=how.tiers)
        assert [_without_times(t) for t in found] == [_without_times(r.text()) for r in here]
        (tmp_path / "victim").unlink()
        capfd.readouterr()
        with pytest.raises(LostWorkers, match="the cluster has gone"):
            _with_a_dead_scheduler(address, processes[0], tmp_path)
        assert capfd.readouterr().err == ""


def _with_a_dead_scheduler(address: str, scheduler: subprocess.Popen[bytes], folder: Path) -> None:
    """Calls of which one waits, while the scheduler is killed."""
    with on(scheduler=address) as executor:

        def kill() -> None:
            waited_for(folder / "victim")
            scheduler.kill()

        threading.Thread(target=kill, daemon=True).start()
        list(each(squared_but_for_a_victim, [(str(folder), 0)], executor))


def _without_times(text: str) -> str:
    return re.sub(r"\[[\d.]+ s\]", "", text)


def test_there_is_no_scheduler() -> None:
    """One line that says how one is started."""
    with pytest.raises(ReliftError, match="dask scheduler starts one"), on(scheduler="nonsense:/"):
        pass


def test_parts_hold_all_rules_once() -> None:
    """In their order; few rules are in parts of one."""
    names = [str(i) for i in range(50)]
    assert [n for part in parts_of(names, Portion(())) for n in part.names] == names
    assert [part.names for part in parts_of(["a", "b"], Portion(()))] == [("a",), ("b",)]


def test_rules_are_checked_by_two_processes() -> None:
    """The command says what it says with one."""
    assert command("check", "join_split", "map_fusion", "--tier", "1", "--workers", "2")[0] == 3


def test_candidates_are_judged_by_who_shares_the_work() -> None:
    """As they are here; one with a function of the user's own, whose Python no file has, is judged here."""

    def doubled(v: Any) -> Any:
        return v + v

    doubled.__annotations__ = {"v": f32, "return": f32}
    own = rl.userfun(doubled)

    def derived(body: Callable[[Any], Any]) -> Derivation:
        @typed(x=f32[64])
        def mapped(x: Any) -> Any:
            return rl.map(body, x)

        result, steps = lowered(mapped.body)
        return Derivation(mapped, {}, tuple(steps), result)

    shared: list[str] = []

    class Watched(ThreadPoolExecutor):
        def submit(self, fn: Any, /, *args: Any, **named: Any) -> Any:
            shared.extend(args)
            return super().submit(fn, *args, **named)

    found = [derived(lambda v: v * 2.0), derived(own)]
    with Watched(1) as executor:
        says = judged(executor, found)
        assert [says(d) for d in found] == [failure_on_symbols(d) for d in found] == [None, None]
    assert len(shared) == 1


def test_the_last_of_two_sets_the_collector_back() -> None:
    """Two searches in two threads overlap: what was set before the first one is there again after both."""
    before = gc.get_threshold(), gc.isenabled()
    for setting in (rarely_collected, uncollected):
        one, two = ExitStack(), ExitStack()
        one.enter_context(setting())
        two.enter_context(setting())
        one.close()
        assert (gc.get_threshold(), gc.isenabled()) != before
        two.close()
        assert (gc.get_threshold(), gc.isenabled()) == before
