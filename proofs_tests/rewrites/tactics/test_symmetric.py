"""Nests that are equal to their transposes: computed in parts, each cell below the diagonal read from above it."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from relift import add, f32, map, nat, program, reduce, transpose
from relift import zip as zipped
from relift.compiler.agreement.inputs import whole_inputs
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.library import RULES
from relift.rewrites.tactics.combinators import derive
from relift.rewrites.tactics.nests.symmetric import mirrored
from relift.semantics.language.programs import Program
from relift.semantics.patterns import ToGlobal
from relift.semantics.syntax.binding import canonical
from relift.semantics.syntax.terms import subterms

n, k = nat("n"), nat("k")
SIZES = {"n": 7, "k": 3}


def dot(x, y):
    return reduce(add, 0.0, map(lambda p: p[0] * p[1], zipped(x, y)))


@program
def gram(A: f32[n, k]):
    return map(lambda x: map(lambda y: dot(x, y), A), A)


@program
def of_columns(A: f32[k, n]):
    """Columns of what is computed, so this is stored."""
    columns = map(lambda column: map(lambda v: v * 2.0, column), transpose(A))
    return map(lambda x: map(lambda y: dot(x, y) * 0.5, columns), columns)


@program
def transposed_twice(A: f32[n, k], C: f32[n, n]):
    product = map(lambda x: map(lambda y: dot(x, y), transpose(transpose(A))), A)
    return map(lambda p: map(lambda q: q[0] + q[1], zipped(p[0], p[1])), zipped(product, C))


@program
def added(A: f32[n, k], C: f32[n, n]):
    """What is added to a cell stands in its function."""

    def row(p):
        return map(lambda q: 1.5 * dot(p[0], q[0]) + q[1], zipped(A, p[1]))

    return map(row, zipped(A, C))


@pytest.mark.parametrize(
    "source", [gram, of_columns, transposed_twice, added], ids=lambda p: p.name
)
@pytest.mark.parametrize("parts", [2, 3])
def test_parts_of_equal_halves_are_the_whole(source: Program, parts: int) -> None:
    found = derive(source, mirrored(parts, least=1), SIZES)
    arrays = whole_inputs(found.program, seed=1)

    np.testing.assert_array_equal(
        replace(found.program, body=found.result)(*arrays), found.program(*arrays)
    )
    assert found.replay(RULES)[-1] == found.result


def test_what_is_below_the_diagonal_is_the_stored_part_above_it() -> None:
    found = derive(gram, mirrored(2, least=1), SIZES)
    stored = [canonical(t.xs) for t, _ in subterms(found.result) if isinstance(t, ToGlobal)]

    assert [str(t.type) for t in dict.fromkeys(stored)] == ["f32[4, 7]", "f32[3, 3]"]
    assert len(stored) == 3


@program
def of_two(A: f32[n, k], B: f32[n, k]):
    return map(lambda x: map(lambda y: dot(x, y), B), A)


@program
def one_way(A: f32[n, k]):
    def less(x, y):
        return reduce(add, 0.0, map(lambda p: p[0] * p[0] * p[1], zipped(x, y)))

    return map(lambda x: map(lambda y: less(x, y), A), A)


@pytest.mark.parametrize("source", [of_two, one_way], ids=lambda p: p.name)
def test_a_nest_that_is_not_its_transpose_is_left_as_it_is(source: Program) -> None:
    with pytest.raises(NoMatch):
        derive(source, mirrored(2, least=1), SIZES)


def test_rows_that_panels_divide_are_copied_once_for_all_parts() -> None:
    """Their copy is the only kernel that reads the table, and every part reads it."""
    sizes = {"n": 32, "k": 2}
    found = derive(of_columns, mirrored(2, least=16, panels=(3, 16)), sizes)
    arrays = whole_inputs(found.program, seed=1)
    stored = [canonical(t.xs) for t, _ in subterms(found.result) if isinstance(t, ToGlobal)]
    part, panels, table, rest = (str(t.type) for t in dict.fromkeys(stored))

    assert (part, rest) == ("f32[16, 32]", "f32[16, 16]")
    assert (table, panels) == ("f32[2, 32]", "f32[2, 2, 16]")
    np.testing.assert_array_equal(
        replace(found.program, body=found.result)(*arrays), found.program(*arrays)
    )
    assert found.replay(RULES)[-1] == found.result


def test_rows_that_are_numbers_have_no_panels() -> None:
    """Folds of two indices, too, may be symmetric."""

    @program
    def of_numbers(x: f32[n], y: f32[k]):
        def cell(a, b):
            return reduce(add, 0.0, map(lambda v: v * (a + b), y))

        return map(lambda a: map(lambda b: cell(a, b), x), x)

    with pytest.raises(NoMatch):
        derive(of_numbers, mirrored(2, least=16, panels=(16,)), {"n": 32, "k": 2})
