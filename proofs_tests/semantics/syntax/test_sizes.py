"""Sizes against sympy, which shares no code with them."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from proofs_tests.strategies import NAMES, assignments, polynomials
from relift.semantics.errors import IllTyped
from relift.semantics.syntax.sizes import Name, Size, nat

# imported so, no type checker infers its types, which takes as long as to check fifty files
sympy: Any = import_module("sympy")

SYMBOLS = {name: sympy.Symbol(name) for name in NAMES}


def as_sympy(p: Size) -> Any:
    """The same polynomial, built by sympy term by term."""
    return sympy.Add(
        *(
            c * sympy.Mul(*(SYMBOLS[str(atom)] ** power for atom, power in monomial))
            for monomial, c in p.terms.items()
        )
    )


@given(polynomials(), polynomials())
def test_arithmetic_is_that_of_polynomials(p: Size, q: Size) -> None:
    """Sums, differences and products are what sympy expands them to."""
    x, y = as_sympy(p), as_sympy(q)

    assert sympy.expand(as_sympy(p + q) - (x + y)) == 0
    assert sympy.expand(as_sympy(p - q) - (x - y)) == 0
    assert sympy.expand(as_sympy(p * q) - x * y) == 0


@given(polynomials(), polynomials())
def test_equality_is_equality_of_polynomials(p: Size, q: Size) -> None:
    """Two sizes are equal exactly when sympy finds no difference, and then their hashes are."""
    same = sympy.expand(as_sympy(p) - as_sympy(q)) == 0

    assert (p == q) == same
    assert not same or hash(p) == hash(q)


@given(polynomials(), polynomials())
def test_division_finds_every_exact_quotient(p: Size, q: Size) -> None:
    """A product divided by one factor is the other one."""
    assume(q != 0)

    assert (p * q).divided_by(q) == p


@given(polynomials(), polynomials())
def test_division_is_exact_or_refused(p: Size, q: Size) -> None:
    """There is a quotient exactly when sympy divides without remainder over the integers."""
    assume(q != 0)
    quotient, rest = sympy.div(as_sympy(p), as_sympy(q), *SYMBOLS.values(), domain="QQ")
    exact = rest == 0 and all(
        c.is_integer for c in sympy.Poly(quotient, *SYMBOLS.values()).coeffs()
    )
    ours = p.divided_by(q)

    assert (ours is not None) == exact
    assert ours is None or sympy.expand(as_sympy(ours) - quotient) == 0


@given(polynomials(), assignments())
def test_evaluation_is_substitution(p: Size, values: dict[str, int]) -> None:
    """The value at numbers is what sympy computes, and what substituting constants gives."""
    expected = as_sympy(p).subs({SYMBOLS[name]: value for name, value in values.items()})
    constants = {name: Size.of(value) for name, value in values.items()}

    assert p.evaluate(values) == expected
    assert p.substitute(constants).constant == expected


@given(polynomials(), polynomials(), polynomials())
def test_substitution_is_simultaneous(p: Size, q: Size, r: Size) -> None:
    """Names are replaced all at once, also by sizes that mention them."""
    expected = as_sympy(p).subs(
        {SYMBOLS["n"]: as_sympy(q), SYMBOLS["m"]: as_sympy(r)}, simultaneous=True
    )

    assert sympy.expand(as_sympy(p.substitute({"n": q, "m": r})) - expected) == 0


@given(polynomials())
def test_linear_parts_add_up(p: Size) -> None:
    """`a*n + b` is the size, with n in neither part; a size of higher degree in n has no such form."""
    parts = p.linear_in("n")
    degree = sympy.Poly(as_sympy(p), SYMBOLS["n"]).degree() if p != 0 else 0

    assert (parts is None) == (degree > 1)
    if parts is not None:
        a, b = parts
        assert a * nat("n") + b == p
        assert "n" not in a.names() | b.names()


@given(polynomials(), assignments())
def test_what_is_surely_at_least_a_bound_is(p: Size, values: dict[str, int]) -> None:
    """No admissible value lies below a bound that holds surely."""
    least_one = {name: max(1, value) for name, value in values.items()}
    for bound in (0, 1, 3):
        if p.surely_at_least(bound):
            assert p.evaluate(least_one) >= bound


@given(polynomials())
def test_printed_sizes_read_back(p: Size) -> None:
    """The text of a size is Python that builds the size."""
    assert eval(str(p), {name: nat(name) for name in NAMES}) == p


def test_least_value_counts() -> None:
    """A size of a program is at least 1, a size of a rule at least 0."""
    assert (nat("n") - 1).surely_at_least(0)
    assert not (Size.atom(Name("n")) - 1).surely_at_least(0)


def test_missing_value_is_named() -> None:
    """A size without a value says which, and how to give it."""
    with pytest.raises(IllTyped, match=r"size m has no value; give it with --size m="):
        (nat("n") * nat("m")).evaluate({"n": 3})


@given(polynomials(), polynomials(), polynomials())
def test_sizes_are_a_commutative_ring(p: Size, q: Size, r: Size) -> None:
    """The laws of the ring, as equalities of canonical forms."""
    assert p + q == q + p
    assert p * q == q * p
    assert (p + q) + r == p + (q + r)
    assert (p * q) * r == p * (q * r)
    assert p * (q + r) == p * q + p * r
    assert p + 0 == p == p * 1
    assert p - p == 0 == p * 0


@given(polynomials(), st.integers(0, 3))
def test_powers_are_products(p: Size, power: int) -> None:
    """A power is what sympy expands it to."""
    assert sympy.expand(as_sympy(p**power) - as_sympy(p) ** power) == 0


@given(polynomials(), polynomials())
def test_linear_equations_are_solved(a: Size, b: Size) -> None:
    """The one unknown of `a*x + b = c` is found by exact division, as typing does it."""
    assume(a != 0)
    x = nat("x")
    c = a * (nat("n") + 2) + b
    linear = (a * x + b).linear_in("x")

    assert linear == (a, b)
    assert (c - b).divided_by(a) == nat("n") + 2


@given(polynomials(), st.integers(0, 4), assignments())
def test_least_values_are_used_and_not_overstated(
    p: Size, least: int, values: dict[str, int]
) -> None:
    """With every name at least `least`, a bound that holds surely holds at each such value."""
    names = {name: nat(name, least) for name in NAMES}
    stated = p.substitute(names)
    if p.names() and stated.surely_at_least(1):
        assert p.evaluate({name: least + value for name, value in values.items()}) >= 1


@pytest.mark.parametrize(
    ("written", "printed", "quotient"),
    [
        (nat("n", multiple_of=4), "4*n_by_4", "n_by_4"),
        (nat("n", multiple_of=nat("m")), "m*n_by_m", "n_by_m"),
        (nat("n", multiple_of=2 * nat("m")), "2*m*n_by_2_m", "n_by_2_m"),
        (nat("k") * nat("m"), "k*m", "k"),
    ],
)
def test_stated_divisibility_is_decided(written: Size, printed: str, quotient: str) -> None:
    """A multiple divides exactly and by its factors, and prints as a product."""
    factor = written // nat(quotient)

    assert str(written) == printed
    assert str(written // factor) == quotient
    assert (written + 1).divided_by(factor) is None


def test_a_multiple_keeps_its_least_value() -> None:
    """At least 6 and a multiple of 4 is at least 8."""
    n = nat("n", least=6, multiple_of=4)

    assert (n - 8).surely_at_least(0)
    assert not (n - 9).surely_at_least(0)


ORDER = """
from relift.semantics.syntax.sizes import nat
from relift.semantics.syntax.types import f32
names = [nat(name) for name in ("zeta", "n", "m", "k10", "k9", "a")]
p = sum(names) + 7
print(p * p - names[2] * names[4], list(p.atoms() & {"n"}), f32[p, names[0] * names[5]])
print([str(q) for q, _ in ((p * p).divided_by(p) * p).ordered()])
"""


def test_printed_order_never_changes_between_runs() -> None:
    """The text of sizes does not depend on the seed of Python's hashes."""
    texts = {
        subprocess.run(
            [sys.executable, "-c", ORDER],
            env=os.environ | {"PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in (0, 1, 2, 3)
    }

    assert len(texts) == 1


@settings(max_examples=50)
@given(st.permutations(["a*b", "b*a*2", "c", "a", "7", "c*c"]))
def test_printed_order_does_not_depend_on_how_a_size_is_built(summands: list[str]) -> None:
    """Equal sizes have equal texts."""
    names = {name: nat(name) for name in "abc"}
    total = Size.of(0)
    for text in summands:
        total = total + eval(text, dict(names))

    assert str(total) == "3*a*b + c*c + a + c + 7"
