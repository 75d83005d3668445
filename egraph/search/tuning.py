"""Tuning: candidates are timed on the device, and every result is kept.

The cost model puts candidates in order; the device has the last word.  Timings live in one SQLite file,
keyed by term, sizes, device and whether products and sums are rounded apart (exact kernels), so that a second search reuses them and an interrupted one goes on where it
was: each result is committed when it is there.  A candidate that failed is kept, too, with its reason.  Times
that another machine took are kept alike, under the name of its device.
"""

from __future__ import annotations

import hashlib
import math
import os
import sqlite3
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Any, ClassVar, TypeAlias

from relift.device import DeviceDescription
from relift.display.displayed import Displayed
from relift.egraph.cost.model import Cost
from relift.files import user_cache
from relift.semantics.errors import ReliftError
from relift.semantics.language.programs import Program

FORMAT = 1
COLUMNS = {"key", "program", "device", "seconds", "failure", "measured"}
APPLICATION = 0x52454C46  # "RELF" in the file's header: another program's database is refused

FINALISTS, ROUNDS, REFERENCES = 3, 2, 2
"""How many of the fastest programs are timed again, and how often, beside the first, which the others have to beat: the one
that is estimated best, and the program as it is written."""

Measure: TypeAlias = Callable[[Program], float]
"""Seconds that a low-level program takes on the device; raises `ReliftError` when it does not run."""


PATIENCE = 30.0
"""Seconds for which a database that another process writes is waited for when a time was measured, not to lose it."""

HURRY = 1.0
"""Seconds for which it is waited for while nothing is lost by giving up."""

_WORK = "CREATE TABLE IF NOT EXISTS work (key TEXT PRIMARY KEY, cycles REAL, gigabytes REAL, launch REAL)"
"""A database of an earlier Relift has no such table; what it has is worth as much as before."""

_ANEW = "move it away, and a new one is made"


class BadDatabase(ReliftError):
    """The tuning database cannot be used."""

    def __init__(self, path: Path, why: str, hint: str = _ANEW) -> None:
        super().__init__(f"{path}: {why}; {hint}", place="")


@dataclass(frozen=True)
class Timing(Displayed):
    """What is known of one program on one device: seconds, or why it did not run."""

    shown_by: ClassVar = "relift.egraph.displays:of_timing"

    seconds: float | None
    failure: str = ""
    reused: bool = False


@dataclass(frozen=True)
class Work:
    """What the cost model says a program does on a device: 10^9 cycles of a core's clock, all cores together, gigabytes, and seconds of launches."""

    cycles: float
    gigabytes: float
    launch: float

    @classmethod
    def of(cls, cost: Cost, device: DeviceDescription) -> Work:
        """What an estimate for a device is made of.

        >>> from relift.device import CPU
        >>> from relift.egraph.cost.model import Cost
        >>> from relift.egraph.search.tuning import Work
        >>> Work.of(Cost(1e-5, 2.0, 3.0, 3.2, 0.0), CPU) == Work(2.0 * CPU.core_ghz, 3.0 * CPU.bandwidth_gbs, 1e-5)
        True
        """
        return cls(cost.compute * device.core_ghz, cost.memory * device.bandwidth_gbs, cost.launch)


def default_path() -> Path:
    """The user's database: RELIFT_TUNING, or tuning.sqlite in the user's cache folder."""
    chosen = os.environ.get("RELIFT_TUNING")
    return Path(chosen) if chosen else user_cache() / "tuning.sqlite"


class Timings:
    """The times of programs on one device, as a database keeps them; those of `exact` kernels apart from others.

    >>> from pathlib import Path
    >>> from relift.egraph.search.tuning import Timing, Timings
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kept = Timings(Path(folder) / "times.sqlite", "NVIDIA H200")
    ...     kept.keep("dot", {"dot(x: f32[64]) = ...": Timing(1e-3)})
    ...     kept.known("dot(x: f32[64]) = ...")
    Timing(seconds=0.001, failure='', reused=True)
    """

    def __init__(self, path: Path, device: str, *, exact: bool = False) -> None:
        self.path, self.device, self.exact = path, device, exact

    def known(self, term: str) -> Timing | None:
        """The recorded timing of a program whose sizes are fixed, given as `str` shows it."""
        with self._database() as database:
            row = database.execute(
                "SELECT seconds, failure FROM timings WHERE key = ?", (self._key(term),)
            ).fetchone()
        return None if row is None else self._timing(*row)

    def _timing(self, seconds: Any, failure: Any) -> Timing:
        """A row, checked: anybody may have edited the file."""
        measured = isinstance(seconds, float) and 0 < seconds < math.inf
        if not (measured or seconds is None) or not isinstance(failure, str):
            raise BadDatabase(self.path, f"holds {seconds!r} where seconds should be")
        return Timing(seconds, failure, reused=True)

    def _key(self, term: str) -> str:
        """Term, types and so sizes, device, and whether it is exact; a program with the same text is the same program."""
        rounding = "\nexact" if self.exact else ""
        return hashlib.sha256(f"{term}\n{self.device}{rounding}".encode()).hexdigest()

    def keep(self, name: str, timings: Mapping[str, Timing]) -> None:
        """Record timings of programs called `name`, all or none, by the program as `str` shows it."""
        rows = [
            (self._key(term), name, self.device, t.seconds, t.failure, time.time())
            for term, t in timings.items()
        ]
        with self._database(PATIENCE) as database, database:
            for row in rows:
                database.execute("INSERT OR REPLACE INTO timings VALUES (?, ?, ?, ?, ?, ?)", row)

    def did(self, work: Mapping[str, Work]) -> None:
        """Record what the cost model says that programs do, all or none."""
        rows = [(self._key(term), w.cycles, w.gigabytes, w.launch) for term, w in work.items()]
        with self._database(PATIENCE) as database, database:
            database.execute(_WORK)
            database.executemany("INSERT OR REPLACE INTO work VALUES (?, ?, ?, ?)", rows)

    def worked(self) -> list[tuple[Work, float]]:
        """What the programs do that were timed on the device, as far as that is kept, and the seconds that each took."""
        with self._database() as database, database:
            database.execute(_WORK)
            rows = database.execute(
                "SELECT cycles, gigabytes, launch, seconds, failure FROM work JOIN timings USING (key) "
                "WHERE device = ? AND seconds IS NOT NULL ORDER BY key",
                (self.device,),
            ).fetchall()
        found: list[tuple[Work, float]] = []
        for *does, seconds, failure in rows:
            taken = self._timing(seconds, failure).seconds
            if not all(isinstance(n, float) and 0 <= n < math.inf for n in does) or not any(does):
                raise BadDatabase(self.path, f"holds {does!r} where work should be")
            if taken is not None:
                found.append((Work(*does), taken))
        return found

    def history(self, program: str) -> dict[str, list[float]]:
        """The seconds that were measured of programs of a name, by device, in the order in which they were."""
        found: dict[str, list[float]] = {}
        with self._database() as database:
            rows = database.execute(
                "SELECT device, seconds, failure FROM timings WHERE program = ? ORDER BY measured",
                (program,),
            ).fetchall()
        for device, seconds, failure in rows:
            taken = self._timing(seconds, failure).seconds
            if taken is not None:
                found.setdefault(str(device), []).append(taken)
        return found

    def check(self) -> None:
        """Raise `BadDatabase` when the database cannot be used."""
        with self._database():
            pass

    def best(
        self, programs: Sequence[Program], budget: float, heard: Callable[[str], None]
    ) -> list[Timing | None]:
        """The recorded timings of programs, in order; None for those that have none."""
        del budget, heard  # looking up takes no time
        return [self.known(str(program)) for program in programs]

    @contextmanager
    def _database(self, patience: float | None = None) -> Generator[sqlite3.Connection]:
        waiting = HURRY if patience is None else patience
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=waiting)) as database:
                self._prepare(database)
                yield database
        except (
            sqlite3.OperationalError
        ) as error:  # the file may be good: it is not to be thrown away
            raise BadDatabase(self.path, *_cannot_use(str(error))) from None
        except sqlite3.DatabaseError as error:
            raise BadDatabase(self.path, f"is no tuning database ({error})") from None
        except OSError as error:
            raise BadDatabase(self.path, f"cannot be opened ({error.strerror})") from None

    def _prepare(self, database: sqlite3.Connection) -> None:
        application = database.execute("PRAGMA application_id").fetchone()[0]
        version = database.execute("PRAGMA user_version").fetchone()[0]
        tables = database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if not tables:
            with database:
                database.execute(f"PRAGMA application_id = {APPLICATION}")
                database.execute(f"PRAGMA user_version = {FORMAT}")
                database.execute(
                    "CREATE TABLE IF NOT EXISTS timings (key TEXT PRIMARY KEY, program TEXT, "
                    "device TEXT, seconds REAL, failure TEXT, measured REAL)"
                )
        elif application != APPLICATION:
            raise BadDatabase(self.path, "belongs to another program")
        elif version != FORMAT:
            raise BadDatabase(self.path, f"has format {version}, this Relift reads {FORMAT}")
        found = {row[1] for row in database.execute("PRAGMA table_info(timings)")}
        if found and not found >= COLUMNS:
            missing = ", ".join(sorted(COLUMNS - found))
            raise BadDatabase(self.path, f"has no column {missing} in its table")


@dataclass
class Share:
    """Seconds that pieces of work may take together: none is begun that would end later, if it took as long as the longest before.

    A piece cannot be left half done: a candidate that is judged before it is timed may take as long as all others that were timed.

    >>> from relift.egraph.search.tuning import Share
    >>> share = Share(60.0)
    >>> with share.piece():
    ...     share.has_room()
    True
    """

    seconds: float
    longest: float = 0.0
    _end: float = field(init=False)

    def __post_init__(self) -> None:
        self._end = monotonic() + self.seconds

    def has_room(self) -> bool:
        """Whether another piece may be begun."""
        return monotonic() + self.longest <= self._end

    @contextmanager
    def piece(self) -> Generator[None]:
        """A piece of the work."""
        started = monotonic()
        try:
            yield
        finally:
            self.longest = max(self.longest, monotonic() - started)


class Tuner(Timings):
    """Times programs on one device, each once."""

    def __init__(self, path: Path, device: str, measure: Measure, *, exact: bool = False) -> None:
        super().__init__(path, device, exact=exact)
        self.measure = measure

    def check(self) -> None:
        """Raise `BadDatabase` when no time could be kept, before any is measured."""
        with self._database() as database:
            database.execute("BEGIN IMMEDIATE")
            database.rollback()

    def time(self, program: Program) -> Timing:
        """The recorded timing of a program whose sizes are fixed, or a new one."""
        known = self.known(str(program))
        if known is not None:
            return known
        timing = self._measured(program)
        self.keep(program.name, {str(program): timing})
        return timing

    def best(
        self, programs: Sequence[Program], budget: float, heard: Callable[[str], None]
    ) -> list[Timing | None]:
        """The timings of as many programs as `budget` seconds allow, the first two at least, in order; None for the rest.

        The fastest of them and the first two are timed again, in turn: what was measured before, or while the
        machine had more to do, is no reason to prefer one to another.
        """
        share = Share(budget)
        found: list[Timing | None] = []
        for number, program in enumerate(programs, 1):
            if number > REFERENCES and not share.has_room():
                found.append(None)
                continue
            heard(f"candidate {number} of {len(programs)}")
            with share.piece():
                found.append(self.time(program))
        self.time_again(programs, found, heard)
        return found

    def time_again(
        self,
        programs: Sequence[Program],
        found: list[Timing | None],
        heard: Callable[[str], None],
    ) -> None:
        """Time the finalists again, in rounds in which they take turns; of all times of one the least counts.

        Where all were timed in an earlier run, they have been finalists before.  The database gets what is timed.
        """
        known = {
            place: timing.seconds
            for place, timing in enumerate(found)
            if timing is not None and timing.seconds is not None
        }
        fastest = sorted(known, key=lambda place: known[place])[:FINALISTS]
        places = sorted({*fastest, *[place for place in known if place < REFERENCES]})
        new = (t for place in places if (t := found[place]) is not None and not t.reused)
        if len(places) < 2 or not any(new):
            return
        rounds: dict[int, list[Timing]] = {place: [] for place in places}
        for number in range(1, ROUNDS + 1):
            heard(f"the fastest again, round {number} of {ROUNDS}")
            for place in places:
                rounds[place].append(self._measured(programs[place]))
        for place, timings in rounds.items():
            before = found[place]
            assert before is not None, "cannot happen: it has a time"
            again = (t.seconds for t in timings if t.seconds is not None)
            found[place] = best = replace(before, seconds=min((known[place], *again)))
            self.keep(programs[place].name, {str(programs[place]): best})

    def _measured(self, program: Program) -> Timing:
        try:
            return Timing(self.measure(program))
        except ReliftError as error:
            return Timing(None, error.message)


def _cannot_use(reason: str) -> tuple[str, str]:
    """What SQLite's message means, and what to do about it."""
    if "locked" in reason:
        return "is in use by another process", "wait for it, or name another file by --times"
    if "full" in reason:
        return "cannot be written: the disk is full", "make room, or name another file by --times"
    if "no such" in reason:
        return f"is no tuning database ({reason})", _ANEW
    return f"cannot be opened ({reason})", "name another file by --times or RELIFT_TUNING"
