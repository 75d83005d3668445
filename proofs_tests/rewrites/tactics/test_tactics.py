"""Tactics: what each combinator does, and that what they reach is derived."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from relift.rewrites.application.applied import applied
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.derivation.confirmation import confirm
from relift.rewrites.library import RULES
from relift.rewrites.rule import Rule
from relift.rewrites.tactics import combinators
from relift.rewrites.tactics.combinators import (
    Tactic,
    apply,
    attempt,
    derive,
    everywhere,
    first,
    fuse,
    inside,
    repeat,
    skip,
    then,
    topdown,
    vectorize_reduction,
    watched,
)
from relift.rewrites.tactics.macros import (
    finish_tiling,
    reduce_with_reorder,
    register_block_1d,
    register_block_2d,
    split_boundary,
    tile_2d,
    tile_stencil,
    tile_stencil_2d,
    tile_stencil_3d,
)
from relift.semantics.language.multidimensional import map_nd, pad_nd, slide_nd, zip_nd
from relift.semantics.language.programs import Program, program
from relift.semantics.language.vocabulary import (
    add,
    clamp,
    map,
    mirror,
    pad,
    reduce,
    slide,
    wrap,
    zip,
)
from relift.semantics.notation.printer import show
from relift.semantics.patterns import Bordered, Concat
from relift.semantics.syntax.binding import Position, term_at
from relift.semantics.syntax.terms import Term, subterms
from relift.semantics.syntax.types import f32, nat

n, m, k = nat("n"), nat("m"), nat("k")


@program
def scaled(xs: f32[n]):
    return map(lambda x: x + 1.0, map(lambda x: x * 2.0, xs))


@program
def outer(xs: f32[n], ys: f32[m]):
    return map(lambda x: map(lambda y: x * y, ys), xs)


@program
def blur(xs: f32[n + 2]):
    return map(lambda w: w[0] + w[1] + w[2], slide(3, 1, xs))


def bordered(boundary: Any) -> Program:
    @program
    def blur(xs: f32[n]):
        return map(lambda w: w[0] + w[1] + w[2], slide(3, 1, pad(1, 1, boundary, xs)))

    return blur


@program
def image(xss: f32[n, m]):
    windows = slide_nd((3, 3), (1, 1), pad_nd((1, 1), (1, 1), clamp, xss))
    return map_nd(2, lambda w: w[0][1] + w[1][0] + w[1][2] + w[2][1], windows)


@program
def heated(xss: f32[n, m], yss: f32[n, m]):
    windows = slide_nd((3, 3), (1, 1), pad_nd((1, 1), (1, 1), clamp, xss))
    return map_nd(2, lambda p: p[0] * p[1][0][1], zip_nd(2, yss, windows))


@program
def cube(xsss: f32[n, n, n]):
    windows = slide_nd((3, 3, 3), (1, 1, 1), pad_nd((1, 1, 1), (1, 1, 1), clamp, xsss))
    return map_nd(3, lambda w: w[0][1][1] + w[1][0][1] + w[1][1][2], windows)


@program
def dot(xs: f32[n], ys: f32[n]):
    return reduce(add, 0.0, map(lambda p: p[0] * p[1], zip(xs, ys)))


@program
def rows(xss: f32[m, n]):
    return map(lambda xs: reduce(add, 0.0, map(lambda x: x * x, xs)), xss)


@program
def matmul(xss: f32[n, k], yss: f32[m, k]):
    return map(
        lambda xs: map(lambda ys: reduce(add, 0.0, map(lambda p: p[0] * p[1], zip(xs, ys))), yss),
        xss,
    )


def reached(tactic: Tactic) -> list[str]:
    """The rules that a tactic applies to `scaled`, in order."""
    return [step.rule for step in derive(scaled, tactic, {"n": 64}).steps]


def test_then_goes_on_at_the_same_place() -> None:
    fused = then(apply("map_fusion"), apply("split_join", m=8))
    assert reached(fused) == ["map_fusion", "split_join"]


def test_then_fails_as_a_whole() -> None:
    """A tactic that does not apply is refused with the rule's own reason."""
    with pytest.raises(NoMatch, match="map_fusion"):
        reached(then(apply("map_fusion"), apply("map_fusion")))


def test_first_takes_what_applies() -> None:
    assert reached(first(apply("join_split"), apply("map_fusion"))) == ["map_fusion"]


def test_attempt_and_repeat_stop_quietly() -> None:
    assert reached(attempt(apply("join_split"))) == []
    assert reached(repeat(apply("map_fusion"))) == ["map_fusion"]


def test_repeat_that_never_ends_is_an_error() -> None:
    with pytest.raises(NoMatch, match="still applies after 1000 times"):
        reached(repeat(skip))


def test_inside_goes_to_a_place() -> None:
    (step,) = derive(scaled, inside("xs")(apply("split_join", m=8)), {"n": 64}).steps
    assert step.position == ("xs",)


def test_inside_says_that_a_place_is_missing() -> None:
    with pytest.raises(NoMatch, match=r"no place f\.xs here"):
        reached(inside("f", "xs")(skip))


def test_topdown_takes_the_outermost_place() -> None:
    (step,) = derive(outer, topdown(apply("split_join", m=8)), {"n": 64, "m": 64}).steps
    assert step.position == ()


def test_a_rule_is_asked_only_where_its_side_may_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search asks a million times; a look at the pattern of a place answers nearly all of them."""
    asked: list[Position] = []

    def counted(rule: Rule, t: Term, position: Position, *more: Any) -> Any:
        asked.append(position)
        return applied(rule, t, position, *more)

    monkeypatch.setattr(combinators, "applied", counted)
    neither = first(apply("zip_map_left"), apply("reduce_to_seq"))
    with pytest.raises(NoMatch, match="applies nowhere"):
        reached(topdown(neither))
    assert reached(everywhere(attempt(neither))) == []
    assert asked == []
    with watched() as furthest, pytest.raises(NoMatch):
        reached(topdown(apply("reduce_to_seq")))
    assert furthest.failure is not None  # whoever wants to know is told


def test_topdown_that_finds_no_place_is_refused() -> None:
    with pytest.raises(NoMatch, match="applies nowhere"):
        reached(topdown(apply("join_split")))


def test_everywhere_visits_all_places() -> None:
    """Both maps become loops."""
    assert reached(everywhere(apply("map_to_seq"))) == ["map_to_seq", "map_to_seq"]


@pytest.mark.parametrize(
    ("source", "tactic", "sizes", "text"),
    [
        (outer, tile_2d(4, 8), {"n": 64, "m": 64}, "split(8, ys)"),
        (blur, tile_stencil(8), {"n": 64}, "slide(10, 8, xs)"),
        (image, topdown(tile_stencil_2d(4)), {"n": 8, "m": 12}, "slide(6, 4, row)"),
        (cube, topdown(tile_stencil_3d(2)), {"n": 4}, "slide(4, 2, row_)"),
        *(
            (bordered(boundary), split_boundary(), {"n": 9}, "slide(3, 1, xs)")
            for boundary in (clamp, mirror, wrap, 0.5)
        ),
        (bordered(clamp), split_boundary(3), {"n": 16}, "take(10, drop(3, xs))"),
        (image, split_boundary(), {"n": 6, "m": 5}, "drop(5, slide(3, 1, pad(1, 1, clamp,"),
        (image, split_boundary(0, 3), {"n": 6, "m": 16}, "take(10, drop(3, x_))"),
        (
            heated,
            split_boundary(0, 3),
            {"n": 6, "m": 16},
            "zip(take(4, drop(1, yss)), slide(3, 1, xss))",
        ),
        (cube, split_boundary(0, 0), {"n": 4}, "slide(3, 1, xsss)"),
        (dot, vectorize_reduction(4), {"n": 64}, "vectorize(4, add)"),
        (dot, reduce_with_reorder(4), {"n": 64}, "transpose(split(4,"),
        (dot, then(fuse(), finish_tiling(4)), {"n": 64}, "split(4, zip(xs, ys))"),
        (rows, then(fuse(), register_block_1d(4)), {"n": 64, "m": 8}, "lambda totals, column"),
        (
            matmul,
            then(fuse(), register_block_2d(4, 2), finish_tiling(8)),
            {"n": 8, "m": 12, "k": 16},
            "split(2, yss)",
        ),
    ],
)
def test_macro_rules_are_derived(
    source: Program, tactic: Tactic, sizes: dict[str, int], text: str
) -> None:
    """Their derivations replay, and the interpreter confirms every program on the way."""
    found = derive(source, tactic, sizes)

    assert text in show(found.result)
    assert found.replay(RULES)[-1] == found.result
    assert confirm(found, RULES) is not None


def padded(t: Term) -> bool:
    """Whether a term has a border anywhere."""
    return any(isinstance(u, Bordered) for u, _ in subterms(t))


@pytest.mark.parametrize("boundary", [clamp, mirror, wrap, 0.5])
def test_inside_there_is_no_border(boundary: Any) -> None:
    """Three parts: two with a border, and between them one without."""
    split = derive(bordered(boundary), split_boundary(), {"n": 9}).result
    left, inner, right = (term_at(split, place) for place in (("xs",), ("ys", "xs"), ("ys", "ys")))

    assert [padded(part) for part in (left, inner, right)] == [True, False, True]


def test_inside_an_image_there_is_no_border_in_either_dimension() -> None:
    """Of the rows inside, the columns are split in turn."""
    rows = term_at(derive(image, split_boundary(0, 0), {"n": 6, "m": 5}).result, ("ys", "xs"))
    columns = term_at(rows, ("f",))

    assert isinstance(columns, Concat)
    assert padded(columns.xs)
    assert not padded(term_at(columns, ("ys", "xs")))


def test_a_border_wider_than_the_array_is_refused() -> None:
    with pytest.raises(NoMatch):
        derive(bordered(clamp), split_boundary(8), {"n": 9})


def test_a_tactic_whose_parameters_prepare_nothing_is_written_flat() -> None:
    """It is a function of a place, curried where it has parameters, and none that returns a function of a place."""
    folder = Path(combinators.__file__).parent
    nested = [
        f"{path.relative_to(folder)}: {f.name}"
        for path in folder.rglob("*.py")
        for f in ast.parse(path.read_text()).body
        if isinstance(f, ast.FunctionDef) and path.name != "combinators.py"
        if len(body := f.body[ast.get_docstring(f) is not None :]) == 2
        if isinstance(body[0], ast.FunctionDef) and isinstance(body[1], ast.Return)
        if isinstance(body[1].value, ast.Name) and body[1].value.id == body[0].name
        if [x.arg for x in body[0].args.args] == ["at", "place"] and not body[0].decorator_list
    ]
    assert not nested
