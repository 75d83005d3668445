"""Bundles: what another machine runs without Relift, and that it finds every kind of wrong kernel."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

from proofs_tests.command_line import here
from proofs_tests.compiler.running.test_low_level import FOLDER, named
from relift.compiler.bench import bundle_runner
from relift.compiler.bench.bundle import read_results, write_bundle
from relift.compiler.bench.bundle_runner import (
    EXACT,
    Prepared,
    drawn,
    dtype_of,
    fill,
    in_order,
    median_of_runs,
    picked_rows,
    poison,
    unwritten,
)
from relift.compiler.devices.survey import find_device
from relift.semantics.domains import DTYPES
from relift.semantics.errors import ReliftError


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A bundle of two benchmarks at small sizes."""
    folder = tmp_path / "bundle"
    written = write_bundle(folder, [named("saxpy"), named("kmeans")], FOLDER / "samples.py")
    assert written == ["saxpy_1", "kmeans_1"]
    return folder


def run(bundle: Path) -> tuple[int, dict[str, dict[str, Any]]]:
    """The exit status of the bundle's runner, and its results by name; Relift cannot be imported there."""
    out = bundle / "results.json"
    done = subprocess.run(
        [sys.executable, "-P", str(bundle / "runner.py"), "--device", "cpu", "--out", str(out)],
        env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
        cwd=bundle,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert out.exists(), done.stderr
    return done.returncode, {e["name"]: e for e in read_results(out)["entries"]}


def edited(file: Path, change: Callable[[str], str]) -> None:
    before = file.read_text()
    file.write_text(change(before))
    assert file.read_text() != before


def test_right_kernels_are_timed(bundle: Path) -> None:
    """Every entry is right and has a time."""
    status, found = run(bundle)
    assert status == 0
    assert all(e["ok"] and e["seconds"] > 0 and e["runs"] == 30 for e in found.values())


def test_runner_needs_numpy_and_pyopencl_only(bundle: Path) -> None:
    """It imports the standard library besides."""
    tree = ast.parse((bundle / "runner.py").read_text())
    plain = [a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names]
    chosen = [n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    imported = {name.split(".")[0] for name in plain + chosen}
    assert imported - sys.stdlib_module_names == {"numpy", "pyopencl"}


def test_a_wrong_result_is_found(bundle: Path) -> None:
    """A kernel that computes something else is wrong, and the others are still timed."""
    edited(bundle / "saxpy_1" / "kernel.cl", lambda c: c.replace("(a * ", "(1.001f * a * "))
    status, found = run(bundle)
    assert status == 1
    assert not found["saxpy"]["ok"]
    assert found["saxpy"]["error"] > 1e-4
    assert found["kmeans"]["ok"]


def test_an_unwritten_cell_is_found(bundle: Path) -> None:
    """A kernel that leaves a cell unwritten is wrong, also where no row was picked."""

    def smaller(text: str) -> str:
        launch = json.loads(text)
        launch["kernels"][0]["global"][0] //= 2
        return json.dumps(launch)

    edited(bundle / "kmeans_1" / "launch.json", smaller)
    status, found = run(bundle)
    assert status == 1
    assert found["kmeans"]["unwritten"] == 32


def test_a_kernel_that_does_not_build_ends_no_other(bundle: Path) -> None:
    """The entry says what the driver said."""
    edited(bundle / "saxpy_1" / "kernel.cl", lambda c: c.replace("kernel void", "kernel int"))
    status, found = run(bundle)
    assert status == 1
    assert found["saxpy"]["failed"]
    assert found["kmeans"]["ok"]


def test_inputs_are_the_same_everywhere() -> None:
    """They depend on the name and the range alone, and differ between names."""
    draw = {"low": 2.0, "high": 4.0, "whole": False}
    first = drawn("x", [3, 5], "float32", draw)
    assert first.shape == (3, 5)
    assert np.array_equal(first, drawn("x", [3, 5], "float32", draw))
    assert not np.array_equal(first, drawn("y", [3, 5], "float32", draw))
    assert first.min() >= 2.0
    assert first.max() < 4.0
    whole = drawn("x", [100], "int32", {"low": 0, "high": 3, "whole": True})
    assert set(whole.tolist()) == {0, 1, 2}


def test_both_ends_are_picked() -> None:
    """The rows that are compared are the first, the last, and some between."""
    rows = picked_rows(1000)
    assert rows[0] == 0
    assert rows[-1] == 999
    assert 10 < len(rows) <= 18


def test_runs_by_time() -> None:
    """Short kernels run more often than long ones; three more runs do not count."""
    for seconds, count in ((1e-3, 30), (1e-2, 15), (1.0, 10)):
        calls: list[float] = []

        def once(seconds: float = seconds, calls: list[float] = calls) -> float:
            calls.append(seconds)
            return seconds

        median, times = median_of_runs(once)
        assert (median, len(times), len(calls)) == (seconds, count, count + 3)


# ---- the command line


def test_results_are_printed(bundle: Path) -> None:
    """`bench --results` prints a table; as JSON it prints a results file without logs."""
    run(bundle)
    shown = here("bench", "--results", str(bundle / "results.json"), COLUMNS="150")
    assert shown.returncode == 0, shown.stderr
    assert "Rodinia" in shown.stdout
    short = bundle / "short.json"
    short.write_text(here("bench", "--results", str(bundle / "results.json"), "--json").stdout)
    rows = read_results(short)["entries"]
    assert [r["name"] for r in rows] == ["saxpy", "kmeans"]
    assert all("log" not in r for r in rows)
    assert here("bench", "--results", str(short), COLUMNS="150").stdout == shown.stdout


def test_bundle_of_the_command_line(tmp_path: Path) -> None:
    """`bench NAME --bundle DIR` writes the kernels of all variants; with --ablation, of all settings."""
    done = here("bench", "saxpy", "--target", "gpu", "--bundle", str(tmp_path / "b"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "b" / "saxpy_2" / "kernel.cl").exists()
    here("bench", "saxpy", "--target", "gpu", "--ablation", "--bundle", str(tmp_path / "a"))
    manifest = json.loads((tmp_path / "a" / "manifest.json").read_text())
    assert [e["analyses"] for e in manifest["entries"]] == [
        "none",
        "barriers and control flow",
        "index simplification",
        "all",
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nothing",), "there is no benchmark nothing for cpu; there are: "),
        (("--folder", "nowhere"), "there is no folder nowhere; benchmarks are the files of"),
        (("--results", "nowhere.json"), "there is no file nowhere.json"),
        (
            ("--results", "pyproject.toml"),
            "pyproject.toml is not a list of times, as a bundle's runner.py",
        ),
    ],
)
def test_bad_input(words: tuple[str, ...], message: str) -> None:
    """One line on standard error, and status 2."""
    done = here("bench", *words)
    assert done.returncode == 2
    assert done.stderr.startswith("relift: ")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        (None, "there is no file {}"),
        ("others = 1", "{} has no function late, which computes rows of that benchmark's result"),
    ],
)
@pytest.mark.parametrize("words", [("--bundle", "made"), ()])
def test_missing_samples_are_said_before_a_search(
    samples: str | None, message: str, words: tuple[str, ...], tmp_path: Path
) -> None:
    """A program that is made late, after a search of minutes, is not made at all where nothing says what it must give."""
    (tmp_path / "own.py").write_text(
        "from relift.bench import Benchmark\n"
        "def make(**sizes):\n"
        "    raise SystemExit('the program was made')\n"
        "benchmarks = [Benchmark('late', 'cpu', make, {'n': 1}, [{'n': 1}], None, lambda n: n, lambda n: n)]\n"
    )
    if samples is not None:
        (tmp_path / "samples.py").write_text(samples)
    done = here("bench", "--folder", str(tmp_path), *words)
    assert done.returncode == 2, done.stderr
    assert message.format(tmp_path / "samples.py") in done.stderr


def test_a_list_is_no_results_file(tmp_path: Path) -> None:
    """JSON of another kind is refused."""
    file = tmp_path / "list.json"
    file.write_text("[]")
    with pytest.raises(ReliftError, match="holds no times"):
        read_results(file)


def test_the_runner_keeps_the_order_of_exact_folds(tmp_path: Path) -> None:
    """What it builds for a CPU of a kernel that must round as the interpreter does has no loop left to regroup."""
    text = f"{EXACT}\nkernel void k() {{\n  for (;;) {{\n  }}\n}}\n"
    (tmp_path / "kernel.cl").write_text(text)
    (tmp_path / "launch.json").write_text("{}")
    built: list[str] = []

    class Built(Exception):
        """There is nothing to run."""

    def program(context: Any, source: str) -> Any:
        built.append(source)
        raise Built

    platform = SimpleNamespace(name="Intel(R) OpenCL", version="OpenCL 3.1")
    device = SimpleNamespace(type=2, platform=platform, native_vector_width_float=16)
    cl = SimpleNamespace(
        CommandQueue=lambda *_, **__: None,
        command_queue_properties=SimpleNamespace(PROFILING_ENABLE=0),
        Program=program,
    )
    with pytest.raises(Built):
        Prepared(cl, SimpleNamespace(devices=[device]), tmp_path, {"options": []}, {})
    assert built == [in_order(text)]


@pytest.mark.parametrize("scalar", ["boolean", "f16", "f32", "f64", "i32", "i64"])
def test_cells_of_any_type_are_seen_to_be_unwritten(scalar: str) -> None:
    """The pattern is found cell by cell, and -1 is a number as others are."""
    dtype = dtype_of(scalar)
    assert dtype == DTYPES[scalar]
    row = np.repeat(poison(dtype), 3 * dtype.itemsize).view(dtype)
    assert unwritten([row]) == 3
    row[1] = -1
    assert unwritten([row]) == 2


def test_a_long_buffer_is_filled_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """To its last cell, and no further than a part at once."""
    device: Any = find_device("cpu")
    context = cl.Context([device])
    queue, row = cl.CommandQueue(context), np.zeros(10, np.float32)
    buffer = cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=row)
    sizes, whole = list[int](), cl.enqueue_fill_buffer
    monkeypatch.setattr(bundle_runner, "FILLED_AT_ONCE", 16)

    def counted(*given: Any) -> None:
        sizes.append(given[4])
        whole(*given)

    monkeypatch.setattr(cl, "enqueue_fill_buffer", counted)

    fill(queue, buffer, row.nbytes, row.dtype)

    cl.enqueue_copy(queue, row, buffer)
    assert unwritten([row]) == len(row)
    assert sizes == [16, 16, 8]
