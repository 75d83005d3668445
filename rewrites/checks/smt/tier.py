"""Tier 4a: arrays as index functions, and Z3, for all sizes.

Both sides of a rule mean index functions (see `values`).  They are opened at new indices in range and
compared from the root down, by congruence and case split, until what is left are statements about whole
numbers (see `goals`): two indices are equal, an index is in range.

Of reductions it is known that they are equal when their starts are, and their steps at each index.  Further
steps, each named where it is taken in `comparison` and `reductions`:

    nested      a step that reduces on from its accumulator: one reduction over a larger box
    partial     (+), associative with neutral z:  a + (z + x + y) = a + x + y, so the same of partial results
    one         (+), associative with neutral z:  x = z + x, the reduction of one element
    count       boxes of one size, read in order, are read by one count
    reordered   (+), associative and commutative: any order of the dimensions, or of the indices by a permutation
    trimmed     steps at both ends that change nothing, like (+ z) for a neutral z, are left out
    consecutive a reduction that starts from the result of another goes on from its last step
    first, last a reduction of one element at least is a step, and a reduction of the others

What needs induction otherwise is left to tier 4b.  The right side of a refinement may have anything in the
unspecified cells of the left, but one thing in each.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from relift.rewrites.checks.instances import Instances
from relift.rewrites.checks.random.models import confirm_difference
from relift.rewrites.checks.smt.comparison import Comparison
from relift.rewrites.checks.smt.goals import Open, Solver
from relift.rewrites.checks.smt.values import Meaning
from relift.rewrites.checks.verdicts import Counterexample, Status, TierResult
from relift.rewrites.rule import Rule
from relift.semantics.errors import Unsupported
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import Pattern, subterms

LARGEST_INSTANCE = 5000
"""A counterexample of Z3 with an array of more cells is not tried by the interpreter."""

CELLS_TRIED = 50_000
"""How many cells the arrays of all instances have together that are tried for one counterexample of Z3."""


def check_index(rule: Rule) -> TierResult:
    """Both sides for all sizes, as far as Z3 and congruence go.

    >>> from relift.rewrites.checks.smt.tier import check_index
    >>> from relift.rewrites.library import RULES
    >>> check_index(RULES["join_split"]).detail
    '2 statements about indices, all sizes'
    """
    start = time.monotonic()

    def result(status: Status, detail: str, found: Counterexample | None = None) -> TierResult:
        return TierResult("4a", "index", status, detail, time.monotonic() - start, found)

    prover = Solver()
    for n in (*Instances(rule).naturals, *map(Size.atom, rule.sizes)):
        prover.given.append(prover.size(n) >= 0)
    for bound in rule.lower_bounds:
        prover.given.append(prover.size(bound.size) >= bound.least)
    meaning = Meaning(rule, prover)
    sides = [(rule.left, rule.right)]
    if not rule.refinement and _has_open_cells(rule):
        sides.append((rule.right, rule.left))
    if prover.impossible():
        return result("unproved", "no sizes make both sides defined")
    try:
        for x, y in sides:
            values = meaning.of(x, {}), meaning.of(y, {})
            Comparison(rule, prover, meaning).same(*values, rule.left.type)
    except Unsupported as error:
        return result("skipped", error.message)
    except Open as error:
        found = _confirmed(rule, error.sizes)
        if found is not None:
            return result("refuted", found.obligation, found)
        return result("unfinished" if error.unfinished else "unproved", str(error))
    count = prover.proved
    return result("proved", f"{count} statement{'s' * (count != 1)} about indices, all sizes")


def _has_open_cells(rule: Rule) -> bool:
    return any(
        isinstance(t, Pattern) and t.leaves_open
        for side in (rule.left, rule.right)
        for t, _ in subterms(side)
    )


def _confirmed(rule: Rule, sizes: Mapping[str, int] | None) -> Counterexample | None:
    """What the interpreter says at the sizes of Z3's counterexample, where they are small enough to run."""
    if sizes is None:
        return None
    found = {name: max(0, sizes.get(name, 0)) for name in rule.sizes}
    instances = Instances(rule)
    if not instances.admissible(found) or instances.largest(found) > LARGEST_INSTANCE:
        return None
    attempts = min(40, max(4, CELLS_TRIED // max(1, instances.largest(found))))
    return confirm_difference(instances, found, attempts)
