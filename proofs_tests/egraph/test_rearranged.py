"""What maps rearrange of what other maps give is rearranged after all of them, so that a search sees these."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

import relift as rl
from relift.device import GPU
from relift.egraph.cost.model import least_seconds

n, c, h = rl.nat("n"), rl.nat("c"), rl.nat("h")


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
