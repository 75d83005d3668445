"""The times that are kept of programs on a CPU: what they must reach, and what README says of them.

`python -m proofs_tests.test_times_on_a_cpu` prints the table of README.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from proofs_tests.command_line import ROOT
from relift.compiler.bench.bundle import read_results
from relift.compiler.bench.times import over_hand, speedup

IMPLEMENTATIONS = ("Intel", "PoCL")
LOWERED = {
    "black_scholes", "convolution", "dot", "j2d5pt", "j2d5pt_border", "j2d9pt", "j3d7pt", "kmeans",
    "matmul_1024", "mriq", "nbody", "saxpy", "transpose",
}  # fmt: skip


def kept(folder: str) -> list[dict[str, Any]]:
    """The rows of times that `relift bench --json` printed for the benchmarks of a folder."""
    rows: list[dict[str, Any]] = read_results(ROOT / "examples" / folder / "results_cpu.json")[
        "entries"
    ]
    return rows


def variants(folder: str, name: str, implementation: str) -> list[dict[str, Any]]:
    """The rows of a program on an implementation, the default first."""
    return [r for r in kept(folder) if r["name"] == name and implementation in r["device"]]


def fastest(folder: str, name: str, implementation: str) -> dict[str, Any]:
    return min(variants(folder, name, implementation), key=lambda row: float(row["fastest"]))


def shown(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.2f}"


def lowered_rows() -> Iterator[str]:
    """What README shows of the low-level programs: the fastest variant of each."""
    for name in sorted(LOWERED):
        rows = [fastest("low_level", name, each) for each in IMPLEMENTATIONS]
        ratios = [shown(f(row)) for row in rows for f in (speedup, over_hand)]
        yield f"| {name} | {' | '.join(ratios)} |"


def test_what_is_kept_is_right_and_was_timed_beside_numpy_with_all_cores() -> None:
    """Every row has a right result, NumPy two threads, and every program both implementations."""
    rows = kept("low_level")
    assert all(row["ok"] and row["hand_ok"] for row in rows)
    assert {row["numpy_threads"] for row in rows if row["numpy_seconds"] is not None} == {2}
    for name in {row["name"] for row in rows}:
        assert all(variants("low_level", name, each) for each in IMPLEMENTATIONS), name


@pytest.mark.parametrize("name", sorted(LOWERED))
def test_no_low_level_program_is_slower_than_numpy_or_much_slower_than_by_hand(name: str) -> None:
    """On both implementations: at least NumPy's speed, and 0.8 of the hand-written text's."""
    for each in IMPLEMENTATIONS:
        row = fastest("low_level", name, each)
        assert (speedup(row) or 0.0) >= 1.0, each
        assert (over_hand(row) or 0.0) >= 0.8, each


def test_the_readme_shows_the_kept_times() -> None:
    """Each row of its table for CPUs is what is kept."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for row in lowered_rows():
        assert row in readme


if __name__ == "__main__":
    print("\n".join(lowered_rows()))
