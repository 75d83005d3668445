"""Which updates keep a place: that of the least or greatest cell so far, whose content is read again at each step."""

from __future__ import annotations

from dataclasses import replace

from relift.compiler.idioms.facts.values.folds import depends
from relift.compiler.idioms.facts.values.terms import (
    Accumulator,
    Apply,
    Constant,
    Expression,
    Fold,
    Index,
    Read,
    Search,
    Value,
    negation,
)
from relift.semantics.syntax.sizes import Size

_COMPARISONS = ("lt", "le", "gt", "ge")


def takes_place(update: Expression, place: Accumulator) -> bool:
    """Whether an update is `f(i) < f(place) ? i : place`, for a function of the cells and any comparison.

    >>> from relift.compiler.idioms.facts.values.places import takes_place
    >>> from relift.compiler.idioms.facts.values.terms import Accumulator, Apply, Index, Read, select
    >>> from relift.semantics.syntax.sizes import Size
    >>> place, here = Accumulator("%k", "i32"), Index(Size.atom("i"), "i32")
    >>> best = Read("x", Size.atom("%k"), (("%k", place),), "f32")
    >>> less = Apply("lt", (Read("x", Size.atom("i"), (), "f32"), best), "boolean")
    >>> takes_place(select(less, here, place), place), takes_place(select(less, place, here), place)
    (True, True)
    >>> elsewhere = Read("y", Size.atom("i"), (), "f32")
    >>> less = Apply("lt", (elsewhere, best), "boolean")
    >>> takes_place(select(less, here, place), place)
    False
    """
    if not isinstance(update, Apply) or update.function != "select":
        return False
    condition, yes, no = update.arguments
    if isinstance(condition, Apply) and condition.function == "bitwise_xor":
        condition = negation(condition)
    if (yes == place) == (no == place):
        return False
    here = no if yes == place else yes
    if not isinstance(here, Index) or not isinstance(condition, Apply):
        return False
    if condition.function not in _COMPARISONS:
        return False
    left, right = condition.arguments
    if depends(left, place) == depends(right, place):
        return False
    best, other = (left, right) if depends(left, place) else (right, left)
    return at_place(best, place, here) == other


def reads_of(fold: Fold) -> tuple[Expression, ...]:
    """The updates of a fold, which reads where it begins what it would read again at the best place so far.

    Every other place is one where the fold has read already.
    """
    place, start = Accumulator(fold.name, fold.type), fold.starts[0]
    if len(fold.names) > 1 or not takes_place(fold.updates[0], place):
        return fold.updates
    match start:
        case Index():
            here = start
        case Constant(value, kind):
            here = Index(Size.of(int(value)), kind)
        case Value(name, kind):
            here = Index(Size.atom(name), kind)
        case Read() | Apply() | Accumulator() | Fold() | Search():
            return fold.updates
    return (at_place(fold.updates[0], place, here),)


def at_place(e: Expression, place: Accumulator, here: Index) -> Expression:
    """An expression with another place for that of an accumulator."""
    if e == place:
        return here
    if isinstance(e, Apply):
        return replace(e, arguments=tuple(at_place(a, place, here) for a in e.arguments))
    if isinstance(e, Read):
        own = {name for name, value in e.computed if value == place}
        rest = tuple((n, at_place(v, place, here)) for n, v in e.computed if n not in own)
        return replace(e, index=e.index.substitute(dict.fromkeys(own, here.size)), computed=rest)
    return e
