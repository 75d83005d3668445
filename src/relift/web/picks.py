"""What there is to begin with: programs in the printed language, a rule that holds and one that does not, and in Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Pick:
    """A program to begin with; at `sizes` it is searched for."""

    source: str
    sizes: str


PROGRAMS: Mapping[str, Pick] = {
    "dot product": Pick(
        "dot(x: f32[n], y: f32[n]) =\n  reduce(add, 0.0, map(lambda p: p[0] * p[1], zip(x, y)))",
        "n=65536",
    ),
    "saxpy": Pick(
        "saxpy(a: f32, x: f32[n], y: f32[n]) =\n  map(lambda p: a * p[0] + p[1], zip(x, y))",
        "n=65536",
    ),
    "matrix times vector": Pick(
        "gemv(m: f32[r, c], x: f32[c]) =\n"
        "  map(lambda row: reduce(add, 0.0, map(lambda p: p[0] * p[1], zip(row, x))), m)",
        "r=256,c=256",
    ),
    "matrix product": Pick(
        "matmul(a: f32[n, k], b: f32[k, m]) =\n"
        "  map(lambda row: map(lambda column:\n"
        "    reduce(add, 0.0, map(lambda p: p[0] * p[1], zip(row, column))), transpose(b)), a)",
        "n=128,k=128,m=128",
    ),
    "three-point stencil": Pick(
        "jacobi(x: f32[n]) =\n"
        "  map(lambda w: (w[0] + w[1] + w[2]) / 3.0, slide(3, 1, pad(1, 1, clamp, x)))",
        "n=65536",
    ),
}

RULE_AS_PRINTED = (
    "split_sum(op: Op[A], z: A, xs: A[k * m]):\n"
    "  reduce(op, z, xs) == reduce(op, z, map(lambda c: reduce(op, z, c), split(m, xs)))\n"
    "  where associative(op), neutral(op, z)\n"
)

RULE_IN_PYTHON = '''import relift as rl

A, B, C = rl.type_variables("A B C")
n, m = rl.naturals("n m")


@rl.rule()
def interchange(h: rl.Fun[A, B, C], xs: A[n], ys: B[n]):
    """Map interchange that forgets to transpose: its types fit, for the matrix is square."""
    return (
        rl.map(lambda x: rl.map(lambda y: h(x, y), ys), xs),
        rl.map(lambda y: rl.map(lambda x: h(x, y), xs), ys),
    )
'''

PROGRAM_IN_PYTHON = '''import relift as rl

n = rl.nat("n")


@rl.program
def dot(x: rl.f32[n], y: rl.f32[n]):
    """The sum of the products of corresponding elements."""
    return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(x, y)))
'''
