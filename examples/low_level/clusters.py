"""K-means, the assignment of points to centres.

    relift bench kmeans

The points come feature by feature, as Rodinia's kernel reads them.
"""

from dataclasses import replace

from by_hand import BY_HAND
from source import source
from with_numpy import WITH_NUMPY

import relift as rl
from relift.bench import Benchmark, Draw, Reference


def kmeans_gpu(n, k=5, d=34, width=4):
    """All distances of `width` points at once: each feature is read once, each centre for all points."""

    @rl.program
    def kmeans(features: rl.f32[d, n], centres: rl.f32[k, d]):
        def distances(point):
            def step(sums, p):
                gaps = [p[0] - p[1][c] for c in range(k)]
                return tuple(s + gap * gap for s, gap in zip(sums, gaps, strict=True))

            return rl.reduce_seq(step, (0.0,) * k, rl.zip(point, rl.transpose(centres)))

        def closest(distances, c, best):
            """The number of the first centre at the smallest distance, of centre c and later ones."""
            if c == k:
                return best[1]
            nearer = rl.select(distances[c] < best[0], (distances[c], c), best)
            return rl.let(lambda best: closest(distances, c + 1, best), nearer)

        def assigned(point):
            return rl.let(lambda found: closest(found, 1, (found[0], 0)), distances(point))

        points = rl.transpose(features)
        if width == 1:
            return rl.map_glb(0)(assigned, points)
        return rl.as_scalar(rl.map_glb(0)(rl.map_vec(assigned), rl.as_vector(width, points)))

    return kmeans


benchmarks = [
    Benchmark(
        "kmeans",
        "gpu",
        kmeans_gpu,
        sizes={"n": 819200, "k": 5, "d": 34},
        variants=[{"width": 2}, {"width": 1}],
        small=[{"n": 64, "k": 3, "d": 4, "width": 4}, {"n": 100, "k": 5, "d": 34, "width": 1}],
        gold=lambda features, centres: source("kmeans").reference(features.T, centres),
        flops=lambda n, k, d, **_: 3 * n * k * d,
        moved=lambda n, d, **_: 4 * n * d + 4 * n,
        inputs={"features": Draw(0, 8, whole=True), "centres": Draw(0, 8, whole=True)},
        tolerance=0.0,
        reference=Reference("Rodinia", 80.5e-6),
    )
]
benchmarks.append(
    replace(
        benchmarks[0],
        target="cpu",
        sizes={"n": 262144, "k": 5, "d": 34},
        variants=[{"width": 16}],
        small=[{"n": 64, "k": 3, "d": 4, "width": 16}, {"n": 96, "k": 5, "d": 34, "width": 8}],
        reference=None,
        numpy=WITH_NUMPY["kmeans"],
        by_hand=BY_HAND["kmeans"],
    )
)
