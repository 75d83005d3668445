"""The cost model: what it must not get wrong, and how it ranks what was measured."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

import json
from pathlib import Path

import pytest

import relift as rl
from relift.compiler.benchmark_times import rank_correlation
from relift.compiler.benchmarks import load_benchmarks
from relift.egraph.cost import estimate
from relift.semantics.device import CPU, GPU, DeviceDescription
from relift.semantics.errors import Unsupported

LOW_LEVEL = Path(__file__).parents[2] / "examples" / "low_level"
n, m = rl.nat("n"), rl.nat("m")


def seconds(program, device: DeviceDescription, **sizes: int) -> float:
    return estimate(program.at(sizes), device).seconds


@rl.program
def sums(A: rl.f32[n, m]):
    """Each work-item adds a row."""
    return rl.map_glb(0)(lambda row: rl.reduce_seq(rl.add, 0.0, row), A)


@rl.program
def column_sums(A: rl.f32[n, m]):
    """Each work-item adds a column: neighbours read neighbours."""
    return rl.map_glb(0)(lambda column: rl.reduce_seq(rl.add, 0.0, column), rl.transpose(A))


@rl.program
def doubled(A: rl.f32[n, m]):
    """Each group doubles a row."""
    return rl.map_wrg(0)(lambda row: rl.map_lcl(0)(lambda x: x + x, row), A)


@rl.program
def staged(A: rl.f32[n, m]):
    """The same by way of local memory."""
    return rl.map_wrg(0)(
        lambda row: rl.map_lcl(0)(
            lambda x: x + x, rl.to_local(rl.map_lcl(0)(lambda x: x, row))
        ),
        A,
    )  # fmt: skip


@rl.program
def blocked(A: rl.f32[n, 8, 4]):
    """Sums of eight rows, whose elements stay in registers."""
    return rl.map_glb(0)(
        lambda rows: rl.map_seq_unroll(
            lambda x: x,
            rl.reduce_seq(
                lambda acc, row: rl.map_seq_unroll(lambda p: p[0] + p[1], rl.zip(acc, row)),
                rl.to_private(rl.map_seq_unroll(lambda x: x, rl.repeat(4, 0.0))),
                rows,
            ),
        ),
        A,
    )


@rl.program
def not_lowered(x: rl.f32[n]):
    """A map that nobody computes."""
    return rl.map(lambda v: v + v, x)


@pytest.mark.parametrize("device", [CPU, GPU], ids=["cpu", "gpu"])
@pytest.mark.parametrize("program", [sums, column_sums, blocked], ids=lambda p: p.name)
def test_more_data_is_not_cheaper(program, device: DeviceDescription) -> None:
    sizes = dict.fromkeys(program.sizes, 512)
    small = seconds(program, device, **sizes)
    for name in program.sizes:
        assert seconds(program, device, **{**sizes, name: 1024}) >= small


def test_few_work_items_wait_for_memory() -> None:
    """The same sums, by 64 work-items and by 8192."""
    few, many = (
        seconds(column_sums, GPU, n=1 << 20, m=64),
        seconds(column_sums, GPU, n=8192, m=8192),
    )
    assert few > 10 * many


def test_work_items_are_counted_once_however_often_they_are_used() -> None:
    plain, twice = seconds(doubled, GPU, n=8192, m=256), seconds(staged, GPU, n=8192, m=256)
    assert plain <= twice < 2 * plain


def test_what_is_not_lowered_has_no_cost() -> None:
    with pytest.raises(Unsupported):
        seconds(not_lowered, CPU, n=64)


def test_measured_times_are_ranked() -> None:
    """Every benchmark in every variant as measured on the H200, from 37 us to 15 ms."""
    listed = {b.name: b for b in load_benchmarks(LOW_LEVEL, [], "gpu")}
    rows = json.loads((LOW_LEVEL / "results_h200.json").read_text())["entries"]
    pairs = [
        (estimate(listed[row["name"]].at(row["variant"]), GPU).seconds, row["seconds"])
        for row in rows
    ]

    correlation = rank_correlation(pairs)
    assert len(pairs) == len(rows)
    assert correlation is not None
    assert correlation > 0.9
