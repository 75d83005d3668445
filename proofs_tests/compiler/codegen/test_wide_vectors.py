"""Functions of OpenCL's library on vectors, also where PoCL's own vector functions abort the process."""

from typing import Any

import numpy as np
import pytest

import relift as rl


@pytest.mark.parametrize("t", [rl.f32, rl.f64], ids=str)
@pytest.mark.parametrize("width", [2, 4, 8, 16])
@pytest.mark.parametrize("function", [rl.sqrt, rl.exp, rl.absolute], ids=lambda f: f.__name__)
def test_library_functions_on_vectors(function: Any, width: int, t: Any) -> None:
    """A function of OpenCL's library agrees with the interpreter on vectors of every width."""

    @rl.program
    def wide(x: t[32]):  # type: ignore[no-untyped-def]  # a type of the object language
        return rl.as_scalar(rl.map_glb(0)(rl.map_vec(function), rl.as_vector(width, x)))

    x = np.linspace(0.5, 4, 32).astype(str(t).replace("f", "float"))

    np.testing.assert_allclose(rl.compile(wide)(x), wide(x), rtol=1e-6)


def test_equal_terms_in_lanes_are_computed_once() -> None:
    """A fold that is used twice in the lanes of a vector is one loop, and none of another vector's lanes."""

    @rl.program
    def twice(x: rl.f32[32, 5]):  # type: ignore[no-untyped-def, valid-type]  # types of the object language
        def squares(row: Any) -> Any:
            return rl.reduce_seq(lambda acc, v: acc + v * v, 1.0, row)

        def both(row: Any) -> Any:
            return squares(row) / (1.0 + squares(row))

        return rl.as_scalar(rl.map_glb(0)(rl.map_vec(both), rl.as_vector(8, x)))

    kernel = rl.compile(twice)
    assert kernel.source.count("for (") == 1
    x = np.linspace(0, 1, 160, dtype=np.float32).reshape(32, 5)
    np.testing.assert_allclose(kernel(x), twice(x), rtol=1e-6)


def test_what_is_equal_in_all_lanes_is_no_vector_outside_of_them() -> None:
    """The same term inside of lanes and, after them, outside has a value in each place."""

    @rl.program
    def inside_and_out(x: rl.f32[32], y: rl.f32[5]):  # type: ignore[no-untyped-def, valid-type]
        def total() -> Any:
            return rl.reduce_seq(lambda acc, v: acc + v, 0.0, y)

        def group(v: Any) -> Any:
            lanes = rl.as_scalar(rl.repeat(1, rl.map_vec(lambda e: e + total(), v)))
            return rl.reduce_seq(lambda acc, e: acc + e, 0.0, lanes) * total()

        return rl.map_glb(0)(group, rl.as_vector(8, x))

    x, y = np.linspace(0, 1, 32, dtype=np.float32), np.linspace(1, 2, 5, dtype=np.float32)
    np.testing.assert_allclose(rl.compile(inside_and_out)(x, y), inside_and_out(x, y), rtol=1e-5)


def _doubled(window: Any) -> Any:
    return rl.map_seq_unroll(lambda v: v + v, window)


ARRAYS_OF_LANES = {
    "written": _doubled,
    "held": lambda w: rl.map_seq_unroll(lambda v: v * w[0], rl.to_private(_doubled(w))),
    "folded": lambda w: rl.reduce_seq(
        lambda held, v: rl.map_seq_unroll(lambda u: u + v * w[1], held),
        rl.to_private(rl.map_seq_unroll(lambda v: v * 0.0, w)),
        w,
    ),
    "scanned": lambda w: rl.scan_seq(rl.add, 0.0, w),
    "in two parts": lambda w: rl.concat(_doubled(rl.take(1, w)), _doubled(rl.drop(1, w))),
    "of tuples": lambda w: rl.map_seq(lambda v: (v, rl.i32(v)), w),
}


@pytest.mark.parametrize("name", ARRAYS_OF_LANES)
def test_a_lane_computes_an_array(name: str) -> None:
    """Each element of it is a vector, also where it is held in between, and of two parts or of tuples."""

    @rl.program
    def columns(x: rl.f32[10]):  # type: ignore[no-untyped-def, valid-type]
        windows = rl.as_vector(4, rl.slide(3, 1, x))
        return rl.transpose(rl.as_scalar(rl.map_glb(0)(rl.map_vec(ARRAYS_OF_LANES[name]), windows)))

    x = np.arange(10, dtype=np.float32)
    kernel = rl.compile(columns)
    for device in ("cpu", "c"):
        for found, meant in zip(_parts(kernel(x, device=device)), _parts(columns(x)), strict=True):
            np.testing.assert_array_equal(found, meant)
    assert "float4" in kernel.source


def _parts(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def test_a_lane_iterates_from_what_is_equal_in_all() -> None:
    """What is iterated begins as a number, and is a vector from then on."""

    @rl.program
    def thrice(x: rl.f32[8]):  # type: ignore[no-untyped-def, valid-type]
        each = rl.map_vec(lambda v: rl.iterate(3, lambda s: s + v, 0.0))
        return rl.as_scalar(rl.map_glb(0)(each, rl.as_vector(4, x)))

    x = np.arange(8, dtype=np.float32)
    np.testing.assert_array_equal(rl.compile(thrice)(x), 3 * x)


def test_a_condition_that_is_the_same_for_all_lanes_chooses_between_vectors() -> None:
    """Rows of a constant beyond the first and the last: no lane is asked by itself."""

    @rl.program
    def sums(x: rl.f32[3, 8]):  # type: ignore[no-untyped-def, valid-type]
        rows = rl.slide(3, 1, rl.pad(1, 1, rl.repeat(8, 0.5), x))

        def of_row(window: Any) -> Any:
            total = rl.map_vec(lambda column: rl.reduce_seq_unroll(rl.add, 0.0, column))
            return rl.as_scalar(rl.map_seq(total, rl.as_vector(8, rl.transpose(window))))

        return rl.map_glb(0)(of_row, rows)

    kernel = rl.compile(sums)
    assert "? *(global const float8*)" in kernel.source
    x = np.arange(24, dtype=np.float32).reshape(3, 8)
    for device in ("cpu", "c"):
        np.testing.assert_array_equal(kernel(x, device=device), sums(x))


def test_places_of_lanes_are_one_sum() -> None:
    """The places of neighbours, or of every third: the first of them, and constants; others are put together."""

    @rl.program
    def numbered(x: rl.f32[48]):  # type: ignore[no-untyped-def, valid-type]  # types of the object language
        counted = rl.zip(x, rl.generate(48, lambda i: i))
        columns = rl.transpose(rl.map(rl.as_vector(4), rl.transpose(rl.split(3, counted))))
        each = rl.map_vec(lambda p: rl.select(p[0] > 0.5, p[1], -p[1]))
        return rl.map_glb(0)(lambda column: rl.as_scalar(rl.map_seq(each, column)), columns)

    kernel = rl.compile(numbered)
    assert "(int4)(0, 3, 6, 9)" in kernel.source
    x = np.random.default_rng(0).random(48, dtype=np.float32)
    np.testing.assert_array_equal(kernel(x), numbered(x))


def test_rows_that_a_border_holds_back_are_walked_by_pointers() -> None:
    """Two of three rows are bounded: the loop of vectors adds its counter to a pointer into each, and all accesses are proved."""

    @rl.program
    def rows(x: rl.f32[4, 16], y: rl.f32[16, 8]):  # type: ignore[no-untyped-def, valid-type]
        def of_three(three: Any) -> Any:
            zeros = rl.to_private(rl.map_seq_unroll(lambda v: v, rl.repeat(3, rl.splat(8, 0.0))))

            def step(acc: Any, p: Any) -> Any:
                return rl.map_seq_unroll(
                    lambda q: rl.vectorize(8, rl.add)(q[0], rl.map_vec(lambda c: q[1] * c, p[1])),
                    rl.zip(acc, p[0]),
                )

            lines = rl.as_vector(8, rl.join(y))
            return rl.map_seq_unroll(
                lambda v: v, rl.reduce_seq(step, zeros, rl.zip(rl.transpose(three), lines))
            )

        blocks = rl.split(3, rl.pad(0, 2, rl.clamp, x))
        return rl.as_scalar(rl.join(rl.map_glb(0)(of_three, blocks)))

    kernel = rl.compile(rows)
    assert kernel.source.count("global const float* const x_at") == 2
    assert all(certificate.ok for certificate in kernel.certificates)
    x = np.linspace(0, 1, 64, dtype=np.float32).reshape(4, 16)
    y = np.linspace(-1, 1, 128, dtype=np.float32).reshape(16, 8)
    np.testing.assert_allclose(kernel(x, y).reshape(6, 8)[:4], x @ y, rtol=1e-4)
