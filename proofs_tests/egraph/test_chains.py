"""Long chains of maps: an e-graph is given one map, and the search neither fills its memory nor finds less."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from proofs_tests.compiler.programs import typed
from relift.compiler.program import compile_program
from relift.device import CPU, GPU, DeviceDescription
from relift.egraph.search.optimize import as_written, optimize
from relift.egraph.search.starts.chains import LONGEST, shortened
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.tactics.combinators import derive
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.programs import Program
from relift.semantics.syntax.types import f32


def chain(links: int, length: int = 4096) -> Program:
    def maps(x: Any) -> Any:
        for i in range(links):
            x = rl.map(lambda v, i=i: v * 0.5 + float(i), x)
        return x

    return typed(x=f32[length])(maps)


def test_short_chains_stay() -> None:
    """What an e-graph holds in every way is given to it as it is."""
    with pytest.raises(NoMatch, match="no chain of maps is long"):
        derive(chain(LONGEST), shortened())


@pytest.mark.parametrize("device", [CPU, GPU])
def test_twelve_maps_are_searched_whole(device: DeviceDescription) -> None:
    """No budget runs out, and what is found is no worse than the program as it is written, and right."""
    program = chain(12)
    best = optimize(program, {}, device)
    assert best.complete
    assert best.cost.seconds <= as_written(program, {}, device).cost.seconds
    x = np.linspace(-1, 1, 4096, dtype=np.float32)
    np.testing.assert_allclose(compile_program(best.term)(x), program(x), rtol=1e-6)
