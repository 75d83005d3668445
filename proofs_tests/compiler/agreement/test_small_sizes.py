"""A candidate is judged at several small sizes, and at its own: what is wrong at one of them is wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from proofs_tests.compiler.programs import typed
from relift.compiler.agreement import small_sizes
from relift.compiler.agreement.small_sizes import SmallCase, everywhere, small_cases
from relift.compiler.agreement.verification import differential
from relift.compiler.devices.naming import label
from relift.compiler.devices.survey import find_device
from relift.compiler.program import compile_program
from relift.compiler.running.compiled import Compiled
from relift.rewrites.application.matching import apply_rule
from relift.rewrites.derivation.confirmation import small_confirmations
from relift.rewrites.derivation.steps import Derivation, Step
from relift.rewrites.library import RULES
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.programs import Program
from relift.semantics.syntax.sizes import nat
from relift.semantics.syntax.types import f32

n, m = nat("n"), nat("m")


@typed(x=f32[n])
def doubled(x: Any) -> Any:
    return rl.map(lambda v: v + v, x)


@typed(x=f32[n, m])
def rows(x: Any) -> Any:
    return rl.map(lambda row: rl.map_seq(lambda v: v + v, row), x)


def derived(program: Program, **sizes: int) -> Derivation:
    """The outermost map over all work-items."""
    source = program.at(sizes)
    result, substitution = apply_rule(RULES["map_to_glb"], source.body, choices={"d": 0})
    step = Step("map_to_glb", "forward", (), substitution, {"d": 0})
    return Derivation(program, sizes, (step,), result)


@pytest.mark.parametrize(
    ("derivation", "sizes"),
    [
        (derived(doubled, n=1024), [{"n": 2}, {"n": 3}, {"n": 4}]),
        (derived(rows, n=64, m=1024), [{"n": 2, "m": 4}, {"n": 3, "m": 6}, {"n": 4, "m": 8}]),
        (derived(doubled, n=2), [{"n": 2}]),
    ],
    ids=["one", "two", "none"],
)
def test_small_sizes_are_unlike_each_other(
    derivation: Derivation, sizes: list[dict[str, int]]
) -> None:
    """In every size where the steps allow it, the least first."""
    assert [dict(c.sizes) for c in small_confirmations(derivation, RULES, 3)] == sizes


@pytest.mark.parametrize("wrong", [2, 3, 4, 1024])
def test_what_is_wrong_at_one_size_is_wrong(wrong: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text on symbols finds it, and the device, whichever of the sizes it is; so does the own size."""
    derivation, device = derived(doubled, n=1024), label(find_device("cpu"))

    def spoiled(compiled: Compiled) -> Compiled:
        return replace(compiled, source=compiled.source.replace("= x2 + x2;", "= x2 - x2;"))

    def case(*arguments: Any) -> SmallCase:
        found = made(*arguments)
        return replace(found, kernel=spoiled(found.kernel)) if found.at == f"n={wrong}" else found

    made = small_sizes.case_at
    monkeypatch.setattr(small_sizes, "case_at", case)
    monkeypatch.setattr(small_sizes, "race_check", lambda *_, **__: [])
    low = Program("doubled", derivation.program.parameters, derivation.result)
    kernel = compile_program(low)
    kernel = spoiled(kernel) if wrong == 1024 else kernel
    found = differential(kernel, derivation, doubled, [device], lambda _: None)
    refuted = [a for a in found if a.refuted]
    if wrong == 1024:
        assert [a.against for a in refuted] == [
            f"the interpreter at its own sizes (kernel on {device})"
        ]
    else:
        assert len(refuted) == 2
        assert all(a.detail.startswith(f"at n={wrong}: ") for a in refuted)
        assert len(found) == 4  # what is wrong already is not run at large


def test_all_sizes_are_named() -> None:
    """The text, the devices, and for the race checker, which is slow, the first two."""
    found = small_cases(derived(doubled, n=1024))
    assert isinstance(found, list)
    *others, races = everywhere(found, [label(find_device("cpu"))], lambda _: None)
    assert all(a.ok for a in (*others, races))
    assert all("n=2; n=3; n=4" in a.detail for a in others)
    assert races.detail.endswith("n=2; n=3") or "SKIPPED" in races.detail
