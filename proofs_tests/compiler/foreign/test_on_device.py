"""What a device gives of a kernel that somebody wrote: also where it reads what lies behind an array."""

from __future__ import annotations

from proofs_tests.compiler.foreign.records import RECORDS
from relift.compiler.devices.survey import find_device
from relift.compiler.foreign.on_device import on_device


def test_what_is_read_behind_an_array_is_no_number() -> None:
    """There it is multiplied by 0, and only what is no number shows that it was read."""
    [k] = [k for k in RECORDS if k.name == "tiled edge guards"]
    device = find_device().name
    assert on_device(k.wrong(), k.program(), device).differs
    assert not on_device(k.right(), k.program(), device).differs
