"""The index of errors lists what the source raises."""

from __future__ import annotations

import pytest

import relift as rl
from proofs_tests.error_index import FILE, classes, page


def test_the_index_is_fresh() -> None:
    """`python -m proofs_tests.error_index` would write what lies there."""
    assert FILE.read_text(encoding="utf-8") == page(), "run python -m proofs_tests.error_index"


def test_a_message_that_is_raised_is_listed() -> None:
    """The text of an error that a user meets stands in the index, around what it names."""
    with pytest.raises(rl.IllTyped) as caught:

        @rl.program
        def halves(x: rl.f32[rl.nat("n")]):  # type: ignore[no-untyped-def, valid-type]
            return rl.map(lambda v: v + rl.f64(1.0), x)

    _, _, listed = FILE.read_text(encoding="utf-8").partition(f"## {type(caught.value).__name__}\n")
    rows = [row.split(" | ")[0] for row in listed.split("\n## ")[0].splitlines() if "{" in row]
    pieces = [row.replace("…", "").split("{")[-1].split("}")[-1] for row in rows]

    assert any(piece and caught.value.message.endswith(piece) for piece in pieces)


def test_every_class_of_errors_says_what_it_is() -> None:
    """The index has a sentence for each."""
    assert {"IllTyped", "Unsupported", "Undefined", "Refusal"} <= classes().keys()
    assert [name for name, c in classes().items() if not c.summary] == []
