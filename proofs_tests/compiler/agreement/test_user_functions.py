"""C and its reference in Python: agreement is found, and so is every difference, with the arguments that show it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relift as relift_api
from proofs_tests.command_line import here
from proofs_tests.portions import portioned
from relift.compiler.agreement import functions_in_c, user_functions
from relift.compiler.agreement.functions_in_c import functions_agree
from relift.compiler.agreement.user_functions import MOST_EDGES, check_reference, corners
from relift.compiler.agreement.verification import steps_agree
from relift.compiler.ahead.c_library import c_library
from relift.compiler.ahead.wheel import package_files
from relift.compiler.certificates.claims import certificates
from relift.compiler.meaning.evidence import meaning_of, with_meaning
from relift.compiler.program import compile_program
from relift.optimization import optimize
from relift.rewrites.application.matching import apply_rule
from relift.rewrites.checks.verdicts import TierResult
from relift.rewrites.derivation.files import from_json, to_json
from relift.rewrites.derivation.own_rules import assume
from relift.rewrites.derivation.steps import Derivation, Step
from relift.rewrites.library import RULES as LIBRARY
from relift.rewrites.loading import load_file, load_rules
from relift.rewrites.rule import Rule
from relift.semantics.errors import Refuted, ReliftError
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.programs import Program
from relift.semantics.language.vocabulary import userfun
from relift.semantics.syntax.terms import Input, UserFunction
from relift.semantics.syntax.types import boolean, f32, f64, i32, i64


def opaque(c: str, reference: Any, *types: Any) -> UserFunction:
    """A function in C, and its reference, of x, y, ...; the last type is the result's."""
    *parameters, result = types
    names = "xyz"[: len(parameters)]
    return UserFunction("f", tuple(names), tuple(parameters), result, c, None, reference)


EXAMPLES = Path(__file__).parents[3] / "examples"
FUNCTIONS = {
    f"{file.stem}.{f.name}": f
    for file in sorted(EXAMPLES.rglob("*.py"))
    if "userfun" in file.read_text()
    for f in vars(load_file(file)).values()
    if isinstance(f, UserFunction)
}


def logistic() -> UserFunction:
    """A traced function."""

    def traced(x: Any) -> Any:
        return 1.0 / (1.0 + rl.exp(-x))

    traced.__annotations__ = {"x": f32, "return": f32}
    made: UserFunction = userfun(traced)
    return made


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """What agrees agrees on as many batches as it takes to find those that do not; all edges are tried besides."""
    monkeypatch.setattr(user_functions, "EXAMPLES", 40)


@pytest.mark.usefixtures("few")
def test_user_functions_agree() -> None:
    """Opaque and traced functions, of one argument and of several."""
    assert check_reference(logistic(), ulps=16) is None
    assert (
        check_reference(opaque("return x * y + 1;", lambda x, y: x * y + 1, f64, f64, f64)) is None
    )
    assert check_reference(opaque("return x < y ? x : z;", _first, i32, i32, i32, i32)) is None


def floor(x: Any, y: Any) -> Any:
    """Python's division where C's rounds towards zero."""
    return x // y if y > 0 else x - x


@portioned("f", FUNCTIONS, 2)
@pytest.mark.usefixtures("few")
def test_user_functions_of_the_examples_agree_with_their_references(f: UserFunction) -> None:
    """In C and in Python, up to the rounding of exp, log, sqrt and the quotient."""
    assert check_reference(f, ulps=4) is None


def test_every_edge_of_many_arguments_is_tried() -> None:
    """Of four floats not every combination is, but each edge of each argument."""
    c = "return isinf(w) && w < 0 ? 1.0f : 0.0f;"
    f = UserFunction(
        "f", tuple("xyzw"), (f32,) * 4, f32, c, None, lambda x, y, z, w: x.dtype.type(0)
    )
    for count in (4, 6, 20):
        columns = corners([f32] * count)
        assert len(columns[0]) <= MOST_EDGES
        assert {len(np.unique(column.view(np.int32))) for column in columns} == {21}
    assert "-inf) is 1.0 in C and 0.0 in Python" in str(check_reference(f))


def _first(x: Any, y: Any, z: Any) -> Any:
    return x if x < y else z


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(
    ("c", "reference", "types", "shown"),
    [
        (
            "return isnan(y) || x < y ? x : y;",  # fmin, but for the sign of zero, which C leaves open
            lambda x, y: min(y, x),
            (f32, f32, f32),
            "f(0.0, nan) is 0.0 in C and nan",
        ),
        ("return x + 2;", lambda x: x + 1, (i32, i32), "f(0) is 2 in C and 1 in Python"),
        ("return x;", np.nan_to_num, (f32, f32), "f(inf) is inf in C"),
        (
            "return x;",
            lambda x: abs(x) if x == 0 else x,
            (f64, f64),
            "f(-0.0) is -0.0 in C and 0.0",
        ),
        ("return x > 7 ? 8 : x;", lambda x: x, (i64, i64), "f(9) is 8 in C and 9 in Python"),
        (
            "return y > 0 ? x / y : 0;",
            floor,
            (i32, i32, i32),
            "f(-1, 2) is 0 in C and -1 in Python",
        ),
        (
            "return x && y;",
            lambda x, y: x,
            (boolean, boolean, boolean),
            "f(True, False) is False in C",
        ),
    ],
)
def test_the_simplest_difference_is_shown(c: str, reference: Any, types: Any, shown: str) -> None:
    """At edges and elsewhere, in every type: no argument is larger than it need be."""
    assert str(check_reference(opaque(c, reference, *types))).startswith(shown)


@pytest.mark.parametrize(("a", "b"), [(0, 1), (-7, 50), (100, 3)])
@pytest.mark.usefixtures("few")
def test_neighbouring_references(a: int, b: int) -> None:
    """A family of functions agrees with itself, and not with its neighbour."""
    c = f"return ({a}) + x * {b};"
    assert check_reference(opaque(c, lambda x: a + x * b, i32, i32), edges=False) is None
    assert check_reference(opaque(c, lambda x: a + x * b + 1, i32, i32), edges=False) is not None


def test_every_combination_of_edges_is_tried() -> None:
    """A difference at one corner of three arguments, which Hypothesis would hardly draw, is found."""
    corner = "return x == 7 && y == INT_MAX && z == INT_MIN;"
    found = check_reference(opaque(corner, lambda x, y, z: x - x, i32, i32, i32, i32))
    assert str(found) == "f(7, 2147483647, -2147483648) is 1 in C and 0 in Python"


def test_without_edges_numbers_are_finite_and_at_most_a_million() -> None:
    """Functions that differ only beyond are not told apart."""
    c = "return fabs(x) <= 1000000.0f ? 0.0f : 1.0f;"  # 1 where x is NaN, too
    assert check_reference(opaque(c, lambda x: x * 0, f32, f32), edges=False, ulps=1) is None
    assert check_reference(opaque(c, lambda x: x * 0, f32, f32), ulps=1) is not None


def test_the_functions_of_a_program_are_compared() -> None:
    """Each that is written in C, once; what cannot be called is unknown, and what is traced is Relift's own C."""

    def raising(x: Any) -> Any:
        raise ZeroDivisionError("no reason")

    right = opaque("return x + 1;", lambda x: x + 1, i32, i32)
    wrong = opaque("return x + 2;", lambda x: x + 1, i32, i32)
    silent = opaque("return x;", raising, i32, i32)
    mistaken = opaque("return x + 1;", lambda x: x + 2, i32, i32)

    def said(f: UserFunction) -> list[tuple[bool, bool]]:
        body = rl.map_glb(0)(lambda v: f(f(v)), Input("x", i32[4]))
        return [(a.ok, a.refuted) for a in functions_agree(body)]

    assert said(right) == [(True, False)]
    assert said(wrong) == [(False, True)]
    assert said(silent) == [(False, False)]
    assert said(mistaken) == [(False, True)]  # its name and its C are those of the right one
    assert list(functions_agree(rl.map_glb(0)(logistic(), Input("x", f32[4])))) == []


def test_verify_compares_functions_where_no_kernel_went(tmp_path: Path) -> None:
    """Inputs are small numbers; what a function does beyond them is compared all the same."""
    file = tmp_path / "jumping.py"
    file.write_text(
        "import relift as rl\n"
        "@rl.userfun(c='return x > 100000.0f ? 0.0f : x + 1.0f;')\n"
        "def jump(x: rl.f32) -> rl.f32:\n"
        "    return x + 1\n"
        "@rl.program\n"
        "def jumping(x: rl.f32[4]):\n"
        "    return rl.map_glb(0)(lambda v: jump(v), x)\n"
    )
    ran = here("verify", str(file), "--devices", "cpu")

    assert ran.returncode == 1, ran.stderr
    assert "DIFFERS with the Python of jump: jump(1" in ran.stdout
    assert ran.stdout.count("DIFFERS") == 1


def test_nothing_is_validated_or_written_whose_function_is_another() -> None:
    """The text calls it by its name, and the test of a library draws small numbers: neither sees that its C differs."""
    jump = opaque("return x > 100000 ? 0 : x + 1;", lambda x: x + 1, i32, i32)
    program = Program("jumping", (x := Input("x", i32[4]),), rl.map_glb(0)(jump, x))
    kernel = compile_program(program)
    meaning = meaning_of(kernel, program)

    assert [k.verdict for k in meaning.kernels] == ["validated"]
    assert meaning.verdict == "refuted"
    [certificate] = with_meaning(certificates(kernel), meaning)
    assert certificate.refuted
    with pytest.raises(Refuted, match=r"jumping is not written: DIFFERS with the Python of"):
        c_library(program)
    with pytest.raises(Refuted, match=r"jumping is not written: DIFFERS with the Python of"):
        package_files({"jumping": (program, kernel)}, "mine")


def test_the_file_of_a_derivation_has_the_python_that_is_given_with_it() -> None:
    """It holds C only; without Python the steps are not compared, which is no difference."""
    right = opaque("return x + 1;", lambda x: x + 1, i32, i32)
    program = Program("more", (x := Input("x", i32[4]),), rl.map(right, rl.map(right, x)))
    result, how = apply_rule(LIBRARY["map_fusion"], program.body, ())
    step = Step("map_fusion", "forward", (), how)
    data = to_json(Derivation(program, {}, (step,), result))

    alone, known = from_json(data, LIBRARY), from_json(data, LIBRARY, functions=[right])

    assert steps_agree(known).ok
    assert not steps_agree(alone).known
    assert not steps_agree(
        from_json(data, LIBRARY, functions=[replace(right, c="return 1 + x;")])
    ).known


def test_c_that_does_not_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither side runs in this process: what never ends is unknown, and no more."""
    monkeypatch.setattr(functions_in_c, "SECONDS", 1.0)
    endless = opaque("while (x == x) { x = 1; } return x;", lambda x: x, i32, i32)

    [found] = functions_agree(rl.map_glb(0)(endless, Input("x", i32[4])))

    assert not found.known
    assert "did not end" in found.detail


def test_what_cancels_is_rounding() -> None:
    """A difference as small as the rounding of 1 is none, however small the result."""
    f = opaque("return exp(x * 1.0e-7f) - 1.0f;", lambda x: np.exp(x * 1.0e-7) - 1.0, f32, f32)

    [found] = functions_agree(rl.map_glb(0)(f, Input("x", f32[4])))

    assert found.ok, found.detail


RULES = """
import relift as rl
n = rl.nat("n")

@rl.userfun(c="return x + 1.0f;")
def more(x: rl.f32) -> rl.f32:
    return x + 1

@rl.userfun(c="return x + 2.0f;")
def most(x: rl.f32) -> rl.f32:
    return x + 1

@rl.rule()
def more_first(xs: rl.f32[n]):
    return rl.map(lambda v: v, rl.map(more, xs)), rl.map(more, xs)

@rl.rule()
def most_first(xs: rl.f32[n]):
    return rl.map(lambda v: v, rl.map(most, xs)), rl.map(most, xs)
"""


def test_a_rule_is_rejected_by_a_function_whose_c_is_another(tmp_path: Path) -> None:
    """The tiers judge the Python; `check` says of a function where its C is not that."""
    file = tmp_path / "own.py"
    file.write_text(RULES)
    ran = here("check", "--file", str(file), "--tier", "3")

    assert ran.returncode == 1, ran.stderr
    assert "the Python of most: most(0.0) is 2.0 in C and 1.0 in Python" in ran.stdout
    assert "more_first: tested only" in ran.stdout
    assert "most_first: FAILED" in ran.stdout


def most_first(folder: Path) -> Rule:
    """A rule that holds of the Python of its function, whose C is another."""
    file = folder / "own.py"
    file.write_text(RULES)
    rule = load_rules(file)["most_first"]
    assert isinstance(rule, Rule)
    return rule


def test_the_check_of_the_api_rejects_it_too(tmp_path: Path) -> None:
    """What is told while it checks has it as well, before the tiers."""
    told: list[TierResult] = []
    report = relift_api.check(most_first(tmp_path), tiers=("1", "3"), finished=told.append)

    assert report.headline == "failed"
    assert [(r.name, r.status) for r in told][:2] == [("userfun", "rejected"), ("types", "ok")]


def test_a_search_refuses_a_rule_whose_function_in_c_is_another(tmp_path: Path) -> None:
    """Whoever vouches for it, before the search."""
    x = Input("x", f32[8])
    rule, same = most_first(tmp_path), Program("same", (x,), rl.map(rl.absolute, x))

    with pytest.raises(ReliftError, match=r"most_first is refused: .* most\(0\.0\) is 2\.0 in C"):
        optimize(same, rules=[assume(rule)])
    with pytest.raises(ReliftError, match="most_first is refused"):
        relift_api.reach(same, "... >= map", {}, rules=[assume(rule)])
    with pytest.raises(ReliftError, match="most_first is refused"):
        relift_api.reach(same, "... >= map", {}, stages=[([rule], "... >= map")])
