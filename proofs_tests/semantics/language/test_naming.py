"""Two functions of one name are two everywhere: in what is computed, printed, searched, proved and kept in files."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from proofs_tests.compiler.programs import typed
from proofs_tests.prover import needs_prover
from relift.egraph.search.optimize import optimize
from relift.rewrites.checks.free.tier import check_free
from relift.rewrites.checks.rocq.tier import prove
from relift.rewrites.checks.smt.tier import check_index
from relift.rewrites.derivation.files import from_json, to_json
from relift.rewrites.library import RULES
from relift.rewrites.rule import rule
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.programs import Program
from relift.semantics.language.tracing import trace
from relift.semantics.notation.parser import names_used, parse_term
from relift.semantics.notation.printer import show
from relift.semantics.syntax.sizes import nat
from relift.semantics.syntax.terms import UserFunction
from relift.semantics.syntax.types import Scalar, f32

n = nat("n")


def named(name: str, function: Callable[[Any], Any], of: Scalar = f32) -> UserFunction:
    """A user function, traced from Python."""
    return UserFunction(name, ("x",), (of,), of, None, trace(function, [of], of), function)


def opaque(name: str, c: str) -> UserFunction:
    """A user function of which only its C text is known."""
    return UserFunction(name, ("x",), (f32,), f32, c, None, lambda x: x)


def functions() -> Program:
    """User functions called f, one of which calls another, and called like a pattern, a parameter and a variable."""
    two, three = named("f", lambda x: x * 2.0), named("f", lambda x: x * 3.0)
    both, pattern = named("f", lambda x: two(three(x)) + 1.0), named("map", lambda x: x + 7.0)
    parameter, variable = named("xs", lambda x: x - 5.0), named("v", lambda x: x * x)

    @typed(xs=f32[n])
    def calls(xs: Any) -> Any:
        def all_of(v: Any) -> Any:
            return two(v) + three(v) - both(v) + pattern(v) * parameter(v) + variable(v)

        return rl.map(all_of, xs)

    return calls


def operators() -> Program:
    """Operators of one name, with the same laws."""
    first = rl.operator(
        lambda x, y: x + y, associative=True, commutative=True, neutral=0, name="op"
    )
    other = rl.operator(
        lambda x, y: x * y, associative=True, commutative=True, neutral=1, name="op"
    )
    adds = rl.operator(
        lambda x, y: x + y, associative=True, commutative=True, neutral=0, name="add"
    )

    @typed(xs=f32[n])
    def reduces(xs: Any) -> Any:
        return rl.reduce(first, 0.0, xs) + rl.reduce(other, 1.0, xs) - rl.reduce(adds, 0.0, xs)

    return reduces


@pytest.mark.parametrize("make", [functions, operators])
def test_what_is_printed_reads_back(make: Callable[[], Program]) -> None:
    """The text names each function apart from all else that it names."""
    program = make()
    names = {**names_used(program.body), **{p.name: p for p in program.parameters}, "n": n}
    assert parse_term(show(program.body), names) == program.body


def test_names_are_kept_where_they_tell_apart() -> None:
    """The first of a name keeps it; what means the same is one function."""
    names = sorted(names_used(functions().body))
    assert names == ["f", "f_2", "f_3", "map_2", "v_2", "xs_2"]
    assert sorted(names_used(operators().body)) == ["add_2", "op", "op_2"]


@pytest.mark.parametrize("make", [functions, operators])
def test_search_keeps_both(make: Callable[[], Program]) -> None:
    """What is extracted, kept in a file, read back and run means what the program means."""
    program = make()
    best = optimize(program, sizes={"n": 64}, target="cpu", budget=3)
    data = json.loads(json.dumps(to_json(best.derivation)))
    result = from_json(data, RULES).result
    x = np.random.default_rng(0).integers(-2, 3, 64).astype(np.float32)
    low = Program("low", program.at({"n": 64}).parameters, result)
    np.testing.assert_array_equal(low(x), program(x))


@rule()
def one_for_another(xs: f32[n]) -> Any:  # type: ignore[valid-type]
    """Two functions of which only C texts are known, and not the same."""
    return rl.map(opaque("f", "return x + 1.0f;"), xs), rl.map(opaque("f", "return x + 2.0f;"), xs)


def test_a_rule_between_two_functions_of_one_name_holds_nowhere() -> None:
    """Neither on free symbols nor as index functions."""
    wrong: Any = one_for_another
    assert {check_free(wrong).status, check_index(wrong).status} <= {
        "refuted",
        "skipped",
        "unproved",
    }


@needs_prover
def test_nor_is_it_proved() -> None:
    """The kernel of Rocq sees two functions."""
    wrong: Any = one_for_another
    assert prove([wrong])["one_for_another"].status == "unproved"
