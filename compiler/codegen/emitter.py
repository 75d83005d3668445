"""The text of a kernel while it grows: indented lines and blocks."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager

from relift.compiler.text.names import Names, alone, stored_as
from relift.semantics.syntax.types import Type

_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")


def words(text: str) -> set[str]:
    """The names that occur in C text.

    >>> sorted(words("a.s0 + 1e-07f * b_2"))
    ['a', 'b_2']
    """
    return set(_WORD.findall(text))


class Emitter:
    """Lines of a function body, two spaces for each block.

    >>> e = Emitter(Names())
    >>> with e.block("if (x)"):
    ...     e.line("x = 1;")
    >>> print(e.text())
      if (x) {
        x = 1;
      }
    """

    def __init__(self, names: Names) -> None:
        self.lines: list[str] = []
        self.names = names
        self._depth = 1

    def fresh(self, hint: str, t: Type | None = None) -> str:
        """A name like `hint` that was not used before in this function, for what has components if t has."""
        return self.names.fresh(hint, alone if t is None else stored_as(t))

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
