"""Writing files whole or not at all: an interrupted command leaves no half-written output."""

from __future__ import annotations

import fcntl
import os
import stat
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
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


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file by renaming a complete temporary one; raises `ReliftError` when it cannot."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise ReliftError(f"cannot write {path}: {error.strerror}", place="") from None


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
