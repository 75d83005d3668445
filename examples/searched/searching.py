"""Benchmarks of what the search finds: each variant is a candidate of `relift optimize`, in the order of its estimates."""

from functools import cache
from pathlib import Path

import relift as rl
from relift.bench import Benchmark, Draw, as_written, load_file, load_program

MOST = 12
FAR = 8
"""What is estimated to take so many times as long as the best is not timed."""

OF_ATOMS = {
    "atoms": Draw(0.0, 20.0),
    "neighbours": Draw(0, "n", whole=True),
    "cutoff": Draw(16.0, 16.1),
    "lj1": Draw(1.5, 1.6),
    "lj2": Draw(2.0, 2.1),
}
"""What md is given: neighbours drawn from a cube, of which one in 37 is near enough."""

HERE = Path(__file__).parent
PROGRAMS = load_file(HERE / "programs.py")


@cache
def source(name):
    """The program of that name in programs.py, or else of examples/NAME.py; a program itself."""
    if isinstance(name, rl.Program):
        return name
    own = getattr(PROGRAMS, name, None)
    return own if isinstance(own, rl.Program) else load_program(str(HERE.parent / f"{name}.py"))


@cache
def candidates(name, target, sizes, most):
    """The programs that the search finds for a source, without those that it estimates to be far from the best."""
    found = rl.optimize(source(name), dict(sizes), target, top=most, varied=True).candidates
    near = (each for each in found if each.cost.seconds <= FAR * found[0].cost.seconds)
    return [candidate.term for candidate in near]


def found(name, target, most):
    """A function from sizes and the number of a candidate to its program, searched for the device, or any such one."""

    def program(candidate=0, device=target, **sizes):
        known = candidates(name, device, tuple(sorted(sizes.items())), most)
        return known[candidate % len(known)]

    return program


def written(name, target):
    """A function from sizes to the program of examples/NAME.py, lowered as it stands."""

    def program(**sizes):
        return as_written(source(name), sizes, target).term

    return program


def benchmark(name, target, sizes, small, flops, moved, candidates_timed=MOST, of=None, **more):
    """Candidates of the program `of`, or of the one that has this name; `of` may be its name."""
    program = source(of or name)
    return Benchmark(
        name,
        target,
        found(of or name, target, candidates_timed),
        sizes=sizes,
        small=small,
        gold=program.reference or program,
        flops=flops,
        moved=moved,
        variants=[{"candidate": number} for number in range(candidates_timed)],
        by_device=True,
        **more,
    )
