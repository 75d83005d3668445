"""The text of a kernel as C's preprocessor leaves it, whichever compiler that is part of.

Lines are joined before comments are seen, as C says.  What only the compiler of a device defines (`__OPENCL_VERSION__`,
`cl_khr_fp64`, ..) is taken to be this or that where a text asks for it; a text that then says different things is not
understood until `--define` says what holds.
"""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Mapping
from typing import Any

from relift.compiler.text.lexing import NotUnderstood

_FENCES = {"CLK_LOCAL_MEM_FENCE": "1", "CLK_GLOBAL_MEM_FENCE": "2"}

_OF_COMPILERS = re.compile(r"_|cl_|cles_|CL_|FP_FAST_")
"""What the names begin with that compilers define."""

_VERSIONS = ("100", "120", "200", "300")
_MOST = 64
"""So many ways in which a compiler may have defined what a text asks for are tried."""

_JOINED = re.compile(r"\\[ \t]*\r?\n")
_UNCLEAR = re.compile("\\?\\?[=/'()!<>-]|\r(?!\n)|[\v\f\x1c\x1d\x1e\x85\u2028\u2029]")
"""Trigraphs, and what ends a line for some readers of a text, but not for others."""

_HARMLESS = re.compile(
    r"[ \t]*#[ \t]*pragma[ \t]+(unroll|nounroll|clang[ \t]+loop|OPENCL[ \t]+(EXTENSION|FP_CONTRACT))\b"
)
"""Pragmas that change nothing but how fast a kernel is, and whether a product and a sum are rounded once."""


def preprocessed(text: str, file: str, defined: Mapping[str, str]) -> str:
    """The text without directives, comments and macros, on the same lines; raises `NotUnderstood` with the line.

    >>> from relift.compiler.foreign.reading.preprocessing import preprocessed
    >>> preprocessed("a; // b \\\\\\n c;\\nd;", "f.cl", {}).split()[2:]
    ['"f.cl"', 'a;', 'd;']
    """
    if m := _UNCLEAR.search(text):
        at = text.count("\n", 0, m.start()) + 1
        raise NotUnderstood(f"the characters {m[0]!r} in line {at}")
    joined = _with_lines_joined(text)
    first, asked = _run(joined, file, defined)
    tried: set[tuple[str, ...]] = set()
    while (names := tuple(sorted(asked))) not in tried:
        tried.add(names)
        ways = list(itertools.islice(itertools.product(*map(_values, names)), _MOST + 1))
        if len(ways) > _MOST:
            raise NotUnderstood(f"conditions on {', '.join(names)} (--define says what they are)")
        for way in ways:
            held = {n: v for n, v in zip(names, way, strict=True) if v is not None}
            other, more = _run(joined, file, {**held, **defined})
            asked |= more
            if isinstance(first, NotUnderstood):
                first = other
            if isinstance(other, str) and isinstance(first, str) and _words(other) != _words(first):
                raise NotUnderstood(
                    f"kernels that differ by what {', '.join(names)} is (--define says it)"
                )
    if isinstance(first, NotUnderstood):
        raise first
    return first


def _words(text: str) -> list[str]:
    """What stands in a text, wherever it stands."""
    return " ".join(line for line in text.split("\n") if not line.startswith("#line")).split()


def _values(name: str) -> tuple[str | None, ...]:
    """What a compiler may have defined a name as; None is not at all."""
    return _VERSIONS if name.endswith("VERSION__") else (None, "1")


def _with_lines_joined(text: str) -> str:
    """Lines that end with a backslash go on in the next one, comments too; the lines after them keep their numbers."""
    found: list[str] = []
    owed = 0
    for line in _JOINED.sub("\\\\\n", text).split("\n"):
        if line.endswith("\\"):
            found.append(line[:-1])
            owed += 1
        else:
            found.append(line + "\n" * (owed + 1))
            owed = 0
    return "".join(found)[:-1]


def _run(text: str, file: str, defined: Mapping[str, str]) -> tuple[str | NotUnderstood, set[str]]:
    """The text as one compiler sees it, or the #error that it meets; and the names of compilers that are not defined and
    that it asks for."""
    import pcpp

    asked: set[str] = set()
    said: list[str] = []
    errors: list[str] = []

    class Preprocessor(pcpp.Preprocessor):  # type: ignore[misc]
        """Macros replaced; what it complains of, and what it asks for, is kept."""

        def on_error(self, file: str, line: int, msg: str) -> None:
            said.append(f"line {line}: {' '.join(msg.split())}")

        def on_directive_unknown(
            self, directive: Any, toks: Any, ifpassthru: Any, precedingtoks: Any
        ) -> Any:
            if directive.value == "error":
                errors.append(f"line {directive.lineno}: #error {''.join(t.value for t in toks)}")
            return True if directive.value in ("error", "warning") else None

        def on_unknown_macro_in_defined_expr(self, tok: Any) -> Any:
            asked.add(tok.value)
            return False

        def on_unknown_macro_in_expr(self, ident: str) -> Any:
            asked.add(ident)
            return 0

        def on_unknown_macro_function_in_expr(self, ident: str) -> Any:
            asked.add(ident)
            return lambda _: 0

    preprocessor = Preprocessor()
    for name, value in {**_FENCES, **defined}.items():
        preprocessor.define(f"{name} {value}")
    preprocessor.parse(text, file)
    out = io.StringIO()
    preprocessor.write(out)
    if said:
        raise NotUnderstood(said[0])
    built = NotUnderstood(errors[0]) if errors else _without_pragmas(out.getvalue())
    return built, {n for n in asked if _OF_COMPILERS.match(n)}


def _without_pragmas(text: str) -> str:
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if re.match(r"[ \t]*#[ \t]*pragma\b", line):
            if not _HARMLESS.match(line):
                raise NotUnderstood(f"the pragma {line.strip()}")
            lines[number] = ""
    return "\n".join(lines)
