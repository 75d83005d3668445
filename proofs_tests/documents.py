"""The documents whose code is run: README.md and what lies in `docs/`."""

from __future__ import annotations

from proofs_tests.command_line import ROOT

README = ROOT / "README.md"
GUIDES = tuple(sorted((ROOT / "docs").glob("guides/*.md")))
MEASUREMENTS = tuple(sorted((ROOT / "docs").glob("measurements/*.md")))


def measurements() -> str:
    """What the pages of measurements say, as one text."""
    return "\n".join(page.read_text(encoding="utf-8") for page in MEASUREMENTS)
