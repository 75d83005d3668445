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
