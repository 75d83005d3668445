"""Calls that other processes make in tests: they import nothing but this, which is quick."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

PATIENCE = 300.0
"""Seconds in which a process has to show itself, on however busy a machine."""


def waited_for(file: Path) -> Path:
    """The file, when it is there and has something in it."""
    end = time.monotonic() + PATIENCE
    while not file.exists() or not file.stat().st_size:
        assert time.monotonic() < end, f"{file} does not come"
        time.sleep(0.02)
    return file


def squared_but_for_a_victim(call: tuple[str, int]) -> int:
    """A number squared; the first to square 0 says which process it is and waits to be killed."""
    folder, number = Path(call[0]), call[1]
    said = folder / "victim"
    if number == 0 and not said.exists():
        mine = folder / f"{os.getpid()}"
        mine.write_text(str(os.getpid()))
        mine.rename(said)
        signal.pause()
    return number * number


def waited_with_a_child(folder: str) -> None:
    """A call that waits for a program that ends in an hour."""
    with subprocess.Popen(["sleep", "3600"]) as child:
        (Path(folder) / "begun").write_text(str(child.pid))
        (Path(folder) / "begun").rename(Path(folder) / "child")


class Imported:
    """What a call gets; reading it imports a module in C, which makes an error of its own of what interrupts it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Callable[[Path], None], tuple[Path]]:
        return _imported, (self.folder,)


def _imported(folder: Path) -> None:
    try:
        waited_with_a_child(str(folder))
    except SystemExit as error:
        raise ImportError("no capsule") from error


def died(_: int) -> None:
    """A call that no process survives."""
    os._exit(1)


def inverse(number: int) -> float:
    """A call that fails for 0."""
    return 1 / number
