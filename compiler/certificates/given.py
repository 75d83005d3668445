"""What a launch gives to the parameters of a kernel's text: buffers, by position and never by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from relift.compiler.codegen.values.expressions import memory_type
from relift.compiler.running.launch import Buffer
from relift.compiler.text.c_types import plain
from relift.compiler.text.tree import Argument, CType, KernelText

BY_VALUE = ("scalar", "size")
"""The roles of buffers that are one number, and no memory."""


@dataclass
class Misfit(Exception):
    """A launch that does not fit its text; the message says where.

    It is `wrong` whatever the kernel does; the rest, vectors in memory and one buffer under two names, may be meant.
    """

    message: str
    wrong: bool = True


def given(
    text: KernelText, arguments: Sequence[str], buffers: Mapping[str, Buffer]
) -> dict[str, Buffer]:
    """The buffer of each parameter; raises `Misfit` for another number, another type, or a buffer given twice.

    >>> from relift import f32
    >>> from relift.compiler.certificates.given import given
    >>> from relift.compiler.running.launch import Buffer
    >>> from relift.compiler.text.reader import read_kernels
    >>> from relift.semantics.syntax.sizes import Size
    >>> [kernel] = read_kernels("kernel void f(global float* x) { x[0] = 0.0f; }")
    >>> y = {"y": Buffer("y", f32, Size.of(8), "output")}
    >>> given(kernel, ["y"], y)["x"].name
    'y'
    >>> [kernel] = read_kernels("kernel void f(global double* x) { x[0] = 0.0; }")
    >>> given(kernel, ["y"], y)
    Traceback (most recent call last):
        ...
    relift.compiler.certificates.given.Misfit: f takes double x, it is given y of type f32
    """
    if len(arguments) != len(text.parameters):
        raise Misfit(
            f"{text.name} has {len(text.parameters)} parameters, {len(arguments)} are given"
        )
    if len(set(arguments)) < len(arguments):
        raise Misfit(f"{text.name} is given one buffer twice", wrong=False)
    found: dict[str, Buffer] = {}
    for name, p in zip(arguments, text.parameters, strict=True):
        if name not in buffers:
            raise Misfit(f"{text.name} is given {name}, which is no buffer")
        _require_type(text.name, buffers[name], p)
        found[p.name] = buffers[name]
    return found


def _require_type(kernel: str, b: Buffer, p: Argument) -> None:
    """Raise `Misfit` where a parameter of a kernel is not of the type of its buffer."""
    by_value = b.role in BY_VALUE
    wanted = plain(
        CType("int") if by_value and str(b.scalar) == "boolean" else memory_type(b.scalar)
    )
    space = "private" if by_value else "global"
    if (plain(p.type), p.type.pointer, p.type.space) != (wanted, not by_value, space):
        vector = "" if p.type.width == 1 else str(p.type.width)
        meant = (
            plain(replace(p.type, width=1)) == wanted and p.type.pointer and p.type.space == space
        )
        raise Misfit(
            f"{kernel} takes {p.type.scalar}{vector} {p.name}, it is given {b.name} of type {b.scalar}",
            wrong=not meant,
        )
