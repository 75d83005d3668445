"""What is required of the inputs of a kernel: who says it, what follows, what is tried, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proofs_tests.command_line import here as command
from proofs_tests.compiler.foreign.kernels import ByHandKernel, program
from proofs_tests.compiler.foreign.requiring import REQUIRING, SPARSE
from relift.compiler.foreign.comparison import validate_foreign
from relift.compiler.foreign.inputs import drawn_inputs
from relift.compiler.foreign.required.drawing import Admitted
from relift.compiler.foreign.required.facts import Facts
from relift.compiler.foreign.required.statements import NotRequired, required
from relift.compiler.validation.bits import Bits
from relift.compiler.validation.symbols import Algebra
from relift.semantics.language import functions as pat
from relift.semantics.language import vocabulary as rl
from relift.semantics.syntax.types import f32, i32


def named(name: str) -> ByHandKernel:
    [k] = [k for k in REQUIRING if name in k.name]
    return k


@pytest.mark.parametrize("k", REQUIRING, ids=lambda k: k.name)
def test_inputs_that_are_tried_are_as_is_required(k: ByHandKernel) -> None:
    """Each statement, by the interpreter, is true of all that are drawn, which are not all the same."""
    statements = k.required()
    admitted = Admitted(k.program(), required(k.program(), statements))
    seen = set()
    for called in admitted.machines:
        rows = {
            n: np.array(row) for n, row in drawn_inputs(k.program(), called, statements).items()
        }
        for s in statements:
            types = {p.name: str(p.type)[:3] for p in s.parameters}
            given = [
                rows[n].astype({"i32": np.int32, "f32": np.float32}[t]) for n, t in types.items()
            ]
            assert np.all(s(*given)), (called, s.name)
            seen.add(tuple(np.concatenate(given)))
    assert len(seen) > len(statements)


@pytest.mark.parametrize("name", ["sparse rows, one", "sparse rows, several", "largest", "search"])
def test_without_the_statements_it_is_refuted(name: str) -> None:
    """By pointers, or numbers, that are in no order; who reads it is told which inputs decide."""
    k = named(name)
    found = validate_foreign(k.right(), k.program())
    assert found.verdict == "refuted"
    assert found.inputs


def test_one_statement_of_several_is_not_enough() -> None:
    """Pointers that ascend may be beyond the elements, and are not looked for elsewhere."""
    k = named("sparse rows, one")
    ascend, _, columns = k.required()
    found = validate_foreign(k.right(), k.program(), [ascend, columns])
    assert (found.verdict, found.fault) == ("refuted", "bounds")
    rows = drawn_inputs(k.program(), found.inputs, [ascend, columns])
    assert np.all(np.diff(rows["ptr"]) >= 0)


def test_what_was_proved_of_some_inputs_is_not_taken_for_others() -> None:
    """Values of one shape share an answer only with what is known of their inputs alone."""
    a = Algebra()
    p, q = ([a.cell(n, i, "i32") for i in range(2)] for n in "pq")
    linked = a.equal(a.add(p[0], a.cell("k", 0, "i32")), a.whole(0, "i32"))
    known = [linked, a.equal(a.cell("k", 0, "i32"), a.whole(0, "i32"))]
    bits = Bits(facts=Facts(a, known))
    zero = a.whole(0, "i32")
    assert bits.always(a.equal(p[0], zero))
    assert not bits.always(a.equal(q[0], zero))


def test_all_numbers_of_a_range_are_taken_by_as_many() -> None:
    """None of five is left out by five that differ; of six one may be."""
    for end, sure in ((5, True), (6, False)):
        a = Algebra()
        p = [a.cell("p", i, "i32") for i in range(5)]
        known = [c for v in p for c in (a.le(a.whole(0, "i32"), v), a.lt(v, a.whole(end, "i32")))]
        known += [a.not_equal(x, y) for i, x in enumerate(p) for y in p[:i]]
        taken = a.whole(0, "bool")
        for v in p:
            taken = a.bits("or", taken, a.equal(v, a.whole(3, "i32")))
        assert Bits(facts=Facts(a, known)).always(taken) == sure


def _said(names: dict[str, Any], body: Any) -> Any:
    return program("said", body, **names)()


@pytest.mark.parametrize(
    ("names", "body", "why"),
    [
        ({"prt": i32[4]}, lambda p: pat.map(lambda v: v >= 0, p), "prt, which is no input of sparse"),
        ({"ptr": f32[4]}, lambda p: pat.map(lambda v: v >= 0.0, p), "ptr of type f32[4]"),
        ({"ptr": i32[5]}, lambda p: pat.map(lambda v: v >= 0, p), "ptr of type i32[5]"),
        ({"ptr": i32[4]}, lambda p: p, "is i32[4]; what is required is a truth value"),
        ({"ptr": i32[4]}, lambda p: pat.map(lambda _: rl.equal(1, 2), p), "false whatever the inputs are"),
        (
            {"ptr": i32[4]},
            lambda p: pat.map(lambda v: (v < 3) & (v > 5), p),
            "no inputs are as is required by said",
        ),
        (
            {"val": f32[6]},
            lambda x: pat.map(lambda v: rl.sqrt(v) < -1.0, x),
            "no inputs were found that are",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(names: dict[str, Any], body: Any, why: str) -> None:
    """In one line that names it; so is what no inputs are, for any kernel would do."""
    k = named("sparse rows, one")
    with pytest.raises(NotRequired) as error:
        validate_foreign(k.right(), SPARSE(), [_said(names, body)])
    assert why in error.value.message
    assert "\n" not in error.value.message


TEXT = """
import relift as rl
n = rl.nat("n")

@rl.program
def looked_up(k: rl.i32[n], x: rl.f32[n]):
    return rl.map(lambda i: rl.at_runtime(i, 0.0, x), k)

@rl.program
def inside(k: rl.i32[n]):
    return rl.map(lambda i: (0 <= i) & (i < n), k)
"""

LOOKUP = "kernel void f(global const int *k, global const float *x, global float *y) { y[get_global_id(0)] = x[k[get_global_id(0)]]; }"


def test_the_command_line_names_what_is_required(tmp_path: Path) -> None:
    """By its name beside the program; without it, what decides is said, and how to say what holds."""
    (tmp_path / "p.py").write_text(TEXT)
    (tmp_path / "f.cl").write_text(LOOKUP)
    words = (
        "validate",
        f"{tmp_path}/p.py:looked_up",
        "--size",
        "n=4",
        "--kernel",
        f"{tmp_path}/f.cl",
    )
    launch = (*words, "--entry", "f", "--global", "4", "--local", "4")
    bare, said = command(*launch), command(*launch, "--requires", "inside")
    assert bare.returncode == 1
    assert "k decides where it goes (k = [" in bare.stdout
    assert "--requires NAME, a program of k that gives bool" in bare.stdout
    assert said.returncode == 0
    assert said.stdout.rstrip().endswith("for inputs of which is required: inside")
