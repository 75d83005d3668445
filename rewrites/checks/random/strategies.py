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
from typing import Any, TypeVar

from hypothesis import assume
from hypothesis import strategies as st

from relift.rewrites.checks.instances import Instances
from relift.rewrites.checks.random.models import Model, NoModel, draw_model
from relift.rewrites.rule import Rule

T = TypeVar("T")

LARGEST = 1000
"""Models with an array of more cells are not drawn."""


def size_assignments(rule: Rule, most: int = 6) -> st.SearchStrategy[dict[str, int]]:
    """Sizes that the rule may take, each up to `most`."""
    return _size_assignments(Instances(rule), most)


@st.composite
def _size_assignments(draw: st.DrawFn, instances: Instances, most: int) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for name in instances.rule.sizes:
        least = instances.least(name)
        largest = 0 if name in instances.dimensions else max(most, least + 2)
        sizes[name] = draw(st.integers(least, largest))
    assume(instances.admissible(sizes) and instances.largest(sizes) <= LARGEST)
    return sizes


def models(rule: Rule) -> st.SearchStrategy[Model]:
    """Concrete models of the rule: operators obey its laws, and as few others as there are."""
    return _models(rule, size_assignments(rule), _OneOf())


@st.composite
def _models(
    draw: st.DrawFn, rule: Rule, assigned: st.SearchStrategy[dict[str, int]], one_of: _OneOf
) -> Model:
    sizes = draw(assigned)

    def choose(options: Sequence[T], /) -> T:
        return draw(one_of(options))

    try:
        return draw_model(rule, sizes, choose)
    except NoModel:
        assume(False)
        raise


class _OneOf:
    """Strategies for one of some options; to make one takes longer than to draw from it, and each cell draws.

    Options are the same where they are the same objects: numbers and truth values that are equal are told apart.
    """

    def __init__(self) -> None:
        self._made: dict[
            tuple[type, tuple[int, ...]], tuple[Sequence[Any], st.SearchStrategy[Any]]
        ] = {}

    def __call__(self, options: Sequence[T]) -> st.SearchStrategy[T]:
        key = (type(options), tuple(map(id, options)))
        if key not in self._made:  # which keeps the objects, so that no other has their identity
            self._made[key] = (tuple(options), st.sampled_from(options))
        return self._made[key][1]
