"""What random programs are drawn from: cases by name, inputs with edges, equal programs by rules."""

from __future__ import annotations

import random
from collections.abc import Generator
from contextlib import contextmanager

import numpy as np
import pytest

from relift.compiler.codegen.barriers import Barriers
from relift.compiler.fuzzing.judgement.judging import Court
from relift.compiler.fuzzing.programs.cases import ALL_KINDS, NAMED, Case, case_of, program_of
from relift.compiler.fuzzing.programs.inputs import SORTS, arguments_of, cropped, simpler
from relift.compiler.fuzzing.programs.subjects import subject_of
from relift.rewrites.library import RULES
from relift.semantics.errors import ReliftError
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.programs import program
from relift.semantics.patterns import EachOf, Store
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import distinct
from relift.semantics.syntax.types import f32, i32, tup

FORTY = Size.of(40)


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_a_name_makes_the_program_again(kind: str) -> None:
    """Changed or not; another change makes another program now and then."""
    case = Case(NAMED[kind], 3, (5, 8))
    assert case_of(str(case)) == case
    assert program_of(case_of(str(case))) == program_of(case)
    changed = [program_of(Case(NAMED[kind], 3).changed(n)) for n in range(6)]
    assert any(p != changed[0] for p in changed)


def test_programs_read_behind_what_groups_skip(monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiler that takes every barrier for one that always happens is found: here by a shorter row of groups."""

    @contextmanager
    def always_happens(self: Barriers) -> Generator[None, None, None]:
        yield

    subject = subject_of(case_of("groups 79"))
    assert subject is not None
    assert Court(None).seen(subject).sight == "right"
    monkeypatch.setattr(Barriers, "skippable", always_happens)
    assert Court(None).seen(subject).sight == "text"


def test_what_names_no_program_is_refused() -> None:
    """One line that shows a name."""
    with pytest.raises(ReliftError, match="names no program; one is called like"):
        case_of("groups of 3")


def test_high_level_programs_say_nothing_of_who_computes() -> None:
    """And the derivations that lower them replay."""
    subjects = [s for n in range(6) if (s := subject_of(Case(NAMED["high"], n))) is not None]
    assert subjects
    for subject in subjects:
        assert subject.derivation is not None
        origin = subject.derivation.program.body
        assert not [t for t in distinct(origin) if isinstance(t, EachOf | Store)]
        assert len(subject.derivation.replay(RULES)) == len(subject.derivation.steps) + 1


def test_inputs_have_edges_and_indices_stay_below_what_they_index() -> None:
    """Infinities are among the edges; an index is none of them."""

    @program
    def picked(x: f32[FORTY], ids: i32[FORTY]):
        return rl.map_glb(0)(lambda v: v + 1.0, rl.gather_indices(ids, x))

    for sort in SORTS:
        x, ids = arguments_of(picked, random.Random(1), sort)
        assert x.dtype == np.float32
        assert ids.min() >= 0
        assert ids.max() < 40
        assert np.isfinite(x).all() == (sort != "edges")


def test_arguments_are_made_smaller_and_simpler() -> None:
    """Of tuples, each component."""
    x = (np.array([1, 2, 3], "float32"), np.array([4, 5, 6], "int32"))
    short = cropped(x, tup(f32, i32)[2])
    assert [list(part) for part in short] == [[1, 2], [4, 5]]
    assert [list(v) for v in simpler(np.array([1, 0, 2], "int32"))] == [
        [0, 0, 0],
        [0, 0, 2],
        [1, 0, 0],
    ]
    assert simpler(np.array([0, 0], "int32")) == []
