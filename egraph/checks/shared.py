"""Checks of many rules, shared out: each part is some rules by name, checked where it is sent.

What comes back is what one process would say of them, in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path

from relift.egraph.checks.recording import checked_entries
from relift.egraph.checks.tiers import check_all
from relift.processes.executors import each
from relift.rewrites.checks.verdicts import TIERS, CheckReport, TierName
from relift.rewrites.ledger.book import Entry, differences, known_rules, load
from relift.rewrites.loading import load_rules

RULES_EACH, PARTS = 6, 8
"""Rules of a part, whose proofs are made by one start of the prover; what is left is so many parts at least."""


@dataclass(frozen=True)
class Portion:
    """Some rules, of a file or of those that the ledger knows, and how they are checked."""

    names: tuple[str, ...]
    file: str | None = None
    tiers: tuple[TierName, ...] = TIERS
    bound: int = 3
    guards: bool = True


def parts_of(names: Sequence[str], part: Portion) -> list[Portion]:
    """The same check of these rules, in parts that get shorter: whoever does the last one is not waited for long.

    >>> from relift.egraph.checks.shared import Portion, parts_of
    >>> [len(p.names) for p in parts_of([f"r{k}" for k in range(60)], Portion(()))]
    [6, 6, 6, 5, 4, 4, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
    """
    found: list[Portion] = []
    at = 0
    while at < len(names):
        size = max(1, min(RULES_EACH, (len(names) - at) // PARTS))
        found.append(replace(part, names=tuple(names[at : at + size])))
        at += size
    return found


def checked(part: Portion) -> list[CheckReport]:
    """What the tiers say of the rules of a part."""
    known = load_rules(Path(part.file)) if part.file else known_rules()
    rules = [known[name] for name in part.names]
    return list(check_all(rules, tiers=part.tiers, bound=part.bound, guards=part.guards))


def recorded(part: Portion) -> list[Entry]:
    """What the ledger should say of the rules of a part."""
    found = {entry.rule: entry for entry in checked_entries(part.names)}
    return [found[name] for name in part.names]


def check_shared(
    names: Sequence[str],
    how: Portion,
    executor: Executor,
    progress: Callable[[str], None] | None = None,
) -> Iterator[CheckReport]:
    """What the tiers say of each of these rules; `how` says where they are from, and the tiers.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from relift.egraph.checks.shared import Portion, check_shared
    >>> with ThreadPoolExecutor(2) as executor:
    ...     found = list(check_shared(["join_split", "map_fusion"], Portion((), tiers=("1",)), executor))
    >>> [report.rule for report in found]
    ['join_split', 'map_fusion']
    """
    done = 0
    for reports in each(checked, parts_of(names, how), executor):
        done += len(reports)
        if progress is not None:
            progress(f"{done} of {len(names)} rules")
        yield from reports


def entries_shared(
    names: Collection[str], executor: Executor, progress: Callable[[str], None] | None = None
) -> Iterator[Entry]:
    """What the ledger should say of rules, of all if none are named."""
    known = [name for name in known_rules() if not names or name in names]
    done = 0
    for entries in each(recorded, parts_of(known, Portion(())), executor):
        done += len(entries)
        if progress is not None:
            progress(f"{done} of {len(known)} rules")
        yield from entries


def audit_shared(
    names: Collection[str], executor: Executor, progress: Callable[[str], None] | None = None
) -> Iterator[tuple[str, list[str]]]:
    """Each rule checked again, and what the ledger says otherwise."""
    for found in entries_shared(names, executor, progress):
        yield found.rule, differences(load().get(found.rule), found)
