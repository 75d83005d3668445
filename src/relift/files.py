"""Writing files whole or not at all: an interrupted command leaves no half-written output."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from relift.semantics.errors import ReliftError


def user_cache() -> Path:
    """The folder of Relift in the user's cache; it need not exist yet."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "relift"


def writable_cache() -> Path:
    """The folder of Relift in the user's cache, or one for temporary files where that cannot be written.

    Raises `ReliftError` where neither can.
    """
    with suppress(OSError, RuntimeError):  # RuntimeError: a user without a home
        folder = user_cache()
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    own = Path(tempfile.gettempdir()) / f"relift-{os.getuid()}"
    with suppress(OSError):
        own.mkdir(mode=0o700, exist_ok=True)
        found = own.lstat()  # others may write beside it, and must not have made it
        if (
            stat.S_ISDIR(found.st_mode)
            and found.st_uid == os.getuid()
            and not found.st_mode & 0o022
        ):
            (own / "relift").mkdir(exist_ok=True)
            return own / "relift"
    raise ReliftError(f"{own} cannot be written; let TMPDIR name a folder that can", place="")


@contextmanager
def locked(folder: Path) -> Generator[None]:
    """Let nobody else who asks write in a folder meanwhile."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextmanager
def temporary_folder() -> Generator[Path]:
    """A folder that is gone afterwards; what a killed run left behind is removed, too."""
    remove_left_behind()
    with tempfile.TemporaryDirectory(prefix=TEMPORARY) as name:
        folder = Path(name)
        with locked(folder):
            yield folder


TEMPORARY = "relift-"
LEFT_BEHIND = 3600.0
"""After this many seconds a temporary folder that no process holds is nobody's."""


@cache
def remove_left_behind() -> None:
    """Remove old temporary folders of this user that no process has locked."""
    for folder in Path(tempfile.gettempdir()).glob(f"{TEMPORARY}*"):
        with suppress(OSError):
            found = folder.lstat()
            old = time.time() - found.st_mtime > LEFT_BEHIND
            if not (stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and old):
                continue
            if folder == _own_temporary():
                continue
            handle = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(handle)


def _own_temporary() -> Path:
    """Where temporary files of this user go without a cache; it stays."""
    return Path(tempfile.gettempdir()) / f"{TEMPORARY}{os.getuid()}"


def require_file(path: Path, error: type[ReliftError] = ReliftError) -> None:
    """Raise an error that says what stands where a file of the user's should: a pipe, say, which would be waited for."""
    if not stat.S_ISREG(_mode(path, error)):
        raise error(f"cannot read {path}: it is a pipe or a device, name a file", place="")


def _mode(path: Path, error: type[ReliftError]) -> int:
    """That of what can be read there and is no folder; raises an error that says what is there instead."""
    shown = str(path)[:200]
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        what = f"{shown} is a link to nothing" if path.is_symlink() else f"there is no file {shown}"
        raise error(what, place="") from None
    except OSError as failed:
        raise error(f"cannot read {shown}: {failed.strerror}", place="") from None
    except ValueError:  # a NUL byte in its name
        raise error(f"there is no file {shown}", place="") from None
    if stat.S_ISDIR(mode):
        raise error(f"cannot read {shown}: it is a folder, name a file", place="")
    if not os.access(path, os.R_OK, effective_ids=os.access in os.supports_effective_ids):
        raise error(f"cannot read {shown}: {os.strerror(errno.EACCES)}", place="")
    return mode


def read_text(path: Path, error: type[ReliftError] = ReliftError) -> str:
    """The text of a file of the user's, or of a pipe; raises an error that says what is there instead."""
    _mode(path, error)
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as failed:
        byte = f"byte {failed.object[failed.start]:#04x} at {failed.start}"
        raise error(f"{path} is no text in UTF-8 ({byte})", place="") from None
    except OSError as failed:
        raise error(f"cannot read {path}: {failed.strerror}", place="") from None


def read_json(path: Path, what: str, error: type[ReliftError] = ReliftError) -> Any:
    """The JSON of a file of the user's, which is `what`; raises an error that says so where it is none."""
    return parsed_json(read_text(path, error), path, what, error)


def parsed_json(text: str, path: Path, what: str, error: type[ReliftError] = ReliftError) -> Any:
    """The same of a text that was read from the file."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as failed:
        where = f"line {failed.lineno}, column {failed.colno}"
        raise error(f"{path} is not {what}: it is no JSON at {where}", place="") from None
    except (ValueError, RecursionError) as failed:
        why = "too deep" if isinstance(failed, RecursionError) else "a number of too many digits"
        raise error(f"{path} is not {what}: it is no JSON that is read ({why})", place="") from None


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file by renaming a complete temporary one; raises `ReliftError` when it cannot.

    A device, a pipe or a terminal is written to and stays what it is; of a link, the file that it leads to is
    replaced.  A new file has the mode that the user's mask gives it, a replaced one keeps its own.
    """
    try:
        if _is_stream(path):
            with path.open("wb") as stream:
                stream.write(data)
            return
        target = Path(os.path.realpath(path))
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}")
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            with os.fdopen(handle, "wb") as file:
                if target.exists():
                    os.fchmod(handle, stat.S_IMODE(target.stat().st_mode))
                file.write(data)
            os.replace(temporary, target)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise ReliftError(f"cannot write {path}: {error.strerror}", place="") from None


def _is_stream(path: Path) -> bool:
    """Whether what stands there is no file that could be replaced."""
    if path.parts[:2] in (("/", "dev"), ("/", "proc")):
        return True
    try:
        return not stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return False


def write_folder(
    folder: Path, files: Mapping[str, bytes], *, last: str, known: Collection[str] = ()
) -> None:
    """Write the files of a folder: a reader finds all of them, or those that were there before.

    Where the folder holds files other than these and those `known`, which stay, it cannot be replaced whole;
    then the file `last` is missing until all others are written.  Raises `ReliftError`.
    """
    try:
        place = Path(os.path.realpath(folder))
        if place.exists() and not _holds_only(place, {*files, *known}):
            (place / last).unlink(missing_ok=True)
            for name in sorted(files, key=lambda name: name == last):
                write_bytes(place / name, files[name])
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        token = secrets.token_hex(6)
        made, old = (place.with_name(f".{place.name[:100]}.{token}{end}") for end in ("", ".old"))
        try:
            made.mkdir()
            for name, data in files.items():
                (made / name).write_bytes(data)
            if place.exists():
                os.rename(place, old)
            try:
                os.rename(made, place)
            except BaseException:
                if old.exists():
                    os.rename(old, place)
                raise
        finally:
            shutil.rmtree(made, ignore_errors=True)
            shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        raise ReliftError(f"cannot write {folder}: {error.strerror}", place="") from None


def _holds_only(folder: Path, names: Collection[str]) -> bool:
    """Whether a folder holds regular files of these names only."""
    return all(
        entry.name in names and entry.is_file(follow_symlinks=False) for entry in os.scandir(folder)
    )


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all."""
    write_bytes(path, text.encode())


def write_array(path: Path, value: Any) -> None:
    """Write a NumPy array as .npy, or a tuple of arrays as .npz."""
    import io

    buffer = io.BytesIO()
    if isinstance(value, tuple):
        np.savez(buffer, *value)
    else:
        np.save(buffer, value)
    write_bytes(path, buffer.getvalue())
