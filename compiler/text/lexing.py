"""The text of a kernel as tokens, cut as C cuts it; what would be cut in another way is refused.

C joins lines at a backslash, replaces trigraphs and digraphs, and takes comments out before it looks at anything
else.  A text in which any of these could hide or reveal code is not understood.

>>> from relift.compiler.text.lexing import tokens_of
>>> tokens_of("x[i] = 2.0f; // the rest")
['x', '[', 'i', ']', '=', '2.0f', ';']
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass


class NotUnderstood(Exception):
    """The text is not what this compiler writes; the message says where."""


@dataclass(frozen=True)
class Number:
    """A constant: a whole number of type `int` or `long` where it has a value, else it is told by its text."""

    text: str
    value: int | None
    long: bool = False


_SPLICE = re.compile(r"\\[ \t\v\f]*\n|\\[ \t\v\f]*\Z")
_TRIGRAPH = re.compile(r"\?\?[=/'()!<>-]")
_COMMENT = re.compile(
    r"""(?P<line>//[^\n]*)|(?P<block>/\*.*?\*/)|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'""",
    re.DOTALL,
)
_PRAGMA = re.compile(
    r"[ \t]*#[ \t]*pragma[ \t]+(?:unroll(?:[ \t]+\d+)?|OPENCL[ \t]+FP_CONTRACT[ \t]+(?:ON|OFF)"
    r"|OPENCL[ \t]+EXTENSION[ \t]+cl_khr_fp(?:16|64)[ \t]*:[ \t]*enable)[ \t]*"
)
_TOKEN = re.compile(
    r"""[ \t\n\v\f]*(?:(?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)|(?P<word>[A-Za-z_]\w*)"""
    r"""|(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
    r"""|(?P<digraph><:|:>|<%|%>|%:)"""
    r"""|(?P<sign>\.\.\.|<<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||\+\+|--|->|[-+*/%&|^]=|[-+*/%<>=!~&|^?:;,.(){}\[\]]))""",
    re.ASCII,
)
_WHOLE = re.compile(r"(?P<digits>0|[1-9]\d*|0[xX][0-9a-fA-F]+)(?P<end>[lL]?|[uU][lL]?|[lL][uU])")
_FLOAT = re.compile(r"(?:(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)[fFhH]?")


def tokens_of(text: str) -> list[str]:
    """The tokens of a source; raises `NotUnderstood`."""
    return [token for token, _ in _placed(_without_comments(text))]


def line_of(text: str, number: int) -> int:
    """The line on which a token of a source stands, or the last of all.

    >>> from relift.compiler.text.lexing import line_of
    >>> line_of("a = 1; /* two\\nlines */ b", 4)
    2
    """
    within = _COMMENT.sub(
        lambda m: "\n" * m.group().count("\n") + " " if m["block"] else m.group(), text
    )
    kept = _without_comments(within)
    ends = [end for _, end in _placed(kept)]
    return kept.count("\n", 0, ends[min(number, len(ends) - 1)]) + 1 if ends else 1


def _placed(text: str) -> Iterator[tuple[str, int]]:
    """The tokens of a text without comments, and where each ends."""
    text, at = text.rstrip(), 0
    while at < len(text):
        m = _TOKEN.match(text, at)
        if m is None:
            raise NotUnderstood(f"the text at {text[at : at + 30]!r}")
        if m["digraph"]:
            raise NotUnderstood(f"the digraph {m['digraph']}")
        at = m.end()
        yield m.group().strip(), at


def numeric(token: str) -> Number:
    """A numeric token; raises `NotUnderstood` for octal ones, and those whose type C finds by other means.

    >>> from relift.compiler.text.lexing import numeric
    >>> numeric("7").value, numeric("3000000000").long, numeric("2u").value
    (7, True, None)
    """
    if m := _WHOLE.fullmatch(token):
        value, hexadecimal = int(m["digits"], 0), m["digits"][1:2] in ("x", "X")
        long = m["end"] in ("l", "L") or value >= 2**31
        signless = "u" in m["end"].lower()
        if value >= (2**64 if signless else 2**63) or (hexadecimal and long and not signless):
            raise NotUnderstood(f"the constant {token}")
        return Number(token, None if signless else value, long)
    if _FLOAT.fullmatch(token):
        return Number(token, None)
    raise NotUnderstood(f"the constant {token}")


def _without_comments(text: str) -> str:
    """The text without comments and the pragmas that change no meaning; raises `NotUnderstood` for others."""
    text = text.replace("\r\n", "\n")
    if "\r" in text:
        raise NotUnderstood("a carriage return, which ends a line for C")
    if _SPLICE.search(text):
        raise NotUnderstood("a backslash that joins lines")
    if m := _TRIGRAPH.search(text):
        raise NotUnderstood(f"the trigraph {m.group()}")
    text = _COMMENT.sub(lambda m: " " if m["line"] or m["block"] else m.group(), text)
    lines = ["" if _PRAGMA.fullmatch(line) else line for line in text.split("\n")]
    for line in lines:
        if "#" in line:
            raise NotUnderstood(f"the line {line.strip()}")
    return "\n".join(lines)
