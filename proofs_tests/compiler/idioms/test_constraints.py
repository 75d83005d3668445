"""The language of constraints: what it reads, what it refuses and where, and what its solver finds."""

from __future__ import annotations

import pytest

from proofs_tests.compiler.idioms.answer_sets import alternatives, solutions
from proofs_tests.compiler.idioms.checks import compiled
from relift.compiler.idioms.constraints.atoms import ATOMS
from relift.compiler.idioms.constraints.expansion import All, Flat, expand
from relift.compiler.idioms.constraints.parsing import WrongConstraint, parse
from relift.compiler.idioms.constraints.solving import Solver, TooManySteps
from relift.compiler.idioms.facts.relations import Relations
from relift.compiler.idioms.finding import IDIOMS, expanded, find, library


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Constraint A\n( {x} is load instruction and\n  {y} is lode )\nEnd", "f.idl:3:3: no atom reads"),
        ("Constraint A {x} is unused", "f.idl:1:21: the file ends here"),
        ("Constraint A ( {x} is unused and ) End", "f.idl:1:34: ')' is not expected here"),
        ("Constraint A {x[} is unused End", "f.idl:1:17: "),
        ("Constraint A {x} is unused End\nConstraint A {x} is unused End", "f.idl:2:1: A is defined twice"),
        ("Constraint A {x} is twirl instruction End", "f.idl:1:14: no atom reads"),
        ("", "f.idl:1:1: "),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place(text: str, said: str) -> None:
    """A file that is not understood is refused at a line and a column."""
    with pytest.raises(WrongConstraint) as refused:
        parse(text, "f.idl")
    assert str(refused.value).startswith(said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Constraint A\n inherits B at {x} End", "f.idl:2:2: there is no constraint B"),
        ("Constraint A inherits A at {x} End", "inherits itself"),
        ("Constraint A {x[i]} is unused End", "the parameter i has no value"),
        ("Constraint A inherits B at {x[0..1]} End Constraint B {y} is unused End", "one is named here"),
    ],
)  # fmt: skip
def test_what_cannot_be_written_out_is_said(text: str, said: str) -> None:
    """Names of constraints, parameters and ranges that are wrong are refused when they are needed."""
    with pytest.raises(WrongConstraint, match=said):
        expand("A", parse(text, "f.idl"))


def test_inherited_names_are_renamed_or_placed() -> None:
    """A name that is renamed is the outer one, with its members; all others stand below the place."""
    text = """
    Constraint Inner ( {a.x} has data flow to {b[1]} and {c} is unused ) End
    Constraint Outer inherits Inner with {u} as {a} and {w[2]} as {b[1]} at {p.q} End
    """
    found = expand("Outer", parse(text, "f.idl"))
    assert isinstance(found, All)
    assert [a.names for a in found.parts if isinstance(a, Flat)] == [("u.x", "w[2]"), ("p.q.c",)]


def test_parameters_choose_and_repeat() -> None:
    """A range makes a copy for each number, `if` chooses by numbers, a default gives way to what is given."""
    text = """
    Constraint Chain ( {v[i]} has data flow to {v[i+1]} for all i=0..N-1 and
                       if N=2 then {v[0]} is unused else {v[1]} is unused endif )
                     for N=1 if not otherwise specified End
    Constraint Two inherits Chain(N=2) at {c} End
    """
    known = parse(text, "f.idl")
    names = [[a.names for a in alternatives(expand(n, known))[0]] for n in ("Chain", "Two")]
    assert names == [
        [("v[0]", "v[1]"), ("v[1]",)],
        [("c.v[0]", "c.v[1]"), ("c.v[1]", "c.v[2]"), ("c.v[0]",)],
    ]


def test_every_idiom_is_written_out() -> None:
    """The library has no constraint with a name, a parameter or an atom that is not there."""
    assert all(expanded(i.constraint, i.depth) for i in IDIOMS)
    assert len({a.words for a in ATOMS}) == len(ATOMS)
    assert len(library()) > 20


@pytest.mark.parametrize(
    ("file", "function", "constraint"),
    [
        ("reductions", "two_sums", "ScalarReduction"),
        ("reductions", "place_of_most", "ArgReduction"),
        ("reductions", "histogram_weights", "Histogram"),
        ("reductions", "keeps_place", "Histogram"),
        ("reductions", "dot_walk", "DotProduct"),
        ("reductions", "running_before", "Scan"),
        ("maps", "axpy", "AXPY"),
        ("maps", "transpose", "Transposition"),
        ("maps", "transposed_onto_itself", "Transposition"),
        ("products", "csr", "CSR"),
        ("products", "csr_onto_itself", "CSR"),
    ],
)
def test_clingo_finds_the_same(file: str, function: str, constraint: str) -> None:
    """Two solvers that share the relations alone have equal sets of solutions."""
    module = compiled(file)
    relations = Relations(module.functions[function], module)
    formula = expanded(constraint)
    ours = {
        frozenset((n, str(v)) for n, v in s.items()) for s in Solver(relations).solutions(formula)
    }
    assert ours == solutions(formula, relations)


def test_clingo_collects_the_same() -> None:
    """What is collected for each solution is what the second solver collects: the reads of a stencil."""
    module = compiled("maps")
    relations = Relations(module.functions["smooth"], module)
    formula = expanded("Stencil", 1)
    ours = {
        frozenset((n, str(v)) for n, v in s.items()) for s in Solver(relations).solutions(formula)
    }
    assert any("reads" in n and v.count("%") > 1 for s in ours for n, v in s)
    assert ours == solutions(formula, relations)


def test_a_bound_is_not_an_answer() -> None:
    """A search that comes to its bound says so; it does not look as if nothing was there."""
    module = compiled("products")
    relations = Relations(module.functions["gemm_ijk"], module)
    with pytest.raises(TooManySteps):
        list(Solver(relations, most=20).solutions(expanded("GEMM", 3)))
    assert "GEMM" in find(relations, most=20).given_up


def test_generalised_dominance() -> None:
    """Data that comes past the values that are named is noticed."""
    text = """Constraint Through
    ( {store} is store instruction and {value} is first argument of {store} and
      {load} is load instruction and
      all flow from {store} or any origin to any of {value} passes through at least one of {load} )
    End"""
    formula = expand("Through", parse(text, "f.idl"))
    module = compiled("maps")
    found = {}
    for name in ("copy", "matrix_sum"):
        relations = Relations(module.functions[name], module)
        found[name] = len(list(Solver(relations).solutions(formula)))
    assert found == {"copy": 1, "matrix_sum": 0}
