"""How rules, what checks say of them, and derivations are displayed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relift.display.blocks import Block, Cells, Code, Folded, Mood, Table, Title, Words
from relift.display.cells import depth, differing, read
from relift.rewrites.checks.verdicts import (
    CheckReport,
    Counterexample,
    Guard,
    Headline,
    Status,
    TierResult,
    printed,
)
from relift.rewrites.derivation.pages import of_steps
from relift.rewrites.derivation.steps import Derivation
from relift.rewrites.ledger.book import is_proved, verdict
from relift.rewrites.library import RULES
from relift.rewrites.rule import RejectedRule, Rule
from relift.semantics.errors import ReliftError
from relift.semantics.notation.printer import show

MOODS: Mapping[Status, Mood] = {
    "ok": "good", "proved": "good", "unproved": "open", "refuted": "bad", "rejected": "bad",
    "skipped": "open", "unfinished": "open",
}  # fmt: skip

HEADLINES: Mapping[Headline, Mood] = {"proved": "good", "tested only": "open", "failed": "bad"}


def of_rule(rule: Rule) -> list[Block]:
    """The equation with its conditions, what it says in words, and what the ledger knows of it."""
    kinds = ", ".join(f"{name}: {kind}" for name, kind in rule.parameters.items())
    about: list[Block] = [Words(rule.doc)] if rule.doc else []
    about += [Words(f"Source: {rule.source}")] if rule.source else []
    known = RULES.get(rule.name)
    if known is rule:
        said = verdict(rule)
        about.append(Words(f"{said} in the ledger", "good" if is_proved(said) else "open"))
    return [Title(rule.name), Code(rule.equation()), Words(f"for all {kinds}"), *about]


def of_rejected(rule: RejectedRule) -> list[Block]:
    """Why it is no rule."""
    return [Title(f"{rule.name}: rejected", "bad"), Words(str(rule.error), "bad")]


def of_results(results: Sequence[TierResult]) -> list[Block]:
    """A line for each tier, and the goals that provers left."""
    goals = [Folded(f"tier {r.tier} left this goal", [Code(r.goal)]) for r in results if r.goal]
    return [_tiers(results), *goals]


def of_result(result: TierResult) -> list[Block]:
    """The line of one tier."""
    return of_results([result])


def of_report(report: CheckReport) -> list[Block]:
    """The verdict, the tiers, the counterexample as arrays, and the guard."""
    title = report.text().split("\n", 1)[0]
    shown: list[Block] = [Title(title, HEADLINES[report.headline])]
    shown += [Code(report.equation)] if report.equation else []
    shown += of_results(report.results)
    shown += of_conclusion(report)
    return shown


def of_conclusion(report: CheckReport) -> list[Block]:
    """What a report says besides its tiers."""
    shown: list[Block] = []
    if report.place and not report.ok:
        shown.append(Words(f"at {report.place}"))
    if report.float_verdict and report.ok:
        shown.append(Words(f"floating point: {report.float_verdict}"))
    if report.counterexample is not None:
        shown += of_counterexample(report.counterexample)
    if report.guard is not None:
        shown += of_guard(report.guard)
    shown += [Words(f"{condition} is not needed", "open") for condition in report.redundant]
    return [*shown, *map(Words, report.known)]


def _tiers(results: Sequence[TierResult]) -> Table:
    return Table(
        ("tier", "name", "verdict", "what was done", "time"),
        tuple(
            (
                r.tier,
                r.name,
                printed(r.tier, r.status),
                r.detail,
                f"{r.seconds:.2f}\N{NO-BREAK SPACE}s",
            )
            for r in results
        ),
        tuple(MOODS[r.status] for r in results),
    )


def of_counterexample(found: Counterexample) -> list[Block]:
    """Sizes, data, and both sides, as arrays; the cells that differ stand out in both."""
    sizes = ", ".join(f"{name} = {n}" for name, n in found.sizes.items())
    shown: list[Block] = [Title("Counterexample", "bad"), Words(found.obligation, "bad")]
    shown += [Words(f"at {sizes}")] if sizes else []
    values = {name: read(text) for name, text in found.data.items()}
    shown += [Words(f"{name} is {value}") for name, value in values.items() if not depth(value)]
    shown += [Cells(name, value) for name, value in values.items() if depth(value)]
    left, right = read(found.left), read(found.right)
    apart = frozenset(differing(left, right)) if found.left and found.right else ()
    shown += [Cells("left side", left, apart)] if found.left else []
    shown += [Cells("right side", right, apart)] if found.right else []
    return [*shown, Folded("the instance", [Code(found.text())])]


def of_guard(guard: Guard) -> list[Block]:
    """The conditions under which the rule holds, and how that is known."""
    return [
        Title("Missing guard", "open"),
        Words(f"holds if {' and '.join(guard.conditions)}", "open"),
        Code(guard.equation),
        _tiers(guard.results),
    ]


def of_derivation(derivation: Derivation) -> list[Block]:
    """The program, and each step: its rule, what is known of that, and the program with what changed marked."""
    name, steps = derivation.origin.name, _count(len(derivation.steps), "step")
    shown: list[Block] = [
        Title(f"Derivation of {name}: {steps}"),
        Code(show(derivation.program.body)),
    ]
    try:
        terms = derivation.replay(RULES)
    except ReliftError as error:
        return [*shown, Words(error.message, "bad")]
    shown += of_steps(derivation, terms, derivation.known(RULES))
    return [*shown, Words("replayed step by step by a matcher that shares no code with the search")]


def _count(n: int, what: str) -> str:
    return f"{n} {what}" + "s" * (n != 1)
