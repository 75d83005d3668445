"""Writing: whole or not at all, with the user's mode, through what is no file, and nothing left behind."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from relift import files as storage
from relift.files import LEFT_BEHIND, TEMPORARY, temporary_folder, write_bytes, write_folder
from relift.semantics.errors import ReliftError


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_has_the_mode_of_the_users_mask(tmp_path: Path, mask: int, mode: int) -> None:
    before = os.umask(mask)
    try:
        write_bytes(tmp_path / "file", b"x")
        write_folder(tmp_path / "folder", {"file": b"x"}, last="file")
    finally:
        os.umask(before)

    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == mode
    assert stat.S_IMODE((tmp_path / "folder" / "file").stat().st_mode) == mode


def test_a_replaced_file_keeps_its_mode(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("old")
    file.chmod(0o640)
    write_bytes(file, b"new")

    assert file.read_text() == "new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_of_a_link_the_file_is_replaced(tmp_path: Path) -> None:
    """Also of one that leads nowhere yet."""
    for name in ("target", "nowhere"):
        link = tmp_path / f"link_to_{name}"
        link.symlink_to(name)
        if name == "target":
            (tmp_path / name).write_text("old")
        write_bytes(link, b"new")

        assert link.is_symlink()
        assert (tmp_path / name).read_text() == "new"


def test_a_pipe_is_written_to_and_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    heard: list[bytes] = []
    reader = threading.Thread(target=lambda: heard.append(pipe.read_bytes()))
    reader.start()
    write_bytes(pipe, b"new")
    reader.join(10)

    assert heard == [b"new"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_device_is_written_to_and_stays_one() -> None:
    write_bytes(Path("/dev/null"), b"new")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_a_folder_in_the_place_of_a_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ReliftError, match="Is a directory"):
        write_bytes(tmp_path, b"x")
    (tmp_path / "file").write_text("")
    with pytest.raises(ReliftError, match="Not a directory"):
        write_folder(tmp_path / "file", {"a": b""}, last="a")
    assert os.listdir(tmp_path) == ["file"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A place for temporary files of its own."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    storage.remove_left_behind.cache_clear()
    yield tmp_path
    storage.remove_left_behind.cache_clear()


def test_a_temporary_folder_is_gone_afterwards(place: Path) -> None:
    """Also after a failure."""

    def fail() -> None:
        with temporary_folder() as folder:
            assert folder.parent == place
            raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"):
        fail()
    assert list(place.iterdir()) == []


def test_what_a_killed_run_left_is_removed_and_what_is_in_use_is_not(place: Path) -> None:
    """Old folders that no process has locked; young ones, locked ones and links stay."""
    names = ("old", "young", "locked")
    for name in names:
        (place / f"{TEMPORARY}{name}").mkdir()
        (place / f"{TEMPORARY}{name}" / "Rules.glob").write_text("")
    (place / f"{TEMPORARY}link").symlink_to(place / f"{TEMPORARY}young")
    past = time.time() - 2 * LEFT_BEHIND
    for name in ("old", "locked"):
        os.utime(place / f"{TEMPORARY}{name}", (past, past))
    with storage.locked(place / f"{TEMPORARY}locked"), temporary_folder():
        left = {p.name.removeprefix(TEMPORARY) for p in place.iterdir()}

    assert "old" not in left
    assert {"young", "locked", "link"} <= left


def test_a_folder_that_cannot_be_replaced_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old folder is put back where the new one cannot take its place."""
    place = tmp_path / "folder"
    write_folder(place, {"a": b"old"}, last="a")
    rename = os.rename

    def full(source: Path, target: Path) -> None:
        if target == place and source.suffix != ".old":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        rename(source, target)

    monkeypatch.setattr(os, "rename", full)
    with pytest.raises(ReliftError, match="cannot write"):
        write_folder(place, {"a": b"new"}, last="a")

    assert [entry.name for entry in tmp_path.iterdir()] == ["folder"]
    assert (place / "a").read_bytes() == b"old"
