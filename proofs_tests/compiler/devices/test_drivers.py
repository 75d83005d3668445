"""Which OpenCL drivers Relift finds, and that the loader comes to know them wherever it runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from relift.compiler.devices import drivers
from relift.compiler.devices.drivers import BUNDLED, ONLY, ORIGIN, VENDORS, Driver, users_setting

SOURCE = Path(__file__).parents[3] / "src"
PLATFORMS = "print(*sorted({d.platform.name for d in rl.devices()}), sep='; ')"
"""Prints what the loader shows after Relift told it of its drivers."""


def python(code: str, **environment: str) -> str:
    """The last line that a new Python prints."""
    names = (VENDORS, ONLY, BUNDLED)
    inherited = {k: v for k, v in os.environ.items() if k not in names}
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={**inherited, "PYTHONPATH": str(SOURCE), **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()[-1]


@pytest.fixture
def wheel() -> Driver:
    """The driver that pip installed with Relift."""
    for driver in drivers.of_wheels():
        return driver
    pytest.skip("no wheel of an OpenCL driver is installed beside this Python")


@pytest.fixture
def unset(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment in which nothing is said of drivers; what a test sets is undone."""
    for name in (VENDORS, ONLY, BUNDLED):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_the_driver_of_a_wheel_needs_no_setting(wheel: Driver) -> None:
    """It is found by its path, and first."""
    assert Path(wheel.library).is_absolute()
    assert not wheel.is_missing
    assert wheel in drivers.drivers() or os.environ.get(ONLY)
    assert "Intel" in python(f"import relift as rl; {PLATFORMS}")


@pytest.mark.parametrize("kind", ["a folder", "a file", "a library"])
def test_a_setting_of_the_user_is_respected(
    kind: str, tmp_path: Path, unset: pytest.MonkeyPatch
) -> None:
    """Whatever form `OCL_ICD_VENDORS` has: it stands in place of the system's folder, beside the wheel's."""
    library = str(tmp_path / "libmine.so")
    file = tmp_path / "mine.icd"
    file.write_text(f"{library}\n")
    unset.setattr(drivers, "SYSTEM", tmp_path / "nothing")
    setting = {"a folder": str(tmp_path), "a file": str(file), "a library": library}[kind]
    unset.setenv(VENDORS, setting)

    assert library in [d.library for d in drivers.drivers()]


def test_the_systems_drivers_stay_visible(tmp_path: Path, unset: pytest.MonkeyPatch) -> None:
    """Without a setting, the folder that the loader reads by default is read too, each library once."""
    for name in ("one", "two"):
        (tmp_path / f"{name}.icd").write_text(f"{tmp_path}/libone.so\n")
    (tmp_path / "empty.icd").write_text("\n")
    (tmp_path / "binary.icd").write_bytes(b"\xff\xfe")
    unset.setattr(drivers, "SYSTEM", tmp_path)
    found = [d.library for d in drivers.drivers()]
    assert found.count(f"{tmp_path}/libone.so") == 1


def test_the_setting_of_a_child_is_that_of_the_user(
    tmp_path: Path, unset: pytest.MonkeyPatch
) -> None:
    """A child inherits the folder that Relift wrote: it is no setting of the user's, and hides nothing."""
    unset.setenv("XDG_CACHE_HOME", str(tmp_path))
    unset.setenv(VENDORS, "/of/the/user")
    drivers.register([Driver("/a/library.so", "a test")])
    folder = Path(os.environ[VENDORS])
    assert [f.read_text() for f in folder.glob("*.icd")] == ["/a/library.so\n"]
    assert (folder / ORIGIN).exists()
    assert users_setting() == "/of/the/user"
    drivers.register([Driver("/a/library.so", "a test")])
    assert os.environ[VENDORS] == str(folder)


FORKED = f"""
import os, relift as rl, relift.compiler.devices.survey
if os.fork():
    os.wait()
else:
    {PLATFORMS}
"""
SPAWNED = f"""
import subprocess, sys, relift as rl
rl.devices()
subprocess.run([sys.executable, "-c", {f"import relift as rl; {PLATFORMS}"!r}], check=True)
"""


@pytest.mark.parametrize(
    "code",
    [f"import pyopencl, relift as rl; {PLATFORMS}", FORKED, SPAWNED],
    ids=["pyopencl came first", "forked", "spawned"],
)
def test_the_drivers_are_known_in_every_process(code: str) -> None:
    """Whoever imported pyopencl first, and in forked and spawned children: the same platforms."""
    assert python(code) == python(f"import relift as rl; {PLATFORMS}")


def test_a_home_that_cannot_be_written_is_none_the_worse(wheel: Driver) -> None:
    """The folder of vendors then lies among the temporary files, and what a self-test said is not kept."""
    told = python(
        f"import os, relift as rl; {PLATFORMS}; print(os.environ['{VENDORS}'])",
        **{ONLY: wheel.library},  # every driver would be tested, which takes seconds each
        HOME="/proc/nowhere",
        XDG_CACHE_HOME="/proc/nowhere",
    )
    assert not told.startswith("/proc")
