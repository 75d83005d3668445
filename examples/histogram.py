"""Histogram without scans or scattered writes: each bin counts the values that are its own.

relift run examples/histogram.py --size n=4096,b=16 --random 0 --check
"""

import numpy as np

import relift as rl

n, b = rl.nat("n"), rl.nat("b")


@rl.program
def histogram(values: rl.i32[n], bins: rl.i32[b]):
    """How often the value of every bin occurs."""

    def occurrences(label):
        found = rl.map(lambda value: rl.select(rl.equal(value, label), 1, 0), values)
        return rl.reduce(rl.add, 0, found)

    return rl.map(occurrences, bins)


@histogram.gold
def with_numpy(values, bins):
    return (values[None, :] == bins[:, None]).sum(axis=1).astype(np.int32)
