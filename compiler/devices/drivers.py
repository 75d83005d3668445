"""The OpenCL drivers of this machine, and how the loader comes to know them.

OpenCL finds its drivers through a folder of vendors: files `NAME.icd` that each hold the name of a library.  A
driver that pip installed is in no such folder, so Relift writes one of its own: it names the drivers of wheels by
absolute path, and those that the loader would have found without it.  This happens before the first call of
OpenCL, whoever imported pyopencl; children of this process inherit it.

`OCL_ICD_VENDORS` means what it means to the loader: a folder, a file of vendors or a library that stands in place
of the system's folder.  `RELIFT_OPENCL_DRIVERS`, libraries separated by colons, stands in place of everything.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import importlib.util
import os
import platform
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from relift.files import user_cache, writable_cache
from relift.semantics.errors import Unsupported

VENDORS, BUNDLED, ONLY = "OCL_ICD_VENDORS", "PYOPENCL_HOME", "RELIFT_OPENCL_DRIVERS"
SYSTEM = Path("/etc/OpenCL/vendors")
WHEELS = {"intel-opencl-rt": "libintelocl.so"}
"""The packages on the Python package index that hold a driver, and its library."""

ORIGIN = "origin"
"""The file of a folder that Relift wrote which holds the user's own setting."""


def install_on(machine: str) -> str:
    """How to install a driver on a machine, as `platform.machine` calls it: wheels are for x86-64 only.

    >>> from relift.compiler.devices.drivers import install_on
    >>> install_on("aarch64")
    'apt-get install pocl-opencl-icd'
    """
    system = "apt-get install pocl-opencl-icd"
    wheels = "pip install intel-opencl-rt intel-cmplr-lib-rt"
    return f"{wheels}, or {system}" if machine in ("x86_64", "AMD64") else system


INSTALL = install_on(platform.machine())


@dataclass(frozen=True)
class Driver:
    """A library that implements OpenCL: its path or, where the linker finds it, its name.

    Of another back end it is what its devices are reached by, such as a compiler.
    """

    library: str
    named_by: str
    """The package, file or variable that names it."""
    backend: str = "opencl"

    @property
    def is_missing(self) -> bool:
        """Whether it is named by a path that leads nowhere."""
        return os.sep in self.library and not os.path.exists(self.library)


def register(drivers: Iterable[Driver]) -> None:
    """Import pyopencl so that its loader finds these drivers and no other; too late once OpenCL was called."""
    os.environ.setdefault(
        "PYOPENCL_CACHE_FAILURE_FATAL", "1"
    )  # else it hides the error that it means
    folder = writable_cache()
    if folder != user_cache():  # what pyopencl, its libraries and PoCL keep goes the same way
        os.environ["XDG_CACHE_HOME"] = str(folder.parent)
    require_pyopencl()  # it sets one of the variables below
    folder = _folder([d.library for d in drivers], users_setting())
    os.environ[VENDORS] = str(folder)
    os.environ[BUNDLED] = str(folder)  # pyopencl's own folder, whose drivers this one names too


def require_pyopencl() -> None:
    """Import pyopencl; raises `Unsupported` where that cannot be."""
    try:
        importlib.import_module("pyopencl")
    except ImportError as error:
        if importlib.util.find_spec("pyopencl") is None:
            raise Unsupported("pyopencl is not installed; pip install pyopencl") from None
        how = "pip install --force-reinstall pyopencl"
        raise Unsupported(f"pyopencl cannot be imported ({error}); {how}") from None


def drivers() -> list[Driver]:
    """Every driver that there is or should be: those of wheels first, each library once."""
    only = os.environ.get(ONLY)
    if only is not None:
        return [Driver(library, ONLY) for library in only.split(os.pathsep) if library]
    found: dict[str, Driver] = {}
    for driver in (*of_wheels(), *_of_pyopencl(), *_of_vendors(users_setting())):
        found.setdefault(os.path.realpath(driver.library), driver)
    return list(found.values())


def users_setting() -> str:
    """What `OCL_ICD_VENDORS` said before Relift set it; empty where it said nothing."""
    setting = os.environ.get(VENDORS, "")
    try:
        return Path(setting, ORIGIN).read_text(encoding="utf-8")
    except OSError:
        return setting


def of_wheels() -> Iterator[Driver]:
    """The drivers that pip installed, where it lays them."""
    for package, library in WHEELS.items():
        try:
            files = importlib.metadata.distribution(package).files or ()
        except importlib.metadata.PackageNotFoundError:
            continue
        for file in files:
            if file.name == library:
                yield Driver(os.path.normpath(file.locate()), package)


def _of_pyopencl() -> Iterator[Driver]:
    """Drivers such as PoCL that other wheels lay into the folder of pyopencl."""
    spec = importlib.util.find_spec("pyopencl")
    if spec is None or spec.origin is None:
        return
    libraries = Path(spec.origin).parent / ".libs"
    for driver in _of_folder(libraries):
        path = libraries / driver.library
        yield Driver(str(path) if path.exists() else driver.library, driver.named_by)


def _of_vendors(setting: str) -> Iterator[Driver]:
    """What the loader finds with this value of `OCL_ICD_VENDORS`."""
    if not setting:
        yield from _of_folder(SYSTEM)
    elif Path(setting).is_dir():
        yield from _of_folder(Path(setting))
    elif setting.endswith(".icd") and Path(setting).exists():
        yield from _of_file(Path(setting))
    else:
        yield Driver(setting, VENDORS)


def _of_folder(folder: Path) -> Iterator[Driver]:
    if folder.is_dir():
        for file in sorted(folder.glob("*.icd")):
            yield from _of_file(file)


def _of_file(file: Path) -> Iterator[Driver]:
    try:
        library = file.read_text(encoding="utf-8").split("\n")[0].strip()
    except (OSError, UnicodeDecodeError):
        return  # as for the loader
    if library:
        yield Driver(library, str(file))


def _folder(libraries: Sequence[str], origin: str) -> Path:
    """A folder of vendors with these libraries, named after what it holds; written whole."""
    content = "\n".join([origin, *libraries])
    name = "vendors-" + hashlib.sha256(content.encode()).hexdigest()[:16]
    folder = writable_cache() / name
    if not folder.is_dir():
        made = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{name}."))
        for number, library in enumerate(libraries):
            (made / f"{number}.icd").write_text(f"{library}\n", encoding="utf-8")
        (made / ORIGIN).write_text(origin, encoding="utf-8")
        try:
            made.rename(folder)
        except OSError:  # another process was as quick
            shutil.rmtree(made)
    return folder
