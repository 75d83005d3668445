"""A wheel of compiled kernels: a Python package whose functions need NumPy and pyopencl only."""

from __future__ import annotations

import base64
import hashlib
import json
import keyword
import re
import sys
import zipfile
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from relift.compiler.agreement.functions_in_c import require_functions_mean_their_python
from relift.compiler.ahead.spirv import spirv_of
from relift.compiler.bench.bundle import buffers_of
from relift.compiler.bench.bundle_runner import SPIRV
from relift.compiler.certificates.consultation import require_not_refuted
from relift.compiler.running.arrays.buffers import components
from relift.compiler.running.compiled import Compiled, files_of
from relift.semantics.errors import ReliftError, Unsupported
from relift.semantics.language.programs import Program
from relift.semantics.notation.printer import show

VERSION = "1.0"
DATE = (2020, 1, 1, 0, 0, 0)
"""Of every file: the same kernels are the same wheel."""


_TAKEN = ("relift", "numpy", "pyopencl")
"""What Python finds by these names is needed."""


def package_files(programs: Mapping[str, tuple[Program, Compiled]], package: str) -> dict[str, str]:
    """The files of a package with a function for each program, whose sizes are fixed.

    Raises `Refuted` for kernels whose certificate is, and for a function in C that is not its Python, `Unsupported` for sizes that are open.
    """
    if not (package.isascii() and package.isidentifier()) or keyword.iskeyword(package):
        raise ReliftError(
            f"{package or repr(package)} is no name of a package; say one such as my_kernels",
            place="",
        )
    if package in _TAKEN or package in sys.stdlib_module_names:
        raise ReliftError(
            f"a package {package} would hide the one that is there; say another name, such as my_kernels",
            place="",
        )
    found: dict[str, str] = {}
    for name, (program, kernel) in programs.items():
        if program.sizes:
            raise Unsupported(
                f"{name} has open sizes ({', '.join(program.sizes)}); a wheel takes fixed ones, by --size"
            )
        require_not_refuted(kernel)
        require_functions_mean_their_python(program)
        about = buffers_of(program, kernel.plan, {})
        parts = components(program.body.type)
        for output, (_, shape) in zip(about["outputs"], parts, strict=True):
            output["own"] = list(shape)  # a number is a row of one while it is computed
        types = ", ".join(f"{p.name}: {p.type}" for p in program.parameters)
        says = f"{name}({types}) -> {program.body.type}\n\n{program.doc}\n\n{show(program.body)}"
        told = {**about, "options": [], "says": says}
        found |= {f"{package}/{name}/{file}": text for file, text in files_of(kernel).items()}
        found[f"{package}/{name}/function.json"] = json.dumps(told, indent=1) + "\n"
    made = "\n".join(f'{name} = _Function(_here / "{name}")' for name in programs)
    found[f"{package}/__init__.py"] = (
        '"""Kernels that Relift made; each is a function of NumPy arrays."""\n\n'
        "from pathlib import Path as _Path\n\n"
        "from .function import Function as _Function\n\n"
        f"_here = _Path(__file__).parent\n{made}\n__all__ = {sorted(programs)}\n"
    )
    runtime = files("relift.compiler.ahead").joinpath("kernel_package.py").read_text("utf-8")
    runner = files("relift.compiler.bench").joinpath("bundle_runner.py").read_text("utf-8")
    found[f"{package}/function.py"] = re.sub(
        r"from relift\S+bundle_runner", "from .runner", runtime
    )
    found[f"{package}/runner.py"] = runner
    return found


def write_wheel(
    folder: Path,
    programs: Mapping[str, tuple[Program, Compiled]],
    package: str,
    *,
    spirv: bool = False,
) -> Path:
    """Write the wheel of a package into a folder, for any Python and any machine with an OpenCL device.

    With `spirv` the kernels are there in SPIR-V, too, which devices that take it are given instead of the text.
    """
    texts = package_files(programs, package)
    held: dict[str, bytes] = {}
    if spirv:
        held = {
            f"{package}/{name}/{SPIRV}": spirv_of(kernel.source)
            for name, (_, kernel) in programs.items()
        }
    info = f"{package}-{VERSION}.dist-info"
    texts[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: {package.replace('_', '-')}\nVersion: {VERSION}\n"
        "Summary: Kernels that Relift made\nRequires-Python: >=3.11\n"
        "Requires-Dist: numpy>=2\nRequires-Dist: pyopencl>=2024.1\n"
    )
    texts[f"{info}/WHEEL"] = (
        "Wheel-Version: 1.0\nGenerator: relift\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    held |= {name: text.encode() for name, text in texts.items()}
    record = "".join(f"{name},sha256={_digest(c)},{len(c)}\n" for name, c in held.items())
    held[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    place = folder / f"{package}-{VERSION}-py3-none-any.whl"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as wheel:
            for name, content in held.items():
                wheel.writestr(zipfile.ZipInfo(name, DATE), content)
    except OSError as error:
        raise ReliftError(f"{place} cannot be written: {error.strerror}", place="") from None
    return place


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
