"""What a device gives of a kernel that somebody wrote: also where it reads what lies behind an array."""

from __future__ import annotations

from proofs_tests.compiler.foreign.given_by_the_language import GIVEN_BY_THE_LANGUAGE
from proofs_tests.compiler.foreign.records import RECORDS
from relift.compiler.devices.survey import find_device
from relift.compiler.foreign.on_device import on_device


def test_what_is_read_behind_an_array_is_no_number() -> None:
    """There it is multiplied by 0, and only what is no number shows that it was read."""
    [k] = [k for k in RECORDS if k.name == "tiled edge guards"]
    device = find_device().name
    assert on_device(k.wrong(), k.program(), device).differs
    assert not on_device(k.right(), k.program(), device).differs


def test_whole_numbers_that_hardly_differ_differ() -> None:
    """327685 instead of 327680 is no rounding."""
    [k] = [k for k in GIVEN_BY_THE_LANGUAGE if k.name == "lower halves swapped by upsample"]
    assert on_device(k.wrong(), k.program(), find_device().name).differs
