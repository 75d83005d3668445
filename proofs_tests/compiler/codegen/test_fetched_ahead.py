"""A fold that fetches ahead: right results, proved without races, validated; and no text that reads the wrong half."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import relift as rl
from proofs_tests.command_line import ROOT
from proofs_tests.compiler.programs import made, typed
from proofs_tests.portions import portioned
from relift.compiler.certificates.certificate import Certificate
from relift.compiler.certificates.claims import certificates
from relift.compiler.meaning.evidence import meaning_of
from relift.compiler.program import compile_program
from relift.compiler.running.compiled import Compiled
from relift.rewrites.derivation.steps import Derivation
from relift.rewrites.ledger import book as ledger
from relift.rewrites.library import RULES
from relift.rewrites.loading import load_program
from relift.rewrites.tactics.combinators import derive
from relift.rewrites.tactics.groups.tiles import tile_for_groups
from relift.rewrites.tactics.groups.tiling.sizes import Tiles
from relift.semantics.errors import Unsupported
from relift.semantics.language.programs import Program

TILES = Tiles(16, 16, 4, 2, 2, ahead=True)
COLUMNS = 16


def product(rows: int, steps: int) -> tuple[Derivation, Compiled, Program]:
    """A product of matrices in tiles that are fetched ahead."""
    source = load_program(str(ROOT / "examples" / "matmul.py"))
    sizes = {"n": rows, "m": COLUMNS, "k": steps}
    found = derive(source, tile_for_groups(TILES), sizes)
    program = Program(source.name, source.at(sizes).parameters, found.result)
    return found, compile_program(program), program


def proved(found: Sequence[Certificate]) -> bool:
    """Whether accesses are in bounds, apart, and wait alike."""
    claims = [claim for certificate in found for claim in certificate.claims]
    return all(c.verdict == "proved" for c in claims if c.kind in ("bounds", "races", "barriers"))


@portioned(
    "rows,steps",
    [(rows, steps) for rows in (16, 19) for steps in (4, 8, 12, 16, 17)],
    {(16, 4), (16, 12), (19, 8), (19, 17)},
)
def test_products_are_right(rows: int, steps: int) -> None:
    """One chunk, two, an odd number of them, a rest of the folds, and rows that no tiles divide."""
    found, kernel, _ = product(rows, steps)
    assert all(ledger.verdict(RULES[s.rule]).startswith("PROVED") for s in found.steps)
    numbers = np.random.default_rng(steps)
    a = numbers.integers(-9, 9, (rows, steps)).astype(np.float32)
    b = numbers.integers(-9, 9, (steps, COLUMNS)).astype(np.float32)
    np.testing.assert_array_equal(kernel(a, b), a @ b)


def test_a_turn_has_one_barrier_and_is_proved_and_validated() -> None:
    _, kernel, program = product(32, 16)
    assert kernel.source.count("barrier(") == 1
    assert "reduce_seq_to_ahead" in {step.rule for step in product(32, 16)[0].steps}
    found = certificates(kernel)
    assert all(claim.verdict == "proved" for of in found for claim in of.claims)
    assert meaning_of(kernel, program, found).verdict == "validated"


def test_what_no_turn_has_stored_is_not_initialised() -> None:
    """A turn that stores less than the next one uses: what is in the rest of the half is not known."""
    kernel = compile_program(made("tiles_fetched_ahead", 64))
    stores = [s for s in kernel.source.splitlines() if "tile[" in s and " = fetched" in s]
    assert stores
    wrong = replace(kernel, source=kernel.source.replace(stores[0], ""))
    claims = [claim for of in certificates(wrong) for claim in of.claims]
    assert "unknown" in {c.verdict for c in claims if c.kind == "initialised"}


@pytest.mark.parametrize(
    ("there", "instead"),
    [
        ("(i + 1) % 2", "i % 2"),
        ("(i + 1) % 2", "(i + 2) % 2"),
        ("i > 0", "i > 1"),
        ("i % 4;", "(i + 1) % 4;"),
        ("i < 5", "i < 4"),
        ("i < 5", "i < 6"),
        ("barrier(CLK_LOCAL_MEM_FENCE);", ""),
    ],
)
def test_no_other_text_is_believed(there: str, instead: str) -> None:
    """The half that is being filled, a turn too few or too many, the wrong tile, no barrier."""
    program = made("tiles_fetched_ahead", 64)
    kernel = compile_program(program)
    assert there in kernel.source
    wrong = replace(kernel, source=kernel.source.replace(there, instead))
    believed = meaning_of(wrong, program).verdict == "validated"
    assert not (believed and proved(certificates(wrong)))


def test_a_loop_of_open_length_is_validated() -> None:
    """For all numbers of tiles."""
    chunks = rl.nat("chunks")

    @typed(x=rl.i32[4, chunks, 8])
    def sums(x: Any) -> Any:
        def step(acc: Any, t: Any) -> Any:
            staged = rl.to_local(rl.map_lcl(0)(lambda v: v, t))
            return rl.reduce_seq(rl.add, acc, staged)

        def group(rows: Any) -> Any:
            total = rl.reduce_seq_ahead(step, 0, rows)
            return rl.map_lcl(0)(lambda v: v, rl.repeat(8, total))

        return rl.map_wrg(0)(group, x)

    kernel = compile_program(sums)
    assert proved(certificates(kernel))
    assert meaning_of(kernel, sums).verdict == "validated"
    x = np.arange(4 * 5 * 8, dtype=np.int32).reshape(4, 5, 8)
    np.testing.assert_array_equal(kernel(x)[:, 0], x.sum(axis=(1, 2)))


def staged(step: Callable[[Any, Any], Any]) -> Program:
    """Sums of rows, by a fold that fetches ahead with some step."""

    @typed(x=rl.i32[4, 3, 8])
    def staged(x: Any) -> Any:
        def group(rows: Any) -> Any:
            total = rl.reduce_seq_ahead(step, 0, rows)
            return rl.map_lcl(0)(lambda v: v, rl.repeat(8, total))

        return rl.map_wrg(0)(group, x)

    return staged


def in_turn(acc: Any, t: Any) -> Any:
    """A step that fills nothing."""
    return rl.reduce_seq(rl.add, acc, t)


def of_what_it_has(acc: Any, t: Any) -> Any:
    """A step that fills local memory with what the step before computed."""
    filled = rl.to_local(rl.map_lcl(0)(lambda v: v + acc, t))
    return rl.reduce_seq(rl.add, 0, filled)


def twice(acc: Any, t: Any) -> Any:
    """A step that fills local memory of what it filled."""
    first = rl.to_local(rl.map_lcl(0)(lambda v: v + 1, t))
    second = rl.to_local(
        rl.map_lcl(0)(lambda p: p[0] + p[1], rl.zip(first, rl.gather(rl.reverse, first)))
    )
    return rl.reduce_seq(rl.add, acc, second)


@pytest.mark.parametrize("step", [in_turn, of_what_it_has, twice])
def test_other_steps_are_refused(step: Callable[[Any, Any], Any]) -> None:
    """What cannot be fetched a step before is named."""
    with pytest.raises(Unsupported, match="reduce_seq_ahead fetches what its next step reads"):
        compile_program(staged(step))


def test_the_case_of_the_table_waits_once_a_turn() -> None:
    assert compile_program(made("tiles_fetched_ahead", 64)).source.count("barrier(") == 1
