"""`relift.testing` as a user sees it: random programs on which interpreter, type and printer agree."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from relift.semantics.language.programs import Program
from relift.semantics.notation.parser import parse_term
from relift.semantics.notation.printer import show
from relift.semantics.numpy_values import to_numpy
from relift.semantics.syntax.binding import alpha_equal
from relift.semantics.syntax.sizes import Size, nat
from relift.semantics.syntax.substitution import at_sizes
from relift.semantics.syntax.terms import Pattern, subterms
from relift.semantics.syntax.types import Array, Tuple, Type, Vector, substitute_type
from relift.testing import arguments, programs, values


def shapes(t: Type) -> Any:
    """The shape of the NumPy value of a type, in a tuple for each tuple; all its sizes are numbers."""
    match t:
        case Tuple(parts):
            return tuple(map(shapes, parts))
        case Array(element, n) | Vector(element, n):
            return outer(n.evaluate({}), shapes(element))
        case _:
            return []


def outer(n: int, shape: Any) -> Any:
    """An array of tuples is stored as a tuple of arrays."""
    return tuple(outer(n, s) for s in shape) if isinstance(shape, tuple) else [n, *shape]


def shapes_of(value: Any) -> Any:
    """The shape of a NumPy value, in a tuple for each tuple."""
    return tuple(map(shapes_of, value)) if isinstance(value, tuple) else list(np.shape(value))


@settings(max_examples=150, deadline=None)
@given(programs(), st.data())
def test_the_inferred_size_is_the_actual_length(program: Program, data: st.DataObject) -> None:
    """Run on NumPy arguments, a program returns arrays of the shape that its type states."""
    inputs = data.draw(arguments(program))
    sizes = {name: Size.of(value) for name, value in program.solve_sizes(inputs).items()}

    expected = shapes(substitute_type(program.body.type, {}, sizes))

    assert shapes_of(program(*inputs)) == expected


@settings(max_examples=100, deadline=None)
@given(programs())
def test_the_printed_form_traces_back(program: Program) -> None:
    """The text of the body, read with the program's parameters and sizes, is the body."""
    names: dict[str, Any] = {p.name: p for p in program.parameters}
    sizes = {name: nat(name) for name in program.sizes}

    again = parse_term(show(program.body), names | sizes)

    assert alpha_equal(again, program.body)
    assert again.type == program.body.type


@settings(max_examples=60, deadline=None)
@given(programs(), st.data())
def test_giving_sizes_commutes_with_evaluation(program: Program, data: st.DataObject) -> None:
    """The program at its arguments' sizes computes the same, and has the type at these sizes."""
    inputs = data.draw(arguments(program))
    numbers = program.solve_sizes(inputs)
    sizes = {name: Size.of(value) for name, value in numbers.items()}
    concrete = program.at(numbers)

    np.testing.assert_equal(concrete(*inputs), program(*inputs))
    assert concrete.body.type == substitute_type(program.body.type, {}, sizes)
    assert concrete.body == at_sizes(program.body, sizes)


@settings(max_examples=50)
@given(st.integers(0, 10).flatmap(lambda k: st.tuples(st.just(k), programs(k))))
def test_programs_have_at_most_the_patterns_asked_for(drawn: tuple[int, Program]) -> None:
    """The bound counts every pattern of the body."""
    limit, program = drawn

    assert sum(isinstance(t, Pattern) for t, _ in subterms(program.body)) <= limit


@given(st.data())
def test_values_fit_their_type(data: st.DataObject) -> None:
    """Values are nested lists that become one NumPy array."""
    from relift.semantics.syntax.types import i32

    value = data.draw(values(i32[nat("n"), 2], {"n": 3}))

    assert to_numpy(value, i32[3, 2]).shape == (3, 2)
