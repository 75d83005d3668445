"""A plug-in for pytest and Hypothesis: `pytest -p relift.pytest_plugin`, or `pytest_plugins = ["relift.pytest_plugin"]`.

    assert_equivalent               a fixture: `relift.testing.assert_equivalent`
    st.from_type(rl.Program)        a strategy of Hypothesis: programs that are well typed
    --relift-rules                  each rule of a file `*_rules.py` is a test: no tier may refute it
    --relift-tiers 1,2,3            by which tiers

A rule that fails shows the verdict of each tier and the counterexample, and no traceback.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from relift.rewrites.rule import RejectedRule, Rule

TIERS = "1,2,3"


def pytest_addoption(parser: pytest.Parser) -> None:
    """What the command line takes."""
    group = parser.getgroup("relift")
    group.addoption(
        "--relift-rules", action="store_true", help="check the rules of files *_rules.py"
    )
    group.addoption("--relift-tiers", default=TIERS, help="the tiers by which; 1,2,3 if none")


def pytest_configure(config: pytest.Config) -> None:
    """Hypothesis draws programs where a test asks for one by its type; tiers that there are not are refused."""
    from hypothesis import strategies

    from relift.rewrites.checks.verdicts import TIERS as known
    from relift.semantics.language.programs import Program
    from relift.testing import programs

    strategies.register_type_strategy(Program, programs())
    for tier in _tiers(config):
        if tier not in known:
            raise pytest.UsageError(
                f"--relift-tiers: there is no tier {tier}; there are: {', '.join(known)}"
            )


def _tiers(config: pytest.Config) -> tuple[Any, ...]:
    return tuple(str(config.getoption("--relift-tiers")).split(","))


@pytest.fixture
def assert_equivalent() -> Callable[..., None]:
    """Assert that a program means what a function of NumPy arrays, another program or a kernel computes."""
    from relift.testing import assert_equivalent as compare

    return compare


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A file of rules, where these are asked for."""
    if file_path.match("*_rules.py") and parent.config.getoption("--relift-rules"):
        return RuleFile.from_parent(parent, path=file_path)
    return None


class RuleFile(pytest.File):
    """The rules of a file."""

    def collect(self) -> Iterator[pytest.Item]:
        """A test for each; a file that does not load, or has none, is an error in one line."""
        from relift.rewrites.loading import load_rules
        from relift.semantics.errors import ReliftError

        try:
            rules = load_rules(self.path)
        except ReliftError as error:
            raise self.CollectError(str(error)) from None
        for name, rule in rules.items():
            yield RuleItem.from_parent(self, name=name, rule=rule)


class Refuted(Exception):
    """What the tiers say of a rule that does not hold."""


class RuleItem(pytest.Item):
    """One rule, checked by the tiers."""

    def __init__(self, *, rule: Rule | RejectedRule, **given: Any) -> None:
        super().__init__(**given)
        self.rule = rule

    def runtest(self) -> None:
        """Check it."""
        from relift.checking import check

        report = check(self.rule, tiers=_tiers(self.config))
        if not report.ok:
            raise Refuted(report.text())

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """The verdicts and the counterexample, as `relift check` prints them."""
        if isinstance(excinfo.value, Refuted):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where it is."""
        _, _, line = (self.rule.place or "").rpartition(":")
        return self.path, int(line) - 1 if line.isdecimal() else None, f"rule {self.name}"
