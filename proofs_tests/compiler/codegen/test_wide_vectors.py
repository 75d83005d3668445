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
