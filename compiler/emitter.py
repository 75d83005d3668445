"""The text of a kernel while it grows: indented lines, blocks, and names that are not yet taken."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable
from contextlib import contextmanager

RESERVED = frozenset(
    [
        "auto",
        "break",
        "case",
        "char",
        "const",
        "continue",
        "default",
        "do",
        "double",
        "else",
        "enum",
        "extern",
        "float",
        "for",
        "goto",
        "half",
        "if",
        "inline",
        "int",
        "long",
        "register",
        "restrict",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "struct",
        "switch",
        "typedef",
        "union",
        "unsigned",
        "void",
        "volatile",
        "while",
        "bool",
        "uchar",
        "ushort",
        "uint",
        "ulong",
        "size_t",
        "true",
        "false",
        "kernel",
        "global",
        "local",
        "private",
        "constant",
        "read_only",
        "write_only",
        "read_write",
        "image1d_t",
        "image2d_t",
        "image3d_t",
        "sampler_t",
        "event_t",
        "pipe",
        "uniform",
        "complex",
        "imaginary",
        "min",
        "max",
        "abs",
        "select",
        "sqrt",
        "exp",
        "log",
        "sin",
        "cos",
        "fmin",
        "fmax",
        "fabs",
        "fma",
        "mad",
        "dot",
        "cross",
        "clamp",
        "mix",
        "step",
        "sign",
        "length",
        "distance",
        "normalize",
        "any",
        "all",
        "barrier",
        "printf",
        "pown",
        "pow",
        "rint",
        "round",
        "floor",
        "ceil",
        "trunc",
        "cbrt",
        "hypot",
        "tan",
        "tanh",
        "rsqrt",
        "isnan",
        "isinf",
        "NAN",
        "INFINITY",
        "INT_MIN",
        "LONG_MIN",
        "M_PI",
        "assert",
        "main",
        "out",
    ]
)
"""Words of OpenCL C, functions that kernels call, and `out`, the result."""

_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")


def c_name(name: str, taken: Iterable[str] = ()) -> str:
    """`name`, or a name like it that is no word of OpenCL C and not taken.

    >>> c_name("half"), c_name("x", ["x", "x_2"]), c_name("gamma")
    ('half_', 'x_3', 'gamma')
    """
    if not name.isascii():
        name = "v"
    if name in RESERVED or name.startswith(
        ("vload", "vstore", "convert_", "as_", "get_", "native_", "half_", "atomic_", "__")
    ):
        name += "_"
    taken = set(taken)
    candidate, count = name, 1
    while candidate in taken:
        count += 1
        candidate = f"{name}_{count}"
    return candidate


def words(text: str) -> set[str]:
    """The names that occur in C text.

    >>> sorted(words("a.s0 + 1e-07f * b_2"))
    ['a', 'b_2']
    """
    return set(_WORD.findall(text))


class Emitter:
    """Lines of a function body, two spaces for each block.

    >>> e = Emitter(["x"])
    >>> with e.block("if (x)"):
    ...     e.line(f"{e.fresh('x')} = 1;")
    >>> print(e.text())
      if (x) {
        x_2 = 1;
      }
    """

    def __init__(self, taken: Iterable[str]) -> None:
        self.lines: list[str] = []
        self._taken = set(taken)
        self._depth = 1

    def fresh(self, hint: str) -> str:
        """A name like `hint` that was not used before in this function."""
        name = c_name(hint, self._taken)
        self._taken.add(name)
        return name

    def line(self, text: str) -> None:
        """One more line."""
        self.lines.append("  " * self._depth + text)

    @contextmanager
    def block(self, header: str) -> Generator[None, None, None]:
        """The lines emitted inside are the body of `header`."""
        self.line(header + " {")
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            self.line("}")

    def mark(self) -> tuple[int, int]:
        """This place in the text."""
        return len(self.lines), self._depth

    def contains(self, line: str, since: tuple[int, int]) -> bool:
        """Whether a line was emitted after an earlier place."""
        return any(text.strip() == line for text in self.lines[since[0] :])

    def insert(self, mark: tuple[int, int], text: str) -> None:
        """One more line at an earlier place."""
        at, depth = mark
        self.lines.insert(at, "  " * depth + text)

    def text(self) -> str:
        """All lines."""
        return "\n".join(self.lines)
