"""Which forms of a program are searched further, by what each is lowered to as it is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from relift.egraph.search.starts.forms import Form
from relift.semantics.patterns import Zip
from relift.semantics.syntax.binding import alpha_equal
from relift.semantics.syntax.terms import MakeTuple, Term

FAR = 4.0
"""Forms that are so many times slower than the best are not searched further."""

_HOPELESS = 20.0
"""What takes so many times what other kernels move at least is no measure of what these take."""

_SLOW = 8.0
"""What takes so many times what its kernels move at least may become so much faster that a form that stores nothing is no match for it.

Two stencils, one of what the other gives, of 2,000 by 1,777 numbers: as they are lowered, 23 ms with the first in the second and 34 with
the first stored; in vectors each takes two cores 1.2."""

_LIGHTER = 0.7
"""A form is searched beside the best one if it takes so much less to read and write what its kernels do."""

_FEWER = 0.9
"""A form whose nests have so many times as many multiply-adds is searched beside the others."""

_FEWER_OUTSIDE = 0.5
"""A form with so many times as many steps outside of nests is searched beside the others: blocks make those of nests many times faster.

An attention without softmax, of 65,536 rows of 64 numbers, takes an H200 176 us where the sum by which a row is divided is folded in its
function, with the row's product; as it is lowered, to store the sums promises no less."""

_AGAIN = 1.5
"""A form without stores whose folds have so many times as many steps as those of one that stores computes again what that keeps."""

_AS_LITTLE = 2
"""So many forms that move no more than the best of those that store are searched beside it."""


_LESS, _NEAR = 0.9, 1.5
"""A form in one pass is searched beside the others if its kernels need to move so many times what theirs do, and take at most so many times as long."""


def promising(forms: Sequence[Form]) -> list[Form]:
    """The forms that are searched kernel by kernel: those that `_as_lowered` finds, the best in one pass, and the best by parts of windows.

    The one in one pass where it moves less than all of these that store, and is not much slower than the best as it is lowered.  The one by
    parts where it folds in far fewer steps; it is no reason to leave others out, whose parts may be folded in registers.
    """
    others = [form for form in forms if not (form.in_one_pass or form.by_parts)]
    found = _as_lowered(others)
    least = min((form.least for form in found if form.stores), default=math.inf)
    most = _NEAR * min(map(_cost, others))
    passes = (form for form in forms if form.in_one_pass and form.least < _LESS * least)
    fewest = _FEWER_OUTSIDE * min(form.steps for form in others)
    parts = (form for form in forms if form.by_parts and form.steps < fewest)
    return [
        *found,
        *sorted((f for f in passes if _cost(f) <= most), key=_cost)[:1],
        *sorted(parts, key=_cost)[:1],
    ]


def _as_lowered(forms: Sequence[Form]) -> list[Form]:
    """By what they are lowered to as they are: the best that stores something, and the best that does not.

    Each has to promise more than the program as it is written, and something else than the other; one that stores, not less, and so any where that is so slow
    that it says nothing.  Where none that stores does, the best of those that are far slower than what they move.  Of those that store, also the
    one whose kernels need to move far less than those of the best: how it is lowered as it is says little of them.  And the
    one that moves least of those that no rule lowers as they are, as where a nest reads what is computed: a tactic may.
    And the one with a nest that moves least, where none of these has any: a product of matrices may stand in the function of a row.
    And the one whose nests compute far less than those of all these, and whose folds no more: what is equal is computed once.
    And the one with far fewer steps that are in no nest: a product of each row in whose function something else is folded is none.
    But none that computes far more than one that stores, and is hopeless as it is lowered.
    And one whose few columns lie along, or that goes along rows, unless it is far slower than the best: what that is worth, only vectors show,
    or several chunks of a scan in one loop.
    And the one that stores most, and the one that computes least, where all are so slow that this says nothing of those that store: a scan, or
    each of few long folds, is one work-item's as it is lowered.  And those that store so that no more is moved, first the program as it is written: tactics
    may know it.  And the first that stores numbers alone: a fold of what is computed from a number is far slower as it is lowered than
    one of an array, but the array need not be stored.  And the first form without stores that has several results, or zips them, for each is
    a kernel, unless what these share makes it hopeless beside the best.
    """
    plain, best = _cost(forms[0]), min(map(_cost, forms))
    found: list[Form] = []
    gains = 1.02 if _is_hopeless(forms[0], plain) else 0.95
    for stores, most in ((True, 1.02), (False, gains)):
        alike = [form for form in forms[1:] if form.stores == stores and form.proposals]
        form = min(alike, key=_cost, default=None)
        if form is not None and _cost(form) <= min(most * plain, FAR * best):
            if not any(_lowered_alike(form, other) for other in found):
                found.append(form)
            if stores:
                lighter = [f for f in alike if f.least < _LIGHTER * form.least]
                near = [f for f in lighter if _cost(f) <= min(most * plain, FAR * best)]
                found += sorted(near, key=lambda f: (f.least, _cost(f)))[:1]
                found += [f for f in alike if f.stores_numbers and f not in found][:1]
                alike = [f for f in alike if f.least <= 1.01 * form.least and f not in found]
                found += sorted(alike, key=lambda f: (not f.as_written, _cost(f)))[:_AS_LITTLE]
    found += _slow_that_stores(forms, found, FAR * best)
    least = min((form.least for form in found if form.stores), default=0.0)
    bare = [f for f in forms[1:] if f.stores and not f.proposals and f.least < least]
    found += sorted(bare, key=lambda form: form.least)[:1]
    if not any(form.nest for form in (forms[0], *found)):
        nests = [f for f in forms[1:] if f.stores and f.nest and f.least < plain]
        found += sorted(nests, key=lambda form: form.least)[:1]
    fewest = min((form.nests for form in (forms[0], *found) if form.nest), default=0)
    least_steps = min(form.steps for form in (forms[0], *found))
    halved = [
        f for f in forms[1:] if f.nest and f.nests <= _FEWER * fewest and f.steps <= least_steps
    ]
    found += sorted(halved, key=lambda form: (form.nests, form.least))[:1]
    found += _with_blocks(forms, found, FAR * best)
    found += _that_vectors_go_along(forms, found, FAR * best)
    if not any(form.stores and not _is_hopeless(form, _cost(form)) for form in found):
        far = [f for f in forms[1:] if f.stores and _is_hopeless(f, best)]
        storing = sorted(far, key=lambda form: (-len(form.stored), form.least))[:1]
        computing = sorted(far, key=lambda form: (form.steps, form.least))[:1]
        found += [form for form in (*computing, *storing) if form not in found]
    found = _each_once(form for form in found if not _computes_again(form, found))
    several = next((f for f in forms if not f.stores and _is_several(f.parted.result)), None)
    if several and all(form.stores for form in found) and is_worth_searching(forms, found):
        found.append(several)
    return found


def _is_several(t: Term) -> bool:
    """Whether a result is made of some for each of which there is a kernel: `results_of` says so of arrays that are zipped, too."""
    return isinstance(t, MakeTuple | Zip)


def _slow_that_stores(forms: Sequence[Form], found: Sequence[Form], most: float) -> list[Form]:
    """Where none that stores is found, the best of those that are far slower than what they move, of at most so many seconds."""
    if any(form.stores for form in found):
        return []
    slow = [f for f in forms[1:] if f.stores and _SLOW * f.least < _cost(f) <= most]
    return sorted(slow, key=_cost)[:1]


def _that_vectors_go_along(forms: Sequence[Form], found: Sequence[Form], most: float) -> list[Form]:
    """One with few columns stored as rows, one whose columns are rows, which stores what it would compute again, and one that scans in chunks."""
    near = [form for form in forms[1:] if form not in found and _cost(form) <= most]
    rows = sorted((f for f in near if f.along_rows), key=lambda f: (f.steps, -len(f.stored)))
    chunks = [f for f in near if f.scans_in_chunks]
    return [*[f for f in near if f.along_columns][:1], *rows[:1], *chunks[:1]]


def _with_blocks(forms: Sequence[Form], found: Sequence[Form], most: float) -> list[Form]:
    """The form with far fewer steps outside of nests than those found, unless it takes more than `most` as it is lowered."""
    beside = min(form.steps_outside_nests for form in (forms[0], *found))
    blocks = [
        f for f in forms[1:]
        if f.stores and f.steps_outside_nests < _FEWER_OUTSIDE * beside and _cost(f) <= most
    ]  # fmt: skip
    return sorted(blocks, key=lambda form: (form.steps_outside_nests, form.least))[:1]


def _computes_again(form: Form, found: Sequence[Form]) -> bool:
    """Whether a form computes much more than one that stores, and is so slow that nothing else speaks for it."""
    storing = (f.steps for f in found if f.stores and f.proposals and not f.by_parts)
    fewest = min(storing, default=form.steps)
    return form.steps > _AGAIN * fewest and _is_hopeless(form, _cost(form))


def is_worth_searching(forms: Sequence[Form], found: Sequence[Form]) -> bool:
    """Whether the program is searched as it is written, beside what it stores in the forms that were found.

    Not where it is far and hopeless, or where all that stores nothing computes much again that one of these keeps.
    """
    forms = [form for form in forms if not form.by_parts]
    bare = (form for form in forms if not form.stores)
    return is_near(forms[0], forms) and not all(_computes_again(form, found) for form in bare)


def _lowered_alike(form: Form, other: Form) -> bool:
    """Whether the best of both is one program, as where lowering stores what a form does not: then one is searched."""
    if _cost(form) != _cost(other):
        return False
    best, others = (min(f.proposals, key=lambda each: each.rank) for f in (form, other))
    return alpha_equal(best.low.body, others.low.body)


def _each_once(forms: Iterable[Form]) -> list[Form]:
    """The first of forms that store, fold and take the same: they differ in how arrays are zipped, and what is found for one, others have too."""
    kept: dict[object, Form] = {}
    for form in forms:
        alike = tuple(sorted(map(str, form.stored))), form.nests, form.steps, form.along_columns
        seconds = f"{form.least:.6g} {_cost(form):.6g}"
        kept.setdefault((alike, seconds) if form.proposals else id(form), form)
    return list(kept.values())


def _is_hopeless(form: Form, seconds: float) -> bool:
    """Whether so many seconds say nothing of the kernels of a form."""
    return seconds > _HOPELESS * form.least


def is_near(form: Form, forms: Sequence[Form]) -> bool:
    """Whether a form is not so much slower than the best, or than what it moves, that searching it is in vain."""
    far = _cost(form) > FAR * min(map(_cost, forms))
    return not (far and _is_hopeless(form, _cost(form)))


def _cost(form: Form) -> float:
    return min((each.cost.seconds for each in form.proposals), default=math.inf)
