"""What an idiom of C is made of: a constraint in a file, and which variable of it is the result."""

from __future__ import annotations

from relift.compiler.idioms.finding import Idiom, Idioms

__all__ = ["Idiom", "Idioms"]
