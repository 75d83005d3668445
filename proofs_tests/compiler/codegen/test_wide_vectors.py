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
