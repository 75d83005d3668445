"""Results of programs, compared however deep they lie in tuples and lists of tuples."""

from __future__ import annotations

from typing import Any

import numpy as np


def require_same(found: Any, wanted: Any, within: float = 1e-5, near: float = 0.0) -> None:
    """Raise `AssertionError` unless all numbers are equal, up to a part of them `within`, or as `near` as that."""
    if isinstance(wanted, tuple) or (
        isinstance(wanted, list) and wanted and isinstance(wanted[0], tuple)
    ):
        for one, other in zip(found, wanted, strict=True):
            require_same(one, other, within, near)
    else:
        np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=within, atol=near)
