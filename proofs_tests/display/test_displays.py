"""What notebooks show of the things that Relift makes: HTML, escaped, with the text beside."""

from __future__ import annotations

from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relift as rl
from relift.checking import check
from relift.compiler.program import compile_program
from relift.display.blocks import Bars, Cells, Code, Folded, Graph, Note, Roof, Table, Title
from relift.display.cells import differing, read
from relift.display.graphs import placed
from relift.display.printing import document, html
from relift.egraph.search.optimize import Optimized
from relift.egraph.search.tuning import Timing
from relift.rewrites.library import RULES
from relift.semantics.notation.displays import of_run
from relift.semantics.notation.marked import marked
from relift.semantics.notation.printer import show
from relift.semantics.syntax.binding import positions, term_at
from relift.web.printed import program_of, rule_of

DOT = "dot(x: f32[n], y: f32[n]) = reduce(add, 0.0, map(lambda p: p[0] * p[1], zip(x, y)))"
WRONG = "wrong(xs: A[n, n]): transpose(xs) == xs"


@pytest.fixture(scope="module")
def best() -> Optimized:
    return rl.optimize(program_of(DOT), sizes={"n": 64}, top=2)


EMPTY = ("meta", "path", "circle", "br", "rect")


class Balanced(HTMLParser):
    """Sees that what is opened is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in EMPTY:
            assert self.open.pop() == tag


def shown(thing: Any) -> str:
    """Its HTML, well formed, with a text beside that is not empty."""
    found = thing._repr_mimebundle_()  # what a notebook calls
    assert found["text/plain"].strip()
    html: str = found["text/html"]
    parser = Balanced()
    parser.feed(html)
    assert not parser.open
    return html


def test_what_is_made_of_a_program_is_displayed(best: Optimized) -> None:
    assert "zip(x, y)" in shown(best.source)
    assert "of type f32" in shown(best.source.body)
    assert "f32[4]" in shown(rl.f32[4])
    assert "candidate" in shown(best)
    assert "nodes by rule" in shown(best)
    assert "estimated" in shown(best.candidates[0])
    assert "<meter" in shown(best.cost)
    assert "<mark>" in shown(best.derivation)
    assert "measured before" in shown(Timing(0.5, reused=True))


def test_an_e_graph_is_drawn() -> None:
    """Each class is a box, with as many nodes as it has; a line leads from a node to each class that it uses, whether or
    not that is drawn; boxes of a layer do not overlap."""
    text = "twice(x: f32[n]) = map(lambda v: sqrt(v), map(lambda v: sqrt(v), x))"
    grown = rl.e_graph(program_of(text), ["map_fusion"], {"n": 8}, rounds=2)
    page = shown(grown)
    (graph,) = [b for b in grown.display() if isinstance(b, Graph)]
    root = graph.classes[grown.snapshot.root]

    assert len(root) == len(grown.snapshot.nodes(grown.snapshot.root)) > 1
    assert {label for label, _ in root} == {"map"}
    assert page.count('class="class"') == len(graph.classes) == len(list(grown.snapshot.classes()))
    assert page.count('class="edge"') == sum(
        len(used) for nodes in graph.classes.values() for _, used in nodes
    )
    boxes = sorted(placed(graph.classes).values(), key=lambda b: (b.y, b.x))
    assert all(a.y != b.y or a.x + a.width < b.x for a, b in pairwise(boxes))


def test_an_e_graph_too_large_to_be_drawn_says_what_is_left_out() -> None:
    """Not drawn is said, not hidden."""
    chain = "x"
    for _ in range(24):
        chain = f"map(lambda v: sqrt(v), {chain})"
    grown = rl.e_graph(program_of(f"long(x: f32[n]) = {chain}"), ["map_fusion"], {"n": 8}, rounds=4)

    assert "not drawn: " in shown(grown)


def test_a_kernel_has_its_claims_at_its_lines(best: Optimized) -> None:
    kernels = compile_program(best.term)
    page = shown(kernels)
    (line,) = [line for line in page.split("\n") if "out[0] =" in line]
    assert "bounds proved" in line
    assert "races proved" in line
    assert kernels.certificates[0].summary() in shown(kernels.certificates[0]).replace(
        "&#x27;", "'"
    )


def test_what_is_made_of_a_rule_is_displayed() -> None:
    rejected = rule_of("bad(xs: A[n]): split(2, xs) == xs")
    report = check(rule_of(WRONG), tiers=("1", "3"))
    assert "PROVED" in shown(RULES["split_join"])
    assert "rejected" in shown(rejected)
    assert report.counterexample is not None
    assert "marked" in shown(report)
    assert "left side" in shown(report.counterexample)
    assert "free" in shown(report.results[1])
    assert report.guard is not None
    assert "holds if" in shown(report.guard)


def test_the_array_after_each_stage_is_drawn() -> None:
    program = program_of(DOT)
    x = np.array([1, 2, 3], np.float32)
    drawn = [block for block in of_run(program, (x, x)) if isinstance(block, Cells)]
    assert [cells.value for cells in drawn][2:] == [
        ("(1, 1)", "(2, 2)", "(3, 3)"),
        ("1", "4", "9"),
        "14",
    ]


HOSTILE = "<img src=x onerror=alert(1)>\"'&"


@pytest.mark.parametrize(
    "block",
    [
        Title(HOSTILE),
        Code(HOSTILE, ((0, 4),), {0: [Note(HOSTILE)]}),
        Table((HOSTILE,), ((HOSTILE,),)),
        Cells(HOSTILE, ((HOSTILE,),)),
        Cells(HOSTILE, HOSTILE),
        Bars(HOSTILE, ((HOSTILE, 1.0, HOSTILE),)),
        Roof(HOSTILE, 10.0, 100.0, ((HOSTILE, 1.0, 5.0),)),
        Folded(HOSTILE, [Title(HOSTILE)]),
    ],
)
def test_every_text_is_escaped(block: Any) -> None:
    assert "<img" not in html([block])
    assert "&lt;img" in html([block]).replace("<mark>", "").replace("</mark>", "")


def test_every_part_of_a_term_can_be_marked() -> None:
    t = program_of(DOT).body
    for place, _ in positions(t):
        text, (begin, end) = marked(t, place)
        if begin < end:
            assert text[begin:end] == show(term_at(t, place))


@pytest.mark.parametrize(
    "text", ["[1, 2", "[]", "x", "[[1, 2], [3]]", "f([1], 2)", "[(1, [2]), g(a, b)]"]
)
def test_a_value_is_read_as_it_is_written(text: str) -> None:
    def written(value: Any) -> str:
        return value if isinstance(value, str) else f"[{', '.join(map(written, value))}]"

    assert written(read(text)) == text


def test_missing_cells_differ() -> None:
    assert list(differing(read("[1, 2]"), read("[1]"))) == [(1,)]


def test_a_page_of_its_own_needs_nothing_else(tmp_path: Path) -> None:
    page = document("a < b", [Title("x")])
    assert "a &lt; b" in page
    assert "http" not in page
