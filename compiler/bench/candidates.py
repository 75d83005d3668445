"""Candidates of a search as a bundle: written here, checked and timed on another machine, and read back.

What results must be is computed here, at the sizes and inputs of the runs, by the program's NumPy function or
by the interpreter: the runner needs nothing of the user's file, and a wrong kernel never gets a time.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from relift.compiler.agreement.comparison import in_reach, rounding
from relift.compiler.agreement.rounding import allowed
from relift.compiler.bench.benchmarks import Draw
from relift.compiler.bench.bundle import ORIGIN, TIMES, VERSION, buffers_of, write_manifest
from relift.compiler.bench.bundle_runner import PICKED, inputs_of, picked_rows
from relift.compiler.certificates.consultation import require_not_refuted
from relift.compiler.program import compile_program
from relift.compiler.running.arrays.buffers import components
from relift.files import read_json, write_bytes
from relift.rewrites.checks.random.exact_inputs import index_bounds
from relift.semantics.errors import ReliftError, Unsupported
from relift.semantics.language.programs import Program
from relift.semantics.syntax.types import f32, i32

EXPECTED = "expected.npz"
COMPARED = 1 << 20
"""Cells of a result that a bundle brings: all cells of a smaller one, random rows of a larger one."""

Target: TypeAlias = Literal["cpu", "gpu"]


class BadTimes(ReliftError):
    """A file holds no times of these candidates."""

    def __init__(self, file: Path, why: str) -> None:
        super().__init__(f"{file} {why}", place="")


@dataclass(frozen=True)
class CandidateTime:
    """What a runner found of one candidate, given as `str` shows it: its fastest run, or why it has none."""

    term: str
    seconds: float | None
    failure: str


def write_candidates(
    folder: Path,
    program: Program,
    sizes: Mapping[str, int],
    candidates: Sequence[Program],
    target: Target,
    *,
    contract: bool = True,
) -> list[str]:
    """Write a bundle of low-level programs that compute `program` at `sizes`; the names of its entries.

    Without `contract`, the kernels are exact, as `compile_program` says.
    Raises `Unsupported` when nothing says what the result must be, or its runner cannot compare it.
    """
    source = program.at(sizes)
    _require_comparable(source)
    compiled = [compile_program(candidate, contract=contract) for candidate in candidates]
    for kernel in compiled:
        require_not_refuted(kernel)
    draws = _draws(source)
    entries: list[dict[str, Any]] = [
        {
            "name": source.name,
            "target": target,
            "sizes": dict(sizes),
            "folder": f"{source.name}_{number}",
            "source": str(source),
            "term": str(candidate),
            "options": [],
            "tolerance": max(rounding(source), allowed(candidate)),
            "expected": EXPECTED,
            **buffers_of(candidate, kernel.plan, draws),
        }
        for number, (candidate, kernel) in enumerate(zip(candidates, compiled, strict=True), 1)
    ]
    write_bytes(folder / EXPECTED, _expected(source, entries[0]))
    for kernel, entry in zip(compiled, entries, strict=True):
        kernel.save(folder / entry["folder"])
    return write_manifest(folder, entries)


def _require_comparable(source: Program) -> None:
    """Raise `Unsupported` for a program whose kernels the runner could not tell from wrong ones."""
    if source.reference is None and not in_reach(source):
        raise Unsupported(
            f"{source.name} is too large for the interpreter at these sizes, so nothing says what a kernel "
            f"must compute; give it a NumPy function below @{source.name}.gold"
        )
    for t in [*(p.type for p in source.parameters), source.body.type]:
        for scalar, _ in components(t):
            if scalar not in (f32, i32):
                raise Unsupported(
                    f"{source.name} has values of type {scalar}; a bundle's runner knows f32 and i32"
                )
    if any(0 in shape for _, shape in components(source.body.type)):
        raise Unsupported(f"the result of {source.name} is empty at these sizes")


def _draws(source: Program) -> dict[str, dict[str, Any]]:
    """How each input is drawn: as `random_inputs` does it, or as `whole_inputs` where floats decide whole numbers.

    Which of two sums is the less may hang on a rounding where they are no whole numbers, and a right kernel then
    counts as wrong.
    """
    below = index_bounds(source.body)
    decides = any(not scalar.is_float for scalar, _ in components(source.body.type))
    found: dict[str, dict[str, Any]] = {}
    for p in source.parameters:
        draw = Draw(-8, 8, True) if decides else Draw()
        if any(scalar == i32 for scalar, _ in components(p.type)):
            draw = Draw(0, max(below[p.name], 1), True) if p.name in below else Draw(-8, 8, True)
        found[p.name] = draw.at({})
    return found


def _expected(source: Program, entry: Mapping[str, Any]) -> bytes:
    """The numbers of some rows of the result, and these rows at the inputs that a runner draws, as .npz."""
    try:
        _, arguments = inputs_of(dict(entry))
        rows = _rows(source, (source.reference or source)(*arguments))
    except MemoryError:
        raise Unsupported(
            f"the result of {source.name} at these sizes is computed here first, and memory does not suffice"
        ) from None
    widest = max(row[0].size for row in rows)
    picked = picked_rows(len(rows[0]), max(PICKED, COMPARED // widest))
    file = io.BytesIO()
    np.savez(file, picked, *(row[picked] for row in rows))
    return file.getvalue()


def _rows(source: Program, result: Any) -> list[Any]:
    """The components of a result as the runner compares them; raises `Unsupported` where it cannot."""
    parts = result if isinstance(result, tuple) else (result,)
    wanted = list(components(source.body.type))
    given = [np.shape(part) for part in parts]
    if given != [shape for _, shape in wanted]:
        raise Unsupported(
            f"the NumPy function of {source.name} returns {_shapes(given)}, the program "
            f"{_shapes([shape for _, shape in wanted])}"
        )
    for part, (scalar, _) in zip(parts, wanted, strict=True):
        if not np.all(np.isfinite(part)):
            raise Unsupported(
                f"the result of {source.name} is not finite at the inputs of a bundle; "
                "what is no number cannot be compared"
            )
        if scalar == i32 and np.any(np.asarray(part) == -1):
            raise Unsupported(
                f"the result of {source.name} has cells that are -1, "
                "which a bundle's runner takes for cells that no kernel wrote"
            )
    return [np.reshape(part, shape or (1,)) for part, (_, shape) in zip(parts, wanted, strict=True)]


def _shapes(shapes: Sequence[Sequence[int]]) -> str:
    return " and ".join(f"[{', '.join(map(str, shape))}]" for shape in shapes)


# ---- back


def read_times(
    file: Path, program: Program, sizes: Mapping[str, int], target: Target
) -> tuple[str, list[CandidateTime]]:
    """The device and the times of a runner's results for a bundle of these candidates.

    Results of an interrupted run are those of the candidates that it reached.  Raises `BadTimes` when the
    file is damaged, is of another program, other sizes or another version, or no candidate was right.
    """
    data = read_json(file, TIMES)
    source = program.at(sizes)
    try:
        version, device, entries = data["version"], str(data["device"]), data["entries"]
        heads = [(e["name"], dict(e["sizes"]), e["target"], e["source"]) for e in entries]
        found = [_timed(e) for e in entries]
    except (KeyError, TypeError, ValueError):
        raise BadTimes(file, f"holds no times of candidates; {ORIGIN}") from None
    if not found:
        raise BadTimes(file, f"holds no times of candidates; {ORIGIN}")
    if version != VERSION:
        raise BadTimes(
            file, f"has version {version}, this Relift reads {VERSION}; write the bundle again"
        )
    for name, there, kind, text in heads:
        if name != source.name:
            raise BadTimes(file, f"has times of {name}, not of {source.name}")
        if there != dict(sizes):
            raise BadTimes(file, f"has times of {name} at {_at(there)}, not at {_at(sizes)}")
        if kind != target:
            raise BadTimes(file, f"has times of candidates for a {kind}; say --target {kind}")
        if text != str(source):
            raise BadTimes(
                file, f"has times of another {name}: it changed since; write the bundle again"
            )
    if all(t.seconds is None for t in found):
        reasons = "; ".join(dict.fromkeys(t.failure.splitlines()[0] for t in found))
        raise BadTimes(file, f"has no candidate that was right on {device}: {reasons}")
    return device, found


def _at(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {n}" for name, n in sizes.items()) or "no sizes"


def _timed(entry: Mapping[str, Any]) -> CandidateTime:
    """Raises `KeyError`, `TypeError` or `ValueError` for what no runner writes."""
    term = str(entry["term"])
    if entry["ok"]:
        seconds = float(entry["fastest"])
        if not 0 < seconds < float("inf"):
            raise ValueError(seconds)
        return CandidateTime(term, seconds, "")
    if "failed" in entry:
        return CandidateTime(term, None, f"it does not run: {entry['failed']}")
    if entry["unwritten"]:
        return CandidateTime(
            term, None, f"wrong result: {entry['unwritten']} cells are not written"
        )
    return CandidateTime(term, None, f"wrong result: error {entry['error']:.1e}")
