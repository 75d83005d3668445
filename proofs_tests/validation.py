"""The campaigns of validation, as commands: all kernels, planted faults.

python -m proofs_tests.validation kernels      # every program of examples/low_level, at its sizes, all variants
python -m proofs_tests.validation open         # programs whose sizes are open, and the compiler's test families
python -m proofs_tests.validation faults 500   # faults that are planted in texts and launches, drawn from a seed
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from proofs_tests.compiler.faults import Planted, planted
from proofs_tests.compiler.programs import CASES, made
from proofs_tests.compiler.validation.test_planted_faults import PROGRAMS, compiled
from relift.compiler.bench.benchmarks import load_benchmarks
from relift.compiler.certificates.claims import certificates
from relift.compiler.dialects.opencl.printer import OpenCL
from relift.compiler.meaning.evidence import Meaning, meaning_of
from relift.compiler.program import compile_program
from relift.compiler.running.compiled import Compiled
from relift.compiler.text.reader import read_source
from relift.compiler.validation.validate import validate
from relift.semantics.errors import ReliftError
from relift.semantics.language.programs import Program
from relift.semantics.syntax.sizes import nat

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
SEED = 15


@dataclass(frozen=True)
class Subject:
    """A low-level program to validate, when it is asked for."""

    name: str
    make: Callable[[], Program]


def low_level(*, variants: bool = True) -> Iterator[Subject]:
    """The programs of examples/low_level, at the sizes at which they are timed."""
    for target in ("cpu", "gpu"):
        for b in load_benchmarks(EXAMPLES / "low_level", [], target, defaults=not variants):
            for variant in b.variants:
                name = " ".join([b.name, target, *(f"{k}={v}" for k, v in variant.items())])
                yield Subject(name, lambda b=b, variant=variant: b.at(variant))  # type: ignore[misc]


def families() -> Iterator[Subject]:
    """The compiler's test families, with all sizes open where they can be, else at their small ones."""
    for case in CASES:
        for sizes in case.small:
            name = f"{case.name} {sizes}"
            yield Subject(name, lambda case=case, sizes=sizes: case.make(*sizes))  # type: ignore[misc]
        count = len(case.small[0])
        opened = [nat(name) for name in ("n", "m", "k", "l", "p")[:count]]
        yield Subject(
            f"{case.name} open",
            lambda case=case, opened=opened: case.make(*opened),  # type: ignore[misc]
        )


def judged(program: Program) -> tuple[Meaning, float, float]:
    """What is found of a program's kernels, and the seconds for its values and its certificates."""
    compiled = compile_program(program)
    begun = time.perf_counter()
    certified = certificates(compiled)
    between = time.perf_counter()
    found = meaning_of(compiled, program, certified)
    return found, time.perf_counter() - between, between - begun


def all_kernels(subjects: Iterator[Subject]) -> int:
    """Validate all; print a line for each kernel, and the counts."""
    counts: Counter[str] = Counter()
    times: list[float] = []
    for subject in subjects:
        try:
            program = subject.make()
            found, seconds, proving = judged(program)
        except (ReliftError, TypeError, ValueError, ZeroDivisionError, AssertionError) as error:
            counts["not compiled"] += 1
            print(f"{subject.name:44} not compiled: {str(error)[:90]}", flush=True)
            continue
        times += [seconds / len(found.kernels)] * len(found.kernels)
        counts.update(k.verdict for k in found.kernels)
        for k in found.kernels:
            detail = f" {k.detail[:150]}" if k.verdict != "validated" else ""
            print(
                f"{subject.name:44} {k.kernel:26} {k.verdict:9} {seconds:6.2f} s, "
                f"certificate {proving:5.2f} s{detail}",
                flush=True,
            )
    print(
        f"{dict(counts)}; median {statistics.median(times):.2f} s a kernel, most {max(times):.1f} s"
    )
    return 0 if not counts["refuted"] and not counts["unknown"] else 1


@dataclass(frozen=True)
class Judged:
    """A planted fault, what both methods say of it, and whether it was missed."""

    program: str
    fault: Planted
    by_meaning: str
    why: str
    at_size: str

    @property
    def missed(self) -> bool:
        """Validated, although running all work-items shows another value."""
        return self.by_meaning == "validated" and self.at_size != "shown"


def planted_faults(count: int, seed: int) -> Iterator[Judged]:
    """So many faults, drawn from all that fit into the programs of `test_planted_faults`.

    What is validated is run on symbols by all its work-items: where that shows the right values, nothing is wrong.
    """
    every: list[tuple[str, Planted]] = []
    for name in PROGRAMS:
        k = compiled(name)
        every += [(name, f) for f in planted(read_source(k.source), k.plan, each=8, seed=seed)]
    generator = random.Random(seed)
    for name, fault in generator.sample(every, min(count, len(every))):
        program = made(name, *PROGRAMS[name][0])
        text = OpenCL().source(fault.source)
        said, why = _said(Compiled(text, fault.launch), program)
        at_size = "not run"
        if said == "validated":
            at_size = validate(fault.source, fault.launch, program).verdict
        yield Judged(name, fault, said, why, at_size)


def _said(kernel: Compiled, program: Program) -> tuple[str, str]:
    """The verdict on a text and its launch, `refused` where one cannot be read or made, and what it rests on."""
    try:
        found = meaning_of(kernel, program)
    except (ReliftError, ValueError) as error:
        return "refused", str(error)
    return ("refused" if found.not_read else found.verdict), found.text().replace("\n", "; ")


def all_faults(count: int, seed: int) -> int:
    """Plant, print what was missed, and count by class."""
    table: dict[str, Counter[str]] = {}
    missed = total = 0
    for judged_one in planted_faults(count, seed):
        total += 1
        kind = judged_one.fault.kind
        equal = judged_one.by_meaning == "validated" and not judged_one.missed
        verdict = "changes nothing" if equal else judged_one.by_meaning
        table.setdefault(kind, Counter())[verdict] += 1
        if judged_one.missed:
            missed += 1
            print("MISSED", judged_one.program, kind, judged_one.fault.where, judged_one.at_size)
        if verdict == "unknown":
            print("UNKNOWN", judged_one.program, kind, judged_one.fault.where, judged_one.why)
    for kind, row in sorted(table.items()):
        print(f"{kind:26} {sum(row.values()):4}  " + ", ".join(f"{v} {n}" for v, n in row.items()))
    print(f"{total} faults from seed {seed}, {missed} missed")
    return 1 if missed else 0


def main(arguments: list[str]) -> int:
    """Run one campaign."""
    match arguments:
        case ["kernels"]:
            return all_kernels(low_level())
        case ["open"]:
            return all_kernels(families())
        case ["faults", count, *seed]:
            return all_faults(int(count), int(seed[0]) if seed else SEED)
        case _:
            print(__doc__)
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
