"""What a device is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyopencl as cl

SIMULATOR = "Oclgrind"
"""A simulator is no device to run on, unless it is asked for by name."""

IMPLEMENTATIONS = {"Intel(R) OpenCL": "Intel", "Portable Computing Language": "PoCL"}
"""Short names of platforms."""


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
