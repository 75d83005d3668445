"""The state of this installation: what each part needs, whether it is there, and what is kept in the user's cache."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Literal, TypeAlias

from relift.files import user_cache, writable_cache
from relift.semantics.errors import ReliftError, Unsupported

State: TypeAlias = Literal["works", "missing", "broken"]


@dataclass(frozen=True)
class Finding:
    """One thing that Relift uses: what is known of it, and how to get it; without a `needed` one Relift does not work."""

    name: str
    state: State
    detail: str
    fix: str = ""
    needed: bool = False

    @property
    def is_fatal(self) -> bool:
        """Whether Relift does not work for it."""
        return self.needed and self.state != "works"


@dataclass(frozen=True)
class Kept:
    """A folder, or a file, of the user's cache: what it is for, how many files it has, and their bytes."""

    name: str
    purpose: str
    files: int
    size: int


PURPOSES = {
    "binaries": "kernels that an OpenCL driver built",
    "certificates": "what is known of bounds and races of kernels",
    "devices": "self-tests and measurements of devices",
    "found": "derivations that rl.jit found",
    "libraries": "kernels that a C compiler built",
    "refused": "kernels that a driver refused, to be looked at",
    "rocq": "the compiled Rocq library, and proofs",
    "theorems": "lemmas of derivations that Rocq has checked",
    "tuning.sqlite": "measured times",
    "vendors": "lists of OpenCL drivers for the loader",
}
"""What is kept under which name; names that are not here are of other versions."""


def findings() -> Iterator[Finding]:
    """Everything, each as soon as it is known."""
    import relift

    where = Path(relift.__file__ or "").parent
    yield Finding("relift", "works", f"{relift.__version__} in {where}", needed=True)
    yield Finding(
        "python", "works", f"{platform.python_version()} on {platform.machine()}", needed=True
    )
    yield from _packages()
    yield from _devices()
    yield _prover()
    yield _simulator()
    yield _program("C compiler", "cc", "apt-get install gcc", "the device `--target c`")
    yield _ledger()
    yield _cache()
    yield from _plugins()


def _plugins() -> Iterator[Finding]:
    """What other packages add; one that fails is skipped by all else, and says so here."""
    from relift.plugins import judged, unknown_groups

    _ask_for_plugins()
    for plugin in (*judged(), *unknown_groups()):
        yield Finding(
            f"plug-in {plugin.name}",
            "broken" if plugin.failure else "works",
            f"{plugin.group} of {plugin.package}"
            + (f": {plugin.failure}" if plugin.failure else ""),
            f"pip uninstall {plugin.package}, or a version for this Relift"
            if plugin.failure
            else "",
            needed=True,
        )


def _ask_for_plugins() -> None:
    """Have each part load its plug-ins."""
    from relift.compiler.dialects.backend import backends
    from relift.device import described
    from relift.rewrites import loading

    backends()
    described()
    loading.judged()
    try:
        from relift.compiler.idioms.finding import sought

        sought()
    except ModuleNotFoundError:  # relift[lift] is not installed: nothing uses them
        return


def _packages() -> Iterator[Finding]:
    """The packages that Relift requires, by what it says itself where it is installed."""
    try:
        wanted = [r for r in metadata.requires("relift") or () if "extra ==" not in r]
    except metadata.PackageNotFoundError:
        yield Finding(
            "packages", "missing", "relift runs from a folder and is not installed", "pip install ."
        )
        return
    for requirement in wanted:
        name = re.split(r"[^A-Za-z0-9_.-]", requirement, maxsplit=1)[0]
        marker = requirement.partition(";")[2]
        try:
            yield Finding(name, "works", metadata.version(name), needed=not marker)
        except metadata.PackageNotFoundError:
            yield Finding(name, "missing", requirement, f"pip install '{name}'", needed=not marker)


def _devices() -> Iterator[Finding]:
    from relift.compiler.devices.survey import DEFECTS, devices, survey

    try:
        surveyed = survey(again=True)
    except ReliftError as error:  # what was found cannot be kept
        yield Finding("devices", "broken", error.message, needed=True)
        return
    for found in surveyed:
        wrong = "; ".join(DEFECTS[d] for d in found.defects)
        yield Finding(
            f"device {found.name}",
            "works" if found.works else "broken",
            (wrong or "passes its self-test") if found.works else str(found.failure),
        )
    try:
        devices()
    except Unsupported as error:
        yield Finding("a device", "missing", error.message, needed=True)


def _program(name: str, command: str, install: str, purpose: str) -> Finding:
    """A program on PATH, and what it calls itself."""
    path = shutil.which(command)
    if path is None:
        return Finding(name, "missing", f"no {command} on PATH: {purpose}", install)
    try:
        said = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=60, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        return Finding(name, "broken", f"{path}: {' '.join(str(error).split())[:200]}", install)
    return Finding(name, "works", (said.splitlines() or [path])[0])


def _prover() -> Finding:
    """The prover, which has to prove something: one that only says its version is none."""
    from relift.rewrites.checks.rocq.installed import NoProver, prover_version, require_proof

    found = _program(
        "prover", "coqc", "apt-get install coq", "proves rules for all sizes (tier 4b)"
    )
    path = shutil.which("coqc")
    if found.state != "works" or path is None:
        return found
    try:
        require_proof(path)
        return replace(found, detail=prover_version(path))
    except NoProver as error:
        return replace(found, state="broken", detail=error.message)


def _simulator() -> Finding:
    from relift.compiler.agreement.simulator import driver

    found = driver()
    if found is None:
        said = "no Oclgrind: it finds races and stray accesses by running kernels"
        return Finding("simulator", "missing", said, "apt-get install oclgrind")
    return Finding("simulator", "works", str(found))


def _ledger() -> Finding:
    from relift.rewrites.ledger.book import is_proved, verdict
    from relift.rewrites.library import RULES

    try:
        verdicts = {name: verdict(rule) for name, rule in RULES.items()}
    except ReliftError as error:
        return Finding("ledger", "broken", error.message, needed=True)
    bad = [name for name, word in verdicts.items() if word in ("stale", "edited", "unchecked")]
    words = Counter("PROVED" if is_proved(word) else word for word in verdicts.values())
    counted = ", ".join(f"{n} {word}" for word, n in words.most_common())
    if bad:
        fix = f"relift ledger --update {' '.join(bad[:3])}"
        return Finding("ledger", "broken", f"{counted}: {bad[0]}", fix, needed=True)
    return Finding("ledger", "works", counted, needed=True)


def _cache() -> Finding:
    try:
        folder = writable_cache()
    except ReliftError as error:
        return Finding("cache", "broken", error.message, needed=True)
    size = sum(k.size for k in kept())
    return Finding("cache", "works", f"{folder}, {size / 1e6:.1f} MB", needed=True)


def kept() -> list[Kept]:
    """What is in the user's cache, by name."""
    found: list[Kept] = []
    for name, places in _places().items():
        sizes: list[int] = []
        for file in (f for p in places for f in ([p] if p.is_file() else p.rglob("*"))):
            with suppress(OSError):  # another process removes it
                if file.is_file():
                    sizes.append(file.stat().st_size)
        found.append(Kept(name, PURPOSES.get(name, ""), len(sizes), sum(sizes)))
    return found


def _places() -> dict[str, list[Path]]:
    """The files and folders of the cache by the names of what they are for; there is a list of drivers for each choice of them."""
    found: dict[str, list[Path]] = {}
    folder = user_cache()
    for place in sorted(folder.iterdir()) if folder.is_dir() else ():
        found.setdefault(re.sub(r"^vendors-.*", "vendors", place.name), []).append(place)
    return found


def clear(names: Sequence[str]) -> list[Kept]:
    """Remove what is kept under these names, or all where there are none; what was removed.

    Raises `ReliftError` for a name under which nothing is kept.
    """
    known, places = {k.name: k for k in kept()}, _places()
    if unknown := [name for name in names if name not in known]:
        raise ReliftError(
            f"nothing is kept under {unknown[0]}; there are: {', '.join(known) or 'none'}", place=""
        )
    chosen = [known[name] for name in names or known]
    for place in (p for k in chosen for p in places.get(k.name, ())):
        if place.is_dir():
            shutil.rmtree(place, ignore_errors=True)
        else:
            place.unlink(missing_ok=True)
    return chosen


def environment() -> str:
    """One line that a report of a defect needs."""
    import relift

    return f"relift {relift.__version__}, Python {sys.version.split()[0]}, {platform.platform()}"
