"""What maps rearrange of what other maps give is rearranged after all of them, so that a search sees these."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

import numpy as np
import pytest

import relift as rl
from relift.device import CPU, GPU
from relift.egraph.cost.model import least_seconds

n, m, c, h = (rl.nat(name) for name in "nmch")


def test_what_inner_maps_give_is_rearranged_after_outer_ones() -> None:
    """A group norm: each picture's groups of planes are joined again, and a group of a GPU has one of them each."""

    @rl.program
    def normalised(x: rl.f32[n, 8 * c, h, h]):
        def group(t):
            flat = rl.join(rl.map(rl.join, t))
            mean = rl.reduce(rl.add, 0.0, flat) / 1568.0
            return rl.map_nd(3, lambda v: v - mean, t)

        return rl.map(lambda image: rl.join(rl.map(group, rl.split(8, image))), x)

    sizes = {"n": 64, "c": 32, "h": 14}
    found = rl.optimize(normalised, sizes, "gpu").candidates[0]
    assert found.cost.seconds < 2 * least_seconds(normalised.at(sizes), GPU)


def total(xs):
    return rl.reduce(rl.add, 0.0, xs)


@rl.program
def chunks_of_columns(x: rl.f32[c * h, m]):
    """What a column's chunks come to, beside one another."""
    return rl.map(lambda column: rl.map(total, rl.split(h, column)), rl.transpose(x))


@rl.program
def tables_across(x: rl.f32[n, h, m]):
    """The sums of each table's columns are themselves a column."""
    return rl.transpose(rl.map(lambda t: rl.map(total, rl.transpose(t)), x))


@pytest.mark.parametrize(
    ("program", "sizes", "device"),
    [
        (chunks_of_columns, {"c": 128, "h": 64, "m": 8192}, GPU),
        (tables_across, {"n": 128, "h": 64, "m": 8192}, CPU),
    ],
    ids=lambda p: getattr(p, "name", ""),
)
def test_columns_are_folded_side_by_side_whatever_lies_beside_what_they_come_to(
    program, sizes, device
) -> None:
    """Numbers that are many are read along, and those few that folds come to are written across."""
    found = rl.optimize(program, sizes, device).candidates[0]
    assert found.cost.seconds < 1.3 * least_seconds(program.at(sizes), device)


def test_what_is_copied_after_it_is_folded_is_right() -> None:
    sizes = {"n": 3, "h": 5, "m": 37}
    x = np.random.default_rng(1).random((3, 5, 37), np.float32)
    for found in rl.optimize(tables_across, sizes, "cpu", top=3).candidates:
        np.testing.assert_allclose(rl.compile(found.term)(x), x.sum(1).T, rtol=1e-5)
