"""`python -m proofs_tests.lifting_campaign inputs [N] | mutations [N]`: what the tests of lifting draw a little of, at length.

    inputs       each lifted program of the fixtures against the compiled C on N inputs (1,000), hostile ones among them
    mutations    N lifted programs (100) with one mistake, operators, offsets, bounds, strides: each must differ, none be proved

It prints what was run and returns 1 where a program differs, or a mistake is not noticed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from random import Random

from proofs_tests.compiler.idioms.checks import FILES, FOLDER
from proofs_tests.compiler.idioms.mutations import misplaced, mutants
from relift.compiler.idioms.evidence import Compiled, evidence
from relift.compiler.idioms.facts.source import bitcode
from relift.compiler.idioms.lift import LiftedIdiom, lift
from relift.compiler.idioms.lifting.programs import Lifted
from relift.compiler.idioms.proofs.equality import proof


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
    for file, idiom, lifted in idioms():
        found = evidence(
            idiom.relations, idiom.found, lifted, compiled(file), runs, 1, hostile=True
        )
        ran += found.ok
        differ += found.difference is not None
        print(f"{file}.c: {idiom.function}: {idiom.idiom}: {found}", flush=True)
    print(f"{ran} programs agree on {runs} inputs each, {differ} differ")
    return int(differ > 0 or ran == 0)


def mistakes() -> Iterator[tuple[str, LiftedIdiom, Lifted]]:
    """Every mistake in every program that can be run."""
    for file, idiom, lifted in idioms():
        if evidence(idiom.relations, idiom.found, lifted, compiled(file), 5).ok:
            wrong = [replace(lifted, program=m) for m in mutants(lifted.program)]
            for each in (*wrong, *misplaced(lifted)):
                yield file, idiom, each


def mutations(count: int) -> int:
    """So many mistakes, drawn from all."""
    everything = list(mistakes())
    drawn = Random(0).sample(everything, min(count, len(everything)))
    missed = proved = 0
    for file, idiom, wrong in drawn:
        found = evidence(idiom.relations, idiom.found, wrong, compiled(file), 300, 2)
        shown = proof(idiom.relations, idiom.found, wrong)
        if found.ok or (shown.ok and found.difference):
            print(
                f"{file}.c: {idiom.function}: {found}; {shown}:\n{wrong.program}\n{wrong.target}",
                flush=True,
            )
        missed += found.ok
        proved += shown.ok
    print(
        f"{len(drawn)} mistakes of {len(everything)}: {missed} not noticed by running, {proved} proved"
    )
    return int(missed > 0 or proved > 0)


def main(words: list[str]) -> int:
    """The command."""
    match words:
        case ["inputs", *rest] if len(rest) < 2:
            return inputs(int(rest[0]) if rest else 1000)
        case ["mutations", *rest] if len(rest) < 2:
            return mutations(int(rest[0]) if rest else 100)
        case _:
            print(__doc__, file=sys.stderr)
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
