"""Convolution of an image with a square of weights; beyond the border the image is 0.

relift run examples/convolution.py --size h=256,w=256,r=2 --random 0 --check
"""

import numpy as np

import relift as rl

h, w, r = rl.nat("h"), rl.nat("w"), rl.nat("r")


@rl.program
def convolution(image: rl.f32[h, w], weights: rl.f32[2 * r + 1, 2 * r + 1]):
    """The sum of the weighted pixels around every pixel, r to each side."""

    def weighted(window):
        products = rl.map(lambda p: p[0] * p[1], rl.zip(rl.join(window), rl.join(weights)))
        return rl.reduce(rl.add, 0.0, products)

    padded = rl.pad_nd((r, r), (r, r), 0.0, image)
    return rl.map_nd(2, weighted, rl.slide_nd((2 * r + 1, 2 * r + 1), (1, 1), padded))


@convolution.gold
def with_numpy(image, weights):
    padded = np.pad(image.astype(np.float64), len(weights) // 2)
    windows = np.lib.stride_tricks.sliding_window_view(padded, weights.shape)
    return np.einsum("ijkl,kl->ij", windows, weights)
