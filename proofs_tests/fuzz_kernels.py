"""Random low-level programs through the compiler and back: `python -m proofs_tests.fuzz_kernels`.

The text of each kernel is run on free symbols, and each kernel on a device; both must give what the interpreter
gives, as `relift fuzz` compares them.
Every program is a seed of a kind, so every finding can be made again; the seeds are shared out to worker
processes, and one that a driver takes down is restarted behind the seed that did it.  Exit status 1 when a result
differs, a program makes Relift fail with an error that is not its own, or a driver dies.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import get_args

from relift.compiler.fuzzing.subjects import same
from relift.compiler.program import compile_program
from relift.compiler.running.buffers import unflatten
from relift.compiler.running.compiled import Compiled
from relift.compiler.validation.validate import validate
from relift.rewrites.checks.random.draws import KINDS, Kind, Seeded
from relift.rewrites.checks.random.kernels import random_arguments, random_kernel, random_sizes
from relift.semantics.errors import ReliftError
from relift.semantics.language import programs

CHUNK = 50
"""Seeds that a worker process gets at a time."""

LARGEST = 40_000
"""Cells of a result; larger ones are for faster machines."""


FINDINGS = ("wrong", "unknown", "error", "not built", "driver", "died")

NO_DEVICE = "none"
"""Instead of a device: the text of the kernels is run on free symbols, and on nothing else."""


@dataclass(frozen=True)
class Outcome:
    """What became of a seed: `right`, `refused`, `not made`, `too large`, or a finding with its reason.

    The text of the kernels is `wrong` when, run on free symbols, it does not compute what the interpreter does;
    where it does, and the device computes something else, the fault is the `driver`'s.
    """

    kind: Kind
    seed: int
    verdict: str
    reason: str = ""

    @property
    def is_finding(self) -> bool:
        """Whether somebody has to look at it."""
        return self.verdict in FINDINGS


def judge(kind: Kind, seed: int, device: str | None = None) -> Outcome:
    """Compile and run the program of a seed, and compare it with the interpreter."""
    try:
        program = random_kernel(seed, kind)
        if program is None:
            return Outcome(kind, seed, "not made")
        return Outcome(kind, seed, *compared(program, seed, device))
    except Exception as error:  # noqa: BLE001  # whatever is no refusal of Relift is a finding
        return Outcome(kind, seed, "error", f"{type(error).__name__}: {error}")


def compared(program: programs.Program, seed: int, device: str | None) -> tuple[str, str]:
    """The verdict on a program, and its reason; the seed draws sizes and arguments."""
    try:
        kernel = compile_program(program, contract=False)
    except ReliftError as error:
        return "refused", error.message
    choices = Seeded(random.Random(seed))
    for most in (1, 5) if program.sizes else (5,):
        sizes = random_sizes(program, choices, most)
        if sum(b.cells.evaluate(sizes) for b in kernel.plan.buffers) > LARGEST:
            return "too large", ""
        found = _at(program, kernel, sizes, seed, device)
        if found is not None:
            return found
    return "right", ""


def _at(
    program: programs.Program,
    kernel: Compiled,
    sizes: Mapping[str, int],
    seed: int,
    device: str | None,
) -> tuple[str, str] | None:
    """What is not right at these sizes, if anything is not."""
    report = validate(kernel.source, kernel.plan, program, sizes)
    if report.verdict != "shown":
        verdict = "wrong" if report.verdict == "refuted" else "unknown"
        return verdict, f"the text at {dict(sizes)}: {report.detail}"
    if device == NO_DEVICE:
        return None
    source = program.at(sizes)
    arguments = random_arguments(source, seed)
    try:
        session = kernel.session(device)
    except ReliftError as error:
        said = [line for line in error.message.splitlines() if "error:" in line]
        return "not built", said[0] if said else error.message
    rows = session.run(kernel.rows(arguments, {name: sizes[name] for name in kernel.plan.sizes}))
    result, expected = unflatten(rows, source.body.type), source(*arguments)
    if same(result, expected):
        return None
    return "driver", f"at {dict(sizes)}: {result!r} instead of {expected!r}"


def campaign(
    kinds: list[Kind], first: int, count: int, device: str | None, workers: int
) -> Iterator[Outcome]:
    """The outcomes of this many seeds of each kind, as they come in."""
    tasks: list[tuple[Kind, int, int]] = [
        (kind, start, min(start + CHUNK, first + count))
        for start in range(first, first + count, CHUNK)
        for kind in kinds
    ]
    found: list[Outcome] = []
    lock = threading.Lock()

    def work() -> None:
        while True:
            with lock:
                if not tasks:
                    return
                task = tasks.pop(0)
            for outcome in _in_child(*task, device):
                with lock:
                    found.append(outcome)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(workers)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads) or found:
        with lock:
            ready, found[:] = list(found), []
        yield from ready
        time.sleep(0.2)


def _in_child(kind: Kind, first: int, end: int, device: str | None) -> Iterator[Outcome]:
    """The outcomes of a range of seeds, each judged in a process that may die of it."""
    while first < end:
        words = [sys.executable, "-m", "proofs_tests.fuzz_kernels", "--child", kind, str(first)]
        words += [str(end), device or ""]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        for line in done.stdout.splitlines():
            yield Outcome(**json.loads(line))
            first += 1
        if done.returncode == 0:
            return
        yield Outcome(kind, first, "died", f"status {done.returncode}: {done.stderr[-300:]}")
        first += 1


def _child(kind: Kind, first: int, end: int, device: str) -> None:
    """Judge seeds one by one; what the driver prints is kept out of the answer."""
    out, sys.stdout = sys.stdout, sys.stderr
    for seed in range(first, end):
        print(json.dumps(vars(judge(kind, seed, device or None))), file=out, flush=True)


def main() -> None:
    """Run a campaign and print what was found; see the module."""
    parser = argparse.ArgumentParser(description="Random kernels against the interpreter.")
    parser.add_argument("--count", type=int, default=500, help="seeds of each kind")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--kind", choices=get_args(Kind), action="append", help="all if none")
    parser.add_argument(
        "--device", help="as in relift devices, or none; the default device if not given"
    )
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        kind, first, end, device = given.child
        _child(next(k for k in KINDS if k == kind), int(first), int(end), device)
        return
    began, counts, refused = time.monotonic(), Counter[str](), Counter[str]()
    kinds: list[Kind] = given.kind or list(KINDS)
    for outcome in campaign(kinds, given.first, given.count, given.device, given.workers):
        counts[outcome.verdict] += 1
        if outcome.verdict == "refused":
            refused["".join(c for c in outcome.reason if not c.isdigit())[:100]] += 1
        if outcome.is_finding:
            print(json.dumps(vars(outcome)), flush=True)
    seconds = time.monotonic() - began
    made = sum(counts.values()) - counts["not made"]
    for reason, number in refused.most_common(12):
        print(f"{number:6} refused: {reason}")
    print(", ".join(f"{number} {verdict}" for verdict, number in sorted(counts.items())))
    print(f"{made} programs in {seconds:.0f} s, {made / seconds:.1f} a second")
    sys.exit(any(counts[verdict] for verdict in FINDINGS))


if __name__ == "__main__":
    main()
