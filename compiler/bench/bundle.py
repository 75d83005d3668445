"""Bundles: kernels that are carried to another machine, checked and timed there, and their times brought back.

A bundle is a folder with a manifest, a folder for each kernel, `samples.py` (what results must be, in
NumPy) and `runner.py`, which needs NumPy and pyopencl only.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from relift.compiler.agreement.rounding import allowed
from relift.compiler.bench import bundle_runner
from relift.compiler.bench.benchmarks import Benchmark, Draw, Sizes, load_samples
from relift.compiler.certificates.consultation import require_not_refuted
from relift.compiler.lowering.analyses import EVERYTHING, Analyses
from relift.compiler.program import compile_program
from relift.compiler.running.arrays.buffers import components
from relift.compiler.running.launch import Launch
from relift.files import read_json, read_text, write_text
from relift.rewrites.loading import named_in
from relift.semantics.domains import DTYPES
from relift.semantics.errors import ReliftError
from relift.semantics.language.programs import Program
from relift.semantics.syntax.terms import Input
from relift.semantics.syntax.types import Tuple, Type, dimensions

MANIFEST, RUNNER, SAMPLES = "manifest.json", "runner.py", "samples.py"
VERSION = 1
ORIGIN = "a bundle's runner.py writes them as results.json"
TIMES = "a list of times, as a bundle's runner.py writes it"


def write_bundle(
    folder: Path,
    benchmarks: Sequence[Benchmark],
    samples: Path,
    predict: Callable[[Program], float | None] = lambda _: None,
    settings: Mapping[str, Analyses] = EVERYTHING,
) -> list[str]:
    """Write a bundle of all variants of the benchmarks, once for each of `settings`; the names of its entries.

    `samples` is the file whose functions, called like the benchmarks, say what results must be, and whose `OTHERS`
    are files that it needs, each with its name in the bundle; `predict` is a cost model, whose seconds are kept beside the times.
    """
    expected = load_samples(samples, benchmarks)
    entries: list[dict[str, Any]] = []
    for b in benchmarks:
        several = itertools.product(b.variants, settings.items())
        for number, (variant, (setting, analyses)) in enumerate(several, start=1):
            program = b.at(variant)
            compiled = compile_program(program, analyses=analyses)
            require_not_refuted(compiled)
            folder_name = f"{b.name}_{number}"
            compiled.save(folder / folder_name)
            entries.append(
                {
                    **entry_of(b, variant, program, compiled.plan),
                    "folder": folder_name,
                    "analyses": setting,
                    "predicted": predict(program),
                }
            )
    write_text(folder / SAMPLES, read_text(samples))
    for file, name in named_in(expected, "OTHERS", ()):
        write_text(folder / name, Path(file).read_text(encoding="utf-8"))
    return write_manifest(folder, entries)


def write_manifest(folder: Path, entries: Sequence[Mapping[str, Any]]) -> list[str]:
    """Write the manifest of a bundle, and the runner, whose kernels are in place; the names of its entries."""
    manifest = {"version": VERSION, "entries": entries}
    write_text(folder / MANIFEST, json.dumps(manifest, indent=1) + "\n")
    write_text(folder / RUNNER, Path(bundle_runner.__file__).read_text(encoding="utf-8"))
    return [entry["folder"] for entry in entries]


def entry_of(b: Benchmark, variant: Sizes, program: Program, plan: Launch) -> dict[str, Any]:
    """All that is known of a benchmark before it runs: the manifest's entry, and the head of a row of times."""
    return {
        **b.described(variant),
        "options": list(b.options),
        "tolerance": max(b.tolerance, allowed(program)),
        **buffers_of(program, plan, {name: draw.at(b.sizes) for name, draw in b.inputs.items()}),
    }


def buffers_of(
    program: Program, plan: Launch, draws: Mapping[str, dict[str, Any]]
) -> dict[str, Any]:
    """The inputs and how they are drawn, and the outputs: what a runner fills and compares."""
    stored = {p.name: p.buffers for p in plan.parameters}
    return {
        "parameters": [
            _parameter(p, stored[p.name], draws.get(p.name) or Draw().at({}))
            for p in program.parameters
        ],
        "outputs": _rows(_components(plan.result.buffers, program.body.type)),
    }


def _components(buffers: Sequence[str], t: Type) -> list[dict[str, Any]]:
    found = zip(buffers, components(t), strict=True)
    return [
        {"buffer": name, "dtype": DTYPES[scalar.name].name, "shape": list(shape)}
        for name, (scalar, shape) in found
    ]


def _rows(outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same, a single scalar as one row: rows are what is compared."""
    return [{**output, "shape": output["shape"] or [1]} for output in outputs]


def _parameter(p: Input, buffers: Sequence[str], draw: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": p.name,
        "components": _components(buffers, p.type),
        "tuple": isinstance(dimensions(p.type)[1], Tuple),
        "draw": draw,
    }


Seconds: TypeAlias = Annotated[float, msgspec.Meta(gt=0, le=1e9)]
Amount: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=1e30)]


class _Row(msgspec.Struct):
    """What a table needs of a row of times; a row may say more."""

    name: str
    target: Literal["cpu", "gpu"]
    variant: dict[str, int]
    analyses: str
    flops: Amount
    moved: Amount
    ok: bool
    predicted: Seconds | None
    reference: str | None = None
    reference_seconds: Seconds | None = None
    numpy_seconds: Seconds | None = None
    error: float | None = None
    failed: str | None = None
    seconds: Seconds | msgspec.UnsetType = msgspec.UNSET
    fastest: Seconds | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        if self.ok and self.seconds is msgspec.UNSET:
            raise ValueError(f"{self.name} is right, and has no seconds")
        if self.seconds is not msgspec.UNSET and not self.ok and self.error is None:
            raise ValueError(f"{self.name} is wrong, and has no error")


class _Results(msgspec.Struct):
    device: str
    entries: Annotated[list[_Row], msgspec.Meta(min_length=1)]


def read_results(file: Path) -> dict[str, Any]:
    """The times of benchmarks that a runner wrote; raises `ReliftError` for a file that holds none."""
    found: dict[str, Any] = read_json(file, TIMES)
    try:
        results = msgspec.convert(found, _Results)
    except (msgspec.ValidationError, RecursionError) as error:
        raise ReliftError(
            f"{file} holds no times of benchmarks ({error}); {ORIGIN}", place=""
        ) from None
    return {**found, "device": "".join(c for c in results.device if c.isprintable())}
