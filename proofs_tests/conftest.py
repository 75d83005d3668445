"""What all tests share: the device that kernels run on."""

from __future__ import annotations

import gc
import os

import hypothesis
import pytest

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
    """Tests run on the default device, or on the one that is named."""
    parser.addoption("--device", help="cpu, or part of a device's name (see relift devices)")


def pytest_configure(config: pytest.Config) -> None:
    """The variable reaches the processes that tests start, too."""
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


def pytest_collection_finish() -> None:
    """What was collected stays to the end: the garbage collector need not go through it again and again."""
    gc.collect()
    gc.freeze()
