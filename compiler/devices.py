"""The OpenCL devices of this machine, found by name and never by number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relift.semantics.device import CPU, GPU, DeviceDescription
from relift.semantics.errors import Unsupported

if TYPE_CHECKING:
    import pyopencl as cl

SIMULATOR = "Oclgrind"
"""A simulator is no device to run on, unless it is asked for by name."""


def devices() -> list[cl.Device]:
    """All devices; raises `Unsupported` when OpenCL or every driver is missing."""
    try:
        import pyopencl as cl
    except ImportError:
        raise Unsupported("OpenCL is not installed; pip install 'pyopencl[pocl]'") from None
    found: list[cl.Device] = []
    for platform in _platforms():
        try:
            found += platform.get_devices()
        except cl.Error:
            continue  # a driver without its device
    if not found:
        raise Unsupported(
            "there is no OpenCL device; pip install 'pyopencl[pocl]' installs one that is this CPU"
        )
    return found


def _platforms() -> list[cl.Platform]:
    import pyopencl as cl

    try:
        return cl.get_platforms()
    except cl.Error:
        return []


def find_device(target: str | None = None) -> cl.Device:
    """The device for a target: `cpu`, `gpu`, or part of the name of a device or the version of its platform.

    Without a target it is a CPU, and of several the one that came with pyopencl.  Raises `Unsupported`
    with the devices that there are, when none fits.
    """
    import pyopencl as cl

    known = devices()
    wanted = (target or "cpu").lower()
    real = [d for d in known if not is_simulator(d)]
    match wanted:
        case "cpu":
            fitting = [d for d in real if d.type & cl.device_type.CPU]
            fitting.sort(key=lambda d: _bundled(d), reverse=True)
        case "gpu":
            fitting = [d for d in real if d.type & cl.device_type.GPU]
        case _:
            fitting = [d for d in known if wanted in label(d).lower()]
    if not fitting:
        names = "; ".join(label(d) for d in known)
        raise Unsupported(f"no OpenCL device is called {target or 'cpu'!r}; there are: {names}")
    return fitting[0]


def is_simulator(device: cl.Device) -> bool:
    """Whether the device is one to find mistakes with, not to run on."""
    return SIMULATOR.lower() in label(device).lower()


def label(device: cl.Device) -> str:
    """The name of a device and the version of its platform, on one line."""
    version = " ".join(device.platform.version.split(",")[0].split())
    return f"{device.name} [{version}]"


def _bundled(device: cl.Device) -> bool:
    """Whether the device is PoCL as pip installs it, not one of the system."""
    version = device.platform.version.lower()
    return "pocl" in version and not any(name in version for name in ("debian", "ubuntu"))


def describe(device: cl.Device) -> DeviceDescription:
    """A description for the cost model: what the driver says, and the rest from the preset of its kind."""
    import pyopencl as cl

    is_gpu = bool(device.type & cl.device_type.GPU)
    preset = GPU if is_gpu else CPU
    units = device.max_compute_units
    share = units / preset.compute_units
    return DeviceDescription(
        name=device.name,
        kind=preset.kind,
        compute_units=units,
        vector_width=device.native_vector_width_float if not is_gpu else preset.vector_width,
        clock_ghz=device.max_clock_frequency / 1000 or preset.clock_ghz,
        bandwidth_gbs=preset.bandwidth_gbs,
        fma_gflops=preset.fma_gflops * share,
        local_memory_bytes=device.local_mem_size,
        max_work_group=device.max_work_group_size,
        launch_seconds=preset.launch_seconds,
        has_doubles="cl_khr_fp64" in device.extensions,
        local_memory_is_fast=device.local_mem_type == cl.device_local_mem_type.LOCAL and is_gpu,
    )
