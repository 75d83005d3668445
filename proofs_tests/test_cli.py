"""The command line as a person uses it: verbs, exit status, and one clear message for bad input."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest

import relift as rl
from proofs_tests.command_line import ROOT, here, relift
from proofs_tests.tampering import resealed

DOT = str(ROOT / "examples" / "dot.py")
Found: TypeAlias = tuple[Path, dict[str, Any]]


def program(folder: Path, body: str, parameters: str = "x: rl.f32[n]") -> str:
    """A program file with the given body."""
    file = folder / "mine.py"
    file.write_text(
        'import relift as rl\n\nn, m = rl.nat("n"), rl.nat("m")\n\n\n'
        f"@rl.program\ndef mine({parameters}):\n    return {body}\n"
    )
    return str(file)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """The folder of what a search finds for the dot product, and what it prints as JSON."""
    folder = tmp_path_factory.mktemp("found") / "best"
    done = relift("optimize", DOT, "--size", "n=65536", "--json", "--out", str(folder))
    assert done.returncode == 0, done.stderr
    return folder, json.loads(done.stdout)


def test_run_checks_and_writes_the_result(tmp_path: Path) -> None:
    """`run --check --out` agrees with NumPy and the interpreter and writes what it computed."""
    x = np.arange(64, dtype=np.float32)
    np.save(tmp_path / "x.npy", x)
    out = tmp_path / "deep" / "result.npy"
    ran = relift(
        "run", DOT, "--input", f"x={tmp_path}/x.npy", "--input", f"y={tmp_path}/x.npy",
        "--check", "--out", str(out),
    )  # fmt: skip

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("agrees with") == 3
    assert np.load(out) == np.dot(x, x)


def test_json_is_the_only_output() -> None:
    """With --json a verb prints one JSON object."""
    ran = here("run", DOT, "--size", "n=256", "--random", "0", "--check", "--json")
    data: dict[str, Any] = json.loads(ran.stdout)

    assert ran.returncode == 0
    assert data["sizes"] == {"n": 256}
    assert all(check["ok"] for check in data["checks"])


def test_optimize_writes_what_explain_replays_and_run_takes(found: Found, tmp_path: Path) -> None:
    """A candidate folder holds kernel, launch, term and derivation; each is read back."""
    folder, _ = found
    names = {path.name for path in folder.iterdir()}
    assert names == {
        "kernel.cl",
        "launch.json",
        "certificate.json",
        "term.txt",
        "derivation.json",
        "manifest.json",
    }

    page = tmp_path / "page.html"
    explained = here("explain", str(folder / "derivation.json"), "--html", str(page))
    assert explained.returncode == 0, explained.stderr
    assert "the interpreter confirms each of the" in explained.stdout
    assert page.read_text().endswith("</html>\n")

    ran = here(
        "run",
        DOT,
        "--kernel",
        str(folder),
        "--size",
        "n=65536",
        "--random",
        "3",
        "--check",
    )
    assert ran.returncode == 0, ran.stderr


def test_a_tampered_derivation_is_refused(found: Found, tmp_path: Path) -> None:
    """A step that does not follow makes `explain` fail and name the step."""
    file = tmp_path / "derivation.json"
    data = json.loads((found[0] / "derivation.json").read_text())
    data["steps"][0]["rule"] = "transpose_transpose"
    file.write_text(json.dumps(data))
    ran = here("explain", str(file))

    assert ran.returncode == 2
    assert "step 1" in ran.stderr


def test_a_kernel_of_another_program_is_refused(found: Found, tmp_path: Path) -> None:
    """`run --kernel` compares what the program says, not only its parameters."""
    other = program(
        tmp_path, "rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] - p[1], rl.zip(x, y)))",
        "x: rl.f32[n], y: rl.f32[n]",
    )  # fmt: skip
    ran = here("run", other, "--kernel", str(found[0]), "--random", "0", "--size", "n=65536")

    assert ran.returncode == 2
    assert "computes another program than mine, named dot" in ran.stderr


def test_nothing_differs_at_size_1() -> None:
    """There are no smaller sizes to confirm at: the recorded programs are run."""
    ran = here("run", DOT, "--random", "0", "--size", "n=1", "--budget", "1", "--check")

    assert ran.returncode == 0, ran.stdout
    assert "DIFFERS" not in ran.stdout


def test_verify_compares_several_candidates() -> None:
    """`verify` compares the interpreter, the low-level terms and the kernels of several plans."""
    ran = here("verify", DOT, "--size", "n=4096", "--devices", "cpu", "--top", "2", "--json")
    data = json.loads(ran.stdout)

    assert ran.returncode == 0, ran.stderr
    assert len(data["candidates"]) == 2
    assert all(c["ok"] for found in data["candidates"] for c in found["certificates"])


def test_verify_refutes_a_damaged_kernel(tmp_path: Path) -> None:
    """The certificate is made anew from the kernel in the folder; what fails is printed with a model."""
    file = program(tmp_path, "rl.map(lambda v: v + 1.0, x)")
    folder = tmp_path / "best"
    made = here("optimize", file, "--size", "n=1024", "--budget", "2", "--out", str(folder))
    assert made.returncode == 0, made.stderr
    kernel = folder / "kernel.cl"
    text = kernel.read_text(encoding="utf-8")
    assert "// certificate: bounds: 2 of 2 proved" in text

    def verified() -> Any:
        return here("verify", str(folder), "--devices", "cpu")

    assert verified().returncode == 0
    wrong, changes = re.subn(r"\bout(\[| \+ )", lambda m: f"{m[0]}16 + ", text)
    assert changes
    kernel.write_text(wrong, encoding="utf-8")
    edited = verified()
    assert edited.returncode == 2
    assert "kernel.cl is not the file that was written with the others" in edited.stderr
    resealed(folder)
    damaged = verified()
    assert damaged.returncode == 1
    assert re.search(r"bounds +write out\[.*refuted: ", damaged.stdout), damaged.stdout


def test_a_low_level_program_is_its_own_kernel() -> None:
    """`verify` and `run` search for nothing: they take the kernel of all sizes, at the sizes given."""
    file = "examples/matmul_low_level.py"
    ran = here("verify", file, "--size", "n=70", "--devices", "cpu", "--json")
    assert ran.returncode == 0, ran.stderr
    (found,) = json.loads(ran.stdout)["candidates"]
    assert [c["sizes"] for c in found["certificates"]] == ["all sizes"]
    assert all(c["ok"] for c in [*found["certificates"], *found["checks"]])
    size = "m=5,k=4,n=70"
    ran = here("run", file, "--size", size, "--random", "0", "--check", "--json")
    assert ran.returncode == 0, ran.stderr
    assert [c["ok"] for c in json.loads(ran.stdout)["checks"]] == [True, True]


@pytest.mark.parametrize("words", [("verify",), ("run", "--random", "0")])
def test_what_the_compiler_refuses_is_refused_for_its_reason(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    """Of a program that says itself what runs in parallel, a search has nothing better to say."""
    file = tmp_path / "stops.py"
    file.write_text(
        "import relift as rl\n\n@rl.program\ndef stops(x: rl.f32[4, 8]):\n"
        "    step = lambda s, v: rl.map_seq(lambda u: u + v, s)\n"
        "    return rl.map_glb(0)(lambda r: rl.reduce_while(step, lambda s, v: s[0] < v, r, r)[1], x)\n"
    )
    ran = here(words[0], str(file), *words[1:])
    assert ran.returncode == 2
    assert "reduce_while with an accumulator of type f32[8]" in ran.stderr
    assert "optimize" not in ran.stderr


def test_compile_prints_one_kernel_for_all_sizes() -> None:
    """A low-level program without --size: its sizes are arguments, and what is proved is so for all."""
    done = here("compile", "examples/matmul_low_level.py", "--certify")
    assert done.returncode == 0, done.stderr
    assert "const int n" in done.stdout
    proved = (
        "races: 1 of 1 proved, covered: 1 of 1 proved, values: shown, meaning: 1 of 1 proved; "
        "all sizes; shown at m = 2"
    )
    assert proved in done.stdout.splitlines()[-1]


def test_compile_takes_sizes_and_numbers_of_work_items(tmp_path: Path) -> None:
    """Some sizes are fixed; the launch and the certificate are written."""
    words = ["--size", "n=128", "--local", "8,4", "--global", "64,32", "--json", "--out"]
    done = here("compile", "examples/matmul_low_level.py", *words, str(tmp_path))
    assert done.returncode == 0, done.stderr
    launch = json.loads(done.stdout)["launch"]
    assert launch == json.loads((tmp_path / "launch.json").read_text(encoding="utf-8"))
    assert launch["kernels"][0]["local"] == [8, 4]
    assert launch["kernels"][0]["global"] == [64, 32]
    assert "n" not in launch["sizes"]


def test_compile_refuses_what_is_not_low_level() -> None:
    """One message, with the hint."""
    done = here("compile", "examples/saxpy.py")
    assert done.returncode == 2
    assert "says not where; lower it to map_seq, map_glb(d)" in done.stderr
    assert (
        "--local x,4: say numbers"
        in here("compile", "examples/matmul_low_level.py", "--local", "x,4").stderr
    )


def test_devices_lists_the_embedded_one() -> None:
    """`devices` shows the embedded CPU device with the numbers of the cost model."""
    data = json.loads(here("devices", "--json").stdout)

    assert any(d["kind"] == "cpu" and d["compute_units"] >= 1 for d in data["devices"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("optimize", DOT), "size n is not given"),
        (("optimize", DOT, "--size", "k=4"), "size n is not given"),
        (("optimize", DOT, "--size", "n=4,k=4"), "has no size k; its sizes are: n"),
        (("optimize", DOT, "--size", "n=-4"), "a size is a whole number from 0 on"),
        (("optimize", DOT, "--size", "n"), "write it as --size n=1024"),
        (("optimize", "nowhere.py", "--size", "n=4"), "no file"),
        (("optimize", "README.md", "--size", "n=4"), "names no program"),
        (("optimize", f"{DOT}:nothing", "--size", "n=4"), "nothing"),
        (("optimize", DOT, "--size", "n=64", "--target", "abacus"), "no device is called"),
        (("optimize", DOT, "--size", "n=64", "--float", "wrong"), "reassociate or exact"),
        (("run", DOT, "--size", "n=64"), "needs x: f32[n]"),
        (("run", DOT, "--input", "x=gone.npy", "--input", "y=gone.npy"), "no file gone.npy"),
        (("run", DOT, "--input", "z=gone.npy"), "no parameter z"),
        (("run", DOT, "--size", "n=64", "--random", "0", "--kernel", "nowhere"), "nowhere"),
        (("check", "no_such_rule"), "there is no rule no_such_rule"),
        (("check", "map_fusion", "--tier", "9"), "there is no tier 9"),
        (("explain", "gone.json"), "there is no file gone.json"),
        (("explain", "pyproject.toml"), "is not a derivation"),
        (("frobnicate",), "frobnicate"),
    ],
)
def test_bad_input_is_one_message_and_status_2(words: tuple[str, ...], message: str) -> None:
    """Bad input is refused on one line of standard error, without a traceback, with status 2."""
    ran = here(*words)

    assert ran.returncode == 2, ran.stdout + ran.stderr
    assert message in ran.stderr
    assert ran.stderr.startswith("relift: ")
    assert ran.stderr.count("\n") == 1
    assert not ran.stdout


@pytest.mark.parametrize(
    ("body", "parameters", "message"),
    [
        ("rl.split(4, x)", "x: rl.f32[n]", "split: 4 does not divide n"),
        ("rl.zip(x, y)", "x: rl.f32[n], y: rl.f32[m]", "zip: length n is needed"),
        ("rl.reduce(rl.add, 0.0, x[0])", "x: rl.f32[n]", "reduce: xs must be of the form"),
        ("rl.map(lambda p: p[0], x)", "x: rl.f32[n]", "has no components"),
    ],
)
def test_an_ill_typed_program_names_pattern_sizes_and_line(
    body: str, parameters: str, message: str, tmp_path: Path
) -> None:
    """The message names the pattern, the sizes in conflict, and the line of the user's file."""
    file = program(tmp_path, body, parameters)
    ran = here("run", file, "--random", "0")

    assert ran.returncode == 2
    assert message in ran.stderr
    assert f"{file}:8" in ran.stderr


def test_a_size_that_does_not_divide_is_refused(tmp_path: Path) -> None:
    """A program that splits by 4 refuses a length that 4 does not divide, naming both."""
    file = program(tmp_path, "rl.join(rl.split(4, x))", "x: rl.f32[4 * n + m]")
    ran = here("optimize", file, "--size", "n=4,m=4")

    assert ran.returncode == 2
    assert "split: 4 does not divide m + 4*n" in ran.stderr


def test_a_mis_shaped_input_is_refused(tmp_path: Path) -> None:
    """An input of the wrong number of dimensions, length or element type is refused by name."""
    np.save(tmp_path / "matrix.npy", np.zeros((2, 3), np.float32))
    np.save(tmp_path / "three.npy", np.zeros(3, np.float32))
    np.save(tmp_path / "four.npy", np.zeros(4, np.float32))
    np.save(tmp_path / "doubles.npy", np.zeros(4))
    cases = {
        ("matrix", "four"): "x: f32[n] has 1 dimension",
        ("three", "four"): "length 3 is needed",
        ("four", "doubles"): "holds float64",
    }
    for (x, y), message in cases.items():
        ran = here(
            "run", DOT, "--input", f"x={tmp_path}/{x}.npy", "--input", f"y={tmp_path}/{y}.npy"
        )

        assert ran.returncode == 2
        assert message in ran.stderr


def test_the_version_is_told() -> None:
    """`--version` prints that of the package."""
    ran = relift("--version")
    assert (ran.returncode, ran.stdout) == (0, f"relift {rl.__version__}\n")


def test_no_device_says_what_to_install(tmp_path: Path) -> None:
    """Without pyopencl or a compiler of C the message says what to install; with one, C serves, and each driver says why it does not."""
    (tmp_path / "pyopencl.py").write_text("raise ImportError('no OpenCL here')\n")
    path = os.pathsep.join([str(tmp_path), str(ROOT / "src")])
    nothing = relift("devices", PYTHONPATH=path, PATH=str(tmp_path))

    assert nothing.returncode == 2
    assert "pip install --force-reinstall pyopencl" in nothing.stderr
    assert "apt-get install gcc" in nothing.stderr

    serving = relift("devices", PYTHONPATH=path)
    assert serving.returncode == 0
    assert "[C with OpenMP" in serving.stdout.splitlines()[0]
    assert "no OpenCL here" in serving.stdout


def test_a_wrong_rule_is_refuted_with_status_1(tmp_path: Path) -> None:
    """A wrong rule in a user's file is refuted with its smallest counterexample, status 1."""
    file = tmp_path / "wrong.py"
    file.write_text(
        "import relift as rl\n\n"
        'A, B, C = rl.type_variables("A B C")\n'
        '(n,) = rl.naturals("n")\n\n\n'
        "@rl.rule()\n"
        "def no_transpose(h: rl.Fun[A, B, C], xs: A[n], ys: B[n]):\n"
        '    "Map interchange that forgets to transpose."\n'
        "    return (\n"
        "        rl.map(lambda x: rl.map(lambda y: h(x, y), ys), xs),\n"
        "        rl.map(lambda y: rl.map(lambda x: h(x, y), xs), ys),\n"
        "    )\n"
    )
    ran = relift("check", "--file", str(file), "--tier", "3")

    assert ran.returncode == 1
    assert "REFUTED" in ran.stdout
    assert "n = 2" in ran.stdout


def test_a_profile_of_the_rules_is_printed(found: Found) -> None:
    """Each rule of the search is either in the table with its matches or among those that never matched."""
    ran = here("optimize", DOT, "--size", "n=65536", "--profile")
    _, search = found
    profile = search["profile"]

    assert ran.returncode == 0, ran.stderr
    rows = {
        cells[1].strip(): int(cells[2])
        for line in ran.stdout.splitlines()
        if len(cells := line.split("│")) == 6
    }
    (dead,) = [line for line in ran.stdout.splitlines() if line.startswith("never matched: ")]
    assert rows == {rule: of["matches"] for rule, of in profile.items() if of["matches"]}
    assert set(dead.removeprefix("never matched: ").split(", ")) == set(profile) - set(rows)
    assert {"split_join", "map_fusion", "reduce_to_seq"} <= set(rows)
    # egglog counts whole milliseconds, so that a quick search may show none
    assert 0 <= sum(of["seconds"] for of in profile.values()) <= search["seconds"]
    # join(map(lambda c: map(f, c), split(m, xs))): four patterns
    assert profile["split_join"]["nodes_at_most"] == 4 * profile["split_join"]["matches"]


def test_kernels_for_a_gpu_are_found_where_there_is_none(tmp_path: Path) -> None:
    """The search needs a description of the device only; what it finds is written, and nothing is run."""
    out = tmp_path / "kernels"
    ran = here("optimize", DOT, "--size", "n=65536", "--target", "gpu", "--out", str(out))

    assert ran.returncode == 0, ran.stderr
    assert (out / "kernel.cl").exists()
    tuned = here("optimize", DOT, "--size", "n=65536", "--target", "gpu", "--tune")
    assert tuned.returncode == (0 if "searching for" not in ran.stderr else 2)


def test_a_search_out_of_budget_says_so() -> None:
    """A search that runs out of time returns the best it has and says so."""
    ran = relift("optimize", DOT, "--size", "n=16777216", "--budget", "0.52")

    assert ran.returncode == 0, ran.stderr
    assert "best found so far" in ran.stdout or "all stages" in ran.stdout
