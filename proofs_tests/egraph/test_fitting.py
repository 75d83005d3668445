"""The cost model is fitted to what was measured: programs that teach a number move it, and nothing else does."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import relift as rl
from proofs_tests.command_line import relift
from relift.compiler.devices.survey import describe, find_device
from relift.device import CPU, GPU, DeviceDescription
from relift.egraph.cost.model import OVERLAP_SEEN, estimate
from relift.egraph.search.fitting import LEAST, fitted
from relift.egraph.search.optimize import optimize
from relift.egraph.search.tuning import BadDatabase, Timing, Timings, Work
from relift.rewrites.loading import load_program
from relift.semantics.errors import ReliftError

factors = st.floats(0.5, 2.0)


def taken(work: Work, device: DeviceDescription) -> float:
    computed, moved = work.cycles / device.core_ghz, work.gigabytes / device.bandwidth_gbs
    return max(computed, moved) + OVERLAP_SEEN * min(computed, moved) + work.launch


def programs() -> Iterator[Work]:
    """Some that compute, some that move, some that do both."""
    for i in range(1, 7):
        yield Work(1e-3 * i, 1e-4, 1e-6)
        yield Work(1e-5, 1e-2 * i, 1e-6)
        yield Work(1e-3 * i, 1e-2 * i, 1e-6)


@given(factors, factors)
def test_what_a_device_does_is_found_from_times(compute: float, memory: float) -> None:
    true = replace(
        CPU, fma_gflops=CPU.fma_gflops * compute, bandwidth_gbs=CPU.bandwidth_gbs * memory
    )
    found = fitted(CPU, [(work, taken(work, true)) for work in programs()])

    assert math.isclose(found.fma_gflops, true.fma_gflops, rel_tol=0.05)
    assert math.isclose(found.bandwidth_gbs, true.bandwidth_gbs, rel_tol=0.05)
    assert found.off <= found.off_before + 1e-9


def test_what_no_program_teaches_stays_as_it_is() -> None:
    moved = [(Work(0.0, 0.01 * i, 0.0), 0.03 * i / CPU.bandwidth_gbs) for i in range(1, LEAST + 1)]
    found = fitted(CPU, moved)

    assert found.fma_gflops == CPU.fma_gflops
    assert math.isclose(found.bandwidth_gbs, CPU.bandwidth_gbs / 3.0, rel_tol=0.05)


def test_few_programs_teach_nothing() -> None:
    with pytest.raises(ReliftError, match=f"{LEAST} are needed"):
        fitted(GPU, [(Work(1.0, 1.0, 0.0), 1.0)] * (LEAST - 1))


def test_tuning_keeps_what_the_model_says_beside_the_times(tmp_path: Path) -> None:
    kept = tmp_path / "times.sqlite"
    saxpy = load_program("examples/saxpy.py")
    found = optimize(saxpy, {"n": 4096}, CPU, measure=lambda _: 1e-3, tuning=kept, top=8)
    worked = Timings(kept, CPU.name).worked()

    assert {(round(w.cycles, 12), s) for w, s in worked} >= {
        (round(each.cost.compute * CPU.core_ghz, 12), 1e-3) for each in found.candidates
    }


def test_a_database_of_an_earlier_relift_has_no_work_and_keeps_its_times(tmp_path: Path) -> None:
    times = Timings(tmp_path / "times.sqlite", "a device")
    times.keep("dot", {"dot": Timing(1.0)})
    assert times.worked() == []
    times.did({"dot": Work(1.0, 2.0, 0.0)})
    assert times.worked() == [(Work(1.0, 2.0, 0.0), 1.0)]


def test_work_that_is_none_is_refused(tmp_path: Path) -> None:
    times = Timings(tmp_path / "times.sqlite", "a device")
    times.keep("dot", {"dot": Timing(1.0)})
    times.did({"dot": Work(1.0, 2.0, 0.0)})
    with closing(sqlite3.connect(times.path)) as database, database:
        database.execute("UPDATE work SET cycles = 'many'")
    with pytest.raises(BadDatabase, match="where work should be"):
        times.worked()


def test_a_device_is_described_as_it_was_fitted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("RELIFT_TUNING", str(tmp_path / "times.sqlite"))
    device = find_device("cpu")
    about = describe(device)
    slower = replace(about, bandwidth_gbs=about.bandwidth_gbs / 2.0)
    kept = Timings(tmp_path / "times.sqlite", about.name)
    for number, work in enumerate(programs()):
        kept.keep("program", {str(number): Timing(taken(work, slower))})
        kept.did({str(number): work})

    said = json.loads(relift("bench", "--refit", "--target", "cpu", "--json").stdout)["devices"]
    ((_, fit),) = said.items()
    assert fit["programs"] == len(list(programs()))
    assert math.isclose(describe(device).bandwidth_gbs, slower.bandwidth_gbs, rel_tol=0.05)

    again = json.loads(relift("bench", "--refit", "--target", "cpu", "--json").stdout)["devices"]
    assert again == said  # a fit does not start from the last one

    saxpy = rl.optimize(
        load_program("examples/saxpy.py"), {"n": 1 << 22}, describe(device)
    ).candidates[0]
    assert saxpy.cost.memory > 1.5 * estimate(saxpy.term, about).memory
