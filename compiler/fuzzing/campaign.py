"""Many cases, in rounds: half of a round is new, the other half changes what made the compiler do something new.

What a round tries depends on what the rounds before it saw, and on nothing else: not on who does the work, nor on
when it is interrupted.  Each outcome is a line of a log as soon as it is there, so that a campaign which was killed goes
on where it was.
"""

from __future__ import annotations

import itertools
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from relift.compiler.fuzzing.coverage import FOLLOWED, of_compiler, of_terms, of_text
from relift.compiler.fuzzing.judgement.blame import Blame, blamed, of_error
from relift.compiler.fuzzing.judgement.containment import Contained, device_of
from relift.compiler.fuzzing.judgement.judging import FINDINGS, Court, Seen, told
from relift.compiler.fuzzing.judgement.shrinking import shrunk
from relift.compiler.fuzzing.programs.cases import ALL_KINDS, NAMED, Case, case_of
from relift.compiler.fuzzing.programs.subjects import Subject, subject_of
from relift.compiler.fuzzing.programs.variants import Book, book_of, library
from relift.compiler.fuzzing.reports.findings import Finding
from relift.compiler.fuzzing.reports.report import FILES, PAGE, files_of
from relift.files import read_json, write_folder, write_text
from relift.processes.executors import each
from relift.rewrites.derivation.own_rules import OwnRule
from relift.rewrites.loading import load_rules
from relift.rewrites.rule import Rule
from relift.semantics.errors import ReliftError, in_a_line

ROUND, CHUNK = 448, 4
"""Cases of a round, and those that a worker gets at a time: few, so that no worker waits long for the last of a round."""

TEXTS, FORMULATED = 2, 4
"""The text of one program in so many is run on symbols, and one in so many is computed in NumPy."""

SHARE = 2.0
"""How much more than by lot the kinds are drawn whose programs made the compiler do something new."""

SMALL_ENOUGH = 3
"""So many findings of one look are made small; of the others it is only counted who is to blame."""

NO_DEVICE = "none"
"""Instead of a device: the text of the kernels is run on free symbols, and on nothing else."""

LOG, SETTINGS, FOUND = "log.jsonl", "campaign.json", "findings"


@dataclass(frozen=True)
class Settings:
    """What a campaign tries; another one with the same settings tries the same.

    `against` are devices that are compared beside the interpreter, or `oclgrind`; `plain` is what `Contained` says;
    `rules` are files with rules that are believed and forced in, for a test of the campaign itself.
    """

    device: str | None = None
    against: tuple[str, ...] = ()
    seed: int = 0
    kinds: tuple[str, ...] = ALL_KINDS
    plain: bool = False
    rules: tuple[str, ...] = ()
    seconds_each: float = 60.0


@dataclass(frozen=True)
class Task:
    """Some cases for a worker, and the looks of findings that are known well enough."""

    settings: Settings
    cases: tuple[str, ...]
    known: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Outcome:
    """What became of a case; of a finding the cause, and the files of its report where it was made small."""

    case: str
    sight: str
    detail: str = ""
    features: frozenset[str] = frozenset()
    culprit: str = ""
    cause: str = ""
    look: str = ""
    page: str = ""
    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])


# ---- what a worker does


def judged(task: Task) -> list[Outcome]:
    """The outcomes of some cases, in a process that keeps its devices."""
    court, book = court_of(task.settings), _book(task.settings.rules)
    return [outcome_of(case_of(name), court, task, book) for name in task.cases]


def court_of(settings: Settings) -> Court:
    """The devices of a campaign."""

    def device(target: str | None) -> Contained:
        return device_of(target, plain=settings.plain, seconds=settings.seconds_each)

    first = None if settings.device == NO_DEVICE else device(settings.device)
    others = tuple(device(t) for t in settings.against if t != "interpreter")
    for found in (first, *others):
        if found is not None:
            found.name()
    return Court(first, others)


def _book(files: Sequence[str]) -> Book | None:
    """The rules of files, which are believed, beside those of the library; None where there are no files."""
    if not files:
        return None
    given = [r for file in files for r in load_rules(Path(file)).values()]
    own = tuple(OwnRule(rule, "ASSUMED") for rule in given if isinstance(rule, Rule))
    return replace(library(), own=own, forced=book_of([], own).forced)


def outcome_of(case: Case, court: Court, task: Task, book: Book | None = None) -> Outcome:
    """What becomes of one case."""
    try:
        subject = subject_of(case, book)
    except ReliftError as error:
        return Outcome(str(case), "refused", error.message)
    except Exception as error:  # noqa: BLE001  # a finding, though there is no subject to show
        blame = of_error(told(error))
        return Outcome(
            str(case), "error", blame.because[0], culprit=blame.culprit, cause=blame.cause
        )
    if subject is None:
        return Outcome(str(case), "not made")
    seen = sampled(court, case).seen(subject)
    features = of_terms(subject) if seen.sight != "refused" else set[str]()
    if seen.sight == "right":
        features |= of_text(seen.text)
        if case.random("lines").randrange(FOLLOWED) == 0:
            features |= of_compiler(subject)
    found = Outcome(str(case), seen.sight, seen.detail[:300], frozenset(features))
    if not seen.is_finding:
        return found
    try:
        return _investigated(found, subject, seen, court, task)
    except Exception as error:  # noqa: BLE001  # the finding stays one
        why = in_a_line(error)
        return replace(
            found,
            detail=f"{found.detail}; {why}",
            culprit="nobody",
            cause=f"nobody yet {seen.sight}",
        )


def sampled(court: Court, case: Case) -> Court:
    """What is asked of a case: NumPy of some, and the text of some where a device runs it anyway."""
    drawn = case.random("asked")
    formulated = drawn.randrange(FORMULATED) == 0
    return replace(
        court, texts=court.device is None or drawn.randrange(TEXTS) == 0, formulated=formulated
    )


def _investigated(
    found: Outcome, subject: Subject, seen: Seen, court: Court, task: Task
) -> Outcome:
    """The finding, made small where none like it is known, and blamed."""
    witnesses = [d for d in (court.device, *court.against) if d is not None]
    blame = blamed(subject, seen, witnesses, simulate=False)
    look = look_of(seen, blame)
    if look in task.known or blame.cause in task.known:
        return replace(found, culprit=blame.culprit, cause=blame.cause, look=look)
    narrow = narrowed(court, seen)

    def shows(candidate: Subject) -> bool:
        again = narrow.seen(candidate)
        return again.sight == seen.sight and _fault(again) == _fault(seen)

    small = shrunk(subject, shows)
    again = narrow.seen(small)
    if again.sight != seen.sight:  # it comes and goes
        small, again = subject, seen
    blame = blamed(small, again, witnesses or _others(), simulate=True)
    finding = Finding(found.case, small, again, blame)
    return replace(
        found,
        culprit=blame.culprit,
        cause=blame.cause,
        look=look,
        page=finding.folder(Path()).name,
        files=files_of(finding),
    )


def look_of(seen: Seen, blame: Blame) -> str:
    """What findings of one cause have in common before they are made small."""
    if blame.culprit in ("device", "nobody"):
        return f"{blame.culprit} {seen.device} {seen.sight}"
    return blame.cause


def narrowed(court: Court, seen: Seen) -> Court:
    """Only what a finding was seen by."""
    if seen.device:
        devices = [d for d in (court.device, *court.against) if d and d.label == seen.device]
        return Court(devices[0], texts=False, formulated=False)
    return Court(None, texts=seen.sight == "text", formulated=seen.sight == "formulation")


def _fault(seen: Seen) -> str | None:
    return None if seen.report is None else seen.report.fault


def _others() -> Sequence[Contained]:
    return ()


# ---- what the campaign does


@dataclass
class State:
    """What is known so far: the outcomes of cases, features that were met, cases that met new ones."""

    sights: Counter[str] = field(default_factory=Counter[str])
    causes: Counter[str] = field(default_factory=Counter[str])
    looks: Counter[str] = field(default_factory=Counter[str])
    pages: dict[str, str] = field(default_factory=dict[str, str])
    culprits: dict[str, str] = field(default_factory=dict[str, str])
    features: set[str] = field(default_factory=set[str])
    corpus: list[str] = field(default_factory=list[str])
    refusals: Counter[str] = field(default_factory=Counter[str])
    before: int = 0
    """Programs of the log of a campaign that goes on."""

    @property
    def here(self) -> int:
        """How many programs were run this time."""
        return self.programs - self.before

    @property
    def programs(self) -> int:
        """How many programs were run."""
        return self.sights["right"] + self.findings

    @property
    def findings(self) -> int:
        """How many of them somebody has to look at."""
        return sum(count for sight, count in self.sights.items() if sight in FINDINGS)

    @property
    def tried(self) -> int:
        """How many cases there were."""
        return sum(self.sights.values())

    def take(self, line: Mapping[str, Any]) -> None:
        """A line of the log."""
        self.sights[line["sight"]] += 1
        if line["sight"] == "refused":
            self.refusals["".join(c for c in line["detail"] if not c.isdigit())[:100]] += 1
        if line.get("new"):
            self.features |= set(line["new"])
            self.corpus.append(line["case"])
        if cause := line.get("cause"):
            self.causes[cause] += 1
            self.looks[line["look"]] += bool(line["page"])
            self.culprits[cause] = line["culprit"]
            if line["page"]:
                self.pages.setdefault(cause, line["page"])

    def known(self) -> frozenset[str]:
        """Causes that have a report, and looks of which there are enough."""
        enough = {look for look, n in self.looks.items() if n >= SMALL_ENOUGH}
        return frozenset({*self.pages, *enough})


def round_of(settings: Settings, number: int, corpus: Sequence[str]) -> list[str]:
    """The names of the cases of a round; a kind is drawn the more often, the more of its programs were new of late."""
    drawn = random.Random(f"{settings.seed} {number}")
    first = settings.seed * 10**6 + number * ROUND
    recent = corpus[-ROUND:]
    met = Counter(case_of(name).kind for name in recent)
    weights = [
        1 + SHARE * met[NAMED[kind]] * len(settings.kinds) / max(1, len(recent))
        for kind in settings.kinds
    ]
    kinds = drawn.choices(settings.kinds, weights, k=ROUND)
    found: list[str] = []
    for place in range(ROUND):
        if corpus and place % 2:
            found.append(str(case_of(drawn.choice(recent)).changed(drawn.randrange(10**6))))
        else:
            found.append(str(Case(NAMED[kinds[place]], first + place)))
    return found


def campaign(
    settings: Settings,
    out: Path | None = None,
    *,
    count: int | None = None,
    seconds: float | None = None,
    executor: Executor | None = None,
    heard: Callable[[Outcome, State], None] = lambda outcome, state: None,
) -> State:
    """Try so many cases, or for so long; what the folder `out` has of the same settings is not tried again.

    `heard` is called with each outcome and what is known then.  Raises `ReliftError` where the folder holds another
    campaign, or cannot be written.
    """
    logged = _logged(out, settings)
    state, began = State(), time.monotonic()
    number = -1
    while True:
        number += 1
        names = round_of(settings, number, state.corpus)
        if count is not None:
            names = names[: count - state.tried]
        before = list(itertools.takewhile(lambda name: name in logged, names))
        for name in before:
            state.take(logged[name])
            state.before += logged[name]["sight"] == "right" or logged[name]["sight"] in FINDINGS
        known, left = state.known(), names[len(before) :]
        tasks = [
            Task(settings, tuple(left[i : i + CHUNK]), known) for i in range(0, len(left), CHUNK)
        ]
        for outcome in _until(each(judged, _while(tasks, began, seconds), executor)):
            line = _line(outcome, state)
            if outcome.files and out is not None and line["cause"] not in state.pages:
                write_folder(out / FOUND / outcome.page, outcome.files, last=PAGE, known=FILES)
            if out is not None:
                _append(out / LOG, line)
            state.take(line)
            heard(outcome, state)
        done = count is not None and state.tried >= count
        if done or (seconds is not None and time.monotonic() - began >= seconds):
            return state


def _while(tasks: Sequence[Task], began: float, seconds: float | None) -> Iterator[Task]:
    """The tasks that are begun in time."""
    for task in tasks:
        if seconds is not None and time.monotonic() - began >= seconds:
            return
        yield task


def _until(results: Iterator[list[Outcome]]) -> Iterator[Outcome]:
    for outcomes in results:
        yield from outcomes


def _line(outcome: Outcome, state: State) -> dict[str, Any]:
    """What the log says of an outcome."""
    new = sorted(outcome.features - state.features)
    line: dict[str, Any] = {"case": outcome.case, "sight": outcome.sight}
    if outcome.sight != "right":
        line["detail"] = outcome.detail
    if new:
        line["new"] = new
    if outcome.cause:
        line |= {
            "culprit": outcome.culprit, "cause": outcome.cause, "look": outcome.look, "page": outcome.page,
        }  # fmt: skip
    return line


def _append(file: Path, line: Mapping[str, Any]) -> None:
    try:
        with file.open("a", encoding="utf-8") as log:
            log.write(json.dumps(line) + "\n")
    except OSError as error:
        raise ReliftError(
            f"cannot write {file}: {error.strerror}; what was logged is kept, --resume goes on from there",
            place="",
        ) from None


def _logged(out: Path | None, settings: Settings) -> dict[str, dict[str, Any]]:
    """What a folder has of the same campaign, by case; the folder is made where there is none."""
    if out is None:
        return {}
    asked = json.loads(json.dumps(asdict(settings)))
    file = out / SETTINGS
    if file.exists():
        if read_json(file, "the settings of a campaign") != asked:
            raise ReliftError(
                f"{out} holds a campaign with other settings ({file}); give --out another folder, or the same options",
                place="",
            )
    else:
        write_text(file, json.dumps(asked, indent=1) + "\n")
    found: dict[str, dict[str, Any]] = {}
    if (out / LOG).exists():
        text = (out / LOG).read_text(encoding="utf-8", errors="replace")
        lines = text.splitlines(keepends=True)
        if lines and not lines[-1].endswith("\n"):  # it was killed while it wrote
            lines.pop()
            write_text(out / LOG, "".join(lines))
        for line in lines:
            try:
                entry = json.loads(line)
                found[entry["case"]] = entry
            except (ValueError, KeyError, TypeError):
                raise ReliftError(f"{out / LOG} is damaged: {line[:60]!r}", place="") from None
    return found


def has_campaign(out: Path) -> bool:
    """Whether a folder holds a campaign."""
    return (out / SETTINGS).exists()
