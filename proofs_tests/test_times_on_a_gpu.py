"""The times that are kept of what the search finds on a GPU: what they reach, and what the documents say of them.

`python -m proofs_tests.test_times_on_a_gpu h100` prints a table of `docs/measurements/`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from proofs_tests.command_line import ROOT
from proofs_tests.documents import measurements
from relift.compiler.bench.bundle import read_results
from relift.compiler.bench.times import predictions, rank_correlation, speedup

REACHED = 0.9
"""Of the best known time."""

MISSED: dict[str, set[str]] = {"h100": {"column_variance"}, "h200": set()}
"""By card: the run on an H100 is older."""

of_each_card = pytest.mark.parametrize("card", sorted(MISSED))


def kept(card: str) -> dict[str, list[dict[str, Any]]]:
    """The rows of each program, the candidate that the search puts first before the others."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in read_results(ROOT / "examples" / "searched" / f"results_{card}.json")["entries"]:
        rows.setdefault(row["name"], []).append(row)
    return rows


def fastest(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return min(rows, key=lambda row: float(row["seconds"]))


def shown_rows(card: str) -> Iterator[str]:
    """What `docs/measurements/` shows of each program."""
    for name, rows in kept(card).items():
        best = fastest(rows)
        seconds = best["seconds"]
        first, reference = rows[0]["seconds"], best["reference_seconds"]
        times = f"{seconds * 1e6:.0f} | {first * 1e6:.0f} | {best['flops'] / seconds * 1e-9:.0f}"
        against = f"{reference * 1e6:.0f} | {best['reference']} | {speedup(best) or 0:.2f}"
        yield f"| {name} | {times} | {best['moved'] / seconds * 1e-9:.0f} | {against} |"


def ratios(card: str) -> dict[str, float]:
    """How many times as fast as the best known each program is."""
    return {name: speedup(fastest(rows)) or 0.0 for name, rows in kept(card).items()}


@of_each_card
def test_all_results_were_right(card: str) -> None:
    """Every candidate of every program computed what it must, and has a reference."""
    rows = [row for of_name in kept(card).values() for row in of_name]
    assert all(row["ok"] and row["reference_seconds"] for row in rows)


@of_each_card
def test_what_misses_the_best_known_time_is_named(card: str) -> None:
    assert {name for name, ratio in ratios(card).items() if ratio < REACHED} == MISSED[card]


@pytest.mark.parametrize(("card", "least"), [("h100", 1.0), ("h200", 1.0)])
def test_the_programs_take_together_no_longer_than_the_best_known(card: str, least: float) -> None:
    """By the geometric mean, without those whose reference is far slower."""
    near = [ratio for ratio in ratios(card).values() if ratio < 2]
    assert math.exp(sum(map(math.log, near)) / len(near)) >= least


@of_each_card
def test_candidates_are_predicted_in_the_order_of_their_times(card: str) -> None:
    """On an H100, too, whose memory is slower than that of the H200 that the model describes."""
    correlation = rank_correlation(
        predictions([row for of_name in kept(card).values() for row in of_name])
    )
    assert correlation is not None
    assert correlation >= 0.85


@of_each_card
def test_the_documents_show_the_kept_times(card: str) -> None:
    shown_there = measurements()
    for row in shown_rows(card):
        assert row in shown_there


if __name__ == "__main__":
    print("\n".join(shown_rows(sys.argv[1])))
    found = list(ratios(sys.argv[1]).values())
    near = [ratio for ratio in found if ratio < 2]
    print(f"{len(found)} programs, {sum(r >= REACHED for r in found)} at least {REACHED},", end=" ")
    print(f"{len(near)} below 2 with mean {math.exp(sum(map(math.log, near)) / len(near)):.2f}")
