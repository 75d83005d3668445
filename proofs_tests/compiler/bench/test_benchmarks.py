"""A folder of benchmarks: only files that list some are executed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from proofs_tests.command_line import here
from proofs_tests.compiler.programs import typed
from relift.compiler.bench.benchmarks import Benchmark, load_benchmarks, load_samples
from relift.compiler.bench.times import time_in_turn
from relift.compiler.lowering.analyses import EVERYTHING
from relift.semantics.errors import ReliftError
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.programs import Program
from relift.semantics.syntax.types import f32

LISTING = {
    "plain": "benchmarks = []",
    "annotated": "benchmarks: list = []",
    "in a condition": "if True:\n    benchmarks = []",
    "imported": "from lists import benchmarks",
    "as": "from lists import those as benchmarks",
}
OTHERS = {
    "a script": "print('ran')",
    "used only": "print('ran', benchmarks)",
    "in a function": "print('ran')\ndef f():\n    benchmarks = []",
    "an attribute": "import os\nprint('ran')\nos.benchmarks = []",
    "no Python": "print('ran') benchmarks =",
    "no text": "\0benchmarks = []",
}


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_what_lists_no_benchmarks_is_not_executed(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "script.py").write_text(text)

    with pytest.raises(ReliftError, match=r"no file of .* lists benchmarks"):
        load_benchmarks(tmp_path, [], "cpu")
    (tmp_path / "listed.py").write_text("benchmarks = []")
    assert load_benchmarks(tmp_path, [], "cpu") == []
    assert "ran" not in "".join(capsys.readouterr())


@pytest.mark.parametrize("text", LISTING.values(), ids=LISTING)
def test_what_lists_benchmarks_is(text: str, tmp_path: Path) -> None:
    (tmp_path / "listed.py").write_text(f"{text}\nraise ValueError('it ran')")
    (tmp_path / "lists.py").write_text("benchmarks = those = []")

    with pytest.raises(ReliftError, match="it ran"):
        load_benchmarks(tmp_path, [], "cpu")


ONE = """
from relift.bench import Benchmark
def late(**sizes):
    raise KeyError("mine")
def made(n):
    return 3
one = dict(target="cpu", make=made, sizes={"n": 4}, small=[], gold=None, flops=made, moved=made)
benchmarks = [Benchmark("own", **{**one, WITH})]
"""
UNFIT = {
    "'variants': []": "has no variants",
    "'sizes': {'m': 4}": "has a make of (n), which does not take its sizes m=4",
    "'flops': None": "has a flops that is no function",
    "'moved': lambda n: 'n'": "has a moved that is no number but 'n'",
}
DEVICES = ["cpu", "C with OpenMP"]


@pytest.mark.parametrize("wrong", UNFIT)
def test_what_a_benchmark_cannot_be_asked_is_said_when_it_is_loaded(
    wrong: str, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(ONE.replace("WITH", wrong))

    with pytest.raises(ReliftError) as said:
        load_benchmarks(tmp_path, [], "cpu")
    assert f"{tmp_path / 'own.py'}: the benchmark own {UNFIT[wrong]}" in str(said.value)


def test_what_a_benchmark_raises_is_said_with_its_line(tmp_path: Path) -> None:
    """It is the user's own code that failed, and no defect of Relift."""
    (tmp_path / "own.py").write_text(ONE.replace("WITH", "'make': late"))
    (tmp_path / "samples.py").write_text("def own(rows):\n    return rows\n")

    done = here("bench", "--folder", str(tmp_path))

    assert done.returncode == 2
    assert done.stderr == f"relift: {tmp_path / 'own.py'}:4: KeyError: 'mine'\n"


def test_what_a_module_says_when_it_is_asked_for_a_name_is_one_line(tmp_path: Path) -> None:
    """A user's `__getattr__` answers for what the file has not; it is the user's code that fails there."""
    (tmp_path / "own.py").write_text(
        "benchmarks = []\ndel benchmarks\ndef __getattr__(name):\n    return 1 / 0\n"
    )

    with pytest.raises(ReliftError) as said:
        load_benchmarks(tmp_path, [], "cpu")
    assert str(said.value) == f"{tmp_path / 'own.py'}:4: ZeroDivisionError: division by zero"


def test_samples_that_a_file_passes_on_from_another_are_its_own() -> None:
    """As those of examples/low_level are in examples/searched."""
    folder = Path(__file__).parents[3] / "examples" / "searched"
    benchmarks = load_benchmarks(folder, ["saxpy", "transpose"], "cpu")

    assert {b.name for b in benchmarks} == {"saxpy", "transpose"}
    found = load_samples(folder / "samples.py", benchmarks)
    assert all(callable(getattr(found, b.name)) for b in benchmarks)


def test_a_benchmark_by_device_is_made_for_each_and_another_once() -> None:
    """What a search finds for one device is not what it would find for another; what has no device is compiled once for all."""
    asked: list[str | None] = []
    seen: list[Program] = []

    def make(n: int, device: str | None = None) -> Program:
        asked.append(device)
        return typed(x=f32[n])(lambda x: rl.map_glb(0)(lambda v: v + v, x))

    def predict(program: Program) -> float:
        seen.append(program)
        return 0.25

    b = Benchmark(
        "own", "cpu", make, {"n": 64}, [], lambda x: 2 * x, lambda n: n, lambda n: n, by_device=True
    )
    for each in (b, replace(b, by_device=False)):
        predicts = dict.fromkeys(DEVICES, predict)
        rows = time_in_turn(each, [{}], predicts, lambda rows, x: 2 * x[rows], EVERYTHING, 5)
        assert [(row["device"], row["predicted"]) for row in rows if row["ok"]] == [
            (d, 0.25) for d in DEVICES
        ]

    assert asked == [*DEVICES, None]
    assert len({id(program) for program in seen[2:]}) == 1
