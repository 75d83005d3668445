"""The cost model fitted to a device, by what was measured of the programs that were tuned there.

A program's estimate is made of cycles that it computes, of gigabytes that it moves, and of launches.  How many of the first two a device does in
a second is what is fitted, so that the estimates of all programs are off by as little as can be: by the least squares of their logarithms.
Source: L. Zheng et al., Ansor (OSDI'20), learns its cost model from measured times, too; here two numbers are learned, which any program teaches.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from relift.device import DeviceDescription
from relift.egraph.cost.model import OVERLAP_SEEN
from relift.egraph.search.tuning import Work
from relift.semantics.errors import ReliftError

FloatArray: TypeAlias = npt.NDArray[np.float64]

LEAST = 6
"""Programs, at least, that two numbers are fitted to."""
_FARTHEST, _STEPS = 4.0, 161
"""How many times as fast or as slow a device may be found to be, and in how many steps between."""
_KEPT = 0.02
"""What a number that no program teaches is held by where it is: of the mean square of the programs' logarithms."""


@dataclass(frozen=True)
class Fit:
    """What was fitted: GB/s, GFLOP/s, the programs that it was fitted to, and how many times their estimates were off before, and are after."""

    bandwidth_gbs: float
    fma_gflops: float
    programs: int
    off_before: float
    off: float


def fitted(device: DeviceDescription, timed: Sequence[tuple[Work, float]]) -> Fit:
    """What a device does in a second, by the seconds that programs took there.

    Raises `ReliftError` where there are too few of them.

    >>> from relift.device import CPU
    >>> from relift.egraph.search.fitting import fitted
    >>> from relift.egraph.search.tuning import Work
    >>> moved = [(Work(cycles=0.0, gigabytes=0.001 * i, launch=0.0), 0.002 * i / CPU.bandwidth_gbs) for i in range(1, 9)]
    >>> found = fitted(CPU, moved)
    >>> round(CPU.bandwidth_gbs / found.bandwidth_gbs, 1), found.fma_gflops == CPU.fma_gflops, round(found.off_before, 1), round(found.off, 1)
    (2.0, True, 2.0, 1.0)
    """
    if len(timed) < LEAST:
        raise ReliftError(
            f"{device.name} has the times of {len(timed)} programs, {LEAST} are needed; "
            "relift optimize FILE --tune measures and keeps them",
            place="",
        )
    computes, moves, launches = np.array([(w.cycles, w.gigabytes, w.launch) for w, _ in timed]).T
    taken = np.log([seconds for _, seconds in timed])

    def off(clock: float, bandwidths: FloatArray) -> FloatArray:
        """The mean square of the logarithms, for each bandwidth."""
        computed, moved = computes / clock, moves / bandwidths[:, np.newaxis]
        overlapped = np.maximum(computed, moved) + OVERLAP_SEEN * np.minimum(computed, moved)
        found: FloatArray = np.mean((np.log(overlapped + launches) - taken) ** 2, axis=1)
        return found

    farthest = math.log(_FARTHEST)
    steps = np.linspace(-farthest, farthest, _STEPS)
    bandwidths = device.bandwidth_gbs * np.exp(steps)
    held = _KEPT * (steps[:, np.newaxis] ** 2 + steps**2)
    all_off = np.array([off(device.core_ghz * math.exp(a), bandwidths) for a in steps])
    clock_by, bandwidth_by = (steps[i] for i in divmod(int(np.argmin(all_off + held)), _STEPS))
    found = replace(
        device,
        fma_gflops=device.fma_gflops * math.exp(clock_by),
        bandwidth_gbs=device.bandwidth_gbs * math.exp(bandwidth_by),
    )
    before, after = (
        float(off(each.core_ghz, np.array([each.bandwidth_gbs]))[0]) for each in (device, found)
    )
    return Fit(
        found.bandwidth_gbs,
        found.fma_gflops,
        len(timed),
        math.exp(math.sqrt(before)),
        math.exp(math.sqrt(after)),
    )
