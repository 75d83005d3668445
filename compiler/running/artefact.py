"""The folder of a compiled program: all of its files belong together, which one manifest of hashes says.

`manifest.json` is written last and holds the sha256 of every file, and of the program that the kernel computes.  What
is read is what was hashed.  A folder whose files were edited, mixed with those of another, or not written to the
end is refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from relift.files import write_folder
from relift.semantics.errors import ReliftError

MANIFEST = "manifest.json"
FORMAT = 2
KNOWN = (
    "kernel.cl", "launch.json", "certificate.json", "derivation.json", "term.txt",
    "Result.v", "Derivation.v", "chain.txt", "chain.html", MANIFEST,
)  # fmt: skip
"""What Relift writes into such folders; a folder that holds nothing else is replaced whole."""


@dataclass(frozen=True)
class Origin:
    """The program that a folder was made from, at its sizes: its name, and the hash of what it says.

    `assumed` are the rules on the way to its kernels that nothing but the user's word stands for.
    """

    name: str
    sha256: str
    assumed: tuple[str, ...] = ()


class BrokenArtefact(ReliftError):
    """A folder whose files do not belong together; the message says which."""

    def __init__(self, message: str) -> None:
        super().__init__(message, place="")


def write_artefact(folder: Path, files: Mapping[str, str], origin: Origin | None = None) -> None:
    """Write the files of a folder and their manifest: all of them, or the folder stays as it is."""
    encoded = {name: text.encode() for name, text in files.items()}
    manifest = {
        "format": FORMAT,
        "program": None if origin is None else {"name": origin.name, "sha256": origin.sha256},
        "assumed": [] if origin is None else list(origin.assumed),
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in encoded.items()},
    }
    encoded[MANIFEST] = (json.dumps(manifest, indent=1) + "\n").encode()
    write_folder(folder, encoded, last=MANIFEST, known=KNOWN)


def read_artefact(folder: Path, needed: tuple[str, ...]) -> tuple[dict[str, str], Origin | None]:
    """The files of a folder, each as it was written, and what program they are of; raises `BrokenArtefact`."""
    anew = "write the folder anew with --out"
    if not folder.is_dir():
        raise BrokenArtefact(f"there is no folder {folder}")
    data = _manifest(folder, anew)
    found: dict[str, str] = {}
    for name, digest in data["files"].items():
        content = _content(folder / name, anew)
        if (own := hashlib.sha256(content).hexdigest()) != digest:
            raise BrokenArtefact(
                f"{folder / name} is not the file that was written with the others: its sha256 is {own[:16]}, "
                f"{MANIFEST} has {digest[:16]}; {anew}"
            )
        try:
            found[name] = content.decode()
        except UnicodeDecodeError:
            raise BrokenArtefact(f"{folder / name} is no text; {anew}") from None
    for name in needed:
        if name not in found:
            raise BrokenArtefact(f"{folder / MANIFEST} names no {name}; {anew}")
    program = data["program"]
    if program is None:
        return found, None
    return found, Origin(program["name"], program["sha256"], tuple(data["assumed"]))


def _content(path: Path, anew: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BrokenArtefact(f"cannot read {path}: {error.strerror}; {anew}") from None


def _manifest(folder: Path, anew: str) -> dict[str, Any]:
    """The manifest, whose every part has the form that is written."""
    file = folder / MANIFEST
    if not file.exists():
        raise BrokenArtefact(
            f"{folder} has no {MANIFEST}: it holds no compiled program, or was not written to the end; {anew}"
        )
    try:
        data = json.loads(_content(file, anew))
    except (ValueError, RecursionError):
        raise BrokenArtefact(f"{file} is not JSON; {anew}") from None
    if (
        not isinstance(data, dict)
        or data.get("format") != FORMAT
        or isinstance(data["format"], bool)
    ):
        raise BrokenArtefact(f"{file} is no manifest of format {FORMAT}; {anew}")
    program, files = data.get("program"), data.get("files")
    if (
        data.keys() != {"format", "program", "assumed", "files"}
        or not isinstance(assumed := data["assumed"], list)
        or not all(isinstance(name, str) for name in assumed)
        or not _all_text(files)
        or (program is not None and not _all_text(program, "name", "sha256"))
        or any("/" in name or name in ("", ".", "..", MANIFEST) for name in files or ())
    ):
        raise BrokenArtefact(f"{file} is damaged; {anew}")
    return data


def _all_text(data: Any, *keys: str) -> bool:
    """Whether it is a mapping from names to texts, and of these names where some are given."""
    named = isinstance(data, dict) and (not keys or data.keys() == set(keys))
    return named and all(isinstance(value, str) for value in data.values())
