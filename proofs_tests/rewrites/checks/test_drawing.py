"""What is drawn is the same whatever a user has imported."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relift.rewrites.checks.random.drawing import simplest

NUMBERS = range(8_675_309, 8_675_509)


def drawn() -> list[int]:
    """All that is drawn of whole numbers."""
    found: list[int] = []

    def fails(k: int) -> bool:
        found.append(k)
        return False

    assert simplest(st.integers(), fails, examples=400) is None
    return found


def import_numbers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a user had imported a module of these numbers."""
    file = folder / "users_numbers.py"
    file.write_text("\n".join(f"A{i} = {i}" for i in NUMBERS))
    spec = importlib.util.spec_from_file_location("users_numbers", file)
    assert spec is not None
    monkeypatch.setitem(sys.modules, "users_numbers", importlib.util.module_from_spec(spec))


def test_numbers_of_imported_modules_are_not_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a counterexample would hang on what else was imported."""
    before = drawn()
    import_numbers(tmp_path, monkeypatch)
    assert drawn() == before
    assert not {*before} & {*NUMBERS}


def test_hypothesis_draws_for_others_as_it_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a user's own tests draw is none of Relift's business."""
    import_numbers(tmp_path, monkeypatch)
    drawn()
    found: set[int] = set()

    @settings(max_examples=1000, derandomize=True, database=None)
    @given(st.integers())
    def collected(k: int) -> None:
        found.add(k)

    collected()
    assert found & {*NUMBERS}
