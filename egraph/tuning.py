"""Measured times, kept: a small database of how long a term took on a device.

A row is keyed by the printed term, which has its sizes in it, by the device, and by the version of the code
that made kernels of terms.  Each is written as soon as it is measured, in a transaction of its own, so a
search that is killed loses only the measurement at hand, and the next one goes on from there.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from relift.semantics.binding import tidy
from relift.semantics.errors import ReliftError
from relift.semantics.language import Program
from relift.semantics.printer import show

FORMAT = 1
"""The version of the tables; a database of another version is refused."""

_APPLICATION = 0x52_4C_46_54  # "RLFT", which SQLite keeps in the file's header


class BadDatabase(ReliftError):
    """A tuning database that cannot be read, is not one, or was written by another version."""


class TuningDatabase:
    """Times by program and device in one file; as a context, it is closed at the end.

    Raises `BadDatabase` when the file is damaged or is something else.

    >>> import tempfile
    >>> x = Input("x", f32[4])
    >>> double = Program("double", (x,), parse("map(lambda v: v * 2.0, x)", x=x))
    >>> with TuningDatabase(Path(tempfile.mkdtemp()) / "times.db") as times:
    ...     times.keep(double, "a device", 0.5)
    ...     times.known(double, "a device"), times.known(double, "another device")
    (0.5, None)
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._explained():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(path, timeout=30)
            try:
                self._open()
            except BaseException:
                self._connection.close()
                raise

    def _open(self) -> None:
        tables = self._number("SELECT count(*) FROM sqlite_master")
        if tables == 0:
            with self._connection as transaction:
                transaction.execute(f"PRAGMA application_id = {_APPLICATION}")
                transaction.execute(f"PRAGMA user_version = {FORMAT}")
                transaction.execute(
                    "CREATE TABLE times (program TEXT, device TEXT, term TEXT, seconds REAL, "
                    "PRIMARY KEY (program, device))"
                )
        elif self._number("PRAGMA application_id") != _APPLICATION:
            raise self._bad("it is a database of something else")
        elif (version := self._number("PRAGMA user_version")) != FORMAT:
            raise self._bad(f"it has format {version}, this Relift reads format {FORMAT}")

    def _number(self, query: str) -> int:
        (number,) = self._connection.execute(query).fetchone()
        return int(number)

    def known(self, program: Program, device: str) -> float | None:
        """The seconds that a program took on a device, or None."""
        with self._explained():
            row = self._connection.execute(
                "SELECT seconds FROM times WHERE program = ? AND device = ?", (_key(program), device)
            ).fetchone()
        return None if row is None else float(row[0])

    def keep(self, program: Program, device: str, seconds: float) -> None:
        """Remember what was measured."""
        with self._explained(), self._connection as transaction:
            transaction.execute(
                "INSERT OR REPLACE INTO times VALUES (?, ?, ?, ?)",
                (_key(program), device, show(tidy(program.body)), seconds),
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    @contextmanager
    def _explained(self) -> Generator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise self._bad(str(error)) from None
        except OSError as error:
            raise self._bad(error.strerror or "it cannot be made") from None

    def _bad(self, why: str) -> BadDatabase:
        return BadDatabase(
            f"{self.path} is no tuning database: {why}; move it away, or name another file", place=""
        )


def _key(program: Program) -> str:
    """A program's parameters and term, whatever its binders are called."""
    parameters = ", ".join(f"{p.name}: {p.type}" for p in program.parameters)
    return hashlib.sha256(f"{parameters} -> {show(tidy(program.body))}".encode()).hexdigest()
