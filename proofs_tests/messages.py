"""What a user reads who got something wrong: `python -m proofs_tests.messages` writes `messages.txt` anew.

Each entry of that file is a command line, or a call from Python, and below it the whole of what it says, to the letter:
a change of wording is a line of the difference, so it is decided.  `USERS` are the files of users that it is said of.
What ill-typed programs say, pattern by pattern, stands in `semantics/language/test_messages.py`; `ERRORS.md` lists the
templates of all messages.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import relift as rl
from proofs_tests.command_line import ROOT, here
from proofs_tests.test_bad_input import CALLS

FILE = Path(__file__).with_name("messages.txt")

_PROGRAM = "import relift as rl\nn = rl.nat('n')\n"
USERS: Mapping[str, str] = {
    "two.py": _PROGRAM + "@rl.program\ndef a(x: rl.f32[n]):\n    return x\nb = a\n@rl.program\ndef c(x: rl.f32[n]):\n    return x\n",
    "none.py": _PROGRAM,
    "syntax.py": "def f(:\n",
    "raises.py": "1 / 0\n",
    "imports.py": "import not_there_at_all\n",
    "ill_typed.py": _PROGRAM + "@rl.program\ndef p(x: rl.f32[n], y: rl.f32[2]):\n    return rl.zip(x, y)\n",
    "no_type.py": _PROGRAM + "@rl.program\ndef p(x):\n    return x\n",
    "no_result.py": _PROGRAM + "@rl.program\ndef p(x: rl.f32[n]):\n    rl.map(lambda v: v, x)\n",
    "branches.py": _PROGRAM + "@rl.program\ndef p(x: rl.f32[n]):\n    return rl.map(lambda v: v if v > 0 else -v, x)\n",
    "searched.py": _PROGRAM + "@rl.program\ndef p(x: rl.f32[n]):\n    return rl.map(lambda v: v + v, x)\n",
    "misspelt.py": _PROGRAM + "@rl.program\ndef p(x: rl.f32[n]):\n    return rl.mapp(lambda v: v, x)\n",
    "warps.py": _PROGRAM + "@rl.program\ndef p(x: rl.f32[n]):\n    return rl.map_warp(0)(lambda v: v + v, x)\n",
    "low.py": _PROGRAM + "@rl.program\ndef p(x: rl.f32[n]):\n    return rl.map_glb(0)(lambda v: v + v, x)\n",
    "two_results.py": _PROGRAM + "@rl.program\ndef p(x: rl.f32[n, n]):\n    return rl.map_lcl(0)(lambda r: rl.map_wrg(0)(lambda v: v + v, r), x)\n",
    "array.npy": "1 2 3\n",
    "broken.json": "{\n",
    "other.json": "[1]\n",
}  # fmt: skip
"""Files of users: programs and rules with one mistake each, and what is no array and no derivation."""

COMMANDS: tuple[str, ...] = (
    # what is named is not there
    "optimize nowhere.py",
    "optimize examples/dot.py:nobody --size n=64",
    "optimize USER/two.py --size n=64",
    "optimize USER/none.py --size n=64",
    "optimize USER/raises.py --size n=64",
    "optimize USER/syntax.py --size n=64",
    "optimize USER/imports.py --size n=64",
    "check drop_drp",
    "check no_such_rule_at_all",
    "check --file nowhere.py",
    "check --file USER/none.py",
    "ledger mapfusion",
    "ledger --update nothing_like_it",
    "lift nowhere.c",
    "verify nowhere",
    "explain nowhere.json",
    "explain USER/broken.json",
    "explain USER/other.json",
    "prove nowhere.json",
    # programs and rules that are none
    "compile USER/ill_typed.py",
    "compile USER/no_type.py",
    "compile USER/no_result.py",
    "compile USER/branches.py",
    # what cannot be compiled or searched
    "compile USER/misspelt.py",
    "compile USER/warps.py",
    "compile USER/searched.py",
    "compile USER/two_results.py",
    # numbers and options
    "optimize examples/dot.py",
    "optimize examples/dot.py --size n",
    "optimize examples/dot.py --size n=",
    "optimize examples/dot.py --size n=-1",
    "optimize examples/dot.py --size m=64",
    "optimize examples/dot.py --size n=64,n=65",
    "optimize examples/dot.py --size n=1.5",
    "optimize examples/dot.py --size n=9223372036854775807",
    "optimize examples/dot.py --size n=64 --float exactly",
    "optimize examples/dot.py --size n=64 --rules nowhere.py",
    "optimize examples/dot.py --size n=64 --assume nothing_like_it",
    "optimize examples/dot.py --size n=64 --strategy nowhere.py:s",
    "compile USER/low.py --local 0",
    "compile USER/low.py --local 999999999",
    # inputs
    "run USER/low.py",
    "run USER/low.py --random 0",
    "run USER/low.py --input x=nowhere.npy",
    "run USER/low.py --input x=USER/array.npy",
    "run USER/low.py --input y=nowhere.npy",
    "run USER/low.py --input x",
    "fuzz --kind nothing",
    "bench --folder nowhere",
    "bench --results nowhere.json",
)

MISTAKES: Mapping[str, Callable[[], Any]] = {
    name: call
    for name, call in CALLS.items()
    if name
    not in (
        "20000 maps",
        "a sum of 3000",
        "huge array",
        "huge size",
        "local huge",
        "program lambda",
    )  # slow, or it names an address
}
"""Calls from Python with arguments that are none, by what is wrong with them."""


def said(command: str, folder: Path) -> str:
    """A command and the whole of what it says on standard error, with its status."""
    done = here(*command.replace("USER", str(folder)).split(), COLUMNS="100", NO_COLOR="1")
    text = done.stderr.replace(str(folder), "USER").replace(str(ROOT), "ROOT")
    text = re.sub(
        r"ROOT/proofs_tests/command_line.py:\d+: ", "", text
    )  # no program calls a command
    return f"$ relift {command}\n{text}[{done.returncode}]\n"


def raised(name: str) -> str:
    """A call and its error."""
    try:
        MISTAKES[name]()
    except rl.ReliftError as error:
        return f">>> {name}\n{type(error).__name__}: {error.message}\n"
    raise AssertionError(f"{name} is no mistake")


def users(folder: Path) -> None:
    """Write the files of users."""
    for name, text in USERS.items():
        (folder / name).write_text(text, encoding="utf-8")


def entries() -> Iterator[str]:
    """Every entry of the file, in order."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(os.path.realpath(name))
        users(folder)
        yield from (said(command, folder) for command in COMMANDS)
    yield from map(raised, MISTAKES)


if __name__ == "__main__":
    FILE.write_text("\n".join(entries()), encoding="utf-8")
    print(f"written to {FILE.relative_to(ROOT)}")
