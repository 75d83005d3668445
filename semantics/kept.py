"""What is found once and kept while a caller asks for it to be, and then forgotten: a search, say, around all its candidates; and what terms keep."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Kept(Generic[K, V]):
    """What is found by its key, kept inside of `once` and not at all outside.

    >>> from relift.semantics.kept import Kept
    >>> squares: Kept[int, int] = Kept("squares")
    >>> squares.now() is None
    True
    >>> with squares.once():
    ...     squares.now()[3] = 9
    ...     with squares.once():
    ...         squares.now()[3], squares.known(4, lambda: 16), squares.known(4, lambda: 17)
    (9, 16, 16)
    """

    def __init__(self, what: str) -> None:
        self._held: ContextVar[dict[K, V] | None] = ContextVar(what, default=None)

    @contextmanager
    def once(self) -> Generator[None]:
        """Keep what is found inside; one within another keeps it with the outer one."""
        held = self._held.get()
        token = self._held.set({} if held is None else held)
        try:
            yield
        finally:
            self._held.reset(token)

    def now(self) -> dict[K, V] | None:
        """What is known by now; None where nothing is kept."""
        return self._held.get()

    def known(self, key: K, find: Callable[[], V]) -> V:
        """What is kept by a key; it is found where it is not known, or where nothing is kept."""
        held = self._held.get()
        if held is None:
            return find()
        if (found := held.get(key)) is None:
            found = held[key] = find()
        return found


def kept_by_term(place: str) -> Callable[[Callable[[K], V]], Callable[[K], V]]:
    """A function of terms whose answer each term keeps in a place of its own.

    >>> from relift import f32
    >>> from relift.semantics.kept import kept_by_term
    >>> from relift.semantics.syntax.terms import Input
    >>> asked = []
    >>> name = kept_by_term("_asked")(lambda t: asked.append(t) or t.name)
    >>> x = Input("x", f32)
    >>> name(x), name(x), len(asked)
    ('x', 'x', 1)
    """

    def kept(of: Callable[[K], V]) -> Callable[[K], V]:
        @wraps(of)
        def asked(t: K) -> V:
            held: dict[str, Any] = vars(t)
            if place not in held:
                held[place] = of(t)
            known: V = held[place]
            return known

        return asked

    return kept
