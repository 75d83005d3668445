"""Ctrl-C ends every verb soon, with status 130 and one line, and leaves nothing running and nothing half-written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from proofs_tests.command_line import ROOT, session
from proofs_tests.portions import portioned

SOON = 5.0
"""Seconds; on a quiet machine it takes half of one."""

MATMUL = ("examples/matmul.py", "--size", "n=512,m=512,k=512")
VERBS = {
    "check": ("check",),
    "check by Rocq": ("check", "--tier", "4b"),
    "devices": ("devices",),
    "optimize": ("optimize", *MATMUL, "--budget", "20", "--tune"),
    "bench": ("bench",),
    "verify": ("verify", *MATMUL, "--budget", "20"),
    "ledger": ("ledger", "--audit", "--sample", "20"),
    "lift": ("lift", "proofs_tests/compiler/idioms/fixtures", "--workers", "2"),
}
MOMENTS = (0.4, 1.0, 2.2)
"""Seconds after which somebody presses Ctrl-C: it loads, it starts children, it works."""


def started(words: list[str], tmp_path: Path) -> subprocess.Popen[str]:
    """Python on some words, with a group of processes and a cache of its own."""
    return subprocess.Popen(
        [sys.executable, *words],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT / "src"),
            "XDG_CACHE_HOME": str(tmp_path / "cache"),
        },
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@portioned(
    "verb,alone",
    {f"{v}-{('terminal', 'alone')[alone]}": (v, alone) for v in VERBS for alone in (False, True)},
    {f"{v}-{('terminal', 'alone')[i % 2]}" for i, v in enumerate(VERBS)},
)
def test_ctrl_c_ends_a_verb(verb: str, alone: bool, tmp_path: Path) -> None:
    """A terminal sends the signal to all processes of the command, `kill` to the first only."""
    moment = MOMENTS[(list(VERBS).index(verb) + alone) % len(MOMENTS)]
    words = [*VERBS[verb], *(("--out", str(tmp_path / "out")) if verb == "optimize" else ())]
    process = started(["-m", "relift", *words], tmp_path)
    time.sleep(moment)
    try:
        (os.kill if alone else os.killpg)(process.pid, signal.SIGINT)
        pressed = time.monotonic()
        _, said = process.communicate(timeout=60)
        seconds = time.monotonic() - pressed
        time.sleep(0.3)  # children notice the end of their parent
        left = session(process.pid)
    finally:
        if session(process.pid):
            os.killpg(process.pid, signal.SIGKILL)

    assert (process.returncode, said) == (130, "relift: interrupted\n")
    assert seconds < SOON
    assert left == []
    assert not (tmp_path / "out").exists()


UPDATE = """
import sys
from pathlib import Path
from relift.rewrites.ledger import book
book.FILE = Path(sys.argv.pop())
from relift.__main__ import main
book.FILE.with_name("begun").touch()
main()
"""


@pytest.mark.parametrize(
    ("moment", "alone"), [(0.5, False), (2.0, True)], ids=["terminal", "alone"]
)
def test_an_interrupted_update_leaves_the_old_ledger(
    moment: float, alone: bool, tmp_path: Path
) -> None:
    """Whole, to the last byte, and no prover at work: entries are recorded together, at the end."""
    file = tmp_path / "rocq" / "ledger.json"
    file.parent.mkdir()
    before = (ROOT / "proofs_tests" / "rocq" / "ledger.json").read_bytes()
    file.write_bytes(before)
    process = started(["-c", UPDATE, "ledger", "--update", str(file)], tmp_path)
    begun = file.with_name("begun")
    while (
        not begun.exists() and process.poll() is None
    ):  # a busy machine takes its time to get there
        time.sleep(0.05)
    begun.unlink()
    time.sleep(moment)
    try:
        assert process.poll() is None  # it is at work
        (os.kill if alone else os.killpg)(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=60)
        time.sleep(0.3)
        left = session(process.pid)
    finally:
        if session(process.pid):
            os.killpg(process.pid, signal.SIGKILL)

    assert (process.returncode, said) == (130, "relift: interrupted\n")
    assert left == []
    assert file.read_bytes() == before
    assert [p.name for p in file.parent.iterdir() if p.name != ".lock"] == ["ledger.json"]


PRESSED = "import os, signal, time\ndef press():\n  os.kill(os.getpid(), signal.SIGINT)\n  time.sleep(0.05)\n"
WHERE = {
    "in a finaliser": "class Gone:\n  def __del__(self): press()\n"
    "def work():\n  Gone()\n  time.sleep(20)",
    "in code made by exec": "def work():\n  exec('press()\\ntime.sleep(20)')",
    "while Z3 is asked": (
        "def work():\n"
        "  import threading, z3\n"
        "  from relift.rewrites.checks.smt.goals import answer_of\n"
        "  x, y, z = z3.Ints('x y z'); solver = z3.Solver()\n"
        "  solver.add(x*x*x + y*y*y + z*z*z == 42, x > 10**6, y != 0, z != 0)\n"
        "  solver.set(timeout=20000)\n"
        "  threading.Timer(0.3, press).start()\n"
        "  print(answer_of(solver))"
    ),
    "while the command line is imported": "def work(): pass\nclass Finder:\n"
    "  def find_spec(self, name, *_):\n    if name == 'relift.cli': press()\n"
    "import sys; sys.meta_path.insert(0, Finder())",
    "while a module in C is imported": "def work():\n  try:\n    press()\n    time.sleep(20)\n"
    "  except BaseException as error:\n    raise ImportError('no capsule') from error",
    "while a class is made": "class Name:\n  def __set_name__(self, owner, name): press()\n"
    "def work():\n  type('Made', (), {'name': Name()})",
    "where what fails is said": "from relift.cli import output\ndef work():\n  try:\n    press()\n"
    "  except BaseException as error:\n    output.fail(f'internal error: {error}', 70)",
    "where it is swallowed": "def work():\n  try:\n    press()\n    time.sleep(20)\n"
    "  except BaseException:\n    time.sleep(20)",
    "after the answer": "def work():\n  import atexit; atexit.register(press)",
}  # fmt: skip


@pytest.mark.parametrize("where", WHERE)
def test_no_interruption_is_lost(where: str) -> None:
    """Python forgets some, and Z3 takes those that come while it works; one after the answer changes nothing."""
    program = (
        f"{PRESSED}{WHERE[where]}\n"
        "import sys, types\n"
        "from relift.__main__ import main\n"
        "if 'Finder' not in globals():\n"
        "  sys.modules['relift.cli'] = types.SimpleNamespace(main=work)\n"
        "main()"
    )
    started = time.monotonic()
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip

    expected = (0, "") if where == "after the answer" else (130, "relift: interrupted\n")
    assert (ran.returncode, ran.stderr) == expected
    assert time.monotonic() - started < 15
