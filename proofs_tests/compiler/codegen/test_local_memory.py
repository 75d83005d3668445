"""Two local arrays share a place only where the work-group waits between the uses of one and of the other."""

from __future__ import annotations

import pytest

from proofs_tests.compiler.programs import CASES
from proofs_tests.compiler.texts import BARRIER, body_of, lines_of
from relift.compiler import compile_program
from relift.compiler.codegen.passes.local_memory import share_places
from relift.semantics.indices.views import Memory
from relift.semantics.syntax.memory import Space
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.types import f32, i32

A, B = (Memory(name, f32, Size.of(4), Space.LOCAL) for name in "ab")
LOOP = "for (int i = 0; i < 9; ++i) {"


def places(*lines: str, second: Memory = B) -> list[str]:
    """The names of the places that two arrays take."""
    return [m.name for m in share_places(body_of(lines), [A, second])[1]]


@pytest.mark.no_device
def test_a_wait_between_two_arrays_lets_them_share() -> None:
    """The later one is renamed wherever it stands."""
    text = ["a[0] = 1;", "x = a[1];", BARRIER, "b[0] = 2;", "y = b[1];"]
    body, found = share_places(body_of(text), [A, B])
    assert found == [A]
    assert lines_of(body) == ["a[0] = 1;", "x = a[1];", BARRIER, "a[0] = 2;", "y = a[1];"]


@pytest.mark.parametrize(
    "lines",
    [
        ("a[0] = 1;", "x = a[1];", "b[0] = 2;"),
        ("a[0] = 1;", BARRIER, "b[0] = a[0];"),
        ("b[0] = a[0];",),
        ("a[0] = 1;", BARRIER, "b[0] = 2;", BARRIER, "x = a[1];"),
        ("if (x) {", "a[0] = 1;", "}", "if (y) {", BARRIER, "}", "b[0] = 2;"),
        ("a[0] = 1;", LOOP, "b[0] = 2;", BARRIER, "x = a[1];", "}"),
        (LOOP, "a[0] = 1;", BARRIER, "b[0] = 2;", "}"),
        (LOOP, "a[0] = 1;", LOOP, BARRIER, "}", "b[0] = 2;", BARRIER, "}"),
    ],
    ids=[
        "no wait", "one statement uses both", "no other statement uses them", "both needed at once", "a wait on one way only",
        "needed in every run of a loop", "the next run of a loop overwrites", "a wait in an inner loop",
    ],
)  # fmt: skip
@pytest.mark.no_device
def test_arrays_stay_apart(lines: tuple[str, ...]) -> None:
    """Where some work-item could see the wrong one."""
    assert places(*lines) == ["a", "b"]


@pytest.mark.no_device
def test_a_loop_that_waits_twice_lets_them_share() -> None:
    """Once between the two, and once before the next run."""
    assert places(LOOP, "a[0] = 1;", BARRIER, "b[0] = 2;", BARRIER, "}") == ["a"]
    assert places(LOOP, BARRIER, "a[0] = 1;", BARRIER, "b[0] = 2;", "}") == ["a"]


@pytest.mark.no_device
def test_arrays_of_other_scalars_and_with_pointers_stay_apart() -> None:
    """A place has one type; what a pointer shows is not in the text."""
    text = ("a[0] = 1;", BARRIER, "b[0] = 2;")
    assert places(*text, second=Memory("b", i32, Size.of(4), Space.LOCAL)) == ["a", "b"]
    assert len(share_places(body_of(text), [A, B], frozenset("a"))[1]) == 2


@pytest.mark.no_device
def test_a_tree_needs_two_arrays() -> None:
    """Each level reads one and writes the other; they are named in the order of their use."""
    (tree,) = [c for c in CASES if c.name == "tree"]
    text = compile_program(tree.make(64)).source
    assert [line.split("[")[0] for line in text.splitlines() if "  local" in line] == [
        "  local float tile",
        "  local float tile_2",
    ]
    assert text.index("tile[lcl_0]") < text.index("tile_2[lcl_0]")
