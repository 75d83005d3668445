"""OpenCL C as a tree, for a dialect that prints it anew."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from relift.compiler.bench.bundle_runner import EXACT
from relift.compiler.text.lexing import NotUnderstood
from relift.compiler.text.macros import expanded
from relift.compiler.text.reader import read_source
from relift.compiler.text.tree import Source
from relift.semantics.errors import Unsupported

HALVES = re.compile(r"\bhalf\d*\b")
"""The types of half precision, which not every device computes with."""


def understood(source: str, dialect: str, options: Sequence[str] = ()) -> Source:
    """The tree of a text with the macros of options, which says too whether products and sums are rounded apart; raises `Unsupported`.

    >>> from relift.compiler.dialects.reading import understood
    >>> understood("kernel void f(global int* x) { x[0] = 1; }", "Fortran").contract
    True
    """
    try:
        return replace(read_source(expanded(source, options)), contract=EXACT not in source)
    except NotUnderstood as error:
        raise Unsupported(
            f"{dialect}: only what this compiler writes can be printed anew, not {error}"
        ) from None
