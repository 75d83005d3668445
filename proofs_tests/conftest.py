"""What all tests share: the device that kernels run on, and how many tests a run left to another command."""

from __future__ import annotations

import gc
import os
from collections import Counter, defaultdict
from collections.abc import Generator, Sequence
from typing import Any

import hypothesis
import pytest

from proofs_tests.portions import LONG, SHARES, SHORT, share_of

os.environ["HYPOTHESIS_NO_PLUGINS"] = "1"  # in each process that tests start, it would import trio
hypothesis.settings.register_profile("tests", deadline=None)  # a busy machine is no failure
hypothesis.settings.register_profile(  # a mutant is to be noticed each time, and not explained
    "mutants",
    deadline=None,
    derandomize=True,
    database=None,
    phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate),
)
hypothesis.settings.load_profile(os.environ.get("RELIFT_HYPOTHESIS", "tests"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Tests run on the default device, or on the one that is named; all their cases, or each so many."""
    parser.addoption("--device", help="cpu, or part of a device's name (see relift devices)")
    parser.addoption(
        "--every",
        type=int,
        default=1,
        help="of the cases of each test the first, and each k-th after",
    )


def pytest_configure(config: pytest.Config) -> None:
    """The variable reaches the processes that tests start, too; what several workers run shares the machine."""
    if hasattr(config, "workerinput"):
        from relift.processes.executors import share

        share()
    name = config.getoption("--device")
    if name is not None:
        os.environ["RELIFT_DEVICE"] = name


def pytest_report_header() -> str:
    """Which device that is."""
    from relift.compiler.devices.naming import label
    from relift.compiler.devices.survey import find_device
    from relift.semantics.errors import Unsupported

    try:
        return f"kernels run on {label(find_device())}"
    except Unsupported as error:
        return f"kernels do not run: {error}"


@pytest.fixture(autouse=True)
def _no_device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that says that it uses no default device finds none, and neither do the processes that it starts."""
    if request.node.get_closest_marker("no_device") is not None:
        monkeypatch.setenv("RELIFT_DEVICE", "a test that uses no device")


@pytest.fixture(scope="session", autouse=True)
def _searches_share_children() -> Generator[None]:
    """A child process learns the rules of the search once for many tests: that takes a fifth of a small search."""
    from relift.egraph.process.children import one_child

    with one_child():
        yield


def pytest_collection_finish() -> None:
    """What was collected stays to the end: the garbage collector need not go through it again and again."""
    gc.collect()
    gc.freeze()


LEFT = pytest.StashKey[int]()
"""How many tests that are marked `long`, or that `--every` does not take, the run left out: each of several workers as many."""


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None]:
    """Mark what `shares.toml` leaves to the long run; after `-m` and `-k`, leave out what `--every` says, and count it."""
    cases: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker(LONG) is None:
            cases[item.nodeid.partition("[")[0]].append(item)
    for test in cases.keys() & SHARES.keys():
        stay = share_of([item.nodeid for item in cases[test]], SHARES[test])
        for item in cases[test]:
            if item.nodeid not in stay:
                item.add_marker(LONG)
    yield
    every: int = config.option.every
    before: Counter[str] = Counter()
    kept: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item in items:
        test = item.nodeid.partition("[")[0]
        (left if before[test] % every else kept).append(item)
        before[test] += 1
    if left:
        items[:] = kept
        config.hook.pytest_deselected(items=left)
        config.stash[LEFT] = config.stash.get(LEFT, 0) + len(left)


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Count those that are marked `long`, where they are left out for that and not by `-k`."""
    for item in items:
        chosen = item.config.option
        if SHORT in chosen.markexpr and not chosen.keyword and item.get_closest_marker(LONG):
            item.config.stash[LEFT] = item.config.stash.get(LEFT, 0) + 1


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker tells the process that prints."""
    told: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if told is not None:
        told[LONG] = session.config.stash.get(LEFT, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """What a worker told."""
    node.config.stash[LEFT] = getattr(node, "workeroutput", {}).get(LONG, 0)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Nothing is left out in silence."""
    left = config.stash.get(LEFT, 0)
    if left:
        terminalreporter.write_line(f"== tests left to python -m proofs_tests --{LONG}: {left}")
