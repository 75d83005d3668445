"""`python -m proofs_tests.lifting_campaign inputs [N] | calls [N] | mutations [N [WORKERS]] | compilers [CLANG…] | detection [LINES]`: what the tests
of lifting draw a little of, at length.

    inputs       each lifted program of the fixtures against the compiled C on N inputs (1,000), hostile ones among them
    calls        each call that takes the place of a loop, with its kernel, against the interpreter on N inputs (1,000)
    mutations    N lifted programs (100) with one mistake, operators, offsets, bounds, strides, by so many processes (1): each must
                 differ on some input and not be proved; one that is proved and differs on none means the same, and is no mistake
    detection    how much CPU time finding takes, after the compiler, in files of so many lines (2,000): loops among what programs do
                 beside, loops only, one function of loops; the least of three times, what is read once not counted
    compilers    what is found in the fixtures, and as which programs, by each clang that is named or on PATH, at -O1 and -O2

It prints what was run and returns 1 where a program differs, or a mistake is not noticed.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from ctypes import c_long
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random
from time import process_time
from typing import TypeAlias

from proofs_tests.compiler.idioms.checks import FILES, FOLDER, expected, lifted
from proofs_tests.compiler.idioms.long_files import dense, one_function, sparse
from proofs_tests.compiler.idioms.mutations import misplaced, mutants
from proofs_tests.compiler.idioms.replaced import Replaced, library
from relift.compiler.idioms.evidence import evidence
from relift.compiler.idioms.execution import Compiled
from relift.compiler.idioms.facts.llvm.ir import Module
from relift.compiler.idioms.facts.llvm.reading import module_of
from relift.compiler.idioms.facts.llvm.source import NAMES, bitcode, module, normal_form
from relift.compiler.idioms.facts.relations import Relations
from relift.compiler.idioms.finding import Found, FunctionFinds, find
from relift.compiler.idioms.lift import LiftedIdiom, lift, programs, search_of
from relift.compiler.idioms.lifting.programs import Lifted
from relift.compiler.idioms.proofs.equality import proof
from relift.compiler.idioms.refusals import refusal
from relift.compiler.idioms.replacement.replacing import replacement
from relift.files import temporary_folder
from relift.processes.collecting import uncollected
from relift.processes.executors import each, on
from relift.rewrites.checks.smt.goals import EFFORT


@cache
def compiled(file: str) -> Compiled:
    """The functions of a file of fixtures."""
    return Compiled(bitcode(FOLDER / f"{file}.c"))


def idioms() -> Iterator[tuple[str, LiftedIdiom, Lifted]]:
    """Every lifted idiom of the fixtures."""
    for file in FILES:
        for idiom in lift(FOLDER / f"{file}.c", runs=0).idioms:
            if idiom.lifted is not None:
                yield file, idiom, idiom.lifted


def inputs(runs: int) -> int:
    """Each program on so many inputs."""
    ran = differ = 0
    for file, idiom, program in idioms():
        found = evidence(
            idiom.relations, idiom.found, program, compiled(file), runs, 1, hostile=True,
            others=idiom.others,
        )  # fmt: skip
        ran += found.ok
        differ += found.difference is not None
        print(f"{file}.c: {idiom.function}: {idiom.idiom}: {found}", flush=True)
    print(f"{ran} programs agree on {runs} inputs each, {differ} differ")
    return int(differ > 0 or ran == 0)


def calls(runs: int) -> int:
    """Each replaced loop on so many inputs; not those whose results nothing sees, which lie among other statements, or need a static array."""
    ran = differ = 0
    for file in FILES:
        written = replacement(lifted(file), (FOLDER / f"{file}.c").read_text())
        if not written.replaced:
            continue
        with temporary_folder() as folder:
            made = Replaced(library(Path(folder), written))
            for idiom, name in written.replaced:
                assert idiom.lifted is not None, "cannot happen: a program takes the place"
                try:
                    found = evidence(
                        idiom.relations, idiom.found, idiom.lifted, made, runs, 2, others=idiom.others
                    )  # fmt: skip
                except ValueError as unseen:
                    print(f"{file}.c: {idiom.function}: not run: {unseen}", flush=True)
                    continue
                ran += found.ok
                refused = c_long.in_dll(made.found, f"{name}_refused").value
                differ += found.difference is not None or refused > 0
                print(f"{file}.c: {idiom.function}: {found}, {refused} refused", flush=True)
    print(f"{ran} calls agree on {runs} inputs each, {differ} differ or refuse")
    return int(differ > 0 or ran == 0)


PROVED_WITH = EFFORT // 10
"""What Z3 may do for each statement about a mistake that was noticed: every right program of the fixtures is proved with that."""


@cache
def _programs(file: str) -> list[tuple[LiftedIdiom, Lifted]]:
    """The lifted idioms of a file of fixtures, in the order of the file."""
    found = lift(FOLDER / f"{file}.c", runs=0).idioms
    return [(i, i.lifted) for i in found if i.lifted is not None]


@cache
def _mistakes(file: str, number: int) -> list[Lifted]:
    """Every mistake in one program."""
    right = _programs(file)[number][1]
    return [*(replace(right, program=m) for m in mutants(right.program)), *misplaced(right)]


@cache
def _is_run(file: str, number: int) -> bool:
    """Whether a program can be run beside the C."""
    idiom, right = _programs(file)[number]
    known = compiled(file)
    return evidence(idiom.relations, idiom.found, right, known, 5, others=idiom.others).ok


Mistake: TypeAlias = "tuple[str, int, int]"
"""The file, which of its programs, and which of the mistakes in it."""


@dataclass(frozen=True)
class Judged:
    """Whether a mistake differs on an input, and is proved."""

    mistake: Mistake
    differs: bool
    proved: bool
    seconds: float
    said: str


def judged(mistake: Mistake) -> Judged | None:
    """What is seen of a mistake; nothing where its program cannot be run.

    It is over at the first input that shows it; then no proof is looked for longer than a right program asks for.
    """
    file, number, which = mistake
    if not _is_run(file, number):
        return None
    begin = process_time()
    idiom, right = _programs(file)[number]
    wrong = _mistakes(file, number)[which]
    found = evidence(
        idiom.relations, idiom.found, wrong, compiled(file), 1000, 2, beside=right, others=idiom.others
    )  # fmt: skip
    shown = proof(idiom.relations, idiom.found, wrong, EFFORT if found.ok else PROVED_WITH)
    said = f"{file}.c: {idiom.function}: {found}; {shown}:\n{wrong.program}\n{wrong.target}"
    return Judged(mistake, not found.ok, shown.ok, process_time() - begin, said)


def mutations(count: int, workers: int = 1) -> int:
    """So many mistakes, drawn from all."""
    everything = [
        (file, number, which)
        for file in FILES
        for number in range(len(_programs(file)))
        for which in range(len(_mistakes(file, number)))
    ]
    Random(0).shuffle(everything)
    seen: list[Judged] = []
    with on(workers) as executor:
        for one in each(judged, everything, executor):
            if one is None:
                continue
            seen.append(one)
            if not one.differs or one.proved:
                print(one.said, flush=True)
            if len(seen) == count:
                break
    same = sum(j.proved and not j.differs for j in seen)
    missed = sum(not j.proved and not j.differs for j in seen)
    believed = sum(j.proved and j.differs for j in seen)
    print(
        f"{len(seen)} mistakes of {len(everything)}: {same} mean the same by a proof, {missed} not noticed by running, "
        f"{believed} proved that differ; {sum(j.seconds for j in seen):.0f} s of CPU time, the longest "
        f"{max((j.seconds for j in seen), default=0):.1f} s"
    )
    return int(missed > 0 or believed > 0 or not seen)


def _place(relations: Relations, found: Found) -> int:
    """Where the result of a find is computed."""
    return relations.instructions[found.result].position


def compilers(names: list[str]) -> int:
    """Each compiler at each level: the idioms that are marked, and one set of programs."""
    texts: dict[tuple[str, str, str], dict[str, None]] = {}
    wrong = 0
    for name in names or [n for n in NAMES if shutil.which(n)]:
        for level in ("-O1", "-O2"):
            missed = 0
            for file in FILES:
                code = module(FOLDER / f"{file}.c", (name,), (level,))
                for f, kinds in expected(file).items():
                    function = code.functions[f]
                    relations = Relations(function, code)
                    refused = refusal(function, code) is not None
                    found = [] if refused else programs(function, relations, find(relations))[0]
                    missed += sorted(x.idiom for x in found) != kinds
                    ordered = sorted(found, key=lambda x: _place(relations, x.found))
                    for number, x in enumerate(ordered):
                        said = str(x.lifted.program) if x.lifted is not None else str(x.reason)
                        texts.setdefault((file, f, f"{x.idiom} {number}"), {})[said] = None
            wrong += missed
            print(
                f"{name} {level}: {missed} functions with other idioms than are marked", flush=True
            )
    differ = [key for key, said in texts.items() if len(said) > 1]
    print(f"{len(texts)} finds, {len(differ)} with different programs: {differ}")
    return int(wrong > 0 or bool(differ) or not texts)


@uncollected()
def _detected(printed: str, file: Path) -> tuple[float, float, Module, list[FunctionFinds]]:
    """The seconds for the graph of a file and for its idioms, and both."""
    begin = process_time()
    graph = module_of(printed, str(file))
    read = process_time()
    found = [search_of(f, graph) for f in graph.functions.values()]
    took = process_time() - read
    return read - begin, took, graph, [x[1] for x in found if not isinstance(x, str)]


def detection(lines: int) -> int:
    """How long the files of so many lines take."""
    with temporary_folder() as folder:
        for kind, text in (
            ("loops among other code", sparse(lines)),
            ("loops only", dense(lines)),
            ("one function of loops", one_function(lines)),
        ):
            file = folder / "long.c"
            file.write_text(text, encoding="utf-8")
            printed = normal_form(bitcode(file))
            runs = [_detected(printed, file) for _ in range(3)]
            reading, finding, graph, searched = min(runs, key=lambda run: run[0] + run[1])
            steps, finds = sum(s.steps for s in searched), sum(len(s.found) for s in searched)
            print(
                f"{kind}: {text.count(chr(10))} lines, {len(graph.functions)} functions: {reading + finding:.2f} s "
                f"({reading:.2f} s for the graph), {finds} idioms, {steps} steps, "
                f"{sum(len(s.given_up) for s in searched)} searches given up",
                flush=True,
            )
    return 0


def main(words: list[str]) -> int:
    """The command."""
    match words:
        case ["inputs", *rest] if len(rest) < 2:
            return inputs(int(rest[0]) if rest else 1000)
        case ["calls", *rest] if len(rest) < 2:
            return calls(int(rest[0]) if rest else 1000)
        case ["detection", *rest] if len(rest) < 2:
            return detection(int(rest[0]) if rest else 2000)
        case ["compilers", *rest]:
            return compilers(rest)
        case ["mutations", *rest] if len(rest) < 3:
            return mutations(*map(int, rest or ["100"]))
        case _:
            print(__doc__, file=sys.stderr)
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
