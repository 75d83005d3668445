"""What Hypothesis draws for Relift's own checks: the same each time, in silence, with nothing left on disk.

Hypothesis takes long to load, so nothing else in Relift imports this module early.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import hypothesis
from hypothesis import strategies as st
from hypothesis.configuration import set_hypothesis_home_dir, storage_directory
from hypothesis.errors import Unsatisfiable
from hypothesis.internal.cache import LRUCache
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

T = TypeVar("T")


class _Fails(Exception):
    """A drawn value fails; Hypothesis shrinks whatever raises it."""


class Drawn(Exception):
    """A drawn value says nothing, and counts for nothing: draw another."""


class OutOfTime(BaseException):
    """Stops the drawing at once, for it is no `Exception` to shrink."""


def simplest(
    strategy: st.SearchStrategy[T], fails: Callable[[T], bool], *, examples: int
) -> T | None:
    """The simplest value found that fails, among `examples` drawn ones and what they shrink to; None if none does.

    `fails` may raise `Drawn` for a value that is not to count, and `OutOfTime`; then the simplest so far is
    returned.

    >>> from hypothesis import strategies as st
    >>> from relift.rewrites.checks.random.drawing import simplest
    >>> simplest(st.integers(), lambda k: k > 41, examples=100)
    42
    """
    found: list[T] = []

    def visit(value: T) -> None:
        try:
            failing = fails(value)
        except Drawn:
            hypothesis.reject()
        if failing:
            found[:] = [value]  # each one that Hypothesis tries is simpler, and so is the last
            raise _Fails

    quiet = hypothesis.settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        print_blob=False,
        phases=(hypothesis.Phase.generate, hypothesis.Phase.shrink),
        suppress_health_check=(
            hypothesis.HealthCheck.data_too_large,
            hypothesis.HealthCheck.filter_too_much,
            hypothesis.HealthCheck.too_slow,
        ),
    )
    run = quiet(hypothesis.given(strategy)(visit))
    before = storage_directory(intent_to_write=False).home_directory
    with tempfile.TemporaryDirectory() as folder:  # it leaves caches beside the user's files
        set_hypothesis_home_dir(folder)
        try:
            with _whatever_is_imported():
                run()
        except (_Fails, OutOfTime, Unsatisfiable):
            pass
        finally:
            set_hypothesis_home_dir(before)
    return found[0] if found else None


_WITHOUT_SOURCES: dict[str, Any] = {
    "_get_local_constants": Constants,
    "CONSTANTS_CACHE": LRUCache(1024),
}
"""What stands in Hypothesis for the numbers of imported modules: none, and which of them a strategy may draw."""


@contextmanager
def _whatever_is_imported() -> Generator[None]:
    """Draw no numbers from the sources of modules, as Hypothesis else does of all that are imported and not installed.

    What is drawn would depend on what a user has imported, and to read a checkout takes seconds in each process.
    """
    before = {name: getattr(providers, name) for name in _WITHOUT_SOURCES}
    _put(_WITHOUT_SOURCES)
    try:
        yield
    finally:
        _put(before)


def _put(values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        setattr(providers, name, value)
