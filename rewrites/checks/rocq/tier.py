"""Tier 4b: rules proved by the Rocq prover, for all sizes, and audited.

Each rule becomes a theorem whose statement is generated (`statements`) and whose proof is the tactic `relift`
or the script that the rule carries.  A second file, which no script reaches, states each theorem again from
the library's definitions alone, takes the proof under that statement, and prints what it assumes.  Only where
that is nothing is a rule proved.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from relift.files import temporary_folder
from relift.processes.executors import is_shared
from relift.rewrites.checks.calls import lost
from relift.rewrites.checks.faults import unfinished
from relift.rewrites.checks.rocq.definedness import (
    definedness,
    directions,
    may_be_partial,
    scripts_of,
)
from relift.rewrites.checks.rocq.installed import (
    MISSING,
    NoProver,
    compiled_library,
    installed_prover,
)
from relift.rewrites.checks.rocq.library import library_parts, uncommented
from relift.rewrites.checks.rocq.statements import Provable, proposition
from relift.rewrites.checks.verdicts import WHERE_TOTAL, Direction, Status, TierResult
from relift.rewrites.ledger.book import is_recorded, load, recorded_proof
from relift.rewrites.rule import Rule
from relift.semantics.errors import ReliftError, Unsupported
from relift.semantics.patterns import PATTERNS

PROCESSES = 2
BATCH = 40
"""How many statements one process of the prover is given at a time."""
FEW = 4
"""So many, which are those of a rule or two, take less than a process needs to load the library twice."""
SECONDS = 5
"""How long the tactic may work on one statement; a script may take a minute.  What takes longer is not decided."""
BUSY_FACTOR = 4
"""How many times longer, where other programs take the processors."""
KNOWN_FACTOR = 12
"""The same, where the ledger has a proof of this very claim: it ends, if not on this machine as soon."""
SCRIPT_SECONDS = 60
_ADMITTING = re.compile(r"\b(admit|give_up|Admitted|Abort)\b")
_SENTENCE = re.compile(r"(?<=\.)(?=\s|$)")
_PREFIX = re.compile(r"^(?:[-+*{}\s]|(?:\d+|all|\[\w+\])\s*:(?!=))*")


@dataclass(frozen=True)
class Claim:
    """A statement of a rule, under the name that it has in Rocq, and the script, or else the tactic, that proves it.

    Of definedness it speaks in one direction, for whatever stands for `total` as long as that is total.
    """

    rule: Provable
    name: str
    statement: str
    script: tuple[str, ...]
    tactic: str = "relift"
    direction: Direction | None = None
    total: tuple[str, ...] = ()

    @property
    def definition(self) -> str:
        return f"Definition statement_{self.name} : Prop :=\n{self.statement}.\n"

    def decides(self, said: TierResult) -> bool:
        """Whether the prover would say the same again: neither the clock stopped it, nor an accident."""
        return said.status == "proved" or said.detail == self.stopped

    @property
    def stopped(self) -> str:
        """What is said when the tactic does not get to the end."""
        return f"the tactic {self.tactic} stopped"

    def theorem(self, seconds: int) -> str:
        """The tactic hands on that it stopped; a script, sentence by sentence on its own line, just stops."""
        if self.script:
            proof = "apply holds.\n" + "\n".join(self.script)
        else:
            work = f'time "{self.name}" (apply holds; timeout {seconds} (solve [ {self.tactic} ]))'
            proof = f'first [ {work}; idtac "PROVED:{self.name}" | exact stopped ].'
        return f"{self.definition}Theorem rule_{self.name} : outcome statement_{self.name}.\nProof. {proof}\nDefined.\n"


_SAID: dict[tuple[Prover, str, str, tuple[str, ...], str], TierResult] = {}
"""What the prover has said in this process, by all that it depends on: who searches with the same rules again does not wait again."""


def prove(
    rules: Sequence[Provable], *, progress: Callable[[str], None] | None = None
) -> dict[str, TierResult]:
    """What tier 4b says of each rule, by its name.

    `proved`: for all sizes, without an axiom; `unproved`: the prover stopped, and `goal` is what it left;
    `unfinished`: the clock stopped it;
    `rejected`: the script is no proof; `skipped`: no denotation of what the rule uses, or no prover, and then
    what the ledger has recorded of the statement is told, which proves nothing now.

    >>> from relift.rewrites.checks.rocq.tier import prove
    >>> from relift.rewrites.library import RULES
    >>> prove([RULES["join_split"]])["join_split"].detail  # doctest: +SKIP
    'all sizes, no axioms'
    """
    results: dict[str, TierResult] = {}
    stated: list[Stated] = []
    for i, rule in enumerate(rules):
        try:
            stated.append(Stated.of(rule, f"{_ascii(rule.name)}_{i}"))
        except Unsupported as error:
            results[rule.name] = _result("skipped", error.message)
        except RecursionError:
            results[rule.name] = _result("skipped", "its terms are nested too deeply to be stated")
        except RefusedScript as refused:
            results[rule.name] = _result("rejected", str(refused))
        except Exception as error:  # noqa: BLE001  whatever it is, the other rules are stated
            results[rule.name] = unfinished("4b", error)
    prover = found_prover() if stated else MISSING
    if isinstance(prover, str):
        results |= {each.rule.name: _without_prover(each.rule, prover) for each in stated}
    else:
        processes = 1 if is_shared() else PROCESSES
        claims = [claim for each in stated for claim in each.claims]
        opened = opening()
        asked = {c.name: (prover, opened, c.statement, c.script, c.tactic) for c in claims}
        found = {name: _SAID[question] for name, question in asked.items() if question in _SAID}
        batches = list(batches_of([c for c in claims if c.name not in found], processes))
        done = 0
        with ThreadPoolExecutor(processes) as pool:
            for batch, said in zip(batches, pool.map(prover.run, batches), strict=True):
                found |= said
                done += len(batch)
                _SAID.update(
                    (asked[c.name], said[c.name]) for c in batch if c.decides(said[c.name])
                )
                if progress is not None:
                    total = sum(map(len, batches))
                    progress(f"tier 4b: {done} of {total} statements of {len(stated)} rules")
        results |= {each.rule.name: each.result(found) for each in stated}
    return {rule.name: results[rule.name] for rule in rules}


def found_prover() -> Prover | str:
    """The prover with its library, or why there is none."""
    try:
        coqc = installed_prover()
        return Prover(coqc, compiled_library(coqc))
    except NoProver as error:
        return error.message


def _without_prover(rule: Provable, why: str) -> TierResult:
    try:
        recorded = recorded_proof(rule)
    except ReliftError as error:  # the ledger cannot be read
        return _result("skipped", f"{why}; {error.message}")
    told = f"; recorded in the ledger: {recorded}" if recorded else ""
    return _result("skipped", f"{why}{told}")


@dataclass(frozen=True)
class Stated:
    """What is claimed of a rule: that its sides are equal, and that no value is lost in its directions.

    Of a direction more is claimed first: `kept` holds what stands for the metavariables that must be total, and
    the claim, or None where there is nothing to show.
    """

    rule: Provable
    equal: Claim
    kept: Mapping[Direction, Sequence[tuple[tuple[str, ...], Claim | None]]]

    @classmethod
    def of(cls, rule: Provable, name: str) -> Stated:
        """The claims of a rule, under names that begin like this; raises `Unsupported`."""
        equal = Claim(rule, name, proposition(rule), tactics_of(rule.proof))
        kept: dict[Direction, list[tuple[tuple[str, ...], Claim | None]]] = {}
        scripts = scripts_of(rule)
        for direction in directions(rule):
            computed = tuple(lost(rule, direction)) if isinstance(rule, Rule) else ()
            everything = tuple(x for x, kind in rule.parameters.items() if may_be_partial(kind))
            kept[direction] = []
            script = scripts.get(direction, "")
            first = everything if script.startswith(WHERE_TOTAL) else computed
            for i, total in enumerate(dict.fromkeys((first, everything))):
                statement = definedness(rule, direction, total)
                claim = None
                if statement is not None:  # a script shows the first, the tactic may show less
                    by = tactics_of(script.removeprefix(WHERE_TOTAL) if i == 0 else "")
                    claim = Claim(
                        rule,
                        f"{name}_{direction}{i}",
                        statement,
                        by,
                        "keep_defined",
                        direction,
                        total,
                    )
                kept[direction].append((total, claim))
                if claim is None:
                    break
        return cls(rule, equal, kept)

    @property
    def claims(self) -> list[Claim]:
        """All of them."""
        tried = [claim for attempts in self.kept.values() for _, claim in attempts]
        return [self.equal, *(claim for claim in tried if claim is not None)]

    def result(self, found: Mapping[str, TierResult]) -> TierResult:
        """What tier 4b says of the rule, by what it says of each claim."""
        equal = found[self.equal.name]
        seconds = sum(found[claim.name].seconds for claim in self.claims)
        if equal.status != "proved":
            return replace(equal, seconds=seconds)
        total: dict[Direction, tuple[str, ...]] = {}
        for direction, attempts in self.kept.items():
            for names, claim in attempts:
                if claim is None or found[claim.name].status == "proved":
                    total[direction] = names
                    break
                stopped = found[claim.name].status == "unfinished"
                if stopped and (_is_known(claim) or not is_recorded(self.rule)):
                    # what it shows may be more than the next, where no ledger says which one holds
                    return replace(found[claim.name], seconds=seconds)
            else:
                last = attempts[-1][1]
                assert last is not None, "cannot happen: nothing to show is shown"
                why = (
                    f"equal where both sides are defined; {ARROWS[direction]} "
                    f"it is not shown that a value stays defined"
                )
                return _result("unproved", why, seconds, found[last.name].goal)
        return replace(equal, seconds=seconds, total=total, detail=described(equal.detail, total))


ARROWS: Mapping[Direction, str] = {"forward": "left to right", "backward": "right to left"}


def described(detail: str, total: Mapping[Direction, Sequence[str]]) -> str:
    """What is proved, with what must be total in which direction.

    >>> from relift.rewrites.checks.rocq.tier import described
    >>> described("all sizes", {"forward": (), "backward": ("f",)})
    'all sizes; right to left where f is total'
    """
    parts = [detail]
    for direction, names in total.items():
        if names:
            verb = "is" if len(names) == 1 else "are"
            parts.append(f"{ARROWS[direction]} where {', '.join(names)} {verb} total")
    return "; ".join(parts)


def batches_of(claims: Sequence[Claim], processes: int) -> Iterator[list[Claim]]:
    """Each script alone, so that it can spoil no other proof; what the tactic is to prove in batches, one a process unless they are few."""
    plain = [claim for claim in claims if not claim.script]
    size = min(BATCH, max(FEW, -(-len(plain) // processes)))
    yield from (plain[i : i + size] for i in range(0, len(plain), size))
    yield from ([claim] for claim in claims if claim.script)


def _ascii(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]", "_", name)


def _result(status: Status, detail: str, seconds: float = 0.0, goal: str = "") -> TierResult:
    return TierResult("4b", "kernel", status, detail, seconds, goal=goal)


# ---- scripts


class RefusedScript(Exception):
    """A script that is no list of tactics."""


def tactics_of(script: str) -> tuple[str, ...]:
    """The sentences of a proof script, which are tactics and so begin in lower case.

    Commands begin with a capital letter: they would admit the goal, state axioms or redefine what the
    statement is made of.
    """
    text = uncommented(script)
    admitting = _ADMITTING.search(text)
    if admitting:
        raise RefusedScript(
            f"the proof script contains {admitting[0]}, which proves nothing; finish the proof"
        )
    sentences = [part.strip() for part in _SENTENCE.split(text) if part.strip()]
    for sentence in sentences:
        tactic = _PREFIX.sub("", sentence)
        if not tactic:
            continue
        if not (tactic[0].islower() or tactic[0] in "(["):
            words = " ".join(tactic.split()[:2]).rstrip(".")
            raise RefusedScript(
                f"the proof script contains {words}: a script is tactics only, no commands"
            )
        if not sentence.endswith("."):
            raise RefusedScript(
                f"the proof script ends in {sentence.split()[-1]}, without a full stop"
            )
    return tuple(sentences)


# ---- running the prover


@dataclass(frozen=True)
class Prover:
    coqc: str
    library: Path

    def run(self, claims: Sequence[Claim], seconds_each: int = SECONDS) -> dict[str, TierResult]:
        """What the prover says of some statements that go into one file.

        Those that the clock stopped on a machine with more to do than it can get more of it.
        """
        start = time.monotonic()
        with temporary_folder() as folder:
            limit = SCRIPT_SECONDS if claims[0].script else 60 + seconds_each * len(claims)
            heading = (
                f"From Relift Require Import Defined Audit.\nSet Implicit Arguments.\n{opening()}"
            )
            text = heading + "\n".join(claim.theorem(seconds_each) for claim in claims)
            status, output = self.compile(folder, "Rules", text, limit)
            if status and len(claims) > 1:  # one of them upset the prover: find out which
                half = len(claims) // 2
                return self.run(claims[:half], seconds_each) | self.run(claims[half:], seconds_each)
            seconds = dict(re.findall(r"Tactic call\s+(\w+)\s+ran\s+for\s+([\d.]+)\s+secs", output))
            said = set(re.findall(r"PROVED:(\w+)", output))
            proved = [c for c in claims if not status and (c.script or c.name in said)]
            problem = self.audit(folder, proved) if proved else ""
            left = [c for c in claims if c not in proved]
            late = [c for c in left if float(seconds.get(c.name, 0)) >= 0.9 * seconds_each]
            again = tried_again(late) if seconds_each == SECONDS else []
            if again:
                patient = self.run([claim for claim, _ in again], again[0][1])
                others = [c for c in claims if c.name not in patient]
                return (self.run(others) if others else {}) | patient
            goals = self.goals_left(folder, left, output) if left else {}
        found: dict[str, TierResult] = {}
        for claim in claims:
            taken = float(seconds.get(claim.name, time.monotonic() - start))
            if claim in proved:
                word: Status = "unproved" if problem else "proved"
                found[claim.name] = _result(word, problem or "all sizes, no axioms", taken)
            else:
                goal = goals.get(claim.name, "")
                if claim in late or "ran longer" in output:
                    why = f"not finished within {limit if status else seconds_each:g} s, which says nothing of the rule"
                    found[claim.name] = _result("unfinished", why, taken, goal)
                    continue
                why = _failure(claim, output) if status else claim.stopped
                found[claim.name] = _result("unproved", why, taken, goal)
        return found

    def compile(self, folder: Path, module: str, text: str, limit: float) -> tuple[int, str]:
        """The exit status of the prover on a file, and what it printed; 124 when it ran too long."""
        (folder / f"{module}.v").write_text(text)
        paths = ["-Q", str(self.library), "Relift", "-Q", ".", "Here"]
        command = [self.coqc, "-q", *paths, f"{module}.v"]
        try:
            ran = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, timeout=limit, check=False
            )
        except subprocess.TimeoutExpired:
            return 124, f"it ran longer than {limit:g} s"
        return ran.returncode, ran.stdout + ran.stderr

    def audit(self, folder: Path, claims: Sequence[Claim]) -> str:
        """What is wrong with the theorems, if anything: each is stated again and may assume nothing."""
        lines = ["From Relift Require Import Patterns Laws Audit.", "From Here Require Rules."]
        lines.append("Set Implicit Arguments.")
        for claim in claims:
            taken = f"theorem Here.Rules.rule_{claim.name}"
            lines.append(claim.definition)
            lines.append(f"Definition checked_{claim.name} : statement_{claim.name} := {taken}.")
        # one command for all: each loads the prover's whole library anew
        together = ", ".join(f"checked_{claim.name}" for claim in claims)
        lines.append(f"Definition all_checked := ({together}).\nPrint Assumptions all_checked.")
        status, output = self.compile(folder, "Checked", "\n".join(lines), 60 + 2 * len(claims))
        if status:
            return f"the audit failed: {_last_line(output)}"
        if "Closed under the global context" not in output:
            return f"the audit found {' '.join(output.split())[:200]}"
        return ""

    def goals_left(self, folder: Path, claims: Sequence[Claim], output: str) -> dict[str, str]:
        """The first goal that the tactic, or the script up to the sentence that fails, leaves of each."""
        text = f"From Relift Require Import Defined.\nSet Implicit Arguments.\n{opening()}"
        for claim in claims:
            text += f"{claim.definition}Goal statement_{claim.name}.\n"
            if claim.script:
                text += f"unfold statement_{claim.name}.\n" + "\n".join(_before(claim, output))
            else:
                text += f"first [ timeout 3 {claim.tactic}_opened | unfold statement_{claim.name}; intros ].\n"
            text += f'\nShow.\nAbort.\nGoal True. idtac "END:{claim.name}". Abort.\n'
        status, shown = self.compile(folder, "Left", text, 60 + 4 * len(claims))
        goals: dict[str, str] = {}
        for claim in claims if not status else ():
            of, _, shown = shown.partition(f"END:{claim.name}\n")
            goals[claim.name] = of.strip()
        return goals


def opening() -> str:
    """What makes the tactic open the layouts that its own list does not name: those that are newer than it."""
    (part,) = library_parts(("Tactic",))["opened"]
    heads = dict.fromkeys(p.rocq.split()[0] for p in PATTERNS.values() if p.layout)
    new = [h for h in heads if h.isidentifier() and h not in re.findall(r"\w+", part.text)]
    opened = part.text.replace(":= unfold", f"::= unfold {', '.join(new)},") + "\n"
    return opened if new else ""


def _before(claim: Claim, output: str) -> tuple[str, ...]:
    """The sentences of a script before the one that the prover's message is about."""
    at = re.search(r"line (\d+), characters", output)
    text = claim.theorem(SECONDS)
    first = text.count("\n", 0, text.index("apply holds.")) + 2 + 2 + opening().count("\n")
    return claim.script[: max(0, int(at[1]) - first)] if at else ()


def tried_again(late: Sequence[Claim]) -> list[tuple[Claim, int]]:
    """The claims that the clock stopped and that get more of it, and how much: no verdict may depend on the machine."""
    known = [claim for claim in late if _is_known(claim)]
    seconds = SECONDS * (KNOWN_FACTOR if known else BUSY_FACTOR)
    return [(claim, seconds) for claim in (known or (late if _busy() else []))]


def _is_known(claim: Claim) -> bool:
    """Whether the ledger rests on this very claim."""
    if not is_recorded(claim.rule):
        return False
    recorded = load().get(claim.rule.name)
    if claim.direction is None or recorded is None:
        return claim.direction is None
    kept = recorded.total.get(claim.direction)
    return kept is not None and set(kept) == set(claim.total)


def _failure(claim: Claim, output: str) -> str:
    return f"the {'script' if claim.script else 'prover'} failed: {_last_line(output)}"


def _last_line(output: str) -> str:
    """What the prover says is wrong, on one line."""
    _, _, message = output.partition("Error:")
    return " ".join((message or output).split())[:300]


def _busy() -> bool:
    """Whether more wants to run than there are processors."""
    return os.getloadavg()[0] > (os.cpu_count() or 1) + 0.5
