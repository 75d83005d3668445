"""What is said of devices: those that work, those that do not, and what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from relift.compiler.devices.calibration import Calibration, kept
from relift.compiler.devices.naming import Device
from relift.compiler.devices.survey import DEFECTS, SurveyedDevice, describe, find_device
from relift.device import DeviceDescription

PACKED = {
    "nothing": "no work-items",
    "loop-free": "the work-items of kernels without loops",
    "loops": "the work-items of any kernel",
}


def to_json(found: Sequence[SurveyedDevice]) -> dict[str, Any]:
    """The devices for a program that reads them."""
    default = _default(found)
    return {
        "devices": [
            {
                **asdict(describe(device)),
                "label": f.name,
                "default": device == default,
                "defects": list(f.defects),
            }
            for f, device in _working(found)
        ],
        "broken": [{"label": f.name, "reason": f.failure} for f in found if not f.works],
    }


def lines(found: Sequence[SurveyedDevice]) -> Iterator[str]:
    """The same to be read."""
    default = _default(found)
    for f, device in _working(found):
        about = describe(device)
        yield f"{f.name}{' (the default)' if device == default else ''}"
        yield (
            f"  {about.kind}, {about.compute_units} units, {about.vector_width} lanes, "
            f"{about.clock_ghz:.1f} GHz, {about.bandwidth_gbs:.0f} GB/s, "
            f"{about.local_memory_bytes // 1024} KiB of local memory"
        )
        if about.kind == "cpu":
            yield (
                f"  {about.vector_registers} vector registers, {about.fma_gflops:.0f} GFLOP/s; makes vectors of "
                f"{PACKED[about.packs]}; {'' if kept(device) is not None else 'not '}measured "
                "by relift bench --calibrate"
            )
        for defect in f.defects:
            yield f"  {DEFECTS[defect]}"
    for f in found:
        if not f.works:
            yield f"{f.name} is broken\n  {f.failure}"


def measured_line(name: str, measured: Calibration, file: object) -> str:
    """One line: what was measured of a device, and where it is kept."""
    return (
        f"{name}: {measured.bandwidth_gbs:.0f} GB/s, {measured.fma_gflops:.0f} GFLOP/s, "
        f"{measured.launch_seconds * 1e6:.0f} us a launch; makes vectors of "
        f"{PACKED[measured.packs]}; kept in {file}"
    )


def fitted_line(
    name: str, before: DeviceDescription, bandwidth_gbs: float, fma_gflops: float
) -> str:
    """One line: what was fitted to a device, beside what was known of it.

    >>> from relift.compiler.devices.report import fitted_line
    >>> from relift.device import GPU
    >>> fitted_line("this one", GPU, 4000.0, 50000.0)
    'this one: 4000 GB/s (4240 before), 50000 GFLOP/s (60800 before)'
    """
    return (
        f"{name}: {bandwidth_gbs:.0f} GB/s ({before.bandwidth_gbs:.0f} before), "
        f"{fma_gflops:.0f} GFLOP/s ({before.fma_gflops:.0f} before)"
    )


def _working(found: Sequence[SurveyedDevice]) -> list[tuple[SurveyedDevice, Device]]:
    return [(f, f.device) for f in found if f.works and f.device is not None]


def _default(found: Sequence[SurveyedDevice]) -> Device | None:
    """The device that is taken where none is named."""
    return find_device(None) if any(f.kind == "cpu" for f, _ in _working(found)) else None
