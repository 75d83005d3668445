"""The limits of a request, and the printed language, without a server."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import relift as rl
from proofs_tests.command_line import relift
from relift.rewrites.library import RULES
from relift.rewrites.rule import RejectedRule, Rule
from relift.semantics.syntax.binding import alpha_equal
from relift.web import landlock, picks
from relift.web.operations import operations
from relift.web.printed import program_of, rule_of


@pytest.mark.parametrize("name", picks.PROGRAMS)
def test_a_printed_program_is_read_as_it_is_printed(name: str) -> None:
    program = program_of(picks.PROGRAMS[name].source)
    assert str(program_of(str(program))) == str(program)


def test_what_the_guide_shows_is_read() -> None:
    guide = Path(__file__).parents[2] / "docs" / "guides" / "workbench.md"
    texts = re.findall(r"```text\n(?!\$)(.*?)```", guide.read_text(encoding="utf-8"), re.DOTALL)
    rule, program = texts
    assert isinstance(rule_of(rule), Rule)
    assert program_of(program).name == "dot"


@pytest.mark.parametrize(
    "name", ["split_join", "map_fusion", "partial_reduce_chunks", "map_split_transpose"]
)
def test_a_printed_rule_is_the_rule_of_the_library(name: str) -> None:
    rule = RULES[name]
    kinds = ", ".join(f"{x}: {kind}" for x, kind in rule.parameters.items())
    where = ", ".join(map(str, rule.where))
    laws = f" where {WORDS[where]}" if where else ""
    sign = f"{rl.show(rule.left)} == {rl.show(rule.right)}"
    read = rule_of(f"{name}({kinds}): {sign}{laws}")
    assert isinstance(read, Rule)
    assert alpha_equal(read.left, rule.left)
    assert alpha_equal(read.right, rule.right)
    assert read.where == rule.where


WORDS = {
    ", ".join(map(str, RULES["partial_reduce_chunks"].where)): "associative(op), neutral(op, z)"
}


@pytest.mark.parametrize(
    "text",
    [
        "", "f", "f(", "f(x)", "f(x: f32[n])", "f(x: f32[n]) = ", "f(x: f32[n]) = __import__('os')",
        "f(x: f32[n]) = x.__class__", "f(x: f32[n]) = map(lambda v: v ** 9 ** 9 ** 9, x)", "f(map: f32) = map",
        "f(x: open('y')) = x", "f(x: f32[n]) = [y for y in x]", "f(" * 1000, "f(x: f32[2 ** 99999]) = x", "f(x: \0) = x",
    ],
)  # fmt: skip
def test_what_is_no_printed_program_is_refused(text: str) -> None:
    with pytest.raises(rl.ReliftError) as refused:
        program_of(text)
    assert "\n" not in refused.value.message


@pytest.mark.parametrize(
    "text",
    [
        "r(xs: A[n])", "r(xs: A[n]): xs", "r(xs: A[n]): xs == open('y')", "r(xs: A[n]): xs == xs where n > 1",
        "r(xs: A[n]): xs == xs where associative()", "r(xs: Fun[A]): xs == xs", "r(xs: Op[A, B, C]): xs == xs where neutral(op)",
    ],
)  # fmt: skip
def test_what_is_no_printed_rule_is_refused(text: str) -> None:
    with pytest.raises(rl.ReliftError) as refused:
        rule_of(text)
    assert "\n" not in refused.value.message


def test_a_rule_that_does_not_type_is_rejected() -> None:
    assert isinstance(rule_of("r(xs: A[n], ys: A[m]): xs == ys"), RejectedRule)


def test_operations_grow_as_the_interpreter_counts_them() -> None:
    product = program_of(picks.PROGRAMS["matrix product"].source)
    assert operations(product, {"n": 64, "k": 32, "m": 16}) == 2 * 64 * 32 * 16


def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ran = relift("serve", "--port", str(port))
    assert ran.returncode == 2
    assert f"cannot serve at 127.0.0.1:{port}" in ran.stderr


def test_serve_says_where_it_is_and_is_interrupted() -> None:
    command = [sys.executable, "-m", "relift", "serve", "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        said = child.stdout.readline()
        child.send_signal(2)
        child.communicate(timeout=120)
    assert said.startswith("the workbench is at http://127.0.0.1:")
    assert child.returncode in (0, 130)


ENCLOSED = """
import sys
from pathlib import Path
from relift.web import guard

folder, secret = map(Path, sys.argv[1:])
assert guard.enclose(str(folder))
(folder / "mine").write_text("is written")
Path("/dev/null").write_text("is written")
Path("/etc/passwd").read_text()
for refused in (secret.read_text, lambda: secret.write_text("changed"), secret.unlink, (secret.parent / "new").touch):
    try:
        refused()
    except PermissionError:
        continue
    sys.exit(f"{refused} was not refused")
import subprocess
sys.exit(subprocess.run(["cat", str(secret)], capture_output=True).returncode == 0)
"""


@pytest.mark.skipif(not landlock.version(), reason="the kernel has no Landlock")
def test_the_kernel_refuses_files_of_anybodys(tmp_path: Path) -> None:
    """To the process and to what it starts; its own folder is written, programs are read."""
    folder, secret = tmp_path / "own", tmp_path / "secret"
    folder.mkdir()
    secret.write_text("nobody's business")

    ran = subprocess.run(
        [sys.executable, "-c", ENCLOSED, str(folder), str(secret)],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip

    assert ran.returncode == 0, ran.stderr
    assert secret.read_text() == "nobody's business"
