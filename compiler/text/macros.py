"""Macros without parameters, replaced in a text by what they stand for: those of `-D` and those of `#define`.

A text by hand names its sizes so.  What else a preprocessor does stays in the text, which is then not understood.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from relift.compiler.text.lexing import NotUnderstood

_OPTION = re.compile(r"-D(?P<name>[A-Za-z_]\w*)(?:=(?P<value>.*))?", re.DOTALL)
_DEFINED = re.compile(r"[ \t]*#[ \t]*define[ \t]+(?P<name>[A-Za-z_]\w*)(?:[ \t]+(?P<value>.*))?")
_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_SAME = re.compile(r"-cl-[a-z-]+(=\S+)?|-w")
"""Options that change how numbers are computed, or what is said, and no text."""

DEPTH = 16
"""A macro may stand for others, so many times."""


def expanded(source: str, options: Sequence[str] = ()) -> str:
    """The text as it is with the macros replaced; raises `NotUnderstood` for options that may change it otherwise.

    >>> from relift.compiler.text.macros import expanded
    >>> expanded("#define END (N + 1)\\nfor (int i = 0; i < END; ++i)", ["-DN=8"])
    '\\nfor (int i = 0; i < (8 + 1); ++i)'
    """
    macros: dict[str, str] = {}
    for option in options:
        found = _OPTION.fullmatch(option)
        if found is not None:
            macros[found["name"]] = "1" if found["value"] is None else found["value"]
        elif not _SAME.fullmatch(option):
            raise NotUnderstood(f"the option {option}")
    lines = source.split("\n")
    for i, line in enumerate(lines):
        defined = _DEFINED.fullmatch(line)
        if defined is None:
            lines[i] = _replaced(line, macros)
        elif defined["name"] in macros:
            raise NotUnderstood(f"the macro {defined['name']}, which is defined twice")
        else:
            macros[defined["name"]] = (defined["value"] or "").strip()
            lines[i] = ""
    return "\n".join(lines)


def _replaced(line: str, macros: dict[str, str]) -> str:
    for _ in range(DEPTH):
        before, line = line, _WORD.sub(lambda m: macros.get(m.group(), m.group()), line)
        if line == before:
            return line
    raise NotUnderstood("macros that stand for themselves")
