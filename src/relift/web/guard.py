"""What the process of a request may take, and what a user's Python may do in it.

Limits of the system hold for the whole process and for what it starts: processor time, memory, size of files.
Python that a user wrote is watched besides: nothing that is called from its file opens a file that is not Python's
own, starts a process, or reaches the network.  That keeps out accidents and mischief, it is no jail.  Where the kernel
has Landlock (`landlock`), the process reaches programs, devices and Relift's cache, and no files of anybody's.  Where
strangers send requests, serve the printed language only (`relift serve --public`).
"""

from __future__ import annotations

import _thread
import inspect
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

from relift.rewrites.checks.isolation import taken

SECONDS = 40
"""Processor time of a request."""

LOADING = 10
"""Seconds in which a user's file must have told its rules or its program."""

WAITING = 120
"""Seconds that it may take in all."""

MEMORY = 3 << 30
"""Bytes that it may take beyond what it has when it begins."""

WRITTEN = 64 << 20
"""Bytes of the largest file that it may write."""

_KEPT = frozenset(
    ("PATH", "HOME", "LANG", "TMPDIR", "PYTHONPATH", "LD_LIBRARY_PATH", "XDG_CACHE_HOME", "OCL_ICD_VENDORS",
     "RELIFT_DEVICE", "RELIFT_TUNING")
)  # fmt: skip
"""Of the environment, what Relift reads; the rest is none of a user's business."""

_STARTING = (
    "start_new_thread", "start_new", "start_joinable_thread", "_start_new_thread", "_start_joinable_thread",
)  # fmt: skip
"""What starts a thread, in `_thread` and as `threading` calls it: in a thread, no line of the user's is on the stack."""

_NEW_NETWORK, _NEW_USER = 0x40000000, 0x10000000
_READING = ("open", "os.listdir", "os.scandir")
_REFUSED = (
    "os.", "subprocess.", "socket.", "shutil.", "ctypes.", "pty.", "signal.", "tempfile.", "urllib.",
    "http.", "ftplib.", "smtplib.", "sqlite3.", "webbrowser.", "fcntl.", "mmap.", "_thread.",
    "sys.addaudithook", "sys._current_frames",
)  # fmt: skip


def limit() -> None:
    """Take the limits of a request upon this process and all that it starts."""
    import resource

    wanted = {
        resource.RLIMIT_CPU: SECONDS,
        resource.RLIMIT_AS: taken() + MEMORY,
        resource.RLIMIT_FSIZE: WRITTEN,
        resource.RLIMIT_CORE: 0,
    }
    for kind, most in wanted.items():
        _, hard = resource.getrlimit(kind)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))  # the hard one, too: it stays what it is


def cut_off() -> bool:
    """Give this process a network of its own, in which there is nobody; whether the system did so."""
    import ctypes

    with suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None, use_errno=True)
        return any(libc.unshare(flags) == 0 for flags in (_NEW_NETWORK, _NEW_NETWORK | _NEW_USER))
    return False


PRIVATE = frozenset(("home", "root", "mnt", "media", "srv", "tmp", "var"))
"""Folders of the root of the file system that hold what is somebody's, and no programs."""


def enclose(folder: str) -> bool:
    """Let this process reach programs, Relift's cache, devices and one folder, and no other files; whether the system did so."""
    from relift.files import user_cache
    from relift.web.landlock import enclosed

    top = [place for place in Path("/").iterdir() if place.name not in PRIVATE]
    own = [Path(root) for root in _own_roots()]
    everybodys = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    caches = [user_cache(), *(everybodys / name for name in ("pocl", "pyopencl", "pytools"))]
    return enclosed([*top, *own, *_drivers()], [Path(folder), Path("/dev"), *caches])


def _drivers() -> list[Path]:
    """Where OpenCL's loader is told to look."""
    return [
        Path(place)
        for name in ("OCL_ICD_VENDORS", "LD_LIBRARY_PATH")
        if (place := os.environ.get(name))
    ]


def watch(file: Path) -> None:
    """Refuse from now on whatever code in `file` asks of the system, directly or through others."""
    for name in set(os.environ) - _KEPT:
        del os.environ[name]
    written = str(file)
    roots = tuple(str(Path(root).resolve()) + os.sep for root in _own_roots())
    sys.dont_write_bytecode = True
    hook = _hook(written, roots, inspect.currentframe)
    sys.addaudithook(hook)
    for module in (_thread, threading):
        for name in _STARTING:
            if hasattr(module, name):
                setattr(module, name, _told(getattr(module, name), hook))


def _told(start: Callable[..., Any], hook: Callable[[str, tuple[Any, ...]], None]) -> Any:
    """What starts a thread; Python 3.11 tells no hook of it."""

    def started(*arguments: Any, **named: Any) -> Any:
        hook("_thread.start", ())
        return start(*arguments, **named)

    return started


def _own_roots() -> list[str]:
    """Where Python and Relift lie; importing reads there."""
    package = Path(__file__).resolve().parents[3]
    parts = [p.resolve() for p in Path(__file__).resolve().parents[1].iterdir() if p.is_dir()]
    return [sys.prefix, sys.base_prefix, *sys.path[1:], str(package / "src"), *map(str, parts)]


def _hook(
    written: str, roots: tuple[str, ...], frame_of: Callable[[], FrameType | None]
) -> Callable[[str, tuple[Any, ...]], None]:
    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        reading = event in _READING
        if not (reading or event.startswith(_REFUSED)):
            return
        frame = frame_of()
        while frame is not None and frame.f_code.co_filename != written:
            frame = frame.f_back
        if frame is None or (reading and _is_own(arguments, written, roots)):
            return
        raise PermissionError(f"the workbench refuses {event} to code that was sent to it")

    return hook


def _is_own(arguments: tuple[Any, ...], written: str, roots: tuple[str, ...]) -> bool:
    """Whether only a file of Python's, of Relift's, or the user's own is read."""
    path, mode = arguments[0], arguments[1] if len(arguments) > 1 else "r"
    flags = arguments[2] if len(arguments) > 2 else 0
    if not isinstance(path, str | bytes | os.PathLike):
        return False
    if (mode and set(str(mode)) & set("wax+")) or (flags & (os.O_WRONLY | os.O_RDWR)):
        return False
    real = os.path.realpath(os.fsdecode(path))
    return real == written or real.startswith(roots)
