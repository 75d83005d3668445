"""The devices of this machine, of OpenCL and of other back ends, found by name and never by number: those that pass a self-test."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache, lru_cache
from platform import machine
from typing import Any

from relift.compiler.devices.caches import KNOWN, data_caches
from relift.compiler.devices.calibration import kept, kept_fit
from relift.compiler.devices.drivers import ONLY, Driver, register, users_setting
from relift.compiler.devices.naming import (
    IMPLEMENTATIONS,
    IS_GPU,
    Device,
    implementation,
    is_simulator,
    label,
)
from relift.compiler.devices.verdicts import Tested, Verdict, verdict
from relift.compiler.dialects.backend import backend_of, backends
from relift.device import CPU, GPU, DeviceDescription, Packing, registers_of
from relift.semantics.errors import Unsupported
from relift.semantics.language.arguments import an_instance

REASSOCIATES, ALWAYS, FORKING = "reassociates", "reassociates always", "lost by forking"
CONTRACTS = "contracts"
DEFECTS = {
    REASSOCIATES: "regroups folds of floats; an exact kernel is built so that it does not",
    ALWAYS: "regroups folds of floats even in an exact kernel",
    CONTRACTS: "rounds a*b + c once where it is told to round twice",
    "fmin of NaN": "takes NaN for the smaller or larger of NaN and a number in fmin or fmax",
    FORKING: "may wait forever in a process that is forked after it was used; such a process is refused it",
    "conditional barriers": "may leave out what follows a barrier in an `if`; kernels of Relift end such an `if` with one",
    "stale local memory": "may read a cell of local memory as it was before a barrier",
    "saturated vectors": "may give 2147483647 for mad_sat of vectors where a number below 0 is right; kernels of Relift call none",
}
"""What a device may get wrong and still be used, by the name that its verdict gives it."""

DEFAULT = "RELIFT_DEVICE"
"""The variable that names the device to use where none is named."""

CLEARLY_FASTER = 4.0
"""How many times as fast a device must be measured to come before one that stands before it."""

_SEVERAL = frozenset(["cpu", "gpu"])
"""Targets that are no names: the best device of a kind is taken."""

UNSEEN = (
    "it is not seen in this process: OpenCL was called before Relift, or its driver was taken away"
)


@dataclass(frozen=True)
class SurveyedDevice:
    """A device, or a driver that shows none, and what the self-test said of it."""

    name: str
    driver: Driver
    tested: Tested | None
    failure: str | None
    device: Device | None

    @property
    def works(self) -> bool:
        """Whether it can be used."""
        return self.failure is None and self.device is not None

    @property
    def kind(self) -> str:
        """`cpu` or `gpu`; empty where no device showed itself."""
        return "" if self.tested is None else self.tested.kind

    @property
    def defects(self) -> tuple[str, ...]:
        """The names, as in `DEFECTS`, of what it gets wrong."""
        return () if self.tested is None else self.tested.defects


PACKS: dict[str, Packing] = {"Intel": "loops", "PoCL": "loop-free"}
"""The kernels that an implementation of OpenCL makes vectors of by itself, where `calibrate` has not asked it."""


def devices() -> list[Device]:
    """The devices that passed their self-test; raises `Unsupported` when OpenCL is missing or none did."""
    found = [f.device for f in survey() if f.works and f.device is not None]
    if not found:
        raise Unsupported(_none("there is no device that works", survey()))
    return found


def survey(*, again: bool = False) -> tuple[SurveyedDevice, ...]:
    """Every device and driver, the broken ones too; `again` tests anew what did not work.

    The loader of this process and of its children then knows the drivers that a process survives.
    """
    if again:
        _survey.cache_clear()
        _tested.cache_clear()
        for b in backends().values():
            for driver in b.drivers():
                verdict(driver, again=True)
    return _survey(users_setting(), os.environ.get(ONLY), os.environ.get("PATH"))


@lru_cache(maxsize=8)
def _tested(setting: str, only: str | None, path: str | None) -> tuple[tuple[Driver, Verdict], ...]:
    """Every driver with its verdict."""
    return tuple((driver, verdict(driver)) for b in backends().values() for driver in b.drivers())


@lru_cache(maxsize=8)
def _survey(setting: str, only: str | None, path: str | None) -> tuple[SurveyedDevice, ...]:
    tested_drivers = _tested(setting, only, path)
    _first_process()
    seen, found = _seen(tested_drivers), list[SurveyedDevice]()
    for driver, said in tested_drivers:
        if said.failure is not None:
            found.append(SurveyedDevice(driver.library, driver, None, said.failure, None))
        for tested in said.devices:
            same = seen.get(tested.name, [])
            device = same.pop(0) if same else None
            failure = tested.failure or (UNSEEN if device is None else None)
            found.append(SurveyedDevice(tested.name, driver, tested, failure, device))
    return tuple(found)


@cache
def _first_process() -> int:
    """The process in which OpenCL was used first: this one, or one that it was forked from."""
    return os.getpid()


def _seen(tested: Iterable[tuple[Driver, Verdict]]) -> dict[str, list[Device]]:
    """The devices that this process is shown, by name, by drivers that it survives."""
    found: dict[str, list[Device]] = {}
    for name, b in backends().items():
        own = [d for d, said in tested if d.backend == name and not said.unloadable]
        for device in b.seen(own):
            found.setdefault(label(device), []).append(device)
    return found


def find_device(target: str | None = None) -> Device:
    """The device for a target: `cpu`, `gpu`, a back end, or part of its name or of that of its implementation.

    Without a target it is a CPU, and `cpu` the one that `RELIFT_DEVICE` names where that is set.  Raises
    `Unsupported` with the devices that there are, when none fits or none is named, and with the reason when the
    one that fits is broken.
    """
    if target is not None:
        an_instance(target, str, "the name of a device", "relift devices prints them")
    if target is not None and not target.strip():
        raise Unsupported(
            "the name of a device is empty; say cpu, gpu, or part of a device's name (see relift devices)"
        )
    known = survey()
    wanted = (target or "cpu").lower()
    if wanted == "cpu":
        wanted = os.environ.get(DEFAULT, "").lower() or wanted
    fitting = sorted(_fitting(known, wanted), key=lambda f: not f.works)
    if not any(f.works for f in known):
        raise Unsupported(_none("there is no device that works", known))
    if not fitting and wanted in backends():
        raise Unsupported(_none(f"there is no device of {backends()[wanted].title}", (), wanted))
    if not fitting:
        names = "; ".join(f.name for f in known if f.works)
        broken = "".join(f"; {f.name} is broken: {f.failure}" for f in known if not f.works)
        raise Unsupported(f"no device is called {wanted!r}; there are: {names}{broken}")
    if not fitting[0].works:
        raise Unsupported(_none(f"no device that is called {wanted!r} works", fitting))
    if _first_process() != os.getpid():
        survivors = [f for f in fitting if FORKING not in f.defects]
        fitting = survivors or fitting
    best = _default([f for f in fitting if f.works]) if wanted in _SEVERAL else fitting[0]
    assert best.device is not None, "cannot happen: it works"
    require_alive(best.device)
    return best.device


def require_alive(device: Device) -> None:
    """Raise `Unsupported` for a device that was lost when this process was forked."""
    if _first_process() != os.getpid() and FORKING in defects(device):
        raise Unsupported(
            f"{label(device)} does not work in a process that is forked after OpenCL was used; "
            "start the process with spawn, or fork it earlier"
        )


def untested_device(driver: Driver) -> Device:
    """The first device of a driver, whatever it computes: for a process that uses no other one."""
    register([driver])
    import pyopencl as cl

    return cl.get_platforms()[0].get_devices()[0]


def _fitting(known: tuple[SurveyedDevice, ...], wanted: str) -> Iterator[SurveyedDevice]:
    for found in known:
        simulator = found.device is not None and is_simulator(found.device)
        match wanted:
            case "cpu" | "gpu":
                if found.kind == wanted and not simulator:
                    yield found
            case _ if wanted in backends():
                if found.driver.backend == wanted and not simulator:
                    yield found
            case _:
                names = [found.name, found.tested.driver if found.tested else ""]
                if any(wanted in name.lower() for name in names):
                    yield found


def _default(working: list[SurveyedDevice]) -> SurveyedDevice:
    """The first in a fixed order, but for one that is clearly faster; one that stands in only without others."""
    own = [f for f in working if not backends()[f.driver.backend].stands_in]
    working = sorted(own or working, key=_place)
    best = working[0]
    for found in working[1:]:
        if _speed(found) > CLEARLY_FASTER * _speed(best):
            best = found
    return best


def _place(found: SurveyedDevice) -> int:
    """Where a device stands among those of its kind: the one that pip installs comes first."""
    assert found.device is not None, "cannot happen: it works"
    known = [*IMPLEMENTATIONS.values()]
    name = implementation(found.device)
    return known.index(name) if name in known else len(known)


def _speed(found: SurveyedDevice) -> float:
    """The mean of what was measured; 0 where nothing was."""
    tested = found.tested
    if tested is None or tested.bandwidth_gbs is None or tested.fma_gflops is None:
        return 0.0
    return float((tested.bandwidth_gbs * tested.fma_gflops) ** 0.5)


def _none(what: str, known: Iterable[SurveyedDevice], backend: str | None = None) -> str:
    """One line that says what is broken, and what to install, of one back end or of any."""
    broken = [f"{f.name}: {f.failure}" for f in known if not f.works]
    ways = [b.install for b in backends().values() if backend in (None, b.name) and b.install]
    return "; ".join([what, *broken, *([f"install one: {', or '.join(ways)}"] if ways else [])])


def defects(device: Device) -> tuple[str, ...]:
    """The names of what the device gets wrong; see `DEFECTS`."""
    return next((f.defects for f in survey() if f.device == device), ())


def rounds_otherwise(target: str) -> str | None:
    """One sentence where even an exact kernel may round otherwise than the interpreter on the device of a
    target, which no way to build it prevents; None where it does not."""
    device = find_device(target)
    wrong = [DEFECTS[name] for name in (ALWAYS, CONTRACTS) if name in defects(device)]
    if not wrong:
        return None
    return f"{label(device)} {' and '.join(wrong)}: the last bits may differ from the interpreter's"


def describe(device: Device) -> DeviceDescription:
    """A description for the cost model: as it is without a fit, with what was fitted to the times of programs."""
    return replace(without_fit(device), **kept_fit(device))


def without_fit(device: Device) -> DeviceDescription:
    """What the driver says, what was measured, the rest from the preset of its kind: what a fit starts from.

    Were it started from the last one, numbers that few programs teach would move each time.
    """
    is_gpu = bool(device.type & IS_GPU)
    preset = GPU if is_gpu else CPU
    units = device.max_compute_units
    width = preset.vector_width if is_gpu else max(1, device.native_vector_width_float)
    share = units / preset.compute_units * width / preset.vector_width
    found = DeviceDescription(
        name=device.name,
        kind=preset.kind,
        compute_units=units,
        vector_width=width,
        vector_registers=preset.vector_registers if is_gpu else registers_of(machine(), width),
        clock_ghz=device.max_clock_frequency / 1000 or preset.clock_ghz,
        bandwidth_gbs=preset.bandwidth_gbs,
        fma_gflops=preset.fma_gflops * share,
        local_memory_bytes=device.local_mem_size,
        max_work_group=device.max_work_group_size,
        launch_seconds=preset.launch_seconds,
        packs="nothing" if is_gpu else PACKS.get(implementation(device), backend_of(device).packs),
        library=implementation(device),
        memory_bytes=device.global_mem_size,
    )
    if is_gpu:
        return found
    known: dict[str, Any] = {**data_caches()}
    for vendor, widths, driver, facts in KNOWN:
        if vendor in device.name and width in widths and driver in ("", implementation(device)):
            known |= facts
    if (calibrated := kept(device)) is not None:
        known |= asdict(calibrated)
    return replace(found, **known)
