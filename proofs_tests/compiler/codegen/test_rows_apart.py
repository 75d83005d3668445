"""Loops over joined rows as two: which are, and which stay as they are."""

from __future__ import annotations

from typing import Any

import pytest

from proofs_tests.compiler.programs import typed
from proofs_tests.compiler.texts import body_of, lines_of
from relift.compiler.codegen.passes.rows_apart import rows_apart
from relift.compiler.program import compile_program
from relift.compiler.text.names import Names
from relift.semantics.language import vocabulary as rl
from relift.semantics.syntax.types import f32


def apart(end: int, statement: str) -> list[str]:
    """The lines of a loop of so many turns after the pass, without their indentation."""
    names = Names()
    names.take(["i"])
    loop = [f"  for (int i = 0; i < {end}; ++i) {{", f"    {statement}", "  }"]
    return [line.strip() for line in lines_of(rows_apart(body_of(loop), names.fresh))]


def test_a_loop_over_joined_rows_divides_by_nothing() -> None:
    """Every quotient is a number of a row, or what is left of that is one of a column; rows of rows are three loops."""
    found = apart(960, "x[i / 240] = y[9*(i / 48) + i % 48] + i;")
    assert found[:3] == [
        "for (int i = 0; i < 4; ++i) {",
        "for (int i_3 = 0; i_3 < 5; ++i_3) {",
        "for (int i_2 = 0; i_2 < 48; ++i_2) {",
    ]
    assert found[3] == "x[i] = y[9*(5*i + i_3) + i_2] + (48*(5*i + i_3) + i_2);"


@pytest.mark.parametrize(
    ("end", "statement"),
    [
        (96, "x[i / 8] = y[i % 6];"),
        (96, "x[i / 8] = y[(i + 1) % 8];"),
        (96, "x[i / 3] = y[i % 3];"),
        (95, "x[i / 8] = y[i % 8];"),
        (96, "x[i % 96] = 0.0f;"),
    ],
    ids=["rows of two lengths", "not its own number", "few columns", "a row cut off", "one row"],
)
def test_other_loops_stay_as_they_are(end: int, statement: str) -> None:
    """A quotient would be left, or nothing is gained."""
    assert apart(end, statement)[:2] == [f"for (int i = 0; i < {end}; ++i) {{", statement]


def test_a_fold_of_joined_rows_has_a_loop_for_their_columns() -> None:
    """As it is compiled, in vectors: a driver would divide for each."""

    @typed(x=f32[8, 5, 64])
    def sums(x: Any) -> Any:
        def total(rows: Any) -> Any:
            vectors = rl.as_vector(16, rl.join(rows))
            return rl.reduce_seq(rl.vectorize(16, rl.add), rl.splat(16, 0.0), vectors)

        return rl.as_scalar(rl.map_glb(0)(total, rl.transpose(x)))

    text = compile_program(sums).source
    assert "for (int i_2 = 0; i_2 < 4; ++i_2)" in text
    assert "/" not in text[text.index("{") :]
