"""Kernels in CUDA beside those in OpenCL, on an NVIDIA device: `python -m proofs_tests.cuda_on_a_gpu [NAME...]`.

The small programs of the suite must give what the interpreter gives; of each benchmark of `examples/low_level` both
dialects of one kernel run on the same inputs, must give the same, and take turns.  Exit status 1 where one differs.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from proofs_tests.compiler.programs import CASES
from relift.compiler.agreement.inputs import whole_inputs
from relift.compiler.bench.benchmarks import Benchmark, load_benchmarks
from relift.compiler.bench.bundle import entry_of
from relift.compiler.bench.bundle_runner import inputs_of
from relift.compiler.dialects.cuda.session import CudaSession
from relift.compiler.program import compile_program, kernels_of
from relift.compiler.running.arrays.buffers import unflatten
from relift.compiler.running.session import session_on
from relift.semantics.errors import ReliftError
from relift.semantics.language.programs import Program

LOW_LEVEL = Path(__file__).parent.parent / "examples" / "low_level"
ROUNDS, RUNS = 5, 5


def small() -> Iterator[tuple[str, Program]]:
    """Every family of the suite at its small sizes."""
    for case in CASES:
        for sizes in case.small:
            yield case.name, case.make(*sizes)


def differs(program: Program, seed: int) -> str:
    """How the result on the device differs from the interpreter's; nothing where it does not."""
    arrays = whole_inputs(program, seed=seed)
    source, plan = kernels_of(program, contract=False)
    rows = compile_program(program, contract=False).rows(arrays)
    found = unflatten(CudaSession(source, plan).run(rows), plan.result.type)
    wanted = program(*arrays)
    for x, y in zip(*(v if isinstance(v, tuple) else (v,) for v in (found, wanted)), strict=True):
        if not np.allclose(x, y, rtol=1e-5, equal_nan=True):
            return f"{x!r} instead of {y!r}"
    return ""


def in_turns(b: Benchmark, device: str) -> dict[str, Any]:
    """Times of both dialects, the least of some rounds, and the largest difference of their results."""
    program = b.at(b.variants[0])
    compiled, (source, plan) = compile_program(program), kernels_of(program)
    rows, _ = inputs_of(entry_of(b, b.variants[0], program, plan))
    opencl = session_on(compiled.source, compiled.plan, device, b.options)
    cuda = CudaSession(source, plan, b.options)
    error = 0.0
    for x, y in zip(cuda.run(rows), opencl.run(rows), strict=True):
        scale = max(float(np.abs(y).max(initial=0.0)), 1e-30)
        error = max(error, float(np.abs(x.astype(np.float64) - y).max(initial=0.0)) / scale)
    times: dict[str, list[float]] = {"cuda": [], "opencl": []}
    for _ in range(ROUNDS):
        times["cuda"] += cuda.timed(rows, RUNS)
        times["opencl"] += opencl.timed(rows, RUNS)
    return {"error": error, **{name: min(found) for name, found in times.items()}}


def main() -> None:
    """Run what is named, or all; see the module."""
    parser = argparse.ArgumentParser(description="CUDA beside OpenCL on an NVIDIA device.")
    parser.add_argument("names", nargs="*", help="benchmarks; all if none")
    parser.add_argument("--device", default="gpu", help="the device for OpenCL")
    parser.add_argument("--json", type=Path, help="also write the times there")
    given = parser.parse_args()
    wrong, count = 0, 0
    for seed, (name, program) in enumerate(small() if not given.names else ()):
        if program.sizes:
            continue
        count += 1
        if said := differs(program, seed):
            wrong += 1
            print(f"WRONG {name}: {said}", flush=True)
    print(f"{count} small programs, {wrong} wrong", flush=True)
    table: dict[str, Any] = {}
    for b in load_benchmarks(LOW_LEVEL, given.names, "gpu"):
        try:
            table[b.name] = row = in_turns(b, given.device)
        except ReliftError as error:
            print(f"{b.name:24} not run: {error.message}", flush=True)
            continue
        wrong += row["error"] > b.tolerance
        state = "WRONG" if row["error"] > b.tolerance else "right"
        micro = f"{row['cuda'] * 1e6:10.1f} us in CUDA, {row['opencl'] * 1e6:10.1f} in OpenCL"
        print(f"{b.name:24} {micro}, {row['opencl'] / row['cuda']:.2f}  {state}", flush=True)
    if given.json:
        given.json.write_text(json.dumps(table, indent=1), encoding="utf-8")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
