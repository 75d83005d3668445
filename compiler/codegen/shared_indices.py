"""Sums that several indices of a kernel have in common: computed once, where that makes the text shorter.

An index is a sum of terms, large strides first.  Those of its terms that are known where a block starts, the
numbers of the work-item and the counters of the loops around, make a sum that the block can compute at its
start; the outermost such block does.  Of all sums that occur twice or more, the one that saves the most
characters goes first, and then the indices are read again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from relift.compiler.codegen.emitter import words

_ARRAY = re.compile(r"(\w+)\[")
_READ = re.compile(r"(?:\*\)\(|\bvload\d+\(0, )\w+ \+ ")
_WRITTEN = re.compile(r" *vstore\d+\(.*, 0, \w+ \+ ")
"""What an index follows: an array and its bracket, or a pointer that it moves."""

_COUNTER = re.compile(r"\s*for \((?:int|long) (\w+) = ")
_REGISTERS = re.compile(r"\s*\w+ (\w+)\[\d+\];")
_OPENING, _CLOSING = "([", ")]"

_NAME = "at"

Sum: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class _Index:
    """A sum in a line of the kernel: from where to where, and its terms with their signs."""

    line: int
    start: int
    end: int
    terms: tuple[tuple[str, str], ...]


def share_indices(
    lines: list[str], known: Collection[str], number: str, fresh: Callable[[str], str]
) -> list[str]:
    """The lines of a kernel's body with the sums that its indices share in variables of type `number`.

    `known` are whole numbers that never change in the kernel; `fresh` makes a name.

    >>> body = ["  a[64*wrg_0 + lcl_0] = b[64*wrg_0 + lcl_0 + 1] + b[(64*wrg_0 + lcl_0) / 8];"] * 2
    >>> print(*share_indices(body, ["lcl_0", "wrg_0"], "int", lambda hint: hint), sep="\\n")
      const int at = 64*wrg_0 + lcl_0;
      a[at] = b[at + 1] + b[at / 8];
      a[at] = b[at + 1] + b[at / 8];
    """
    lines = list(lines)
    homes = dict.fromkeys(known, 0)  # in which block a name is known, by the line after its head
    for i, line in enumerate(lines):
        if (counter := _COUNTER.match(line)) is not None:
            homes[counter[1]] = i + 1
    private = {m[1] for line in lines if (m := _REGISTERS.match(line)) is not None}
    declared: dict[int, list[str]] = {}
    while True:
        found = _candidates(lines, homes, private)
        best = max(found, key=lambda s: _saved(s, len(found[s]), number), default=())
        if not best or _saved(best, len(found[best]), number) <= 0:
            break
        home, name = _home(best, homes), fresh(_NAME)
        indent = " " * (len(lines[home]) - len(lines[home].lstrip()))
        text = f"{indent}const {number} {name} = {' + '.join(best)};"
        declared.setdefault(home, []).append(text)
        while places := found.get(best):
            _replace(lines, places, best, name)
            found = _candidates(lines, homes, private)
        homes[name] = home
    return [text for i, line in enumerate([*lines, ""]) for text in (*declared.get(i, ()), line)][
        :-1
    ]


def _saved(s: Sum, times: int, number: str) -> int:
    """How many characters a name for s saves at least, in a block of a kernel that has tens of names."""
    length = len(" + ".join(s))
    return times * (length - len(_NAME + "_10")) - len(f"const {number} {_NAME}_10 = ;") - length


def _replace(lines: list[str], places: list[_Index], s: Sum, name: str) -> None:
    """Put a name for s into the places that have no other of them inside."""
    for e in sorted(places, key=lambda e: (e.line, e.start), reverse=True):
        if not any(e.line == u.line and e.start < u.start < e.end for u in places):
            line = lines[e.line]
            before, after, text = line[: e.start], line[e.end :], _with(e, s, name)
            if text == name and before.endswith("("):  # a name needs no parentheses
                before, after = before[:-1], after[1:]
            lines[e.line] = before + text + after


def _home(s: Sum, homes: dict[str, int]) -> int:
    """The outermost block where all of s is known: the innermost that one of its terms needs."""
    return max(homes[word] for term in s for word in words(term))


def _candidates(
    lines: list[str], homes: dict[str, int], private: Collection[str]
) -> dict[Sum, list[_Index]]:
    """The sums that could have a name, with the indices that have all of their terms."""
    found: dict[Sum, list[_Index]] = {}
    for index in (e for i, line in enumerate(lines) for e in _indices(line, i, private)):
        terms = [
            term
            for sign, term in index.terms
            if sign == "+" and "[" not in term and words(term) and words(term) <= homes.keys()
        ]
        for home in {_home((term,), homes) for term in terms}:
            s = tuple(term for term in terms if _home((term,), homes) <= home)
            found.setdefault(s, []).append(index)
    return found


def _indices(text: str, line: int, private: Collection[str]) -> Iterator[_Index]:
    """Every index in a line, but those of private arrays, which are constants or should become such."""
    if text.endswith("{"):
        return
    starts = [m.end() for m in _ARRAY.finditer(text) if m[1] not in private]
    starts += [m.end() for pattern in (_READ, _WRITTEN) for m in pattern.finditer(text)]
    for start in starts:
        yield from _sums(text, start, line)


def _sums(text: str, start: int, line: int) -> Iterator[_Index]:
    """The sum that starts at a place, and the sums in parentheses inside it."""
    terms: list[tuple[str, str]] = []
    sign, at, depth = "+", start, 0
    if text[start] == "-":
        sign, at = "-", start + 1
    i = at
    while depth > 0 or text[i] not in ")],":
        if text[i] in _OPENING:
            if text[i] == "(" and depth == 0 and not text[i - 1].isalnum():
                yield from _sums(text, i + 1, line)
            depth += 1
        elif text[i] in _CLOSING:
            depth -= 1
        elif depth == 0 and text[i : i + 3] in (" + ", " - "):
            terms.append((sign, text[at:i]))
            sign, at = text[i + 1], i + 3
            i += 2
        i += 1
    terms.append((sign, text[at:i]))
    yield _Index(line, start, i, tuple(terms))


def _with(index: _Index, s: Sum, name: str) -> str:
    """An index with a name for some of its terms."""
    left = list(index.terms)
    for term in s:
        left.remove(("+", term))
    return name + "".join(f" {sign} {term}" for sign, term in left)
