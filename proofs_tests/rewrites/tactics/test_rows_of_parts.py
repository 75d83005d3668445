"""Rows that are put together of parts: PROVED rules, right results whatever the lengths, and the search finds them."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import relift as rl
from relift.compiler.agreement.inputs import random_inputs
from relift.compiler.program import compile_program
from relift.device import CPU
from relift.egraph.search.optimize import optimize
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.ledger.book import require_proved
from relift.rewrites.library import RULES
from relift.rewrites.tactics.combinators import derive
from relift.rewrites.tactics.vectors.rows_of_parts import rows_of_parts
from relift.semantics.language.programs import Program
from relift.semantics.syntax.terms import subterms
from relift.semantics.syntax.types import Vector, types_within

k, n, m = rl.nat("k"), rl.nat("n"), rl.nat("m")
WIDTH = 4


@rl.program
def beside(x: rl.f32[n, m], y: rl.f32[n, k]):
    return rl.map(lambda p: rl.concat(p[0], p[1]), rl.zip(x, y))


@rl.program
def three(x: rl.f32[n, m]):
    return rl.map(
        lambda r: rl.concat(r, rl.concat(rl.map(lambda v: v + v, r), rl.make_array(1.0))), x
    )


@rl.program
def wavelets(x: rl.f32[n, 2 * m]):
    def of_row(row):
        pairs = rl.split(2, row)
        means = rl.map(lambda p: 0.5 * (p[0] + p[1]), pairs)
        return rl.concat(means, rl.map(lambda p: 0.5 * (p[0] - p[1]), pairs))

    return rl.map(of_row, x)


@rl.program
def pools(x: rl.f32[n, k, m]):
    def of_image(image):
        sums = rl.map(lambda c: rl.reduce(rl.add, 0.0, c), image)
        return rl.concat(sums, rl.map(lambda c: rl.reduce(rl.maximum, -1.0, c), image))

    return rl.map(of_image, x)


@rl.program
def tables(x: rl.f32[n, k, m], y: rl.f32[n, k, m]):
    return rl.map(
        lambda p: rl.map(lambda q: rl.concat(q[0], q[1]), rl.zip(p[0], p[1])), rl.zip(x, y)
    )


@rl.program
def below(x: rl.f32[n, k, m], y: rl.f32[n, k, m]):
    return rl.map(lambda p: rl.concat(p[0], p[1]), rl.zip(x, y))


@rl.program
def doubled(x: rl.f32[n, m]):
    return rl.map(lambda r: rl.map(lambda v: v + v, r), x)


@rl.program
def one_row(x: rl.f32[n], y: rl.f32[m]):
    return rl.concat(x, y)


@pytest.mark.parametrize(
    "program", [beside, three, wavelets, pools, tables, below], ids=lambda p: p.name
)
@pytest.mark.parametrize("sizes", [(3, 5, 37), (2, 8, 16), (1, 1, 1)])
def test_each_part_of_a_row_is_made_for_itself(
    program: Program, sizes: tuple[int, int, int]
) -> None:
    """Copies, maps and folds; parts that fill vectors, that leave something over, and that fill none."""
    at = program.at({s: v for s, v in zip("nkm", sizes, strict=True) if s in program.sizes})
    found = derive(at, rows_of_parts(WIDTH, 1024))
    found.replay(RULES)
    require_proved((step.rule for step in found.steps), RULES)
    compiled = compile_program(replace(at, body=found.result))
    kernel = compiled.source[compiled.source.index("kernel void") :]
    assert "?" not in kernel  # nothing is asked where it is
    inputs = random_inputs(at, 0)
    np.testing.assert_allclose(compiled(*inputs), at(*inputs), rtol=1e-4, atol=1e-5)


def test_rows_that_are_no_parts_are_refused() -> None:
    """A map of rows, and parts that stand in no map."""

    for program in (doubled, one_row):
        with pytest.raises(NoMatch, match="no rows are put together"):
            derive(program.at(dict.fromkeys(program.sizes, 8)), rows_of_parts(WIDTH, 1024))


def test_the_search_finds_parts_in_vectors() -> None:
    """2000 rows of twice 1777 numbers take two cores 0.7 ms so, and 2.6 to 3.8 by a work-item for each number, which asks where it is."""
    found = optimize(beside, {"n": 2000, "m": 1777, "k": 1777}, CPU).term
    assert any(isinstance(u, Vector) for t, _ in subterms(found.body) for u in types_within(t.type))
