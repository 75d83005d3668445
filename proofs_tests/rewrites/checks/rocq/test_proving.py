"""Tier 4b: rules and congruence lemmas are proved, wrong rules never, and no script forges a proof."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from proofs_tests.portions import drawn, in_shares, portioned
from proofs_tests.prover import PROVER, needs_prover
from proofs_tests.rewrites import reviewed_rules
from proofs_tests.wrong_rules import WRONG
from relift.egraph.checks.tiers import check_all
from relift.rewrites.checks.rocq import installed
from relift.rewrites.checks.rocq import tier as proving
from relift.rewrites.checks.rocq.definedness import statement_hash
from relift.rewrites.checks.rocq.installed import (
    MISSING,
    NoProver,
    compiled_library,
    require_proof,
    require_prover,
)
from relift.rewrites.checks.rocq.library import OF_DERIVATIONS, ORDER
from relift.rewrites.checks.rocq.statements import proposition, respects
from relift.rewrites.checks.rocq.tier import (
    BATCH,
    BUSY_FACTOR,
    FEW,
    KNOWN_FACTOR,
    SECONDS,
    Prover,
    Stated,
    batches_of,
    found_prover,
    prove,
)
from relift.rewrites.checks.tiers import was_stopped
from relift.rewrites.checks.verdicts import CheckReport, TierResult
from relift.rewrites.ledger import book as ledger
from relift.rewrites.ledger.book import load, outdated
from relift.rewrites.library import RULES
from relift.rewrites.notation import A, n
from relift.rewrites.rule import Rule, rule
from relift.semantics.errors import ReliftError
from relift.semantics.language import vocabulary as language
from relift.semantics.patterns import PATTERNS
from relift.semantics.syntax.signatures import Fun

WRONG_RULES = {r.name: r for rules in WRONG.values() for r in rules if isinstance(r, Rule)}
JOIN_SPLIT = RULES["join_split"]
SAMPLE = 2
"""Rules that are proved again in every run."""


@rule()
def odd_names(map: Fun[A, A], forall: A[n]):
    """A rule whose metavariables are called like a definition and a keyword."""
    return language.map(lambda x: map(x), forall), language.map(lambda x: map(x), forall)


@needs_prover
def test_the_prover_is_there() -> None:
    """In CI a missing prover is a failure, not a skipped test."""
    assert PROVER is not None, MISSING


@needs_prover
def test_rules_are_proved(capsys: pytest.CaptureFixture[str]) -> None:
    """The prover says of rules what the ledger says: of all whose proof changed, and of others in every run.

    `relift ledger --audit` asks it of the whole library, which takes a quarter of an hour.
    """
    seed = random.SystemRandom().randrange(10**6)
    with capsys.disabled():
        print(f" [proved with seed {seed}]", end="")
    names = {name for name, rule in RULES.items() if outdated(rule)}
    names |= set(random.Random(seed).sample(list(RULES), SAMPLE))
    recorded = {name: load()[name].tiers["4b"].status for name in names}
    found = {name: r.status for name, r in prove([RULES[name] for name in names]).items()}
    for (
        name,
        status,
    ) in found.items():  # a busy machine: a proof that fails was stopped before it did
        if (recorded[name], status) == ("unproved", "unfinished"):
            recorded[name] = status

    assert {n: s for n, s in found.items() if s != recorded[n]} == {}, f"seed {seed}"


@needs_prover
def test_few_rules_need_a_script_of_their_own() -> None:
    """All others are proved by the one tactic; what serves a rule for every type of numbers is one script."""
    scripts = {r.proof for r in RULES.values() if r.proof}
    assert len(scripts) <= 0.07 * len(RULES)


@needs_prover
@pytest.mark.usefixtures("patient")
@in_shares
def test_every_pattern_respects_the_relation(share: int) -> None:
    """Related arguments give related results: what lets a proved rule be applied anywhere."""
    patterns = drawn(PATTERNS.values(), share)
    found = prove([respects(pattern) for pattern in patterns])
    assert [name for name, result in found.items() if result.status != "proved"] == []
    assert len(found) == len(patterns)


@needs_prover
@in_shares
def test_no_wrong_rule_is_proved(share: int) -> None:
    """Of wrong rules the prover leaves a goal: no rule is proved whose sides it does not prove equal.

    What stays defined beside that is not asked, and what the clock stops is not tried again.
    """
    prover = found_prover()
    assert isinstance(prover, Prover)
    wrong = drawn(WRONG_RULES.values(), share)
    claims = [Stated.of(rule, f"wrong_{i}").equal for i, rule in enumerate(wrong)]
    assert not any(claim.script for claim in claims)
    found = prover.run(claims, SECONDS - 1)
    assert [name for name, result in found.items() if result.status == "proved"] == []
    assert len(found) == len(wrong)


@needs_prover
@pytest.mark.parametrize(
    ("script", "named"),
    [
        ("Admitted.", "Admitted"),
        ("relift. Qed. Lemma more : False. admit.", "admit"),
        ("intros; admit.", "admit"),
        ("give_up.", "give_up"),
        ("Axiom any : False. destruct any.", "Axiom any"),
        ("Abort. Definition Rarr := True.", "Abort"),
        ("start. Definition Rarr := True.", "Definition Rarr"),
        ("- Parameter x : False.", "Parameter x"),
        ("1: Unset Guard Checking.", "Unset Guard"),
        ("(* fine *) relift. Qed.", "Qed"),
        ("relift", "full stop"),
    ],
)
def test_a_script_that_is_no_proof_is_rejected(script: str, named: str) -> None:
    """What admits the goal, states an axiom or redefines something is refused by its name."""
    result = prove([replace(JOIN_SPLIT, proof=script)])["join_split"]
    assert result.status == "rejected"
    assert named in result.detail


@needs_prover
@pytest.mark.usefixtures("patient")
def test_a_script_is_run() -> None:
    """A rule's own script proves it; one that fails leaves the goal that it failed on."""
    good = replace(JOIN_SPLIT, name="good", proof="start. intros i L.\n- relate.")
    bad = replace(JOIN_SPLIT, name="bad", proof="start. intros i L. lia.")
    found = prove([good, bad])
    assert found["good"].status == "proved", found["good"].detail
    assert found["bad"].status == "unproved"
    assert "i < k * m" in found["bad"].goal


@needs_prover
@pytest.mark.usefixtures("patient")
def test_one_failure_hides_no_other_rule() -> None:
    """A wrong rule and a failing script beside a right rule: the right one is proved."""
    wrong = WRONG_RULES["zip_swapped"]
    found = prove([wrong, replace(JOIN_SPLIT, name="scripted", proof="lia."), JOIN_SPLIT])
    assert {name: r.status for name, r in found.items()} == {
        "zip_swapped": "unproved",
        "scripted": "unproved",
        "join_split": "proved",
    }
    assert "xs" in found["zip_swapped"].goal


@needs_prover
def test_the_audit_uses_the_library_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A theorem that was proved from a false definition or an axiom does not pass the audit."""
    assert PROVER is not None
    prover = proving.Prover(PROVER, compiled_library(PROVER))
    claim = proving.Claim(
        WRONG_RULES["zip_swapped"], "r", proposition(WRONG_RULES["zip_swapped"]), ()
    )
    forged = {
        "Definition Rarr (A : Type) (n : nat) (R : rel A) (x y : arr A) := True.": "exact I",
        "Axiom anything : forall P : Prop, P.": "apply anything",
    }
    for number, (line, tactic) in enumerate(forged.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        text = (
            f"From Relift Require Import Tactic Audit.\nSet Implicit Arguments.\n{line}\n{claim.definition}"
            f"Theorem rule_r : outcome statement_r.\nProof. apply holds. unfold statement_r; intros. {tactic}. Defined."
        )
        status, output = prover.compile(folder, "Rules", text, 60)
        assert status == 0, output
        assert "audit" in prover.audit(folder, [claim])


RECORDED = re.compile(
    r"; recorded in the ledger: PROVED with Coq Proof Assistant [\d.]+(, as join_split)?$"
)


def without_prover(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> CheckReport:
    """What tiers 1, 3 and 4b say where there is no `coqc`."""
    monkeypatch.setenv("PATH", "")
    (report,) = check_all([rule], tiers=("1", "3", "4b"), guards=False)
    return report


@pytest.mark.parametrize("name", ["join_split", "renamed"])
def test_without_a_prover_the_ledger_is_quoted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line says what to install and what is recorded of that statement; nothing is proved."""
    report = without_prover(replace(JOIN_SPLIT, name=name), monkeypatch)
    assert [(r.tier, r.status) for r in report.results] == [
        ("1", "ok"),
        ("3", "ok"),
        ("4b", "skipped"),
    ]
    assert report.headline == "tested only"
    detail = report.results[-1].detail
    assert detail.startswith(MISSING)
    told = RECORDED.search(detail)
    assert told is not None, detail
    assert bool(told[1]) == (name == "renamed")
    assert "\n" not in detail


@in_shares
def test_without_a_prover_all_recorded_proofs_are_quoted(
    monkeypatch: pytest.MonkeyPatch, share: int
) -> None:
    """Of each rule of the library, the line quotes what its entry says of tier 4b, and never says proved."""
    monkeypatch.setenv("PATH", "")
    asked = drawn(RULES.values(), share)
    found = prove(asked)
    assert found.keys() == {rule.name for rule in asked}
    for name, result in found.items():
        entry = load()[name]
        status = entry.tiers["4b"].status
        assert result.status == "skipped"
        quoted = result.detail.partition("recorded in the ledger: ")[2]
        assert quoted.startswith(status.upper() if status in ("proved", "unproved") else ""), name
        assert entry.prover in quoted, name


@pytest.mark.parametrize("change", ["statement", "seal"])
def test_without_a_prover_only_this_very_statement_is_quoted(
    change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a changed rule of the same name nor an entry that was edited by hand is quoted."""
    rule = JOIN_SPLIT
    if change == "statement":
        rule = replace(JOIN_SPLIT, right=JOIN_SPLIT.left)
    else:
        forged = replace(load()["join_split"], prover="Coq Proof Assistant 99.0.1")
        monkeypatch.setattr(ledger, "load", lambda: {"join_split": forged})
    assert without_prover(rule, monkeypatch).results[-1].detail == MISSING


def test_without_a_prover_a_script_that_is_no_proof_is_still_rejected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is wrong with a script, or with an unreadable ledger, needs no prover to be told."""
    monkeypatch.setenv("PATH", "")
    assert prove([replace(JOIN_SPLIT, proof="admit.")])["join_split"].status == "rejected"

    def unreadable() -> Mapping[str, ledger.Entry]:
        raise ReliftError("the ledger cannot be read", place="")

    monkeypatch.setattr(ledger, "load", unreadable)
    result = prove([JOIN_SPLIT])["join_split"]
    assert (result.status, result.detail) == ("skipped", f"{MISSING}; the ledger cannot be read")


@pytest.mark.parametrize(
    "text", ["#!/nowhere/at/all\n", "#!/bin/sh\necho broken >&2\nexit 3\n"], ids=["no", "fails"]
)
def test_a_prover_that_does_not_run_is_told(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A `coqc` that cannot be started, or fails at once, is named, and the ledger is quoted as well."""
    coqc = tmp_path / "coqc"
    coqc.write_text(text)
    coqc.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    result = prove([JOIN_SPLIT])["join_split"]
    assert result.status == "skipped"
    assert result.detail.startswith(f"{coqc} does not work: ")
    assert RECORDED.search(result.detail)


def test_a_prover_that_only_says_its_version_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ledger is not written by it, doctor says that it is broken, and nothing half-made is left behind."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir()
    coqc = tmp_path / "coqc"
    coqc.write_text(
        "#!/bin/sh\n[ $1 = --version ] && echo 'The Rocq Prover, version 7.2' && exit\nno $*\n"
    )
    coqc.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    said = "the ledger cannot be checked: .*coqc does not work: .*not found"
    with pytest.raises(NoProver, match=said):
        require_prover()
    assert [*(tmp_path / "cache" / "relift" / "rocq").iterdir()] == []
    with pytest.raises(NoProver, match="coqc does not work"):
        require_proof(str(coqc))


@needs_prover
def test_what_the_prover_said_of_a_statement_is_not_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever the rule is called; of another script, and of what the clock stopped, it is."""
    asked: list[str] = []
    late: list[str] = []
    ask = Prover.run

    def run(prover: Prover, claims: Sequence[proving.Claim]) -> dict[str, TierResult]:
        asked.extend(claim.rule.name for claim in claims)
        found = ask(prover, claims)
        slow = {c.name for c in claims if c.rule.name in late}
        return {
            name: replace(said, status="unfinished", detail="") if name in slow else said
            for name, said in found.items()
        }

    monkeypatch.setattr(proving, "_SAID", {})
    monkeypatch.setattr(Prover, "run", run)
    wrong = WRONG_RULES["zip_swapped"]
    late.append("slow")
    rules = [JOIN_SPLIT, wrong, replace(JOIN_SPLIT, name="slow", doc="")]
    first = prove([JOIN_SPLIT, wrong])
    assert (first["join_split"].status, first[wrong.name].status) == ("proved", "unproved")
    assert {*asked} == {"join_split", wrong.name}
    asked.clear()
    again = prove([replace(JOIN_SPLIT, name="renamed"), wrong])
    assert [*again.values()] == [*first.values()]
    assert not asked
    prove([replace(JOIN_SPLIT, proof="intros. auto.")])
    assert asked == ["join_split"]
    monkeypatch.setattr(proving, "_SAID", {})
    for _ in range(2):
        asked.clear()
        assert prove(rules[2:])["slow"].status == "unfinished"
        assert {*asked} == {"slow"}


def test_the_library_is_compiled_once_for_all_who_need_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who comes while it is made waits for it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    coqc, said = tmp_path / "coqc", tmp_path / "said"
    coqc.write_text(
        f"#!/bin/sh\n[ $1 = --version ] && echo 'The Rocq Prover, version 7.2' && exit\necho $5 >>{said}\nsleep 0.05\n"
    )
    coqc.chmod(0o755)
    with ThreadPoolExecutor(3) as pool:
        places = set(pool.map(compiled_library.__wrapped__, [str(coqc)] * 3))
    (place,) = places
    compiled = said.read_text().split()
    assert compiled == [f"{name}.v" for name in (*ORDER, *OF_DERIVATIONS)]
    assert {file.name for file in place.iterdir()} == set(compiled)
    assert [*place.parent.iterdir()] == [place]


def test_a_prover_that_hangs_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is given up, and named."""
    coqc = tmp_path / "coqc"
    coqc.write_text("#!/bin/sh\nexec sleep 100\n")
    coqc.chmod(0o755)
    monkeypatch.setattr(installed, "ANSWER", 0.2)
    with pytest.raises(NoProver, match=r"coqc does not work: no answer within 0\.2 s"):
        installed.require_proof(str(coqc))


def test_a_changed_rule_changes_the_hash() -> None:
    """The hash in the ledger is that of the statement, whatever the rule is called."""
    before = statement_hash(JOIN_SPLIT)
    assert statement_hash(replace(JOIN_SPLIT, doc="other words", name="renamed")) == before
    assert statement_hash(replace(JOIN_SPLIT, right=JOIN_SPLIT.left)) != before


def test_binders_capture_nothing() -> None:
    """Metavariables that are called like a definition, a keyword or a size get names of their own."""
    text = proposition(odd_names)
    assert "(map_ map_' : A -> A)" in text
    assert "(map map_ forall_)" in text


@needs_prover
def test_time_limit_is_a_few_seconds() -> None:
    """One new rule is checked in less than 10 s: the tactic may not take all of it."""
    assert SECONDS <= 6


@pytest.mark.parametrize(
    ("processes", "plain"),
    [(1, [6]), (2, [FEW, 6 - FEW]), (2, [5, 5]), (2, [FEW]), (2, [1]), (2, []), (2, [BATCH] * 3)],
)
def test_as_many_batches_as_processes(processes: int, plain: list[int]) -> None:
    """Each starts the prover anew, so one process has all in one, and a few stay together; a script is always alone."""
    claims = [stated("join_split").equal] * sum(plain)
    scripted = replace(stated("join_split").equal, script=("relift.",))
    batches = list(batches_of([scripted, *claims], processes))
    assert [len(batch) for batch in batches] == [*plain, 1]
    assert batches[-1] == [scripted]
    assert [claim for batch in batches[:-1] for claim in batch] == claims


# ---- what the clock stops


def stated(name: str) -> Stated:
    return Stated.of(RULES[name], name)


@needs_prover
def test_what_the_clock_stops_is_not_finished() -> None:
    """That is no verdict: neither PROVED nor UNPROVED."""
    claim = replace(stated("map_fusion").equal, tactic="do 1000000000 idtac")
    assert PROVER is not None
    found = Prover(PROVER, compiled_library(PROVER)).run([claim], seconds_each=1)

    assert found[claim.name].status == "unfinished"
    assert "not finished within 1 s" in found[claim.name].detail


def test_what_was_proved_once_gets_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a slower machine a rule that the ledger calls PROVED does not become another one."""
    claim = stated("join_split").equal
    monkeypatch.setattr(proving, "_busy", lambda: False)
    assert proving.tried_again([claim]) == [(claim, SECONDS * KNOWN_FACTOR)]
    monkeypatch.setattr(proving, "is_recorded", lambda _: False)
    assert proving.tried_again([claim]) == []
    monkeypatch.setattr(proving, "_busy", lambda: True)
    assert proving.tried_again([claim]) == [(claim, SECONDS * BUSY_FACTOR)]


def test_the_claim_that_the_ledger_rests_on_gets_more_time_and_not_a_stronger_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It says that `f` must be total from right to left; that nothing must be is another claim."""
    monkeypatch.setattr(proving, "_busy", lambda: False)
    stronger, recorded = (
        replace(stated("take_map").equal, direction="backward", total=total)
        for total in ((), ("f",))
    )
    assert proving.tried_again([stronger, recorded]) == [(recorded, SECONDS * KNOWN_FACTOR)]


def test_a_statement_that_was_not_finished_is_not_replaced_by_a_weaker_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of two claims of definedness the second says less; it is no answer where the first has none yet."""
    # nothing says that the second is what holds
    monkeypatch.setattr(proving, "is_recorded", lambda _: False)
    claims = stated("take_map")
    said = {c.name: TierResult("4b", "kernel", "proved", "", 0.1) for c in claims.claims}
    tried = [attempts for attempts in claims.kept.values() if len(attempts) > 1]
    assert tried
    for attempts in tried:
        _, first = attempts[0]
        assert first is not None
        slow = {first.name: TierResult("4b", "kernel", "unfinished", "not finished", 5.0)}
        assert claims.result({**said, **slow}).status == "unfinished"
        lost = {first.name: TierResult("4b", "kernel", "unproved", "stopped", 0.1)}
        assert claims.result({**said, **lost}).status == "proved"


def test_a_guard_is_looked_for_though_the_kernel_was_stopped() -> None:
    """No guard is judged by it."""
    stopped = TierResult("4b", "kernel", "unfinished", "not finished", 5.0)
    assert not was_stopped([stopped])
    assert was_stopped([replace(stopped, tier="3")])


@needs_prover
@portioned("right", {"right": True, "wrong": False}, {"right"})
def test_reviewed_rules_are_proved_or_not_as_they_should(
    right: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """One that needs lemmas of its own is proved, and a wrong one is not; others in every run."""
    seed = random.SystemRandom().randrange(10**6)
    with capsys.disabled():
        print(f" [reviewed with seed {seed}]", end="")
    like_them = [n for n in reviewed_rules.WRONG if "rotated" in n or "reversed" in n]
    name = random.Random(seed).choice(reviewed_rules.IN_ROCQ if right else like_them)
    reviewed = reviewed_rules.RIGHT if right else reviewed_rules.WRONG
    assert (prove([reviewed[name]])[name].status == "proved") == right, name
