"""Seconds that the cost model predicts, as a function of the program alone."""

from __future__ import annotations

from collections.abc import Callable

from relift.device import DeviceDescription
from relift.egraph.cost.model import estimate
from relift.semantics.errors import Unsupported
from relift.semantics.language.programs import Program


def predictor(device: DeviceDescription) -> Callable[[Program], float | None]:
    """The cost model for a device; None for what it does not know."""

    def predict(program: Program) -> float | None:
        try:
            return estimate(program, device).seconds
        except Unsupported:
            return None

    return predict
