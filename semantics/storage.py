"""Writing files whole or not at all: an interrupted command leaves no half-written output."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from relift.semantics.errors import ReliftError


def user_cache() -> Path:
    """The folder of Relift in the user's cache; it need not exist yet."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "relift"


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
