"""All cases: the modules that enter them, in the order of the list."""

from __future__ import annotations

from proofs_tests.conformance import applications, layout, linear, stencils, vectors
from proofs_tests.conformance.cases import CASES

__all__ = ["CASES", "applications", "layout", "linear", "stencils", "vectors"]
