"""Without the collector of cycles: what is made is one large graph that stays, and going through it finds nothing."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Generator[None]:
    """The collector rests; a quarter of the time that a long file or theorem takes is its.

    >>> import gc
    >>> from relift.processes.collecting import uncollected
    >>> with uncollected():
    ...     gc.isenabled()
    False
    >>> gc.isenabled()
    True
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@contextmanager
def rarely_collected() -> Generator[None]:
    """The collector of cycles works a hundredth as often: a search makes terms that stay, and little that goes round.

    A search for attention takes 28 to 29 s of a processor instead of 33, and no more memory.

    >>> import gc
    >>> from relift.processes.collecting import rarely_collected
    >>> before = gc.get_threshold()
    >>> with rarely_collected():
    ...     gc.get_threshold() >= before
    True
    >>> gc.get_threshold() == before
    True
    """
    before = gc.get_threshold()
    if before[0]:  # else it is off
        gc.set_threshold(*map(max, before, _RARELY))
    try:
        yield
    finally:
        gc.set_threshold(*before)


_RARELY = (50_000, 20, 50)
"""Objects that are made before the youngest are gone through, and how often these before older ones."""
