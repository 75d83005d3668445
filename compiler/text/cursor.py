"""A place in a row of tokens, and what stands there: a token, a name, a type."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from relift.compiler.text.lexing import NotUnderstood
from relift.compiler.text.memories import SPACES, UNSAID
from relift.compiler.text.tree import CType

_Read = TypeVar("_Read")

_TYPE = re.compile(  # size_t2 and bool4 are names like any other
    r"(?!(?:bool|size_t)\d)"
    r"(bool|char|uchar|short|ushort|int|uint|long|ulong|half|float|double|size_t)(2|3|4|8|16)?$"
)
_QUALIFIERS = frozenset([*SPACES, "const", "restrict", "kernel", "volatile"])
_KEYWORDS = frozenset([
    "auto", "break", "case", "continue", "default", "do", "else", "enum", "extern", "for", "goto", "if", "inline",
    "register", "return", "signed", "sizeof", "static", "struct", "switch", "typedef", "union", "unsigned", "void",
    "while", "__attribute__", "vec_step",
])  # fmt: skip
"""Words of C that are no names; with most of them begins what is not understood."""


class Cursor:
    """Tokens that are read one after another."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = [*tokens, ""]
        self.at = 0

    @property
    def next(self) -> str:
        """The token that comes next."""
        return self.tokens[self.at]

    def take(self) -> str:
        """That token; the one after it comes next."""
        self.at += 1
        return self.tokens[self.at - 1]

    def expect(self, *wanted: str) -> None:
        """Take these tokens; raises `NotUnderstood` where others stand."""
        for token in wanted:
            if self.take() != token:
                around = " ".join(self.tokens[max(0, self.at - 6) : self.at + 2])
                raise NotUnderstood(f"{token!r} is expected near {around!r}")

    def stands(self, *tokens: str) -> bool:
        """Whether one of some tokens comes next."""
        return self.tokens[self.at] in tokens

    def accept(self, token: str) -> bool:
        """Whether a token comes next, which is taken then."""
        found = self.next == token
        self.at += found
        return found

    def name(self) -> str:
        """Take a name."""
        token = self.take()
        if not self.is_name(token):
            raise NotUnderstood(f"a name is expected instead of {token!r}")
        return token

    def separated(self, read: Callable[[], _Read], end: str) -> tuple[_Read, ...]:
        """Take what stands between commas, up to the end."""
        found: list[_Read] = []
        while not self.accept(end):
            if found:
                self.expect(",")
            found.append(read())
        return tuple(found)

    def is_name(self, token: str) -> bool:
        """Whether a token can be a name: it is a word that means nothing else in C."""
        taken = token in _QUALIFIERS or token in _KEYWORDS or _TYPE.match(token)
        return token.isidentifier() and not taken

    def starts_type(self) -> bool:
        """Whether a type comes next."""
        return self.next in _QUALIFIERS or _TYPE.match(self.next) is not None

    def type(self) -> CType:
        """A type, with its address space and what it says of pointers."""
        space, constant, found, pointer = None, False, None, False
        while self.starts_type() or self.next == "*":
            token = self.take()
            if token in SPACES:
                if space is not None or pointer:
                    raise NotUnderstood(f"the address space {token} near {self.next!r}")
                space = SPACES[token]
            elif token == "const" and not pointer:
                constant = True
            elif token == "*":
                if pointer or found is None:
                    raise NotUnderstood("a pointer to a pointer, or to nothing")
                pointer = True
            elif (m := _TYPE.match(token)) is not None:
                if found is not None:
                    raise NotUnderstood(f"the type {found.group()} {token}")
                found = m
            elif token in ("kernel", "volatile"):
                raise NotUnderstood(f"{token} in a type")
        if found is None:
            raise NotUnderstood(f"a type is expected near {self.next!r}")
        width, space = int(found.group(2) or 1), space or UNSAID
        return CType(found.group(1), width, pointer, space, constant or space.of_kernel)
