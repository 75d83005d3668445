"""The text of a kernel through a preprocessor and a parser of OpenCL C."""

from __future__ import annotations

import re
from typing import Any

from relift.compiler.foreign.reading.attempts import with_attempts
from relift.compiler.foreign.reading.preprocessing import preprocessed
from relift.compiler.foreign.reading.structs import without_structs
from relift.compiler.text.lexing import NotUnderstood
from relift.semantics.errors import Unsupported

_WORDS = re.compile(r"(?<![\w.])(kernel|global|local|private|constant)(?=\s)")
_ATOMIC = re.compile(r"\batomic_(u?int|u?long|float|double)\b")
"""Types whose cells are those of others; what may be done to them is seen where it is done."""


def parsed(text: str, file: str, defined: dict[str, str]) -> list[Any]:
    """The functions of a source; raises `NotUnderstood` with the line."""
    try:
        from pycparser.c_parser import ParseError
        from pycparserext.ext_c_parser import OpenCLCParser

        plain = preprocessed(text, file, defined)
    except ImportError as error:
        raise Unsupported(
            f"kernels of others need a parser of C ({error.name}); install it: pip install 'relift[opencl-c]'"
        ) from None
    try:
        plain = _ATOMIC.sub(r"\1", _WORDS.sub(r"__\1", _without_attributes(plain)))
        tree = OpenCLCParser().parse(plain, file)
    except RecursionError:
        raise NotUnderstood("what is nested too deeply") from None
    except UnknownAttribute as error:
        at = text.count("\n", 0, max(text.find(error.text), 0)) + 1
        raise NotUnderstood(f"the attribute {error.text} in line {at}") from None
    except (ParseError, TypeError, AssertionError) as error:
        raise NotUnderstood(_with_line(str(error))) from None
    plain_types = _without_typedefs(tree.ext)
    return with_attempts(without_structs(plain_types, aligned="aligned" in text))


def _without_typedefs(parts: list[Any]) -> list[Any]:
    """What a source defines, with the types that its own names of types stand for; raises `NotUnderstood`."""
    from pycparser import c_ast

    meant: dict[str, Any] = {}
    found: list[Any] = []
    for part in parts:
        _rename(part, meant)
        if isinstance(part, c_ast.Typedef):
            meant[part.name] = part.type
        else:
            found.append(part)
    return found


def _rename(node: Any, meant: dict[str, Any]) -> None:
    """Write the meaning of each name of a type in its place."""
    from pycparser import c_ast

    for _, part in node.children():
        if isinstance(part, c_ast.TypeDecl) and isinstance(part.type, c_ast.IdentifierType):
            of = meant.get(part.type.names[0]) if len(part.type.names) == 1 else None
            if of is not None:
                if not isinstance(of, c_ast.TypeDecl):
                    raise NotUnderstood(
                        f"{part.type.names[0]}, a name for more than a type of numbers, in line {part.coord.line if part.coord else 'unknown'}"
                    )
                part.type, part.quals = of.type, [*(part.quals or []), *(of.quals or [])]
        _rename(part, meant)


def _with_line(said: str) -> str:
    """What the parser says it stands before, in the form of other messages.

    >>> from relift.compiler.foreign.reading.parsing import _with_line
    >>> _with_line("k.cl:4:8: before: goto"), _with_line("k.cl: At end of input")
    ('goto in line 4', 'k.cl: At end of input')
    """
    m = re.fullmatch(r".*?:(\d+):\d+: (?:before: )?(.*)", said, re.DOTALL)
    return said if m is None else f"{m[2]} in line {m[1]}"


def _without_attributes(text: str) -> str:
    """The text without attributes, on the same lines."""
    found: list[str] = []
    at = 0
    for m in re.finditer(r"__attribute__\s*\(", text):
        if m.start() < at:
            continue
        depth, end = 1, m.end()
        while depth and end < len(text):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        if "reqd_work_group_size" not in text[m.start() : end]:
            raise_unless_hint(text[m.start() : end])
        found.append(text[at : m.start()] + "\n" * text[m.start() : end].count("\n"))
        at = end
    return "".join(found) + text[at:]


class UnknownAttribute(Exception):
    """An attribute that may change what a text means."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


def raise_unless_hint(attribute: str) -> None:
    """Attributes that change what a text means are not read; raises `UnknownAttribute`."""
    if not re.search(r"hint|reqd_sub_group_size|aligned|always_inline|noinline|unused", attribute):
        raise UnknownAttribute(attribute)


def required_group(text: str) -> tuple[int, ...] | None:
    """The size of a work-group that a source requires, where it says one."""
    m = re.search(r"reqd_work_group_size\s*\(\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*\)", text)
    return None if m is None else tuple(map(int, m.groups()))
