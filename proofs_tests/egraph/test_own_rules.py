"""The user's own rules and strategies take part in a search, and nothing is trusted in silence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import relift as rl
from proofs_tests.egraph import own_rules as own
from relift.cli import app
from relift.compiler.running.artefact import MANIFEST
from relift.device import CPU
from relift.egraph.checks.admission import RefusedRule, admitted
from relift.egraph.search.optimize import Optimized, optimize
from relift.egraph.search.own_rules import StrategyStopped
from relift.rewrites.derivation.confirmation import confirm
from relift.rewrites.derivation.files import from_json, to_json
from relift.rewrites.derivation.pages import as_html, as_text
from relift.rewrites.derivation.steps import BrokenDerivation, require_standing, standing
from relift.rewrites.library import RULES
from relift.semantics.notation.printer import show
from relift.strategies import fuse, skip, then

FILE = str(Path(own.__file__))


@pytest.fixture(scope="module")
def fast_norm() -> Optimized:
    """A search in which an assumed rule wins."""
    return optimize(own.norm, {"n": 64}, CPU, rules=[rl.assume(own.use_inv_sqrt)])


def test_a_rule_that_is_proved_takes_part_and_wins() -> None:
    """Its verdict stands in the derivation, which replays and is confirmed without the library knowing it."""
    best = optimize(own.total, {"n": 255}, CPU, rules=[own.total_of_scan])

    assert "scan" not in show(best.term.body)
    steps = [step.rule for step in best.derivation.steps]
    assert standing(best.derivation, RULES)[steps.index("total_of_scan")] == "PROVED"
    require_standing(best.derivation, RULES)
    assert confirm(best.derivation, RULES) is not None
    assert not best.derivation.assumed


def test_a_rule_of_the_library_takes_part_by_its_name() -> None:
    """So that a search may use what its stages do not name."""
    best = optimize(own.total, {"n": 255}, CPU, rules=["scan_last"])

    assert "scan_last" in [step.rule for step in best.derivation.steps]


def test_a_rule_that_is_wrong_is_refused_with_its_counterexample() -> None:
    """Whoever vouches for it."""
    for given in (own.a_half_is_a_quarter, rl.assume(own.a_half_is_a_quarter)):
        with pytest.raises(RefusedRule, match=r"it does not hold: .*left  = .*; right = "):
            admitted([given])


def test_a_rule_that_nothing_proves_takes_part_only_by_name() -> None:
    """The refusal says how."""
    with pytest.raises(RefusedRule, match=r"not proved .*--assume use_inv_sqrt"):
        admitted([own.use_inv_sqrt])
    assert [rule.standing for rule in admitted([own.use_inv_sqrt], ["use_inv_sqrt"]).own] == [
        "ASSUMED"
    ]


@pytest.mark.parametrize(
    ("rules", "assumed", "told"),
    [
        ([RULES["map_fusion"]], (), "is the name of a rule of Relift's ledger"),
        ([own.in_strips, own.in_strips], (), "two rules are called in_strips"),
        ([], ["nothing"], "nothing is assumed, but there is no such rule"),
        (["no_such_rule"], (), "there is no rule no_such_rule"),
        ([3], (), "rules holds 3"),
    ],
    ids=["name of the library", "twice", "unknown assumption", "unknown name", "no rule"],
)
def test_what_is_no_rule_of_ones_own_is_refused(
    rules: list[object], assumed: list[str], told: str
) -> None:
    """By a message that names it."""
    with pytest.raises(rl.ReliftError, match=told):
        admitted(rules, assumed)


def test_everything_that_used_an_assumed_rule_says_so(fast_norm: Optimized) -> None:
    """The derivation, its pages, and the JSON of the candidate."""
    derivation = fast_norm.derivation
    terms = derivation.replay(RULES)

    assert [rule.rule.name for rule in derivation.assumed] == ["use_inv_sqrt"]
    assert "ASSUMED, not proved: use_inv_sqrt" in as_text(derivation, terms, RULES, None)
    assert "ASSUMED, not proved: use_inv_sqrt" in as_html(derivation, terms, RULES, None)
    assert fast_norm.candidates[0].to_json()["own_rules"] == {"use_inv_sqrt": "ASSUMED"}
    with pytest.raises(BrokenDerivation, match="use_inv_sqrt, which is ASSUMED, not PROVED"):
        require_standing(derivation, RULES)
    require_standing(derivation, RULES, ["use_inv_sqrt"])


def test_a_derivation_is_read_with_the_rules_of_its_user(fast_norm: Optimized) -> None:
    """And not without them, nor as if they were proved."""
    data = json.loads(json.dumps(to_json(fast_norm.derivation)))
    given = admitted([rl.assume(own.use_inv_sqrt)]).own

    assert from_json(data, RULES, given).assumed == given
    with pytest.raises(BrokenDerivation, match=r"of the user's own; give the file .*--rules"):
        from_json(data, RULES)
    data["own_rules"]["use_inv_sqrt"]["standing"] = "PROVED"
    with pytest.raises(BrokenDerivation, match=r"ASSUMED.*and was .*PROVED"):
        from_json(data, RULES, given)
    data["own_rules"] = {}
    with pytest.raises(BrokenDerivation, match="no rule use_inv_sqrt"):
        from_json(data, RULES, given)


def test_a_strategy_is_a_candidate() -> None:
    """With rules of the user's own in it, which are checked like others."""
    best = optimize(
        own.norm, {"n": 64}, CPU, top=64, rules=[own.in_strips], strategies=[own.strips_of_four]
    )

    found = [c for c in best.candidates if "in_strips" in [s.rule for s in c.derivation.steps]]
    assert found, [show(c.term.body) for c in best.candidates]
    assert all(confirm(c.derivation, RULES) is not None for c in found)


def test_a_strategy_that_uses_a_rule_that_was_not_given_is_refused() -> None:
    """Its rules are no more trusted than others."""
    with pytest.raises(rl.ReliftError, match=r"by in_strips, .* give it among rules"):
        optimize(own.norm, {"n": 64}, CPU, strategies=[own.strips_of_four])


def test_a_strategy_that_does_not_apply_says_where_it_stopped() -> None:
    """After how many steps, and which rule did not fit."""
    with pytest.raises(StrategyStopped, match=r"stopped after 0 steps: reduce_to_seq"):
        optimize(own.norm, {"n": 64}, CPU, strategies=[own.strips_of_a_reduction])


def raising(at: Any, place: Any) -> Any:
    raise ValueError("one\ntwo")


@pytest.mark.parametrize(
    ("strategy", "said"),
    [
        (raising, rf"raising fails at {__file__}:\d+: ValueError: one two; a strategy takes"),
        (lambda at, place: None, r"<lambda> returns NoneType; a strategy takes a Rewriting and"),
        (lambda at: at, r"<lambda> fails: TypeError: .* takes 1 positional argument"),
        (then(fuse, skip), r"tactic fails: TypeError: fuse\(\) takes 0 positional arguments"),  # type: ignore[arg-type]
    ],
)
def test_a_strategy_that_fails_is_blamed_by_name(strategy: Any, said: str) -> None:
    """What is wrong with its own Python is no defect of the search; `fuse` for `fuse()` is easily written."""
    with pytest.raises(StrategyStopped, match=said):
        optimize(own.norm, {"n": 64}, CPU, strategies=[strategy])


def test_the_command_line_takes_rules_and_says_what_is_assumed(tmp_path: Path) -> None:
    """From optimize to the manifest, and back through explain."""
    relift, out = CliRunner(), tmp_path / "out"
    size = ["--size", "n=64"]

    def taking(name: str, *rules: str) -> str:
        """A file of the program and some of the rules."""
        file = tmp_path / name
        file.write_text(
            f"import sys\nsys.path.insert(0, {str(Path(FILE).parents[2])!r})\n"
            f"from proofs_tests.egraph.own_rules import {', '.join(['norm', *rules])}\n"
        )
        return str(file)

    bad = taking("bad.py", "use_inv_sqrt", "a_half_is_a_quarter")
    options = ["--rules", bad, "--assume", "use_inv_sqrt", "--out", str(out)]
    found = relift.invoke(app, ["optimize", f"{bad}:norm", *size, *options])
    assert isinstance(found.exception, RefusedRule), found.output

    good = taking("good.py", "use_inv_sqrt")
    options = ["--rules", good, "--assume", "use_inv_sqrt", "--out", str(out)]
    found = relift.invoke(app, ["optimize", f"{good}:norm", *size, *options])
    assert found.exit_code == 0, found.output
    assert "ASSUMED, not proved: use_inv_sqrt" in found.output
    assert json.loads((out / MANIFEST).read_text())["assumed"] == ["use_inv_sqrt"]

    explain = ["explain", str(out / "derivation.json"), "--rules", good]
    assert isinstance(relift.invoke(app, explain).exception, BrokenDerivation)
    explained = relift.invoke(app, [*explain, "--allow", "use_inv_sqrt"])
    assert explained.exit_code == 0, explained.output
    assert "ASSUMED, not proved: use_inv_sqrt" in explained.output
