"""Candidates that another machine times: the bundle, its results, and the order that they give."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relift as rl
from proofs_tests.command_line import ROOT, here, relift
from relift.compiler.bench.candidates import COMPARED, read_times, write_candidates
from relift.compiler.devices.survey import find_device
from relift.egraph.search.optimize import as_written
from relift.rewrites.loading import load_program
from relift.semantics.errors import Unsupported
from relift.semantics.language.programs import Program

DOT = str(ROOT / "examples" / "dot.py")
SIZES = {"n": 65536}
SEARCH = ("optimize", DOT, "--size", "n=65536", "--target", "cpu")
COUNT = 3


def runner(bundle: Path, *words: str) -> list[str]:
    return [sys.executable, "-P", str(bundle / "runner.py"), "--device", "cpu", *words]


def there() -> dict[str, str]:
    """The environment of a machine without Relift."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}


def run(bundle: Path, *words: str) -> dict[str, Any]:
    """What the runner of a bundle writes."""
    out = bundle / "results.json"
    subprocess.run(
        [*runner(bundle, "--out", str(out)), *words],
        env=there(), cwd=bundle, capture_output=True, timeout=100, check=False,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(out.read_text())
    return found


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle that the command line wrote, and that was run; not to be changed."""
    bundle = tmp_path_factory.mktemp("elsewhere") / "bundle"
    done = here(*SEARCH, "--top", str(COUNT), "--bundle", str(bundle))
    assert done.returncode == 0, done.stderr
    assert (
        f"written to {bundle}: dot_1, dot_2, dot_3\n"
        "there: python bundle/runner.py --device cpu; here: --times-from results.json\n"
    ) in done.stdout
    run(bundle)
    return bundle


@pytest.fixture
def bundle(measured: Path, tmp_path: Path) -> Path:
    """The same, to be changed."""
    return shutil.copytree(measured, tmp_path / "bundle")


def taken(bundle: Path, *words: str) -> list[dict[str, Any]]:
    """The candidates of a search that takes the times of a bundle."""
    times = ("--times-from", str(bundle / "results.json"), "--times", str(bundle / "t.sqlite"))
    done = here(*SEARCH, *times, "--json", *words)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["candidates"]
    return found


def times(candidates: list[dict[str, Any]]) -> list[float]:
    return [c["measured_seconds"] for c in candidates if c["measured_seconds"] is not None]


def test_the_fastest_there_comes_first_here(bundle: Path) -> None:
    """The order is that of the runner's times; a candidate that has none comes after those."""
    results = json.loads((bundle / "results.json").read_text())
    there = sorted(entry["fastest"] for entry in results["entries"])
    found = taken(bundle, "--top", str(COUNT + 1))

    assert times(found) == there
    assert found[-1]["measured_seconds"] is None


def test_one_candidate_is_the_fastest_of_all_that_were_timed(bundle: Path) -> None:
    """`--top 1` keeps the fastest there, wherever the cost model put it."""
    file = bundle / "results.json"
    results = json.loads(file.read_text())
    for entry, seconds in zip(results["entries"], (3.0, 2.0, 1.0), strict=True):
        entry["fastest"] = seconds
    file.write_text(json.dumps(results))

    assert times(taken(bundle)) == [1.0]


def test_times_from_elsewhere_are_reused(bundle: Path) -> None:
    """They are in the database under the device's name: what `--tune` measures there again can only be less."""
    file = bundle / "results.json"
    there = {**json.loads(file.read_text()), "device": find_device().name}
    file.write_text(json.dumps(there))  # as if it had been another machine with the same device
    before = {c["term"]: c["measured_seconds"] for c in taken(bundle, "--top", str(COUNT))}
    words = ("--tune", "--times", str(bundle / "t.sqlite"), "--top", "64", "--json")
    after = json.loads(here(*SEARCH, *words).stdout)["candidates"]
    both = [
        c for c in after if c["term"] in before
    ]  # this device may have shorter vectors than that one

    assert both
    assert all(c["measured_seconds"] <= before[c["term"]] for c in both)


def test_a_search_without_the_option_asks_no_database(bundle: Path) -> None:
    """Only `--tune` and `--times-from` order by times."""
    taken(bundle)
    done = here(*SEARCH, "--json", RELIFT_TUNING=str(bundle / "t.sqlite"))

    assert times(json.loads(done.stdout)["candidates"]) == []


# ---- wrong kernels


def multiply(folder: Path) -> None:
    """Make the last store of a kernel that of another number."""
    file = folder / "kernel.cl"
    head, equals, tail = file.read_text().rpartition(" = ")
    file.write_text(f"{head}{equals}1.01f * {tail}")


def test_a_wrong_kernel_gets_no_time(bundle: Path) -> None:
    """It is found by the runner, and no candidate here, however fast it was."""
    right = {c["term"] for c in taken(bundle, "--top", str(COUNT + 1))}
    (bundle / "t.sqlite").unlink()
    multiply(bundle / "dot_1")
    (wrong, *others) = run(bundle)["entries"]
    assert not wrong["ok"]
    assert wrong["error"] > 5e-3
    assert all(entry["ok"] for entry in others)
    found = taken(bundle, "--top", str(COUNT + 1))

    assert len(times(found)) == COUNT - 1
    assert len(right - {c["term"] for c in found}) == 1


def test_another_result_is_no_longer_right(bundle: Path) -> None:
    """What the results are compared with decides: other rows, and every kernel is wrong."""
    with np.load(bundle / "expected.npz") as stored:
        picked, rows = stored.values()
    np.savez(bundle / "expected.npz", picked, rows * 1.01)

    assert not any(entry["ok"] for entry in run(bundle)["entries"])


def test_no_right_candidate_is_an_error_and_keeps_nothing(bundle: Path) -> None:
    for number in (1, 2, 3):
        (bundle / f"dot_{number}" / "kernel.cl").write_text("no OpenCL")
    run(bundle)
    file = bundle / "results.json"
    done = here(*SEARCH, "--times-from", str(file), "--times", str(bundle / "t.sqlite"))

    assert done.returncode == 2
    assert done.stderr.startswith(f"relift: {file} has no candidate that was right on ")
    assert ": it does not run: RuntimeError: " in done.stderr
    assert not (bundle / "t.sqlite").exists()


# ---- interruption


def test_a_killed_runner_goes_on(bundle: Path) -> None:
    """Killed after one candidate, it leaves results that read; `--resume` times the others only."""
    out = bundle / "results.json"
    out.unlink()
    with subprocess.Popen(
        runner(bundle, "--out", str(out)), env=there(), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.kill()
    before = json.loads(out.read_text())["entries"]
    assert before[0]["ok"]
    assert len(times(taken(bundle, "--top", str(COUNT)))) == len(before)
    after = run(bundle, "--resume")["entries"]

    assert after[: len(before)] == before
    assert [e["folder"] for e in after] == ["dot_1", "dot_2", "dot_3"]
    assert len(times(taken(bundle, "--top", str(COUNT)))) == COUNT


def test_what_was_not_right_is_run_again(bundle: Path) -> None:
    """A failure may pass: `--resume` tries it anew, and without it all are timed anew."""
    kernel = bundle / "dot_2" / "kernel.cl"
    right = kernel.read_text()
    kernel.write_text("no OpenCL")
    first = run(bundle)["entries"]
    kernel.write_text(right)
    second = run(bundle, "--resume")["entries"]
    third = run(bundle)["entries"]

    assert [e["ok"] for e in first] == [True, False, True]
    assert [e["ok"] for e in second] == [True, True, True]
    assert (second[0], second[2]) == (first[0], first[2])
    assert third[0] != first[0]


def test_another_bundle_is_not_resumed(bundle: Path) -> None:
    """Times of a bundle that was written again for something else do not count."""
    manifest = bundle / "manifest.json"
    first = run(bundle)["entries"]
    manifest.write_text(manifest.read_text().replace('"term": "dot', '"term": "another dot', 1))
    second = run(bundle, "--resume")["entries"]

    assert second[0]["term"].startswith("another dot")
    assert second[1:] == first[1:]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda text: text.replace('"device": "', '"device": "another '),
            "is of another device or driver; say --out for a file of its own",
        ),
        (lambda text: text[:100], "holds no results to resume; remove it"),
        (lambda text: "[]", "holds no results to resume; remove it"),
    ],
    ids=["device", "cut", "list"],
)
def test_what_cannot_be_resumed_is_refused(bundle: Path, change: Any, message: str) -> None:
    """Times of two devices never share a file, and a file that is no results is left as it is."""
    file = bundle / "results.json"
    file.write_text(change(file.read_text()))
    before = file.read_text()
    done = subprocess.run(
        runner(bundle, "--out", str(file), "--resume"),
        env=there(), capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (1, f"{file} {message}\n")
    assert file.read_text() == before


# ---- what is said of other files


def cut(text: str) -> str:
    return text[:1]


def edited(**changes: Any) -> Any:
    """A change of every entry of a results file; None removes a key."""

    def change(text: str) -> str:
        results = json.loads(text)
        for entry in results["entries"]:
            for key, value in changes.items():
                entry[key] = value
                if value is None:
                    del entry[key]
        return json.dumps(results)

    return change


NO_TIMES = "is not a list of times, as a bundle's runner.py writes it: it is no JSON"
ORIGIN = "a bundle's runner.py writes them as results.json"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (cut, f"{NO_TIMES} at line 1, column 2"),
        (lambda text: "\x00\x01", f"{NO_TIMES} at line 1, column 1"),
        (lambda text: "[]", f"holds no times of candidates; {ORIGIN}"),
        (edited(term=None), f"holds no times of candidates; {ORIGIN}"),
        (edited(fastest=None), f"holds no times of candidates; {ORIGIN}"),
        (edited(fastest=-1.0), f"holds no times of candidates; {ORIGIN}"),
        (edited(fastest="soon"), f"holds no times of candidates; {ORIGIN}"),
        (
            lambda text: json.dumps({**json.loads(text), "entries": []}),
            f"holds no times of candidates; {ORIGIN}",
        ),
        (
            lambda text: json.dumps({**json.loads(text), "version": 7}),
            "has version 7, this Relift reads 1; write the bundle again",
        ),
        (edited(name="saxpy"), "has times of saxpy, not of dot"),
        (edited(sizes={"n": 64}), "has times of dot at n = 64, not at n = 65536"),
        (edited(target="gpu"), "has times of candidates for a gpu; say --target gpu"),
        (
            edited(source="dot(x: f32[65536]) -> f32 = ..."),
            "has times of another dot: it changed since; write the bundle again",
        ),
        (
            edited(ok=False, error=0.25, unwritten=0),
            "has no candidate that was right on DEVICE: wrong result: error 2.5e-01",
        ),
        (
            edited(ok=False, error=0.0, unwritten=8),
            "has no candidate that was right on DEVICE: wrong result: 8 cells are not written",
        ),
    ],
    ids=[
        "cut",
        "binary",
        "list",
        "no term",
        "no time",
        "negative",
        "no number",
        "no entries",
        "version",
        "program",
        "sizes",
        "target",
        "source",
        "wrong",
        "unwritten",
    ],
)
def test_results_that_do_not_fit_are_one_message(bundle: Path, change: Any, message: str) -> None:
    """Damaged, of something else, or all wrong: one line, status 2, and nothing is kept."""
    file = bundle / "results.json"
    device = json.loads(file.read_text())["device"]
    file.write_text(change(file.read_text()))
    done = here(*SEARCH, "--times-from", str(file), "--times", str(bundle / "t.sqlite"))

    assert done.stderr == f"relift: {file} {message.replace('DEVICE', device)}\n"
    assert done.returncode == 2
    assert not (bundle / "t.sqlite").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--times-from", "nowhere.json"), "there is no file nowhere.json"),
        (
            ("--times-from", "examples/low_level/results_h200.json"),
            f"examples/low_level/results_h200.json holds no times of candidates; {ORIGIN}",
        ),
        (
            ("--tune", "--bundle", "b"),
            "--tune times here, --bundle and --times-from elsewhere; give one of them",
        ),
        (
            ("--bundle", "b", "--times", "t"),
            "--times keeps the times of --tune or --times-from; give one of them",
        ),
    ],
)
def test_options_that_do_not_fit(words: tuple[str, ...], message: str) -> None:
    done = here(*SEARCH, *words)

    assert done.stderr == f"relift: {message}\n"
    assert done.returncode == 2


def test_a_device_that_nobody_described() -> None:
    """Asked in a process of its own: no line of who called is to blame."""
    done = relift(*SEARCH, "--bundle", "b", "--target", "pocl")

    told = "no device description is called 'pocl'; say cpu or gpu, or describe the device"
    assert (done.returncode, done.stderr) == (2, f"relift: {told}\n")


def test_times_of_candidates_are_none_of_benchmarks(bundle: Path) -> None:
    """`bench --results` says so."""
    file = bundle / "results.json"
    done = here("bench", "--results", str(file))

    assert done.stderr.startswith(f"relift: {file} holds no times of benchmarks (")
    assert done.stderr.endswith(f"); {ORIGIN}\n")


# ---- what results must be


n = rl.nat("n", least=0)
m = rl.nat("m")


@rl.program
def doubled(x: rl.f32[n]):
    """No NumPy function says what this is."""
    return rl.map(lambda a: a + a, x)


@rl.program
def copied(ids: rl.i32[n], x: rl.f32[n]):
    """Whole numbers that are used as indices."""
    return rl.map(lambda i: rl.at_runtime_unsafe(i, x), ids)


@rl.program
def below_zero(x: rl.i32[n]):
    """Whole numbers as they were drawn."""
    return rl.map(lambda a: a + 0, x)


@rl.program
def roots(x: rl.f32[n]):
    """What is no number."""
    return rl.map(lambda a: rl.sqrt(a - 2.0), x)


@rl.program
def wide(x: rl.f64[n]):
    """Cells of eight bytes."""
    return rl.map(lambda a: a + a, x)


@rl.program
def misjudged(x: rl.f32[n]):
    """A program whose NumPy function is that of another."""
    return rl.map(lambda a: a + a, x)


@misjudged.gold
def its_sum(x: Any) -> Any:
    return np.sum(x)


def lowered(program: Program, sizes: dict[str, int]) -> list[Program]:
    return [as_written(program, sizes, "cpu").term]


@pytest.mark.parametrize("program", [doubled, copied])
def test_the_interpreter_decides_where_no_function_does(program: Program, tmp_path: Path) -> None:
    """At small sizes; a right kernel is right, and another one is not."""
    sizes = {"n": 256}
    write_candidates(tmp_path, program, sizes, lowered(program, sizes), "cpu")
    assert run(tmp_path)["entries"][0]["ok"]
    device, (timed,) = read_times(tmp_path / "results.json", program, sizes, "cpu")
    assert device
    assert (timed.term, timed.failure) == (str(lowered(program, sizes)[0]), "")
    multiply(tmp_path / f"{program.name}_1")
    assert not run(tmp_path)["entries"][0]["ok"]


@pytest.mark.parametrize(
    ("program", "size", "message"),
    [
        (
            doubled,
            1 << 20,
            (
                "doubled is too large for the interpreter at these sizes, so nothing says what a kernel "
                "must compute; give it a NumPy function below @doubled.gold"
            ),
        ),
        (
            below_zero,
            256,
            (
                "the result of below_zero has cells that are -1, which a bundle's runner takes for cells "
                "that no kernel wrote"
            ),
        ),
        (
            roots,
            256,
            (
                "the result of roots is not finite at the inputs of a bundle; what is no number cannot be "
                "compared"
            ),
        ),
        (wide, 256, "wide has values of type f64; a bundle's runner knows f32 and i32"),
        (misjudged, 256, "the NumPy function of misjudged returns [], the program [256]"),
        (doubled, 0, "the result of doubled is empty at these sizes"),
    ],
)
def test_no_bundle_without_a_result_to_compare_with(
    program: Program, size: int, message: str, tmp_path: Path
) -> None:
    """What the runner could not tell from a wrong kernel is refused, and no manifest is written."""
    sizes = {"n": size}
    candidates = lowered(program, sizes) if size else []
    with pytest.raises(Unsupported) as refused:
        write_candidates(tmp_path, program, sizes, candidates, "cpu")

    assert refused.value.message == message
    assert not (tmp_path / "manifest.json").exists()


def test_every_cell_of_a_small_result_is_compared(tmp_path: Path) -> None:
    """The bundle brings all of them, so one wrong cell is found."""
    sizes = {"n": 256}
    write_candidates(tmp_path, doubled, sizes, lowered(doubled, sizes), "cpu")
    with np.load(tmp_path / "expected.npz") as stored:
        picked, rows = stored.values()
    rows[100] += 1e-3
    np.savez(tmp_path / "expected.npz", picked, rows)

    assert picked.tolist() == list(range(256))
    assert not run(tmp_path)["entries"][0]["ok"]


@rl.program
def nearest(x: rl.f32[n, m], c: rl.f32[m]):
    """Whether a sum of squares is small: a whole number that hangs on floats."""

    def near(row):
        gaps = rl.map(lambda p: p[0] - p[1], rl.zip(row, c))
        return rl.select(rl.reduce(rl.add, 0.0, rl.map(lambda g: g * g, gaps)) < 40.0, 1, 0)

    return rl.map(near, x)


@pytest.mark.parametrize(("program", "whole"), [(nearest, True), (doubled, False)])
def test_floats_that_decide_whole_numbers_are_whole(
    program: Program, whole: bool, tmp_path: Path
) -> None:
    """Then no rounding decides, and each right kernel gives the same."""
    sizes = dict.fromkeys(program.sizes, 64)
    write_candidates(tmp_path, program, sizes, lowered(program, sizes), "cpu")
    [entry, *_] = json.loads((tmp_path / "manifest.json").read_text())["entries"]
    assert {c["draw"]["whole"] for c in entry["parameters"]} == {whole}


@rl.program
def large(x: rl.f32[n]):
    """More cells than a bundle brings."""
    return rl.map(lambda a: a + a, x)


@large.gold
def with_numpy(x: Any) -> Any:
    return x + x


def test_rows_of_a_large_result_are_compared(tmp_path: Path) -> None:
    """Random ones and both ends, as many as fit; what is stored is what the kernel gives."""
    sizes = {"n": COMPARED + 4096}
    write_candidates(tmp_path, large, sizes, lowered(large, sizes), "cpu")
    with np.load(tmp_path / "expected.npz") as stored:
        picked, rows = stored.values()

    assert (picked[0], picked[-1]) == (0, COMPARED + 4095)
    assert COMPARED // 2 < len(picked) == len(rows) <= COMPARED + 2
    assert run(tmp_path)["entries"][0]["ok"]


def test_the_order_of_a_bundle_is_that_of_tuning(tmp_path: Path) -> None:
    """The candidates are those that `--tune` would measure first, in its order; no GPU is needed."""
    done = here(
        "optimize", DOT, "--size", "n=65536", "--target", "gpu", "--top", str(COUNT),
        "--bundle", str(tmp_path),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    written = json.loads((tmp_path / "manifest.json").read_text())["entries"]
    asked: list[str] = []

    def measure(program: Program) -> float:
        asked.append(str(program))
        return 1.0

    rl.optimize(load_program(DOT), SIZES, "gpu", measure=measure, tuning=tmp_path / "t.sqlite")

    found = [entry["term"] for entry in written]
    first = asked[: COUNT + 1]  # the program as written is measured, too, wherever it stands
    assert [term for term in first if term in found] == found
