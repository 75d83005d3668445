"""Running a compiled program in a process of its own: a kernel that crashes a driver, or never ends, takes only that along.

python -m relift.compiler.running.processes.isolated FOLDER DEVICE
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from relift.compiler.certificates.consultation import require_not_refuted
from relift.compiler.running.arrays.buffers import unflatten
from relift.compiler.running.compiled import LAUNCH, SOURCE, Compiled, files_of, of_files
from relift.compiler.running.session import plan_at
from relift.files import temporary_folder
from relift.semantics.errors import Refuted, ReliftError

SECONDS = 120.0
"""A kernel that takes longer is given up."""

RESULT, ARGUMENTS = "result.npz", "arguments.npz"


@dataclass(frozen=True)
class Failed:
    """A kernel that gave no result, and why; `finished` is false where it was only given up."""

    reason: str
    finished: bool = True


def run_apart(
    compiled: Compiled,
    arrays: tuple[Any, ...],
    device: str,
    *,
    seconds: float = SECONDS,
) -> Any | Failed:
    """The result of a run on a device in another process, or why there is none."""
    try:
        if not compiled.unchecked:
            require_not_refuted(compiled)
    except Refuted as error:
        return Failed(error.message)
    rows = compiled.rows(arrays)
    plan = plan_at(compiled.plan, rows)
    with temporary_folder() as folder:
        for name, text in files_of(compiled).items():
            (folder / name).write_text(text, encoding="utf-8")
        np.savez(folder / ARGUMENTS, **rows)  # type: ignore[arg-type]
        done = apart("relift.compiler.running.processes.isolated", folder, device, seconds)
        if done is None:
            return Failed(f"it did not end within {seconds:.0f} s", finished=False)
        if done.returncode < 0:
            return Failed(f"it crashed: {_signal(-done.returncode)}")
        if done.returncode:
            lines = done.stderr.strip().splitlines() or ["no word"]
            return Failed(f"it failed: {lines[-1][:300]}")
        with np.load(folder / RESULT) as stored:
            return unflatten([stored[f"r{i}"] for i in range(len(stored.files))], plan.result.type)


def apart(
    module: str, folder: Path, device: str, seconds: float
) -> subprocess.CompletedProcess[str] | None:
    """How a module of this Relift ended, run on a folder and a device in a process of its own; None if it did not in time."""
    try:
        return subprocess.run(
            [sys.executable, "-m", module, str(folder), device],
            env=child_environment(),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None


def child_environment() -> dict[str, str]:
    """The environment of a process that runs this Relift, from wherever it was imported."""
    package = Path(__import__("relift").__path__[0]).parent
    paths = [str(package), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _run(folder: Path, device: str) -> None:
    """The other process; the first one has asked the certificates."""
    compiled = of_files(
        {name: (folder / name).read_text(encoding="utf-8") for name in (SOURCE, LAUNCH)}
    )
    with np.load(folder / ARGUMENTS) as stored:
        rows = {name: stored[name] for name in stored.files}
    results = replace(compiled, unchecked=True).session(device).run(rows)
    np.savez(folder / RESULT, **{f"r{i}": row for i, row in enumerate(results)})  # type: ignore[arg-type]


if __name__ == "__main__":
    try:
        _run(Path(sys.argv[1]), sys.argv[2])
    except ReliftError as error:
        sys.exit(str(error).splitlines()[0])
