"""Statements of kernels, written and read as lines of text, for the tests of passes over them."""

from __future__ import annotations

from collections.abc import Iterable

from relift.compiler.dialects.opencl.printer import OpenCL
from relift.compiler.text.reader import read_kernels
from relift.compiler.text.tree import Statement

BARRIER = "barrier(CLK_LOCAL_MEM_FENCE);"


def body_of(lines: Iterable[str]) -> tuple[Statement, ...]:
    """The statements of a kernel's body."""
    [kernel] = read_kernels("\n".join(["kernel void f() {", *lines, "}"]))
    return kernel.body


def lines_of(body: Iterable[Statement]) -> list[str]:
    """The lines of a kernel's body, without the indentation of its block."""
    return OpenCL().statements(body, 0)
