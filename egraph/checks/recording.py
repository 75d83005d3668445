"""What the ledger should say of rules: each checked by the tiers that its kind asks for, and compared with what it says."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from relift.egraph.checks.tiers import check_all
from relift.rewrites.checks.rocq.installed import installed_prover, prover_version
from relift.rewrites.checks.verdicts import TIERS
from relift.rewrites.ledger.book import Entry, differences, entry, known_rules, load
from relift.rewrites.ledger.refuted import REFUTED
from relift.rewrites.library import RULES


def checked_entries(
    names: Collection[str] = (), progress: Callable[[str], None] | None = None
) -> Iterator[Entry]:
    """What the ledger should say of rules, of all if none are named.

    Every tier judges the rules of the library, all but the costly ones what is refuted.
    """
    rules = {name: r for name, r in known_rules().items() if not names or name in names}
    version = prover_version(installed_prover())
    library = [r for name, r in rules.items() if name in RULES]
    refuted = [r for name, r in rules.items() if name in REFUTED]
    for chosen, tiers in ((library, TIERS), (refuted, TIERS[:4])):
        for report in check_all(chosen, tiers=tiers, guards=False, progress=progress):
            yield entry(report, rules[report.rule], version)


def audit(
    names: Collection[str] = (), progress: Callable[[str], None] | None = None
) -> Iterator[tuple[str, list[str]]]:
    """Each rule checked again, and what the ledger says otherwise."""
    for found in checked_entries(names, progress):
        yield found.rule, differences(load().get(found.rule), found)
