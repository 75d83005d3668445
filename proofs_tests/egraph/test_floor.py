"""A floor: whatever a compiler can run as it is written has a program, and nothing that is found is worse."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relift as rl
from proofs_tests.compiler.programs import typed
from proofs_tests.egraph.written_programs import PROGRAMS, WITHOUT_ELEMENTS
from proofs_tests.nested_results import require_same
from proofs_tests.portions import portioned
from relift.compiler.agreement.inputs import random_inputs
from relift.compiler.program import compile_program, refusal
from relift.compiler.running.launch import Kernel
from relift.device import CPU, GPU, DeviceDescription
from relift.egraph.search.optimize import optimize
from relift.egraph.search.outcomes import NoProgram, Proposal
from relift.egraph.search.proposals import Proposals
from relift.rewrites.ledger.book import require_proved
from relift.rewrites.library import RULES
from relift.rewrites.loading import load_program
from relift.semantics.language.programs import Program
from relift.semantics.patterns import IterateSizes
from relift.semantics.syntax.binding import alpha_equal
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import Input, Term, subterms
from relift.semantics.syntax.types import dimensions, f32, tup

EXAMPLES = [
    path for path in sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
    if "@rl.program" in path.read_text(encoding="utf-8")
]  # fmt: skip

programs = pytest.mark.parametrize(("program", "sizes"), PROGRAMS.values(), ids=list(PROGRAMS))


def best(program: Program, sizes: Mapping[str, int]) -> Proposal:
    """The first of the floor that the compiler accepts."""
    found = Proposals(program, sizes, CPU).floor()
    accepted = [each for each in found if refusal(each.low) is None]
    assert accepted, found and refusal(found[0].low)
    return accepted[0]


def flat(value: object) -> list[np.ndarray]:
    """The arrays of a result, one after the other."""
    if isinstance(value, tuple):
        return [array for part in value for array in flat(part)]
    return [np.asarray(value)]


SLOW = {"gemver", "three_products", "separable"}
"""Products and folds of several kernels, as are some of the others."""


@portioned("program,sizes", PROGRAMS, PROGRAMS.keys() - SLOW)
def test_every_program_has_one_that_runs_and_is_right(
    program: Program, sizes: Mapping[str, int]
) -> None:
    """By proved rules, and as the interpreter has it."""
    found = best(program, sizes)
    derivation = found.derive()
    require_proved((step.rule for step in derivation.steps), RULES)
    assert alpha_equal(derivation.replay(RULES)[-1], found.low.body)

    source = program.at(sizes)
    inputs = random_inputs(source, 1)
    result, expected = flat(rl.compile(found.low)(*inputs)), flat(source(*inputs))
    for array, right in zip(result, expected, strict=True):
        np.testing.assert_allclose(array, right, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_has_one(path: Path) -> None:
    """Also those that are written in low-level patterns."""
    program = load_program(str(path))
    if any(isinstance(t, IterateSizes) for t, _ in subterms(program.body)):
        with pytest.raises(
            rl.Unsupported, match="optimize does not lower iterate_sizes of another"
        ):
            optimize(program, dict.fromkeys(program.sizes, 16), CPU)
        return

    assert compile_program(best(program, dict.fromkeys(program.sizes, 16)).low).source


@pytest.mark.parametrize("device", [CPU, GPU], ids=["cpu", "gpu"])
@pytest.mark.parametrize(
    ("name", "size", "factor"),
    [
        ("atax", 1024, 100),
        ("softmax", 4096, 4),
        ("layer_norm", 4096, 4),
        ("normalised", 1 << 24, 50),
        ("two_products", 256, 20),
    ],
)
def test_what_is_needed_again_is_computed_once(
    name: str, size: int, factor: int, device: DeviceDescription
) -> None:
    """A value that every element needs is not computed for each."""
    program, small = PROGRAMS[name]
    task = Proposals(program, dict.fromkeys(small, size), device)

    once, again = task.floor()[0], task.as_written()[0]

    assert factor * once.cost.seconds < again.cost.seconds


@pytest.mark.parametrize("device", [CPU, GPU], ids=["cpu", "gpu"])
@pytest.mark.parametrize("name", ["normalised", "two_products", "softmax_let", "iterate5"])
def test_without_seconds_little_more_than_the_program_is_looked_at(
    name: str, device: DeviceDescription
) -> None:
    """As it is written, and with what is needed again stored: no form more, and nothing else is begun."""
    program, small = PROGRAMS[name]
    task = Proposals(program, dict.fromkeys(small, 256), device)
    late = replace(task, started=time.monotonic() - 2 * task.budget.seconds)
    stats, found = late.all()

    assert (stats.stopped, stats.complete) == ("the budget of seconds ran out", False)
    assert {refusal(each.low) for each in found} == {None}
    assert len(late.forms()) <= 2
    assert found[0].cost.seconds < 20 * task.floor()[0].cost.seconds


def test_the_reason_of_the_compiler_is_passed_on() -> None:
    """Not the advice to search for longer."""
    program, sizes = PROGRAMS["vadd"]
    with pytest.raises(NoProgram, match=r"no program that OpenCL can run .*: there are no kernels"):
        optimize(program, sizes, CPU, refused=lambda _: "there are no kernels")


def test_the_cells_of_a_tuple_are_counted_part_by_part() -> None:
    """Rows of several arrays, as forms have them, are no more cells than their arrays together."""
    n = Size.atom("n")
    rows = Input("rows", tup(f32[n], f32[n], f32[n], f32[n])[n])
    program = Program("firsts", (rows,), rl.map(lambda row: rl.reduce(rl.add, 0.0, row[0]), rows))

    assert program.at({"n": 4096}).body.type == f32[Size.of(4096)]
    with pytest.raises(rl.IllTyped, match=r"has more than 2\*\*48 cells"):
        program.at({"n": 1 << 24})


def test_a_kernel_that_was_accepted_is_refused_in_the_words_of_another_program() -> None:
    """Where another device has no room for it."""

    def held(x: Any) -> Any:
        row = rl.map_lcl(0)(lambda v: v + v, x)
        return rl.to_local(row)

    def rows(name: str, n: Any) -> Program:
        body = rl.map_wrg(0)(lambda r: rl.map_lcl(0)(lambda v: v * v, held(r)), n)
        return Program(name, (n,), body)

    known: dict[Term, Kernel] = {}
    small = replace(GPU, local_memory_bytes=128)
    first, other = (rows(name, Input(name, f32[4, 64])) for name in ("first", "other"))
    assert refusal(first, GPU, known) is None
    assert len(known) == 1
    assert refusal(other, GPU, known) is None
    assert len(known) == 1
    assert refusal(other, small, known) == refusal(other, small)
    assert "other_1 needs 256" in str(refusal(other, small, known))


@pytest.mark.parametrize("room", [1 << 30, 1 << 24], ids=["roomy", "small"])
def test_what_a_device_has_no_memory_for_is_computed_again(room: int) -> None:
    """A table that rows and columns are folded of is stored where there is room for it."""

    @typed(x=f32[4000], y=f32[4000])
    def both(x: Any, y: Any) -> Any:
        table = rl.map(lambda u: rl.map(lambda v: rl.exp(u * v), y), x)

        def sums(rows: Any) -> Any:
            return rl.map(lambda row: rl.reduce(rl.add, 0.0, row), rows)

        return sums(table), sums(rl.transpose(table))

    device = replace(CPU, memory_bytes=room)
    found = Proposals(both, {}, device).floor()
    accepted = [each for each in found if refusal(each.low, device) is None]
    assert accepted
    assert all(compile_program(each.low).plan.bytes <= room for each in accepted)
    stored = [each for each in found if compile_program(each.low).plan.bytes > 1 << 25]
    assert stored
    assert {refusal(each.low, device) is None for each in stored} == {room > 1 << 25}


@pytest.mark.parametrize("device", [CPU, GPU], ids=["cpu", "gpu"])
def test_arrays_beyond_the_memory_of_a_device_are_refused_before_the_search(
    device: DeviceDescription,
) -> None:
    """With how much they need."""
    program, _ = PROGRAMS["vadd"]
    small = replace(device, memory_bytes=1 << 30)
    needed = (
        rf"the arrays of vadd need 1\.5 GiB at these sizes, {re.escape(device.name)} has 1\.0 GiB"
    )
    with pytest.raises(rl.Unsupported, match=needed):
        optimize(program, {"n": 1 << 27}, small)


def test_what_is_copied_between_work_items_is_not_stored_in_a_kernel() -> None:
    """A table of a batch that is too long for a work-item: nothing stores it where its element has a name."""

    def product(a: Any, b: Any) -> Any:
        def dot(x: Any, y: Any) -> Any:
            return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(x, y)))

        return rl.map(lambda x: rl.map(lambda y: dot(x, y), rl.transpose(b)), a)

    @typed(x=f32[2, 4, 65], v=f32[64, 4], w=f32[4, 64])
    def layers(x: Any, v: Any, w: Any) -> Any:
        def layer(image: Any) -> Any:
            return rl.map(lambda row: rl.map(lambda c: rl.maximum(c, 0.0), row), product(v, image))

        return rl.map(lambda image: product(w, layer(image)), x)

    found = Proposals(layers, {}, CPU).floor()
    assert found
    assert {refusal(each.low) for each in found} == {None}


@pytest.mark.parametrize("device", [CPU, GPU], ids=["cpu", "gpu"])
@pytest.mark.parametrize("program", WITHOUT_ELEMENTS, ids=lambda p: p.name)
def test_arrays_without_elements_have_programs(program: Program, device: DeviceDescription) -> None:
    """Nothing is done for each of them, and no estimate divides by how many there are."""
    found = optimize(program, {"z": 0}, device).candidates[0]
    shapes = [[0 for _ in dimensions(p.type)[0]] for p in program.parameters]
    given = [np.zeros(shape, np.float32) for shape in shapes]
    assert found.cost.seconds >= 0
    assert compile_program(found.term)(*given).shape == (0,)


@pytest.mark.parametrize("device", [CPU, GPU], ids=["cpu", "gpu"])
@pytest.mark.parametrize(
    "state", [tup(f32[4], f32), tup(f32[4], tup(f32, f32[2, 3]))], ids=["pair", "nested"]
)
def test_a_parameter_that_is_a_tuple_may_be_the_result(
    state: Any, device: DeviceDescription
) -> None:
    """Each component is copied; so is what no step changes."""
    given = Input("given", state)
    program = Program("unchanged", (given,), given)
    inputs = random_inputs(program, 0)
    require_same(
        compile_program(optimize(program, {}, device).candidates[0].term)(*inputs, device="cpu"),
        program(*inputs),
    )
