"""Loops whose folds a device must not regroup, though its driver would."""

from __future__ import annotations

import re

EXACT = "#pragma OPENCL FP_CONTRACT OFF"
"""What the source of a kernel that must round as the interpreter does begins with."""

_LOOP = re.compile(r"^([ \t]*)(?:#pragma unroll[^\n]*\n[ \t]*)?(?=(?:for|while) \()", re.MULTILINE)
_KEPT = "#pragma clang loop vectorize(disable) interleave(disable) unroll(disable)"
"""What keeps a loop as it is written; turns that a driver unrolls are regrouped as well."""


def in_order(source: str) -> str:
    r"""OpenCL C whose loops are taken in order by drivers that make vectors of folds of floats.

    >>> from relift.compiler.codegen.passes.exact_loops import in_order
    >>> print(in_order("  #pragma unroll\n  for (;;) {\n  }"))
      #pragma clang loop vectorize(disable) interleave(disable) unroll(disable)
      for (;;) {
      }
    """
    return _LOOP.sub(rf"\1{_KEPT}\n\1", source)
