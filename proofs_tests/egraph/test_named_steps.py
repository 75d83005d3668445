"""Steps written one after the other: a kernel for each, however long the program is without names."""

from __future__ import annotations

from typing import Any

import numpy as np

from proofs_tests.compiler.programs import typed
from relift.compiler.program import compile_program
from relift.device import CPU
from relift.egraph.search.derived import after
from relift.egraph.search.optimize import optimize
from relift.egraph.search.starts.named import joined_under_names, kernels_under_names
from relift.egraph.search.starts.staged import lowered
from relift.rewrites.derivation.steps import Derivation
from relift.rewrites.library import RULES
from relift.rewrites.tactics.combinators import apply, derive
from relift.rewrites.tactics.long_functions import names_stored, values_named
from relift.semantics.indices.functions import reverse
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.programs import Program
from relift.semantics.syntax.binding import alpha_equal
from relift.semantics.syntax.terms import parts_of
from relift.semantics.syntax.types import f32


def steps(count: int) -> Program:
    """So many steps, each of which reads the last one twice."""

    def written(x: Any) -> Any:
        for _ in range(count):
            x = rl.map(lambda q: 0.5 * q[0] + q[1], rl.zip(x, rl.gather(reverse, x)))
        return x

    return typed(x=f32[16])(written)


def test_kernels_of_names_come_together() -> None:
    """What is done to each kernel is done where its name is given, and the names go: that is the lowered whole."""
    source = steps(6)
    parted = derive(source, values_named(most=16))
    parted = after(source, parted, names_stored())
    kernels = kernels_under_names(Program("whole", source.parameters, parted.result))
    assert len(kernels) > 2
    found: list[Derivation] = [derive(k.program, apply("map_to_glb", d=0)) for k in kernels]
    whole = joined_under_names(parted, kernels, found)
    assert alpha_equal(whole.replay(RULES)[-1], lowered(kernels, [d.result for d in found]))


def test_long_steps_have_a_program() -> None:
    """A program of thousands of parts whose steps are few is searched step by step, and follows by rules."""
    source = steps(8)
    assert parts_of(source.body) > 2048
    best = optimize(source, {}, CPU).candidates[0]
    assert alpha_equal(best.derivation.replay(RULES)[-1], best.term.body)
    x = np.linspace(0, 1, 16, dtype=np.float32)
    np.testing.assert_allclose(compile_program(best.term)(x), source(x), rtol=1e-5)
