"""The messages that a user meets most, to the letter."""

from __future__ import annotations

from proofs_tests.messages import FILE, entries


def test_every_message_is_the_one_that_was_decided() -> None:
    """`python -m proofs_tests.messages` writes the file anew; what changes is read before it is kept."""
    assert "\n".join(entries()) == FILE.read_text(encoding="utf-8")


def test_every_message_is_one_line() -> None:
    """Below each command stand one line and its status, below each call one line."""
    shown = FILE.read_text(encoding="utf-8").split("\n\n")

    assert [
        e for e in shown if len(e.strip().splitlines()) != (3 if e.startswith("$") else 2)
    ] == []
