"""Extraction: the candidates are the cheapest choices of one e-graph, in order, and their lowering replays."""

from __future__ import annotations

import itertools
import math

import pytest

import relift as rl
from proofs_tests.compiler.programs import typed
from relift.device import CPU, GPU, DeviceDescription
from relift.egraph.encode.term_graph import TermGraph
from relift.egraph.extraction.extractor import Extractor, Solver
from relift.egraph.extraction.known import TermExtractor, extracted_once, extractor_for
from relift.egraph.extraction.states import Lowering, Place, State, Want
from relift.egraph.process.saturation import Budget, Request, Saturation, Stage, saturate
from relift.rewrites.application.matching import apply_rule
from relift.rewrites.library import RULES
from relift.rewrites.notation import A, k
from relift.rewrites.rule import rule
from relift.semantics.patterns import MapGlb, Take
from relift.semantics.syntax.binding import alpha_equal
from relift.semantics.syntax.terms import Input, subterms
from relift.semantics.syntax.types import f32


@pytest.fixture(scope="module")
def graph() -> Saturation:
    """Sums of rows, with rows in chunks, loops in other orders, and products in vectors."""
    program = typed(x=f32[12, 8], y=f32[8])(
        lambda x, y: rl.map(
            lambda row: rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(row, y))), x
        )
    )
    rules = ("split_join", "vectorize_map", "partial_reduce_chunks", "map_fusion")
    stage = Stage("tile", tuple(r for r in rules if r in RULES), 2)
    return saturate(Request(program, (stage,), tiles=(2, 4), lanes=(4,), budget=Budget(30)))


@rule()
def first_of_some(xs: A[k + 1]):
    """Two ways to an element, of which one takes a layout more."""
    return rl.take(1, xs)[0], xs[0]


@pytest.fixture(scope="module")
def two_ways() -> Saturation:
    """The first elements of rows, by the longer way; in the e-graph there is a shorter one."""
    program = typed(x=f32[12, 8])(lambda x: rl.map(lambda row: rl.take(1, row)[0] + 1.0, x))
    name = first_of_some.name
    return saturate(Request(program, (Stage("first", (name,), 2),), rules={name: first_of_some}))


def least(extractor: Solver, root: State) -> float:
    """The least cost of a state: of its options the cheapest, each child being paid for once each time it is run."""
    known: dict[State, float] = {root: math.inf}
    changed = True
    while changed:
        changed = False
        for state in list(known):
            found = known[state]
            for option in extractor.ways.of(state):
                for child in option.children:
                    changed = changed or child not in known
                    known.setdefault(child, math.inf)
                pairs = zip(option.trips, option.children, strict=True)
                found = min(found, option.own + sum(t * known[child] for t, child in pairs))
            changed = changed or found < known[state]
            known[state] = found
    return known[root]


@pytest.mark.parametrize("device", [CPU, GPU], ids=["cpu", "gpu"])
def test_the_first_candidate_is_the_cheapest_choice(
    graph: Saturation, device: DeviceDescription
) -> None:
    """Of all ways to answer the root; and those after it are in order of work, each with a plan of its own."""
    extractor = Extractor(graph.snapshot, device)
    found = extractor.candidates("reassociate", 12)

    assert len(found) > 5
    assert found[0].work == pytest.approx(least(extractor.plain, extractor.plain.root_state()))
    assert [c.work for c in found] == sorted(c.work for c in found)
    assert len({c.plan for c in found}) == len(found)


def test_of_two_ways_with_one_plan_the_cheaper_is_kept(two_ways: Saturation) -> None:
    extractor = Extractor(two_ways.snapshot, CPU)
    (found,) = extractor.candidates("reassociate", 12)

    assert found.work == pytest.approx(
        least(extractor.plain, extractor.plain.root_state()), rel=1e-12
    )
    assert not any(isinstance(u, Take) for u, _ in subterms(found.high))


def test_fewer_are_kept_and_the_cheapest_stays(graph: Saturation) -> None:
    """Each state keeps as many plans as asked for; asked for few, the best is the same."""
    few, many = (
        Extractor(graph.snapshot, CPU, width).candidates("reassociate", 99) for width in (2, 12)
    )

    assert len(few) <= 2 < len(many) <= 12
    assert few[0].work == many[0].work


def test_a_candidate_is_a_member_that_its_steps_lower(graph: Saturation) -> None:
    """The high-level term is in the class of the program, and the lowering rules make the low-level one of it."""
    for candidate in Extractor(graph.snapshot, CPU).candidates("reassociate", 12):
        assert graph.snapshot.find(candidate.high, graph.snapshot.root) is not None
        t = candidate.high
        for step in candidate.lowering:
            t, _ = apply_rule(RULES[step.rule], t, step.position, choices=step.choices)
        assert alpha_equal(t, candidate.low)
        assert any(isinstance(u, MapGlb) for u, _ in subterms(t))


def test_no_vectors_inside_a_lane(graph: Saturation) -> None:
    """What has a vector in it has no place among the lanes of another."""
    extractor = Extractor(graph.snapshot, CPU)
    wants = (Want.VALUE, Want.VIEW)
    vectors = [e for e in graph.snapshot.classes() if "vec" in str(graph.snapshot.type_of(e))]

    assert any(list(extractor.plain.ways.of(State(e, Want.VIEW, Place.ITEM))) for e in vectors)
    for eclass, want in itertools.product(vectors, wants):
        assert not list(extractor.plain.ways.of(State(eclass, want, Place.LANE)))


def test_what_is_demanded_is_done(graph: Saturation) -> None:
    """A class that has to be lowered in one way is lowered in no other."""
    root = graph.snapshot.root
    demanded = Lowering("map_to_glb", (("d", 1),))
    free = Extractor(graph.snapshot, CPU).candidates("reassociate", 12)
    kept = Extractor(graph.snapshot, CPU, demanded={root: demanded}).candidates("reassociate", 12)

    assert any(
        "map_to_glb" not in {step.rule for step in c.lowering[:1]}
        or c.lowering[0].choices["d"] != 1
        for c in free
    )
    for candidate in kept:
        assert {"d": 1} in [
            dict(step.choices) for step in candidate.lowering if step.rule == "map_to_glb"
        ]


def test_what_is_one_object_in_several_places_is_lowered_alike_in_all() -> None:
    """As one class of a term, it comes to what it does as several."""
    scaled = rl.map(lambda v: v * 2.0, Input("x", f32[64]))
    whole = rl.reduce(rl.add, 0.0, scaled)
    term = rl.map(
        lambda v: v * whole + rl.reduce(rl.add, 0.0, rl.map(lambda w: w + v, scaled)), scaled
    )
    each, one = TermGraph(term), TermExtractor(CPU)
    found = [
        Extractor(each, CPU).candidates("reassociate", 8),
        one.candidates(term, "reassociate", 8),
    ]
    assert len(one.graph) < len(each.at)
    assert [c.low for c in found[0]] == [c.low for c in found[1]]
    assert found[0]


def test_what_stood_in_another_term_before_is_lowered_as_if_it_had_not() -> None:
    """Terms that share parts come to what each comes to alone, and of the second only what is new is solved."""
    row = rl.map(lambda v: v * 2.0, Input("x", f32[64]))
    terms = [rl.map(lambda v: v + rl.reduce(rl.add, 0.0, row), row), rl.map(lambda v: v - 1.0, row)]
    alone = [Extractor(TermGraph(t), CPU).candidates("reassociate", 8) for t in terms]
    with extracted_once():
        first = extractor_for(CPU).candidates(terms[0], "reassociate", 8)
        known = len(extractor_for(CPU).graph)
        second = extractor_for(CPU).candidates(terms[1], "reassociate", 8)
        assert len(extractor_for(CPU).graph) - known < len(TermGraph(terms[1]).at)
    for found, separate in zip((first, second), alone, strict=True):
        assert [(c.low, c.plan, c.work) for c in found] == [
            (c.low, c.plan, c.work) for c in separate
        ]
    assert extractor_for(CPU) is not extractor_for(CPU)


def test_classes_that_are_made_of_one_another_are_told_what_gets_cheaper() -> None:
    """A matrix is its transpose's transpose: whichever is solved first waits for the other."""
    program = typed(x=f32[8, 8])(
        lambda x: rl.map(
            lambda p: rl.map(lambda q: q[0] + q[1], rl.zip(p[0], p[1])),
            rl.zip(rl.transpose(rl.transpose(x)), rl.transpose(x)),
        )
    )
    stage = Stage("all", ("transpose_transpose",), 2)
    extractor = Extractor(saturate(Request(program, (stage,))).snapshot, CPU)
    assert extractor.candidates("reassociate", 4)
    for state, found in vars(extractor.plain)["_best"].items():
        cheapest = min((cost for cost, _ in found.values()), default=math.inf)
        assert cheapest == pytest.approx(least(extractor.plain, state))
