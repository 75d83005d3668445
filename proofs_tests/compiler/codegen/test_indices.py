"""Simplified indices mean what was written: brute force over all values, and Z3 over all extents."""

from __future__ import annotations

import ast
import itertools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import z3
from hypothesis import given
from hypothesis import strategies as st

from relift.compiler.codegen.values.indices import index_code
from relift.compiler.dialects.opencl.printer import OpenCL
from relift.semantics.errors import Unsupported
from relift.semantics.indices import expressions as ix
from relift.semantics.indices.atoms import (
    Index,
    Quotient,
    Remainder,
    Variable,
    depends_on,
    linear_in,
)
from relift.semantics.indices.expressions import variable
from relift.semantics.indices.ranges import bounds
from relift.semantics.indices.rules import RULES, IndexRule
from relift.semantics.syntax.sizes import Size, nat


@dataclass(frozen=True)
class Written:
    """An index as it was built, and what it means, apart from all simplification."""

    index: Index
    meaning: Callable[[dict[str, int]], int]


EXTENTS = {"i": 6, "j": 4, "k": 1, "l": 9}


def atom(name: str) -> Written:
    return Written(variable(name, EXTENTS[name]), lambda values: values[name])


def constant(n: int) -> Written:
    return Written(Size.of(n), lambda values: n)


def apply(
    build: Callable[..., Index], mean: Callable[..., int], *parts: Written, by: int | None = None
) -> Written:
    """`build` on the indices and `mean` on their values; `by` is a divisor or a factor."""
    more = () if by is None else (by,)
    return Written(
        build(*(p.index for p in parts), *more),
        lambda values: mean(*(p.meaning(values) for p in parts), *more),
    )


def extend(inner: st.SearchStrategy[Written]) -> st.SearchStrategy[Written]:
    """Larger indices from smaller ones."""
    divisors, factors = st.integers(1, 12), st.integers(-8, 12)
    return st.one_of(
        st.builds(lambda a, b: apply(operator.add, operator.add, a, b), inner, inner),
        st.builds(lambda a, n: apply(operator.mul, operator.mul, a, by=n), inner, factors),
        st.builds(lambda a, n: apply(ix.divide, operator.floordiv, a, by=n), inner, divisors),
        st.builds(lambda a, n: apply(ix.modulo, operator.mod, a, by=n), inner, divisors),
        st.builds(lambda a, b: apply(ix.minimum, min, a, b), inner, inner),
        st.builds(lambda a, b: apply(ix.maximum, max, a, b), inner, inner),
    )


indices = st.recursive(
    st.one_of(st.sampled_from(sorted(EXTENTS)).map(atom), st.integers(-9, 20).map(constant)),
    extend,
    max_leaves=10,
)


def all_values() -> list[dict[str, int]]:
    ranges = [range(n) for n in EXTENTS.values()]
    return [dict(zip(EXTENTS, values, strict=True)) for values in itertools.product(*ranges)]


@given(indices)
def test_simplification_keeps_the_value(written: Written) -> None:
    """For every value of every variable."""
    for values in all_values():
        assert ix.evaluate(written.index, values) == written.meaning(values)


@given(indices)
def test_bounds_hold(written: Written) -> None:
    """Bounds are bounds, for every value of every variable."""
    found = bounds(written.index)
    for values in all_values():
        value = written.meaning(values)
        assert found.low is None or ix.evaluate(found.low, {}) <= value
        assert found.high is None or value <= ix.evaluate(found.high, {})


@given(indices, st.sampled_from(sorted(EXTENTS)), st.integers(0, 3))
def test_substitution_is_evaluation(written: Written, name: str, value: int) -> None:
    """An index with a variable replaced by a number has the value that it has at that number."""
    value = min(value, EXTENTS[name] - 1)
    replaced = ix.substitute(written.index, variable(name, EXTENTS[name]), Size.of(value))
    for values in all_values():
        if values[name] == value:
            assert ix.evaluate(replaced, values) == written.meaning(values)


@given(indices, st.sampled_from(["i", "j", "l"]))
def test_strides_are_strides(written: Written, name: str) -> None:
    """Where an index is linear in a variable, the parts do not mention it and add up."""
    v = variable(name, EXTENTS[name])
    linear = linear_in(written.index, v)
    if linear is not None:
        stride, rest = linear
        assert not depends_on(stride, v)
        assert not depends_on(rest, v)
        for values in all_values():
            total = ix.evaluate(stride, values) * values[name] + ix.evaluate(rest, values)
            assert total == written.meaning(values)


class AsInC(ast.NodeTransformer):
    """Quotients are cut off, to zero."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        cut = isinstance(node.op, ast.Div)
        return ast.Call(ast.Name("int", ast.Load()), [node], []) if cut else node


@given(indices)
def test_c_text_means_the_same(written: Written) -> None:
    """Python reads the C text, and divides as C does, where it may divide (nothing negative, but for a sign in front)."""
    try:
        text = OpenCL().expression(index_code(written.index))
    except Unsupported:
        return  # the index may be negative where it is divided, which C would round the other way
    tree = ast.fix_missing_locations(AsInC().visit(ast.parse(text, mode="eval")))
    code = compile(tree, "<index>", "eval")
    for values in all_values():
        names: dict[str, Any] = {**values, "min": min, "max": max, "int": int}
        assert eval(code, names) == written.meaning(values)


# ---- the rules: their equations by Z3, what their steps find by brute force


EQUATIONS = [(rule, left, right) for rule in RULES for left, right in rule.equations]


class Formulas(ast.NodeVisitor):
    """A rule's text in Z3; a quotient and a remainder are defined by `a == b*q + r` and `0 <= r < b`."""

    def __init__(self) -> None:
        self.definitions: list[Any] = []

    def of(self, text: str) -> Any:
        return self.visit(ast.parse(text, mode="eval").body)

    def visit_Name(self, node: ast.Name) -> Any:
        return z3.Int(node.id)

    def visit_Constant(self, node: ast.Constant) -> Any:
        return z3.IntVal(node.value)

    def visit_Call(self, node: ast.Call) -> Any:
        a, b = map(self.visit, node.args)
        match node.func:
            case ast.Name("min"):
                return z3.If(a <= b, a, b)
            case ast.Name("max"):
                return z3.If(a >= b, a, b)
            case _:
                raise AssertionError(ast.dump(node))

    def visit_Compare(self, node: ast.Compare) -> Any:
        a, b = self.visit(node.left), self.visit(node.comparators[0])
        match node.ops:
            case [ast.LtE()]:
                return a <= b
            case [ast.Lt()]:
                return a < b
            case [ast.GtE()]:
                return a >= b
            case _:
                raise AssertionError(ast.dump(node))

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        a, b = self.visit(node.left), self.visit(node.right)
        match node.op:
            case ast.Add():
                return a + b
            case ast.Sub():
                return a - b
            case ast.Mult():
                return a * b
            case _:
                pass
        q, r = z3.FreshInt("q"), z3.FreshInt("r")
        self.definitions += [a == b * q + r, r >= 0, r < b]
        return q if isinstance(node.op, ast.FloorDiv) else r


def refutation(conditions: Sequence[str], left: str, right: str) -> Any:
    """What Z3 says to `conditions and left != right`."""
    formulas = Formulas()
    assumed = [formulas.of(condition) for condition in conditions]
    different = formulas.of(left) != formulas.of(right)
    solver = z3.Solver()
    solver.set(timeout=20_000, random_seed=1)
    solver.add(*assumed, *formulas.definitions, different)
    return solver.check()


@pytest.mark.parametrize(
    ("rule", "left", "right"),
    EQUATIONS,
    ids=[f"{rule.name}: {left}" for rule, left, _ in EQUATIONS],
)
def test_rules_hold_for_all_numbers(rule: IndexRule, left: str, right: str) -> None:
    """The equation follows from the conditions, for all whole numbers: by Z3."""
    assert refutation(rule.conditions, left, right) == z3.unsat


@pytest.mark.parametrize(
    ("rule", "condition"),
    [
        (rule, condition)
        for rule in RULES
        for condition in rule.conditions
        if condition not in ("d >= 1", "c >= 1", "g >= 1")  # else the left side divides by zero
    ],
    ids=lambda x: x if isinstance(x, str) else x.name,
)
def test_conditions_are_needed(rule: IndexRule, condition: str) -> None:
    """Without one of its conditions, a rule is false."""
    others = [c for c in rule.conditions if c != condition]
    assert z3.sat in [refutation(others, left, right) for left, right in rule.equations]


DIVISORS = st.sampled_from([Size.of(k) for k in (1, 2, 3, 4, 6, 8, 12)])


@given(indices, DIVISORS)
def test_steps_find_what_their_rules_ask_for(written: Written, d: Size) -> None:
    """The numbers that a step returns meet the conditions of its rule, for every value of the variables."""
    e, by = written.index, ix.evaluate(d, {})
    q, r = ix.parts_by_divisibility(e, d)
    k, factored, shifted = ix.quotient_by_range(r, d), ix.common_factor(r, d), ix.shift(r, d)
    low = bounds(r).low
    whole = ix.recombined(5 * (d * ix.divide(e, d) + ix.modulo(e, d)))
    for values in all_values():
        rest = ix.evaluate(r, values)
        assert ix.evaluate(e, values) == by * ix.evaluate(q, values) + rest
        if k is not None:
            assert 0 <= rest - by * ix.evaluate(k, values) < by
        if factored is not None:
            g, x, s = (ix.evaluate(part, values) for part in factored)
            assert rest == g * x + s
            assert 0 <= s < g
            assert by % g == 0
        if low is not None:
            assert rest + shifted * by >= 0
        assert ix.evaluate(ix.recombined(e), values) == ix.evaluate(e, values)
        assert ix.evaluate(whole, values) == 5 * ix.evaluate(e, values)


# ---- symbolic extents: Z3 knows no rule of ours


def z3_of(e: Index, known: dict[str, Any]) -> Any:
    """An index as a term of Z3, for all sizes."""
    total: Any = z3.IntVal(0)
    for monomial, c in e.terms.items():
        product: Any = z3.IntVal(c)
        for a, power in monomial:
            for _ in range(power):
                product = product * _z3_atom(a, known)
        total = total + product
    return total


def _z3_atom(a: object, known: dict[str, Any]) -> Any:
    match a:
        case Quotient(e, d):
            return z3_of(e, known) / z3_of(d, known)
        case Remainder(e, d):
            return z3_of(e, known) % z3_of(d, known)
        case Variable(name, _) | str(name):
            return known.setdefault(name, z3.Int(str(name)))
        case _:
            raise AssertionError(a)


n, m = nat("n"), nat("m")
i, j = variable("i", n), variable("j", m)

SYMBOLIC = [
    ("parts by divisibility", i * m + j, m),
    ("a divisor with two terms", i * m + i + j, m + 1),
    ("common factor", 4 * i * m + j, 4 * m),
    ("constant factor", 4 * i + variable("l", 4), 8),
    ("quotient by range", j, m),
    ("stuck", i + j, 3),
]


@pytest.mark.parametrize(("rule", "e", "d"), SYMBOLIC, ids=[rule for rule, _, _ in SYMBOLIC])
def test_division_holds_for_all_sizes(rule: str, e: Index, d: Size | int) -> None:
    """`e == d*q + r` and `0 <= r < d`, by Z3, for every size and every value of every variable."""
    d = Size.of(d)
    q, r = ix.divide_with_remainder(e, d)
    known: dict[str, Any] = {}
    left, right = z3_of(e, known), z3_of(d * q + r, known)
    low, below = z3_of(r, known) >= 0, z3_of(r, known) < z3_of(d, known)
    solver = z3.Solver()
    solver.set("timeout", 20_000)
    extents = {"i": n, "j": m, "l": Size.of(4)}
    for name, value in list(known.items()):
        if name in extents:
            solver.add(value >= 0, value < z3_of(extents[name], known))
    for name in ("n", "m"):
        if name in known:
            solver.add(known[name] >= 1)
    solver.add(z3.Not(z3.And(left == right, low, below)))
    assert solver.check() == z3.unsat


def test_figure_6_of_lift() -> None:
    """The transposed access of Lift's Figure 6 comes out as `l_id*N + wg_id`, for all sizes."""
    wg_id, l_id = variable("wg_id", n), variable("l_id", m)
    flat = wg_id * m + l_id
    row, column = ix.divide(flat, m), ix.modulo(flat, m)
    assert row + column * n == l_id * n + wg_id
    assert OpenCL().expression(index_code(row + column * n)) == "l_id*n + wg_id"


def test_division_of_a_whole_by_its_parts() -> None:
    """A quotient and its remainder are put together again."""
    e = variable("l", 9)
    assert 4 * ix.divide(e, 4) + ix.modulo(e, 4) != e  # sums do not look for it by themselves
    assert ix.recombined(3 * (4 * ix.divide(e, 4) + ix.modulo(e, 4)) + 1) == 3 * e + 1


def test_recombining_keeps_the_value() -> None:
    """`d*(x / d) + x % d` is x, some times that as many x; with other factors it is what it was."""
    i = variable("i", 12)
    quotient, rest = ix.divide(i, 5), ix.modulo(i, 5)

    assert ix.recombined(5 * quotient + rest) == i
    for factor, times in itertools.product((1, 4, 5, 6, 10), (1, 2, -1)):
        e = ix.recombined(factor * quotient + times * rest)
        for value in range(12):
            wanted = factor * (value // 5) + times * (value % 5)
            assert ix.evaluate(e, {"i": value}) == wanted


@pytest.mark.parametrize("extent", [2, 3, 4, 5, 9])
def test_a_factor_is_taken_out_of_what_it_divides_only(extent: int) -> None:
    """`(4*i + l) / 8` is `i / 2` where l is below 4, and may be more where it is not."""
    e = 4 * variable("i", 6) + variable("l", extent)
    quotient, rest = ix.divide(e, 8), ix.modulo(e, 8)

    for i, j in itertools.product(range(6), range(extent)):
        values = {"i": i, "l": j}
        assert ix.evaluate(quotient, values) == (4 * i + j) // 8
        assert ix.evaluate(rest, values) == (4 * i + j) % 8
