"""The text of kernels means to the executor what it means to a C compiler: random whole-number programs run by both.

A kernel is plain C once a few words are defined away.  Where the executor finds a fault (an overflow, a division by
zero), C leaves the value open, and there is nothing to compare; where it does not understand a text, neither.
"""

from __future__ import annotations

import ctypes
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from relift.compiler.running.launch import Buffer, Kernel, Launch, Parameter
from relift.compiler.text.lexing import NotUnderstood
from relift.compiler.text.reader import read_source
from relift.compiler.validation.lockstep import Run
from relift.compiler.validation.machine import Fault, Undecided
from relift.compiler.validation.symbols import Algebra
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.types import i32, i64

PREAMBLE = """
#include <limits.h>
#define kernel
#define global
#define restrict
typedef unsigned int uint; typedef unsigned long ulong; typedef unsigned char uchar;
#define as_int(x) ((int)(uint)(x))
#define as_uint(x) ((uint)(int)(x))
#define as_long(x) ((long)(ulong)(x))
#define as_ulong(x) ((ulong)(long)(x))
"""
RESULTS = 4
PROGRAMS = 300


class _Writer:
    """Random statements over some `int`, `uint` and `long` variables."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names: list[str] = []
        self.fixed: list[str] = []
        self.made = 0

    def constant(self) -> str:
        pick = self.random.choice
        small = str(self.random.randrange(12))
        if self.random.random() < 0.9:
            return pick([small, small, small, f"{small}u", f"{small}L", "0x1f"])
        return pick(["2147483647", "INT_MIN", "3000000000", "4294967295u", "LONG_MAX"])

    def expression(self, depth: int) -> str:
        pick = self.random.choice
        if depth == 0 or self.random.random() < 0.15:
            known = [*self.names, *self.fixed]
            return pick(known) if known and self.random.random() < 0.6 else self.constant()
        form = pick(
            ["{0} + {1}", "{0} - {1}", "{0} * {1}", "({0}) / (({1}) | 1)", "({0}) % (({1}) | 8)", "-({0})", "{0} < {1}",
             "({0}) == ({1})", "({0}) >= {1}", "({0}) != ({1})", "({0}) ? {1} : {2}", "(({0}) && ({1}))",
             "(({0}) || ({1}))", "!({0})", "~({0})", "({0}) & ({1})", "({0}) | ({1})", "({0}) ^ ({1})",
             "(int)({0})", "(uint)({0})", "(long)({0})", "(uchar)({0})", "(short)({0})", "(ulong)({0})",
             "as_int(as_uint((int)({0})) + as_uint((int)({1})))", "({0}) >> 3", "({0})", "{0} - {1} - {2}",
             "{0} - ({1} - {2})", "{0} / (({1}) | 1) * {2}", "{0} < {1} == {2}", "-({0}) % (({1}) | 1)", "{0} <= {1} < {2}"]
        )  # fmt: skip
        text = form.format(*(self.expression(depth - 1) for _ in range(3)))
        return text if self.random.random() < 0.7 else f"({text})"

    def name(self) -> str:
        self.made += 1
        return f"v{self.made}"

    def statements(self, many: int, depth: int) -> list[str]:
        found: list[str] = []
        outer = (list(self.names), list(self.fixed))
        for _ in range(many):
            kind = self.random.random()
            if kind < 0.45 or not self.names:
                t = self.random.choice(["int", "int", "long", "uint", "const int", "const long"])
                value, name = self.expression(2), self.name()
                found.append(f"{t} {name} = {value};")
                (self.fixed if "const" in t else self.names).append(name)
            elif kind < 0.75 or depth == 0:
                operator = self.random.choice(["=", "=", "=", "+=", "-=", "*="])
                found.append(f"{self.random.choice(self.names)} {operator} {self.expression(2)};")
            elif kind < 0.87:
                inner = " ".join(self.statements(2, depth - 1))
                found.append(f"if ({self.expression(2)}) {{ {inner} }}")
            else:
                i, t = self.name(), self.random.choice(["int", "long"])
                start, end = self.random.randrange(-3, 3), self.random.randrange(0, 6)
                step = self.random.choice(["++{0}", "{0}++", "{0} += 2", "{0} += 3"]).format(i)
                self.fixed.append(i)
                inner = " ".join(self.statements(2, depth - 1))
                self.fixed.remove(i)
                found.append(f"for ({t} {i} = {start}; {i} < {end} ; {step}) {{ {inner} }}")
        if depth < 2:
            self.names, self.fixed = outer
        return found

    def kernel(self, number: int) -> str:
        body = [*self.statements(6, 2)]
        body += [f"out[{k}] = {self.expression(2)};" for k in range(RESULTS)]
        lines = "\n  ".join(body)
        return f"kernel void f_{number}(global long* restrict out) {{\n  {lines}\n}}\n"


def executed(text: str, number: int) -> list[int] | None:
    """What the executor makes of a kernel; None where the text has no one value, or is not understood."""
    out = Buffer("out", i64, Size.of(RESULTS), "output")
    kernel = Kernel(f"f_{number}", ("out",), (Size.of(1),), (1,), 0)
    launch = Launch("f", (), Parameter("out", i32, ("out",)), (out,), (kernel,))
    try:
        found = Run(Algebra(), read_source(text), launch).all_kernels({})["out"]
    except (Fault, Undecided, NotUnderstood):
        return None
    return [int(v) for v in found]


def test_whole_numbers_are_those_of_c(tmp_path: Path) -> None:
    """Promotion, conversions, precedence, division, wrapping and loops, in random programs."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.fail("a C compiler is needed; install gcc")
    texts = [_Writer(seed).kernel(seed) for seed in range(PROGRAMS)]
    wanted = {n: v for n, text in enumerate(texts) if (v := executed(text, n)) is not None}
    assert len(wanted) > PROGRAMS // 4
    source, library = tmp_path / "texts.c", tmp_path / "texts.so"
    source.write_text(PREAMBLE + "".join(texts[n] for n in wanted))
    subprocess.run(
        [compiler, "-w", "-O0", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error", "-shared",
         "-fPIC", "-o", library, source],
        check=True,
    )  # fmt: skip
    built = ctypes.CDLL(str(library))
    for n, values in wanted.items():
        out = (ctypes.c_long * RESULTS)()
        built[f"f_{n}"](out)
        assert list(out) == values, texts[n]
