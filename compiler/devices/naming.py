"""What a device is called."""

from __future__ import annotations

from typing import Protocol


class Platform(Protocol):
    """An implementation, and its version."""

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str: ...


class Device(Protocol):
    """What is asked of a device of any back end, in the words of OpenCL, whose devices are such."""

    @property
    def name(self) -> str: ...
    @property
    def platform(self) -> Platform: ...
    @property
    def type(self) -> int: ...
    @property
    def driver_version(self) -> str: ...
    @property
    def extensions(self) -> str: ...
    @property
    def max_compute_units(self) -> int: ...
    @property
    def max_clock_frequency(self) -> int: ...
    @property
    def max_work_group_size(self) -> int: ...
    @property
    def native_vector_width_float(self) -> int: ...
    @property
    def local_mem_size(self) -> int: ...
    @property
    def global_mem_size(self) -> int: ...


IS_CPU, IS_GPU = 1 << 1, 1 << 2
"""The bits of a device's `type`, as OpenCL has them."""

SIMULATOR = "Oclgrind"
"""A simulator is no device to run on, unless it is asked for by name."""

IMPLEMENTATIONS = {"Intel(R) OpenCL": "Intel", "Portable Computing Language": "PoCL"}
"""Short names of platforms."""


def is_simulator(device: Device) -> bool:
    """Whether the device is one to find mistakes with, not to run on."""
    return SIMULATOR.lower() in label(device).lower()


def label(device: Device) -> str:
    """The name of a device and the implementation that it belongs to, on one line."""
    version = " ".join(device.platform.version.split(",")[0].split())
    name = implementation(device)
    if name.lower() not in version.lower():
        version = f"{name}, {version}"
    return f"{' '.join(device.name.split())} [{version}]"


def implementation(device: Device) -> str:
    """The short name of the OpenCL implementation, by which a device can be asked for."""
    name: str = device.platform.name
    return IMPLEMENTATIONS.get(name, name)
