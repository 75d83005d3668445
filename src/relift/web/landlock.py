"""The files that a process reaches, and TCP, limited by the kernel: Landlock, of Linux 5.13 and later.

What is refused stays refused for the process and all that it starts, whatever code runs there.
https://docs.kernel.org/userspace-api/landlock.html
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_CREATE, _ADD, _RESTRICT = 444, 445, 446
"""The system calls, which have the same numbers on every machine."""

_VERSION, _BENEATH, _NO_NEW_PRIVILEGES = 1, 1, 38
_EXECUTE, _WRITE, _READ, _LIST, _TRUNCATE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14
_OF_FILES = _EXECUTE | _WRITE | _READ | _TRUNCATE
_READING = _EXECUTE | _READ | _LIST
_TCP = 0b11

_FIRST, _REFER, _ALL = (1 << 13) - 1, 1 << 13, (1 << 15) - 1


class _Ruleset(ctypes.Structure):
    _fields_ = [("files", ctypes.c_uint64), ("network", ctypes.c_uint64)]


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32)]


def version() -> int:
    """That of the kernel's Landlock; 0 where it has none."""
    return max(0, _called(_CREATE, None, ctypes.c_size_t(0), _VERSION))


def enclosed(read: Iterable[Path], written: Iterable[Path]) -> bool:
    """Let this process read and run only what lies below some places, and write only below others; whether the kernel does so."""
    known = version()
    if not known:
        return False
    files = _FIRST if known < 2 else _FIRST | _REFER if known < 3 else _ALL
    attributes = _Ruleset(files, _TCP)
    size = ctypes.c_size_t(16 if known >= 4 else 8)
    rules = _called(_CREATE, ctypes.byref(attributes), size, 0)
    if rules < 0:
        return False
    try:
        for path in read:
            _allow(rules, path, _READING & files)
        for path in written:
            _allow(rules, path, files)
        libc = ctypes.CDLL(None, use_errno=True)
        return libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0 and _called(_RESTRICT, rules, 0) == 0
    finally:
        os.close(rules)


def _allow(rules: int, path: Path, rights: int) -> None:
    """What is not there needs no right."""
    with suppress(OSError):
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            beneath = _Beneath(rights if path.is_dir() else rights & _OF_FILES, place)
            _called(_ADD, rules, _BENEATH, ctypes.byref(beneath), 0)
        finally:
            os.close(place)


def _called(number: int, *arguments: object) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    answer: int = libc.syscall(ctypes.c_long(number), *arguments)
    return answer
