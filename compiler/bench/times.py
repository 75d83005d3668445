"""Times of benchmarks on a device of this machine, in turn with NumPy, and what a table says of times.

A row of times is a dictionary: what `Benchmark.described` says, which `analyses` the compiler did, and `ok`,
`error`, `seconds` (the median), `fastest`, `runs`; `predicted` seconds of the cost model.  Where they ran in turn with it,
`numpy_seconds` and `hand_seconds` are the best runs of NumPy with `numpy_threads`, and of OpenCL written by hand on the
same `device`.  The runner of a bundle writes the same, without these.
"""

from __future__ import annotations

import importlib
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from relift.compiler.bench.benchmarks import Benchmark, Sizes, load_samples
from relift.compiler.bench.bundle import entry_of
from relift.compiler.bench.bundle_runner import inputs_of, largest_error, picked_rows
from relift.compiler.certificates.consultation import require_not_refuted
from relift.compiler.devices.survey import find_device
from relift.compiler.dialects.backend import Session, backend_of
from relift.compiler.lowering.analyses import EVERYTHING, Analyses
from relift.compiler.program import compile_program
from relift.compiler.running.compiled import Compiled
from relift.compiler.running.session import session_on
from relift.compiler.validation.validate import validate
from relift.device import DeviceDescription
from relift.semantics.errors import ReliftError
from relift.semantics.language.programs import Program

ROUNDS, FEWEST = 15, 5
"""Rounds in which kernels and NumPy take turns, where nothing else is asked, and how many at least."""

SECONDS = 1.0
"""How long a round may take on average: beyond that many seconds for each round there are as few as may be."""

TURN, FEWEST_OF_TURN, MOST_OF_TURN = 0.005, 3, 8
"""Seconds of a turn, and how many runs of what is shorter are in one."""

WOKEN = 0.1
"""A run of fewer seconds is not timed right after another program's: threads and clocks of the cores must wake for it."""

Times = dict[str, Any]

Predicts: TypeAlias = Mapping[str, Callable[[Program], float | None]]
"""By the name of a device, what the cost model says of the seconds of a program on it."""

ASLEEP = 0.1
"""Seconds after which threads that wait for more work on a core, of NumPy's library or of a driver, leave it to others."""


def times_of(
    benchmarks: Sequence[Benchmark],
    samples: Path,
    devices: Predicts,
    report: Callable[[str], None] = lambda _: None,
    settings: Mapping[str, Analyses] = EVERYTHING,
    rounds: int = ROUNDS,
) -> Iterator[Times]:
    """A row of times for each variant of each benchmark, each of `settings` and each device.

    Each device has a function that predicts the seconds of a program on it.  `report` is told which.
    """
    expected = load_samples(samples, benchmarks)
    for b in benchmarks:
        report(f"{b.name} on symbols")
        _require_right(b)
        report(b.name)
        given = getattr(expected, b.name)
        yield from time_in_turn(b, b.variants, devices, given, settings, rounds)


def _require_right(b: Benchmark) -> None:
    """Raise `ReliftError` for a benchmark whose kernels, at its smallest size, do not compute what they must."""
    for sizes in b.small[:1]:
        program = b.make(**sizes)
        compiled = compile_program(program)
        found = validate(compiled.source, compiled.plan, program)
        if found.verdict == "refuted":
            raise ReliftError(f"{b.name} at {dict(sizes)} is wrong: {found.detail}", place="")


@dataclass
class _Runner:
    """What is timed: a function that runs it some times, the seconds of its runs, and what is known of it before."""

    run: Callable[[int], list[float]]
    about: Times
    seconds: list[float] = field(default_factory=list)

    def turn(self) -> None:
        """Run it, and a few times what is short, after a run that is not timed."""
        shortest = min(self.seconds, default=TURN)
        if shortest >= WOKEN:
            self.seconds += self.run(1)
        else:
            self.run(1)
            times = max(FEWEST_OF_TURN, min(MOST_OF_TURN, round(TURN / shortest)))
            self.seconds += self.run(times)


def time_in_turn(
    b: Benchmark,
    variants: Sequence[Sizes],
    devices: Predicts,
    expected: Callable[..., Any],
    settings: Mapping[str, Analyses],
    rounds: int = ROUNDS,
) -> list[Times]:
    """A row of times for each of `variants`, each device and each of `settings`.

    All kernels, what was written by hand and NumPy take turns, so that all see the same machine.  NumPy's
    library has as many threads as the first device has units.
    """
    named = [*devices]
    programs = [_of_devices(b, variant, named) for variant in variants]
    first = programs[0][named[0]]
    plan = compile_program(first).plan
    rows, arguments = inputs_of(entry_of(b, variants[0], first, plan))
    kernels: list[_Runner] = []
    for variant, made in zip(variants, programs, strict=True):
        compiled = {program: _compiled(program, settings) for program in made.values()}
        for device, program in made.items():
            predicted = devices[device](program)
            for setting, kernel in compiled[program].items():
                entry = entry_of(b, variant, program, kernel.plan)
                about = {**entry, "analyses": setting, "device": device, "predicted": predicted}
                session = session_on(kernel.source, kernel.plan, device, tuple(b.options))
                kernels.append(_checked(session, rows, about, expected, arguments))
    by_hand: dict[str, _Runner] = {}
    if b.by_hand is not None:
        about = {**entry_of(b, variants[0], first, plan), "tolerance": b.tolerance}
        options = (*b.options, *b.by_hand.options(b.sizes))
        by_hand_plan = b.by_hand.plan(plan, b.sizes)
        for device in devices:
            if backend_of(find_device(device)).name == "opencl":
                session = session_on(b.by_hand.source, by_hand_plan, device, options)
                on = {**about, "device": device}
                by_hand[device] = _checked(session, rows, on, expected, arguments)
    everything = [*kernels, *by_hand.values()]
    numpy, threads = _taken_in_turn(everything, b, arguments, named[0], rounds)
    return [
        {
            **kernel.about,
            "seconds": statistics.median(kernel.seconds),
            "fastest": min(kernel.seconds),
            "runs": len(kernel.seconds),
            "numpy_seconds": None if b.numpy is None else min(numpy),
            "numpy_threads": None if b.numpy is None else threads,
            **_of_hand(by_hand.get(kernel.about["device"])),
        }
        for kernel in kernels
    ]


def _of_devices(b: Benchmark, variant: Sizes, devices: Sequence[str]) -> dict[str, Program]:
    """The program of a variant for each device: one for all, unless the benchmark makes one for each."""
    if b.by_device:
        return {device: b.at(variant, device) for device in devices}
    return dict.fromkeys(devices, b.at(variant))


def _compiled(program: Program, settings: Mapping[str, Analyses]) -> dict[str, Compiled]:
    """A program compiled with each of `settings`; raises `ReliftError` where a kernel is refuted."""
    found = {s: compile_program(program, analyses=analyses) for s, analyses in settings.items()}
    for compiled in found.values():
        require_not_refuted(compiled)
    return found


def _taken_in_turn(
    runners: Sequence[_Runner],
    b: Benchmark,
    arguments: Sequence[Any],
    device: str,
    rounds: int,
) -> tuple[list[float], int]:
    """Time all runners and NumPy in rounds; the seconds of NumPy, and its threads: as many as a device has units."""
    numpy = list[float]()
    units = find_device(device).max_compute_units
    pools: Any = importlib.import_module("threadpoolctl")  # it has no types
    with pools.threadpool_limits(units):
        threads = max((int(pool["num_threads"]) for pool in pools.threadpool_info()), default=1)
        started = time.perf_counter()
        while len(numpy) < FEWEST or (
            len(numpy) < rounds and time.perf_counter() - started < rounds * SECONDS
        ):
            first = len(numpy) % max(
                1, len(runners)
            )  # who runs after the pause that NumPy needs is slowed by it
            for each in (*runners[first:], *runners[:first]):
                each.turn()
            numpy.append(_seconds_of_numpy(b, arguments))
    return numpy, threads


def _checked(
    session: Session,
    rows: Mapping[str, Any],
    about: Times,
    expected: Callable[..., Any],
    arguments: Sequence[Any],
) -> _Runner:
    """What runs a session, after its result was compared, within what the row says of its inexactness."""
    outputs = [
        row.reshape(output["shape"])
        for row, output in zip(session.run(rows), about["outputs"], strict=True)
    ]
    picked = picked_rows(len(outputs[0]))
    wanted = expected(picked, *arguments)
    try:
        error = largest_error(outputs, wanted, picked)
    except ValueError as unlike:  # its shape is not the result's, or it has other parts
        raise ReliftError(f"{about['name']}: {unlike}", place="") from None
    return _Runner(
        lambda times: session.timed(rows, times),
        {
            **about,
            "ok": error <= about["tolerance"],
            "error": error,
            "unknown": session.unknown,
        },
    )


def _seconds_of_numpy(b: Benchmark, arguments: Sequence[Any]) -> float:
    """The shortest of a few runs of NumPy, 0 where there is none: the first wakes the threads of its library."""
    if b.numpy is None:
        return 0.0
    found: list[float] = []
    time.sleep(ASLEEP)
    while len(found) < FEWEST_OF_TURN or (sum(found) < 2 * TURN and len(found) < MOST_OF_TURN):
        before = time.perf_counter()
        b.numpy(*arguments)
        found.append(time.perf_counter() - before)
    time.sleep(ASLEEP)
    return min(found)


def _of_hand(runner: _Runner | None) -> Times:
    """What a row says of the same by hand; no seconds where the result is wrong."""
    if runner is None:
        return {"hand_ok": True, "hand_seconds": None}
    ok, unknown = runner.about["ok"], runner.about["unknown"]
    return {
        "hand_ok": ok,
        "hand_seconds": min(runner.seconds) if ok else None,
        "hand_unknown": unknown,
    }


def share_of_roofline(row: Times, device: DeviceDescription) -> float:
    """The least time that the device needs for the operations and the bytes, over the time taken."""
    compute = row["flops"] / (device.fma_gflops * 1e9)
    memory = row["moved"] / (device.bandwidth_gbs * 1e9)
    return float(max(compute, memory) / row["seconds"])


def speedup(row: Times) -> float | None:
    """How many times as fast as NumPy's best run, or else as the reference, a row is; None without either."""
    if row.get("numpy_seconds") is not None:
        return float(row["numpy_seconds"] / row["fastest"])
    if row["reference_seconds"] is not None:
        return float(row["reference_seconds"] / row["seconds"])
    return None


def over_hand(row: Times) -> float | None:
    """How many times as fast as OpenCL written by hand a row is, by the fastest runs; None without such."""
    if row.get("hand_seconds") is None:
        return None
    return float(row["hand_seconds"] / row["fastest"])


def rank_correlation(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Spearman's: 1 where one orders like the other, -1 where the other way round; None below three pairs.

    >>> from relift.compiler.bench.times import rank_correlation
    >>> rank_correlation([(1.0, 10.0), (2.0, 40.0), (3.0, 90.0)])
    1.0
    """
    if len(pairs) < 3:
        return None
    ranks = [_ranks(np.array(column)) for column in zip(*pairs, strict=True)]
    if any(np.ptp(r) == 0 for r in ranks):
        return None
    return round(float(np.corrcoef(*ranks)[0, 1]), 10)


def _ranks(values: Any) -> Any:
    """The rank of each value; equal ones share the mean of theirs."""
    less = (values[:, None] > values[None, :]).sum(axis=1)
    equal = (values[:, None] == values[None, :]).sum(axis=1)
    return less + (equal - 1) / 2


def predictions(rows: Iterable[Mapping[str, Any]]) -> list[tuple[float, float]]:
    """Predicted and measured seconds of the rows that have both."""
    return [
        (r["predicted"], r["seconds"])
        for r in rows
        if r.get("predicted") is not None and r.get("seconds") is not None
    ]


def predicted_anew(
    rows: Iterable[Times],
    benchmarks: Iterable[Benchmark],
    predict: Callable[[Program], float | None],
) -> list[Times]:
    """Rows of times as they were kept, with what the cost model of today says of their programs.

    Rows of other programs than the benchmarks' variants keep what was said when they were timed.
    """
    known = {b.name: b for b in benchmarks}
    return [
        {**row, "predicted": predict(replace(b, sizes=row["sizes"]).at(row["variant"]))}
        if (b := known.get(row["name"])) is not None and row["variant"] in b.variants
        else row
        for row in rows
    ]


def slowdowns(rows: Iterable[Times]) -> dict[str, dict[str, float]]:
    """By benchmark and by analyses: how many times as long as with all of them the fastest run takes.

    >>> from relift.compiler.bench.times import slowdowns
    >>> rows = [("none", 3.0), ("all", 2.0)]
    >>> slowdowns({"name": "dot", "analyses": a, "fastest": s} for a, s in rows)
    {'dot': {'none': 1.5, 'all': 1.0}}
    """
    seconds: dict[str, dict[str, float]] = {}
    for row in rows:
        if "fastest" in row:
            seconds.setdefault(row["name"], {})[row["analyses"]] = row["fastest"]
    return {
        name: {analyses: s / known["all"] for analyses, s in known.items()}
        for name, known in seconds.items()
        if "all" in known
    }
