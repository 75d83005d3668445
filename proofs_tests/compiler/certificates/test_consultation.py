"""What is refuted is never run, and what is unknown is said."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from proofs_tests.compiler.programs import made, typed
from proofs_tests.compiler.running.test_kernels import arguments, assert_same
from proofs_tests.compiler.texts import BARRIER
from relift import cli
from relift.compiler.agreement.comparison import Agreement
from relift.compiler.agreement.open_sizes import differential_at
from relift.compiler.certificates import consultation
from relift.compiler.certificates.certificate import Claim
from relift.compiler.certificates.claims import certificates as certified
from relift.compiler.certificates.effort import Effort
from relift.compiler.certificates.flows import Access
from relift.compiler.certificates.prover import Prover
from relift.compiler.program import compile_program
from relift.compiler.running import session as runtime
from relift.compiler.running.compiled import Compiled
from relift.compiler.running.processes.isolated import Failed, run_apart
from relift.semantics.errors import Refuted
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.programs import Program
from relift.semantics.syntax.sizes import Size, nat
from relift.semantics.syntax.types import f32, i32

n = nat("n")

PLANTED = [
    ("saxpy", (7,), "out[glb_0]", "out[glb_0 + 1]", "bounds"),
    ("saxpy", (n,), "out[glb_0]", "out[glb_0 + 1]", "bounds"),
    ("saxpy", (n,), "out[glb_0]", "out[glb_0 / 2]", "races"),
    ("squares", (64,), "4*glb_0 + i]", "4*glb_0 + i + 1]", "bounds"),
    ("transposed_by_tiles", (12, 8), BARRIER, "", "races"),
    ("transposed_by_tiles", (4 * nat("m"), 4 * n), BARRIER, "", "races"),
]


def planted(name: str, sizes: tuple[Any, ...], old: str, new: str) -> Compiled:
    compiled = compile_program(made(name, *sizes))
    assert old in compiled.source
    return dataclasses.replace(compiled, source=compiled.source.replace(old, new))


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that were built for a device."""
    found: list[str] = []

    real = runtime.session_on

    def watched(source: str, *others: Any, **options: Any) -> Any:
        found.append(source)
        return real(source, *others, **options)

    monkeypatch.setattr("relift.compiler.running.compiled.session_on", watched)
    return found


@pytest.mark.parametrize(("name", "sizes", "old", "new", "kind"), PLANTED)
def test_a_refuted_kernel_is_not_run(
    name: str, sizes: tuple[Any, ...], old: str, new: str, kind: str, built: list[str]
) -> None:
    """Neither called nor timed nor built: an access outside, two writes of one cell, a barrier that is gone."""
    wrong = planted(name, sizes, old, new)
    values = arguments(made(name, *(s if isinstance(s, int) else 8 for s in sizes)))
    expected = rf"kernel {name}_1 is not run, its {kind} are refuted: .* at .*\d"
    for run in (lambda: wrong(*values), lambda: wrong.timed(tuple(values)), wrong.session):
        with pytest.raises(Refuted, match=expected):
            run()
    assert built == []


def test_who_plants_a_fault_runs_it_unchecked(built: list[str]) -> None:
    """A race between work-items that write the same is refused, and runs when that is asked for."""
    wrong = planted("saxpy", (7,), "out[glb_0]", "out[glb_0 / 2]")
    values = arguments(made("saxpy", 7))
    dataclasses.replace(wrong, unchecked=True)(*values)
    assert built == [wrong.source]
    with pytest.raises(Refuted):
        wrong(*values)


def test_a_comparison_says_what_is_not_run(built: list[str]) -> None:
    """`verify` reports a refuted kernel as a difference, on a device of this process and in another."""
    program, wrong = made("saxpy", n), planted("saxpy", (n,), "out[glb_0]", "out[glb_0 + 1]")
    _, kernel, *_ = differential_at(program, wrong, {"n": 5}, ["cpu"], lambda _: None)
    assert kernel.refuted
    assert "is not run, its bounds are refuted" in kernel.detail
    failed = run_apart(wrong, tuple(arguments(program.at({"n": 5}))), "cpu")
    assert isinstance(failed, Failed)
    assert "is not run" in failed.reason
    assert built == []


BY_HAND = """// what a person may write, with macros
#define END (PARTS * 4)
kernel void saxpy_1(const float a, global const float* restrict x, global const float* restrict y, global float* restrict out) {
  const int i = get_global_id(0);
  if (i < END) { out[i] = a * x[i] + y[i]; }
}
"""


@pytest.mark.parametrize(
    ("parts", "cells", "wrong"), [("2", 8, False), ("2", 7, True), ("3", 8, True)]
)
def test_a_text_by_hand_is_run_where_it_is_not_refuted(parts: str, cells: int, wrong: bool) -> None:
    """A session asks the certificate of whatever text it is given, with the macros of its options."""
    plan = compile_program(made("saxpy", cells)).plan
    (kernel,) = plan.kernels
    launch = dataclasses.replace(
        plan, kernels=(dataclasses.replace(kernel, total=(Size.of(12),), local=(1,)),)
    )
    options = (f"-DPARTS={parts}", "-cl-fast-relaxed-math")
    if wrong:
        with pytest.raises(Refuted, match="kernel saxpy_1 is not run, its bounds are refuted"):
            runtime.session_on(BY_HAND, launch, "cpu", options)
    else:
        assert runtime.session_on(BY_HAND, launch, "cpu", options).unknown == []


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (BY_HAND, ("-DPARTS=2", "-I."), "the option -I."),
        ("#define AT(i) x[i]\n" + BY_HAND, ("-DPARTS=2",), "the line #define AT(i) x[i]"),
        ("#define PARTS 3\n" + BY_HAND, ("-DPARTS=2",), "the macro PARTS, which is defined twice"),
        ("#define PARTS END\n" + BY_HAND, (), "macros that stand for themselves"),
        (BY_HAND.replace("if (i < END)", "while (1)"), ("-DPARTS=2",), "while"),
    ],
)
def test_what_is_unknown_of_a_text_by_hand_is_there_to_be_said(
    text: str, options: tuple[str, ...], said: str
) -> None:
    """What a preprocessor or a person may do else is not understood, and that is said."""
    plan = compile_program(made("saxpy", 8)).plan
    (line,) = consultation.unknowns(consultation.require_text_not_refuted(text, plan, options))
    assert line.startswith("bounds, races, barriers of kernel saxpy_1: unknown: ")
    assert said in line


# ---- what is unknown


@typed(ids=i32[8], x=f32[5])
def picked(ids: Any, x: Any) -> Any:
    return rl.map_glb(0)(lambda i: rl.at_runtime_unsafe(i, x), ids)


def command(
    monkeypatch: pytest.MonkeyPatch, program: Program, compiled: Compiled, *words: str
) -> int:
    """The status of a command about a program that compiles to these kernels."""
    from relift.compiler import program as module
    from relift.rewrites import loading

    monkeypatch.setattr(loading, "load_program", lambda _: program)
    monkeypatch.setattr(module, "compile_program", lambda *_, **__: compiled)
    monkeypatch.setattr(sys, "argv", ["relift", *words])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    return int(stop.value.code or 0)


@pytest.mark.parametrize("words", [("run", "a.py:picked", "--random", "0"), ("compile", "a.py:p")])
def test_what_is_unknown_is_said_on_one_line(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An index that is data is no refutation: the kernel runs, and standard error says what is not known."""
    compiled = compile_program(picked)
    assert {c.verdict for found in compiled.certificates for c in found.claims} >= {"unknown"}
    assert command(monkeypatch, picked, compiled, *words) == 0
    assert capsys.readouterr().err.splitlines() == [
        "bounds of kernel picked_1: unknown: the index depends on data (read x[ids[glb_0]])"
    ]


def test_the_command_line_refuses_what_is_refuted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], built: list[str]
) -> None:
    """The answer is no: one line, and status 1."""
    wrong = planted("saxpy", (7,), "out[glb_0]", "out[glb_0 + 1]")
    assert command(monkeypatch, made("saxpy", 7), wrong, "run", "a.py:saxpy", "--random", "0") == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("relift: kernel saxpy_1 is not run, its bounds are refuted: write out[")
    assert built == []


@pytest.mark.parametrize(("compared", "status"), [(True, 0), (False, 1)])
def test_steps_that_agree_say_nothing_of_a_result(
    compared: bool, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`run --check` succeeds where the result itself was compared with something."""
    own = [Agreement("NumPy", True, "equal")] if compared else []
    own.append(Agreement("cells", False, "none is within reach", known=False))
    steps = [Agreement("the interpreter, step by step", True, "2 programs")]
    monkeypatch.setattr("relift.cli.kernels._checks_of_run", lambda *_: (own, steps))
    compiled = compile_program(picked)
    words = ("run", "a.py:picked", "--random", "0", "--check")
    assert command(monkeypatch, picked, compiled, *words) == status


def test_an_api_call_says_nothing_of_the_unknown(capfd: pytest.CaptureFixture[str]) -> None:
    """No warning, no line: `certificates` is there for who asks."""
    values = [arguments(picked)[0] % 5, arguments(picked)[1]]
    assert_same(compile_program(picked)(*values), picked(*values))
    assert capfd.readouterr() == ("", "")


# ---- what is kept


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The texts that were certified, with nothing known before."""
    found: list[str] = []

    def certificates(compiled: Compiled, **options: Any) -> Any:
        found.append(compiled.source)
        return certified(compiled, **options)

    monkeypatch.setattr(f"{consultation.__name__}.certificates", certificates)
    for kept in ("_known", "_made", "_whole"):
        monkeypatch.setattr(consultation, kept, {})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return found


def test_a_text_with_its_launch_is_certified_once(counted: list[str], tmp_path: Path) -> None:
    """Compiled again it is known; with another launch or another text it is not; what was cheap has no file."""
    first, again = compile_program(made("saxpy", 7)), compile_program(made("saxpy", 7))
    assert first.certificates == again.certificates
    assert len(counted) == 1
    other = dataclasses.replace(
        first, plan=dataclasses.replace(first.plan, kernels=compile_program(made("saxpy", 8)).plan.kernels)
    )  # fmt: skip
    assert other.certificates[0].refuted
    assert dataclasses.replace(first, source=first.source + "\n").certificates
    assert len(counted) == 3


def test_what_was_dear_is_kept_for_other_processes(
    counted: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the user's cache; a damaged file is made anew, and another prover's is not believed."""
    monkeypatch.setattr(consultation, "DEAR", -1.0)
    compiled = compile_program(made("saxpy", 7))

    def anew() -> int:
        monkeypatch.setattr(consultation, "_known", {})
        assert all(isinstance(c, Claim) for c in compiled.certificates[0].claims)
        return len(counted)

    assert anew() == 1
    found = compiled.certificates
    assert anew() == 1
    assert compiled.certificates == found
    (file,) = (tmp_path / "relift" / "certificates").iterdir()
    for damage in ("", "[]", json.dumps({"certificates": [{"kernel": "saxpy_1"}]})):
        before = len(counted)
        file.write_text(damage, encoding="utf-8")
        assert anew() == before + 1
    monkeypatch.setattr(consultation, "_prover", lambda: "another")
    assert anew() == 5


def test_all_claims_together_have_an_effort() -> None:
    """Beyond it nothing is asked, and that is unknown: not proved, and no refusal."""
    compiled = compile_program(made("tree", 64))
    (found,) = certified(compiled, effort=Effort(total=60_000), written=False)
    verdicts = [c.verdict for c in found.claims if c.kind == "bounds"]
    asked = verdicts.count("proved")
    assert 1 <= asked <= 4
    assert set(verdicts[asked:]) == {"unknown"}
    assert "beyond the effort of 60,000 steps" in next(c.detail for c in found.claims if c.detail)


def test_what_was_consulted_is_not_asked_again(
    counted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole certificate has the claims that were consulted, as they are; what only a file says is asked again."""
    asked: list[str] = []
    bounds = Prover.bounds

    def watched(self: Prover, access: Access) -> Claim:
        asked.append(str(access))
        return bounds(self, access)

    monkeypatch.setattr(Prover, "bounds", watched)
    monkeypatch.setattr(consultation, "DEAR", -1.0)
    compiled = compile_program(made("saxpy", 7))
    (known,) = compiled.certificates
    once = len(asked)
    (whole,) = consultation.certified(compiled)
    assert whole.claims[: len(known.claims)] == known.claims
    assert {c.kind for c in whole.claims} > {c.kind for c in known.claims}
    assert len(asked) == once > 0
    for kept in ("_known", "_made", "_whole"):
        monkeypatch.setattr(consultation, kept, {})
    assert compiled.certificates  # from the file
    assert len(asked) == once
    assert consultation.certified(compiled)[0].ok
    assert len(asked) == 2 * once


def test_what_is_unknown_is_asked_again_with_more_effort(counted: list[str]) -> None:
    """Where Z3 had too little for what was consulted, the whole certificate may say more."""
    compiled = compile_program(made("saxpy", 7))
    (found,) = certified(compiled, effort=Effort(total=-1), written=False)
    assert {c.verdict for c in found.claims} == {"unknown"}
    (whole,) = certified(compiled, known=(found,))
    assert whole.ok
