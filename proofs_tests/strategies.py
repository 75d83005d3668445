"""Hypothesis strategies for the tests: sizes and types; for programs see `relift.testing`."""

from __future__ import annotations

from hypothesis import strategies as st

from relift.semantics.syntax.sizes import Size, nat
from relift.semantics.syntax.types import Scalar, Type, boolean, f32, f64, i32, i64, tup, vec

NAMES = ("n", "m", "k")


def small_naturals() -> st.SearchStrategy[int]:
    """Numbers that a size may be."""
    return st.integers(0, 6)


def polynomials() -> st.SearchStrategy[Size]:
    """Sizes over `NAMES`, of degree 3 at most and with negative coefficients, too."""
    leaves = st.one_of(st.sampled_from(NAMES).map(nat), st.integers(-4, 4).map(Size.of))
    return st.recursive(
        leaves,
        lambda below: st.one_of(
            st.builds(lambda p, q: p + q, below, below),
            st.builds(lambda p, q: p - q, below, below),
            st.builds(lambda p, q: p * q, below, below),
        ),
        max_leaves=5,
    )


def assignments() -> st.SearchStrategy[dict[str, int]]:
    """A value for each of `NAMES`."""
    return st.fixed_dictionaries({name: small_naturals() for name in NAMES})


def lengths() -> st.SearchStrategy[Size]:
    """Lengths of arrays, known and symbolic."""
    n, m = nat("n"), nat("m")
    return st.sampled_from([Size.of(2), Size.of(4), Size.of(6), 4 * n, 2 * n + 2, n * m, n + m + 1])


def scalar_types() -> st.SearchStrategy[Scalar]:
    """All scalar types."""
    return st.sampled_from([f32, f64, i32, i64, boolean])


def types() -> st.SearchStrategy[Type]:
    """All types that a program can have."""
    return st.recursive(
        scalar_types(),
        lambda below: st.one_of(
            st.builds(lambda t, n: t[n], below, lengths()),
            st.builds(lambda t, u: tup(t, u), below, below),
            st.builds(lambda t, w: vec(t, w), scalar_types(), st.sampled_from([2, 4])),
        ),
        max_leaves=4,
    )
