"""The errors of the language, each one message that names the thing, the place and the hint.

`IllTyped`: the program is wrong.  `Undefined`: a well-typed program met a value outside an operator's
domain.  `Refuted`: a kernel is known to be wrong.  `Unsupported`: well typed and defined, but Relift does not
do it yet.  A broken invariant of Relift itself is an `AssertionError`, never one of these.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent
_LAYERS = ("semantics", "rewrites", "egraph", "compiler", "src")
_OWN = (
    (_PACKAGE,)
    if (_PACKAGE / "__main__.py").exists()
    else tuple(_PACKAGE / each for each in _LAYERS)
)
"""Where Relift's modules are: as it is installed in one folder, in a checkout beside tests and examples, which are users."""


class ReliftError(Exception):
    """A message for the user; `place` is the line of the user's file that caused it, where known.

    It is found on the stack unless it is given; an empty one says that no line is to blame.
    """

    def __init__(self, message: str, place: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.place = callers_line() if place is None else place

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


class IllTyped(ReliftError):
    """Types or sizes do not fit."""


class Undefined(ReliftError):
    """An operator was applied outside its domain."""


class Refuted(ReliftError):
    """A kernel that was not run, because it is known to be wrong."""


class Unsupported(ReliftError):
    """A well-typed request that Relift does not carry out."""


def in_a_line(error: BaseException) -> str:
    """What was raised, in one line, whatever its own text is: that of a user's class may be several, or fail itself.

    >>> from relift.semantics.errors import in_a_line
    >>> in_a_line(ValueError("one\\ntwo")), in_a_line(SystemExit())
    ('ValueError: one two', 'SystemExit')
    """
    try:
        said = " ".join(str(error).split())
    except Exception:  # noqa: BLE001  # whatever a user's class raises
        said = ""
    return ": ".join(filter(None, (type(error).__name__, said)))


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a message about a name that nothing has: a few that are much like it; empty where none is.

    >>> from relift.semantics.errors import did_you_mean
    >>> did_you_mean("map_fusionn", ["map_fusion", "split_join"])
    '; did you mean map_fusion?'
    """
    import difflib  # only a message asks

    near = difflib.get_close_matches(name, list(known), n=3)
    return f"; did you mean {' or '.join(near)}?" if near else ""


DEEP = 12_000
"""How deeply calls may nest where terms are walked: enough for 400 maps inside each other, and what a stack of 8 MB holds."""


@contextmanager
def nesting_deeply() -> Generator[None]:
    """Terms are walked recursively; Python's own limit is made for other programs."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, DEEP))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


@contextmanager
def bounded_depth(what: str, *, traced: bool = False) -> Generator[None]:
    """Let terms be walked as deeply as the stack allows, and turn a RecursionError beyond that into a message.

    A function of the user's that is `traced` has Python's own limit: its calls may take any part of the stack each.
    """
    try:
        with nullcontext() if traced else nesting_deeply():
            yield
    except RecursionError:
        raise Unsupported(
            f"{what} is nested too deeply: Python's stack does not hold calls for each level; nest less"
        ) from None


_blamed: ContextVar[tuple[str | None] | None] = ContextVar("the line of all errors", default=None)


@contextmanager
def blamed_once() -> Generator[None]:
    """Errors inside are of the line that calls Relift here, which is looked for once, however many are raised and caught."""
    token = _blamed.set((callers_line(),))
    try:
        yield
    finally:
        _blamed.reset(token)


def callers_line() -> str | None:
    """`file:line` of the innermost frame outside Relift and the standard library, or None."""
    if (known := _blamed.get()) is not None:
        return known[0]
    frame = inspect.currentframe()
    while frame is not None:
        file = frame.f_code.co_filename
        if not is_ours(file):
            return f"{file}:{frame.f_lineno}"
        frame = frame.f_back
    return None


def users_line(error: BaseException) -> str | None:
    """`file:line` of the user's own code that raised this, on its own or in a library that it called; None where Relift did.

    >>> from relift.semantics.errors import callers_line, users_line
    >>> try:
    ...     callers_line(1)
    ... except TypeError as error:
    ...     users_line(error)
    """
    import traceback  # only a message asks

    found: str | None = None
    for frame in traceback.extract_tb(error.__traceback__):
        if not is_ours(frame.filename):
            found = f"{frame.filename}:{frame.lineno}"
        elif _is_of_relift(frame.filename):
            found = None
    return found


_INSTALLED = frozenset(["site-packages", "dist-packages"])
"""What the folders of installed modules are called."""


@cache
def _of_python() -> tuple[Path, ...]:
    """Where Python's own modules and commands are: a user's file may well be below the same prefix, as `/usr` is."""
    import sysconfig  # only a message asks, and it takes as long as a module of Relift

    return tuple(
        Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib", "scripts")
    )


@cache
def is_ours(file: str) -> bool:
    """Whether a file is one of Relift's, or of what it is made with: all others are the user's."""
    if file.startswith("<"):
        return True
    resolved = Path(file).resolve()
    installed = not _INSTALLED.isdisjoint(resolved.parts)
    return installed or _is_of_relift(file) or any(map(resolved.is_relative_to, _of_python()))


@cache
def _is_of_relift(file: str) -> bool:
    """Whether a file is one of Relift's own."""
    return any(map(Path(file).resolve().is_relative_to, _OWN))
