"""K-means, the step that takes the time: the nearest of k centres for every point.

relift run examples/kmeans.py --size n=4096,k=5,d=34 --random 0 --check

Of centres at the same distance the first is taken.
"""

import numpy as np

import relift as rl

n, k, d = rl.nat("n"), rl.nat("k"), rl.nat("d")


@rl.program
def kmeans(points: rl.f32[n, d], centres: rl.f32[k, d]):
    """The number of the centre that every point belongs to."""

    def squared_distance(point, centre):
        gaps = rl.map(lambda p: p[0] - p[1], rl.zip(point, centre))
        return rl.reduce(rl.add, 0.0, rl.map(lambda gap: gap * gap, gaps))

    def closer(best, distance):
        nearest, number, i = best
        taken = distance < nearest
        return (rl.minimum(distance, nearest), rl.select(taken, i, number), i + 1)

    def assigned(point):
        distances = rl.map(lambda centre: squared_distance(point, centre), centres)
        return rl.reduce_seq(closer, (float("inf"), 0, 0), distances)[1]

    return rl.map(assigned, points)


@kmeans.gold
def with_numpy(points, centres):
    gaps = points.astype(np.float64)[:, None, :] - centres[None, :, :]
    return np.argmin((gaps**2).sum(axis=2), axis=1).astype(np.int32)
