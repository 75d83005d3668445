"""A device is what passes its self-test: drivers that are missing, crash, hang or refuse cost one line.

The faulty drivers are `driver.c`, compiled here, between the loader and a driver that works.
"""

import errno
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

import relift as rl
from proofs_tests.command_line import relift
from proofs_tests.compiler.programs import typed
from relift.compiler.bench.bundle_runner import in_order
from relift.compiler.devices import self_test, verdicts
from relift.compiler.devices.drivers import INSTALL, ONLY, Driver
from relift.compiler.devices.naming import label
from relift.compiler.devices.survey import DEFECTS, FORKING, devices, find_device, survey
from relift.compiler.devices.verdicts import verdict
from relift.compiler.dialects.backend import Opened
from relift.compiler.dialects.opencl.trial import OpenCLTrial, mapped
from relift.compiler.running.processes import building
from relift.compiler.running.processes.building import build

SHIM = Path(__file__).with_name("driver.c")
DOUBLED = """
import relift as rl


@rl.program
def doubled(x: rl.f32[4]):
    return rl.map_glb(0)(lambda v: v + v, x)
"""
n = rl.nat("n")


@typed(x=rl.f32[4 + n])
def sums(x: Any) -> Any:
    """The sum of all numbers, from each of the first four on."""
    return rl.map_glb(0)(lambda v: rl.reduce_seq(rl.add, v, x), rl.take(4, x))


GOOD = "kernel void k(global int* x) { x[get_global_id(0)] += 1; }"


def working_library() -> str:
    """The library of a CPU driver that works."""
    cpu = find_device("cpu")
    return next(f.driver.library for f in survey() if f.device == cpu)


@pytest.fixture(scope="module")
def working() -> str:
    """The name of a CPU device that works."""
    return label(find_device("cpu"))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """The command that runs a program whose kernel is built at once, and quickly."""
    program = tmp_path_factory.mktemp("program") / "doubled.py"
    program.write_text(DOUBLED)
    return "run", str(program), "--random", "0"


@pytest.fixture(scope="module")
def compiled_shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The faulty driver, around the one that works."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("there is no C compiler to make a faulty driver with: apt-get install gcc")
    made = tmp_path_factory.mktemp("driver") / "libfaulty.so"
    around = f'-DDRIVER="{working_library()}"'
    command = [compiler, "-shared", "-fPIC", around, "-o", str(made), str(SHIM), "-ldl"]
    subprocess.run(command, check=True)
    return made


@pytest.fixture
def shim(compiled_shim: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The faulty driver as the only one, and an empty cache."""
    copy = Path(shutil.copy(compiled_shim, tmp_path))
    monkeypatch.setenv(ONLY, str(copy))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return copy


@pytest.fixture(scope="module")
def tested_shim(compiled_shim: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The faulty driver in a folder whose cache the first that uses it fills."""
    return Path(shutil.copy(compiled_shim, tmp_path_factory.mktemp("tested")))


@pytest.fixture
def known(tested_shim: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The faulty driver as the only one; what is known of it while it does no harm is found out once."""
    monkeypatch.setenv(ONLY, str(tested_shim))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tested_shim.with_name("cache")))
    return tested_shim


# ---- self-tests


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("abort at load", "it crashed while loading it (SIGABRT)"),
        ("hang at load", "it did not finish loading it in 3 s"),
        ("crash", "it crashed while building and running kernels (SIGSEGV)"),
        ("refuse", "OUT_OF_HOST_MEMORY"),
        ("none", "it has no device"),
        ("end at load", "its self-test ended while loading it: without a word"),
        ("end", "its self-test ended while building and running kernels: without a word"),
        ("fail", "its self-test ended while building and running kernels: without a word"),
    ],
)
def test_a_faulty_driver_is_broken_for_a_reason(
    fault: str, reason: str, shim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A driver that crashes or hangs when loaded is not loaded by others; one that does so later has a device."""
    monkeypatch.setenv("FAULT", fault)
    found = verdict(Driver(str(shim), "a test"), seconds=3)
    assert found.unloadable == ("at load" in fault or fault == "none")
    failures = [found.failure, *(d.failure for d in found.devices)]
    assert [reason in (f or "") for f in failures if f is not None] == [True]


def test_what_is_no_driver_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A vendors file that points nowhere, and one that names something else."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    nowhere = verdict(Driver(str(tmp_path / "libnone.so"), "a test"))
    assert nowhere.failure == "there is no such file"
    text = tmp_path / "libtext.so"
    text.write_text("no library")
    assert "libtext.so: " in str(verdict(Driver(str(text), "a test")).failure)
    library = next(f for f in mapped() if "libc" in Path(f).name)
    assert verdict(Driver(library, "a test")).failure == "it is no OpenCL driver"


def test_a_verdict_that_no_disk_keeps_is_found_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a lock nor a verdict can be written: what is found counts all the same."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def full(*_: object, **__: object) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(verdicts, "write_text", full)
    monkeypatch.setattr(Path, "mkdir", full)
    monkeypatch.setattr(verdicts, "writable_cache", lambda: tmp_path / "cache")
    library = next(f for f in mapped() if "libc" in Path(f).name)
    assert verdict(Driver(library, "a test")).failure == "it is no OpenCL driver"


def test_a_verdict_is_kept_until_the_driver_changes(
    shim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second look at a driver runs no child; a changed file does."""
    runs: list[str] = []
    real = verdicts.run_self_test

    def counted(driver: Driver, seconds: float) -> verdicts.Verdict:
        runs.append(driver.library)
        return real(driver, seconds)

    monkeypatch.setattr(verdicts, "run_self_test", counted)
    monkeypatch.setenv("FAULT", "refuse")
    driver = Driver(str(shim), "a test")
    first = verdict(driver)
    assert verdict(driver) == first
    assert len(runs) == 1
    assert verdict(driver, again=True) == first
    assert len(runs) == 2
    os.utime(shim, ns=(1, 1))
    assert verdict(driver).devices == first.devices
    assert len(runs) == 3


def test_processes_at_a_time_test_a_driver_once(shim: Path) -> None:
    """All but one of them wait, and find the same verdict."""
    code = (
        "import sys; from relift.compiler.devices import verdicts; from relift.compiler.devices.drivers import Driver\n"
        "real = verdicts.run_self_test\n"
        "verdicts.run_self_test = lambda *a: print('ran') or real(*a)\n"
        "print(verdicts.verdict(Driver(sys.argv[1], 'a test')).failure is not None)"
    )
    environment = {**verdicts.child_environment(), "FAULT": "abort at load"}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(shim)],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    said = [process.communicate(timeout=120)[0].split() for process in started]
    assert sorted(said) == [["True"], ["True"], ["ran", "True"]]


def test_every_device_here_passed() -> None:
    """What `devices` returns has a verdict, whose defects have a sentence each."""
    for found in survey():
        if found.works:
            assert found.tested is not None
            assert found.tested.failure is None
            assert set(found.defects) <= set(DEFECTS)
    assert {label(d) for d in devices()} == {f.name for f in survey() if f.works}


# ---- the command line


@pytest.mark.parametrize(
    "target", [None, "cpu", "faulty"], ids=["devices", "run", "run with its name"]
)
def test_no_working_device_is_one_line(
    target: str | None, run: tuple[str, ...], shim: Path
) -> None:
    """It names the broken one, the reason and what to install, where no C compiler stands in; status 2."""
    words = ("devices",) if target is None else (*run, "--target", target)
    ran = relift(*words, FAULT="abort at load", PATH="/nowhere")
    assert ran.returncode == 2
    assert ran.stderr.count("\n") == 1
    assert "there is no device that works" in ran.stderr
    assert ran.stderr.endswith(f"{INSTALL}, or apt-get install gcc\n")


def test_a_broken_device_is_listed_beside_those_that_work(
    run: tuple[str, ...], tmp_path: Path
) -> None:
    """And refused when it is asked for, while the others are used."""
    both = {ONLY: os.pathsep.join([str(tmp_path / "libgone.so"), working_library()])}
    listed = relift("devices", **both)
    assert listed.returncode == 0
    assert "libgone.so is broken\n  there is no such file" in listed.stdout
    assert "(the default)" in listed.stdout
    assert relift(*run, **both).returncode == 0
    refused = relift(*run, "--target", "libgone", **both)
    assert refused.returncode == 2
    assert "no device that is called 'libgone' works; " in refused.stderr
    assert INSTALL in refused.stderr


def test_c_serves_where_pyopencl_cannot_be_imported(run: tuple[str, ...], tmp_path: Path) -> None:
    """It is said of each driver why it is not used, and what to install where one is asked for."""
    broken = tmp_path / "pyopencl" / "__init__.py"
    broken.parent.mkdir()
    broken.write_text("raise ImportError('libOpenCL.so.1: no such file')")
    path = os.pathsep.join([str(tmp_path), *(p for p in sys.path if p)])
    without = {"PYTHONPATH": path, "XDG_CACHE_HOME": str(tmp_path), ONLY: working_library()}
    reason = "pyopencl cannot be imported (libOpenCL.so.1: no such file)"
    refused = relift(*run, "--target", Path(working_library()).stem, **without)
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert reason in refused.stderr
    if shutil.which("gcc") is None:
        pytest.skip("there is no C compiler to stand in: apt-get install gcc")
    assert "C with OpenMP" in relift(*run, **without).stdout


def test_a_device_may_disappear_between_two_calls(
    working: str, run: tuple[str, ...], known: Path, tmp_path: Path
) -> None:
    """The second call says so, in one line."""
    assert relift(*run, "--target", working).returncode == 0
    moved = known.rename(tmp_path / known.name)
    gone = relift(*run, "--target", working)
    moved.rename(known)
    assert gone.returncode == 2
    assert gone.stderr.count("\n") == 1
    assert "there is no such file" in gone.stderr


def test_a_device_that_does_not_open_any_more_is_one_line(
    run: tuple[str, ...], known: Path
) -> None:
    """It passed its self-test, and is listed still."""
    gone = relift(*run, "--target", "cpu", FAULT="gone")
    assert gone.returncode == 2
    assert gone.stderr.count("\n") == 1
    assert "cannot be opened: Context failed: DEVICE_NOT_AVAILABLE" in gone.stderr


def test_opencl_may_have_been_called_before() -> None:
    """The devices that the process shows are used, and of the others it is said why not."""
    code = (
        "import os, pyopencl as cl\n"
        "os.environ['PATH'] = '/nowhere'\n"
        "os.environ['OCL_ICD_VENDORS'] = os.environ['PYOPENCL_HOME'] = '/nothing'\n"
        "try: cl.get_platforms()\n"
        "except cl.Error: pass\n"
        "del os.environ['OCL_ICD_VENDORS']\n"
        "import relift as rl\n"
        "try: rl.devices()\n"
        "except rl.Unsupported as error: print(error)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env=verdicts.child_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "it is not seen in this process: OpenCL was called before Relift" in ran.stdout


# ---- builds


def opened() -> Any:
    """A context of the CPU device of OpenCL."""
    import pyopencl as cl

    device: Any = find_device("cpu")
    return cl.Context([device])


def in_a_process(code: str, **environment: str) -> str:
    """What a Python prints that has its own devices."""
    lines = (
        "from relift.compiler.running.processes.building import build; from relift.compiler.running.processes import building",
        "from relift.compiler.devices.survey import find_device; import pyopencl as cl, relift as rl, time",
        "context = cl.Context([find_device('cpu')])",
        f"GOOD = {GOOD!r}",
        code,
    )
    ran = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)],
        env={**verdicts.child_environment(), **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.parametrize(
    ("marker", "how"),
    [("CRASH", "crashed on the kernel (SIGSEGV)"), ("HANG", "did not finish the kernel in 5 s")],
)
def test_a_driver_that_ends_while_it_compiles_costs_one_line(
    marker: str, how: str, known: Path
) -> None:
    """Python survives, the kernel is not tried again, and others are built as before."""
    told = in_a_process(
        f"GOOD += '// {marker.lower()}'\n"
        "build(context, GOOD)\n"
        "usual, building.SECONDS = building.SECONDS, 5\n"
        "asked, ask = [], building._Child.ask\n"
        "building._Child.ask = lambda *given: (asked.append(given), ask(*given))[1]\n"
        "for _ in range(2):\n"
        f"    try: build(context, GOOD + '// {marker}')\n"
        "    except rl.Unsupported as error: print(error)\n"
        "print(len(asked))\n"
        "building.SECONDS = usual\n"
        "print(build(context, GOOD + '// another').all_kernels()[0].function_name)"
    ).splitlines()
    assert told[0] == told[1]
    assert told[0].startswith("the OpenCL compiler of ")
    assert how in told[0]
    assert told[2:] == ["1", "k"]


@pytest.mark.usefixtures("known")
def test_a_crash_while_compiling_is_bad_luck_for_a_run_only(tmp_path: Path) -> None:
    """The command line says it in one line, with status 2."""
    program = tmp_path / "unlucky.py"
    program.write_text(DOUBLED.replace("doubled", "CRASH"))
    ran = relift("run", str(program), "--random", "0")
    assert ran.returncode == 2
    assert ran.stderr.count("\n") == 1
    assert "crashed on the kernel (SIGSEGV); its source is in " in ran.stderr


def test_what_was_built_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The next process builds nothing; a damaged file is built again."""

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    context = opened()
    source = GOOD + "// kept"
    build(context, source)
    (kept,) = (tmp_path / "relift" / "binaries").iterdir()

    def unwanted(*_: object) -> bytes:
        raise AssertionError("it was built again")

    with monkeypatch.context() as patched:
        patched.setattr(building, "_built", unwanted)
        assert build(context, source).all_kernels()[0].function_name == "k"
        kept.write_bytes(kept.read_bytes()[:-1])
        with pytest.raises(AssertionError, match="built again"):
            build(context, source)


def children() -> dict[Path, float]:
    """The processes that build for this one, and how many seconds each has worked."""
    found: dict[Path, float] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            _, parent, *fields = stat.read_text().rpartition(")")[2].split()
            builds = b"build_child.py" in stat.with_name("cmdline").read_bytes()
        except OSError:
            continue  # it ended meanwhile
        if int(parent) == os.getpid() and builds:
            ticks = int(fields[9]) + int(fields[10])  # of the user and of the system
            found[stat] = ticks / os.sysconf("SC_CLK_TCK")
    return found


def test_building_apart_costs_little() -> None:
    """One child serves all builds, and both work hardly longer than one that builds here: twice as long, and 50 ms each.

    In processor time, which other processes do not change.
    """
    context, builds = opened(), 5

    def seconds(how: Callable[..., object]) -> float:
        started = time.process_time() + sum(children().values())
        for number in range(builds):
            how(context, f"{GOOD}// {time.time_ns()} {number}")
        return time.process_time() + sum(children().values()) - started

    seconds(build)
    before = children().keys()
    apart, here = seconds(build), seconds(building.build_here)
    assert len(before) == 1
    assert children().keys() == before
    assert apart < 2 * here + 0.05 * builds


# ---- defects


def test_an_exact_kernel_folds_in_order_on_every_device() -> None:
    """Also where the driver regroups sums of floats: the bits are those of the interpreter."""
    x = np.random.default_rng(0).standard_normal(997).astype(np.float32)
    kernel = rl.compile(sums, contract=False)
    for device in devices():
        assert np.array_equal(kernel(x, device=label(device)), sums(x)), label(device)


def test_loops_are_found_where_they_stand() -> None:
    """Pragmas that unroll make way; everything else stays."""
    source = "kernel void k() {\n  for (;;) {\n    #pragma unroll\n    for (;;) x();\n  }\n}"
    pragma = "#pragma clang loop vectorize(disable) interleave(disable) unroll(disable)"
    assert in_order(source) == (
        f"kernel void k() {{\n  {pragma}\n  for (;;) {{\n    {pragma}\n    for (;;) x();\n  }}\n}}"
    )


def test_a_forked_process_is_not_left_waiting() -> None:
    """A device whose driver has threads is refused there, however often it would compute; the others compute."""
    for device in devices():
        told = in_a_process(
            "import os, sys, signal, numpy as np, relift as rl\n"
            "program = rl.program\n"
            "def double(x: rl.f32[4]): return rl.map_glb(0)(lambda v: v + v, x)\n"
            "kernel = rl.compile(rl.program(double))\n"
            f"x, name = np.ones(4, np.float32), {label(device)!r}\n"
            "kernel(x, device=name)\n"
            "if os.fork(): os.wait()\n"
            "else:\n"
            "    signal.alarm(60)\n"
            "    try: print(kernel(x, device=name).sum())\n"
            "    except rl.Unsupported as error: print(error)\n"
        )
        assert told.startswith("8.0") or "is forked after OpenCL was used" in told, label(device)


def test_what_threads_decide_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver with threads of its own is lost by forking, whatever one fork does: a first answer waited 12 s for PoCL's."""

    def forked(*_: object) -> NoReturn:
        raise AssertionError("a process was forked")

    monkeypatch.setattr(self_test, "fork", forked)
    said: list[Any] = []
    opened = Opened([find_device("cpu")], OpenCLTrial, list)
    self_test.examine(opened.devices[0], opened, 0, said.append, before=0)
    assert FORKING in said[-1]["tested"]["defects"]


def test_what_cannot_be_installed_is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU that is not there: the line ends with what is missing."""
    monkeypatch.setattr("relift.compiler.devices.survey._fitting", lambda *_: [])

    with pytest.raises(rl.Unsupported, match=r"there is no device of CUDA[^;:]*$"):
        find_device("cuda")
