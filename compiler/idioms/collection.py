"""The idioms of a folder of C: every find by program, function and line, counted by kind as in the thesis on IDL's tables.

A list of finds can be labelled by hand: each find has `right`, which is true, false, or null where nobody has looked.  Given such a list
again, the precision is read off it: of those that are labelled, how many are right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from relift.compiler.idioms.facts.llvm.source import Uncompilable
from relift.compiler.idioms.lift import lift
from relift.files import read_json
from relift.semantics.errors import ReliftError

KINDS = {
    "scalar": ("reduction", "memory-reduction", "argmin", "dot"),
    "histogram": ("histogram",),
    "stencil": ("stencil",),
    "matrix": ("gemm", "gemv"),
    "sparse": ("csr", "ell", "jds"),
}
"""What the thesis counts; all else is `other`."""
OTHER = "other"
Label: TypeAlias = "bool | None"
_Key: TypeAlias = tuple[str, str, int, str]


@dataclass(frozen=True)
class Find:
    """One idiom of a program, where it is, whether it has a program of the language, and whether somebody says that it is right."""

    program: str
    file: str
    function: str
    line: int
    idiom: str
    lifted: bool
    right: Label = None

    @property
    def kind(self) -> str:
        """What it is counted as."""
        return next((k for k, idioms in KINDS.items() if self.idiom in idioms), OTHER)

    @property
    def key(self) -> _Key:
        """What makes two finds the same one."""
        return self.file, self.function, self.line, self.idiom

    def to_json(self) -> dict[str, Any]:
        """The find as JSON."""
        return {
            "program": self.program, "file": self.file, "function": self.function, "line": self.line,
            "kind": self.kind, "idiom": self.idiom, "lifted": self.lifted, "right": self.right,
        }  # fmt: skip


@dataclass(frozen=True)
class Collection:
    """All finds of a folder, and the files that are no C here, with what the compiler says."""

    finds: tuple[Find, ...]
    refused: tuple[tuple[str, str], ...]

    def counts(self) -> dict[str, Counter[str]]:
        """For each program how many finds of each kind it has."""
        found: dict[str, Counter[str]] = {}
        for f in self.finds:
            found.setdefault(f.program, Counter())[f.kind] += 1
        return found

    def precision(self) -> dict[str, tuple[int, int]]:
        """By kind, how many finds are right, of those that are labelled."""
        found: dict[str, tuple[int, int]] = {}
        for f in self.finds:
            if f.right is not None:
                right, all_of = found.get(f.kind, (0, 0))
                found[f.kind] = (right + f.right, all_of + 1)
        return found

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON, which is also how labels are given."""
        return {
            "finds": [f.to_json() for f in self.finds],
            "counts": {p: dict(c) for p, c in self.counts().items()},
            "precision": {k: {"right": r, "labelled": n} for k, (r, n) in self.precision().items()},
            "refused": [{"file": f, "reason": r} for f, r in self.refused],
        }


def collection(folder: Path, labels: Mapping[_Key, Label] | None = None) -> Collection:
    """What is found in all C files below a folder; a program is a folder in it, or a file.

    Headers are looked for in every folder below.
    """
    files = sorted(p for p in folder.rglob("*.c") if p.is_file())
    options = [f"-I{d}" for d in sorted({h.parent for h in folder.rglob("*.h")})]
    finds, refused = list[Find](), list[tuple[str, str]]()
    for file in files:
        name = file.relative_to(folder)
        try:
            finds += _in_file(folder, name, options)
        except Uncompilable as reason:
            refused.append((str(name), reason.message))
    labelled = (replace(f, right=(labels or {}).get(f.key)) for f in finds)
    return Collection(tuple(labelled), tuple(refused))


def _in_file(folder: Path, name: Path, options: Sequence[str]) -> Iterator[Find]:
    program = name.parts[0] if len(name.parts) > 1 else name.stem
    for i in lift(folder / name, runs=0, options=options).idioms:
        yield Find(program, str(name), i.function, i.line, i.idiom, i.lifted is not None)


FINDS = "a list of finds, as relift lift FOLDER --json prints it"


def labels_in(file: Path) -> dict[_Key, Label]:
    """The labels of a list of finds in JSON; raises `ReliftError` where it is none."""
    found: dict[_Key, Label] = {}
    try:
        for f in read_json(file, FINDS)["finds"]:
            right = f["right"]
            if right not in (True, False, None):
                where = f"{file}: {f['file']}:{f['line']}"
                raise ReliftError(f"{where}: right is true, false or null", place="")
            found[str(f["file"]), str(f["function"]), int(f["line"]), str(f["idiom"])] = right
    except (LookupError, TypeError, ValueError):
        what = "every find has file, function, line, idiom and right"
        raise ReliftError(f"{file} is not {FINDS}: {what}", place="") from None
    return found
