"""The prover that is installed here, and the library as it compiles it.

The library is compiled once for each version of its text and of the prover, into the user's cache.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path

from relift.files import locked, temporary_folder, writable_cache
from relift.rewrites.checks.rocq.library import LIBRARY, OF_DERIVATIONS, ORDER
from relift.semantics.errors import ReliftError

MISSING = "coqc is not installed (apt-get install coq)"
ANSWER = 60.0
"""Seconds within which a prover that works has answered what is asked of it here, but for the library."""
LIBRARY_LIMIT = 900.0
"""Seconds that it may take for a file of the library."""
EASY = "Require Import Lia.\nLemma easy : forall n : nat, n + 0 = n.\nProof. lia. Qed.\n"


class NoProver(ReliftError):
    """There is no prover here that works; the message says why."""

    def __init__(self, message: str) -> None:
        super().__init__(message, place="")


def installed_prover() -> str:
    """The prover on PATH; raises `NoProver`."""
    coqc = shutil.which("coqc")
    if coqc is None:
        raise NoProver(MISSING)
    return coqc


@cache
def prover_version(coqc: str) -> str:
    """What the prover calls itself; raises `NoProver`."""
    said = _answer([coqc, "--version"])
    if not said.strip():
        raise _broken(coqc, "it does not say its version")
    return said.splitlines()[0].removeprefix("The ").replace(", version", "")


def require_proof(coqc: str) -> None:
    """Have the prover prove something easy; raises `NoProver`."""
    with temporary_folder() as folder:
        (folder / "Easy.v").write_text(EASY)
        _answer([coqc, "-q", "Easy.v"], folder)


@cache
def compiled_library(coqc: str) -> Path:
    """The folder with the compiled library, made when it is not there; raises `NoProver`.

    One process makes it, and others that need it wait.  It is made under another name and then renamed, so that none
    meets one that is not finished.
    """
    files = [LIBRARY / f"{name}.v" for name in (*ORDER, *OF_DERIVATIONS)]
    version = prover_version(coqc)
    key = hashlib.sha256(version.encode() + b"".join(f.read_bytes() for f in files)).hexdigest()
    place = writable_cache() / "rocq" / key[:16]
    if place.is_dir():
        return place
    try:
        place.parent.mkdir(exist_ok=True)
        with ExitStack() as alone:
            with suppress(OSError):  # a file system without locks: each makes it for itself
                alone.enter_context(locked(place.parent))
            if not place.is_dir():
                _compile_library(coqc, files, place)
    except OSError as error:
        if not place.is_dir():
            raise _unwritten(place, error) from None
    return place


def _compile_library(coqc: str, files: Sequence[Path], place: Path) -> None:
    building = Path(tempfile.mkdtemp(prefix="building-", dir=place.parent))
    try:
        for file in files:
            shutil.copy(file, building)
            _answer([coqc, "-q", "-Q", ".", "Relift", file.name], building, LIBRARY_LIMIT)
        if not place.is_dir():  # another process may be quicker
            building.rename(place)
    finally:
        shutil.rmtree(building, ignore_errors=True)


def require_prover() -> None:
    """Raise `NoProver` where the ledger would lose every proof, or seem to: there is no prover, or it does not work."""
    try:
        compiled_library(installed_prover())
    except NoProver as error:
        raise NoProver(f"the ledger cannot be checked: {error.message}") from None


def _answer(command: list[str], folder: Path | None = None, seconds: float | None = None) -> str:
    """What the prover says; raises `NoProver`."""
    seconds = seconds or ANSWER
    coqc = command[0]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        raise _broken(coqc, f"no answer within {seconds:g} s") from None
    except OSError as error:
        raise _broken(coqc, error.strerror or str(error)) from None
    if done.returncode:
        said = " ".join((done.stderr.strip() or done.stdout).split())[:200]
        raise _broken(coqc, said or f"it ended with status {done.returncode}")
    return done.stdout


def _broken(coqc: str, why: str) -> NoProver:
    return NoProver(f"{coqc} does not work: {why} (apt-get install --reinstall coq)")


def _unwritten(place: Path, error: OSError) -> NoProver:
    return NoProver(
        f"the compiled library cannot be written to {place}: {error.strerror}; relift cache shows what is kept there"
    )
