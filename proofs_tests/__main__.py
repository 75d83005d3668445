"""The one gate: every linter and type checker, then the tests.

`python -m proofs_tests [PYTEST ARGUMENT...]` runs them all whatever fails, and exits with 1 if
any did. Without arguments the tests run on all cores, and those of kernels on a second OpenCL implementation
before, while the type checkers work. The tests wait for no checker, but what they print does: pytest comes last, so
that its closing line is the last one printed.

On that implementation one case in four of each test runs; the compiler that is tested is the same one.

`python -m proofs_tests --long` runs the tests that this leaves out, those marked `long`, and all cases of those of kernels
on the second implementation.
"""

import os
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from tempfile import NamedTemporaryFile

from proofs_tests.portions import LONG, SHORT

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = Path(sysconfig.get_path("scripts"))

CHECKS: tuple[tuple[str, ...], ...] = (
    ("ruff", "check"),
    ("ruff", "format", "--check"),
    ("mypy",),
    ("pyright", "--pythonpath", sys.executable),
    ("lint-imports", "--no-logo"),
)

Call = Future[subprocess.CompletedProcess[str]]

KERNELS = tuple(
    f"proofs_tests/compiler/{name}"
    for name in (
        "running/test_kernels.py", "lowering/test_patterns_compiled.py",
        "running/test_low_level.py::test_kernel_computes_what_numpy_does",
        "running/test_low_level.py::test_what_is_written_by_hand_computes_the_same",
        "running/test_low_level_examples.py", "codegen/test_local_memory.py", "lowering/test_open_sizes.py",
        "running/test_running.py", "codegen/test_wide_vectors.py",
        "agreement/test_user_functions.py::test_user_functions_agree",
        "agreement/test_user_functions.py::test_user_functions_of_the_examples_agree_with_their_references",
        "agreement/test_user_functions.py::test_neighbouring_references",
    )
)  # fmt: skip
"""The tests that build and run kernels, and compare functions; what is said of a difference is the same on each
device.  Those among them that are marked so ask nothing of a device."""

SIMULATED = KERNELS[:1]
"""Those that a simulator is quick enough for."""

EVERY = 4
"""Of the cases of each of them a second implementation runs the first, and each that is so many after it."""

WORKERS = ("-n", str((os.cpu_count() or 1) + 1))
"""One more than there are cores: many tests wait for a process that they started, or for one that hangs."""

ON_ALL_CORES = (*WORKERS, "--dist", "worksteal")


def second_device() -> tuple[str, dict[str, str]] | None:
    """The name of a CPU device of another OpenCL implementation than the default, and variables to find it.

    Where there is none, it is the simulator.
    """
    from relift.compiler.agreement.simulator import driver
    from relift.compiler.devices.drivers import ONLY
    from relift.compiler.devices.naming import implementation
    from relift.compiler.devices.survey import find_device, survey

    default = implementation(find_device())
    for found in survey():
        if found.works and found.device is not None and found.kind == "cpu":
            name = implementation(found.device)
            if name != default:
                return name, {}
    simulator = driver()
    return None if simulator is None else ("Oclgrind", {ONLY: str(simulator)})


def kernels_pass_elsewhere(every: int = 1) -> bool:
    """Whether the tests of kernels pass on a second OpenCL implementation: all cases, or each so many.

    Where there is none, it is said.
    """
    from relift.semantics.errors import Unsupported

    try:
        second = second_device()
    except Unsupported as error:
        print(f"== kernels cannot be tested: {error}", flush=True)
        return False
    if second is None:
        print(
            "== kernels run on one OpenCL implementation only: apt-get install pocl-opencl-icd, or oclgrind",
            flush=True,
        )
        return True
    name, variables = second
    tests = KERNELS if name != "Oclgrind" else SIMULATED
    if name == "Oclgrind":
        print("== no second OpenCL implementation works here: Oclgrind takes its place", flush=True)
    marked = "not no_device" if every == 1 else f"{SHORT} and not no_device"
    again = ("-m", marked, "--every", str(every), "--device", name)
    return passes("pytest", *WORKERS, *again, *tests, variables=variables)


def call(
    tool: str,
    *arguments: str,
    variables: Mapping[str, str] | None = None,
    output: int | None = None,
) -> subprocess.CompletedProcess[str]:
    """The tool that is installed beside this Python, run from the root; what it says is kept where `output` is a pipe."""
    if not (SCRIPTS / tool).exists():
        missing = f"{tool} is not installed beside {sys.executable}: pip install -e '.[test]'\n"
        return subprocess.CompletedProcess(tool, 1, missing)
    # lint-imports imports nothing but must find the package; the tests start hundreds of processes, which need not
    # compile all modules again where images of containers have Python forget what it compiled
    told = {"PYTHONPATH": str(ROOT / "src"), "PYTHONDONTWRITEBYTECODE": ""}
    environment = os.environ | told | dict(variables or {})
    command = (str(SCRIPTS / tool), *arguments)
    return subprocess.run(
        command, cwd=ROOT, env=environment, check=False, text=True, stdout=output, stderr=output
    )


def passes(tool: str, *arguments: str, variables: Mapping[str, str] | None = None) -> bool:
    """Whether the tool succeeds."""
    print(f"== {tool} {' '.join(arguments)}".rstrip(), flush=True)
    done = call(tool, *arguments, variables=variables)
    print(done.stdout or "", end="", flush=True)
    return done.returncode == 0


def failing(
    calls: Mapping[tuple[str, ...], Call],
) -> list[tuple[str, ...]]:
    """The linters and type checkers that fail.  What each says is printed in one piece."""
    for check, done in calls.items():
        told = done.result()
        print(f"== {' '.join(check)}", told.stdout, told.stderr or "", sep="\n", flush=True)
    return [check for check, done in calls.items() if done.result().returncode]


def long_tests_pass() -> bool:
    """Whether the tests that every other run leaves out pass, those of kernels on two implementations."""
    elsewhere = kernels_pass_elsewhere()
    return passes("pytest", *ON_ALL_CORES, "-m", LONG) and elsewhere


def everything_passes() -> bool:
    """Whether the checks and the tests pass, of which neither waits for the other: the slowest check keeps one core busy."""
    with (
        NamedTemporaryFile(prefix="relift-tests-") as said,
        ThreadPoolExecutor(len(CHECKS) + 1) as pool,
    ):
        calls = {check: pool.submit(call, *check, output=subprocess.PIPE) for check in CHECKS}
        elsewhere = kernels_pass_elsewhere(EVERY)
        colour = ("--color=yes",) if sys.stdout.isatty() else ()
        words = (*ON_ALL_CORES, "-m", SHORT, *colour)
        tests = pool.submit(call, "pytest", *words, output=said.fileno())
        checked = told(failing(calls))
        print(f"== pytest {' '.join(words)}", flush=True)
        show(tests, Path(said.name))
        return tests.result().returncode == 0 and elsewhere and checked


def show(tests: Call, file: Path) -> None:
    """Print what the tests write to a file, soon after they do, until they have ended."""
    with file.open("rb") as said:
        ended = False
        while not ended:
            ended = bool(wait([tests], timeout=0.5).done)
            sys.stdout.buffer.write(said.read())
            sys.stdout.buffer.flush()
    print(tests.result().stdout or "", end="", flush=True)


def told(failed: Sequence[tuple[str, ...]]) -> bool:
    """Whether no check failed; which did is said again, right above the tests."""
    if failed:
        names = (" ".join(word for word in check[:2] if word[0] != "-") for check in failed)
        print(f"== FAILED before the tests: {', '.join(names)}", flush=True)
    return not failed


def main() -> int:
    """Run every check and pytest, and report all failures."""
    match sys.argv[1:]:
        case []:
            return 0 if everything_passes() else 1
        case [word] if word == f"--{LONG}":
            return 0 if long_tests_pass() else 1
        case words:
            with ThreadPoolExecutor(len(CHECKS)) as pool:
                checked = told(
                    failing({c: pool.submit(call, *c, output=subprocess.PIPE) for c in CHECKS})
                )
            return 0 if passes("pytest", *words) and checked else 1


if __name__ == "__main__":
    sys.exit(main())
