"""Tier 2: the table of operations, models, and what the tier leaves behind."""

from __future__ import annotations

import importlib.util
import itertools
import random
import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relift.rewrites.checks.random.models import draw_model, equal
from relift.rewrites.checks.random.operations import LEAF_VALUES, OPERATIONS, Leaf, Operation
from relift.rewrites.checks.random.strategies import models, size_assignments
from relift.rewrites.checks.random.tier import check_random, kept_definedness
from relift.rewrites.library import RULES
from relift.rewrites.rule import Rule

ALL = [
    pytest.param(leaf, o, id=f"{leaf}: {o.text}")
    for leaf, table in OPERATIONS.items()
    for o in table
]
LAWS = ("associative", "commutative", "neutral", "idempotent")


@pytest.mark.parametrize(("leaf", "o"), ALL)
def test_operations_obey_exactly_their_laws(leaf: Leaf, o: Operation) -> None:
    """What an operation claims holds on all values of the table, and what it does not claim fails on some."""
    xs = LEAF_VALUES[leaf]
    op = o.function
    regroups = all(
        op(op(x, y), z) == op(x, op(y, z)) for x, y, z in itertools.product(xs, repeat=3)
    )
    swaps = all(op(x, y) == op(y, x) for x, y in itertools.product(xs, repeat=2))

    assert regroups == o.associative
    assert swaps == o.commutative
    assert o.idempotent == all(op(x, x) == x for x in xs)
    if o.neutral is not None:
        assert all(op(x, o.neutral) == x == op(o.neutral, x) for x in xs)
    else:
        assert not any(all(op(x, z) == x == op(z, x) for x in xs) for z in xs)


@pytest.mark.parametrize(
    "laws",
    [set(s) for i in range(5) for s in itertools.combinations(LAWS, i)],
    ids=lambda laws: "-".join(sorted(laws)) or "none",
)
def test_every_set_of_laws_has_an_operation_with_few_others(laws: set[str]) -> None:
    """Numbers and texts together have, for any laws and any one other, an operation without the other."""
    lawful = [o for leaf in ("number", "text") for o in OPERATIONS[leaf] if o.obeys(laws)]
    for other in set(LAWS) - laws:
        if laws >= {"associative", "commutative"} and other == "neutral":
            continue  # a rule that does not state it draws its z from all values
        assert any(not o.obeys({other}) for o in lawful)


@settings(max_examples=30)
@given(st.sampled_from(sorted(RULES)), st.data())
def test_models_of_library_rules_agree(name: str, data: st.DataObject) -> None:
    """The strategy for users draws models in which a right rule holds."""
    assert data.draw(models(RULES[name])).difference() is None


@settings(max_examples=30)
@given(st.data())
def test_drawn_sizes_are_admissible(data: st.DataObject) -> None:
    """Sizes that must be positive are."""
    sizes = data.draw(size_assignments(RULES["stencil_tiling"], most=4))

    assert sizes["step"] >= 1
    assert max(sizes.values()) <= 4


def test_functions_of_a_model_are_functions() -> None:
    """Equal arguments give equal results, and different ones are told apart."""
    rule = RULES["map_interchange"]
    model = draw_model(rule, {"n": 2, "m": 2}, random.Random(1).choice)
    h = model.world.metavariables["h"]

    assert h(1, 2) == h(1, 2)
    assert len({repr(h(i, j)) for i in range(5) for j in range(5)}) > 3


def test_equality_of_floats_allows_rounding_and_nan() -> None:
    """Whole numbers are compared exactly, floats up to rounding, and NaN equals itself."""
    nan = float("nan")

    assert equal([(0.1 + 0.2, nan)], [(0.3, nan)])
    assert not equal([1, 2], [1])
    assert not equal(10**30, 10**30 + 1)


def test_the_same_instances_every_time() -> None:
    """Two runs say the same."""
    rule = RULES["partial_reduce_strided"]

    assert check_random(rule).detail == check_random(rule).detail == "60 instances"


def test_nothing_is_left_in_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hypothesis keeps no database and no cache beside the user's files."""
    monkeypatch.chdir(tmp_path)
    check_random(RULES["join_split"])

    assert not list(tmp_path.iterdir())


def test_an_emergency_is_no_success() -> None:
    """A clock that stops the tier makes it unfinished, however many instances agreed before."""
    result = check_random(RULES["stencil_tiling"], examples=10_000, emergency=0.2)

    assert result.status == "unfinished"
    assert re.fullmatch(r"\d+ of 10000 instances in 0.2 s", result.detail)


def test_the_number_of_instances_does_not_depend_on_their_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A model that takes a second, by the clock, is one of as many as ever."""
    clock = itertools.count()
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))

    assert check_random(RULES["map_fusion"]).detail == "60 instances"


@pytest.mark.parametrize("name", ["take_map", "drop_map", "head_map"])
def test_partial_functions_show_which_direction_widens(name: str) -> None:
    """Taking part of a map is not mapping the part where the function has no value for the rest."""
    assert kept_definedness(RULES[name]) == ("forward",)
    assert check_random(RULES[name]).detail == "60 instances; with partial functions forward only"


def test_without_hypothesis_the_tier_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing library is said, with what to install."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    rule: Rule = RULES["join_split"]
    result = check_random(rule)

    assert result.status == "skipped"
    assert "pip install hypothesis" in result.detail
