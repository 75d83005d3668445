"""The matrix product in low-level patterns: one work-item for each element, one kernel for all sizes.

relift compile examples/matmul_low_level.py --certify
relift compile examples/matmul_low_level.py --size k=512 --local 16,16
"""

import relift as rl

m, k, n = rl.nat("m"), rl.nat("k"), rl.nat("n")


@rl.program
def matmul(A: rl.f32[m, k], B: rl.f32[k, n]):
    """Each element is the inner product of a row and a column."""

    def inner(row, column):
        return rl.reduce_seq(lambda acc, p: acc + p[0] * p[1], 0.0, rl.zip(row, column))

    return rl.map_glb(1)(
        lambda row: rl.map_glb(0)(lambda column: inner(row, column), rl.transpose(B)), A
    )


@matmul.gold
def with_numpy(A, B):
    return A @ B
