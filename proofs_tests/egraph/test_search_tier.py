"""Tier 5: every rule of the library fires rightly, and every derived premise is needed."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a rule are sizes and types of the object language, not Python types)

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from relift.egraph.checks.bench import Bench
from relift.egraph.checks.search_tier import Trial, check_search, make_trial
from relift.egraph.encode.equations import NotSearchable
from relift.egraph.encode.rules import encode_rule
from relift.egraph.process.children import Child, one_child
from relift.egraph.search.optimize import SEARCHED
from relift.rewrites.checks.verdicts import Direction
from relift.rewrites.library import RULES
from relift.rewrites.notation import A, B, C, m, n
from relift.rewrites.rule import Rule, rule
from relift.semantics.language.vocabulary import join, map, reduce_seq, split, zip
from relift.semantics.syntax.signatures import Fun

DIRECTIONS: tuple[Direction, ...] = ("forward", "backward")


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    """One child process for all rules."""
    with Bench() as opened:
        yield opened


@pytest.mark.parametrize("name", sorted(SEARCHED))
def test_rules_of_the_search_pass(name: str, bench: Bench) -> None:
    """A rule fires on its own left side, its members agree, and no mutant fires."""
    verdict = check_search(RULES[name], bench)
    assert verdict.passed, str(verdict)
    if RULES[name].lowering:
        assert verdict.directions == ()
        assert verdict.forward.reason == "lowering: applied by context"
    else:
        assert "forward" in verdict.directions


def trials(without: frozenset[str], bench: Bench) -> Iterator[Trial]:
    """A trial of every searchable direction, its encoding lacking some premises."""
    for name in sorted({*SEARCHED, "reduce_interchange"}):  # its `ys` is also moved below its `x`
        r = RULES[name]
        for direction in DIRECTIONS:
            try:
                encode_rule(r, direction)
            except NotSearchable:
                continue
            encoded = encode_rule(r, direction, without=without)
            for choice in (2, 3):
                trial = make_trial(r, direction, encoded, bench, choice=choice)
                if trial.fire(trial.term).fired:
                    yield trial
                    break


@pytest.mark.parametrize(
    ("without", "kind"),
    [
        ({"scope"}, "scope"),
        # a name taken twice can also leave the scope of a metavariable, so all three are left out
        ({"scope", "freshness", "distinct"}, "name"),
    ],
)
def test_mutants_fire_without_the_premise(without: set[str], kind: str, bench: Bench) -> None:
    """The mutants have power: each fires when the premise that it breaks is left out."""
    fired = 0
    for trial in trials(frozenset(without), bench):
        mutants = trial.scope_mutants() if kind == "scope" else trial.name_mutants()
        for mutant in list(mutants):
            label = f"{trial.rule.name} {trial.direction}"
            assert trial.fire(*mutant).fired, label
            fired += 1
    assert fired >= 10


def test_members_of_a_wrong_rule_disagree(bench: Bench) -> None:
    """A rule that is almost right passes no comparison."""

    @rule()
    def without_transpose(h: Fun[A, B, C], xs: A[m], ys: B[m]):
        return (
            map(lambda x: map(lambda y: h(x, y), ys), xs),
            map(lambda y: map(lambda x: h(x, y), xs), ys),
        )

    @rule()
    def chunks_of_one(f: Fun[B, A, B], z: B, xs: A[n]):
        return (
            reduce_seq(lambda a, y: f(a, y), z, join(split(1, xs))),
            reduce_seq(lambda a, y: f(a, y), z, xs),
        )

    assert isinstance(without_transpose, Rule)
    verdict = check_search(without_transpose, bench)
    assert verdict.forward.wrong > 0
    assert verdict.backward.wrong > 0
    assert not verdict.passed
    assert "DO NOT" in str(verdict)
    assert isinstance(chunks_of_one, Rule)
    assert check_search(chunks_of_one, bench).forward.passed


def test_reasons_name_what_is_missing(bench: Bench) -> None:
    """A direction that cannot be searched says why."""

    @rule()
    def forgets(xs: A[n], ys: B[n]):
        return map(lambda p: p[0], zip(xs, ys)), xs

    @rule()
    def doubled(h: Fun[A, B], xs: A[n]):
        return (
            zip(map(lambda x: h(x), xs), map(lambda y: h(y), xs)),
            map(lambda x: (h(x), h(x)), xs),
        )

    @rule()
    def captured(h: Fun[A, B[m], C], xs: A[n], ys: B[m]):
        return map(lambda x: h(x, ys), xs), map(lambda x: h(x, ys), xs)

    verdict = check_search(forgets, bench)
    assert verdict.forward.passed
    assert "bare metavariable" in verdict.backward.reason
    assert "equality up to names" in check_search(doubled, bench).forward.reason
    assert "Miller" in check_search(captured, bench).forward.reason
    assert "bare metavariable" in check_search(RULES["join_split"], bench).backward.reason


@pytest.mark.usefixtures("alone")
def test_a_bench_has_a_child_once_a_rule_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches without rules of a person's own have none; one that is done is the next one's, where searches share theirs."""
    started: list[Child] = []

    def entered(child: Child) -> Child:
        started.append(child)
        return enter(child)

    monkeypatch.setattr(Child, "__enter__", entered)
    with Bench():
        pass
    assert not started
    with one_child():
        for _ in range(2):
            with Bench() as bench:
                assert check_search(RULES["map_fusion"], bench).passed
        assert len(started) == 1
        monkeypatch.setattr(Child, "receive", out_of_memory(started[0]))
        with Bench() as bench:
            assert check_search(RULES["map_fusion"], bench).passed
        assert len(started) == 2


enter, receive = Child.__enter__, Child.receive


def out_of_memory(full: Child) -> Callable[[Child, float], Any]:
    """How answers come where one child has no room any more."""
    return lambda child, deadline: "memory" if child is full else receive(child, deadline)
