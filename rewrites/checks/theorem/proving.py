"""The theorem of a derivation, checked by the prover and audited.

What is believed is what the prover says of `Result.v`: it accepts the file, and all that is in it is closed under the
global context.  Everything else (the lemmas, their composition, the cache of both) only makes it do so.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from relift.files import temporary_folder, writable_cache
from relift.processes.collecting import uncollected
from relift.processes.executors import is_shared
from relift.rewrites.checks.rocq.installed import prover_version
from relift.rewrites.checks.rocq.tier import PROCESSES, Prover, found_prover
from relift.rewrites.checks.theorem.composed import Theorem, general_theorem, heading, named
from relift.rewrites.checks.theorem.congruence import Lemma
from relift.rewrites.checks.theorem.result import APPLIED, AUDITED, IMPORTED
from relift.rewrites.checks.theorem.store import Store, key_of, module_name, pruned
from relift.rewrites.derivation.steps import Derivation
from relift.rewrites.library import RULES
from relift.rewrites.rule import Rule
from relift.semantics.errors import ReliftError
from relift.semantics.language.arguments import an_instance
from relift.semantics.syntax.terms import Term

RESULT, DERIVATION = "Result.v", "Derivation.v"
LIMIT = 900.0
"""Seconds after which a run of the prover is given up; what is proved takes a fraction of it."""
TOGETHER = 120_000
"""Lemmas of so many characters in all are checked by one process, which starts faster than it divides the work."""


class NotProved(ReliftError):
    """The prover refuses; the message names the step."""

    def __init__(self, message: str) -> None:
        super().__init__(message, place="")


class NotFinished(NotProved):
    """The prover was stopped before it had an answer."""


@dataclass(frozen=True)
class Proved:
    """A derivation whose theorem the prover has accepted.

    `laws`: what the theorem assumes of the program's operators; `conditions`: what it asks of sizes and of index
    functions, which is shown at the sizes of the derivation.
    """

    theorem: Theorem = field(repr=False)
    prover: str
    seconds: float
    new: int

    @property
    def steps(self) -> int:
        """How many steps the derivation has."""
        return len(self.theorem.steps)

    @property
    def laws(self) -> list[str]:
        """What it assumes of operators."""
        return self.theorem.statement.of("law")

    @property
    def domains(self) -> list[str]:
        """Where it speaks of the programs, which are not defined everywhere."""
        return list(self.theorem.statement.domains.values())

    @property
    def conditions(self) -> list[str]:
        """What it asks of sizes and index functions."""
        return [*self.theorem.statement.of("size"), *self.theorem.statement.of("index")]

    @property
    def files(self) -> dict[str, str]:
        """The files that anyone can check with the library alone."""
        return {RESULT: self.theorem.result, DERIVATION: self.theorem.derivation}

    @property
    def sha256(self) -> str:
        """The hash of Result.v."""
        return hashlib.sha256(self.theorem.result.encode()).hexdigest()

    def text(self) -> str:
        """What is proved, for a person."""
        assumed = f"under {len(self.laws)} laws of operators" if self.laws else "no law assumed"
        how = f"{self.prover}, {self.seconds:.1f} s, {self.new} lemmas new"
        lines = [
            f"PROVED: source = result, {self.steps} steps, {assumed}, closed under the global context ({how})"
        ]
        lines += [f"  law: {law}" for law in self.laws]
        lines += [f"  for all sizes with {condition}" for condition in self.conditions]
        lines += [f"  where defined: {domain}" for domain in self.domains]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            "proved": True,
            "steps": self.steps,
            "laws": self.laws,
            "conditions": self.conditions,
            "where_defined": self.domains,
            "prover": self.prover,
            "seconds": round(self.seconds, 2),
            "new_lemmas": self.new,
            "sha256": self.sha256,
        }


def prove(
    derivation: Derivation,
    *,
    rules: Mapping[str, Rule] = RULES,
    progress: Callable[[str], None] = lambda text: None,
    programs: Sequence[Term] = (),
) -> Proved:
    """Prove that the source of a derivation equals its result; raises `NotProved`, or `ReliftError`.

    `programs`: those along it where it has just been done at its sizes (`redone`), which is not done again then.

    >>> import relift as rl
    >>> best = rl.optimize(rl.program(lambda x: rl.map(lambda v: v + v, x)), {})  # doctest: +SKIP
    >>> print(rl.prove(best.derivation).text())  # doctest: +SKIP
    PROVED: source = result, 1 steps, no law assumed, closed under the global context
    """
    an_instance(derivation, Derivation, "a derivation", "rl.optimize(program).derivation is one")
    start = time.monotonic()
    progress("writing the proof")
    if derivation.assumed:
        told = ", ".join(own.rule.name for own in derivation.assumed)
        raise NotProved(f"steps are by rules that are ASSUMED: {told}")
    with uncollected():
        theorem = general_theorem(derivation, rules, programs)
    checker = Checker.here(progress)
    new = checker.check(theorem)
    return Proved(theorem, prover_version(checker.prover.coqc), time.monotonic() - start, new)


@dataclass
class Checker:
    """The prover at work on theorems, with the lemmas that it has checked before."""

    prover: Prover
    store: Store
    progress: Callable[[str], None] = lambda text: None
    _running: set[subprocess.Popen[str]] = field(default_factory=set)
    _stopped: bool = False

    @classmethod
    def here(cls, progress: Callable[[str], None] = lambda text: None) -> Checker:
        """With the prover of this machine; raises `ReliftError` where there is none."""
        prover = found_prover()
        if isinstance(prover, str):
            raise ReliftError(f"nothing can be proved here: {prover}", place="")
        store = Store(writable_cache() / "theorems" / prover.library.name)
        return cls(prover, store, progress)

    def check(self, theorem: Theorem) -> int:
        """Check what is new, then the result; how many lemmas were new."""
        lemmas = [*theorem.lemmas, theorem.composition]
        known = self.store.known()
        new = [lemma for lemma in lemmas if key_of(lemma) not in known]
        self.store.used({known[key] for key in map(key_of, lemmas) if key in known})
        with temporary_folder() as folder:
            for stage in _stages(new):
                names = {
                    lemma.name: known[key_of(lemma)] for lemma in lemmas if key_of(lemma) in known
                }
                tasks = [(batch, _needed(batch, names)) for batch in stage]
                for (batch, _), module in zip(
                    tasks, self._all(folder, tasks, theorem), strict=True
                ):
                    known |= {key_of(lemma): module for lemma in batch}
            self.progress("the result")
            stated = self._stated(folder, theorem, known)
            general = self._for_all(folder, theorem, known, stated)
            self._at_sizes(folder, theorem, stated)
        used = {key: known[key] for key in map(key_of, lemmas)}
        pruned(self.store, used | {module: module for module in (stated, general)})
        return len(new)

    def _stated(self, folder: Path, theorem: Theorem, known: Mapping[str, str]) -> str:
        """The module of what Result.v states for all sizes: definitions, which need nothing of the proof."""
        text = f"{_HEAD}{theorem.halves.stated}"
        return self._kept(
            folder, Lemma("stated", text), [], known, lambda ran: _accepted(*ran, text, RESULT)
        )

    def _for_all(
        self, folder: Path, theorem: Theorem, known: Mapping[str, str], stated: str
    ) -> str:
        """The module of the first half of Result.v, audited; it is the same at other sizes.

        One is in the store only where it rests on no assumption.
        """
        composed = known[key_of(theorem.composition)]
        short = f"From Proved Require Import {composed}.\n{named(theorem.composition)}"
        inside = (
            f"Module Derivation.\n{short}End Derivation.\nFrom Proved Require Import {stated}.\n"
        )
        text = f"{_HEAD}{inside}{theorem.halves.for_all}\n{AUDITED[0]}"
        needs = [composed, stated]
        return self._kept(
            folder, Lemma("for_all", text), needs, known, lambda ran: _audited(*ran, text)
        )

    def _kept(
        self,
        folder: Path,
        part: Lemma,
        needs: Sequence[str],
        known: Mapping[str, str],
        judge: Callable[[tuple[int, str]], None],
    ) -> str:
        """The module of a part of Result.v, compiled and judged unless it is in the store."""
        name = module_name([part], needs)
        if known.get(key_of(part)) == name:
            self.store.used([name])
            return name
        own = folder / name
        own.mkdir()
        judge(self.compile(own, name, part.text, "Proved"))
        self.store.keep(own / f"{name}.vo", needs, [part])
        return name

    def _at_sizes(self, folder: Path, theorem: Theorem, stated: str) -> None:
        """The second half of Result.v, over the module of what the first states."""
        imported = f"From Proved Require Import {stated}.\n"
        shown = theorem.halves.at_sizes.removesuffix(APPLIED)
        text = "\n".join((_HEAD, imported, shown, AUDITED[1]))
        _audited(*self.compile(folder, "AtItsSizes", text), text)

    def check_files(self, files: Mapping[str, str]) -> None:
        """Check what lies in a folder, whoever wrote it; raises `NotProved`."""
        with temporary_folder() as folder:
            self._result(folder, files[DERIVATION], files[RESULT])

    def _all(
        self,
        folder: Path,
        tasks: Sequence[tuple[list[Lemma], list[str]]],
        theorem: Theorem,
    ) -> list[str]:
        """The modules of several batches of lemmas, compiled at the same time."""
        try:
            with ThreadPoolExecutor(1 if is_shared() else PROCESSES) as pool:
                running = [pool.submit(self._module, folder, *task, theorem) for task in tasks]
                try:
                    for done in as_completed(running):
                        done.result()  # the first that fails says why; the others are ended
                    return [each.result() for each in running]
                except BaseException:
                    self._stop()
                    raise
        finally:
            self._stopped = False

    def _stop(self) -> None:
        """End what runs; nothing more begins."""
        self._stopped = True
        for process in list(self._running):
            process.kill()

    def _module(
        self, folder: Path, batch: Sequence[Lemma], needs: Sequence[str], theorem: Theorem
    ) -> str:
        """Compile some lemmas into a module of the store; its name."""
        self.progress(f"{len(batch)} lemmas")
        name = module_name(batch, needs)
        parts = [heading(needs), *(lemma.text for lemma in batch)]
        own = folder / name
        own.mkdir()
        status, said = self.compile(own, name, "\n".join(parts), "Proved")
        if status:
            raise _failure(status, said, parts, batch, theorem)
        self.store.keep(own / f"{name}.vo", needs, batch)
        return name

    def _result(self, folder: Path, derivation: str, result: str) -> None:
        """Check Derivation.v and Result.v, and what they assume."""
        status, said = self.compile(folder, DERIVATION.removesuffix(".v"), derivation)
        _accepted(status, said, derivation, DERIVATION)
        _audited(*self.compile(folder, RESULT.removesuffix(".v"), result), result)

    def compile(self, folder: Path, module: str, text: str, place: str = "Here") -> tuple[int, str]:
        """The exit status of the prover on a file, and what it said."""
        (folder / f"{module}.v").write_text(text)
        paths = ["-Q", str(self.prover.library), "Relift", "-Q", str(self.store.folder), "Proved"]
        command = [self.prover.coqc, "-q", *paths, "-Q", ".", place, f"{module}.v"]
        if self._stopped:
            return STOPPED, "ended, as another has failed"
        process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self._running.add(process)
        try:
            said, _ = process.communicate(timeout=LIMIT)
            if process.returncode < 0:
                return (
                    STOPPED,
                    f"not finished: the prover was ended by signal {-process.returncode}",
                )
            return process.returncode, said
        except subprocess.TimeoutExpired:
            return STOPPED, f"not finished within {LIMIT:g} s"
        finally:
            process.kill()
            process.wait()
            self._running.discard(process)


STOPPED = 124
_HEAD = f"{IMPORTED}Set Implicit Arguments.\n"


def _accepted(status: int, said: str, text: str, file: str) -> None:
    """Raise `NotProved` for a file that the prover does not take, by what it said."""
    if status == STOPPED:
        raise NotFinished(f"{file} is {said}, which says nothing of the derivation")
    if status:
        raise NotProved(f"{file} is not accepted: {_place(said, text)}{_error(said)}")


def _audited(status: int, said: str, text: str) -> None:
    """The same of Result.v, or half of it, which must not rest on an assumption either."""
    _accepted(status, said, text, RESULT)
    if "Closed under the global context" not in said:
        raise NotProved(f"{RESULT} rests on assumptions: {' '.join(said.split())[:200]}")


def _stages(new: Sequence[Lemma]) -> list[list[list[Lemma]]]:
    """What is compiled after what, and in each stage what at the same time."""
    if not new:
        return []
    if sum(len(lemma.text) for lemma in new) <= TOGETHER:
        return [[list(new)]]
    rules = [lemma for lemma in new if lemma.rule]
    others = [lemma for lemma in new if not lemma.rule]
    stages = [_halves(rules), [others]]
    return [stage for batches in stages if (stage := [batch for batch in batches if batch])]


def _halves(lemmas: list[Lemma]) -> list[list[Lemma]]:
    """The lemmas in as many batches as run at the same time, of about as much text each."""
    total = sum(len(lemma.text) for lemma in lemmas)
    batches: list[list[Lemma]] = [[] for _ in range(PROCESSES)]
    done = 0
    for lemma in lemmas:
        batches[min(done * PROCESSES // max(total, 1), PROCESSES - 1)].append(lemma)
        done += len(lemma.text)
    return batches


_NAME = re.compile(r"@(\w+)")


def _needed(batch: Sequence[Lemma], modules: Mapping[str, str]) -> list[str]:
    """The modules of the lemmas that a batch uses."""
    used = {name for lemma in batch for name in _NAME.findall(lemma.text)}
    return sorted({module for name, module in modules.items() if name in used})


def _failure(
    status: int, said: str, parts: Sequence[str], batch: Sequence[Lemma], theorem: Theorem
) -> NotProved:
    """What the prover refuses, by the name of the step or the rule."""
    if status == STOPPED:
        return NotFinished(f"the proof is {said}, which says nothing of the derivation")
    found = re.search(r"line (\d+), characters", said)
    line, at = int(found[1]) if found else 0, 1
    what = "a lemma"
    for i, part in enumerate(parts):
        end = at + part.count("\n") + 1
        if at <= line < end and i > 0:
            what = _described(batch[i - 1], theorem)
        at = end
    return NotProved(f"{what} is not proved: {_error(said)}")


def _described(lemma: Lemma, theorem: Theorem) -> str:
    numbers = [i for i, (name, _) in enumerate(theorem.steps, 1) if name == lemma.name]
    if numbers:
        return f"step {numbers[0]} by {theorem.steps[numbers[0] - 1][1]}"
    if lemma.rule:
        return f"the rule {lemma.rule}"
    return "the composition" if lemma.name == theorem.composition.name else "a subterm"


def _place(said: str, text: str) -> str:
    """Which premise of Result.v is not shown, where it is one."""
    found = re.search(r"line (\d+), characters", said)
    if found is None:
        return ""
    before = text.split("\n")[: int(found[1])]
    lemma = next((line for line in reversed(before) if line.startswith(("Lemma ", "Theorem "))), "")
    return f"{lemma.removeprefix('Lemma ').rstrip('.')}: " if lemma.startswith("Lemma ") else ""


def _error(said: str) -> str:
    _, _, message = said.partition("Error:")
    return " ".join((message or said).split())[:300]


def told_beside(derivation: Derivation, file: Path, rules: Mapping[str, Rule]) -> str | None:
    """What is to be said of a Result.v in the folder of a derivation; None where there is none."""
    beside = file.parent / RESULT
    if not beside.is_file():
        return None
    theorem = general_theorem(derivation, rules)
    if beside.read_bytes() != theorem.result.encode():
        return f"{beside} states something else than this derivation"
    laws = theorem.statement.of("law")
    assumed = (
        f"under {len(laws)} laws of operators: {'; '.join(laws)}" if laws else "assuming no law"
    )
    return f"{beside} states it as one theorem, {assumed}; relift verify {file.parent} checks its proof"
