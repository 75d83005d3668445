"""The state of an installation, and what is kept in the user's cache."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from proofs_tests.command_line import command, relift
from relift.compiler.devices import survey
from relift.installation import Finding, clear, findings, kept
from relift.rewrites.ledger import book
from relift.semantics.errors import ReliftError, Unsupported


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A cache of one's own, in which something is kept under three names."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "relift"
    for file in ("found/a.json", "found/b.json", "vendors-1/x.icd", "vendors-2/y.icd", "tuning.sqlite"):  # fmt: skip
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text("12345")
    return folder


def test_what_is_kept_is_counted(cache: Path) -> None:
    """By what it is for: files and bytes."""
    assert [(k.name, k.files, k.size) for k in kept()] == [
        ("found", 2, 10),
        ("tuning.sqlite", 1, 5),
        ("vendors", 2, 10),
    ]
    assert all(k.purpose for k in kept())


def test_what_is_named_is_removed_and_nothing_else(cache: Path) -> None:
    """The others stay."""
    assert [k.name for k in clear(["vendors"])] == ["vendors"]

    assert sorted(p.name for p in cache.iterdir()) == ["found", "tuning.sqlite"]
    clear([])
    assert [*cache.iterdir()] == []


def test_a_name_under_which_nothing_is_kept_is_refused(cache: Path) -> None:
    """With the names that there are, and nothing is removed."""
    with pytest.raises(ReliftError, match="nothing is kept under fuond; there are: found, tuning"):
        clear(["found", "fuond"])
    assert (cache / "found" / "a.json").exists()


def test_the_cache_is_a_verb(cache: Path) -> None:
    """It lists, removes, and says what it removed; two ways to say what goes are one too many."""
    removed = json.loads(relift("cache", "--clear", "found", "--json").stdout)

    assert [k["name"] for k in removed["removed"]] == ["found"]
    assert [k["name"] for k in removed["kept"]] == ["tuning.sqlite", "vendors"]
    status, errors = command("cache", "--clear", "found", "--clear-all")
    assert status == 2
    assert errors.count("\n") == 1


def _named(name: str) -> Finding:
    return next(f for f in findings() if f.name.startswith(name))


def test_this_installation_works() -> None:
    """Where the tests run everything is there."""
    found = list(findings())

    assert not [f for f in found if f.is_fatal]
    assert {f.state for f in found if f.name in ("prover", "simulator", "ledger", "cache")} == {
        "works"
    }


def test_a_cache_without_room_does_not_stop_the_doctor(monkeypatch: pytest.MonkeyPatch) -> None:
    """That the devices cannot be kept is one finding; the others follow."""

    def full(*, again: bool) -> list[Any]:
        raise ReliftError("cannot write the cache: No space left on device", place="")

    monkeypatch.setattr(survey, "survey", full)
    found = list(findings())

    assert [f.name for f in found if f.is_fatal] == ["devices"]
    assert found[-1].name != "devices"


def test_a_machine_without_a_device_is_told_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without one, Relift does not work."""

    def none() -> list[Any]:
        raise Unsupported("there is no device that works; install one: apt-get")

    monkeypatch.setattr(survey, "devices", none)

    found = _named("a device")
    assert found.is_fatal
    assert "install" in found.detail


def test_a_missing_prover_is_no_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said what it is for, and how to get it."""
    monkeypatch.setenv("PATH", "/nowhere")

    found = _named("prover")

    assert (found.state, found.is_fatal) == ("missing", False)
    assert "apt-get install coq" in found.fix


def test_a_rule_that_is_not_checked_is_a_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger speaks of other rules than those that are here: the command that mends it is named."""
    before = book.verdict

    monkeypatch.setattr(
        book, "verdict", lambda rule: "stale" if rule.name == "map_fusion" else before(rule)
    )

    found = _named("ledger")
    assert found.is_fatal
    assert found.fix == "relift ledger --update map_fusion"
