"""The text of the Rocq library: which of its sentences a statement, or a proof, is made of.

A sentence that names something (a definition, a lemma with its proof, a tactic) is a part of its own; what names
nothing (imports, flags, scopes) belongs to all parts of its file, and a section's variables to those of the section.
So a definition that nothing uses may be added without a word, and one that is used may not be changed
without changing the hash of all that rests on it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

LIBRARY = Path(__file__).parents[3] / "rocq"  # not resolved: in a checkout the parts are links
"""The folder with the library of definitions, lemmas and the tactic (in a checkout: `proofs_tests/rocq`)."""

DEFINITIONS = ("Arrays", "Patterns", "Laws")
"""The files that say what statements mean; a proof can only use the others."""

ORDER = (
    "Arrays",
    "Patterns",
    "Laws",
    "Indices",
    "Folds",
    "Positions",
    "Tactic",
    "Defined",
    "Audit",
)
"""The files of the library, each after those that it needs."""

OF_DERIVATIONS = ("Congruence",)
"""What the proof of a whole derivation needs besides; no rule's proof can use it."""

_NAMING = re.compile(
    r"(?:(?:Local|Global|Program|Polymorphic|#\[[^\]]*\])\s+)*"
    r"(Definition|Fixpoint|CoFixpoint|Inductive|CoInductive|Variant|Record|Structure|Class|Instance|"
    r"Lemma|Theorem|Corollary|Remark|Fact|Proposition|Example|Ltac2?)\s+(\w+)"
)
_CONSTRUCTOR = re.compile(r"(?::=|[|])\s*(\w+)")
_FIELD = re.compile(r"[{;]\s*(\w+)\s*:")
_MUTUAL = re.compile(r"\bwith\s+(\w+)\s*[({:]")
_SENTENCE = re.compile(r"(?<=[^.]\.)(?=\s|$)")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_']*")


@dataclass(frozen=True)
class Part:
    """What one sentence of the library names, with its proof and what stands around it."""

    names: tuple[str, ...]
    text: str


def uncommented(text: str) -> str:
    """Rocq text without its comments, which nest."""
    kept: list[str] = []
    depth = 0
    for part in re.split(r"(\(\*|\*\))", text):
        depth += (part == "(*") - (part == "*)")
        if depth == 0 and part != "*)":
            kept.append(part)
    return "".join(kept)


def normalised(text: str) -> str:
    """The text with single spaces: layout does not count."""
    return " ".join(text.split())


def parts(text: str) -> tuple[list[Part], str]:
    """The named parts of a file, and the sentences that belong to all of it.

    >>> from relift.rewrites.checks.rocq.library import parts
    >>> found, shared = parts("Set Implicit Arguments. Definition one := 1. Lemma l : one = 1. Proof. auto. Qed.")
    >>> [part.names for part in found], shared
    ([('one',), ('l',)], 'Set Implicit Arguments.')
    """
    found: list[Part] = []
    shared: list[str] = []
    sections: list[list[str]] = []
    proving = False
    for sentence in map(normalised, _SENTENCE.split(uncommented(text))):
        if not sentence:
            continue
        naming = _NAMING.match(sentence)
        if proving or sentence.startswith("Proof"):
            last = found[-1]
            found[-1] = Part(last.names, f"{last.text} {sentence}")
            proving = sentence not in ("Qed.", "Defined.")
        elif naming is not None:
            around = " ".join(line for section in sections for line in section)
            found.append(Part(_names(sentence, naming), normalised(f"{around} {sentence}")))
        elif sentence.startswith("Section "):
            sections.append([])
        elif sentence.startswith("End ") and sections:
            sections.pop()
        else:
            (sections[-1] if sections else shared).append(sentence)
    return found, " ".join(shared)


def _names(sentence: str, naming: re.Match[str]) -> tuple[str, ...]:
    """What a sentence names: also constructors, fields, and what is defined together with it."""
    named = [naming[2]]
    match naming[1]:
        case "Inductive" | "CoInductive" | "Variant":
            named += _CONSTRUCTOR.findall(sentence) + _MUTUAL.findall(sentence)
        case "Record" | "Structure" | "Class":
            named += _FIELD.findall(sentence)
        case "Fixpoint" | "CoFixpoint":
            named += _MUTUAL.findall(sentence)
        case _:
            pass
    return tuple(dict.fromkeys(named))


@cache
def library_file(name: str) -> tuple[list[Part], str]:
    """The parts of a file of the library, and what belongs to all of them."""
    return parts((LIBRARY / f"{name}.v").read_text())


@cache
def library_parts(files: Sequence[str]) -> Mapping[str, tuple[Part, ...]]:
    """The parts of some files by what they name."""
    found: dict[str, tuple[Part, ...]] = {}
    for file in files:
        for part in library_file(file)[0]:
            for name in part.names:
                found[name] = (*found.get(name, ()), part)
    return found


def defined_names() -> frozenset[str]:
    """The names that the definitions of statements take."""
    return frozenset(library_parts(DEFINITIONS))


def made_of(text: str, files: Sequence[str]) -> str:
    """The text, and all parts of these files that it mentions, that those mention, and so on."""
    known = library_parts(tuple(files))
    reached: dict[str, None] = {}
    shared = [library_file(file)[1] for file in files]
    todo = [text, *shared]
    while todo:
        for word in _WORD.findall(todo.pop()):
            if word in known and word not in reached:
                reached[word] = None
                todo += [part.text for part in known[word]]
    used = {part.text: None for name in sorted(reached) for part in known[name]}
    return "\n".join([*shared, normalised(text), *used])


def statement_hash(statements: Iterable[str]) -> str:
    """sha256 of statements and of the definitions that they are made of."""
    return _sha256(made_of("\n".join(statements), DEFINITIONS))


def proof_hash(statements: Iterable[str], script: str, defined: Iterable[str] = ()) -> str:
    """sha256 of what proves the statements: the scripts, or the tactics, with every lemma that they can reach."""
    proof = uncommented(script) if script else "relift"
    scripts = [proof, *map(uncommented, defined), "keep_defined", "theorem"]
    return _sha256(made_of("\n".join([*statements, *scripts]), ORDER))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
