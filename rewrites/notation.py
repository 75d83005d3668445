"""The letters of rules: A to E are types, lower-case letters are sizes."""

from __future__ import annotations

from relift.rewrites.conditions import associative, commutative, naturals, neutral, type_variables

A, B, C, D, E = type_variables("A B C D E")
n, m, k, q, w, d, e, r, t = naturals("n m k q w d e r t")
size, step, left, right = naturals("size step left right")

MONOID = (associative("op"), neutral("op", "z"))
COMMUTATIVE_MONOID = (*MONOID, commutative("op"))
COMMUTATIVE_SEMIGROUP = (associative("op"), commutative("op"))
