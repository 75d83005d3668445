"""The low-level programs of examples/low_level: each means what its NumPy function computes, whatever the compiler
leaves out, and no work-item disturbs another."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proofs_tests.compiler.programs import typed
from proofs_tests.compiler.races import complaints
from proofs_tests.portions import portioned
from relift.compiler.bench.benchmarks import Benchmark, Draw, Sizes, load_benchmarks
from relift.compiler.bench.bundle import entry_of
from relift.compiler.bench.bundle_runner import inputs_of, largest_error
from relift.compiler.bench.by_hand import Step
from relift.compiler.bench.times import (
    over_hand,
    predictions,
    rank_correlation,
    share_of_roofline,
    speedup,
    time_in_turn,
)
from relift.compiler.lowering.analyses import ABLATION, ALL, EVERYTHING, Analyses
from relift.compiler.program import compile_program
from relift.compiler.running.compiled import Compiled
from relift.compiler.running.session import session_on
from relift.device import CPU
from relift.rewrites.loading import load_file
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.programs import Program
from relift.semantics.syntax.types import f32

FOLDER = Path(__file__).parents[3] / "examples" / "low_level"


def time_one(b: Benchmark, device: str, expected: Callable[..., Any]) -> dict[str, Any]:
    """The row of times of a benchmark as it is."""
    (row,) = time_in_turn(b, [{}], {device: lambda _: None}, expected, EVERYTHING, rounds=5)
    return row


BENCHMARKS = [
    b for target in ("cpu", "gpu") for b in load_benchmarks(FOLDER, [], target) if b.small
]
SAMPLES = load_file(FOLDER / "samples.py")

BY_HAND_SIZES: dict[str, dict[str, int]] = {
    "dot": {"n": 8192},
    "saxpy": {"n": 2048},
    "gemv": {"n": 16, "m": 64},
    "transpose": {"n": 256, "m": 512},
    "j2d5pt": {"n": 4, "m": 256},
    "j2d5pt_border": {"n": 5, "m": 64},
    "j2d9pt": {"n": 5, "m": 64},
    "j3d7pt": {"n": 3, "m": 4, "k": 64},
    "convolution": {"h": 8, "w": 256},
    "nbody": {"n": 512, "items": 16, "width": 16},
    "kmeans": {"n": 128, "k": 5, "d": 34},
    "black_scholes": {"n": 64},
    "mriq": {"n": 64, "k": 16},
    "matmul_1024": {"n": 64, "m": 64, "k": 16},
}
"""Sizes that the hand-written texts can do; they have vectors of 16 and no remainders."""

benchmarks = pytest.mark.parametrize("b", BENCHMARKS, ids=lambda b: f"{b.name}-{b.target}")
some_benchmarks = portioned("b", {f"{b.name}-{b.target}": b for b in BENCHMARKS}, 3)


def shrunk(b: Benchmark, sizes: Sizes) -> Benchmark:
    """The benchmark at other sizes, in one variant."""
    return dataclasses.replace(b, sizes=sizes, variants=({},))


def named(name: str, target: str = "gpu") -> Benchmark:
    (found,) = [b for b in BENCHMARKS if (b.name, b.target) == (name, target)]
    return shrunk(found, found.small[0])


def compiled_with_inputs(b: Benchmark, analyses: Analyses = ALL) -> tuple[Compiled, list[Any]]:
    program = b.at({})
    compiled = compile_program(program, analyses=analyses)
    return compiled, inputs_of(entry_of(b, {}, program, compiled.plan))[1]


def at_small(b: Benchmark, which: int) -> tuple[Compiled, list[Any], Any]:
    """A benchmark at small sizes, compiled with all analyses, its inputs, and what NumPy makes of them."""
    return _at_small(BENCHMARKS.index(b), which)


@cache
def _at_small(number: int, which: int) -> tuple[Compiled, list[Any], Any]:
    b = BENCHMARKS[number]
    compiled, inputs = compiled_with_inputs(shrunk(b, b.small[which]))
    return compiled, inputs, b.gold(*inputs)


def leaves(value: Any) -> Iterator[Any]:
    """The arrays of a result, in order."""
    if isinstance(value, tuple):
        for part in value:
            yield from leaves(part)
    else:
        yield np.asarray(value)


def error(result: Any, expected: Any) -> float:
    wanted = tuple(leaves(expected))
    rows = np.arange(len(wanted[0]))
    return largest_error(list(leaves(result)), wanted, rows)


@benchmarks
@portioned("which", [0, 1], {0})
def test_kernel_computes_what_numpy_does(b: Benchmark, which: int) -> None:
    """At small sizes the kernel's result is that of the NumPy function, in value and in type."""
    compiled, inputs, gold = at_small(b, which)

    assert error(compiled(*inputs), gold) <= b.tolerance


@benchmarks
@pytest.mark.no_device
def test_samples_are_the_gold(b: Benchmark) -> None:
    """What travels in bundles to check results is what the NumPy function says, at every row."""
    _, inputs, result = at_small(b, 1)
    gold = tuple(leaves(result))
    sampled = getattr(SAMPLES, b.name)(np.arange(len(gold[0])), *inputs)

    for part, wanted in zip(leaves(sampled), gold, strict=True):
        assert np.allclose(part, wanted, rtol=1e-5, atol=1e-6 * np.abs(wanted).max())


ORDERS: dict[str, Callable[[Any], Any]] = {
    "next row": lambda a: np.roll(a, 1, axis=0),
    "rows backwards": lambda a: np.flip(a, axis=0),
    "next in the row": lambda a: np.roll(a, 1, axis=-1),
}


@benchmarks
@pytest.mark.no_device
def test_a_permuted_result_is_refused_at_ten_times_the_tolerance(b: Benchmark) -> None:
    """Right values in wrong places are no rounding; only a result of one number has no places."""
    gold = tuple(leaves(at_small(b, 1)[2]))
    assert (gold[0].size == 1) == (b.name in ("dot", "total"))

    for order, permuted in ORDERS.items() if gold[0].size > 1 else ():
        for place, part in enumerate(gold):
            wrong = (*gold[:place], permuted(part), *gold[place + 1 :])
            assert error(wrong, gold) > 10 * b.tolerance, (order, place)


@some_benchmarks
@pytest.mark.no_device
def test_no_race(b: Benchmark) -> None:
    """The simulator finds no race, no stray access and no use of what was not written."""
    compiled, inputs, _ = at_small(b, 0)

    assert complaints(compiled, inputs) == []


@some_benchmarks
def test_meaning_does_not_depend_on_analyses(b: Benchmark, request: pytest.FixtureRequest) -> None:
    """With any analysis switched off the kernel computes the same; on a second device with all of them, whose text differs most."""
    small = shrunk(b, b.small[1])
    second = request.config.getoption("--device") is not None
    _, inputs, gold = at_small(b, 1)
    for name, analyses in ABLATION.items():
        if name == "none" or not (name == "all" or second):  # with all: the test above
            compiled = compile_program(small.at({}), analyses=analyses)
            assert error(compiled(*inputs), gold) <= b.tolerance, name


@benchmarks
@pytest.mark.no_device
def test_kernel_is_short(b: Benchmark) -> None:
    """At the sizes of the benchmark every variant compiles to at most 20 kB of source."""
    for variant in b.variants:
        assert len(compile_program(b.at(variant)).source) <= 20_000


# ---- what an analysis does


def source(name: str, analyses: Analyses) -> str:
    return compile_program(named(name).at({}), analyses=analyses).source


@pytest.mark.no_device
def test_barriers_switched_off_adds_barriers() -> None:
    """Without the analysis, every nest of work-items is followed by a barrier; saxpy needs none."""
    assert "barrier(" not in source("saxpy", ALL)
    assert "barrier(" in source("saxpy", Analyses(barriers=False))


@pytest.mark.no_device
def test_control_flow_switched_off_adds_loops() -> None:
    """Without the analysis, even one element for each work-item is a loop."""
    assert "for (" not in source("saxpy", ALL)
    assert "for (" in source("saxpy", Analyses(control_flow=False))


@pytest.mark.no_device
def test_indices_switched_off_leaves_quotients() -> None:
    """Without the analysis, the indices of layouts are divided as they are written."""
    assert " / " not in source("transpose", ALL).split("kernel void")[1]
    assert " / " in source("transpose", Analyses(indices=False)).split("kernel void")[1]


# ---- times


def test_times_are_of_right_results_only() -> None:
    """A row of times says whether the result was right, and how long NumPy took."""
    b = named("dot", "cpu")
    row = time_one(b, "cpu", SAMPLES.dot)
    assert row["ok"]
    assert row["seconds"] >= row["fastest"] > 0
    assert row["numpy_seconds"] > 0

    wrong = time_one(b, "cpu", lambda picked, x, y: SAMPLES.dot(picked, x, y) * 1.01)
    assert not wrong["ok"]


def sums(chunks: int) -> Callable[..., Program]:
    """The sum of numbers by so many folds in order, whose results are folded in order."""

    def total(n: int) -> Program:
        def dot(x: Any) -> Any:
            parts = rl.map_glb(0)(rl.reduce_seq(rl.add, 0.0), rl.split(n // chunks, x))
            return rl.reduce_seq(rl.add, 0.0, rl.to_global(parts))

        return typed(x=f32[n])(dot)

    return total


@pytest.mark.no_device
def test_how_inexact_a_sum_may_be_follows_from_its_chain() -> None:
    """A long fold in order may be as inexact as theory says, one in chunks may not, and a wrong one is wrong."""
    n = 1 << 22
    b = dataclasses.replace(
        named("dot", "cpu"), sizes={"n": n}, small=[], by_hand=None, numpy=None, variants=[{}]
    )

    def times(chunks: int, factor: float = 1.0) -> dict[str, Any]:
        here = dataclasses.replace(b, make=sums(chunks))
        return time_one(
            here, "pocl", lambda picked, x: np.array([np.sum(x, dtype=np.float64) * factor])
        )

    in_order, in_chunks = times(1), times(1 << 11)
    assert in_order["ok"]
    assert in_order["error"] > b.tolerance >= in_chunks["error"]
    assert in_order["tolerance"] > 1e-2 > in_chunks["tolerance"] == b.tolerance
    assert not times(1, 1.2)["ok"]
    assert not times(1 << 11, 1.001)["ok"]


BY_HAND = [b for b in BENCHMARKS if b.by_hand is not None]


@pytest.mark.parametrize("b", BY_HAND, ids=lambda b: b.name)
def test_what_is_written_by_hand_computes_the_same(b: Benchmark) -> None:
    """The OpenCL that a kernel is compared with computes what the NumPy function does, and so does NumPy in singles."""
    assert b.by_hand is not None
    assert b.numpy is not None
    sizes = BY_HAND_SIZES[b.name]
    here = dataclasses.replace(b, sizes=sizes)
    program = here.at(b.variants[0])
    plan = compile_program(program).plan
    rows, arguments = inputs_of(entry_of(here, b.variants[0], program, plan))
    by_hand = session_on(
        b.by_hand.source,
        b.by_hand.plan(plan, sizes),
        "cpu",
        (*b.options, *b.by_hand.options(sizes)),
    )
    gold = tuple(leaves(b.gold(*arguments)))
    outputs = [
        row.reshape(np.shape(wanted)) for row, wanted in zip(by_hand.run(rows), gold, strict=True)
    ]

    assert error(tuple(outputs), gold) <= b.tolerance
    single = tuple(part for part in leaves(b.numpy(*arguments)))
    flat = (
        np.concatenate([np.ravel(part) for part in gold]),
        np.concatenate([np.ravel(part) for part in single]),
    )
    if flat[0].size == flat[1].size:  # NumPy may stack what a program has in a tuple
        assert np.allclose(*flat, rtol=1e-3, atol=1e-4 * np.abs(flat[0]).max())


def test_a_wrong_text_by_hand_has_no_time() -> None:
    """What is written by hand is checked as kernels are, and a wrong one is said to be wrong."""
    b = dataclasses.replace(named("saxpy", "cpu"), sizes={"n": 1024})
    assert b.by_hand is not None
    row = time_one(b, "cpu", SAMPLES.saxpy)
    assert row["hand_ok"]
    assert over_hand(row) == row["hand_seconds"] / row["fastest"]

    wrong = dataclasses.replace(b.by_hand, steps=lambda n: [Step("saxpy", (1,), (1,))])
    row = time_one(dataclasses.replace(b, by_hand=wrong), "cpu", SAMPLES.saxpy)
    assert row["ok"]
    assert not row["hand_ok"]
    assert over_hand(row) is None


@pytest.mark.no_device
def test_share_of_the_roofline() -> None:
    """It is the longer of the times that the operations and the bytes need, over the time taken."""
    flops, moved = CPU.fma_gflops * 1e9, CPU.bandwidth_gbs * 1e9
    row = {"flops": flops, "moved": moved / 2, "seconds": 2.0}
    assert share_of_roofline(row, CPU) == pytest.approx(0.5)
    assert share_of_roofline({**row, "moved": 4 * moved}, CPU) == pytest.approx(2.0)


@pytest.mark.no_device
def test_speedup_over_what_ran_beside() -> None:
    """NumPy in the same run counts before a reference from elsewhere."""
    row = {"seconds": 2.0, "fastest": 1.0, "reference_seconds": 8.0}
    assert speedup({**row, "numpy_seconds": 3.0}) == 3.0
    assert speedup(row) == 4.0
    assert speedup({**row, "reference_seconds": None}) is None


@pytest.mark.no_device
def test_rank_correlation() -> None:
    """It sees the order only, shares the rank of equal values, and says nothing of two values."""
    assert rank_correlation([(1, 9), (2, 8), (3, 0.1)]) == -1
    assert rank_correlation([(1, 1), (1, 2), (2, 3)]) == pytest.approx(np.sqrt(3) / 2)
    assert rank_correlation([(1, 1), (2, 2)]) is None
    assert predictions([{"predicted": None, "seconds": 1}, {"predicted": 2, "seconds": 3}]) == [
        (2, 3)
    ]


def test_a_draw_may_name_a_size() -> None:
    """Indices are drawn below the size that they index."""
    assert Draw(0, "n", whole=True).at({"n": 5})["high"] == 5
