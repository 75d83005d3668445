"""Rows of which a work-item scans several in one loop, each of whose steps waits for the one before."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import relift as rl
from relift.compiler.program import compile_program
from relift.device import CPU
from relift.egraph.search.guidance.scan_plans import chunked_scans
from relift.egraph.search.optimize import optimize
from relift.rewrites.tactics.combinators import derive
from relift.rewrites.tactics.folds.chunked_scans import in_step
from relift.semantics.language.coercion import as_term
from relift.semantics.language.programs import Program
from relift.semantics.syntax.terms import Input
from relift.semantics.syntax.types import f32


def filtered(state: Any, v: Any) -> Any:
    """A step of a Kalman filter: the estimate, and its variance."""
    variance = state[1] + 0.01
    gain = variance / (variance + 0.5)
    return (state[0] + gain * (v - state[0]), (1.0 - gain) * variance)


def root(state: Any, v: Any) -> Any:
    return 0.5 * (state + v / (state + 1.0))


def estimates(row: Any) -> Any:
    return rl.map(
        lambda s: s[0], rl.scan_seq(filtered, (as_term(0.0, f32), as_term(1.0, f32)), row)
    )


def roots(row: Any) -> Any:
    return rl.scan_seq(root, 0.5, row)


def running(row: Any) -> Any:
    return rl.scan_seq(rl.maximum, 0.0, row)


def rows(function: Any, n: int, m: int) -> Program:
    x = Input("x", f32[n, m])
    return Program("rows", (x,), as_term(rl.map(function, x)))


@pytest.mark.parametrize(("n", "m", "together"), [(19, 5, 8), (8, 1, 8), (5, 3, 4), (3, 1024, 2)])
@pytest.mark.parametrize("function", [estimates, roots])
def test_each_row_is_scanned_as_if_it_were_alone(
    function: Any, n: int, m: int, together: int
) -> None:
    """Rows that fill no turn are scanned one by one."""
    program = rows(function, n, m)
    low = replace(program, body=derive(program, in_step(together)).result)
    numbers = np.random.default_rng(1).random((n, m), dtype=np.float32)
    np.testing.assert_allclose(compile_program(low)(numbers), program(numbers), rtol=1e-5)


def test_eight_rows_at_once_are_tried_where_a_step_takes_long() -> None:
    """Steps of a single operation are waited for by few."""
    short, long = (len([*chunked_scans(rows(each, 64, 63), CPU)]) for each in (running, roots))
    assert long == short + 1


@pytest.mark.parametrize("function", [estimates, roots])
def test_rows_whose_steps_take_long_are_found_in_one_loop(function: Any) -> None:
    """Two cores take 26 ms for the estimates of these rows one by one, and 7 with four in turn, and 22 for the roots, and 6."""
    found = optimize(rows(function, 4096, 2048), {}, replace(CPU, packs="loop-free"))
    assert "map_scan_interchange_rows" in {step.rule for step in found.derivation.steps}
