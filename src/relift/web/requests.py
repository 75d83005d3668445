"""What a client may ask for."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from relift.semantics.errors import ReliftError

Language: TypeAlias = Literal["printed", "python"]


class CheckRule(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="rule", tag_field="ask"
):
    """A rule of the ledger by its name, or those that are written down."""

    source: str = ""
    language: Language = "printed"
    name: str = ""


class RunProgram(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="program", tag_field="ask"
):
    """A program, the sizes at which it is searched for, and the kind of device; `name` says which of several."""

    source: str
    name: str = ""
    language: Language = "printed"
    sizes: str = ""
    target: Literal["cpu", "gpu"] = "cpu"


Request: TypeAlias = CheckRule | RunProgram

LONGEST = 200_000
"""Bytes of a request."""


class BadRequest(ReliftError):
    """A request that is none."""

    def __init__(self, message: str) -> None:
        super().__init__(message, place="")


def read(data: bytes, *, public: bool) -> Request:
    """The request that a client sent; raises `BadRequest`.

    >>> from relift.web.requests import read
    >>> read(b'{"ask": "rule", "name": "map_fusion"}', public=True).name
    'map_fusion'
    """
    try:
        found = msgspec.json.decode(data, type=Request)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRequest(f"not a request: {error}") from None
    if public and found.language == "python":
        raise BadRequest("this workbench is public: it takes the printed language, never Python")
    asked: Request = found
    return asked
