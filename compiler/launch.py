"""What a compiled program needs besides its source: buffers, kernels, sizes; as data that JSON can hold.

Types are written as Relift prints them, and read back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from relift.semantics.errors import IllTyped
from relift.semantics.parser import parse_type
from relift.semantics.types import SCALARS, Scalar, Type

VERSION = 1
"""The version of the format; a reader refuses others."""

Role: TypeAlias = Literal["input", "scalar", "temporary", "output"]


@dataclass(frozen=True)
class Buffer:
    """One argument of the kernels: a row of scalars, or one scalar by value (role `scalar`)."""

    name: str
    scalar: Scalar
    cells: int
    role: Role


@dataclass(frozen=True)
class Parameter:
    """One argument of the program, and the buffers that hold its components in order."""

    name: str
    type: Type
    buffers: tuple[str, ...]


@dataclass(frozen=True)
class Kernel:
    """One launch: the buffers in the order of the arguments, how many work-items, how much local memory."""

    name: str
    arguments: tuple[str, ...]
    total: tuple[int, ...]
    local: tuple[int, ...]
    local_bytes: int


@dataclass(frozen=True)
class Launch:
    """All that is needed to run the kernels of a program, in order."""

    program: str
    parameters: tuple[Parameter, ...]
    result: Parameter
    buffers: tuple[Buffer, ...]
    kernels: tuple[Kernel, ...]

    def as_json(self) -> dict[str, Any]:
        """The launch as dictionaries, lists, strings and numbers."""
        return {
            "version": VERSION,
            "program": self.program,
            "parameters": [_parameter_json(p) for p in self.parameters],
            "result": _parameter_json(self.result),
            "buffers": [
                {"name": b.name, "scalar": str(b.scalar), "cells": b.cells, "role": b.role}
                for b in self.buffers
            ],
            "kernels": [
                {
                    "name": k.name,
                    "arguments": list(k.arguments),
                    "global": list(k.total),
                    "local": list(k.local),
                    "local_bytes": k.local_bytes,
                }
                for k in self.kernels
            ],
        }


def launch_from_json(data: Mapping[str, Any]) -> Launch:
    """The inverse of `as_json`; raises `IllTyped` when the data is of another version or broken."""
    if data.get("version") != VERSION:
        raise IllTyped(f"launch.json has version {data.get('version')!r}, {VERSION} is known")
    try:
        return Launch(
            data["program"],
            tuple(_parameter_from(p) for p in data["parameters"]),
            _parameter_from(data["result"]),
            tuple(
                Buffer(b["name"], SCALARS[b["scalar"]], b["cells"], b["role"])
                for b in data["buffers"]
            ),
            tuple(
                Kernel(
                    k["name"],
                    tuple(k["arguments"]),
                    tuple(k["global"]),
                    tuple(k["local"]),
                    k["local_bytes"],
                )
                for k in data["kernels"]
            ),
        )
    except (KeyError, TypeError) as error:
        raise IllTyped(f"launch.json is broken: {error!r}") from None


def _parameter_json(p: Parameter) -> dict[str, Any]:
    return {"name": p.name, "type": str(p.type), "buffers": list(p.buffers)}


def _parameter_from(data: Mapping[str, Any]) -> Parameter:
    return Parameter(data["name"], parse_type(data["type"]), tuple(data["buffers"]))
