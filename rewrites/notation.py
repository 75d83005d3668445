"""The letters of rules: A to F are types, lower-case letters are sizes."""

from __future__ import annotations

from relift.rewrites.conditions import associative, commutative, naturals, neutral, type_variables
from relift.rewrites.families import Among, Data
from relift.semantics.language.vocabulary import Boundary, left_open
from relift.semantics.patterns import PATTERNS, Pad
from relift.semantics.patterns.variants import variants_of

A, B, C, D, E, F, G = type_variables("A B C D E F G")
n, m, k, q, w, d, e, r, t = naturals("n m k q w d e r t")
size, step, left, right = naturals("size step left right")

Continued = Among({word: Boundary(word) for word in variants_of(Pad, "boundary", PATTERNS)})
Border = Among({**Continued.values, "constant": Data("c", A), "empty": left_open})
"""How `pad` goes on beyond an array: by its own elements, or in any way."""

MONOID = (associative("op"), neutral("op", "z"))
COMMUTATIVE_MONOID = (*MONOID, commutative("op"))
COMMUTATIVE_SEMIGROUP = (associative("op"), commutative("op"))
