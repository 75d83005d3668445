"""Under which conditions a program means the same as C: what is told to people, and what the proofs and guards ask for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

About: TypeAlias = Literal[
    "regrouping", "not a number", "whole numbers", "rows that rise", "rows that overlap", "strides", "indices", "aliases"
]  # fmt: skip


@dataclass(frozen=True)
class LiftingCondition:
    """A condition that stays: what it is about, and how people are told of it."""

    about: About
    text: str
