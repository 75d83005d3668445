"""Rows of constants that kernels look up: on devices, and to who proves and validates what kernels do."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import relift as rl
from proofs_tests.compiler.programs import typed
from relift.compiler.bench.bundle_runner import in_global_memory
from relift.compiler.certificates.claims import certificates
from relift.compiler.meaning.evidence import meaning_of
from relift.compiler.program import compile_program
from relift.compiler.text.lexing import NotUnderstood
from relift.compiler.text.reader import read_kernels
from relift.compiler.validation.validate import validate
from relift.semantics.errors import Unsupported

n = rl.nat("n")
CELLS = 64
RANDOM = np.random.default_rng(0)
WINDOW = np.hanning(64).astype(np.float32)
PLACES = RANDOM.permutation(64).astype(np.int32)

Body = Callable[..., Any]


def rows(element: Any = rl.f32, columns: int = 64) -> Any:
    return element[n, columns]


ROWS: dict[str, tuple[Any, Body]] = {
    "in a loop": (
        rows(),
        lambda r: rl.reduce_seq(
            lambda a, p: a + p[0] * p[1], 0.0, rl.zip(r, rl.literal_array(WINDOW))
        ),
    ),
    "backwards": (
        rows(),
        lambda r: rl.map_seq(
            lambda p: p[0] * p[1], rl.zip(r, rl.gather(rl.reverse, rl.literal_array(WINDOW)))
        ),
    ),
    "a permutation": (
        rows(),
        lambda r: rl.map_seq(lambda v: v * 2.0, rl.gather_indices(rl.literal_array(PLACES), r)),
    ),
    "where data say": (
        rows(rl.i32, 4),
        lambda r: rl.map_seq(lambda i: rl.at_runtime(i, -1.0, rl.literal_array(WINDOW)), r),
    ),
    "truth values": (
        rows(),
        lambda r: rl.map_seq(
            lambda p: rl.select(p[1], p[0], 0.0), rl.zip(r, rl.literal_array(PLACES > 30))
        ),
    ),
    "infinities": (
        rows(rl.i32, 4),
        lambda r: rl.map_seq(
            lambda i: rl.at_runtime(i, -1.0, rl.literal_array([np.inf, -np.inf, -0.5, 0.25])), r
        ),
    ),
    "doubles in two dimensions": (
        rows(rl.f64, 8),
        lambda r: rl.map_seq(
            lambda w: rl.reduce_seq(
                lambda a, p: a + p[0] * p[1], rl.f64(0.0), rl.zip(r, w)
            ),
            rl.literal_array(np.vander(np.linspace(-1.0, 1.0, 6), 8), rl.f64),
        ),
    ),
    "vectors": (
        rows(),
        lambda r: rl.as_scalar(
            rl.map_seq(
                rl.map_vec(lambda p: p[0] * p[1]),
                rl.as_vector(4, rl.zip(r, rl.literal_array(WINDOW))),
            )
        ),
    ),
}  # fmt: skip
"""What one work-item does to its row, by how it reads the table."""


def program_of(case: str) -> Any:
    t, row = ROWS[case]

    def looked(x: Any) -> Any:
        return rl.map_glb(0)(row, x)

    return typed(x=t)(looked)


def drawn(p: Any) -> np.ndarray[Any, Any]:
    """16 rows, of whole numbers some that are no places of the table."""
    [x] = p.parameters
    columns = int(str(x.type.element.length))
    of = x.type.element.element
    if of == rl.i32:
        return RANDOM.integers(-3, 70, (16, columns)).astype(np.int32)
    return RANDOM.random((16, columns)).astype(of.dtype)


@pytest.mark.parametrize("case", ROWS)
def test_lookups_agree_with_the_interpreter(case: str) -> None:
    p = program_of(case)
    x = drawn(p)

    # sums are contracted; one product, and what is only looked up, is exact
    within = 1e-5 if case in {"in a loop", "doubles in two dimensions"} else 0.0
    np.testing.assert_allclose(compile_program(p)(x), p(x), rtol=within)


@pytest.mark.parametrize("case", ROWS)
def test_lookups_are_proved(case: str) -> None:
    """That they are in bounds, also of what whole numbers of the table are places of, at every size."""
    claims = [c for made in certificates(compile_program(program_of(case))) for c in made.claims]

    assert {c.verdict for c in claims} == {"proved"}


@pytest.mark.parametrize("case", ROWS)
def test_lookups_are_validated_at_all_sizes(case: str) -> None:
    p = program_of(case)
    meaning = meaning_of(compile_program(p), p)

    assert meaning.ok, meaning.text()


@pytest.mark.parametrize("case", ROWS)
def test_another_number_in_the_table_is_noticed(case: str) -> None:
    """Who validates reads the numbers of the text."""
    p = program_of(case).at({"n": 16})
    k = compile_program(p)
    wrong = re.sub(r"(= \{)([^,]+), ([^,]+), ([^,]+),", r"\1\2, \4, \3,", k.source)
    assert wrong != k.source

    assert validate(k.source, k.plan, p).ok
    assert not validate(wrong, k.plan, p).ok


def test_a_place_beyond_an_array_is_refuted() -> None:
    """By the numbers of the table, of which one is the length of the array."""
    k = compile_program(program_of("a permutation"))
    wrong = replace(k, source=re.sub(r"\b63\b(?=[,}])", "64", k.source))
    assert wrong.source != k.source

    assert "refuted" in {c.verdict for made in certificates(wrong) for c in made.claims}


def test_scattered_places_race_where_two_are_one() -> None:
    """Of a table in which all differ it is proved that they do not."""

    @rl.program
    def moved(x: rl.f32[CELLS], y: rl.f32[CELLS]):
        whole = rl.zip(rl.split(64, x), rl.split(64, y))
        return rl.map_wrg(0)(
            lambda p: rl.scatter_indices(rl.literal_array(PLACES), p[0], p[1]), whole
        )

    k = compile_program(moved)

    assert {c.verdict for made in certificates(k) for c in made.claims} == {"proved"}


def test_a_known_place_is_the_number_itself() -> None:
    """No table is declared for it, nor for one of two."""

    @rl.program
    def known(x: rl.f32[2 * n]):
        w, either = rl.literal_array(WINDOW), rl.literal_array([0.25, 0.75])
        return rl.map_glb(0)(
            lambda c: rl.map_seq(lambda p: p[0] * p[1] + w[5], rl.zip(c, either)),
            rl.split(2, x),
        )

    source = compile_program(known.at({"n": 8})).source

    assert "constant" not in source
    assert repr(float(WINDOW[5])) in source


def test_what_is_not_a_number_is_chosen() -> None:
    """It is no constant of OpenCL C."""

    @rl.program
    def looked(x: rl.i32[n]):
        row = rl.literal_array([0.5, np.nan, 1.5])
        return rl.map_glb(0)(lambda i: rl.at_runtime(i, 0.0, row), x)

    x = np.arange(-1, 5, dtype=np.int32)
    k = compile_program(looked)

    np.testing.assert_array_equal(k(x), looked(x))
    assert meaning_of(k, looked).ok


def test_a_table_without_numbers_is_never_read() -> None:
    @rl.program
    def nothing(x: rl.f32[n]):
        row = rl.literal_array(np.zeros((0, 3)))
        return rl.map_glb(0)(lambda v: v + 1.0, rl.join(row))

    assert compile_program(nothing)(np.ones(1, np.float32)).shape == (0,)


def test_a_comment_has_the_first_numbers_of_a_table() -> None:
    source = compile_program(program_of("in a loop")).source
    first = ", ".join(repr(float(v)) for v in WINDOW[:3])

    assert f"({first}, ...), f32" in source
    assert not any(
        repr(float(WINDOW[9])) in line for line in source.splitlines() if line.startswith("//")
    )


def test_one_table_that_is_read_twice_is_declared_once() -> None:
    @rl.program
    def twice(x: rl.f32[n, CELLS]):
        w = rl.literal_array(WINDOW)
        back = rl.gather(rl.reverse, rl.literal_array(WINDOW))
        return rl.map_glb(0)(
            lambda r: rl.map_seq(lambda p: p[0][0] * p[0][1] + p[1], rl.zip(rl.zip(r, w), back)), x
        )

    assert compile_program(twice).source.count("constant float") == 1


def test_more_than_constant_memory_has_is_refused() -> None:
    long = np.arange(1 << 15, dtype=np.float32)

    @rl.program
    def looked(x: rl.i32[n]):
        return rl.map_glb(0)(lambda i: rl.at_runtime(i, 0.0, rl.literal_array(long)), x)

    with pytest.raises(Unsupported, match="looks up 131,072 bytes of constants, and 65,536 is the"):
        compile_program(looked)


@pytest.mark.parametrize(
    "declared",
    [
        "constant int t[3] = {1, 2};",
        "constant int t[2] = {1, 2, 3};",
        "constant int t[2];",
        "constant int t = 3;",
        "constant int t[2] = {1, get_global_id(0)};",
        "constant int t[2] = {1, 2 + 3};",
        "constant int t[1] = {(int2)(1)};",
    ],
)
def test_other_tables_are_not_understood(declared: str) -> None:
    with pytest.raises(NotUnderstood, match="t, which is no array of as many constants"):
        read_kernels(f"kernel void f(global int* out) {{ {declared} out[0] = 1; }}")


def test_a_write_to_a_table_is_not_understood() -> None:
    k = compile_program(program_of("in a loop").at({"n": 4}))
    wrong = replace(k, source=k.source.replace("  out[", "  table[0] = 1.0f;\n  out["))
    assert wrong.source != k.source

    assert "proved" not in {c.verdict for made in certificates(wrong) for c in made.claims}


@pytest.mark.no_device
@pytest.mark.parametrize(
    ("row", "name"),
    [
        (
            lambda r: rl.map_seq(lambda i: rl.at_runtime(i, 7, rl.literal_array(PLACES)), r),
            "lookup",
        ),
        (lambda r: rl.map_seq(lambda p: p[0] * p[1], rl.zip(r, rl.literal_array(PLACES))), "table"),
    ],
    ids=["data", "a loop"],
)
def test_what_says_where_a_table_is_read_says_where_it_is_on_a_gpu(row: Body, name: str) -> None:
    """NVIDIA's driver has in global memory what neighbours read at different places: constant memory sends one number at a time."""

    @typed(x=rl.i32[2, 64])
    def program(x: Any) -> Any:
        return rl.map_glb(0)(row, x)

    source = compile_program(program).source
    assert f"constant int {name}[" in source
    moved = in_global_memory(source)
    assert moved.startswith("global const int lookup_of_0[64]") == (name == "lookup")
    assert ("constant" in moved) == (name == "table")


@pytest.mark.no_device
def test_a_table_is_read_apart_at_the_number_of_a_work_item() -> None:
    @typed(x=rl.i32[CELLS])
    def program(x: Any) -> Any:
        return rl.map_glb(0)(lambda p: p[0] * p[1], rl.zip(x, rl.literal_array(PLACES)))

    assert "constant int lookup[" in compile_program(program).source
