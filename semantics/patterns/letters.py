"""The letters of signatures: a and b are types, all others are sizes."""

from __future__ import annotations

from relift.semantics.syntax.signatures import schema_size, schema_type

a, b = schema_type("a"), schema_type("b")
n, m, k, r = schema_size("n"), schema_size("m"), schema_size("k"), schema_size("r")
size, step, left, right, index, width, factor, length = map(
    schema_size, ("size", "step", "left", "right", "index", "width", "factor", "length")
)
