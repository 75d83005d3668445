"""The verbs for rules: check, ledger."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from relift.cli.options import JsonOption, Refusal, SchedulerOption, WorkersOption
from relift.cli.output import print_json, print_table, progress_of
from relift.semantics.errors import did_you_mean

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from relift.rewrites.checks.verdicts import TierName


def check(
    rules: Annotated[list[str] | None, typer.Argument(help="Names of rules; all if none.")] = None,
    file: Annotated[Path | None, typer.Option(help="A Python file with rules of your own.")] = None,
    tier: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this tier: 1 types, 2 random, 3 free, 4a index, 4b kernel proof, 5 search."
        ),
    ] = None,
    bound: Annotated[int, typer.Option(help="Tier 3 tries every size up to this.", min=1)] = 3,
    workers: WorkersOption = 1,
    scheduler: SchedulerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Validate rewrite rules: types, random values, small sizes on free symbols, provers, search.

    Exit status: 0 all are proved for all sizes; 1 one has failed; 3 none has failed, but one is tested only;
    2 bad input, such as a rule whose Python fails.
    """
    from relift.checking import check_all, check_shared
    from relift.egraph.checks.shared import Portion
    from relift.processes.executors import on
    from relift.rewrites.checks.verdicts import EXIT_STATUS, TIERS, summary
    from relift.rewrites.ledger.book import known_rules
    from relift.rewrites.library import CHOICES, RULES
    from relift.rewrites.loading import load_rules

    known = load_rules(file) if file else known_rules()
    families = {} if file else {f.name: [r.name for r in f.rules] for f in CHOICES.values()}
    rules = [*dict.fromkeys(n for given in rules or () for n in families.get(given, [given]))]
    for name in rules:
        if name not in known:
            if file:
                there = ", ".join(known)
                raise Refusal(f"there is no rule {name} in {file}; its rules are: {there}")
            raise Refusal(f"there is no rule {name}{_nearest(name, [*known, *families])}")
    if wrong := [t for t in tier or () if t not in TIERS]:
        raise Refusal(f"there is no tier {wrong[0]}; there are: {', '.join(TIERS)}")
    tiers: tuple[TierName, ...] = tuple(t for t in TIERS if not tier or t in tier)
    names = list(rules or (known if file else RULES))
    reports = []
    with progress_of("checking") as progress, on(workers, scheduler) as executor:
        asked = [known[name] for name in names]
        if executor is None:
            found = check_all(asked, tiers=tiers, bound=bound, progress=progress)
        else:
            how = Portion((), str(file.resolve()) if file else None, tiers, bound)
            found = check_shared(asked, how, executor, progress)
        for r in found:
            reports.append(r)
            if not as_json:
                print(r.text() + "\n", flush=True)
    if as_json:
        print_json({"rules": [r.to_json() for r in reports]})
    else:
        print(summary(reports))
    if any(r.malformed for r in reports):
        raise typer.Exit(2)
    raise typer.Exit(max((EXIT_STATUS[r.headline] for r in reports), key=(0, 3, 1).index))


def _nearest(name: str, known: Iterable[str]) -> str:
    """What may have been meant; a few names, however many there are."""
    if near := did_you_mean(name, known):
        return near
    if name.endswith(".py"):
        return f"; the rules of a file are checked by relift check --file {name}"
    return "; relift ledger lists the library"


def ledger(
    rules: Annotated[
        list[str] | None, typer.Argument(help="Rules whose pages are printed, or that are checked.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Also write one self-contained page.")] = None,
    update: Annotated[
        bool, typer.Option("--update", help="Check these rules, or all, again and record it.")
    ] = False,
    audit: Annotated[
        bool,
        typer.Option(
            "--audit", help="Check these rules, or all, again and compare; 1 if it differs."
        ),
    ] = False,
    sample: Annotated[
        int | None, typer.Option(help="With --audit: only this many rules, drawn by --seed.", min=1)
    ] = None,
    seed: Annotated[int, typer.Option(help="What the sample is drawn by.")] = 0,
    workers: WorkersOption = 1,
    scheduler: SchedulerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Every rule and what is known of it; or all that is known of some."""
    from relift.files import write_text
    from relift.processes.executors import on
    from relift.rewrites.ledger import book, pages

    known = book.known_rules()
    if unknown := [name for name in rules or () if name not in known]:
        raise Refusal(f"there is no rule {unknown[0]}{_nearest(unknown[0], known)}")
    if update and audit:
        raise Refusal("--update records what --audit compares; give one of them")
    if sample is not None and (not audit or rules):
        raise Refusal("--sample draws the rules of --audit; give it with --audit and without names")
    if audit:
        with on(workers, scheduler) as executor:
            _audit_ledger(rules or _sample(list(known), sample, seed), executor, as_json)
    if update:
        with on(workers, scheduler) as executor:
            _update_ledger(rules or [], executor)
    if html is not None:
        write_text(html, pages.as_html())
    if as_json:
        print_json({"rules": [pages.to_json(name) for name in rules or known]})
    elif rules:
        print("\n\n".join(map(pages.page, rules)))
    else:
        _print_ledger()
    if not as_json:
        for file in [book.FILE] * update + ([html] if html is not None else []):
            print(f"written to {file}")


def _print_ledger() -> None:
    from rich.table import Table

    from relift.rewrites.ledger.book import known_rules, summary
    from relift.rewrites.ledger.pages import row

    table = Table("rule", "family", "verdict", "search", "floating point", "under")
    for name in known_rules():
        table.add_row(*row(name))
    print_table(table)
    print(summary())


def _sample(names: list[str], count: int | None, seed: int) -> list[str]:
    """This many of the names, the same for the same seed; all of them without a number."""
    from random import Random

    return names if count is None else Random(seed).sample(names, min(count, len(names)))


def _update_ledger(names: Sequence[str], executor: Executor | None) -> None:
    from relift.egraph.checks.recording import checked_entries
    from relift.egraph.checks.shared import entries_shared
    from relift.rewrites.checks.rocq.installed import require_prover
    from relift.rewrites.ledger.book import record, require_writable

    require_writable()
    require_prover()
    with progress_of("checking") as progress:
        if executor is None:
            record(list(checked_entries(names, progress)))
        else:
            record(list(entries_shared(names, executor, progress)))


def _audit_ledger(names: Sequence[str], executor: Executor | None, as_json: bool) -> None:
    """Check rules again, print what the ledger says otherwise, and end with 1 if there is any."""
    from relift.egraph.checks.recording import audit
    from relift.egraph.checks.shared import audit_shared
    from relift.rewrites.checks.rocq.installed import require_prover

    require_prover()
    found: dict[str, list[str]] = {}
    with progress_of("checking") as progress:
        checked = (
            audit(names, progress) if executor is None else audit_shared(names, executor, progress)
        )
        for name, said in checked:
            found[name] = said
            if said and not as_json:
                print(f"{name}: {'; '.join(said)}", flush=True)
    wrong = {name: said for name, said in found.items() if said}
    if as_json:
        print_json({"checked": list(found), "differ": wrong})
    else:
        print(f"{len(found)} rules checked again: {len(found) - len(wrong)} as recorded")
    raise typer.Exit(1 if wrong else 0)
