"""Every example, through the search, agrees with NumPy and with the interpreter."""

from __future__ import annotations

from pathlib import Path

from proofs_tests.portions import portioned
from proofs_tests.test_table_one import PROGRAMS
from relift.compiler.agreement.inputs import random_inputs
from relift.compiler.agreement.verification import check_derivation, check_run
from relift.compiler.devices.survey import describe, find_device
from relift.compiler.program import compile_program, refusal
from relift.egraph.search.optimize import optimize
from relift.rewrites.library import RULES
from relift.rewrites.loading import load_program

EXAMPLES = Path(__file__).parent.parent / "examples"
SIZES: dict[str, list[dict[str, int]]] = {
    "dot": [{"n": 64}, {"n": 1000}, {"n": 65536}],
    "saxpy": [{"n": 16}, {"n": 1001}, {"n": 65536}],
    "matvec": [{"n": 8, "m": 16}, {"n": 33, "m": 100}, {"n": 256, "m": 512}],
    "matmul": [
        {"n": 4, "m": 8, "k": 16},
        {"n": 20, "m": 30, "k": 10},
        {"n": 128, "m": 64, "k": 96},
    ],
    "transpose": [{"n": 8, "m": 4}, {"n": 33, "m": 7}, {"n": 128, "m": 256}],
    "stencil": [{"n": 16}, {"n": 1001}, {"n": 65536}],
    "sum_of_squares": [{"n": 32}, {"n": 999}, {"n": 65536}],
}


LARGE = {"dot", "matmul"}
"""What is written in other ways at large sizes: folded in two kernels, and in tiles."""


@portioned(
    "name,sizes",
    [(name, sizes) for name, several in SIZES.items() for sizes in several],
    [(name, several[2 if name in LARGE else 1]) for name, several in SIZES.items()],
    ids=lambda value: value if isinstance(value, str) else "-".join(map(str, value.values())),
)
def test_example_agrees(name: str, sizes: dict[str, int]) -> None:
    """The found kernel agrees with NumPy, and its derivation replays and is confirmed exactly."""
    program = load_program(str(EXAMPLES / f"{name}.py"))
    source = program.at(sizes)
    device = "cpu"
    best = optimize(program, sizes, describe(find_device(device)), refused=refusal)
    arrays = random_inputs(source, seed=1)
    result = compile_program(best.term)(*arrays, device=device)
    best.derivation.replay(RULES)
    checks = check_run(program, arrays, result, source)
    checks.append(check_derivation(best.derivation, device))

    assert len(checks) >= 2
    assert all(check.ok for check in checks), "\n".join(check.text() for check in checks)


def test_every_example_is_tested() -> None:
    """No program lies in examples/ without sizes here or in test_table_one."""
    programs = {path.stem for path in EXAMPLES.glob("*.py")} - {
        "benchmark_dot",
        "matmul_low_level",  # low-level already: test_cli
        "my_rules",
        "partial_dot",  # low-level already: test_iterate_sizes
        "popl24_goals",
        "binomial",  # see egraph.test_guided
    }

    assert programs == {*SIZES, *PROGRAMS}
