"""Python text as it is written: its values, its names, and the lines so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType, FunctionType
from typing import Any, TypeAlias

from relift.compiler.text.lexing import NotUnderstood
from relift.compiler.text.tree import CType
from relift.compiler.validation.arithmetic import Arithmetic

Opaque: TypeAlias = Callable[..., Any]
"""What a function does whose body is not read."""


@dataclass(frozen=True)
class Code:
    """Python text of a value of a type; a whole number from `low` to `high` where these are known."""

    text: str
    type: CType
    low: int | None = None
    high: int | None = None

    @property
    def known(self) -> bool:
        """Whether it is surely a number of Python's."""
        return self.low is not None

    @property
    def range(self) -> tuple[int, int]:
        """The range of a known number."""
        assert self.low is not None, "cannot happen: a value without a range"
        assert self.high is not None, "cannot happen: a range without an end"
        return self.low, self.high


@dataclass(frozen=True)
class Variable:
    """A name of the kernel: a value, an array (`place` is then a memory) or a pointer (a memory and an offset)."""

    python: str
    type: CType
    kind: str
    code: Code | None = None
    fixed: bool = False


@dataclass(frozen=True)
class Local:
    """An array of local memory, which all work-items of a group are given."""

    python: str
    name: str
    cells: int
    type: CType
    aligned: bool


@dataclass(frozen=True)
class Translated:
    """A kernel as a Python generator; its arguments are the work-item, the kernel's, and its local arrays."""

    run: Callable[..., Any]
    local: tuple[Local, ...]
    text: str


@dataclass
class Writer:
    """The lines of a function, the names that are known there by scopes, and the values that its code uses."""

    arithmetic: Arithmetic
    lines: list[str] = field(default_factory=list)
    scopes: list[dict[str, Variable]] = field(default_factory=lambda: [{}])
    environment: dict[str, Any] = field(default_factory=dict)
    operations: dict[tuple[str, str], str] = field(default_factory=dict)
    """The operators that have names already."""
    made: int = 0
    item: str = ""
    """What functions are given first that compute a part under a condition: the work-item, where data may decide."""

    def __post_init__(self) -> None:
        self.environment.update(self.arithmetic.environment)

    def compiled(self, text: str, title: str) -> Callable[..., Any]:
        """The function that is defined by Python text; raises `NotUnderstood` where Python nests no deeper."""
        try:
            module = compile(text, f"<{title}>", "exec")
        except (SyntaxError, RecursionError, MemoryError):
            raise NotUnderstood(f"what is nested too deeply, in {title}") from None
        [code] = [c for c in module.co_consts if isinstance(c, CodeType)]
        return FunctionType(code, self.environment)

    def emit(self, depth: int, line: str) -> None:
        """One more line."""
        self.lines.append("    " * depth + line)

    # ---- names

    def fresh(self, name: str) -> str:
        """A name of Python that nothing has."""
        self.made += 1
        return f"{name}_{self.made}"

    def bound(self, value: Any) -> str:
        """A name for a value that the code uses."""
        name = self.fresh("k")
        self.environment[name] = value
        return name

    def known(self, name: str) -> Variable | None:
        """What a name of the kernel is, if it has one of this name."""
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), None)

    def find(self, name: str) -> Variable:
        """What a name of the kernel is; raises `NotUnderstood` where nothing has it."""
        found = self.known(name)
        if found is None:
            raise NotUnderstood(f"the name {name}")
        return found

    def declare(self, name: str, variable: Variable) -> None:
        """A name of the kernel from here to the end of its block."""
        if name in self.scopes[-1]:
            raise NotUnderstood(f"{name}, declared twice")
        self.scopes[-1][name] = variable


def lanewise(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of scalars on each lane of vectors."""
    return lambda *lanes: tuple(map(function, *lanes))
