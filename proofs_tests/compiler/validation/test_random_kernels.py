"""Random low-level programs through the compiler: the text on free symbols, and the kernel on the device."""

from __future__ import annotations

import time
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings

from proofs_tests.compiler.validation.random_kernels import judged, seen_of
from relift.compiler.fuzzing.judgement.containment import device_of
from relift.rewrites.checks.random.draws import KINDS, Kind
from relift.rewrites.checks.random.kernels import random_kernel
from relift.semantics.language import programs
from relift.testing import kernels

ON_SYMBOLS, ON_DEVICE = 40, 8
"""Seeds of each kind; `relift fuzz` takes more."""


@pytest.mark.parametrize("kind", KINDS)
def test_the_text_of_random_kernels_computes_what_the_interpreter_says(
    kind: Kind, capsys: pytest.CaptureFixture[str]
) -> None:
    """Run on free symbols, for all data; most programs are compiled, and none is a finding."""
    began = time.process_time()
    found = [judged(kind, seed) for seed in range(ON_SYMBOLS)]
    seconds = time.process_time() - began
    counts = Counter(outcome.sight for outcome in found)
    with capsys.disabled():
        print(f"{kind}: {dict(counts)}, {ON_SYMBOLS / seconds:.0f} programs a second", flush=True)

    assert not [outcome for outcome in found if outcome.is_finding]
    assert counts["right"] > ON_SYMBOLS // 4


@pytest.mark.parametrize("kind", KINDS)
def test_random_kernels_run_on_the_device(kind: Kind) -> None:
    """Bit for bit what the interpreter computes."""
    device = device_of(None)
    found = [judged(kind, seed, device) for seed in range(1000, 1000 + ON_DEVICE)]

    assert not [outcome for outcome in found if outcome.is_finding and outcome.sight != "differs"]


@pytest.mark.parametrize(
    ("kind", "seed"),
    [("groups", 184), ("open items", 3760)],
    ids=["a variable called size_t2", "a parameter called size_t2"],
)
def test_what_campaigns_found_stays_mended(kind: Kind, seed: int) -> None:
    """Seeds beyond those of every run that were findings once."""
    assert judged(kind, seed).sight == "right"


SEEDS: dict[str, list[tuple[Kind, int]]] = {
    "a barrier that a group may skip": [("groups", 56), ("open groups", 333), ("open groups", 789)],
    "names of components": [("items", 14), ("items", 43), ("groups", 125), ("open items", 95)],
    "two functions of one name": [
        ("items", 80),
        ("groups", 52),
        ("open items", 289),
        ("open groups", 228),
    ],
}
"""Programs that told mistakes of the compiler: each fails with its fix taken out (see `planted_mutants.toml`)."""


@pytest.mark.parametrize("mistake", SEEDS)
def test_seeds_that_found_mistakes(mistake: str) -> None:
    """The generator reaches them, and they are right."""
    found = [judged(kind, seed) for kind, seed in SEEDS[mistake]]

    assert [outcome.sight for outcome in found] == ["right"] * len(found)


def test_a_seed_is_a_program() -> None:
    """Findings can be made again."""
    assert str(random_kernel(7, "groups")) == str(random_kernel(7, "groups"))
    assert str(random_kernel(7, "groups")) != str(random_kernel(8, "groups"))


@settings(
    max_examples=10, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow]
)
@given(kernels("items"))
def test_hypothesis_draws_the_same_programs(program: programs.Program) -> None:
    """A test of one's own device shrinks what it finds."""
    assert seen_of(program, 0).sight in ("right", "refused", "too large")
