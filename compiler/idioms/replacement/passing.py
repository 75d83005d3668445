"""Gathering loops in one pass: each cell is computed, into memory of its own, while it is noted which cells of other arrays are read.

The loop that was there reads the same cells, so nothing is read that it would not read.  Only when all is computed is it known how long
the arrays are, whether an index is negative, and whether the result lies over what was read: then it is dropped.
"""

from __future__ import annotations

from relift.compiler.idioms.facts.values.terms import Expression, Fold, Read, Search, all_of, below
from relift.compiler.idioms.lift import LiftedIdiom
from relift.compiler.idioms.lifting.effects import Cells, effect_of
from relift.compiler.idioms.replacement.guarded import element_of, lengths_of
from relift.compiler.idioms.replacement.inspecting import Inspection, unknown_lengths
from relift.compiler.idioms.replacement.spelling import C_TYPES, Kept, counter_of
from relift.compiler.idioms.replacement.writing import Writing


def passed(idiom: LiftedIdiom) -> Inspection | None:
    """The pass that computes a row of cells and finds the lengths out, where there can be one."""
    assert idiom.lifted is not None, "cannot happen: only a program has lengths"
    found, lifted = idiom.found, idiom.lifted
    effect = effect_of(idiom.relations, found.loop, found.result, found.idiom)
    if not isinstance(effect, Cells) or len(effect.turns) != 1 or _may_be_index(effect):
        return None
    lengths = unknown_lengths(idiom)
    if effect.base in lengths:
        return None
    writing = Writing(lifted, lengths, refuses="least_index = -1;")
    try:
        value = writing.text(effect.value)
    except Kept:
        return None
    kind, c = (
        C_TYPES[element_of(lifted.program.body.type).name],
        counter_of(effect.turns[0].counter),
    )
    sizes = ", ".join(f"size_{name}" for name in lengths.values())
    (end,) = lengths_of(lifted)
    lines = [
        *(f"  long long size_{name} = 1;" for name in lengths.values()),
        "  long long least_index = 0;",
        f"  {kind} *const out __attribute__((cleanup(relift_drop))) = relift_malloc(({end}) * sizeof({kind}));",
        "  if (!out) least_index = -1;",
        f"#pragma omp parallel for schedule(dynamic, 256) reduction(max: {sizes}) reduction(min: least_index)",
        f"  for (long long {c} = 0; {c} < (out ? {end} : 0); ++{c}) out[{c}] = {value};",
    ]
    return Inspection(lines, writing.values)


def _may_be_index(effect: Cells) -> bool:
    """Whether what is written may, by its type, be one of the numbers that say what is read."""
    inside = list(all_of(effect.value))
    deciding: list[Expression] = [
        x for e in inside if isinstance(e, Read | Fold) for _, x in e.computed
    ]
    deciding += [x for e in inside if isinstance(e, Search) for x in below(e)]
    return any(isinstance(r, Read) and r.type == effect.type for e in deciding for r in all_of(e))
