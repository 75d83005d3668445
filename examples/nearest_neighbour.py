"""Nearest neighbour, the part that Rodinia runs on the device: the distance of every record to a place.

relift run examples/nearest_neighbour.py --size n=1048576 --random 0 --check
"""

import numpy as np

import relift as rl

n = rl.nat("n")
place = rl.tup(rl.f32, rl.f32)


@rl.program
def nearest_neighbour(records: place[n], latitude: rl.f32, longitude: rl.f32):
    """The Euclidean distance in degrees."""

    def distance(p):
        south, east = latitude - p[0], longitude - p[1]
        return rl.sqrt(south * south + east * east)

    return rl.map(distance, records)


@nearest_neighbour.gold
def with_numpy(records, latitude, longitude):
    latitudes, longitudes = (a.astype(np.float64) for a in records)
    return np.hypot(latitude - latitudes, longitude - longitudes)
