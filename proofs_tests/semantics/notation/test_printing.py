"""Printed terms read back as the same terms, in one line and broken over several."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs_tests.strategies import types
from relift.rewrites.loading import load_program
from relift.semantics.errors import IllTyped
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.coercion import literal
from relift.semantics.notation.parser import names_used, parse_term, parse_type
from relift.semantics.notation.printer import show
from relift.semantics.syntax.binding import alpha_equal
from relift.semantics.syntax.sizes import nat
from relift.semantics.syntax.terms import Input, Term
from relift.semantics.syntax.types import Type, boolean, f32, f64, i32, i64
from relift.testing import INPUTS, terms

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.py"))
SIZES = {name: nat(name) for name in ("n", "m", "k")}
NAMES: dict[str, Any] = {**SIZES, **{name: Input(name, t) for name, t in INPUTS.items()}}
n = nat("n")
xs = Input("xs", f32[n])


@pytest.mark.parametrize(
    "file", [p for p in EXAMPLES if "@programs.program" in p.read_text()], ids=lambda p: p.stem
)
@pytest.mark.parametrize("width", [40, 100])
def test_examples_read_back(file: Path, width: int) -> None:
    """Every example program is read back from its text."""
    program = load_program(str(file))
    sizes = {name: nat(name) for name in program.sizes}
    names = {**sizes, **names_used(program.body), **{p.name: p for p in program.parameters}}

    assert alpha_equal(parse_term(show(program.body, width=width), names), program.body)


@settings(max_examples=150)
@given(terms(), st.sampled_from([30, 100]))
def test_random_programs_read_back(t: Term, width: int) -> None:
    """The text of any well-typed term denotes that term, with its type."""
    again = parse_term(show(t, width=width), NAMES)

    assert alpha_equal(again, t)
    assert again.type == t.type


@pytest.mark.parametrize(
    ("t", "text"),
    [
        (literal(1, f64), "f64(1.0)"),
        (literal(-2, i64), "i64(-2)"),
        (f64(2), "f64(2.0)"),
        (f64(literal(2, f32)), "f64(f32(2.0))"),
        (i64(literal(True, boolean)), "i64(boolean(True))"),
        (-literal(2, i32), "-i32(2)"),
        (literal(1, i32) + 2, "i32(1) + 2"),
        (literal(1, f32) < 2, "f32(1.0) < 2.0"),
        (~literal(True, boolean), "~boolean(True)"),
        (rl.minimum(literal(1, i32), 2), "minimum(1, 2)"),
        (rl.add(literal(1, i32), 2), "add(1, 2)"),
        (rl.select(literal(True, boolean), 1.0, 2.0), "select(boolean(True), 1.0, 2.0)"),
        (rl.reduce_seq(lambda a, x: a + f64(x), f64(0), xs), "reduce_seq(lambda a, x: a + f64(x), f64(0.0), xs)"),
        (rl.map(lambda x: x + 1, xs), "map(lambda x: x + 1.0, xs)"),
        (rl.repeat(2, literal(1, i32)), "repeat(2, 1)"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_constants_say_their_type_where_nothing_else_does(t: Term, text: str) -> None:
    """f64 and i64 always do; f32, i32 and boolean do where Python would compute, or convert, the number."""
    assert show(t) == text
    assert alpha_equal(parse_term(text, NAMES | {"xs": xs}), t)


@given(types())
def test_types_read_back(t: Type) -> None:
    """The text of any type denotes that type."""
    assert parse_type(str(t)) == t


def test_pipeline_reads_from_left_to_right() -> None:
    """The other style names the data first and each stage after it."""
    t = rl.reduce(rl.add, 0.0, rl.map(lambda x: x * x, xs))

    assert show(t, "pipeline") == "xs >> map(lambda x: x * x) >> reduce(add, 0.0)"


def test_wide_terms_are_broken_within_the_width() -> None:
    """A wide term is laid out on lines that fit, one argument to a line."""
    text = show(rl.zip(rl.map(lambda x: x + 1.0, xs), rl.map(lambda x: x - 1.0, xs)), width=30)

    assert text.splitlines() == [
        "zip(",
        "  map(lambda x: x + 1.0, xs),",
        "  map(lambda x: x - 1.0, xs)",
        ")",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("map(lambda x: x, zs)", "the name zs means nothing"),
        ("xs +", "not a term"),
        ("__import__('os')", "the name __import__ means nothing"),
        ("[x for x in xs]", "ListComp is not allowed"),
        ("xs.type", "Attribute is not allowed"),
    ],
)
def test_other_text_is_refused(text: str, message: str) -> None:
    """What is no term is refused before anything runs."""
    with pytest.raises(IllTyped, match=message):
        parse_term(text, {"xs": xs})


@pytest.mark.parametrize("text", ["f32[", "f128", "f32[2.5]", "(f32,)"])
def test_other_types_are_refused(text: str) -> None:
    """What is no type is refused."""
    with pytest.raises(IllTyped):
        parse_type(text)
