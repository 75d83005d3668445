"""The C functions of the fixtures, each with what is found in it."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import relift as rl
from relift.compiler.idioms.facts.llvm.ir import Module
from relift.compiler.idioms.facts.llvm.source import module
from relift.compiler.idioms.lift import LiftedFile

FOLDER = Path(__file__).parent / "fixtures"
_MARK = re.compile(r"// found: (.*)\n[\w \*]*?[ \*](\w+)\(")


@cache
def expected(file: str) -> dict[str, list[str]]:
    """What is found in each function of a file, sorted."""
    text = (FOLDER / f"{file}.c").read_text("utf-8")
    found = {name: sorted(mark.split(", ")) for mark, name in _MARK.findall(text)}
    assert len(found) == text.count("// found:"), "each mark stands before a function"
    return {name: [] if kinds == ["nothing"] else kinds for name, kinds in found.items()}


@cache
def compiled(file: str) -> Module:
    """The graph of a file of fixtures."""
    return module(FOLDER / f"{file}.c")


@cache
def lifted(file: str) -> LiftedFile:
    """A file of fixtures, each program run a few times."""
    return rl.lift(FOLDER / f"{file}.c", runs=12)


FILES = (
    "reductions",
    "maps",
    "products",
    "near_misses",
    "narrow",
    "ways",
    "walks",
    "turns",
    "searches",
    "bins",
    "bits",
    "counters",
    "structures",
)
FUNCTIONS = [(file, name) for file in FILES for name in expected(file)]
