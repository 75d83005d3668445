"""The rules of folds that say where an element is: they take orders of symbols and induction, which only some tiers have."""

from __future__ import annotations

from relift.rewrites.families import NUMBERS
from relift.rewrites.library import CHOICES

PLACES = frozenset(
    rule.name
    for name, family in CHOICES.items()
    if name.startswith("reduce_seq_said_place")
    for rule in family.rules
)
"""Where the best element is, for each way to say what is better, and each type of elements."""

COUNTED = frozenset(
    ["reduce_seq_counted", *(r.name for r in CHOICES["reduce_seq_counted_part"].rules)]
)
"""What counts the elements is their index."""

BINS = frozenset(
    rule.name
    for name, family in CHOICES.items()
    if name.startswith("fold_of_said_bins")
    for rule in family.rules
)
"""Folds of the elements of each key as one fold, for each way to compare a key, and each type of results."""

KEPT = frozenset(rule.name for rule in CHOICES["select_neutral_number"].rules)
"""What adds a neutral element keeps what there is."""

CHOSEN = frozenset(f"pad_constant_take{of}" for of in (*NUMBERS.values(), "_pair", "_triple"))
"""What stands beyond the first elements is chosen where they are."""
