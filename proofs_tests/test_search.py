"""What the search finds, and what it says when a budget ends it."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

from proofs_tests.portions import portioned
from relift.compiler.agreement import verification
from relift.compiler.program import compile_program, refusal
from relift.device import CPU, GPU, DeviceDescription
from relift.egraph.search.optimize import Optimized, as_written, optimize
from relift.files import write_text
from relift.rewrites.derivation.confirmation import confirm
from relift.rewrites.derivation.files import from_json, to_json
from relift.rewrites.derivation.steps import BrokenDerivation, Derivation
from relift.rewrites.library import RULES
from relift.rewrites.loading import load_program
from relift.semantics.language.programs import Program
from relift.semantics.patterns import AsVector, MapGlb, Split
from relift.semantics.syntax.binding import alpha_equal
from relift.semantics.syntax.terms import subterms

ROOT = Path(__file__).parent.parent
REASSOCIATING = {name for name, rule in RULES.items() if rule.needs_reassociation}


@pytest.fixture(scope="module")
def dot() -> Program:
    """The dot product of the examples."""
    return load_program(str(ROOT / "examples" / "dot.py"))


@pytest.fixture(scope="module")
def best(dot: Program) -> Optimized:
    """What is found for 16 million elements on the CPU."""
    return optimize(dot, {"n": 1 << 24}, CPU, top=3)


def test_the_program_found_is_vectorised_and_chunked(best: Optimized) -> None:
    """Chunks go to work-items, and each adds vectors of the full width."""
    nodes = [t for t, _ in subterms(best.term.body)]
    widths = {t.width for t in nodes if isinstance(t, AsVector)}

    assert any(isinstance(t, MapGlb) for t in nodes)
    assert any(isinstance(t, Split) for t in nodes)
    assert widths == {CPU.vector_width}


def test_candidates_are_different_programs_in_order_of_cost(best: Optimized) -> None:
    """Candidates differ, and none is estimated to be more than 2 % faster than one before it."""
    assert len({str(found.term) for found in best.candidates}) == 3
    costs = [found.cost.seconds for found in best.candidates]

    assert all(early <= 1.02 * late for early, late in itertools.pairwise(costs))


def test_every_candidate_has_a_derivation_that_replays_and_is_confirmed(best: Optimized) -> None:
    """The steps lead from the source to the candidate, and the interpreter agrees with each."""
    for found in best.candidates:
        terms = found.derivation.replay(RULES)
        confirmed = confirm(found.derivation, RULES)

        assert len(terms) == len(found.derivation.steps) + 1
        assert confirmed is not None
        assert len(confirmed.terms) == len(terms)


def test_a_derivation_survives_its_file(best: Optimized) -> None:
    """Written and read back, a derivation replays to the same result."""
    again = from_json(to_json(best.derivation), RULES)

    assert alpha_equal(again.replay(RULES)[-1], best.derivation.replay(RULES)[-1])


def test_a_derivation_with_a_step_left_out_does_not_replay(best: Optimized) -> None:
    """Each step is needed: without any one of them the replay fails."""
    whole = best.derivation
    for i in range(len(whole.steps)):
        steps = whole.steps[:i] + whole.steps[i + 1 :]
        broken = Derivation(whole.origin, whole.sizes, steps, whole.result, whole.policy)
        with pytest.raises(BrokenDerivation):
            broken.replay(RULES)


def test_exact_floating_point_uses_no_law(dot: Program) -> None:
    """With float=exact no rule that regroups is used, and the derivation says so."""
    found = optimize(dot, {"n": 4096}, CPU, float="exact")
    used = {step.rule for step in found.derivation.steps}

    assert not used & REASSOCIATING
    assert found.derivation.policy == "exact"
    found.derivation.replay(RULES)


def test_a_derivation_that_regroups_does_not_replay_as_exact(best: Optimized) -> None:
    """The policy is checked by the replay, not only by the search."""
    d = best.derivation
    exact = Derivation(d.origin, d.sizes, d.steps, d.result, "exact")

    with pytest.raises(BrokenDerivation, match="float=exact forbids it"):
        exact.replay(RULES)


def test_a_budget_of_nodes_ends_the_search_with_the_best_so_far(dot: Program) -> None:
    """A search that runs out returns a program that runs, and says that it was cut short."""
    found = optimize(dot, {"n": 65536}, CPU, nodes=60)

    assert not found.complete
    assert "node" in found.stopped
    assert compile_program(found.term).source


SUMS = """
import relift as rl
n, m = rl.nat("n"), rl.nat("m")
@rl.program
def rows(A: rl.f32[n, m]):
    return rl.map(lambda row: rl.reduce(rl.add, 0.0, row), A)
@rl.program
def columns(A: rl.f32[n, m]):
    return rl.map(lambda column: rl.reduce(rl.add, 0.0, column), rl.transpose(A))
@rl.program
def largest(A: rl.f32[n, m]):
    return rl.reduce(rl.operator(lambda a, b: rl.maximum(a, b), associative=True, commutative=True,
                                 name="larger", neutral=float("-inf")), float("-inf"), rl.join(A))
@rl.program
def total(A: rl.f32[n, m]):
    return rl.reduce(rl.add, 0.0, rl.join(A))
"""


@pytest.mark.parametrize("name", ["rows", "columns", "largest", "total"])
@portioned("sizes", [{"n": 512, "m": 1024}, {"n": 4096, "m": 4096}], 2, ids=str)
def test_reductions_of_any_length_have_a_program(
    tmp_path: Path, name: str, sizes: dict[str, int]
) -> None:
    """Lengths that vectors divide twice over, too."""
    (tmp_path / "sums.py").write_text(SUMS)
    found = optimize(
        load_program(f"{tmp_path}/sums.py:{name}"), sizes, CPU, top=12, refused=refusal
    )

    assert found.complete
    assert any(isinstance(t, AsVector) for t, _ in subterms(found.term.body))


@portioned(
    "name,device",
    {
        f"{name}-{device}": (name, {"cpu": CPU, "gpu": GPU}[device])
        for name in ("dot", "gemv", "mriq", "nearest_neighbour", "stencil")
        for device in ("cpu", "gpu")
    },
    {"dot-cpu", "gemv-cpu", "nearest_neighbour-gpu", "stencil-gpu"},
)
def test_nothing_is_estimated_worse_than_the_program_as_it_is_written(
    name: str, device: DeviceDescription
) -> None:
    """Even where the budget ends the search before its first stage."""
    program = load_program(str(ROOT / "examples" / f"{name}.py"))
    sizes = dict.fromkeys(program.sizes, 256)
    written = as_written(program, sizes, device)
    for nodes in (1, 50_000):
        found = optimize(program, sizes, device, nodes=nodes)
        assert found.cost.seconds <= 1.02 * written.cost.seconds


def test_a_gpu_gets_a_program_too(dot: Program) -> None:
    """For the GPU's description the work is spread over many more work-items."""
    found = optimize(dot, {"n": 1 << 24}, GPU)
    kernels = compile_program(found.term).launch["kernels"]

    assert max(kernel["global"][0] for kernel in kernels) >= 4096


def test_a_derivation_that_the_interpreter_contradicts_is_a_no(
    best: Optimized, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that differs along the way is a disagreement, not an error of the input."""

    def contradicted(*_: object) -> None:
        raise BrokenDerivation("step 3 changes the result")

    monkeypatch.setattr(verification, "confirm", contradicted)
    (found,) = verification.differential(
        compile_program(best.term),
        best.derivation,
        best.derivation.program,
        ["cpu"],
        lambda _: None,
    )

    assert not found.ok
    assert found == verification.check_derivation(best.derivation, "cpu")


INTERRUPTED = """
import os, signal, sys
from relift.egraph.process.children import Child
real = Child.receive
def receive(self, deadline):
    os.kill(os.getpid(), signal.SIGINT)  # as if Ctrl-C were pressed while the child is at work
    return real(self, deadline)
Child.receive = receive
sys.argv = ["relift", "optimize", "examples/dot.py", "--size", "n=4096", "--out", sys.argv[1]]
from relift.cli import main
main()
"""


def test_an_interrupted_command_leaves_no_half_written_output(tmp_path: Path) -> None:
    """Ctrl-C during a search ends with one word, status 130, no output and no child left behind."""
    out = tmp_path / "out"
    ran = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(out)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert ran.returncode == 130, ran.stderr
    assert ran.stderr == "relift: interrupted\n"
    assert not out.exists()


def test_a_write_that_fails_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file is replaced whole or not at all, and no temporary file stays."""
    file = tmp_path / "term.txt"
    write_text(file, "old")

    def interrupted(source: str, target: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_text(file, "new")

    assert [path.name for path in tmp_path.iterdir()] == ["term.txt"]
    assert file.read_text() == "old"
