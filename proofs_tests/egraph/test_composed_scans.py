"""Scans whose steps compose without being sums: in chunks, by proved rules, and as the interpreter has them."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"

from __future__ import annotations

import numpy as np
import pytest

import relift as rl
from proofs_tests.nested_results import require_same
from relift.compiler.program import compile_program
from relift.device import CPU, GPU
from relift.egraph.search.proposals import Proposals
from relift.egraph.search.starts.prepared import PREPARED
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.ledger.book import require_proved
from relift.rewrites.library import RULES
from relift.rewrites.tactics.combinators import Tactic, derive, then
from relift.rewrites.tactics.folds.chunked_scans import chunks_apart, in_chunks
from relift.rewrites.tactics.folds.recurrences import by_operators
from relift.rewrites.tactics.folds.running import running_in_chunks
from relift.rewrites.tactics.groups.scans import columns_scanned, rows_scanned, scans_in_groups
from relift.semantics.language.programs import Program

n, m = rl.nat("n"), rl.nat("m")
ROOM = 48 * 1024
f = rl.f32


def later(best, p):
    """What has the larger key, component by component."""
    return tuple(rl.select(p[0] > best[0], p[i], best[i]) for i in range(2))


def since(s, p):
    """A sum since the last flag."""
    return rl.select(rl.equal(p[1], 0), s + p[0], p[0])


@rl.program
def places(x: f[n], at: rl.i32[n]):
    return rl.unzip(rl.scan_seq(later, (f(-9.0), 0), rl.zip(x, at)))


@rl.program
def segments(x: f[n], flags: rl.i32[n]):
    return rl.scan_seq(since, 3.0, rl.zip(x, flags))


@rl.program
def segments_otherwise(x: f[n], flags: rl.i32[n]):
    step = lambda s, p: rl.select(rl.not_equal(p[1], 0), p[0], p[0] + s)
    return rl.scan_seq(step, 3.0, rl.zip(x, flags))


@rl.program
def filled(x: f[n], flags: rl.i32[n]):
    return rl.scan_seq(lambda s, p: rl.select(p[1] > 0, p[0], s), 3.0, rl.zip(x, flags))


@rl.program
def best_ends(x: f[n], y: rl.i32[n]):
    return rl.scan_seq(lambda s, v: rl.maximum(s + v, v), -9.0, x)


@rl.program
def bounds(x: f[n], y: rl.i32[n]):
    step = lambda a, v: (rl.maximum(a[0], v), rl.minimum(a[1], v))
    return rl.unzip(rl.scan_seq(step, (f(-1.0), f(1.0)), x))


@rl.program
def places_of_rows(x: f[n, m], at: rl.i32[n, m]):
    row = lambda r: rl.scan_seq(later, (f(-9.0), 0), rl.zip(r[0], r[1]))
    return rl.map(row, rl.zip(x, at))


@rl.program
def segments_of_rows(x: f[n, m], flags: rl.i32[n, m]):
    return rl.map(lambda r: rl.scan_seq(since, 3.0, rl.zip(r[0], r[1])), rl.zip(x, flags))


@rl.program
def segments_of_columns(x: f[m, n], flags: rl.i32[m, n]):
    columns = rl.zip(rl.transpose(x), rl.transpose(flags))
    return rl.transpose(rl.map(lambda r: rl.scan_seq(since, 3.0, rl.zip(r[0], r[1])), columns))


@rl.program
def fall(x: f[n], y: rl.i32[n]):
    tops = rl.scan_seq(rl.maximum, 0.0, x)
    return rl.reduce(rl.maximum, 0.0, rl.map(lambda p: p[1] - p[0], rl.zip(x, tops)))


@rl.program
def best_sum(x: f[n], y: rl.i32[n]):
    ends = rl.scan_seq(lambda s, v: rl.maximum(s + v, v), -9.0, x)
    return rl.reduce(rl.maximum, float("-inf"), ends)


def given(*shape: int) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers, of which some are equal, and few flags that are set."""
    rng = np.random.default_rng(sum(shape))
    flags = (rng.random(shape) < 0.1).astype(np.int32)
    return rng.integers(-3, 4, shape).astype(np.float32), flags


@pytest.mark.parametrize(
    ("program", "tactic", "shape"),
    [
        (places, scans_in_groups(8, 4, ROOM), (256 + 7,)),
        (segments_otherwise, scans_in_groups(8, 4, ROOM), (256,)),
        (best_ends, scans_in_groups(8, 4, ROOM), (256 + 7,)),
        (filled, scans_in_groups(8, 4, ROOM), (256 + 7,)),
        (filled, chunks_apart(8, 32), (67,)),
        (places_of_rows, rows_scanned(8, 4, ROOM), (3, 32)),
        (segments_of_rows, rows_scanned(8, 4, ROOM), (3, 67)),
        (segments_of_columns, columns_scanned(16), (67, 3)),
        (places, chunks_apart(8, 32), (67,)),
        (segments, in_chunks(8, 32), (64,)),
        (best_ends, chunks_apart(8, 32), (67,)),
        (bounds, chunks_apart(8, 32), (67,)),
        (fall, running_in_chunks(16, 32), (67,)),
        (best_sum, running_in_chunks(16, 32), (64,)),
    ],
)
def test_steps_that_compose_go_in_chunks(
    program: Program, tactic: Tactic, shape: tuple[int, ...]
) -> None:
    names = "mn" if program is segments_of_columns else "nm"
    task = Proposals(program, dict(zip(names, shape, strict=False)), GPU)
    (proposal, *_) = task.derived(then(PREPARED["gpu"], tactic))
    derivation = proposal.derive()
    require_proved((step.rule for step in derivation.steps), RULES)
    assert {"scan_split", "scan_blocked"} & {step.rule for step in derivation.steps}
    x, flags = given(*shape)
    require_same(compile_program(proposal.low)(x, flags), program(x, flags))


def test_whole_numbers_that_may_wrap_are_no_tropical_ones() -> None:
    @rl.program
    def gap(x: rl.i32[n]):
        return rl.scan_seq(lambda s, v: rl.maximum(s + -1, v), 0, x)

    with pytest.raises(NoMatch):
        derive(gap, chunks_apart(8, 32), {"n": 64})


def test_exact_floats_are_scanned_in_order() -> None:
    for program in (places, segments, best_ends):
        with pytest.raises(NoMatch):
            derive(program, then(by_operators(), chunks_apart(8, 32)), {"n": 64}, policy="exact")


@pytest.mark.parametrize("said", range(6))
def test_a_pair_with_the_better_key_is_that_of_an_operator(said: int) -> None:
    better = (
        lambda x, y: x > y, lambda x, y: y < x, lambda x, y: x >= y,
        lambda x, y: x < y, lambda x, y: y > x, lambda x, y: x <= y,
    )[said]  # fmt: skip

    @rl.program
    def kept(x: rl.i32[n], at: rl.i32[n]):
        step = lambda b, p: tuple(rl.select(better(p[0], b[0]), p[i], b[i]) for i in range(2))
        return rl.unzip(rl.scan_seq(step, (0, 0), rl.zip(x, at)))

    task = Proposals(kept, {"n": 64}, CPU)
    (proposal, *_) = task.derived(then(by_operators(), chunks_apart(8, 32)))
    x = np.random.default_rng(0).integers(-3, 4, 64).astype(np.int32)
    at = np.arange(64, dtype=np.int32)
    require_same(compile_program(proposal.low)(x, at), kept(x, at))


def test_columns_of_a_scan_of_pairs_are_scanned_alone() -> None:
    found = derive(bounds, PREPARED["gpu"], {"n": 64}).result
    assert rl.show(found) == "(scan_seq(maximum, -1.0, x), scan_seq(minimum, 1.0, x))"
