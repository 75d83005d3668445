"""The caches: read as the system describes it, or left to the preset."""

from __future__ import annotations

from pathlib import Path

import pytest

from relift.compiler.devices.caches import data_caches


def describe(folder: Path, **said: str) -> None:
    folder.mkdir()
    for name, text in said.items():
        (folder / name).write_text(f"{text}\n")


def test_the_data_caches_are_known(tmp_path: Path) -> None:
    """Not the one for instructions, nor how the lines of the last one lie."""
    describe(
        tmp_path / "index0", level="1", type="Instruction", size="64K", ways_of_associativity="4"
    )
    describe(
        tmp_path / "index1", level="2", type="Unified", size="2048K", ways_of_associativity="16"
    )
    describe(tmp_path / "index2", level="1", type="Data", size="48K", ways_of_associativity="12")
    describe(
        tmp_path / "index3", level="3", type="Unified", size="32768K", ways_of_associativity="16"
    )
    assert data_caches(tmp_path) == {
        "nearest_bytes": 48 * 1024,
        "nearest_ways": 12,
        "second_bytes": 2048 * 1024,
        "second_ways": 16,
        "third_bytes": 32 * 1024 * 1024,
    }


@pytest.mark.parametrize("ways", ["0", None])
def test_what_the_system_leaves_out_is_not_known(tmp_path: Path, ways: str | None) -> None:
    """Virtual machines say nothing of ways, or none."""
    said = {} if ways is None else {"ways_of_associativity": ways}
    describe(tmp_path / "index0", level="1", type="Data", size="48K", **said)
    assert data_caches(tmp_path) == {}
