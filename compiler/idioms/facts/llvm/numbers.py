"""Constants as LLVM writes them."""

from __future__ import annotations

import struct

BITS = {"i8": 8, "i16": 16}
"""The types of LLVM that are narrower than the whole numbers of programs."""


def literal_of(text: str, kind: str) -> float | int | bool:
    """The number that a constant is: floats stand in digits or as the bits of a double.

    >>> from relift.compiler.idioms.facts.llvm.numbers import literal_of
    >>> literal_of("2.500000e-01", "f32"), literal_of("0x7FF0000000000000", "f64"), literal_of("true", "boolean")
    (0.25, inf, True)
    """
    if kind == "boolean":
        return text in ("true", "1")
    if kind in ("i32", "i64"):
        return int(text)
    if text.startswith("0x"):
        (found,) = struct.unpack(">d", int(text, 16).to_bytes(8, "big"))
        return float(found)
    named = {
        "+inf": "inf",
        "-inf": "-inf",
        "+qnan": "nan",
        "-qnan": "nan",
        "pinf": "inf",
        "ninf": "-inf",
    }
    return float(named.get(text, text))
