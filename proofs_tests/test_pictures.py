"""Each kind of picture is drawn by one command, of what is kept or of what is found."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import relift as rl
from proofs_tests.command_line import ROOT, here
from relift import pictures
from relift.cli.drawing import KINDS, plot
from relift.egraph.search.tuning import Timing, Timings
from relift.rewrites.library import RULES

KEPT = ROOT / "examples" / "low_level"
n = rl.nat("n")


def words(file: Path) -> str:
    """What stands in a picture as text, which matplotlib writes as comments beside the glyphs."""
    return " ".join(re.findall(r"<!-- (.*?) -->", file.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("kind", "results", "said"),
    [
        ("roofline", "results_h200.json", "operations per byte"),
        ("shares", "results_h200.json", "per cent of the roofline"),
        ("predicted", "results_h200.json", "rank correlation"),
        ("ablation", "ablation_h200.json", "index simplification"),
    ],
)
def test_times_that_are_kept(
    kind: str, results: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A picture of rows of times, with the names of what was timed."""
    file = tmp_path / "drawn.svg"
    plot(kind, str(KEPT / results), file)

    assert capsys.readouterr().out == f"written to {file}\n"
    assert said in words(file)
    assert kind == "predicted" or "matmul" in words(file)


def test_a_derivation_is_a_strip_and_a_search_a_line(tmp_path: Path) -> None:
    """Each step stands under its rule; each e-graph is a line, and the rules say how often they matched."""

    @rl.program
    def double(x: rl.f32[n]):
        return rl.map(lambda v: v * 2.0, x)

    found = rl.reach(double, "... >= map[n // t](... >= map[t](...))", {"n": 8, "t": 4}).derivation
    pictures.derivation(found, found.replay(RULES), tmp_path / "strip.svg")
    assert "split_join" in words(tmp_path / "strip.svg")

    grown = [pictures.Iteration("a", nodes, float(nodes)) for nodes in (3, 5, 9)]
    pictures.growth("double", grown, {"split_join": 7, "map_fusion": 2}, tmp_path / "grown.svg")
    assert "double: 9 matches (split_join 7; map_fusion 2)" in words(tmp_path / "grown.svg")


def test_what_tuning_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the order in which it was measured, those that failed left out."""
    database = Timings(tmp_path / "times.sqlite", "a device")
    for number, seconds in enumerate([3e-3, 1e-3, None, 2e-3]):
        database.keep("dot", {f"term {number}": Timing(seconds, "" if seconds else "it failed")})
    assert database.history("dot") == {"a device": [3e-3, 1e-3, 2e-3]}

    plot("tuning", "dot", tmp_path / "tuned.svg", times=database.path)
    assert "dot on a device" in words(tmp_path / "tuned.svg")
    assert capsys.readouterr().out.startswith("written to")


def test_what_cannot_be_drawn_is_said(tmp_path: Path) -> None:
    """A kind that there is not, a file that is no picture, times without an ablation: one line, status 2."""
    results = str(KEPT / "results_h200.json")
    said = here("plot", "pie", results)
    assert said.returncode == 2
    assert "there is no picture pie" in said.stderr

    rows = json.loads((KEPT / "results_h200.json").read_text("utf-8"))
    few = tmp_path / "few.json"
    few.write_text(json.dumps({**rows, "entries": rows["entries"][:1]}), "utf-8")
    with pytest.raises(rl.ReliftError, match="with all analyses only"):
        plot("ablation", str(few), tmp_path / "a.png")
    with pytest.raises(rl.ReliftError, match=r"its name must end in \.png"):
        plot("roofline", str(few), tmp_path / "a.txt")


def test_every_kind_is_documented() -> None:
    """On the page of pictures."""
    page = (ROOT / "docs" / "guides" / "pictures.md").read_text(encoding="utf-8")

    assert [kind for kind in KINDS if f"relift plot {kind} " not in page] == []
