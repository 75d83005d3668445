"""Numbers that are folded of whole arrays: by one group, long ones by many before, and several in one pass."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import relift as rl
from relift.compiler.meaning.evidence import meaning_of
from relift.compiler.program import compile_program
from relift.device import CPU, GPU
from relift.egraph.search.optimize import optimize
from relift.egraph.search.proposals import Proposals
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.ledger.book import require_proved
from relift.rewrites.library import RULES
from relift.rewrites.tactics.combinators import Tactic, derive
from relift.rewrites.tactics.folds.passes.one_pass import in_one_pass
from relift.rewrites.tactics.groups.numbers import numbers_by_groups
from relift.semantics.language.programs import Program
from relift.semantics.patterns import Split, ToGlobal
from relift.semantics.syntax.binding import canonical
from relift.semantics.syntax.terms import Input, Term, subterms

n = rl.nat("n")
ROOM = 48 * 1024


def dot(x: Any, y: Any) -> Any:
    return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(x, y)))


@rl.program
def cosine(x: rl.f32[n], y: rl.f32[n]):
    return dot(x, y) / rl.sqrt(dot(x, x) * dot(y, y))


@rl.program
def extremes(x: rl.f32[n]):
    smallest = rl.reduce(rl.minimum, float("inf"), x)
    return smallest, rl.reduce(rl.maximum, float("-inf"), x)


@rl.program
def apart(x: rl.f32[n], y: rl.f32[n]):
    return rl.reduce(rl.add, 0.0, x) / rl.reduce(rl.add, 0.0, y)


@rl.program
def halved(x: rl.f32[n]):
    return rl.map(lambda v: v / 2.0, x)


@rl.program
def variance(x: rl.f32[n]):
    mean = rl.reduce(rl.add, 0.0, x) / n
    return rl.reduce(rl.add, 0.0, rl.map(lambda v: (v - mean) * (v - mean), x)) / n


def cosine_of(x: Any, y: Any) -> Any:
    return x @ y / np.sqrt((x @ x) * (y @ y))


def extremes_of(x: Any) -> Any:
    return x.min(), x.max()


def drawn(program: Program, length: int) -> list[Any]:
    generator = np.random.default_rng(7)
    return [generator.random(length, np.float32) for _ in program.parameters]


def low(program: Program, tactic: Tactic, length: int) -> Program:
    """What a tactic makes of a program, by rules that are PROVED and a derivation that replays."""
    found = derive(program, tactic, {"n": length})
    require_proved((step.rule for step in found.steps), RULES)
    assert found.replay(RULES)[-1] == found.result
    return replace(program.at({"n": length}), body=found.result)


@pytest.mark.parametrize(
    ("program", "gold"), [(cosine, cosine_of), (extremes, extremes_of)], ids=["cosine", "extremes"]
)
@pytest.mark.parametrize(("length", "alone"), [(512, 512), (8192, 4096)])
def test_one_group_computes_all_numbers(
    program: Program, gold: Callable[..., Any], length: int, alone: int
) -> None:
    """Each long fold has a kernel before; the last has one group, whose first work-item writes the results."""
    made = compile_program(low(program, numbers_by_groups(256, 8, 4, ROOM, alone), length))
    data = drawn(program, length)

    folds = 3 if program is cosine else 2
    assert len(made.plan.kernels) == 1 + (folds if alone < length else 0)
    np.testing.assert_allclose(made(*data), gold(*data), rtol=1e-4)


def test_what_the_first_work_item_writes_is_validated() -> None:
    made = low(cosine, numbers_by_groups(256, 8, 4, ROOM, 4096), 8192)

    assert meaning_of(compile_program(made), made).ok


def test_what_holds_an_array_is_no_number() -> None:
    with pytest.raises(NoMatch, match="holds an array"):
        derive(halved, numbers_by_groups(64, 8, 4, ROOM), {"n": 512})


def stored_in(t: Term) -> int:
    return len({canonical(u) for u, _ in subterms(t) if isinstance(u, ToGlobal)})


@pytest.mark.parametrize("program", [cosine, extremes])
def test_folds_that_read_the_same_are_one_pass(program: Program) -> None:
    """What each finds in a chunk is stored side by side, and nothing else is read twice."""
    made = low(program, in_one_pass, 1 << 15)

    assert stored_in(made.body) == 1


@rl.program
def linked(x: rl.f32[n], y: rl.f32[n]):
    """What is read alone first, and then with one another."""
    both = rl.map(lambda p: p[0] * p[1], rl.zip(x, y))
    sums = [rl.reduce(rl.add, 0.0, each) for each in (x, y, both)]
    return sums[0], sums[1], sums[2]


def test_what_folds_of_a_pass_share_is_computed_where_it_is_read() -> None:
    """A chunk is one of what is given, not of what is computed of that: to store it moves more than to compute it again."""

    @rl.program
    def lengths(x: rl.f32[n], y: rl.f32[n]):
        squares = rl.map(lambda p: p[0] * p[0] + p[1] * p[1], rl.zip(x, y))
        weighed = rl.map(lambda p: p[0] * p[1], rl.zip(x, squares))
        return rl.reduce(rl.add, 0.0, squares), rl.reduce(rl.add, 0.0, weighed)

    found = derive(lengths, in_one_pass, {"n": 1 << 15}).result
    chunks = [u.xs for u, _ in subterms(found) if isinstance(u, Split)]

    assert all(isinstance(xs, Input) for xs in chunks)


@pytest.mark.parametrize("length", [1 << 15, 32771])
def test_a_fold_of_two_arrays_has_those_of_each_in_its_pass(length: int) -> None:
    """Whichever of them comes first: all three are components of what a chunk comes to, of which each array has one part.

    What fills no chunk follows.
    """
    (stored,) = {
        canonical(u)
        for u, _ in subterms(low(linked, in_one_pass, length).body)
        if isinstance(u, ToGlobal)
    }

    assert str(stored.type).count("f32") == 3
    assert sum(isinstance(u, Split) for u, _ in subterms(stored)) == 2


@pytest.mark.parametrize("program", [variance, apart], ids=["one after the other", "of two arrays"])
def test_folds_that_share_nothing_stay_apart(program: Program) -> None:
    """A deviation needs the mean, and folds of two arrays have nothing to read in common."""
    with pytest.raises(NoMatch, match="no two long folds read the same array"):
        derive(program, in_one_pass, {"n": 1 << 15})


@rl.program
def smallest_place(x: rl.f32[n]):
    def earlier(best, v):
        smaller = v < best[0]
        place = rl.select(smaller, best[2], best[1])
        return (rl.select(smaller, v, best[0]), place, best[2] + 1)

    return rl.reduce_seq(earlier, (float("inf"), 0, 0), x)[1]


added = rl.operator(
    lambda x, y: (x[0] + y[0], x[1] + y[1]), name="added", associative=True, commutative=True
)


@rl.program
def moments(x: rl.f32[n]):
    return rl.reduce(added, (0.0, 0.0), rl.map(lambda v: (v, v * v), x))


def in_whole_numbers(length: int) -> Any:
    return np.random.default_rng(0).integers(1, 50, length).astype(np.float32)


@pytest.mark.parametrize("length", [1 << 15, 32771])
def test_a_long_fold_of_tuples_is_of_what_it_finds_in_chunks(length: int) -> None:
    """Work-items of a CPU share it, a driver's vectors or not, and what fills no chunk follows."""
    x = in_whole_numbers(length)
    for program, wanted in ((smallest_place, x.argmin()), (moments, (x.sum(), (x * x).sum()))):
        found = optimize(program, {"n": length}, replace(CPU, packs="loop-free"))
        made = compile_program(found.candidates[0].term)
        work_items = [[n.constant for n in kernel.total] for kernel in made.plan.kernels]
        assert work_items == [[8], [1]]
        np.testing.assert_array_equal(made(x), wanted)


@pytest.mark.parametrize("zipped", [False, True], ids=["in a function", "in a zip"])
def test_what_fills_no_chunk_is_computed_as_it_is_folded(zipped: bool) -> None:
    """One element more than what groups share: none of what is folded is stored, in whichever way it is written."""

    @rl.program
    def product(x: rl.f32[n], y: rl.f32[n]):
        if zipped:
            pairs = rl.zip(rl.map(rl.absolute, x), y)
            return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], pairs))
        return rl.reduce(rl.add, 0.0, rl.map(lambda p: rl.absolute(p[0]) * p[1], rl.zip(x, y)))

    sizes = {"n": (1 << 22) + 1}
    found = optimize(product, sizes, GPU)
    assert len(compile_program(found.term).plan.kernels) == 2
    assert found.cost.bytes < 1.1 * 8 * sizes["n"]


def test_a_search_prefers_one_pass() -> None:
    """Before any search, two kernels of which the second is one group are the fastest that is known."""
    forms = Proposals(extremes, {"n": 1 << 20}, GPU).forms()
    best = min(
        (each for form in forms for each in form.proposals), key=lambda each: each.cost.seconds
    )
    kernels = compile_program(best.low).plan.kernels

    assert sum(k.total != k.local for k in kernels) == 1
