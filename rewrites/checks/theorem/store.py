"""Lemmas that the prover has checked, kept in the user's cache by what they say.

A lemma is named by the hash of its statement, and what it needs is part of its text; so a lemma that was checked need
not be again, in this derivation or another.  Each run of the prover leaves one module, and beside it a file that
names its lemmas and the hash of the module; that is written last.  A module whose file is missing, does not fit it,
or needs another that is gone, is as if it were not there.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from relift.files import locked, write_bytes
from relift.rewrites.checks.theorem.congruence import Lemma


@dataclass(frozen=True)
class Store:
    """The modules that one version of the library and of the prover has checked."""

    folder: Path

    def known(self) -> dict[str, str]:
        """The module of each lemma that has been checked, by the hash of its text."""
        self.folder.mkdir(parents=True, exist_ok=True)
        found: dict[str, dict[str, Any]] = {}
        for file in sorted(self.folder.glob("*.json")):
            if (said := _sound(file.with_suffix(".vo"))) is not None:
                found[file.stem] = said
        while lost := [name for name, said in found.items() if set(said["needs"]) - found.keys()]:
            for name in lost:
                del found[name]
        return {key: name for name, said in found.items() for key in said["lemmas"]}

    def used(self, modules: Iterable[str]) -> None:
        """Make these the newest, so that no other process removes what this one needs."""
        for name in modules:
            with suppress(OSError):
                os.utime(self.folder / f"{name}.json")

    def keep(self, module: Path, needs: Sequence[str], lemmas: Sequence[Lemma]) -> None:
        """Take a compiled module over, with what it needs and holds."""
        content = module.read_bytes()
        target = self.folder / module.name
        with locked(self.folder):
            if _sound(
                target
            ):  # another process was quicker, and what it proved meanwhile needs its module
                return
            said = {
                "sha256": hashlib.sha256(content).hexdigest(),
                "needs": list(needs),
                "lemmas": [key_of(lemma) for lemma in lemmas],
            }
            write_bytes(target, content)
            write_bytes(target.with_suffix(".json"), json.dumps(said).encode())


def _sound(module: Path) -> dict[str, Any] | None:
    """What is written of a module, if it is the one that it was written of."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        said = json.loads(module.with_suffix(".json").read_text())
        if hashlib.sha256(module.read_bytes()).hexdigest() == said["sha256"]:
            found: dict[str, Any] = said
            return found
    return None


def key_of(lemma: Lemma) -> str:
    """sha256 of a lemma: what it says and how it is proved."""
    return hashlib.sha256(lemma.text.encode()).hexdigest()


def module_name(lemmas: Sequence[Lemma], needs: Sequence[str]) -> str:
    """The module of these lemmas, over others."""
    said = json.dumps([[key_of(lemma) for lemma in lemmas], sorted(needs)])
    return f"M{hashlib.sha256(said.encode()).hexdigest()[:24]}"


MOST = 400
"""So many modules are kept; those that were not used for longest go first."""


def pruned(store: Store, used: Mapping[str, str]) -> None:
    """Remove the modules of longest ago beyond what is kept, but none that is in use."""
    with suppress(OSError):
        files = sorted(store.folder.glob("*.json"), key=lambda f: f.stat().st_mtime)
        in_use = set(used.values())
        for file in files[: max(0, len(files) - MOST)]:
            if file.stem not in in_use:
                for suffix in (".json", ".vo"):
                    with suppress(OSError):
                        os.unlink(file.with_suffix(suffix))
