"""Programs as values: their sizes, their instances, and what they refuse."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from relift.semantics.errors import IllTyped, Unsupported
from relift.semantics.language import programs
from relift.semantics.language import vocabulary as rl
from relift.semantics.notation.parser import parse_term
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import Input
from relift.semantics.syntax.types import Array, f32, nat

n, m = nat("n"), nat("m")


@programs.program
def row_sums(rows: f32[n, 2 * m]):  # type: ignore[valid-type,no-untyped-def]
    """The sum of each row, two by two."""
    return rl.map(lambda r: rl.reduce(rl.add, 0.0, rl.join(rl.split(2, r))), rows)


def test_sizes_are_solved_from_the_arguments() -> None:
    """The shapes of the arguments determine every size, through the arithmetic of the types."""
    assert row_sums.solve_sizes((np.zeros((3, 8), np.float32),)) == {"n": 3, "m": 4}


def test_shapes_that_solve_no_size_are_refused() -> None:
    """A length that is no instance of its type is an error that says so."""
    with pytest.raises(IllTyped, match="row_sums: 2 does not divide 7"):
        row_sums(np.zeros((3, 7), np.float32))


def test_wrong_number_of_dimensions_is_refused() -> None:
    """An array of too few dimensions is named, with its shape."""
    with pytest.raises(IllTyped, match=r"rows: f32\[n, 2\*m\] has 2 dimensions, .* shape \(3,\)"):
        row_sums(np.zeros(3, np.float32))


def test_an_instance_has_no_sizes_left() -> None:
    """A program at given sizes has concrete types throughout and means the same."""
    at = row_sums.at({"n": 2, "m": 1})
    rows = np.array([[1, 2], [3, 4]], np.float32)

    assert at.sizes == ()
    assert str(at.parameters[0].type) == "f32[2, 2]"
    np.testing.assert_array_equal(at(rows), row_sums(rows))


def test_missing_and_unknown_sizes_are_named() -> None:
    """`at` says which size is missing, or that there is no such size."""
    with pytest.raises(IllTyped, match=r"row_sums: size m is not given; say .*, or --size m="):
        row_sums.at({"n": 1})
    with pytest.raises(IllTyped, match="row_sums has no size q; its sizes are: n, m"):
        row_sums.at({"n": 1, "m": 1, "q": 1})


def test_a_program_prints_its_signature_and_its_term() -> None:
    """The text of a program is its typed head and its body."""
    assert str(row_sums) == (
        "row_sums(rows: f32[n, 2*m]) -> f32[n] =\n"
        "  map(lambda r: reduce(add, 0.0, join(split(2, r))), rows)"
    )


def test_points_free_and_pointful_programs_are_the_same() -> None:
    """Patterns without their data are functions, and `>>` composes them from left to right."""
    chunks = rl.split(2) >> rl.map(rl.reduce(rl.add, 0.0)) >> rl.reduce(rl.add, 0.0)

    @programs.program
    def total(x: f32[2 * n]):  # type: ignore[valid-type,no-untyped-def]
        return chunks(x)

    assert total(np.array([1, 2, 3, 4], np.float32)) == 10


def test_an_operator_on_vectors_is_no_operator_on_scalars() -> None:
    """Given to a fold, it combines all lanes: what it applies to each lane is another operator."""
    xs = Input("xs", Array(f32, Size.of(12)))
    term = parse_term("reduce_seq(vectorize(4, add), splat(4, 0.0), as_vector(4, xs))", xs=xs)
    data = np.arange(12, dtype=np.float32)

    lanes = parse_term("as_scalar(repeat(1, sums))", sums=term)
    result = programs.Program("lanes", (xs,), lanes)(data)
    np.testing.assert_array_equal(result, data.reshape(3, 4).sum(axis=0))


def test_steps_in_a_row_are_run_however_many_calls_walk_them() -> None:
    @programs.program
    def turned(x: f32[3]) -> Any:  # type: ignore[valid-type]
        def steps(v: Any) -> Any:
            for _ in range(701):
                v = -v
            return v

        return rl.map(steps, x)

    assert turned(np.arange(3, dtype=np.float32)).tolist() == [0, -1, -2]


def test_a_function_that_never_ends_is_refused() -> None:
    def endless(v: Any) -> Any:
        return endless(v + 1.0)

    with pytest.raises(Unsupported, match="the program forever is nested too deeply"):

        @programs.program
        def forever(x: f32) -> Any:  # type: ignore[valid-type]
            return endless(x)


def test_calls_that_take_much_of_the_stack_are_refused_and_not_a_crash(tmp_path: Path) -> None:
    """Each sort takes four kilobytes of a stack of eight megabytes."""
    file = tmp_path / "sorting.py"
    file.write_text(
        "import relift as rl\n"
        "def endless(v):\n"
        "    return sorted([v], key=lambda u: endless(u))[0]\n"
        "@rl.program\n"
        "def forever(x: rl.f32):\n"
        "    return endless(x)\n"
    )
    ended = subprocess.run([sys.executable, file], capture_output=True, text=True, check=False)

    assert ended.returncode == 1
    assert "the program forever is nested too deeply" in ended.stderr


def test_numbers_of_a_size_are_looked_through_once_each() -> None:
    @programs.program
    def doubled(x: f32[n]) -> Any:  # type: ignore[valid-type]
        v = 1.0 / n
        for _ in range(40):
            v = v + v
        return rl.map(lambda a: a + v * 0.0, x)

    assert doubled(np.ones(2, np.float32)).tolist() == [1, 1]
