"""The OpenCL devices of this machine, found by name and never by number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relift.compiler.drivers import INSTALL, drivers, register
from relift.semantics.device import CPU, GPU, DeviceDescription
from relift.semantics.errors import Unsupported

if TYPE_CHECKING:
    import pyopencl as cl

SIMULATOR = "Oclgrind"
"""A simulator is no device to run on, unless it is asked for by name."""


IMPLEMENTATIONS = {"Intel(R) OpenCL": "Intel", "Portable Computing Language": "PoCL"}
"""Short names of platforms."""


def devices() -> list[cl.Device]:
    """All devices; raises `Unsupported` when OpenCL or every driver is missing."""
    register(drivers())
    import pyopencl as cl

    found: list[cl.Device] = []
    for platform in _platforms():
        try:
            found += platform.get_devices()
        except cl.Error:
            continue  # a driver without its device
    if not found:
        raise Unsupported(f"there is no OpenCL device; {INSTALL}")
    return found


def _platforms() -> list[cl.Platform]:
    import pyopencl as cl

    try:
        return cl.get_platforms()
    except cl.Error:
        return []


def find_device(target: str | None = None) -> cl.Device:
    """The device for a target: `cpu`, `gpu`, or part of the name of a device or the version of its platform.

    Without a target it is a CPU.  Raises `Unsupported` with the devices that there are, when none fits.
    """
    known = devices()
    import pyopencl as cl

    wanted = (target or "cpu").lower()
    real = [d for d in known if not is_simulator(d)]
    match wanted:
        case "cpu":
            fitting = [d for d in real if d.type & cl.device_type.CPU]
            fitting.sort(key=_place)
        case "gpu":
            fitting = [d for d in real if d.type & cl.device_type.GPU]
        case _:
            fitting = [d for d in known if wanted in f"{d.platform.name} {label(d)}".lower()]
    if not fitting:
        names = "; ".join(label(d) for d in known)
        raise Unsupported(f"no OpenCL device is called {target or 'cpu'!r}; there are: {names}")
    return fitting[0]


def is_simulator(device: cl.Device) -> bool:
    """Whether the device is one to find mistakes with, not to run on."""
    return SIMULATOR.lower() in label(device).lower()


def label(device: cl.Device) -> str:
    """The name of a device and the implementation that it belongs to, on one line."""
    version = " ".join(device.platform.version.split(",")[0].split())
    name = implementation(device)
    if name.lower() not in version.lower():
        version = f"{name}, {version}"
    return f"{' '.join(device.name.split())} [{version}]"


def implementation(device: cl.Device) -> str:
    """The short name of the OpenCL implementation, by which a device can be asked for."""
    name: str = device.platform.name
    return IMPLEMENTATIONS.get(name, name)


def _place(device: cl.Device) -> int:
    """Where a device stands among those of its kind: the one that pip installs comes first."""
    known = [*IMPLEMENTATIONS.values()]
    name = implementation(device)
    return known.index(name) if name in known else len(known)


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
