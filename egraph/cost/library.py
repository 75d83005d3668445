"""What functions that processors have no instruction for take on a CPU: it depends on whose library computes them.

Measured on two cores of an Intel Xeon with AVX-512, 2^16 numbers: a scalar call in a loop, and one for each lane of a vector.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_GENERAL = {
    "exp": 60.0, "log": 60.0, "sin": 120.0, "cos": 120.0, "tan": 120.0, "tanh": 60.0, "arcsin": 60.0, "arccos": 60.0,
    "arctan": 60.0, "arctan2": 60.0, "hypot": 60.0, "power": 120.0,
}  # fmt: skip


@dataclass(frozen=True)
class Library:
    """The cycles of a call for a scalar, and for a full vector; None where a vector takes a call for each lane.

    Those `packed` are packed by a driver that packs what has no loop.
    """

    scalar: Mapping[str, float]
    vector: Mapping[str, float] | None
    packed: frozenset[str] = frozenset()


_INTEL = {
    "exp": 40.0, "log": 40.0, "sin": 45.0, "cos": 50.0, "tan": 60.0, "tanh": 55.0, "arcsin": 45.0, "arccos": 60.0,
    "arctan": 50.0, "arctan2": 145.0, "hypot": 15.0, "power": 140.0,
}  # fmt: skip

GENERAL = Library(_GENERAL, _GENERAL)
"""Where nothing is known."""

LIBRARIES = {
    "Intel": Library(_INTEL, _INTEL),
    "PoCL": Library(
        {
            "exp": 75.0, "log": 170.0, "sin": 205.0, "cos": 200.0, "tan": 240.0, "tanh": 140.0, "arcsin": 65.0, "arccos": 85.0,
            "arctan": 280.0, "arctan2": 350.0, "hypot": 325.0, "power": 1030.0,
        },
        {
            "exp": 35.0, "log": 90.0, "sin": 275.0, "cos": 270.0, "tan": 295.0, "tanh": 130.0, "arcsin": 140.0, "arccos": 185.0,
            "arctan": 145.0, "arctan2": 220.0, "hypot": 200.0, "power": 1440.0,
        },
        frozenset(("exp", "tanh")),
    ),
    "C with OpenMP": Library(
        {
            "exp": 35.0, "log": 40.0, "sin": 50.0, "cos": 45.0, "tan": 135.0, "tanh": 195.0, "arcsin": 35.0, "arccos": 70.0,
            "arctan": 100.0, "arctan2": 155.0, "hypot": 30.0, "power": 75.0,
        },
        None,
    ),
}  # fmt: skip
"""By implementations, as devices name them."""


__all__ = ["GENERAL", "LIBRARIES", "Library"]
