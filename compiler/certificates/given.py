"""What a launch gives to the parameters of a kernel's text: buffers, by position and never by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from relift.compiler.codegen.values.scalars import memory_type
from relift.compiler.running.launch import Buffer, Kernel
from relift.compiler.text.c_types import plain
from relift.compiler.text.tree import Argument, CType, KernelText, asked_of_groups
from relift.semantics.syntax.memory import Space
from relift.semantics.syntax.sizes import Size

BY_VALUE = ("scalar", "size")
"""The roles of buffers that are one number, and no memory."""


@dataclass
class Misfit(Exception):
    """A launch that does not fit its text; the message says where.

    It is `wrong` whatever the kernel does; the rest, vectors of 3 and one buffer under two names, may be meant.
    """

    message: str
    wrong: bool = True


class GivenTwice(Misfit):
    """One buffer under two names, which a kernel promises to be apart."""


def given(text: KernelText, k: Kernel, buffers: Mapping[str, Buffer]) -> dict[str, Buffer]:
    """The buffer of each parameter; raises `Misfit` for another number, another type, or a buffer given twice.

    So it does for a kernel that asks for its group, where the launch may have groups of any size.

    >>> from relift import f32
    >>> from relift.compiler.certificates.given import given
    >>> from relift.compiler.running.launch import Buffer, Kernel
    >>> from relift.compiler.text.reader import read_kernels
    >>> from relift.semantics.syntax.sizes import Size
    >>> f = Kernel("f", ("y",), (Size.of(1),), (1,), 0)
    >>> [kernel] = read_kernels("kernel void f(global float* x) { x[0] = 0.0f; }")
    >>> y = {"y": Buffer("y", f32, Size.of(8), "output")}
    >>> given(kernel, f, y)["x"].name
    'y'
    >>> [kernel] = read_kernels("kernel void f(global double* x) { x[0] = 0.0; }")
    >>> given(kernel, f, y)
    Traceback (most recent call last):
        ...
    relift.compiler.certificates.given.Misfit: f takes double x, it is given y of type f32
    """
    arguments, asked = k.arguments, asked_of_groups(text)
    if k.free and asked:
        raise Misfit(f"{text.name} asks for {min(asked)}, it is launched in groups of any size")
    if len(arguments) != len(text.parameters):
        raise Misfit(
            f"{text.name} has {len(text.parameters)} parameters, {len(arguments)} are given"
        )
    if len(set(arguments)) < len(arguments):
        raise GivenTwice(f"{text.name} is given one buffer twice", wrong=False)
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
    space = Space.PRIVATE if by_value else Space.GLOBAL
    lane = plain(replace(p.type, width=1))
    fits = (lane, p.type.pointer, p.type.space) == (wanted, not by_value, space)
    if fits and vectors_of(b, p.type.width) is not None:
        return
    vector = "" if p.type.width == 1 else str(p.type.width)
    raise Misfit(
        f"{kernel} takes {p.type.scalar}{vector} {p.name}, it is given {b.name} of type {b.scalar}",
        wrong=not (fits and p.type.pointer),
    )


def vectors_of(b: Buffer, width: int) -> Size | None:
    """How many whole vectors a buffer holds; None where that is not known, as for those of 3, which have 4 cells.

    >>> from relift import f32, nat
    >>> from relift.compiler.certificates.given import vectors_of
    >>> from relift.compiler.running.launch import Buffer
    >>> from relift.semantics.syntax.sizes import Size
    >>> n = nat("n")
    >>> buffers = [Buffer("x", f32, cells, "input") for cells in (Size.of(10), 4 * n, n)]
    >>> [vectors_of(b, 4) for b in buffers]
    [2, n, None]
    """
    if width == 1:
        return b.cells
    if width == 3 or b.role in BY_VALUE:
        return None
    if b.cells.constant is not None:
        return Size.of(b.cells.constant // width)
    return b.cells.divided_by(Size.of(width))
