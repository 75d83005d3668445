"""Windows that tiles do not divide, as the first of more: the same values, by PROVED rules, and tiles that fit."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from relift import (
    add,
    clamp,
    f32,
    map,
    map_nd,
    maximum,
    nat,
    pad,
    pad_nd,
    program,
    reduce,
    slide,
    slide_nd,
    take,
    transpose,
)
from relift import zip as zipped
from relift.compiler.agreement.inputs import whole_inputs
from relift.compiler.certificates.claims import certificates
from relift.compiler.program import compile_program
from relift.device import GPU
from relift.egraph.search.optimize import optimize
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.derivation.steps import Derivation
from relift.rewrites.ledger import book as ledger
from relift.rewrites.library import RULES
from relift.rewrites.loading import load_program
from relift.rewrites.tactics.combinators import derive, inside, then
from relift.rewrites.tactics.groups.stencils import strips_in_groups
from relift.rewrites.tactics.groups.whole_windows import whole_windows
from relift.semantics.indices.inverses import written_place
from relift.semantics.language.programs import Program
from relift.semantics.patterns import Slide
from relift.semantics.syntax.binding import term_at
from relift.semantics.syntax.terms import Term, subterms
from relift.semantics.syntax.types import dimensions

EXAMPLES = Path(__file__).parents[3] / "examples"
c, n, m = nat("c"), nat("n"), nat("m")


def stencil(name: str) -> Program:
    return load_program(str(EXAMPLES / f"{name}.py"))


@program
def sums(xs: f32[n + 2]):
    return map(lambda w: reduce(add, 0.0, w), slide(3, 1, xs))


@program
def every_other(xs: f32[n * 2 + 1]):
    return map(lambda w: reduce(maximum, 0.0, w), slide(3, 2, xs))


@program
def with_the_first(xs: f32[n + 2], ys: f32[n + 7]):
    """What is zipped with the windows is a part of an array already, which has more than they lack."""
    pairs = zipped(slide(3, 1, xs), take(n, ys))
    return map(lambda p: reduce(add, 0.0, p[0]) * p[1], pairs)


@program
def of_columns(image: f32[n, m]):
    """What is transposed is transposed back after the windows."""

    def column(xs):
        return map(lambda w: reduce(add, 0.0, w), slide(3, 1, pad(1, 1, clamp, xs)))

    return transpose(map(column, transpose(image)))


@program
def of_channels(images: f32[c, n, m]):
    def blurred(image):
        windows = slide_nd((3, 3), (1, 1), pad_nd((1, 1), (1, 1), clamp, image))
        return map_nd(
            2, lambda w: reduce(add, 0.0, map(lambda row: reduce(add, 0.0, row), w)), windows
        )

    return map(blurred, images)


CASES = {
    "one line": (sums, {"n": 31}, [32]),
    "steps of two": (every_other, {"n": 31}, [32]),
    "with a part of another line": (with_the_first, {"n": 31}, [32]),
    "columns": (of_columns, {"n": 31, "m": 3}, [32]),
    "channels": (of_channels, {"c": 2, "n": 15, "m": 31}, [32]),
    "an image": (stencil("j2d5pt"), {"n": 31, "m": 63}, [32, 64]),
    "its borders are 0": (stencil("convolution"), {"h": 31, "w": 31, "r": 1}, [32, 32]),
    "three dimensions": (stencil("j3d7pt"), {"n": 15, "m": 31, "k": 31}, [32, 32]),
    "with cells of another image": (stencil("hotspot"), {"n": 31, "m": 31}, [32, 32]),
    "and of two more": (stencil("acoustic"), {"n": 3, "m": 31, "k": 31}, [32, 32]),
}  # fmt: skip


@pytest.fixture(scope="module", params=CASES.values(), ids=list(CASES))
def found(request: pytest.FixtureRequest) -> tuple[Derivation, list[int]]:
    source, sizes, whole = request.param
    return derive(source, whole_windows, sizes), whole


def windows_in(t: Term) -> list[int]:
    """How many windows there are in each dimension in which tiles divide them."""
    numbers = (
        dimensions(u.type)[0][0].constant or 0 for u, _ in subterms(t) if isinstance(u, Slide)
    )
    return sorted(number for number in numbers if number % 32 == 0)


def test_the_windows_are_those_of_longer_arrays(found: tuple[Derivation, list[int]]) -> None:
    derivation, whole = found

    assert windows_in(derivation.result) == whole


def test_what_is_taken_is_taken_last(found: tuple[Derivation, list[int]]) -> None:
    derivation, whole = found
    below = written_place(derivation.result)

    assert below[: len(whole)] == ("xs",) * len(whole)
    assert windows_in(term_at(derivation.result, below)) == whole


def test_the_rules_are_proved_and_the_values_are_the_same(
    found: tuple[Derivation, list[int]],
) -> None:
    derivation, _ = found
    entries = ledger.load()

    assert {entries[step.rule].tiers["4b"].status for step in derivation.steps} == {"proved"}
    assert derivation.replay(RULES)[-1] == derivation.result
    longer = replace(derivation.program, body=derivation.result)
    arrays = whole_inputs(derivation.program, seed=1)
    np.testing.assert_array_equal(longer(*arrays), derivation.program(*arrays))


@pytest.mark.parametrize(("source", "sizes"), [(sums, {"n": 32}), (sums, {"n": 29}), (stencil("dot"), {"n": 31})], ids=["divided", "too many more", "no windows"])  # fmt: skip
def test_nothing_is_longer_where_tiles_divide_or_would_add_too_much(
    source: Program, sizes: dict[str, int]
) -> None:
    with pytest.raises(NoMatch, match="tiles divide them"):
        derive(source, whole_windows, sizes)


def test_tiles_at_the_end_write_what_is_taken_of_them() -> None:
    tiles = then(whole_windows, inside("xs", "xs")(strips_in_groups(8, 4)))
    found = derive(stencil("convolution"), tiles, {"h": 31, "w": 31, "r": 1})
    kernel = compile_program(replace(found.program, body=found.result))
    arrays = whole_inputs(found.program, seed=1)

    np.testing.assert_array_equal(kernel(*arrays), found.program(*arrays))
    (certificate,) = certificates(kernel)
    assert {claim.verdict for claim in certificate.claims} <= {"proved", "shown"}


@pytest.mark.no_device
def test_an_image_of_a_prime_size_is_found_as_fast_as_its_neighbour() -> None:
    odd, even = (optimize(stencil("j2d9pt"), {"n": s, "m": s}, GPU) for s in (4093, 4096))

    assert odd.candidates[0].cost.seconds <= 1.05 * even.candidates[0].cost.seconds
