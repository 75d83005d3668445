"""Sketches: what they mean, what they find, and what they say when they find nothing."""

from __future__ import annotations

import time
from collections.abc import Mapping

import pytest

from proofs_tests.egraph.conftest import CASES, Case
from relift.egraph.process.saturation import Budget, Request, Saturation, Stage, saturate
from relift.egraph.search.guidance.planning import NORMAL_FORM, PURPOSES
from relift.egraph.sketches.language import BadSketch, sketch
from relift.egraph.sketches.search import SketchSearch, Unsatisfied
from relift.semantics.patterns import Map, ReduceSeq, Split
from relift.semantics.syntax.terms import Pattern, Term, free_variables, subterms


def lengths(t: Term, pattern: type[Pattern]) -> list[int]:
    """The lengths of the data of every such pattern, outermost first."""
    return [getattr(u, "xs").type.length.constant for u, _ in subterms(t) if isinstance(u, pattern)]  # noqa: B009


@pytest.fixture(scope="module")
def chunked() -> Saturation:
    """A dot product of 64 elements with chunks of 16 and of 4, and everything fused."""
    program = CASES["dot"].program.at({"n": 64})
    rules = ("map_fusion", "reduce_to_seq", "reduce_map_fusion", "reduce_seq_chunks", "split_join")
    return saturate(Request(program, (Stage("all", rules, 4),), NORMAL_FORM, (4, 16)))


def test_a_sketch_chooses_among_the_members(chunked: Saturation) -> None:
    """Two sketches that differ in their lengths give two terms that differ in just that."""
    search = SketchSearch(chunked.snapshot)
    for size in (4, 16):
        shape = sketch("reduce_seq[n // t](... >= reduce_seq[t](...))").at({"n": 64, "t": size})
        found = search.best(shape)

        assert lengths(found.term, ReduceSeq) == [64 // size, size]
        assert not free_variables(found.term)


def test_the_smallest_term_is_chosen(chunked: Saturation) -> None:
    """Of all terms that satisfy a sketch, none smaller is left out: the plain loop splits nothing."""
    found = SketchSearch(chunked.snapshot).best(sketch("... >= reduce_seq(... + ... * ...)").at({}))

    assert not [u for u, _ in subterms(found.term) if isinstance(u, Split | Map)]


def test_variables_of_a_sketch_are_bound_where_it_says(chunked: Saturation) -> None:
    """A name bound by a lambda of the sketch stands for that variable and no other."""
    search = SketchSearch(chunked.snapshot)
    right = "reduce_seq[64](lambda acc, x: acc + x[0] * x[1])"
    wrong = "reduce_seq[64](lambda acc, x: acc + acc * x[1])"

    search.best(sketch(right).at({}))
    with pytest.raises(Unsatisfied, match="no term satisfies this part of the sketch"):
        search.best(sketch(wrong).at({}))


def test_a_type_is_a_hole(chunked: Saturation) -> None:
    """f32[n] and array[n] stand for terms of that type, and of no other."""
    search = SketchSearch(chunked.snapshot)

    search.best(sketch("reduce_seq(..., f32, array[64])").at({}))
    with pytest.raises(Unsatisfied):
        search.best(sketch("reduce_seq(..., f32, array[63])").at({}))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "reduce_seq[4](... >= reduce_seq[5](...))",
            "no term satisfies this part of the sketch: reduce_seq[5](...)",
        ),
        (
            "... >= to_global(transpose(... + ... * ...))",
            (
                "no term satisfies this part of the sketch: transpose(... + ... * ...); "
                "its parts do occur: ... + ... * ..."
            ),
        ),
        ("... >= map(..., C)", "the sketch names C, which occurs in no term"),
        (
            "split(...)",
            "every part of the sketch occurs, but no term equal to the program satisfies it: split()",
        ),
    ],
)
def test_the_part_that_fails_is_named(chunked: Saturation, text: str, message: str) -> None:
    """An unsatisfied sketch is answered with its first part, from the inside, that no term satisfies."""
    with pytest.raises(Unsatisfied) as raised:
        SketchSearch(chunked.snapshot).best(sketch(text).at({}))
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("map[4](...", "'(' was never closed"),
        ("mop(...)", "there is no pattern mop"),
        ("map(..., ..., ...)", "map takes 2 arguments: f, xs"),
        ("map[n // 3](...)", "3 does not divide 64"),
        ("map[q](...)", "there is no size q; the sizes are: n"),
        ("map(lambda x, y: x)", "a function of 1 arguments is needed"),
        ("map", "give it arguments, as in map(...)"),
        ("[1, 2]", "write a pattern, a type, a name, ..., or ... >= a part"),
    ],
)
def test_a_malformed_sketch_is_refused(text: str, message: str) -> None:
    """The message quotes the part of the sketch and says what is wrong with it."""
    with pytest.raises(BadSketch) as raised:
        sketch(text).at({"n": 64})
    assert message in str(raised.value)


def test_a_large_graph_is_searched_in_two_seconds(cases: Mapping[str, Case]) -> None:
    """A sketch is found or refused at the rate of 25,000 nodes in two seconds of this processor, or faster."""
    program = cases["matmul"].program.at({"m": 16, "n": 16, "k": 16})
    rules = tuple(dict.fromkeys(rule for group in PURPOSES.values() for rule in group))
    rules = tuple(rule for rule in rules if rule != "vectorize_map")
    budget = Budget(seconds=100, nodes=60_000, memory_mb=4_000)
    stage = Stage("all", rules, 3)
    found = saturate(Request(program, (stage,), NORMAL_FORM, (2, 4), (2,), budget=budget))
    assert found.nodes >= 15_000
    shape = sketch("... >= map[4](... >= map[4](... >= map[4](... + ... * ...)))").at({})
    started = time.process_time()
    search = SketchSearch(found.snapshot)
    search.find(shape, found.snapshot.root)

    assert time.process_time() - started < 2.0 * found.nodes / 25_000
