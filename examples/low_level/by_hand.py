"""How the files of opencl/ are launched: for each algorithm, what a person would write for a CPU in OpenCL.

A benchmark of the same program, here or in examples/searched, is timed beside its text in one run.
"""

from pathlib import Path

from relift.bench import ByHand, Step, rows_of_groups

FOLDER = Path(__file__).parent / "opencl"


def each(kernel, items, most=64):
    """One launch of this many work-items."""
    return [Step(kernel, (items,), rows_of_groups(items, most))]


def by_rows(kernel):
    """A work-item for each of the n rows of a grid."""
    return lambda n, **_: each(kernel, n, 16)


def by_lanes(kernel):
    """A work-item for 16 of n elements."""
    return lambda n, **_: each(kernel, n // 16)


BY_HAND = {
    "dot": ByHand(
        FOLDER / "dot.cl",
        lambda **_: [
            Step("parts", (64,), (8,), ("x", "y", "partial")),
            Step("total", (1,), (1,), ("partial", "out")),
        ],
        temporaries=lambda **_: {"partial": 64},
        constants={"PARTS": 64},
    ),
    "saxpy": ByHand(FOLDER / "saxpy.cl", by_lanes("saxpy")),
    "gemv": ByHand(FOLDER / "gemv.cl", lambda n, **_: each("gemv", n // 4, 16)),
    "transpose": ByHand(
        FOLDER / "transpose.cl", lambda n, m: [Step("transpose", (m // 16, n // 16), (1, 16))]
    ),
    "j2d5pt": ByHand(FOLDER / "j2d5pt.cl", by_rows("j2d5pt")),
    "j2d5pt_border": ByHand(FOLDER / "stencils_border.cl", by_rows("j2d5pt_border")),
    "j2d9pt": ByHand(FOLDER / "stencils_border.cl", by_rows("j2d9pt")),
    "j3d7pt": ByHand(
        FOLDER / "j3d7pt.cl", lambda n, m, k: [Step("j3d7pt", (m, n), (*rows_of_groups(m, 16), 1))]
    ),
    "convolution": ByHand(
        FOLDER / "convolution.cl", lambda h, w: [Step("convolution", (w // 16, h // 4), (16, 1))]
    ),
    "convolution_border": ByHand(
        FOLDER / "convolution_border.cl", lambda h, **_: each("convolution", h // 4, 16)
    ),
    "nbody": ByHand(FOLDER / "nbody.cl", lambda n, **_: each("nbody", n // 16, 16)),
    "kmeans": ByHand(FOLDER / "kmeans.cl", by_lanes("kmeans")),
    "kmeans_rows": ByHand(FOLDER / "kmeans.cl", lambda n, **_: each("kmeans_rows", n)),
    "black_scholes": ByHand(FOLDER / "black_scholes.cl", by_lanes("black_scholes")),
    "mriq": ByHand(FOLDER / "mriq.cl", lambda n, **_: each("mriq", n // 16, 16)),
    "matmul": ByHand(
        FOLDER / "matmul.cl",
        lambda n, m, k: [
            Step("pack", (m // 32,), (1,), ("B", "P")),
            Step("multiply", (n // 8, m // 32), (8, 1), ("A", "P", "out")),
        ],
        temporaries=lambda m, k, **_: {"P": m * k},
    ),
}
