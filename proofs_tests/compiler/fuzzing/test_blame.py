"""Who is blamed: each culprit by a fault that is there for certain."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from relift.compiler.dialects.c.compiler import drivers
from relift.compiler.fuzzing.judgement.blame import blamed
from relift.compiler.fuzzing.judgement.containment import Contained, NoResult
from relift.compiler.fuzzing.judgement.formulation import in_numpy
from relift.compiler.fuzzing.judgement.judging import Court, Seen
from relift.compiler.fuzzing.judgement.shrinking import shrunk, weight
from relift.compiler.fuzzing.programs.cases import NAMED, Case
from relift.compiler.fuzzing.programs.subjects import Subject, same, subject_of
from relift.compiler.fuzzing.programs.variants import lowered
from relift.compiler.program import runs
from relift.compiler.running.compiled import Compiled
from relift.rewrites.application.matching import apply_rule
from relift.rewrites.derivation.own_rules import OwnRule
from relift.rewrites.derivation.steps import Derivation, Step
from relift.rewrites.notation import A, B, n
from relift.rewrites.rule import Rule, rule
from relift.semantics.errors import Unsupported
from relift.semantics.indices.functions import reverse
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.programs import program
from relift.semantics.patterns import Gather
from relift.semantics.syntax.signatures import Fun
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import Pattern, distinct
from relift.semantics.syntax.types import f32

FOUR, SIX = Size.of(4), Size.of(6)


@program
def turned(x: f32[FOUR], y: f32[SIX]):
    return rl.map_glb(0)(lambda v: v + 2.0 * y[1], rl.gather(reverse, x))


SUBJECT = Subject(
    turned, {}, (np.array([1, 2, 3, 4], "float32"), np.array([5, 6, 7, 8, 9, 10], "float32"))
)


@dataclass(frozen=True)
class Miscompiled(Subject):
    """A subject whose text is another one than the compiler's."""

    def compiled(self) -> Compiled:
        found = super().compiled()
        return replace(found, source=found.source.replace("* y", "+ y"))


def fake(behaviour: str) -> Contained:
    """A device that does one thing with whatever it is sent."""
    script = (
        "import sys, os, signal\n"
        "from multiprocessing.connection import Connection\n"
        "c = Connection(int(sys.argv[-3]))\n"
        "c.send(('device', 'a fake device'))\n"
        f"c.recv(); {behaviour}\n"
    )
    return Contained(None, words=(sys.executable, "-c", script))


def answered(values: list[float]) -> Contained:
    """A device that gives these numbers."""
    return fake(f"import numpy; c.send(('results', ([numpy.float32({values})], 'text'))); c.recv()")


# ---- what is seen


def test_a_right_program_is_right() -> None:
    """By rules, in NumPy, as text, and on a device that gives what the interpreter says."""
    expected = [float(v) for v in SUBJECT.value()]
    device = answered(expected)
    device.name()
    assert Court(device).seen(SUBJECT).sight == "right"
    device.end()


@pytest.mark.parametrize(
    ("behaviour", "sight", "detail"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", "crashed", "SIGSEGV"),
        ("sys.exit('no more')", "crashed", "no more"),
        ("c.send(('refused', 'redefinition of tile')); c.recv()", "not built", "redefinition"),
        ("import numpy; c.send(('results', ([numpy.float32([0] * 4)], ''))); c.recv()", "differs", "instead of"),
    ],
)  # fmt: skip
def test_what_a_driver_does_is_contained(behaviour: str, sight: str, detail: str) -> None:
    """A crash, an end, a refusal, a wrong result: an answer each, and the next program is run."""
    device = fake(behaviour)
    device.name()
    for _ in range(2):
        seen = Court(device, texts=False).seen(SUBJECT)
        assert seen.sight == sight
        assert detail in seen.detail
        device.end()


def test_a_driver_that_hangs_is_ended() -> None:
    """It never answers, so however short the wait is, the answer is that it hangs."""
    device = fake("signal.pause()")
    device.seconds = 0.2
    compiled = SUBJECT.compiled()
    answer = device.run(compiled, SUBJECT.rows(compiled))
    assert isinstance(answer, NoResult)
    assert answer.how == "hangs"


@pytest.mark.parametrize("kind", ["items", "groups", "high"])
def test_the_formulation_in_numpy_is_the_interpreters(kind: str) -> None:
    """On random programs, some of which it says nothing of."""
    compared = 0
    for seed in range(12):
        subject = subject_of(Case(NAMED[kind], seed))
        if subject is not None:
            with suppress(Unsupported):
                assert same(in_numpy(subject.here, subject.arguments), subject.value())
                compared += 1
    assert compared > 3


# ---- who is blamed


def test_a_refuted_text_is_the_compilers_fault() -> None:
    """Whether the device differs or not."""
    wrong = Miscompiled(SUBJECT.program, {}, SUBJECT.arguments)
    seen = Court(None).seen(wrong)
    assert seen.sight == "text"
    blame = blamed(wrong, seen, simulate=False)
    assert (blame.culprit, blame.cause) == ("compiler", "compiler values")
    by_a_device = blamed(wrong, Seen("differs", "1 instead of 2", "some device"), simulate=False)
    assert by_a_device.culprit == "compiler"


@pytest.mark.parametrize("sight", ["differs", "crashed", "hangs"])
def test_a_device_is_blamed_for_a_validated_text(sight: Any) -> None:
    """By its name, with the evidence."""
    blame = blamed(SUBJECT, Seen(sight, "", "some device"), simulate=False)
    assert (blame.culprit, blame.name) == ("device", "some device")
    assert any("values shown" in said for said in blame.because)


def test_a_text_that_no_device_builds_is_the_compilers_fault() -> None:
    """One that another device builds is the device's."""
    refusing, building = fake("c.send(('refused', 'no')); c.recv()"), answered([1.0, 2.0, 3.0, 4.0])
    building.label, refusing.label = "", ""
    seen = Seen("not built", "redefinition of 'tile_2'", "some device")
    assert blamed(SUBJECT, seen, [refusing], simulate=False).culprit == "compiler"
    right = answered([float(v) for v in SUBJECT.value()])
    assert blamed(SUBJECT, seen, [right], simulate=False).culprit == "device"
    for device in (refusing, building, right):
        device.end()


@dataclass(frozen=True)
class BeyondC(Subject):
    """A subject whose text calls what C does not have."""

    def compiled(self) -> Compiled:
        found = super().compiled()
        return replace(found, source=found.source.replace("* y[1]", "* cospi(y[1])"))


@pytest.mark.skipif(not drivers(), reason="there is no C compiler here")
def test_a_text_that_relift_does_not_print_is_the_compilers_fault() -> None:
    """The device never sees it, whatever other devices make of it."""
    subject, device = BeyondC(SUBJECT.program, {}, SUBJECT.arguments), Contained("C with OpenMP")
    seen = Court(device, texts=False).seen(subject)
    assert seen.sight == "not printed", seen.detail
    assert "cospi" in seen.detail
    blame = blamed(subject, seen, simulate=False)
    assert (blame.culprit, blame.name) == ("compiler", "not printed")
    device.end()


@rule()
def backwards(f: Fun[A, B], xs: A[n]):
    """Wrong: the elements come in another order."""
    return rl.map(f, xs), rl.gather(reverse, rl.map(f, xs))


def test_a_wrong_rule_is_blamed_by_its_name() -> None:
    """The first step that changes a value, among steps that do not."""

    @program
    def high(x: f32[FOUR]):
        return rl.map(lambda v: v + 1.0, x)

    assert isinstance(backwards, Rule)
    turned, filled = apply_rule(backwards, high.body, policy="exact")
    low, lowering = lowered(turned)
    steps = (Step("backwards", "forward", (), filled), *lowering)
    own = (OwnRule(backwards, "ASSUMED"),)
    derivation = Derivation(high, {}, steps, low, "exact", own)
    subject = Subject(replace(high, body=low), {}, (np.array([1, 2, 3, 4], "float32"),), derivation)
    seen = Court(None).seen(subject)
    assert seen.sight == "rule"
    assert blamed(subject, seen).cause == "rule backwards"


def test_a_wrong_interpreter_is_blamed() -> None:
    """NumPy says otherwise."""
    blame = blamed(SUBJECT, Seen("formulation", "the interpreter says 1, NumPy 2"))
    assert blame.culprit == "interpreter"
    assert "gather" in blame.name


# ---- small


def test_a_subject_is_shrunk_to_what_shows_it() -> None:
    """A gather is left, of one element."""

    def shows(subject: Subject) -> bool:
        return runs(subject.program) and any(
            isinstance(t, Gather) for t in distinct(subject.program.body)
        )

    small = shrunk(SUBJECT, shows)
    assert shows(small)
    assert weight(small) < weight(SUBJECT)
    assert [p.name for p in small.program.parameters] == ["x"]
    patterns = [t.name for t in distinct(small.program.body) if isinstance(t, Pattern)]
    assert sorted(patterns) == ["gather"]
    assert not np.any(small.arguments[0])


def test_every_module_is_named_in_the_chapter() -> None:
    """The page of the package lists its files."""
    import relift.compiler.fuzzing as package

    folder = Path(str(package.__file__)).parent
    names = {f.stem for f in folder.glob("*.py")} - {"__init__"}
    assert package.__doc__ is not None
    assert not {name for name in names if name not in package.__doc__}
