"""Random kernels by seed, judged as `relift fuzz` judges what it draws."""

from __future__ import annotations

import random
from collections.abc import Iterator

from relift.compiler.fuzzing.judgement.containment import Contained
from relift.compiler.fuzzing.judgement.judging import Court, Seen
from relift.compiler.fuzzing.programs.subjects import Subject
from relift.rewrites.checks.random.draws import Kind, Seeded
from relift.rewrites.checks.random.kernels import random_arguments, random_kernel, random_sizes
from relift.semantics.language.programs import Program


def subjects(program: Program, seed: int) -> Iterator[Subject]:
    """A program at its least sizes and at small ones, with whole numbers."""
    choices = Seeded(random.Random(seed))
    for most in (1, 5) if program.sizes else (5,):
        sizes = random_sizes(program, choices, most)
        yield Subject(program, sizes, random_arguments(program.at(sizes), seed))


def seen_of(program: Program, seed: int, device: Contained | None = None) -> Seen:
    """What is seen of a program: of its text, which must be followed, and on a device if one is given."""
    court = Court(device, formulated=False, strict=True)
    found = Seen("not made")
    for subject in subjects(program, seed):
        found = court.seen(subject)
        if found.sight != "right":
            break
    return found


def judged(kind: Kind, seed: int, device: Contained | None = None) -> Seen:
    """What is seen of the program of a seed."""
    program = random_kernel(seed, kind)
    return Seen("not made") if program is None else seen_of(program, seed, device)
