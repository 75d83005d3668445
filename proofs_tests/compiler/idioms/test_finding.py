"""What is found in C: each fixture's idioms, and nothing in near misses."""

from __future__ import annotations

from pathlib import Path

import pytest

from proofs_tests.compiler.idioms.checks import FILES, FUNCTIONS, compiled, expected
from proofs_tests.compiler.idioms.long_files import dense, one_function
from relift.compiler.idioms.facts.llvm.source import module
from relift.compiler.idioms.facts.relations import Relations
from relift.compiler.idioms.finding import FunctionFinds, find
from relift.compiler.idioms.refusals import refusal


@pytest.mark.parametrize(("file", "name"), FUNCTIONS)
def test_what_is_found(file: str, name: str) -> None:
    """A function holds the idioms that stand before it, no others; the search ends."""
    module = compiled(file)
    function = module.functions[name]
    found = () if refusal(function, module) else find(Relations(function, module)).found
    assert sorted(f.idiom for f in found) == expected(file)[name]


def test_three_of_ten_are_near_misses() -> None:
    """Fixtures that look like an idiom and are none keep the share that shows what is refused."""
    kinds = [kinds for file in FILES for kinds in expected(file).values()]
    assert sum(not k for k in kinds) * 10 >= 3 * len(kinds)


def searched(text: str, folder: Path) -> FunctionFinds:
    """The search in the one function of a text."""
    file = folder / "long.c"
    file.write_text(text)
    found = module(file)
    (function,) = found.functions.values()
    return find(Relations(function, found))


_OF_A_BIN = """void f(int *h, const int *k, const int *w, int n) { for (int i = 0; i < n; i++) {
  int b = k[i], t = 0; for (int j = 0; j < 3; j++) t += h[b] * w[j]; h[b] += t; } }"""
_OF_A_SUM = """void f(int *h, const int *w, int n) { for (int i = 0; i < n; i++) {
  int t = 0; for (int j = 0; j < 3; j++) t += h[0] * w[j + i]; h[0] += t; } }"""


@pytest.mark.parametrize("text", [_OF_A_BIN, _OF_A_SUM])
def test_a_cell_that_an_inner_loop_reads_is_what_it_holds_by_then(
    text: str, tmp_path: Path
) -> None:
    """What is added to a cell is made of the cell in a loop inside: only that loop is a sum."""
    assert [f.idiom for f in searched(text, tmp_path).found] == ["reduction"]


_PRODUCT = """for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < n; k++)
  c[i * n + j] += a[i * n + k] * b[k * n + j];"""


def test_what_is_wrong_is_looked_for_again_and_nothing_else(tmp_path: Path) -> None:
    """The result of a find gets another one, in as many steps whatever else is there; the others stay."""
    steps = set[int]()
    for count in (5, 10):
        sums = "".join(f"for (int i = 0; i < n; i++) s[{k}] += a[i + {k}];" for k in range(count))
        text = f"void f(int n, double *a, double *b, double *c, double *s) {{ {_PRODUCT} {sums} }}"
        search = searched(text, tmp_path)
        product = next(f for f in search.found if f.idiom == "gemm")
        again = search.without([product])
        kinds = [f.idiom for f in again.found if f.result == product.result]
        assert kinds == ["memory-reduction"]
        assert {f.key for f in search.found} - {product.key} <= {f.key for f in again.found}
        steps.add(again.steps - search.steps)
    assert len(steps) == 1


def test_steps_grow_with_the_function_and_not_with_its_square(tmp_path: Path) -> None:
    """Loops that have nothing to do with each other are not combined: three times the loops, three times the steps."""
    short, long = (searched(one_function(lines), tmp_path) for lines in (22, 66))
    assert len(long.found) > 2 * len(short.found) > 0
    assert long.steps < 4 * short.steps


def test_what_is_known_is_not_looked_for_again(tmp_path: Path) -> None:
    """A stencil of nine cells is found from two of them, not from each pair: it takes about the steps of one of three."""

    def stencil(cells: int) -> FunctionFinds:
        reads = " + ".join(f"x[i + {k}]" for k in range(cells))
        loop = f"for (int i = 0; i < n; i++) y[i] = {reads};"
        return searched(f"void f(int n, float *y, const float *x) {{ {loop} }}\n", tmp_path)

    three, nine = stencil(3), stencil(9)
    assert [f.idiom for f in nine.found] == ["stencil"]
    assert nine.steps < 2 * three.steps


def test_a_function_of_hundreds_of_loops_is_read(tmp_path: Path) -> None:
    """The process is still there after a function at which LLVM's own pass ends it."""
    file = tmp_path / "long.c"
    file.write_text(one_function(700))
    (function,) = module(file).functions.values()
    assert len(function.blocks) > 900


SHARED = """int twice(int *x, int *y, int a, int b) { int s = x[a * b] + b; y[a] = s; return s + x[a * b]; }
int once(const int *x, int a, int b, int c) { int s = x[a * b]; if (c) s += x[a * b]; else s -= x[a * b]; return s + x[a * b]; }
int in_a_loop(int *x, int *y, int n) { int s = *x; for (int i = 0; i < n; i++) s += *x; for (int i = 0; i < n; i++) { s += *x; y[i] = s; } return s; }
"""


@pytest.mark.parametrize(
    ("name", "opcode", "count"),
    [("twice", "load", 2), ("twice", "mul", 1), ("once", "load", 1), ("in_a_loop", "load", 2)],
)
def test_what_is_known_is_computed_once(name: str, opcode: str, count: int, tmp_path: Path) -> None:
    """A cell is read again after something may have been written, on any path, and only then."""
    file = tmp_path / "shared.c"
    file.write_text(SHARED)
    function = module(file).functions[name]
    assert [i.opcode for i in function.instructions()].count(opcode) == count


def test_what_lies_in_one_array_is_not_listed_to_find_what_is_in_a_long_function(
    tmp_path: Path,
) -> None:
    """Its pairs grow with the square of the loops: those of a store are looked up, and are what a list of all has."""
    file = tmp_path / "long.c"
    file.write_text(one_function(300))
    graph = module(file)
    (function,) = graph.functions.values()
    relations = Relations(function, graph)
    assert len(find(relations).found) > 50
    same = relations.relation("same array", "")
    assert "_everything" not in vars(same)
    pairs = {
        (a, b)
        for a, x in relations.accesses.items()
        for b, y in relations.accesses.items()
        if x.is_store and x.base == y.base
    }
    assert len(pairs) == len(same.matching((None, None)) or ()) > 1000
    assert set(same.matching((None, None)) or ()) == pairs
    store, other = min(pairs)
    assert {(a, b) for a, b in pairs if a == store} == set(same.matching((store, None)) or ())
    assert {(a, b) for a, b in pairs if b == other} == set(same.matching((None, other)) or ())
    assert same.holds((store, other))


def test_the_fixtures_are_one_file_where_their_speed_is_measured(tmp_path: Path) -> None:
    """What stands between the functions of all fixtures compiles together."""
    file = tmp_path / "long.c"
    file.write_text(dense(1), encoding="utf-8")
    assert module(file).functions
