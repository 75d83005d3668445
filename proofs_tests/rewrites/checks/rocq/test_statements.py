"""Statements: what a rule becomes for the prover says what the rule says."""

# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a rule are sizes and types of the object language, not Python types)

from __future__ import annotations

import relift as rl
from relift.rewrites.checks.rocq.statements import denotation, proposition
from relift.rewrites.notation import A, B, n
from relift.rewrites.rule import rule
from relift.semantics.syntax.signatures import Fun
from relift.semantics.syntax.sizes import nat
from relift.semantics.syntax.terms import Input
from relift.semantics.syntax.types import f32, i32, tup

XS = Input("xs", f32[4])
s = nat("s", least=3)


def test_two_numbers_are_two_unknowns() -> None:
    """Of a number in floating point nothing is known but that it is itself."""
    _, given = denotation(rl.map(lambda x: (x + 1.5) * 2.5 + 1.5, XS))
    numbers = [of.of for of in given.values() if of.of.startswith("number")]

    assert sorted(numbers) == ["number 1.5", "number 2.5"]


def test_a_function_on_two_types_is_two_unknowns() -> None:
    ys = Input("ys", rl.f64[4])
    _, given = denotation(rl.map(lambda p: (p[0] * p[0], p[1] * p[1]), rl.zip(XS, ys)))
    assert len([of for of in given.values() if of.of == "mul"]) == 2


def test_components_of_nested_pairs() -> None:
    """A triple is a pair of a pair and the last."""
    p = Input("p", tup(i32, i32, i32))

    assert [denotation(p[i])[0] for i in range(3)] == [
        "(fst (fst input_p))",
        "(snd (fst input_p))",
        "(snd input_p)",
    ]


def test_an_index_that_turns_negative_is_a_whole_number() -> None:
    """Natural numbers have no -1: `(i - 1) % 4` is computed over Z; what stays above is not."""
    wrapped, _ = denotation(rl.gather(lambda i: (i - 1) % 4, XS))
    reversed_, _ = denotation(rl.gather(lambda i: 3 - i, XS))

    assert "Z.of_nat" in wrapped
    assert "Z" not in reversed_


def test_no_binder_hides_a_definition() -> None:
    """Metavariables that are called as the library, or Rocq, calls something."""

    @rule()
    def mapped(split: Fun[A, B], nat: A[n]):
        return rl.map(split, nat), rl.map(split, nat)

    text = proposition(mapped)
    assert "(split_ split_' : A -> B)" in text
    assert "(nat_ nat_' : (arr A))" in text


def test_what_sizes_promise_is_assumed() -> None:
    """A least size, and that what is subtracted is no more than what it is taken from."""

    @rule()
    def shortened(xs: A[s - 2]):
        return rl.join(rl.split(1, xs)), xs

    text = proposition(shortened)
    assert "3 <= s ->" in text
    assert "2 <= s ->" in text
