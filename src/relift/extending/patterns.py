"""What a pattern is made of; a module of patterns imports nothing else of Relift, which is being imported when it is.

`letters` are the schema variables of signatures: `a`, `b` for types, `k`, `m`, `n` for sizes.
"""

from __future__ import annotations

from relift.semantics.indices.algebra import Algebra
from relift.semantics.patterns import letters
from relift.semantics.syntax.signatures import Signature
from relift.semantics.syntax.terms import Pattern, Term

__all__ = ["Algebra", "Pattern", "Signature", "Term", "letters"]
