"""What atoms can say, by the words; `{}` stands for variables, `<…>` for a word that is part of the atom.

>>> from relift.compiler.idioms.constraints.atoms import known
>>> atom = known("{} is load instruction")
>>> atom[0].name, atom[1]
('instruction', 'load')
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True)
class AtomKind:
    """An atom: its words, the relation that it names; `of_sets` where variables stand for sets of values.

    Of a family of relations `word` says which one it is, where the words of the atom do not.
    """

    words: str
    name: str
    word: str
    meaning: str
    of_sets: bool = False


def _kinds() -> tuple[AtomKind, ...]:
    """The rows of `atoms.txt`: what an atom says, its relation, what that means, and whether it is about sets."""
    text = files("relift.compiler.idioms.constraints").joinpath("atoms.txt").read_text("utf-8")
    rows = (row.split(" | ") for row in text.splitlines() if row)
    return tuple(
        AtomKind(words, name, word, meaning, of_sets=bool(sets))
        for words, relation, meaning, *sets in rows
        for name, _, word in [relation.partition(": ")]
    )


ATOMS = _kinds()


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], AtomKind], ...]:
    found: list[tuple[re.Pattern[str], AtomKind]] = []
    for kind in ATOMS:
        text = re.escape(kind.words).replace(r"\{\}", r"\{\}")
        found.append((re.compile(re.sub(r"<\w+>", r"([a-z]+)", text) + "$"), kind))
    return tuple(found)


_OPCODES = frozenset(
    [
        "load", "store", "phi", "add", "sub", "mul", "sdiv", "udiv", "srem", "urem", "shl", "ashr",
        "lshr", "and", "or", "xor", "icmp", "fcmp", "fadd", "fsub", "fmul", "fdiv", "fneg",
        "select", "branch", "br", "switch", "call", "gep", "getelementptr", "sext", "zext", "trunc",
        "fpext", "fptrunc", "sitofp", "uitofp", "fptosi", "return", "ret",
    ]
)  # fmt: skip


@cache
def known(words: str) -> tuple[AtomKind, str] | None:
    """The atom that words say, and the word that is part of it."""
    for pattern, kind in _patterns():
        if m := pattern.match(words):
            if not m.groups():
                return kind, kind.word
            return (kind, m[1]) if m[1] in _OPCODES else None
    return None
