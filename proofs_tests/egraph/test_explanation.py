"""Every member of the root class is explained by rule steps that replay without the e-graph."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a rule are sizes and types of the object language, not Python types)

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

import pytest

import relift as rl
from proofs_tests.egraph.conftest import Case, searchable
from relift.egraph.explanation.explainer import Explainer, Unexplained
from relift.egraph.process.saturation import Request, Saturation, Stage, saturate
from relift.egraph.search.guidance.planning import NORMAL_FORM
from relift.rewrites.derivation.confirmation import confirm
from relift.rewrites.derivation.steps import Derivation, redo
from relift.rewrites.library import RULES
from relift.rewrites.notation import A, B, n
from relift.rewrites.rule import Rule, rule
from relift.semantics.language.programs import Program
from relift.semantics.syntax.binding import alpha_equal, canonical, tidy
from relift.semantics.syntax.terms import Term

length, width = rl.nat("n"), rl.nat("m")


def explained(case: Case, explainer: Explainer, target: Term) -> Derivation:
    """The derivation of a target, replayed by the matcher of `rewrites` alone."""
    steps = explainer.explain(case.program.at(case.sizes).body, target)
    derivation = Derivation(case.program, case.sizes, steps, target)
    terms = derivation.replay(RULES)
    assert alpha_equal(terms[-1], target)
    assert len({canonical(t) for t in terms}) == len(terms), "no term is visited twice"
    return derivation


def test_members_are_explained(case: Case, searched: Callable[[Case], Saturation]) -> None:
    """Random members of the root class, for each program, with all rules in both directions."""
    found = searched(case)
    explainer = Explainer(found)
    snapshot, rng = found.snapshot, random.Random(3)
    members = {snapshot.sample(snapshot.root, rng, rng.randint(3, 12)) for _ in range(40)}
    for t in members:
        explained(case, explainer, t)
    assert len(members) >= 20


def dot_goal(case: Case, chunk: int, width: int) -> Term:
    """A sequential sum over chunks, each a sequential sum of vectors."""
    x, y = case.program.at(case.sizes).parameters

    def lanes(t: Any) -> Any:
        return rl.reduce_seq(
            lambda a, v: rl.vectorize(width, rl.add)(a, rl.map_vec(lambda p: p[0] * p[1], v)),
            rl.splat(width, 0.0),
            rl.as_vector(width, t),
        )

    def chunks(t: Any) -> Any:
        return rl.reduce_seq(rl.add, 0.0, rl.as_scalar(rl.repeat(1, lanes(t))))

    goal: Term = rl.reduce_seq(rl.add, 0.0, rl.map(chunks, rl.split(chunk, rl.zip(x, y))))
    return goal


def test_vectorised_dot_is_explained_and_confirmed(cases: Mapping[str, Case]) -> None:
    """A goal written by hand is found, explained, and confirmed at its own sizes, which are in reach."""
    case = Case(cases["dot"].program, {"n": 64}, (16,), (4,))
    rules = tuple(rule for rule in searchable() if not rule.endswith("<"))
    request = Request(
        case.program.at(case.sizes), (Stage("all", rules, 4),), NORMAL_FORM, case.tiles, case.lanes
    )
    goal = dot_goal(case, 16, 4)
    derivation = explained(case, Explainer(saturate(request)), goal)
    used = {step.rule for step in derivation.steps}
    assert {"partial_reduce_chunks", "vectorize_reduce", "reduce_to_seq"} <= used
    assert [step.choices for step in derivation.steps if step.rule == "vectorize_reduce"] == [
        {"w": 4}
    ]
    confirmation = confirm(derivation, RULES)
    assert confirmation is not None
    assert confirmation.sizes["n"] == 64


def test_members_that_mention_too_much_are_explained() -> None:
    """A class may forget a variable that its first member mentions; the log still gives instances."""

    @rule()
    def forgets_second(xs: A[n], ys: B[n]):
        return rl.map(lambda p: p[0], rl.zip(xs, ys)), rl.map(lambda x: x, xs)

    @rule()
    def constant_map(c: B, xs: A[n]):
        return rl.map(lambda x: c, xs), rl.repeat(n, c)

    @rl.program
    def rows(a: rl.f32[length, width], x: rl.f32[width]):
        return rl.map(lambda row: rl.map(lambda p: p[0], rl.zip(x, row)), a)

    assert isinstance(forgets_second, Rule)
    assert isinstance(constant_map, Rule)
    rules = {r.name: r for r in (forgets_second, constant_map)}
    case = Case(rows, {"n": 4, "m": 3}, (), ())
    program = rows.at(case.sizes)
    found = saturate(Request(program, (Stage("all", tuple(rules), 3),), rules=rules))
    goal = rl.repeat(4, rl.map(lambda v: v, program.parameters[1]))
    steps = Explainer(found).explain(program.body, goal)
    assert [step.rule for step in steps] == ["forgets_second", "constant_map"]
    Derivation(rows, case.sizes, steps, goal).replay(rules)


def test_other_names_are_understood(
    cases: Mapping[str, Case], searched: Callable[[Case], Saturation]
) -> None:
    """A target may have names of its own."""
    case = cases["matvec"]
    found = searched(case)
    t = found.snapshot.sample(found.snapshot.root, random.Random(5))
    explained(case, Explainer(found), tidy(t))


def test_what_was_not_found_is_not_explained(
    cases: Mapping[str, Case], searched: Callable[[Case], Saturation]
) -> None:
    """A term that is not in the root class is refused."""
    case = cases["dot"]
    found = searched(case)
    x, y = case.program.at(case.sizes).parameters
    wrong = rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] - p[1], rl.zip(x, y)))
    with pytest.raises(Unexplained, match="not in the class of the program"):
        Explainer(found).explain(case.program.at(case.sizes).body, wrong)


def sampled(program: Program, found: Saturation) -> dict[Term, Term]:
    """Members of the root class, one for each up to names."""
    rng = random.Random(3)
    members = (
        found.snapshot.sample(found.snapshot.root, rng, rng.randint(3, 9)) for _ in range(80)
    )
    return {canonical(t): t for t in members}


def test_steps_through_a_tuple_that_is_written_out_are_explained() -> None:
    """Inside a component, one term can follow from another by way of the tuple of both parts."""

    @rule()
    def unzip_swapped(xs: A[n], ys: B[n]):
        return rl.unzip(rl.map(lambda p: (p[1], p[0]), rl.zip(ys, xs))), (xs, ys)

    @rl.program
    def first(x: rl.f32[length], y: rl.i32[length]):
        return rl.unzip(rl.zip(x, y))[0]

    assert isinstance(unzip_swapped, Rule)
    rules = {**RULES, "unzip_swapped": unzip_swapped}
    program = first.at({"n": 4})
    x, y = program.parameters
    names = ("unzip_zip", "unzip_swapped<")
    found = saturate(Request(program, (Stage("all", names, 3),), rules=rules))
    goal = rl.unzip(rl.map(lambda p: (p[1], p[0]), rl.zip(y, x)))[0]
    steps = Explainer(found).explain(program.body, goal)
    assert [step.rule for step in steps] == ["unzip_zip", "unzip_swapped"]
    terms = Derivation(first, {"n": 4}, steps, goal).replay(rules)
    assert alpha_equal(terms[-1], goal)


def test_steps_below_binders_that_changed_their_names_are_explained(
    cases: Mapping[str, Case],
) -> None:
    """One equation can hold under other names; a step below those binders speaks of the new ones."""
    case = Case(cases["dot"].program, {"n": 4}, (2,), ())
    program = case.program.at(case.sizes)
    names = ("partial_reduce_chunks", "split_map", "map_fusion", "reduce_map_fusion")
    stage = Stage("all", (*names, "reduce_one<", "reduce_to_seq"), 4)
    found = saturate(Request(program, (stage,), NORMAL_FORM, case.tiles))
    explainer = Explainer(found)
    members = sampled(program, found)
    for t in members.values():
        explained(case, explainer, t)


def test_what_a_side_does_not_say_is_found_by_its_place() -> None:
    """A fusion undone has two functions; where the inner one stands is part of the step, or no other size has it."""

    @rl.program
    def apart(x: rl.f32[length]):
        return rl.map(lambda g: g * g, rl.map(lambda v: v - 1.0, x))

    @rl.program
    def fused(x: rl.f32[length]):
        return rl.map(lambda v: (v - 1.0) * (v - 1.0), x)

    sizes = {"n": 4}
    found = saturate(Request(apart.at(sizes), (Stage("all", ("map_fusion",), 2),)))
    steps = Explainer(found).explain(fused.at(sizes).body, apart.at(sizes).body)
    assert [(step.rule, step.direction) for step in steps] == [("map_fusion", "backward")]
    again = redo(Derivation(fused, sizes, steps, apart.at(sizes).body), RULES, {"n": 7}, {})
    assert alpha_equal(again.result, apart.at({"n": 7}).body)
