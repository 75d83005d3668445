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
    [
        "reduce_by_index_gather",
        *(r.name for r in CHOICES["fold_of_said_bins_number"].rules),
        "reduce_by_index_from_neutral",
        "reduce_by_index_in_blocks",
        *(r.name for r in CHOICES["fold_by_said_index_number"].rules),
        *(r.name for r in CHOICES["reduce_by_index_as_folds_number"].rules),
        *(r.name for r in CHOICES["folds_by_two_asked_order_keys_number"].rules),
        *(r.name for r in CHOICES["folds_of_rows_among_all_number"].rules),
    ]
)
"""Folds of the elements of each key as one fold, for each way to compare a key, and each type of results; in any order, and by two keys."""

BETTER_KEYS = frozenset(
    rule.name
    for name, family in CHOICES.items()
    if name.startswith("kept_by_operator")
    for rule in family.rules
)
"""A step that keeps the pair with the better key is that of an operator, for each way to say what is better, and each type of keys."""

ANEW = frozenset(rule.name for rule in CHOICES["resets_as_one_step_number"].rules)
"""Steps that combine or begin anew."""
LAST = frozenset(rule.name for rule in CHOICES["fills_as_one_step_number"].rules)
"""Steps that keep what there is or begin anew."""
SWAPPED = frozenset(
    rule.name
    for name in ("select_swapped_number", "select_both_number")
    for rule in CHOICES[name].rules
)
"""Choices by what does not hold, and by what holds with something else."""

KEPT = frozenset(rule.name for rule in CHOICES["select_neutral_number"].rules)
"""What adds a neutral element keeps what there is."""

CHOSEN = frozenset(f"pad_constant_take{of}" for of in (*NUMBERS.values(), "_pair", "_triple"))
"""What stands beyond the first elements is chosen where they are."""

MASKED = frozenset(r.name for r in CHOICES["before_each_masked_number"].rules)
"""Folds of all elements, of which those from a place on count for nothing."""
GHOSTS = frozenset(
    f"ghost_zone_{boundary}{dimensions}{beside}"
    for boundary in ("clamp", "constant")
    for dimensions in ("", "_2d")
    for beside in ("", "_beside")
)
"""Steps of stencils whose windows choose what they see beyond the ends, by an index."""
