"""The idioms of a folder of C: every find by program, function and line, counted by kind as in the thesis on IDL's tables.

A list of finds can be labelled by hand: each find has `right`, which is true, false, or null where nobody has looked.  Given such a list
again, the precision is read off it: of those that are labelled, how many are right.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from relift.compiler.idioms.containing import Stopped, until
from relift.compiler.idioms.facts.llvm.source import Uncompilable
from relift.compiler.idioms.lift import graph_of, lifted_function
from relift.files import read_json
from relift.processes.executors import each
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
class FileFinds:
    """What was found in one file: `refused` says why it is no C here, `cut` where the time that a file has ended."""

    file: str
    finds: tuple[Find, ...]
    refused: str | None = None
    cut: str | None = None

    def labelled(self, labels: Mapping[_Key, Label]) -> FileFinds:
        """The same, with what somebody says of its finds."""
        return replace(self, finds=tuple(replace(f, right=labels.get(f.key)) for f in self.finds))


@dataclass
class Collection:
    """What was found in the files that are done, of all C files of a folder."""

    files: tuple[str, ...]
    done: list[FileFinds] = field(default_factory=list[FileFinds])

    @property
    def finds(self) -> tuple[Find, ...]:
        """All finds."""
        return tuple(f for each in self.done for f in each.finds)

    @property
    def refused(self) -> tuple[tuple[str, str], ...]:
        """The files that are no C here, with what the compiler says."""
        return tuple((f.file, f.refused) for f in self.done if f.refused is not None)

    @property
    def cut(self) -> tuple[tuple[str, str], ...]:
        """The files whose time ended, with where."""
        return tuple((f.file, f.cut) for f in self.done if f.cut is not None)

    @property
    def left(self) -> tuple[str, ...]:
        """The files that are not done."""
        known = {f.file for f in self.done}
        return tuple(f for f in self.files if f not in known)

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
            "cut": [{"file": f, "where": w} for f, w in self.cut],
            "left": list(self.left),
        }


SECONDS = 60.0
"""What a file may take, the compiler's part among it."""


@dataclass(frozen=True)
class FileWork:
    """A file to be looked at: below a folder, with options for the compiler, in so many seconds."""

    folder: Path
    name: str
    options: tuple[str, ...]
    seconds: float = SECONDS


def works_in(folder: Path, seconds: float = SECONDS) -> list[FileWork]:
    """All C files below a folder; raises `ReliftError` where it cannot be read, or has none.

    Headers are looked for in every folder below.
    """
    files, headers = list[Path](), set[Path]()
    for at, _, names in os.walk(folder, onerror=_unreadable):
        found = [Path(at) / n for n in names]
        files += [f for f in found if f.suffix == ".c" and f.is_file()]
        headers |= {f.parent for f in found if f.suffix == ".h"}
    if not files:
        raise ReliftError(f"{folder} has no C files (*.c)", place="")
    options = tuple(f"-I{d}" for d in sorted(headers))
    return [FileWork(folder, str(f.relative_to(folder)), options, seconds) for f in sorted(files)]


def _unreadable(error: OSError) -> None:
    raise ReliftError(f"cannot read {error.filename}: {error.strerror}", place="") from None


def collected(
    works: Sequence[FileWork],
    labels: Mapping[_Key, Label] | None = None,
    executor: Executor | None = None,
) -> Iterator[Collection]:
    """What is found so far, after each file."""
    found = Collection(tuple(w.name for w in works))
    for one in each(in_file, works, executor):
        found.done.append(one.labelled(labels or {}))
        yield found


def in_file(work: FileWork) -> FileFinds:
    """The finds of a file, function by function, by a process that ends when the time does: what it found before stays."""
    finds, refused, at = list[Find](), None, "the compiler"
    for said in until(partial(_found, work), work.seconds):
        match said:
            case Began(function):
                at = function
            case Find():
                finds.append(said)
            case Refused(reason):
                refused = reason
            case Stopped(reason):
                return FileFinds(work.name, tuple(finds), refused, f"{reason} in {at}")
    return FileFinds(work.name, tuple(finds), refused)


@dataclass(frozen=True)
class Began:
    """A function is looked at."""

    function: str


@dataclass(frozen=True)
class Refused:
    """The file is no C here."""

    reason: str


def _found(work: FileWork) -> Iterator[Began | Find | Refused]:
    path = Path(work.name)
    program = path.parts[0] if len(path.parts) > 1 else path.stem
    try:
        _, module = graph_of(work.folder / path, work.options)
    except Uncompilable as reason:
        yield Refused(reason.message)
        return
    for f in module.functions.values():
        yield Began(f.name)
        for i in lifted_function(f, module).idioms:
            yield Find(program, work.name, i.function, i.line, i.idiom, i.lifted is not None)


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
