"""NVIDIA's run-time compiler, which makes PTX of CUDA C++ where no GPU is: the wheel `nvidia-cuda-nvrtc-cu12`."""

from __future__ import annotations

import ctypes
import importlib.util
import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from relift.semantics.errors import ReliftError


class NotCompiled(ReliftError):
    """NVRTC refuses a source; the message is its log."""


def found() -> Path | None:
    """Where the library lies: that of the wheel, else one of a CUDA toolkit; None where neither is installed."""
    spec = importlib.util.find_spec("nvidia")
    wheels = () if spec is None else spec.submodule_search_locations or ()
    toolkit = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    folders = [*(folder for place in wheels for folder in sorted(Path(place).glob("*/lib")))]
    folders += [Path(toolkit, "lib64")]
    libraries = (file for folder in folders for file in sorted(folder.glob("libnvrtc.so.*")))
    return next(libraries, None)


@cache
def _library() -> ctypes.CDLL:
    path = found()
    if path is None:
        raise ReliftError("NVRTC is not installed; pip install nvidia-cuda-nvrtc-cu12", place="")
    return ctypes.CDLL(str(path))


def ptx(source: str, options: Sequence[str] = ()) -> str:
    """The PTX of a CUDA source; raises `NotCompiled`."""
    library, program = _library(), ctypes.c_void_p()
    library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernels.cu", 0, None, None)
    try:
        given = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        failed = library.nvrtcCompileProgram(program, len(options), given)
        if failed:
            raise NotCompiled(_text(library, program, "ProgramLog"), place="")
        return _text(library, program, "PTX")
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _text(library: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> str:
    size = ctypes.c_size_t()
    getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    getattr(library, f"nvrtcGet{what}")(program, buffer)
    return buffer.value.decode("utf-8", "replace")
