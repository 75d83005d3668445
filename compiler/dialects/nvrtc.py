"""NVIDIA's run-time compiler, which makes PTX of CUDA C++ where no GPU is: the wheel `nvidia-cuda-nvrtc-cu12`."""

from __future__ import annotations

import ctypes
import importlib.util
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from relift.semantics.errors import ReliftError


class NotCompiled(ReliftError):
    """NVRTC refuses a source; the message is its log."""


def found() -> Path | None:
    """Where the library of the wheel lies; None where it is not installed."""
    if importlib.util.find_spec("nvidia") is None:
        return None
    spec = importlib.util.find_spec("nvidia.cuda_nvrtc")
    places = () if spec is None else spec.submodule_search_locations or ()
    libraries = (file for place in places for file in Path(place, "lib").glob("libnvrtc.so.*"))
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
