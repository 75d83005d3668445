"""Calibration: what is measured of a device is kept whole, for its driver only, and used."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from relift.compiler.devices.calibration import (
    FITTED,
    Calibration,
    calibrate,
    file_of,
    keep,
    keep_fit,
    kept,
    kept_fit,
)
from relift.compiler.devices.survey import describe, find_device
from relift.device import CPU

FOUND = Calibration(
    bandwidth_gbs=33.0,
    fma_gflops=500.0,
    launch_seconds=1e-5,
    packs="loops",
    refetch_cycles=2.0,
    unseen_rows=0.5,
    turned_cycles=1.5,
    third_gbs=60.0,
)


@dataclass(frozen=True)
class Platform:
    name: str = "An OpenCL"


@dataclass(frozen=True)
class Device:
    """What a device says of itself, as far as a calibration is kept under it."""

    name: str = "a CPU"
    driver_version: str = "1.0"
    max_compute_units: int = 2
    platform: Platform = Platform()


def device(**differences: Any) -> Any:
    """A device that stands for one of OpenCL."""
    return Device(**differences)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own for each test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def test_what_is_kept_is_found_for_the_same_driver_only() -> None:
    assert kept(device()) is None
    keep(device(), FOUND)

    assert kept(device()) == FOUND
    for other in (
        device(driver_version="1.1"),
        device(name="another CPU"),
        device(max_compute_units=4),
        device(platform=Platform("another OpenCL")),
    ):
        assert kept(other) is None


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"format": 0}', '{"format": 6, "packs": "loops", "bandwidth_gbs": "much"}',
     '{"format": 6, "packs": "loops", "bandwidth_gbs": NaN, "fma_gflops": 1.0, "launch_seconds": 1.0, "refetch_cycles": 1.0, "unseen_rows": 0.0, "turned_cycles": 0.4, "third_gbs": 50.0}',
     '{"format": 6, "packs": "all", "bandwidth_gbs": 1.0, "fma_gflops": 1.0, "launch_seconds": 1.0, "refetch_cycles": 1.0, "unseen_rows": 0.0, "turned_cycles": 0.4, "third_gbs": 50.0}',
     '{"format": 6, "packs": "loops", "bandwidth_gbs": 1.0, "fma_gflops": 1.0, "launch_seconds": 1.0, "refetch_cycles": -1.0, "unseen_rows": 0.0, "turned_cycles": 0.4, "third_gbs": 50.0}',
     '{"format": 6, "packs": "loops", "bandwidth_gbs": 1.0, "fma_gflops": 1.0, "launch_seconds": 1.0, "refetch_cycles": 1.0, "unseen_rows": 0.0}'],
)  # fmt: skip
def test_a_damaged_file_is_as_good_as_none(text: str) -> None:
    keep(device(), FOUND)
    file_of(device()).write_text(text)
    assert kept(device()) is None


def test_a_description_says_what_was_fitted_until_it_is_measured_anew() -> None:
    found = find_device("cpu")
    keep(found, FOUND)
    measured = describe(found)
    keep_fit(found, 12.0, 345.0)

    assert describe(found) == replace(measured, bandwidth_gbs=12.0, fma_gflops=345.0)
    keep(found, FOUND)
    assert describe(found) == measured


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"format": 0}', '{"format": 6, "bandwidth_gbs": 1.0}',
     '{"format": 6, "bandwidth_gbs": 1.0, "fma_gflops": -1.0}', '{"format": 6, "bandwidth_gbs": NaN, "fma_gflops": 1.0}'],
)  # fmt: skip
def test_a_damaged_fit_is_as_good_as_none(text: str) -> None:
    keep_fit(device(), 1.0, 1.0)
    file_of(device(), FITTED).write_text(text)
    assert kept_fit(device()) == {}


def test_a_description_says_what_was_measured() -> None:
    found = find_device("cpu")
    before = describe(found)
    keep(found, FOUND)

    assert describe(found) == replace(before, **asdict(FOUND))


def test_a_calibration_measures_something() -> None:
    """Within bounds that any CPU of this century keeps."""
    found = calibrate(find_device("cpu"))

    assert 0.1 < found.bandwidth_gbs < 10_000
    assert 0.1 < found.fma_gflops < 1_000_000
    assert 0 < found.launch_seconds < 1
    assert found.packs in ("nothing", "loop-free", "loops")
    assert 0 <= found.refetch_cycles < 100
    assert 0 <= found.unseen_rows < 1000  # beside processes that take both cores, it was 21
    assert 0 <= found.turned_cycles < 100
    assert 0 <= found.third_gbs < 1000


def test_a_launch_is_measured_behind_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a host waits until it knows that nothing is left to do is no part of it: kernels of a program do not wait for that."""
    now = 0.0

    def passing(seconds: float, *_: Any) -> Any:
        nonlocal now
        now += seconds
        return SimpleNamespace(profile=SimpleNamespace(start=0, end=0))

    queue = SimpleNamespace(finish=partial(passing, 100e-6))
    monkeypatch.setattr("pyopencl.CommandQueue", lambda *_, **__: queue)
    monkeypatch.setattr("pyopencl.enqueue_nd_range_kernel", partial(passing, 2e-6))
    monkeypatch.setattr("time.perf_counter", lambda: now)

    assert calibrate(find_device("cpu")).launch_seconds == pytest.approx(3e-6)


def test_the_clock_of_a_core_follows_from_its_multiply_adds() -> None:
    """Two vectors a cycle and core, each with two operations per lane."""
    described = replace(CPU, compute_units=4, vector_width=8, fma_gflops=4 * 8 * 4 * 3.0)
    assert described.core_ghz == pytest.approx(3.0)
