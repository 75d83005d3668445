"""What nobody should pass: each refusal is one line that names the thing, and nothing hangs or takes all memory."""

from __future__ import annotations

import contextlib
import errno
import inspect
import io
import json
import os
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import relift as rl
from proofs_tests.command_line import ROOT, command
from relift.cli import main
from relift.compiler.bench.bundle import read_results
from relift.egraph.search import tuning
from relift.egraph.search.tuning import BadDatabase, Timing, Timings, Tuner
from relift.semantics.notation.parser import parse_size, parse_term, parse_type
from relift.semantics.syntax.terms import Input
from relift.strategies import skip

DOT = str(ROOT / "examples" / "dot.py")
LOW = str(ROOT / "examples" / "matmul_low_level.py")
n = rl.nat("n")


@rl.program
def double(x: rl.f32[n]):
    return rl.map_glb(0)(lambda v: v + v, x)


@pytest.mark.parametrize(
    "words",
    [
        ("optimize", DOT, "--size", "n=9223372036854775807"),
        ("optimize", DOT, "--size", f"n={'9' * 5000}"),
        ("optimize", DOT, "--size", "n=999999999999999999"),
        ("optimize", DOT, "--size", "n=4,n=8"),
        ("optimize", DOT, "--size", "n=٣"),
        ("optimize", DOT, "--size", "n=64", "--budget", "inf"),
        ("optimize", DOT, "--size", "n=64", "--budget", "nan"),
        ("optimize", DOT, "--size", "n=64", "--budget", "1e308"),
        ("optimize", f"{'a' * 5000}.py"),
        ("run", DOT, "--random", "0", "--size", "n=1099511627776"),
        ("run", DOT, "--random", "-1", "--size", "n=64"),
        ("compile", DOT, "--local", "999999999"),
        ("compile", DOT, "--local", "9" * 40),
    ],
)
def test_absurd_numbers_are_refused(words: tuple[str, ...]) -> None:
    """Numbers that no machine can serve are refused before anything is computed with them."""
    status, errors = command(*words)

    assert status == 2, errors
    assert errors.startswith("relift: ")
    assert errors.count("\n") == 1
    assert len(errors) < 400


def no_array(kind: str, folder: Path) -> Path:
    """A file that holds no array that can be read."""
    file = folder / f"{kind}.npy"
    match kind:
        case "empty":
            file.touch()
        case "text":
            file.write_text("1 2 3\n" * 30)
        case "archive":
            with file.open("wb") as opened:
                np.savez(opened, np.ones(3))
        case "huge":
            np.save(file, np.ones(64, np.float32))
            content = file.read_bytes()
            header = content.replace(b"(64,), }" + b" " * 13, b"(99999999999999,), } ")
            assert header != content
            file.write_bytes(header)
        case "pickle":
            np.save(file, np.array([{}], dtype=object), allow_pickle=True)
        case _:
            file.mkdir()
    return file


@pytest.mark.parametrize("kind", ["empty", "text", "archive", "huge", "pickle", "folder"])
def test_what_is_no_array_is_refused(kind: str, tmp_path: Path) -> None:
    """An input file that holds no array of numbers is named, in one line, and nothing is allocated for it."""
    file = no_array(kind, tmp_path)
    status, errors = command("run", DOT, "--input", f"x={file}", "--input", f"y={file}")

    assert status == 2, errors
    assert errors.startswith("relift: input x: ")
    assert errors.count("\n") == 1
    assert "allow_pickle" not in errors
    assert "unsafely" not in errors


@pytest.mark.parametrize("text", ["99999999999", "-2147483649", "1.5", "9" * 10_000])
def test_a_scalar_beyond_its_type_is_refused(text: str, tmp_path: Path) -> None:
    """A whole number that does not fit, and a fraction, are refused for an i32."""
    file = tmp_path / "p.py"
    file.write_text(
        "import relift as rl\n@rl.program\ndef p(k: rl.i32, s: rl.f32):\n    return k\n"
    )
    status, errors = command("run", str(file), "--input", f"k={text}", "--input", "s=1.0")

    assert (status, "is not a value of type i32" in errors) == (2, True), errors


def test_a_scalar_is_not_rounded_to_infinity(tmp_path: Path) -> None:
    """A number beyond the largest f32 is refused, not taken for infinity."""
    file = tmp_path / "p.py"
    file.write_text("import relift as rl\n@rl.program\ndef p(s: rl.f32):\n    return s\n")
    status, errors = command("run", str(file), "--input", "s=3.5e38")

    assert (status, "is not a value of type f32" in errors) == (2, True), errors


@pytest.mark.parametrize(
    "text",
    [
        "reduce(add, 9**9**9, x)",
        "reduce(add, (9**64)**64, x)",
        "reduce(add, 'a'*10**11, x)",
        "reduce(add, (1, 2)*10**11, x)",
        "map(lambda v: v*" + "9" * 5000 + ", x)",
        "-" * 5000 + "x",
        "[" * 100_000,
        "x(",
        "x\0",
        "__import__('os')",
        "x.type",
    ],
)
def test_hostile_text_is_no_term(text: str) -> None:
    """What the printer does not write is refused without being evaluated."""
    with pytest.raises(rl.IllTyped, match="not a term") as refused:
        parse_term(text, {"x": Input("x", rl.f32[4])})

    assert len(refused.value.message) < 300


def test_hostile_text_is_no_size_and_no_type() -> None:
    """Towers of powers and deep nesting are refused as sizes and types, too."""
    for read, text in (
        (parse_size, "9**9**9"),
        (parse_size, "n**99999"),
        (parse_size, "(" * 5000),
        (parse_type, "f32" + "[2]" * 5000),
    ):
        with pytest.raises(rl.IllTyped):
            read(text)


@rl.program
def huge(x: rl.f32[n]):
    return rl.map(lambda v: rl.reduce(rl.add, v, rl.repeat(n, v)), rl.join(rl.map(lambda _: x, x)))


CALLS: dict[str, Callable[[], Any]] = {
    "program None": lambda: rl.optimize(None),  # type: ignore[arg-type]
    "program lambda": lambda: rl.optimize(lambda x: x),  # type: ignore[arg-type]
    "compile text": lambda: rl.compile("x"),  # type: ignore[arg-type]
    "sizes of text": lambda: rl.optimize(double, sizes={"n": "4"}),  # type: ignore[dict-item]
    "sizes 4": lambda: rl.optimize(double, sizes=4),  # type: ignore[arg-type]
    "size true": lambda: rl.optimize(double, sizes={"n": True}),
    "huge size": lambda: rl.optimize(double, sizes={"n": 2**63 - 1}),
    "size 2**63": lambda: rl.optimize(double, sizes={"n": 2**63}),
    "huge array": lambda: rl.optimize(huge, sizes={"n": 2**30}),
    "target None": lambda: rl.optimize(double, sizes={"n": 4}, target=None),  # type: ignore[arg-type]
    "budget text": lambda: rl.optimize(double, sizes={"n": 4}, budget="x"),
    "budget nan": lambda: rl.optimize(double, sizes={"n": 4}, budget=float("nan")),
    "budget -1": lambda: rl.optimize(double, sizes={"n": 4}, budget=-1),
    "top 1.5": lambda: rl.optimize(double, sizes={"n": 4}, top=1.5),
    "float Exact": lambda: rl.optimize(double, sizes={"n": 4}, float="Exact"),
    "sizes of a call": lambda: rl.compile(double)(np.ones(4, np.float32), sizes={"n": "6"}),  # type: ignore[dict-item]
    "masked": lambda: rl.compile(double)(np.ma.array(np.ones(4, np.float32), mask=True)),
    "masked meaning": lambda: double(np.ma.array(np.ones(4, np.float32), mask=True)),
    "rules of text": lambda: rl.optimize(double, sizes={"n": 4}, rules="map_fusion"),
    "assumed text": lambda: rl.optimize(double, sizes={"n": 4}, assumed="map_fusion"),
    "one strategy": lambda: rl.optimize(double, sizes={"n": 4}, strategies=skip),
    "sketch 3": lambda: rl.sketch(3),  # type: ignore[arg-type]
    "operator 3": lambda: rl.operator(3),  # type: ignore[arg-type]
    "program int": lambda: rl.program(int),
    "rule 3": lambda: rl.rule()(3),  # type: ignore[arg-type]
    "show 3": lambda: rl.show(3),  # type: ignore[arg-type]
    "show latex": lambda: rl.show(double.body, "latex"),  # type: ignore[arg-type]
    "vector of none": lambda: rl.vec(rl.f32, 0),
    "vector of -1": lambda: rl.vec(rl.f32, -1),
    "local 64.0": lambda: rl.compile(double, local=64.0),  # type: ignore[arg-type]
    "local huge": lambda: rl.compile(double, local=10**9),
    "by name": lambda: rl.map(f=lambda v: v, xs=double.parameters[0]),
    "reverse an array": lambda: rl.reverse(double.parameters[0]),
    "20000 maps": lambda: nested_maps(20_000),
    "a sum of 20000": lambda: long_sum(20_000),
}


def nested_maps(depth: int) -> Any:
    """The meaning of a program that is nested very deeply."""

    @rl.program
    def deep(x: rl.f32[n]):
        for _ in range(depth):
            x = rl.map(lambda v: v + 1.0, x)
        return x

    return deep(np.ones(4, np.float32))


def long_sum(terms: int) -> Any:
    """The kernel of a program with a very long sum."""

    @rl.program
    def long(x: rl.f32[n]):
        def total(v: Any) -> Any:
            for i in range(terms):
                v = v + float(i)
            return v

        return rl.map_glb(0)(total, x)

    return rl.compile(long)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_wrong_arguments_are_relifts_own_errors(call: Callable[[], Any]) -> None:
    """No argument of the public functions ends in an error of Python's from somewhere inside."""
    with pytest.raises(rl.ReliftError) as refused:
        call()

    assert 0 < len(refused.value.message) < 300


def test_a_size_may_be_a_number_of_numpy() -> None:
    """Shapes and sums of NumPy are sizes as they are."""
    assert double.at({"n": np.int64(4)}).body.type == rl.f32[4]  # type: ignore[dict-item]


def timings(folder: Path) -> Timings:
    """A database that holds one time."""
    kept = Timings(folder / "t.sqlite", "a device")
    kept.keep("p", {"text": Timing(1e-3)})
    return kept


@pytest.mark.parametrize("seconds", [-1, 0, "abc", b"\x00", float("inf")])
def test_an_edited_time_is_refused(seconds: Any, tmp_path: Path) -> None:
    """A time that no device can have taken is not believed."""
    kept = timings(tmp_path)
    with contextlib.closing(sqlite3.connect(kept.path)) as database, database:
        database.execute("UPDATE timings SET seconds = ?", (seconds,))

    with pytest.raises(BadDatabase, match="move it away"):
        kept.known("text")


@pytest.mark.parametrize("lock", ["EXCLUSIVE", "IMMEDIATE"])
def test_a_locked_database_is_found_at_once_and_not_to_be_thrown_away(
    lock: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Times that another process writes are named before a search, in a second; they are never moved away."""
    assert tuning.HURRY <= 1
    monkeypatch.setattr(tuning, "HURRY", 0.05)
    kept = Tuner(timings(tmp_path).path, "a device", lambda program: 1.0)
    with contextlib.closing(sqlite3.connect(kept.path, isolation_level=None)) as database:
        database.execute(f"BEGIN {lock}")
        with pytest.raises(BadDatabase, match="in use by another process") as refused:
            kept.check()

    assert "move it away" not in refused.value.message


def test_a_database_without_a_column_is_found_at_once(tmp_path: Path) -> None:
    """A table of another shape is refused before the search, not after."""
    kept = timings(tmp_path)
    with contextlib.closing(sqlite3.connect(kept.path)) as database, database:
        database.execute("ALTER TABLE timings RENAME COLUMN seconds TO minutes")

    with pytest.raises(BadDatabase, match="no column seconds"):
        kept.check()


RESULTS = ROOT / "examples" / "low_level" / "results_h200.json"


def mutations(value: Any) -> list[Any]:
    """Values of another type or range in the place of one, and nothing at all."""
    return [None, -1, 0, "", "x", [], {}, [[]], True, float("nan"), float("inf"), 1e300, ...]


@pytest.mark.parametrize(
    "field",
    ["name", "target", "variant", "flops", "moved", "ok", "seconds", "predicted", "analyses"],
)
def test_a_damaged_row_of_times_is_refused_or_shown(field: str, tmp_path: Path) -> None:
    """Whatever stands in a row of times, the table is printed, or the file refused in one line."""
    data = json.loads(RESULTS.read_text())
    data["entries"] = data["entries"][:2]
    right = data["entries"][0][field]
    for wrong in mutations(right):
        row = dict(data["entries"][0])
        if wrong is ...:
            del row[field]
        else:
            row[field] = wrong
        file = tmp_path / "results.json"
        file.write_text(json.dumps({**data, "entries": [row, data["entries"][1]]}))
        status, errors = command(
            "bench", "--results", str(file), "--folder", str(tmp_path / "none")
        )

        assert status in (0, 1, 2), (field, wrong, errors)
        assert (status == 2) == bool(errors), (field, wrong, errors)
        assert "internal error" not in errors


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("raise RuntimeError('one\\ntwo')", ":1: RuntimeError: one two"),
        ("class E(BaseException): pass\nraise E('odd')", ":2: E: odd"),
        ("class E(Exception):\n def __str__(self): raise ValueError\nraise E", ":3: E"),
        ("raise GeneratorExit", ":1: GeneratorExit"),
        ("# coding: klingon", ": unknown encoding: klingon"),
    ],
)
def test_whatever_a_users_file_raises_is_one_line(text: str, said: str, tmp_path: Path) -> None:
    """Also what is no `Exception`, what has several lines, and what cannot say what it is."""
    file = tmp_path / "p.py"
    file.write_text(text)

    status, errors = command("compile", str(file))

    assert (status, errors) == (2, f"relift: {file}{said}\n")


def nothing_to_read(kind: str, folder: Path) -> tuple[Path, str]:
    """What stands where a file should, and what is said of it."""
    place = folder / "what.py"
    match kind:
        case "folder":
            place.mkdir()
            return place, f"cannot read {place}: it is a folder, name a file"
        case "loop":
            place.symlink_to(place)
            return place, f"cannot read {place}: Too many levels of symbolic links"
        case "pipe":
            os.mkfifo(place)
            return place, f"cannot read {place}: it is a pipe or a device, name a file"
        case "dangling":
            place.symlink_to(folder / "gone")
            return place, f"{place} is a link to nothing"
        case _:
            place.write_bytes(b"\x80")
            return place, f"{place} is no text in UTF-8 (byte 0x80 at 0)"


@pytest.mark.parametrize("kind", ["folder", "loop", "dangling", "bytes", "pipe"])
def test_what_stands_in_place_of_a_file_is_said(kind: str, tmp_path: Path) -> None:
    """By every verb in the same words: of a program, a derivation, times, labels, a kernel."""
    place, said = nothing_to_read(kind, tmp_path)
    labelled = tmp_path / "c"
    labelled.mkdir()
    launched = ("--kernel", str(place), "--entry", "f", "--global", "64", "--size", "n=64")
    verbs: list[tuple[str, ...]] = [
        ("explain", str(place)),
        ("bench", "--results", str(place)),
        ("lift", str(labelled), "--labels", str(place)),
        ("validate", DOT, *launched),
    ]
    module: tuple[str, ...] = ("compile", str(place))
    of_clang = ("lift", str(place)) if kind != "folder" else module  # a folder of C is lifted
    of_kind = {
        "bytes": verbs,
        "pipe": [module, of_clang],
    }  # Python reads other bytes, and derivations pipes
    for words in of_kind.get(kind, [*verbs, module, of_clang]):
        assert command(*words) == (2, f"relift: {said}\n"), words


def test_a_file_that_may_not_be_read_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before Python tries to execute it."""
    monkeypatch.setattr(os, "access", lambda *_, **__: False)

    assert command("compile", DOT) == (2, f"relift: cannot read {DOT}: Permission denied\n")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[" * 100_000, "it is no JSON that is read (too deep)"),
        ("9" * 6000, "it is no JSON that is read (a number of too many digits)"),
        ('{"finds": [', "it is no JSON at line 1, column 12"),
        ("3", "every find has file, function, line, idiom and right"),
        ('{"finds": [{"right": true}]}', "every find has file, function, line, idiom and right"),
    ],
)
def test_labels_that_are_none_are_refused(text: str, why: str, tmp_path: Path) -> None:
    """A list of finds is read as derivations and times are."""
    file = tmp_path / "finds.json"
    file.write_text(text)

    status, errors = command("lift", str(tmp_path), "--labels", str(file))

    finds = "a list of finds, as relift lift FOLDER --json prints it"
    assert (status, errors) == (2, f"relift: {file} is not {finds}: {why}\n")


@pytest.mark.parametrize("listed", ["3", "[3]", "'text'", "None"])
def test_benchmarks_that_are_none_are_refused(listed: str, tmp_path: Path) -> None:
    """A file that calls other things so is named."""
    (tmp_path / "mine.py").write_text(f"benchmarks = {listed}")

    status, errors = command("bench", "--folder", str(tmp_path))

    assert (status, errors.count("\n")) == (2, 1)
    assert f"{tmp_path / 'mine.py'}: benchmarks is or holds " in errors


def test_c_that_is_no_text_is_not_replaced(tmp_path: Path) -> None:
    """It may be lifted; but a file with calls would not have its letters."""
    file = tmp_path / "sum.c"
    file.write_bytes(b"// \xe9\nfloat id(float x) { return x; }\n")

    status, errors = command("lift", str(file), "--replace", str(tmp_path / "out.c"))

    assert (status, errors) == (2, f"relift: {file} is no text in UTF-8 (byte 0xe9 at 3)\n")


@pytest.mark.parametrize(
    ("number", "status", "said"),
    [
        (errno.ENOSPC, 2, "what a command writes: No space left on device; name another"),
        (errno.EPIPE, 141, ""),
        (errno.EACCES, 2, "Permission denied; name another place"),
        (errno.EBADF, 70, "internal error"),
    ],
)
def test_where_an_answer_cannot_go(
    number: int, status: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full device is no defect of Relift's, and one who reads no further, as `head -1`, hears nothing."""

    class Broken(io.StringIO):
        write = Mock(side_effect=OSError(number, os.strerror(number)))  # not this file's own line

        def fileno(self) -> int:
            return handle

    handle = os.open(os.devnull, os.O_WRONLY)
    heard = io.StringIO()
    monkeypatch.setattr(sys, "argv", ["relift", "cache"])
    monkeypatch.setattr(sys, "stdout", Broken())
    monkeypatch.setattr(sys, "stderr", heard)
    with pytest.raises(SystemExit) as stop:
        main()
    monkeypatch.undo()
    os.close(handle)

    assert (stop.value.code, bool(heard.getvalue())) == (status, bool(said)), heard.getvalue()
    assert said in heard.getvalue()


def test_an_error_is_a_line_that_a_terminal_may_show() -> None:
    """Whatever a name holds, nothing of it is a command to the terminal, and a long one is cut."""
    status, errors = command("check", "map\x1b[31m\nred")
    assert (status, errors.count("\n"), "\x1b" in errors) == (2, 1, False)
    assert "there is no rule map\\x1b[31m red; relift ledger lists the library" in errors

    status, errors = command("check", "x" * 100_000)
    assert (status, len(errors) < 2100) == (2, True)
    assert errors.endswith("; relift ledger lists the library\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("fuzz", "--device", "none", "--against", "nosuch", "--count", "1"), "'nosuch'"),
        (
            ("run", DOT, "--random", "0", "--size", "n=8", "--allow", "r"),
            "--allow r: steps of a folder",
        ),
        (("verify", DOT, "--size", "n=8", "--rules", "r.py"), f"--rules r.py: {DOT} is no folder"),
        (("build", DOT, "--size", "n=8", "--out", "w", "--wheel", "class"), "class is no name"),
        (("build", DOT, "--size", "n=8", "--out", "w", "--wheel", "numpy"), "numpy would hide"),
        (("optimize", DOT, "--strategy", ""), "--strategy: what it takes is empty; a variable"),
        (("optimize", DOT, "--size", "n=8", "--out="), "--out: what it takes is empty; a variable"),
        (("check", ""), "an argument is empty; a variable of the shell that is not set"),
        (
            ("build", LOW, "--out", "w", "--target", "nosuch"),
            "--target: a library in C is for CPUs",
        ),
        (
            ("build", LOW, "--out", "w", "--wheel", "wheel_of_low", "--target", "nosuch"),
            "is low-level, and taken as it is",
        ),
        (("verify", "examples", "--size", "n=8"), "--size: the kernel in examples is run as it is"),
        (("lift", "examples/c/matmul.c", "--calls", "blas"), "--calls: it says what --replace"),
        (("check", "--file", "examples/my_rules.py", "nosuch"), "; its rules are: "),
        (
            ("run", DOT, "--size", "n=8", "--input", "z=1"),
            "no parameter z; its parameters are: x, y",
        ),
        (("optimize", DOT, "--strategy", f"{DOT}:dot"), "no strategy under the name dot"),
        (("optimize", DOT, "--rules", "map_fusionn", "--size", "n=8"), "did you mean map_fusion"),
    ],
)
def test_what_would_be_passed_over_is_refused(words: tuple[str, ...], said: str) -> None:
    """An option that nothing reads, a name that cannot be what it is for."""
    status, errors = command(*words)

    assert (status, errors.count("\n")) == (2, 1), errors
    assert said in errors


def test_no_control_character_reaches_the_terminal(tmp_path: Path) -> None:
    """The name of a device from a file is text, not a command to the terminal."""
    data = json.loads(RESULTS.read_text())
    file = tmp_path / "results.json"
    file.write_text(json.dumps({**data, "device": "\x1b[31mred"}))

    assert read_results(file)["device"] == "[31mred"


def test_what_a_users_file_prints_is_no_part_of_the_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --json, standard output is one JSON object, whatever the user's file prints."""
    file = tmp_path / "p.py"
    file.write_text(
        "import relift as rl\nprint('hello')\n@rl.program\n"
        "def p(x: rl.f32[4]):\n    return rl.map_glb(0)(lambda v: v + v, x)\n"
    )
    before, sys.argv = sys.argv, ["relift", "compile", str(file), "--json"]
    try:
        with pytest.raises(SystemExit) as stop:
            main()
    finally:
        sys.argv = before
    printed = capsys.readouterr()

    assert not stop.value.code
    assert json.loads(printed.out)["source"]
    assert printed.err == "hello\n"


def test_too_little_memory_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit of the system's is no defect of Relift's: one line, and status 2."""

    def none_left(_: str) -> object:
        raise MemoryError

    monkeypatch.setattr("relift.rewrites.loading.load_program", none_left)
    status, said = command("compile", "a.py:p")

    assert status == 2
    assert said.startswith("relift: this process may take no more memory; ulimit -v says")
    assert len(said.splitlines()) == 1


WRONG: tuple[Any, ...] = (
    None, -1, 2.5, "a b", n, Input("x", rl.f32[n]), Input("s", rl.f32), lambda v: v, np.zeros(3, np.float32), [1, 2], (), {},
    rl.f32, rl.f32[n], rl.add, True, object(), float("nan"), 10**30,
)  # fmt: skip
"""What is an argument of hardly any function, of every kind that a user has at hand."""
PUBLIC = [
    name
    for name in dir(rl)
    if not name.startswith("_") and callable(getattr(rl, name)) and not isinstance(getattr(rl, name), type)
]  # fmt: skip


@pytest.mark.parametrize(
    "name", sorted({*PUBLIC} - {"Any", "reverse"})
)  # that one is Python on indices
def test_a_wrong_argument_of_a_public_function_is_refused_in_its_own_words(name: str) -> None:
    """Nothing of Python's own comes out of a public function, but that it takes another number of arguments."""
    function = getattr(rl, name)
    for first, second in zip(WRONG, (*WRONG[7:], *WRONG[:7]), strict=True):
        for arguments in ((first,), (first, second)):
            if takes(function, arguments):
                with contextlib.suppress(rl.ReliftError):
                    function(*arguments)


def takes(function: Callable[..., Any], arguments: tuple[Any, ...]) -> bool:
    """Whether a function takes so many arguments: Python's own message says that well enough."""
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError:
        return False
    return True
