"""The tuning database: each program timed once, kept whole, and refused when it is not ours."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from relift.egraph.search import tuning
from relift.egraph.search.optimize import as_written, optimize
from relift.egraph.search.outcomes import NoProgram
from relift.egraph.search.tuning import BadDatabase, Timing, Tuner
from relift.optimization import judged
from relift.processes.executors import Workers
from relift.rewrites.derivation.steps import Derivation
from relift.rewrites.library import RULES
from relift.rewrites.loading import load_program
from relift.semantics.errors import ReliftError
from relift.semantics.language.programs import Program
from relift.semantics.syntax.binding import alpha_equal

SAXPY = load_program("examples/saxpy.py")


class Device:
    """Counts what it is asked to time; programs of 7 elements do not run."""

    def __init__(self) -> None:
        self.timed: list[str] = []

    def __call__(self, program: Program) -> float:
        self.timed.append(str(program))
        if "[7]" in str(program):
            raise ReliftError("7 is not a size", place="")
        return float(len(self.timed))


def at(n: int) -> Program:
    return SAXPY.at({"n": n})


def test_a_program_is_timed_once(tmp_path: Path) -> None:
    """A second tuner on the same file reuses the result."""
    device = Device()
    first = Tuner(tmp_path / "t.sqlite", "cpu", device).time(at(64))
    second = Tuner(tmp_path / "t.sqlite", "cpu", device).time(at(64))

    assert (first.seconds, first.reused) == (1.0, False)
    assert (second.seconds, second.reused) == (1.0, True)
    assert len(device.timed) == 1


@pytest.mark.parametrize(("device", "n"), [("gpu", 64), ("cpu", 128)])
def test_another_device_or_size_is_timed_anew(tmp_path: Path, device: str, n: int) -> None:
    measure = Device()
    Tuner(tmp_path / "t.sqlite", "cpu", measure).time(at(64))
    assert not Tuner(tmp_path / "t.sqlite", device, measure).time(at(n)).reused


@pytest.mark.parametrize("exact", [False, True])
def test_an_exact_kernel_and_one_that_is_not_are_timed_apart(tmp_path: Path, exact: bool) -> None:
    """One text is two kernels: where products and sums may be rounded together, the time is another."""
    measure, path = Device(), tmp_path / "t.sqlite"
    Tuner(path, "cpu", measure, exact=exact).time(at(64))
    assert not Tuner(path, "cpu", measure, exact=not exact).time(at(64)).reused
    assert Tuner(path, "cpu", measure, exact=exact).time(at(64)).reused


def test_a_search_for_exact_kernels_looks_up_no_times_of_others(tmp_path: Path) -> None:
    """What one search kept of a program, a search by the other policy measures again."""
    path, other, exact = tmp_path / "t.sqlite", Device(), Device()
    optimize(SAXPY, {"n": 64}, "cpu", measure=other, tuning=path)
    optimize(SAXPY, {"n": 64}, "cpu", float="exact", measure=exact, tuning=path)
    assert set(exact.timed) & set(other.timed)


def test_a_failure_is_kept_with_its_reason(tmp_path: Path) -> None:
    device = Device()
    tuner = Tuner(tmp_path / "t.sqlite", "cpu", device)

    assert [tuner.time(at(7)).failure for _ in range(2)] == ["7 is not a size"] * 2
    assert len(device.timed) == 1


def test_an_interrupted_tuning_goes_on(tmp_path: Path) -> None:
    """What was timed before Ctrl-C is not timed again."""
    path = tmp_path / "t.sqlite"
    done = Device()

    def interrupted(program: Program) -> float:
        if done.timed:
            raise KeyboardInterrupt
        return done(program)

    with pytest.raises(KeyboardInterrupt):
        Tuner(path, "cpu", interrupted).best([at(8), at(16)], 60, lambda text: None)
    found = Tuner(path, "cpu", done).best([at(8), at(16)], 60, lambda text: None)

    assert [t is not None and t.reused for t in found] == [True, False]


def test_the_budget_ends_the_tuning(tmp_path: Path) -> None:
    """The candidates that others have to beat are timed; the others are left open."""
    tuner = Tuner(tmp_path / "t.sqlite", "cpu", Device())
    timings = tuner.best([at(8), at(16), at(32)], 0.0, lambda text: None)

    assert [timing is not None for timing in timings] == [True, True, False]


def test_no_candidate_is_begun_that_would_end_after_the_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is judged slowly takes as long as the longest before it: three of six seconds each fit into twenty."""
    now = [0.0]
    monkeypatch.setattr(tuning, "monotonic", lambda: now[0])

    def measure(program: Program) -> float:
        now[0] += 6.0
        return 1.0

    tuner = Tuner(tmp_path / "t.sqlite", "cpu", measure)
    timings = tuner.best([at(8 << i) for i in range(6)], 20.0, lambda text: None)

    assert [timing is not None for timing in timings] == [True] * 3 + [False] * 3


class Two(Workers):
    """Two workers that make their calls at once, and count them."""

    def __init__(self) -> None:
        self.count, self.calls = 2, 0

    def submit(self, function: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        self.calls += 1
        done: Future[Any] = Future()
        done.set_result(function(*given, **named))
        return done


def test_workers_judge_only_what_is_timed_next() -> None:
    """Not all that may be timed at all: the seconds for that may be over before."""
    derivations = [as_written(SAXPY, {"n": 8 * i}, "cpu").derivation for i in range(1, 6)]
    workers = Two()
    wrong = judged(workers, derivations)

    assert [wrong(derivations[0]), wrong(derivations[1]), workers.calls] == [None, None, 2]
    assert [wrong(derivations[4]), workers.calls] == [None, 4]


class Steady:
    """A device on which every program takes its time."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds, self.runs = seconds, 0

    def __call__(self, program: Program) -> float:
        self.runs += 1
        return self.seconds[str(program)]


def test_the_tuned_answer_is_not_slower_than_the_untuned_one(tmp_path: Path) -> None:
    """A time of an earlier run, when the machine had more to do, does not decide: finalists take turns."""
    programs = [at(n) for n in (64, 128, 256, 512)]
    now = dict(zip(map(str, programs), (1.0, 2.0, 3.0, 4.0), strict=True))
    tuner = Tuner(tmp_path / "t.sqlite", "cpu", Steady(now))
    tuner.keep("saxpy", {str(programs[0]): Timing(9.0)})  # the one that is estimated best

    found = tuner.best(programs, 60.0, lambda _: None)
    assert [timing.seconds for timing in found if timing is not None] == [1.0, 2.0, 3.0, 4.0]


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.sqlite"
    path.write_bytes(b"no database at all, but long enough to look like one" * 40)

    with pytest.raises(BadDatabase, match=r"t\.sqlite: is no tuning database"):
        Tuner(path, "cpu", Device()).time(at(8))


@pytest.mark.parametrize(
    ("pragma", "message"),
    [("application_id = 7", "another program"), ("user_version = 99", "has format 99")],
)
def test_a_foreign_file_is_refused(tmp_path: Path, pragma: str, message: str) -> None:
    path = tmp_path / "t.sqlite"
    Tuner(path, "cpu", Device()).time(at(8))
    with sqlite3.connect(path) as database:
        database.execute(f"PRAGMA {pragma}")
    database.close()

    with pytest.raises(BadDatabase, match=message):
        Tuner(path, "cpu", Device()).time(at(8))


DOT = load_program("examples/dot.py")


class Clock:
    """Says that every later program is faster, and counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[Program] = []

    def __call__(self, program: Program) -> float:
        self.asked.append(program)
        return 1.0 / len(self.asked)


def test_a_search_puts_the_fastest_measured_first(tmp_path: Path) -> None:
    """The order is that of the times, whatever was estimated; both are reported."""
    clock = Clock()
    found = optimize(DOT, {"n": 65536}, top=3, measure=clock, tuning=tmp_path / "t.sqlite")
    times = [f.measured or 0.0 for f in found.candidates]

    assert times == sorted(times)
    assert found.term == clock.asked[-1]
    assert all(f.cost.seconds > 0 for f in found.candidates)


def test_a_second_search_measures_nothing(tmp_path: Path) -> None:
    """The same program, sizes and device are looked up; another size is measured."""
    again, other = Clock(), Clock()
    best = optimize(DOT, {"n": 65536}, measure=Clock(), tuning=tmp_path / "t.sqlite")
    found = optimize(DOT, {"n": 65536}, measure=again, tuning=tmp_path / "t.sqlite")
    optimize(DOT, {"n": 32768}, measure=other, tuning=tmp_path / "t.sqlite")

    assert not again.asked
    assert other.asked
    assert found.candidates[0].measured == best.candidates[0].measured


class Later:
    """A device on which all is equally fast but what is first measured in a generation of descendants."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.seconds: dict[str, float] = {}

    def __call__(self, program: Program) -> float:
        late = any("generation" in stage for stage in self.heard)
        return self.seconds.setdefault(str(program), 0.5 if late else 1.0)

    def progress(self, stage: str, nodes: int, seconds: float) -> None:
        self.heard.append(stage)


def test_generations_find_what_no_plan_proposes(tmp_path: Path) -> None:
    """The steps of a candidate with another number in them: a derivation like any other, which a second search finds again."""
    device = Later()
    kept = tmp_path / "t.sqlite"
    found = optimize(DOT, {"n": 4096}, measure=device, tuning=kept, progress=device.progress)

    assert found.candidates[0].measured == 0.5
    assert alpha_equal(found.derivation.replay(RULES)[-1], found.term.body)
    x, y = (np.random.default_rng(i).random(4096, np.float32) for i in (0, 1))
    np.testing.assert_allclose(found.term(x, y), np.dot(x, y), rtol=1e-3)

    again = Clock()
    assert optimize(DOT, {"n": 4096}, measure=again, tuning=kept).term == found.term
    assert not again.asked


def test_a_goal_has_no_descendants(tmp_path: Path) -> None:
    """It says what tiles there are."""
    device = Later()
    goal = "... >= reduce_seq[n // tile](... >= reduce_seq[tile](...))"
    optimize(
        DOT, {"n": 4096, "tile": 64}, sketch=goal,
        measure=device, tuning=tmp_path / "t.sqlite", progress=device.progress,
    )  # fmt: skip

    assert device.seconds
    assert not any("generation" in stage for stage in device.heard)


def test_without_seconds_no_generation_is_timed(tmp_path: Path) -> None:
    """And none is said to have come to an end: the next search goes on."""
    device, kept = Later(), tmp_path / "t.sqlite"
    for budget in (1e-3, 120):
        assert set(device.seconds.values()) <= {1.0}
        optimize(
            DOT, {"n": 4096}, budget=budget,
            measure=device, tuning=kept, progress=device.progress,
        )  # fmt: skip
    assert 0.5 in device.seconds.values()


def test_a_damaged_file_is_found_before_the_search(tmp_path: Path) -> None:
    """Nothing is searched or measured for a database that cannot be used."""
    path = tmp_path / "t.sqlite"
    path.write_bytes(b"no database at all, but long enough to look like one" * 40)
    clock = Clock()
    heard: list[str] = []

    with pytest.raises(BadDatabase):
        optimize(
            DOT, {"n": 64}, measure=clock, tuning=path,
            progress=lambda stage, nodes, seconds: heard.append(stage),
        )  # fmt: skip
    assert not clock.asked
    assert not heard


KILLED = """
import sys
from pathlib import Path
from relift.egraph.search.optimize import optimize
from relift.egraph.search.tuning import Tuner
from relift.rewrites.loading import load_program
saxpy = load_program("examples/saxpy.py")
tuner = Tuner(Path(sys.argv[1]), "cpu", lambda program: 1.0)
for n in range(1, 10_000):
    tuner.time(saxpy.at({"n": n}))
    print(n, flush=True)
"""


def test_a_killed_process_leaves_the_database_whole(tmp_path: Path) -> None:
    """Killed while it writes, a search leaves a database that reads, with all that it reported."""
    path = tmp_path / "t.sqlite"
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if int(line) == 10:
                process.kill()
                break
    tuner = Tuner(path, "cpu", Device())

    assert all(tuner.time(at(n)).reused for n in range(1, 11))


MID_WRITE = """
import os, signal, sqlite3, sys
from pathlib import Path
from relift.egraph.search.tuning import Tuner
from relift.rewrites.loading import load_program

saxpy, path = load_program("examples/saxpy.py"), Path(sys.argv[1])

class Killed(sqlite3.Connection):
    def execute(self, text, *values):
        done = super().execute(text, *values)
        if text.startswith("INSERT"):
            super().execute("PRAGMA cache_size = 1")
            super().execute("UPDATE timings SET failure = hex(zeroblob(500000))")
            os.kill(os.getpid(), signal.SIGKILL)
        return done

Tuner(path, "cpu", lambda program: 1.0).time(saxpy.at({"n": 1}))
connect = sqlite3.connect
sqlite3.connect = lambda *given, **options: connect(*given, factory=Killed, **options)
Tuner(path, "cpu", lambda program: 2.0).time(saxpy.at({"n": 2}))
"""


def test_a_process_killed_in_the_middle_of_a_write_leaves_the_database_whole(
    tmp_path: Path,
) -> None:
    """Half of a write is in the file when the process dies: it is undone, and what was there is kept."""
    path = tmp_path / "t.sqlite"
    killed = subprocess.run(
        [sys.executable, "-c", MID_WRITE, str(path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    assert path.with_name("t.sqlite-journal").stat().st_size > 0
    assert path.stat().st_size > 500_000
    tuner = Tuner(path, "cpu", Device())

    assert tuner.time(at(1)) == Timing(1.0, reused=True)
    assert not tuner.time(at(2)).reused
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_candidate_in_which_something_is_wrong_is_not_timed(tmp_path: Path) -> None:
    """What the judge says is kept instead of a time; without a candidate that is right there is no program."""
    clock = Clock()
    with pytest.raises(NoProgram, match="its kernels are wrong"):
        optimize(
            DOT, {"n": 64}, measure=clock, tuning=tmp_path / "t.sqlite",
            judge=lambda _: lambda _: "its kernels are wrong",
        )  # fmt: skip


def test_a_candidate_is_judged_once(tmp_path: Path) -> None:
    """However often the fastest are measured."""
    asked: list[Derivation] = []

    def judge(_: Sequence[Derivation]) -> Callable[[Derivation], str | None]:
        return asked.append  # which says None of each

    clock = Clock()
    optimize(DOT, {"n": 4096}, measure=clock, tuning=tmp_path / "t.sqlite", judge=judge)

    assert len(clock.asked) > len(set(map(str, clock.asked)))
    assert len(asked) == len({id(derivation) for derivation in asked})


def test_nothing_slower_than_the_program_as_written_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the clock: it is measured, too, however many are estimated to be better."""
    monkeypatch.setattr("relift.egraph.search.optimize.MEASURED", 1)
    written = as_written(DOT, {"n": 65536}, "cpu")

    def clock(program: Program) -> float:
        return 1.0 if str(program) == str(written.term) else 2.0

    found = optimize(DOT, {"n": 65536}, measure=clock, tuning=tmp_path / "t.sqlite")

    assert (str(found.term), found.candidates[0].measured) == (str(written.term), 1.0)
