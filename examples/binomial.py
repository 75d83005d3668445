"""A binomial filter from its base form to scan-line form, from the sketch of the goal alone.

python examples/binomial.py [--height 1024] [--width 2048]

The base form takes a window of 3 by 3 around every pixel and the sum of its nine weighted elements.  The weights
are an outer product, so a line of three rows can be summed down its columns first, and every three sums then
be summed along the line: six products for each pixel instead of nine.
"""

import argparse

import relift as rl

n, m = rl.nat("n"), rl.nat("m")
RULES = (
    "separate_dot_vh",  # a weighted sum of a window is one of its columns, then one of their sums
    "map_slide",  # the windows of what is computed are computed from the windows,
    "map_slide<",  # and the other way round
    "map_slide_transpose",
    "map_fusion",
    "map_weighted_sum_fission",
)
SUM = "... >= reduce[3](add)"
SCANLINE = f"map[n](... >= map[m]({SUM}, slide(3, 1, map[m + 2]({SUM}, ...))), slide(3, 1, ...))"


@rl.program
def binomial(image: rl.f32[n, m]):
    """The base form; the border is repeated."""
    weights = rl.literal_array([0.25, 0.5, 0.25])
    window = rl.join(rl.map(lambda v: rl.map(lambda h: rl.mul(v, h), weights), weights))

    def weighted(pixels):
        pairs = rl.zip(window, rl.join(pixels))
        return rl.reduce(rl.add, 0.0, rl.map(lambda p: rl.mul(p[0], p[1]), pairs))

    padded = rl.pad_nd((1, 1), (1, 1), rl.clamp, image)
    return rl.map_nd(2, weighted, rl.slide_nd((3, 3), (1, 1), padded))
