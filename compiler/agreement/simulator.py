"""Races and stray accesses, found by running a kernel on Oclgrind, a simulator of an OpenCL device.

The simulator reports data races in local and global memory, accesses outside of a buffer, work-items that
do not all reach a barrier, and uses of values that were never written.  It is thousands of times slower
than a device, so the arguments should be small.  It runs in a process of its own, because its settings are
read when OpenCL is loaded.
"""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from relift.compiler.devices.drivers import Driver
from relift.compiler.running.compiled import LAUNCH, SOURCE, Compiled, files_of, of_files
from relift.compiler.running.processes.isolated import child_environment
from relift.files import temporary_folder

LIBRARIES = (
    "/usr/lib/oclgrind/liboclgrind-rt-icd.so",
    "/usr/local/lib/liboclgrind-rt-icd.so",
    "/opt/homebrew/lib/liboclgrind-rt-icd.dylib",
)
"""Where Oclgrind's driver may lie; the environment variable RELIFT_OCLGRIND names another place."""

SECONDS = 300.0
"""A simulation that takes longer is given up."""


@dataclass(frozen=True)
class NotAvailable:
    """Nothing was checked, and why."""

    reason: str
    installed: bool = True


def race_check(
    compiled: Compiled,
    arrays: tuple[Any, ...],
    seconds: float = SECONDS,
    *,
    sizes: Mapping[str, int] | None = None,
) -> list[str] | NotAvailable:
    """What the simulator objects to when the kernels run on these arguments; nothing when all is well."""
    simulator = driver()
    if simulator is None:
        return NotAvailable(
            "Oclgrind is not installed; on Debian: apt-get install oclgrind", installed=False
        )
    with temporary_folder() as folder:
        for name, text in files_of(compiled).items():
            (folder / name).write_text(text, encoding="utf-8")
        np.savez(folder / "arguments.npz", **compiled.rows(arrays, sizes))  # type: ignore[arg-type]
        log = folder / "log.txt"
        try:
            done = subprocess.run(
                [
                    sys.executable,
                    "-m",
                    "relift.compiler.agreement.simulator",
                    str(folder),
                    str(simulator),
                ],
                env=_environment(log),
                capture_output=True,
                text=True,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return NotAvailable(f"Oclgrind did not finish in {seconds:.0f} s; take smaller sizes")
        messages = parse_log(log.read_text(encoding="utf-8") if log.exists() else "")
        if done.returncode and not messages:
            return NotAvailable(f"Oclgrind failed: {' '.join(done.stderr.split())[-300:]}")
        return messages


def driver() -> Path | None:
    """The library of the simulator, where it is installed."""
    named = os.environ.get("RELIFT_OCLGRIND")
    candidates = [named] if named else LIBRARIES
    return next((Path(place) for place in candidates if Path(place).exists()), None)


def _environment(log: Path) -> dict[str, str]:
    """What Oclgrind reads: it is silent after MAX_ERRORS messages, and hides equal writes by default."""
    return {
        **child_environment(),
        "OCLGRIND_DATA_RACES": "1",
        "OCLGRIND_UNIFORM_WRITES": "1",
        "OCLGRIND_UNINITIALIZED": "1",
        "OCLGRIND_MAX_ERRORS": "1000000",
        "OCLGRIND_LOG": str(log),
    }


def parse_log(text: str) -> list[str]:
    """The distinct complaints of an Oclgrind log, each on one line: what, where, and the source lines.

    >>> from relift.compiler.agreement.simulator import parse_log
    >>> parse_log("Invalid read of size 4 at global memory address 0x1\\n\\tKernel: k\\n")
    ['Invalid read of size 4 at global memory in k']
    """
    found: dict[str, None] = {}
    for entry in re.split(r"\n(?=\S)", text):
        lines = [line.strip() for line in entry.splitlines() if line.strip()]
        if not lines:
            continue
        message = re.sub(r" address 0x[0-9a-f]+", "", lines[0])
        places: dict[str, None] = {}
        for line, after in itertools.pairwise([*lines, ""]):
            if line.startswith("Kernel: "):
                message += " in " + line.removeprefix("Kernel: ").split()[0]
            if at := re.match(r"At line (\d+)", line):
                places[f"line {at[1]}: {after}"] = None
        found["; ".join([message, *places])] = None
    return list(found)


def _simulate(folder: Path, driver: Driver) -> None:
    """Run a saved program on the simulator: the other process."""
    from relift.compiler.devices.survey import untested_device
    from relift.compiler.running.session import session_on

    compiled = of_files(
        {name: (folder / name).read_text(encoding="utf-8") for name in (SOURCE, LAUNCH)}
    )
    with np.load(folder / "arguments.npz") as stored:
        rows = {name: stored[name] for name in stored.files}
    # optimised code crashes the detection of uninitialised vectors, and hides divergent barriers
    options = ("-cl-opt-disable",)
    simulator = untested_device(driver)
    session_on(compiled.source, compiled.plan, simulator, options, apart=False, unchecked=True).run(
        rows
    )


if __name__ == "__main__":
    _simulate(Path(sys.argv[1]), Driver(sys.argv[2], "race_check"))
