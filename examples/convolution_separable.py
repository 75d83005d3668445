"""Convolution with weights that are a product: along the rows, then along the columns.

relift run examples/convolution_separable.py --size h=256,w=256,r=8 --random 0 --check
"""

import numpy as np

import relift as rl

h, w, r = rl.nat("h"), rl.nat("w"), rl.nat("r")


@rl.program
def convolution_separable(image: rl.f32[h, w], rows: rl.f32[2 * r + 1], columns: rl.f32[2 * r + 1]):
    """The NVIDIA SDK's, with r = 8; beyond the border the image is 0."""

    def along(line, weights):
        def weighted(window):
            return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(window, weights)))

        return rl.map(weighted, rl.slide(2 * r + 1, 1, rl.pad(r, r, 0.0, line)))

    blurred = rl.map(lambda row: along(row, rows), image)
    return rl.transpose(rl.map(lambda column: along(column, columns), rl.transpose(blurred)))


@convolution_separable.gold
def with_numpy(image, rows, columns):
    def along(image, weights, axis):
        widths = [(0, 0), (0, 0)]
        widths[axis] = (len(weights) // 2,) * 2
        padded = np.pad(image.astype(np.float64), widths)
        windows = np.lib.stride_tricks.sliding_window_view(padded, len(weights), axis)
        return windows @ weights

    return along(along(image, rows, 1), columns, 0)
