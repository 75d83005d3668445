"""A package that adds one thing of each kind is installed and used; what fails to load is named and skipped."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from proofs_tests.command_line import ROOT
from relift.plugins import GROUPS

USE = """
from relift_evens.patterns import Evens  # before anything of Relift

import numpy as np
import relift as rl
from relift.compiler.dialects.backend import backends
from relift.compiler.idioms.finding import expanded, sought
from relift.device import preset
from relift.rewrites.loading import load_rules, load_strategy
from relift.semantics.patterns import PATTERNS
from pathlib import Path

n = rl.nat("n")

@rl.program
def halved(x: rl.f32[2 * n]):
    return rl.map(lambda v: v + 1.0, rl.evens(x))

x = np.arange(256, dtype=np.float32)
print(PATTERNS["evens"] is Evens, rl.show(halved.body), halved(x[:6]))
(rule,) = load_rules(Path("plugin:evens")).values()
print([r.status for r in rl.check(rule, tiers=("1", "3", "4a")).results])
best = rl.optimize(halved, sizes={"n": 128}, target="tiny", strategies=[load_strategy("plugin:chunks")])
print((rl.compile(best.term)(x) == halved(x)).all())
print([i.name for i in sought()][:1], bool(expanded("Scaling")))
print([*backends()], preset("tiny").vector_width)
"""

BROKEN = """
[relift.rules]
gone = relift_evens.nothing
empty = relift_evens.devices
evens = relift_evens.rules
exits = worse_exits
[relift.backends]
raises = worse_raises
[relift.devices]
wrong = relift_evens.devices:replace
zero = worse_zero:ZERO
[relift.gadgets]
odd = relift_evens.rules
"""
"""Of a second package: what is missing, what holds nothing, what has a name that is taken, what is something else, what
ends the process that imports it, and what raises when it is first asked."""

ZERO = """
from dataclasses import replace
from relift.device import preset  # which asks for the plug-ins of its group
ZERO = replace(preset("cpu"), vector_width=0)
"""
RAISES = """
class BACKEND:
    name = "raises"
    text = seen = owns = opened = session = lambda *given: []

    @staticmethod
    def drivers():
        raise RuntimeError("of two\\nlines")
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip installed the example."""
    folder = tmp_path_factory.mktemp("plugin")
    source = folder / "source"
    shutil.copytree(
        ROOT / "examples" / "plugin", source, ignore=shutil.ignore_patterns("build", "*.egg-info")
    )
    words = ["--no-index", "--no-build-isolation", "--no-deps", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", "-q", *words]
    ran = subprocess.run(
        [*command, "--target", str(folder / "site"), str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return folder / "site"


@pytest.fixture(scope="module")
def broken(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an installed package whose entry points all fail; it comes after the other one in the alphabet."""
    folder = tmp_path_factory.mktemp("broken")
    info = folder / "worse-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: worse\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(BROKEN)
    (folder / "worse_zero.py").write_text(ZERO)
    (folder / "worse_exits.py").write_text("import sys\nsys.exit(3)\n")
    (folder / "worse_raises.py").write_text(RAISES)
    return folder


def ran(words: list[str], *sites: Path) -> subprocess.CompletedProcess[str]:
    """What a Python prints that has the folders among its packages."""
    path = os.pathsep.join(map(str, (ROOT / "src", *sites)))
    environment = {**os.environ, "PYTHONPATH": path}
    environment.pop("RELIFT_PLUGINS", None)
    return subprocess.run(
        [sys.executable, *words], env=environment, capture_output=True, text=True, check=False
    )


def test_one_of_each_kind_is_used(site: Path) -> None:
    """A pattern, a rule about it, an idiom, a device, a back end and a scheduler of a package that is installed."""
    done = ran(["-c", USE], site)
    lines = done.stdout.splitlines()

    assert done.returncode == 0, done.stderr
    assert "is skipped" not in done.stderr
    assert lines[0] == "True map(lambda v: v + 1.0, evens(x)) [1. 3. 5.]"
    assert lines[1] == "['ok', 'ok', 'proved']"
    assert lines[2] == "True"
    assert lines[3] == "['scaling'] True"
    assert lines[4] == "['opencl', 'c', 'cuda', 'serial'] 2"


def test_the_example_has_one_of_each_group(site: Path) -> None:
    """So that a new group is shown, too."""
    text = (ROOT / "examples" / "plugin" / "pyproject.toml").read_text(encoding="utf-8")

    assert [group for group in GROUPS if f'entry-points."relift.{group}"' not in text] == []


FINDINGS = """
import json, relift.installation as i
print(json.dumps([(f.name, f.state, f.detail, f.is_fatal) for f in i._plugins()]))
"""


def test_what_fails_is_named_and_skipped(site: Path, broken: Path) -> None:
    """Every failure has a line with its reason, and makes `doctor` end with 1; the other plug-ins work."""
    done = ran(["-c", FINDINGS], site, broken)
    found = json.loads(done.stdout)
    failed = {name: detail for name, state, detail, _ in found if state == "broken"}

    assert failed.keys() == {
        f"plug-in {n}"
        for n in ("gone", "empty", "evens", "exits", "raises", "wrong", "zero", "odd")
    }
    assert all(fatal == (state == "broken") for _, state, _, fatal in found)
    assert sum(state == "works" for _, state, _, _ in found) == len(GROUPS)
    for name, reason in {
        "gone": "No module named 'relift_evens.nothing'",
        "empty": "it has no rule; it must name a module that defines rules",
        "evens": "relift-evens has one of that name",
        "exits": "SystemExit: 3",
        "raises": "RuntimeError: of two lines",
        "wrong": "it must name a relift.device.DeviceDescription",
        "zero": "its vector_width is 0; it must name a relift.device.DeviceDescription",
        "odd": "there is no group relift.gadgets; there are: relift.patterns",
    }.items():
        assert reason in failed[f"plug-in {name}"]
        assert name == "odd" or f"the plug-in {name} (" in done.stderr


def test_a_plug_in_that_is_not_there(site: Path) -> None:
    """The command line says which there are."""
    done = ran(["-m", "relift", "check", "--file", "plugin:odds"], site)

    assert done.returncode == 2
    assert "no plug-in called odds brings rules; there are: evens" in done.stderr


def test_plug_ins_can_be_turned_off(site: Path) -> None:
    """By a variable."""
    code = "import os; os.environ['RELIFT_PLUGINS'] = 'off'; import relift as rl; rl.evens"

    assert "has no attribute 'evens'" in ran(["-c", code], site).stderr
