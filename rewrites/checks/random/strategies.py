"""Hypothesis strategies for rules: sizes, and whole models.  For tests of your own:

    from hypothesis import given
    from relift.rewrites.checks.random.strategies import models

    @given(models(my_rule))
    def test_my_rule(model):
        assert model.difference() is None

Hypothesis takes long to load, so nothing else in Relift imports this module early.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from hypothesis import assume
from hypothesis import strategies as st

from relift.rewrites.checks.instances import Instances
from relift.rewrites.checks.random.models import Model, NoModel, draw_model
from relift.rewrites.rule import Rule

T = TypeVar("T")

LARGEST = 1000
"""Models with an array of more cells are not drawn."""


@st.composite
def size_assignments(draw: st.DrawFn, rule: Rule, most: int = 6) -> dict[str, int]:
    """Sizes that the rule may take, each up to `most`."""
    instances = Instances(rule)
    sizes: dict[str, int] = {}
    for name in rule.sizes:
        least = instances.least(name)
        largest = 0 if name in instances.dimensions else max(most, least + 2)
        sizes[name] = draw(st.integers(least, largest))
    assume(instances.admissible(sizes) and instances.largest(sizes) <= LARGEST)
    return sizes


@st.composite
def models(draw: st.DrawFn, rule: Rule) -> Model:
    """Concrete models of the rule: operators obey its laws, and as few others as there are."""
    sizes = draw(size_assignments(rule))

    def choose(options: Sequence[T], /) -> T:
        return draw(st.sampled_from(options))

    try:
        return draw_model(rule, sizes, choose)
    except NoModel:
        assume(False)
        raise
