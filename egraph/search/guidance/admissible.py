"""The sizes that rules may choose in a search: lengths of chunks, and widths of vectors."""

from __future__ import annotations

from relift.device import DeviceDescription
from relift.semantics.syntax.terms import Term, subterms
from relift.semantics.syntax.types import type_sizes


def _lengths(t: Term) -> list[int]:
    """The lengths of all arrays that occur, largest first."""
    found = {n for u, _ in subterms(t) for size in type_sizes(u.type) if (n := size.constant)}
    return sorted(found, reverse=True)


def tiles_of(t: Term, device: DeviceDescription) -> tuple[int, ...]:
    """Chunk lengths that give every unit of the device a few chunks of the longest array that has a divisor."""
    wanted = (32 if device.kind == "cpu" else 64) * device.compute_units
    for n in _lengths(t):
        k = _divisor_near(n, wanted)
        if k is not None and 1 < k < n:
            return (n // k,)
    return ()


def _divisor_near(n: int, wanted: int) -> int | None:
    """The divisor of n closest to `wanted` in ratio, preferring a quotient that vectors divide."""
    divisors = [k for k in range(1, min(n, 64 * wanted) + 1) if n % k == 0]
    return min(
        divisors,
        key=lambda k: ((n // k) % 16 != 0, max(k, wanted) / min(k, wanted)),
        default=None,
    )


def lanes_of(t: Term, device: DeviceDescription) -> tuple[int, ...]:
    """The widest vectors of the device, and OpenCL's smaller ones, that divide some array."""
    lengths = _lengths(t)
    fitting = [
        w for w in (16, 8, 4, 2) if w <= device.vector_width and any(n % w == 0 for n in lengths)
    ]
    return tuple(fitting[:2])
