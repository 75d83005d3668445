"""What each parameter of a kernel by somebody else is: a buffer of the program, a number, or local memory."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from relift.compiler.foreign.expressions import declared
from relift.compiler.running.launch import Buffer
from relift.compiler.text.c_types import SIZES, with_sign
from relift.compiler.text.tree import CType
from relift.semantics.errors import ReliftError


class NotSaid(ReliftError):
    """Nobody has said which kernel of a text is meant, or what one of its parameters is."""

    def __init__(self, message: str) -> None:
        super().__init__(message, place="")


@dataclass(frozen=True)
class Number:
    """A number that was said for a parameter of a type."""

    text: str
    type: CType


@dataclass(frozen=True)
class Cells:
    """So many cells of local memory."""

    count: int
    type: CType

    @property
    def bytes(self) -> int:
        """How much that is; a vector of three is as long as one of four."""
        scalar = self.type.scalar
        one = SIZES[with_sign(scalar)]
        return self.count * one * (4 if self.type.width == 3 else self.type.width)


@dataclass(frozen=True)
class Passed:
    """A buffer of the program, or the one number that it holds; of a result, what lies in it before, if anything does."""

    name: str
    type: CType
    buffer: Buffer
    before: str | Buffer | None = None


Given: TypeAlias = Number | Cells | Passed


def kernel_in(functions: Sequence[Any], entry: str, said: Collection[str] = ()) -> Any:
    """The kernel of a name; raises `NotSaid` where there is none, or where it lacks a parameter that is spoken of."""
    from pycparser import c_ast

    defined = [f for f in functions if isinstance(f, c_ast.FuncDef)]
    for f in defined:
        if f.decl.name == entry and is_kernel(f):
            own = [name for name, _ in parameters_of(f)]
            for name in said:
                if name not in own:
                    have = ", ".join(own) or "none"
                    raise NotSaid(f"{entry} has no parameter {name}; its parameters are: {have}")
            return f
    names = [f.decl.name for f in defined if is_kernel(f)]
    raise NotSaid(f"there is no kernel {entry}; give --entry one of: {', '.join(names) or 'none'}")


def is_kernel(f: Any) -> bool:
    """Whether a function may be launched."""
    return any("kernel" in word for word in f.decl.funcspec)


def parameters_of(kernel: Any) -> list[tuple[str, CType]]:
    """The parameters of a kernel, and their types."""
    declarations = kernel.decl.type.args.params if kernel.decl.type.args else []
    return [(p.name, declared(p)[0]) for p in declarations]


def given_by(
    parameters: Sequence[tuple[str, CType]], said: Mapping[str, str], buffers: Sequence[Buffer]
) -> Iterator[Given]:
    """What each parameter is: said, by its name, or by its place; raises `NotSaid` where it is not known."""
    inputs = [b for b in buffers if b.role != "output"]
    outputs = iter([b for b in buffers if b.role == "output"])
    named = {b.name: b for b in inputs}
    taken = {said.get(name, name) for name, _ in parameters} & named.keys()
    rest = iter([b for b in inputs if b.name not in taken and b.role == "input"])
    inside = _in_place(parameters, said, named)
    for name, t in parameters:
        wanted = said.get(name, name)
        if t.pointer and t.space.of_group:
            if not wanted.isdecimal():
                raise NotSaid(
                    f"how many cells {name} has is not known; say it: --argument {name}=…"
                )
            yield Cells(int(wanted), t)
        elif not t.pointer and is_number(wanted):
            yield Number(wanted, t)
        elif not t.pointer:
            if wanted not in named:
                raise NotSaid(f"what {name} is, is not known; say it: --argument {name}=…")
            yield Passed(name, t, named[wanted])
        elif name == inside:
            yield _filled(name, t, wanted, next(outputs, None), named)
        elif wanted.startswith("out:"):
            yield _filled(name, t, wanted.removeprefix("out:"), next(outputs, None), named)
        elif wanted in named:
            yield Passed(name, t, named[wanted])
        else:
            several = outputs if wanted == "out" or not t.constant else rest
            if (following := next(several, None)) is None:
                raise NotSaid(f"which buffer {name} is, is not known; say it: --argument {name}=…")
            yield Passed(name, t, following)
    if next(outputs, None) is not None:
        raise NotSaid("which array is the result is not known; say it: --argument NAME=out")


def _in_place(
    parameters: Sequence[tuple[str, CType]], said: Mapping[str, str], named: Mapping[str, Buffer]
) -> str | None:
    """The one array that may be written where all are called like inputs: the result is left in it."""
    writable = [
        name for name, t in parameters if t.pointer and not t.constant and not t.space.of_group
    ]
    if any(name in said or name not in named for name in writable) or len(writable) != 1:
        return None
    return writable[0]


def _filled(
    name: str, t: CType, before: str, result: Buffer | None, named: Mapping[str, Buffer]
) -> Passed:
    """A result in which something lies before; raises `NotSaid` where that does not fit."""
    if result is None:
        raise NotSaid(f"which buffer {name} is, is not known; say it: --argument {name}=…")
    if is_number(before):
        return Passed(name, t, result, before)
    held = named.get(before)
    if held is None or (held.scalar, held.cells) != (result.scalar, result.cells):
        raise NotSaid(
            f"{name} can not hold {before} before; it has {result.cells} cells of {result.scalar}"
        )
    return Passed(name, t, result, held)


def is_number(text: str) -> bool:
    """Whether a parameter is said to be a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
