"""Measured times: kept, found again, and never lost to a search that is killed."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import relift as rl
from relift.egraph.search import optimize
from relift.egraph.tuning import BadDatabase, TuningDatabase
from relift.rewrites.loading import load_program
from relift.semantics.device import CPU
from relift.semantics.language import Program

n = rl.nat("n")


@rl.program
def dot(x: rl.f32[n], y: rl.f32[n]):
    """The sum of products."""
    return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(x, y)))


EXAMPLE = load_program(str(Path(__file__).parents[2] / "examples" / "dot.py"))


class Clock:
    """A measurement that says later programs are faster, and counts what it is asked."""

    def __init__(self, fail_at: int | None = None) -> None:
        self.asked: list[Program] = []
        self.fail_at = fail_at

    def __call__(self, program: Program) -> float:
        if len(self.asked) == self.fail_at:
            raise KeyboardInterrupt
        self.asked.append(program)
        return 1.0 / len(self.asked)


def test_the_fastest_measured_comes_first() -> None:
    """The order is that of the times, whatever was estimated; both are reported."""
    clock = Clock()
    found = optimize(dot, {"n": 65536}, CPU, top=3, measure=clock)

    assert [f.measured for f in found.candidates] == sorted(1.0 / i for i in range(
        len(clock.asked), len(clock.asked) - 3, -1
    ))  # fmt: skip
    assert found.term == clock.asked[-1]
    assert all(f.cost.seconds > 0 for f in found.candidates)


def test_known_times_are_not_measured_again(tmp_path: Path) -> None:
    """A second search for the same program, sizes and device measures nothing; another size does."""
    file = tmp_path / "times.db"
    first, second, third = Clock(), Clock(), Clock()
    best = optimize(dot, {"n": 65536}, CPU, measure=first, tuning=file)
    again = optimize(dot, {"n": 65536}, CPU, measure=second, tuning=file)
    optimize(dot, {"n": 32768}, CPU, measure=third, tuning=file)

    assert first.asked
    assert not second.asked
    assert third.asked
    assert again.candidates[0].measured == best.candidates[0].measured
    assert again.term == best.term


def test_an_interrupted_search_goes_on_where_it_was(tmp_path: Path) -> None:
    """What was measured before the interruption is kept; only the rest is measured then."""
    file = tmp_path / "times.db"
    with pytest.raises(KeyboardInterrupt):
        optimize(dot, {"n": 65536}, CPU, measure=Clock(fail_at=2), tuning=file)
    clock = Clock()
    found = optimize(dot, {"n": 65536}, CPU, measure=clock, tuning=file, top=100)

    assert len(clock.asked) == len(found.candidates) - 2


KILLED = """
import sys, time
from pathlib import Path
import relift as rl
from relift.egraph.tuning import TuningDatabase
from relift.rewrites.loading import load_program
dot = load_program("examples/dot.py")
with TuningDatabase(Path(sys.argv[1])) as times:
    for size in range(1, 10_000):
        times.keep(dot.at({"n": size}), "a device", float(size))
        print(size, flush=True)
"""


def test_a_killed_process_leaves_the_database_whole(tmp_path: Path) -> None:
    """Killed while it writes, a search leaves a database that reads, with all that it reported."""
    root = Path(__file__).parents[2]
    file = tmp_path / "times.db"
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(file)], cwd=root, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if int(line) == 20:
                process.send_signal(signal.SIGKILL)
                break
    with TuningDatabase(file) as times:
        assert [times.known(EXAMPLE.at({"n": i}), "a device") for i in (1, 20)] == [1.0, 20.0]
        (rows,) = sqlite3.connect(file).execute("SELECT count(*) FROM times").fetchone()
    assert rows >= 20


@pytest.mark.parametrize("content", ["text", "foreign", "newer"])
def test_a_damaged_or_foreign_database_is_refused(tmp_path: Path, content: str) -> None:
    """The message names the file and what to do; the file stays as it is; nothing was searched."""
    file = tmp_path / "times.db"
    if content == "text":
        file.write_text("these are not the times you are looking for" * 50)
    elif content == "foreign":
        with sqlite3.connect(file) as foreign:
            foreign.execute("CREATE TABLE recipes (name TEXT)")
    else:
        TuningDatabase(file).__exit__()
        with sqlite3.connect(file) as newer:
            newer.execute("PRAGMA user_version = 99")
    before = file.read_bytes()
    why = {
        "text": "file is not a database",
        "foreign": "it is a database of something else",
        "newer": "it has format 99, this Relift reads format 1",
    }[content]
    with pytest.raises(BadDatabase) as raised:
        optimize(dot, {"n": 65536}, CPU, measure=Clock(), tuning=file)

    message = f"{file} is no tuning database: {why}; move it away, or name another file"
    assert str(raised.value) == message
    assert file.read_bytes() == before
