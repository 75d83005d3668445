"""Without the collector of cycles: what is made is one large graph that stays, and going through it finds nothing.

How the collector works is a setting of the whole process: who comes first changes it, who goes last sets it back.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Generic, TypeVar

S = TypeVar("S")


@dataclass
class _Shared(Generic[S]):
    """A setting that is another one while anybody asks for it, in whichever thread: `change` gives what it was before."""

    change: Callable[[], S]
    back: Callable[[S], None]
    users: int = 0
    before: list[S] = field(default_factory=list[S])
    lock: Lock = field(default_factory=Lock)

    @contextmanager
    def held(self) -> Generator[None]:
        with self.lock:
            if not self.users:
                self.before.append(self.change())
            self.users += 1
        try:
            yield
        finally:
            with self.lock:
                self.users -= 1
                if not self.users:
                    self.back(self.before.pop())


def _off() -> bool:
    was_on = gc.isenabled()
    gc.disable()
    return was_on


def _on_again(was_on: bool) -> None:
    if was_on:
        gc.enable()


def _raised() -> tuple[int, int, int]:
    before = gc.get_threshold()
    if before[0]:  # else it is off
        gc.set_threshold(*map(max, before, _RARELY))
    return before


def _lowered(before: tuple[int, int, int]) -> None:
    gc.set_threshold(*before)


_RARELY = (1_000_000, 20, 50)
"""Objects that are made, and stay, before the youngest are gone through, and how often these before older ones."""

_OFF, _RARE = _Shared(_off, _on_again), _Shared(_raised, _lowered)


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
    with _OFF.held():
        yield


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
    with _RARE.held():
        yield
