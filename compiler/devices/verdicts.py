"""What the self-test says of each driver: made in a child that may crash or hang, and kept in the user's cache.

A verdict holds as long as the files of the driver, the processor and the self-test are what they were.
"""

from __future__ import annotations

import hashlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from relift.compiler.bench import bundle_runner
from relift.compiler.devices import drivers as driver_module
from relift.compiler.devices import self_test
from relift.compiler.devices.drivers import Driver
from relift.compiler.dialects.backend import folder_of, written_in
from relift.files import writable_cache, write_text

SPEAKING = ("POCL_", "CL_CONFIG_", "CUDA_", "OCL_", "LD_LIBRARY_PATH", "LD_PRELOAD")
"""How the names of variables begin that change what a driver does."""


@dataclass(frozen=True)
class Tested:
    """A device, and what its self-test found."""

    name: str
    kind: str
    driver: str
    failure: str | None = None
    defects: tuple[str, ...] = ()
    bandwidth_gbs: float | None = None
    fma_gflops: float | None = None


@dataclass(frozen=True)
class Verdict:
    """What the self-test found of a driver."""

    library: str
    devices: tuple[Tested, ...] = ()
    failure: str | None = None
    """Why nothing on it can be used; None where its devices say what each of them can do."""
    unloadable: bool = False
    """Whether a process that loads it may not survive, or has nothing of it."""
    files: tuple[tuple[str, int, int], ...] = ()
    """Path, bytes and time of change of every file of the driver."""

    @property
    def is_good(self) -> bool:
        """Whether nothing is wrong with it."""
        return self.failure is None and not any(d.failure for d in self.devices)


def verdict(
    driver: Driver, *, seconds: float = self_test.STEP_SECONDS, again: bool = False
) -> Verdict:
    """What is known of a driver; the self-test runs when nothing is, or `again` when it was not good."""
    if driver.is_missing:
        return Verdict(driver.library, failure="there is no such file", unloadable=True)
    place = writable_cache() / "devices" / f"{_key(driver)}.json"
    known = _read(place)
    if known is not None and (known.is_good or not again):
        return known
    with _alone(place):
        meanwhile = _read(place)
        if meanwhile is not None and meanwhile != known:
            return meanwhile
        found = run_self_test(driver, seconds)
        with suppress(OSError):  # a full disk keeps nothing: the next process tests for itself
            write_text(place, json.dumps(asdict(found), indent=1) + "\n")
    return found


def _key(driver: Driver) -> str:
    """What a verdict depends on, but for the driver's files, which it lists."""
    sources = (self_test, bundle_runner, driver_module, sys.modules[__name__])
    texts = [Path(str(module.__file__)).read_bytes() for module in sources]
    texts.append(written_in(folder_of(driver.backend)))
    settings = sorted(
        f"{name}={value}"
        for name, value in os.environ.items()
        if name.startswith(SPEAKING) and name != driver_module.VENDORS
    )
    spec = find_spec("pyopencl")
    bindings = "" if spec is None else str(spec.origin)
    said = "\n".join([driver.library, processor(), bindings, *settings]).encode()
    return hashlib.sha256(b"\0".join([said, *texts])).hexdigest()[:24]


def processor() -> str:
    """The name of this machine's processor and what it can do; a home may be shared by several machines."""
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        wanted = ("model name", "flags", "Features", "CPU part")
        return "\n".join(dict.fromkeys(line for line in lines if line.startswith(wanted)))
    return os.uname().machine


def _read(place: Path) -> Verdict | None:
    """The verdict in a file, if it is of the files of today."""
    try:
        data = json.loads(place.read_text(encoding="utf-8"))
        found = Verdict(
            library=data["library"],
            devices=tuple(
                replace(Tested(**device), defects=tuple(device["defects"]))
                for device in data["devices"]
            ),
            failure=data["failure"],
            unloadable=data["unloadable"],
            files=tuple((path, size, changed) for path, size, changed in data["files"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if found.files == _files(path for path, _, _ in found.files) else None


def _files(paths: Iterable[str]) -> tuple[tuple[str, int, int], ...]:
    found: list[tuple[str, int, int]] = []
    for path in paths:
        with suppress(OSError):
            about = os.stat(path)
            found.append((path, about.st_size, about.st_mtime_ns))
    return tuple(found)


@contextmanager
def _alone(place: Path) -> Generator[None]:
    """Only one process at a time tests a driver; the others find its verdict."""
    import fcntl

    with ExitStack() as held:
        with suppress(OSError):  # a full disk, or one without locks: each tests for itself
            place.parent.mkdir(parents=True, exist_ok=True)
            lock = held.enter_context(open(place.with_suffix(".lock"), "w", encoding="utf-8"))
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


# ---- the child


def run_self_test(driver: Driver, seconds: float) -> Verdict:
    """Test all devices of a driver; one that ends the child fails, and the next child goes on after it."""
    library = driver.library
    found = Verdict(library)
    while True:
        part = _in_child(driver, len(found.devices), seconds)
        more = bool(part.devices)
        found = replace(part, devices=found.devices + part.devices)
        if part.failure is None or not more or part.unloadable:
            break
        # the last device ended the child: what failed is that device, not the driver
        *before, last = found.devices
        found = replace(found, devices=(*before, replace(last, failure=part.failure)), failure=None)
    if not found.files and os.sep in library:
        found = replace(found, files=_files([os.path.realpath(library)]))
    return found


def _in_child(driver: Driver, first: int, seconds: float) -> Verdict:
    """What one child says, up to its end; its `failure` is how it ended where that was not well."""
    found = Verdict(driver.library)
    doing, device, is_done = "starting", None, False
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(
            [
                sys.executable,
                "-Wignore",  # of a module that its package imports, too: the last line is to be the reason
                "-m",
                "relift.compiler.devices.self_test",
                driver.backend,
                driver.library,
                str(first),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=child_environment(),
            start_new_session=True,
        )
        try:
            for line in _lines(child, seconds):
                match line:
                    case {"doing": str(doing)}:
                        pass
                    case {"device": dict(about)}:
                        device = Tested(about["name"], about["kind"], about["driver"])
                        found = replace(found, devices=(*found.devices, device))
                    case {"tested": dict(result)}:
                        assert device is not None, "cannot happen: a device is named first"
                        done = replace(
                            device, **{**result, "defects": tuple(result.get("defects", ()))}
                        )
                        found = replace(found, devices=(*found.devices[:-1], done))
                        doing = "looking at its next device"
                    case {"failure": str(failure)}:
                        found, is_done = replace(found, failure=failure, unloadable=True), True
                    case {"files": list(paths)}:
                        found, is_done = replace(found, files=_files(paths)), True
                        doing = "ending"
                    case _:
                        pass
            status = child.wait()
        except TimeoutError:
            return replace(
                found,
                failure=f"it did not finish {doing} in {seconds:g} s",
                unloadable=device is None,
            )
        finally:
            end(child)
        if is_done and status == 0:  # a driver may end the process as if all were well
            return found
        errors.seek(0)
        said = errors.read().decode(errors="replace").strip()
    return replace(found, failure=_ended(status, doing, said), unloadable=device is None)


def child_environment() -> dict[str, str]:
    """The environment of a child that imports Relift as this process does, and writes no bytecode elsewhere."""
    path = os.pathsep.join(p for p in sys.path if p)
    return {**os.environ, "PYTHONPATH": path, "PYTHONFAULTHANDLER": ""}


def death(status: int) -> str:
    """How a child was ended.

    >>> from relift.compiler.devices.verdicts import death
    >>> death(-11)
    'SIGSEGV'
    """
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"status {status}"


def end(child: subprocess.Popen[bytes]) -> None:
    """End a child that leads a session, and what it started."""
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    for stream in (child.stdin, child.stdout):
        if stream is not None:
            with suppress(BrokenPipeError):
                stream.close()


def _lines(child: subprocess.Popen[bytes], seconds: float) -> Iterator[Mapping[str, Any]]:
    """The objects that a child prints; raises `TimeoutError` when none comes for so long."""
    assert child.stdout is not None, "cannot happen: it is a pipe"
    rest = b""
    while True:
        until = time.monotonic() + seconds
        ready, _, _ = select.select([child.stdout], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            raise TimeoutError
        piece = os.read(child.stdout.fileno(), 1 << 16)
        if not piece:
            return
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            yield json.loads(line)


def _ended(status: int, doing: str, said: str) -> str:
    if status < 0:
        return f"it crashed while {doing} ({death(status)})"
    last = said.splitlines()[-1][:200] if said else "without a word"
    return f"its self-test ended while {doing}: {last}"
