"""What a program made the compiler do: patterns under patterns, what stands in the text, and lines of the compiler.

Lines are followed for some of the cases only: following them takes several times as long as to compile.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from relift.compiler.fuzzing.programs.subjects import Subject
from relift.semantics.errors import ReliftError
from relift.semantics.syntax.terms import Pattern, Term, inside

FOLLOWED = 16
"""Lines are followed of one case in so many."""

_PACKAGE = Path(__file__).parents[1]
_FOLLOWED = tuple(str(_PACKAGE / name) for name in ("lowering", "codegen"))
_WORDS = re.compile(
    r"\b(?:barrier|local|vload\d+|vstore\d+|convert_\w+|for|if|else|select|fmin|fmax|min|max|long|double)\b"
)


def of_terms(subject: Subject) -> set[str]:
    """Every pattern with the one that it stands in.

    >>> import numpy as np, relift as rl
    >>> from relift.compiler.fuzzing.coverage import of_terms
    >>> from relift.compiler.fuzzing.programs.subjects import Subject
    >>> @rl.program
    ... def twice(x: rl.f32[3]):
    ...     return rl.map_glb(0)(lambda v: v + v, rl.gather(rl.reverse, x))
    >>> sorted(of_terms(Subject(twice, {}, ())))
    ['gather in map_glb', 'map_glb in program']
    """
    return set(_pairs(subject.program.body, "program"))


def _pairs(t: Term, around: str) -> Iterator[str]:
    here = around
    if isinstance(t, Pattern):
        here = t.name
        yield f"{here} in {around}"
    for _, u, _ in inside(t):
        yield from _pairs(u, here)


def of_text(text: str) -> set[str]:
    """What stands in a kernel: pairs of words that follow each other."""
    words = _WORDS.findall(re.sub(r"//.*", "", text))
    return {f"{a} {b}" for a, b in itertools.pairwise(words)}


def of_compiler(subject: Subject) -> set[str]:
    """The lines of the compiler that a program reaches."""
    lines: set[tuple[str, int]] = set()
    before = sys.gettrace()

    def line(frame: FrameType, event: str, _: Any) -> Callable[..., Any]:
        lines.add((frame.f_code.co_filename, frame.f_lineno))
        return line

    def called(frame: FrameType, event: str, _: Any) -> Callable[..., Any] | None:
        return line if frame.f_code.co_filename.startswith(_FOLLOWED) else None

    sys.settrace(called)
    try:
        subject.compiled()
    except ReliftError:
        pass  # as far as it came
    finally:
        sys.settrace(before)
    return {f"{Path(file).stem}:{number}" for file, number in lines}
