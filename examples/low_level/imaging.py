"""MRI-Q, and the separable convolution with 17 weights.

relift bench mriq convolution_separable
"""

from dataclasses import replace

import numpy as np
from by_hand import BY_HAND
from particles import FAST, lanes_of
from source import source
from tree import across
from with_numpy import WITH_NUMPY

import relift as rl
from relift.bench import Benchmark, Reference

voxel = rl.tup(rl.f32, rl.f32, rl.f32)
sample = rl.tup(rl.f32, rl.f32, rl.f32, rl.f32)


def mriq_gpu(n, k):
    """A voxel per work-item; the samples, in vectors of four, are the same for all work-items."""

    @rl.program
    def mriq(voxels: voxel[n], samples: sample[k]):
        def step(acc, v, s):
            def turned(angle):
                return (acc[0] + s[3] * rl.cos(angle), acc[1] + s[3] * rl.sin(angle))

            return rl.let(turned, (2 * np.pi) * (s[0] * v[0] + s[1] * v[1] + s[2] * v[2]))

        def q(v):
            def four(acc, w):
                return rl.reduce_seq(lambda acc, s: step(acc, v, s), acc, lanes_of(w))

            return rl.reduce_seq(four, (0.0, 0.0), rl.as_vector(4, samples))

        return rl.map_glb(0)(lambda voxel: rl.let(q, rl.to_private(voxel)), voxels)

    return mriq


def mriq_cpu(n, k, width=16):
    """A vector of voxels per work-item; the samples come one after the other."""

    @rl.program
    def mriq(voxels: voxel[n], samples: sample[k]):
        def q(v):
            def step(acc, s):
                def turned(angle):
                    return (acc[0] + s[3] * rl.cos(angle), acc[1] + s[3] * rl.sin(angle))

                return rl.let(turned, (2 * np.pi) * (s[0] * v[0] + s[1] * v[1] + s[2] * v[2]))

            return rl.reduce_seq(step, (0.0, 0.0), samples)

        return rl.as_scalar(rl.map_glb(0)(rl.map_vec(q), rl.as_vector(width, voxels)))

    return mriq


def convolution_separable_gpu(h, w, r=8, items=256, along=4, down=8):
    """Rows through local memory, `along` pixels per work-item; columns through registers, `down` pixels."""

    def weighted(window, weights):
        return rl.reduce_seq_unroll(lambda acc, p: acc + p[0] * p[1], 0.0, rl.zip(window, weights))

    def in_registers(xs):
        return rl.to_private(rl.map_seq_unroll(lambda v: v, xs))

    def row_pass(image, weights):
        chunk = items * along

        def group(line):
            tile = rl.to_local(rl.map_lcl(0)(lambda v: v, line))

            def item(windows):
                def all_of_them(own):
                    return rl.map_seq_unroll(lambda window: weighted(window, own), windows)

                return rl.let(all_of_them, in_registers(weights))

            windows = across(items, rl.slide(2 * r + 1, 1, tile))
            return rl.join(rl.transpose(rl.map_lcl(0)(item, windows)))

        def row(line):
            chunks = rl.slide(chunk + 2 * r, chunk, rl.pad(r, r, 0.0, line))
            return rl.join(rl.map_wrg(0)(group, chunks))

        return rl.map_wrg(1)(row, image)

    def column_pass(image, weights):
        padded = rl.pad_nd((r,), (r,), 0.0, image)
        strips = rl.slide(down + 2 * r, down, padded)

        def strip(lines):
            def item(column):
                own = in_registers(column)
                return rl.map_seq_unroll(
                    lambda window: weighted(window, weights), rl.slide(2 * r + 1, 1, own)
                )

            def group(columns):
                return rl.map_lcl(0)(item, columns)

            columns = rl.split(items, rl.transpose(lines))
            return rl.transpose(rl.join(rl.map_wrg(0)(group, columns)))

        return rl.join(rl.map_wrg(1)(strip, strips))

    @rl.program
    def convolution_separable(
        image: rl.f32[h, w], rows: rl.f32[2 * r + 1], columns: rl.f32[2 * r + 1]
    ):
        return column_pass(rl.to_global(row_pass(image, rows)), columns)

    return convolution_separable


benchmarks = [
    Benchmark(
        "mriq",
        "gpu",
        mriq_gpu,
        sizes={"n": 262144, "k": 2048},
        small=[{"n": 64, "k": 16}, {"n": 100, "k": 64}],
        gold=source("mriq").reference,
        flops=lambda n, k, **_: 12 * n * k,
        moved=lambda n, k, **_: 20 * n + 16 * k,
        options=FAST,
        tolerance=1e-4,
        reference=Reference("Parboil, its base version", 426.9e-6),
    ),
    Benchmark(
        "convolution_separable",
        "gpu",
        convolution_separable_gpu,
        sizes={"h": 8192, "w": 8192},
        variants=[{"along": 8}, {"along": 4}],
        small=[
            {"h": 16, "w": 64, "r": 2, "items": 8, "along": 2, "down": 4},
            {"h": 32, "w": 128, "r": 8, "items": 32, "along": 2, "down": 8},
        ],
        gold=source("convolution_separable").reference,
        flops=lambda h, w, **_: 68 * h * w,
        moved=lambda h, w, **_: 16 * h * w,
        options=FAST,
        reference=Reference("NVIDIA SDK", 603.1e-6),
    ),
]
benchmarks.append(
    replace(
        benchmarks[0],
        target="cpu",
        make=mriq_cpu,
        sizes={"n": 16384, "k": 512},
        small=[{"n": 64, "k": 16}, {"n": 96, "k": 64, "width": 8}],
        reference=None,
        numpy=WITH_NUMPY["mriq"],
        by_hand=BY_HAND["mriq"],
    )
)
