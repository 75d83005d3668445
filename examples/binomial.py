"""A binomial filter from its base form to scan-line form, from the sketch of the goal alone.

python examples/binomial.py [--height 1024] [--width 2048]

The base form takes a window of 3 by 3 around every pixel and the sum of its nine weighted elements.  The weights
are an outer product, so a line of three rows can be summed down its columns first, and every three sums then
be summed along the line: six products for each pixel instead of nine.  No stage in between is given, only the
rules and the goal; every step is replayed, and every rule is proved.
"""

import argparse

import relift as rl

n, m = rl.nat("n"), rl.nat("m")
RULES = (
    "separate_dot_vh",  # a weighted sum of a window is one of its columns, then one of their sums
    "map_slide",  # the windows of what is computed are computed from the windows, ...
    "map_slide<",  # ... and the other way round
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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--height", type=int, default=1024, help="rows of the image")
    parser.add_argument("--width", type=int, default=2048, help="columns of the image")
    sizes = parser.parse_args()
    values = {"n": sizes.height, "m": sizes.width}
    found = rl.reach(binomial, SCANLINE, values, stages=[(RULES, SCANLINE)])
    print(rl.show(found.derivation.result))
    print()
    print(*(step.rule for step in found.derivation.steps), sep="\n")
    print()
    print(
        f"{'goal':18}{'nodes':>7}{'classes':>9}{'applied':>9}{'time':>9}{'memory':>9}{'steps':>7}"
    )
    print(
        f"{'scan-line':18}{found.nodes:7}{found.classes:9}{found.applied:9}"
        f"{found.seconds:7.2f} s{found.peak_mb:6.0f} MB{len(found.derivation.steps):7}"
    )


if __name__ == "__main__":
    main()
