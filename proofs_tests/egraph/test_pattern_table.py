"""Every pattern has a program that runs and is right, wherever it stands; all pairs are `python -m proofs_tests.patterns`."""

from __future__ import annotations

import math

import pytest

import relift as rl
from proofs_tests.egraph.pattern_table import PATTERNS_OF, PLACES, outcome, program_of
from proofs_tests.portions import portioned
from relift.device import GPU
from relift.semantics.language.programs import Program
from relift.semantics.notation.parser import parse_term
from relift.semantics.notation.printer import show
from relift.semantics.patterns import PATTERNS, InOrder
from relift.semantics.syntax.binding import alpha_equal
from relift.semantics.syntax.terms import Input, Pattern, subterms
from relift.semantics.syntax.types import f32

_PLACES = list(PLACES)


def _of(number: int, turn: int) -> str:
    """A place for a pattern, another for the next."""
    return _PLACES[(3 * number + 5 * turn) % len(_PLACES)]


PAIRS = [(name, _of(i, 0)) for i, name in enumerate(PATTERNS_OF)]
IN_ORDER = ["reduce_while", "filter", "sort", "linear_search", "binary_search", "scatter_indices"]


@portioned("name,place", PAIRS, 2, ids=str)
def test_a_pattern_has_a_program_in_its_place(name: str, place: str) -> None:
    """Found by the floor of the search, not refuted by its certificate, and as the interpreter has it."""
    assert outcome(program_of(name, place)).said == "right"


@pytest.mark.parametrize("name", IN_ORDER)
def test_what_goes_in_order_has_a_text_for_a_gpu(name: str) -> None:
    """Below a map each work-item has its own; the certificate may leave a bound open, and refutes none."""
    found = outcome(program_of(name, "of each row"), GPU, run=False)

    assert found.said == "right", found.why


def test_the_table_has_every_pattern() -> None:
    """What no tiny program has is what the patterns of vectors and levels put together."""
    terms = [t for name in PATTERNS_OF for t, _ in subterms(program_of(name, "alone").body)]
    seen = {t.name for t in terms if isinstance(t, Pattern)}
    missing = {name for name, pattern in PATTERNS.items() if issubclass(pattern, InOrder)} - seen

    assert not missing


def test_a_maximum_is_written_as_it_is_read() -> None:
    """An operator that the language names keeps its name, beside the function that is called so."""
    x = Input("x", f32[16])
    program = Program(
        "largest",
        (x,),
        rl.scan_seq(rl.maximum, -math.inf, rl.map(lambda v: rl.maximum(v, 0.0), x)),
    )

    assert "maximum_" not in show(program.body)
    assert alpha_equal(parse_term(show(program.body), x=x), program.body)
