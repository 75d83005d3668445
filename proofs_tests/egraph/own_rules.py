"""Rules and strategies as a user has them in a file: one that is proved, one that is wrong, one into a function of theirs."""

# mypy: disable-error-code="misc, no-any-return, no-untyped-call, no-untyped-def, untyped-decorator, valid-type"
# (the annotations of rules and programs are sizes and types of the object language, not Python types)

from __future__ import annotations

import numpy as np

import relift as rl
from relift.strategies import apply, topdown

A, B = rl.type_variables("A B")
k, m, n = rl.naturals("k m n")


@rl.rule()
def total_of_scan(f: rl.Fun[B, A, B], z: B, xs: A[n + 1]):
    """The last of the running results is the result."""
    return rl.scan_seq(f, z, xs)[n], rl.reduce_seq(f, z, xs)


@rl.rule()
def in_strips(f: rl.Fun[A, B], xs: A[k * m]):
    """The elements of a map in strips, one of each chunk at a time."""
    strips = rl.transpose(rl.split(m, xs))
    return rl.map(f, xs), rl.join(rl.transpose(rl.map(lambda c: rl.map(f, c), strips)))


@rl.rule()
def a_half_is_a_quarter(x: rl.f32):
    """Wrong."""
    return x * 0.5, x * 0.25


@rl.userfun(c="return rsqrt(x);")
def inv_sqrt(x: rl.f32) -> rl.f32:
    """1 / sqrt(x)"""
    return np.float32(1.0) / np.sqrt(np.float32(x))


@rl.rule()
def use_inv_sqrt(x: rl.f32):
    """The reciprocal of a square root is one instruction."""
    return 1.0 / rl.sqrt(x), inv_sqrt(x)


N = rl.nat("n")


@rl.program
def norm(x: rl.f32[N]):
    """Each element over the length of itself and one."""
    return rl.map(lambda v: v * (1.0 / rl.sqrt(v * v + 1.0)), x)


@rl.program
def total(x: rl.f32[N + 1]):
    """The last of the running sums."""
    return rl.scan_seq(rl.add, 0.0, x)[N]


strips_of_four = topdown(apply(in_strips, m=4))
strips_of_a_reduction = topdown(apply("reduce_to_seq"))
