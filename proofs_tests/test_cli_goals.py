"""`relift optimize` with a goal, and with the device's own word on the candidates."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from proofs_tests.command_line import ROOT, here, relift

MATMUL = str(ROOT / "examples" / "matmul.py")
DOT = str(ROOT / "examples" / "dot.py")
GOALS = str(ROOT / "examples" / "popl24_goals.py")
SIZES = ("--size", "n=64,m=64,k=64")
ITEMS = "... >= map_glb(1)[n](... >= map_glb(0)[m](... >= reduce_seq[k // t](...)))"


def test_a_sketch_decides_the_program(tmp_path: Path) -> None:
    """The best program is one that the sketch describes; its open tile is filled in; it runs."""
    found = here("optimize", MATMUL, *SIZES, "--sketch", ITEMS, "--out", str(tmp_path / "best"))
    assert found.returncode == 0, found.stderr
    term = (tmp_path / "best" / "term.txt").read_text()

    assert "map_glb(1)(" in term
    assert "split(" in term
    ran = here(
        "run", MATMUL, "--kernel", str(tmp_path / "best"), "--random", "0", "--check", *SIZES
    )
    assert ran.returncode == 0, ran.stderr + ran.stdout


def test_a_sketch_of_a_file() -> None:
    """A goal is named like a program, and its sizes are given like a program's."""
    found = here("optimize", MATMUL, *SIZES, "--sketch", GOALS + ":BASELINE", "--json")

    assert found.returncode == 0, found.stderr
    (candidate,) = json.loads(found.stdout)["candidates"]
    assert "reduce_seq" in candidate["term"]


@pytest.mark.parametrize(
    ("sketch", "message"),
    [
        ("map(", "relift: not a sketch: '(' was never closed in 'map('"),
        (GOALS + ":NOTHING", f"relift: {GOALS} has no sketch NOTHING; its sketches are: BASELINE"),
        (
            "... >= scan_seq(...)",
            (
                "relift: no term satisfies this part of the sketch: scan_seq(...) "
                "(stage 'stage into memory': saturated: no rule adds anything)"
            ),
        ),
        (
            "map[n // 5](...)",
            (
                "relift: no tiles divide the sizes n = 64, m = 64, k = 64 as the sketch "
                "map[n // 5](...) needs; give tiles that do, or pad"
            ),
        ),
    ],
)
def test_a_goal_that_cannot_be_reached_is_one_message(sketch: str, message: str) -> None:
    """Malformed, missing, unsatisfiable, or of sizes that do not divide: one line, status 2.

    In a process of its own: here the place of such a mistake would be a line of the tests.
    """
    found = relift("optimize", MATMUL, *SIZES, "--sketch", sketch)

    assert found.stderr.strip() == message
    assert found.returncode == 2


def test_tuning_is_reused(tmp_path: Path) -> None:
    """The second time, the times are those of the first."""
    words = ("optimize", DOT, "--size", "n=4096", "--tune", "--times", str(tmp_path / "t.sqlite"))
    first, second = (json.loads(here(*words, "--json").stdout) for _ in range(2))
    (before,), (after,) = first["candidates"], second["candidates"]

    assert before["measured_seconds"] > 0
    assert after["measured_seconds"] == before["measured_seconds"]
    assert before["estimated_seconds"] > 0


def test_times_without_tuning_are_refused(tmp_path: Path) -> None:
    """An option that would have no effect is an error."""
    found = here("optimize", DOT, "--size", "n=64", "--times", str(tmp_path / "t"))

    assert found.stderr == (
        "relift: --times keeps the times of --tune or --times-from; give one of them\n"
    )
    assert found.returncode == 2
