"""Which e-graphs are worth growing, by what floors and tactics came to before: of kernels that cost something and may cost less."""

from __future__ import annotations

import math
from collections.abc import Sequence

from relift.egraph.search.outcomes import Proposal, soonest
from relift.egraph.search.starts.forms import Form
from relift.egraph.search.starts.promising import FAR
from relift.egraph.search.starts.staged import matters

NEAREST = 1.1
"""What takes so many times what reading and writing once takes is not searched for further."""


def worth_by(
    chains: Sequence[Sequence[int]],
    least: Sequence[float],
    known: float,
    whole: Sequence[Form],
    outcomes: Sequence[Sequence[Proposal]],
) -> set[int]:
    """The tasks whose e-graphs are worth growing, by what all came to without; the first is the whole, where its forms are given.

    That is grown however near it is to the least that it takes: its e-graph says what rules do to a program.
    """
    best = [soonest(each) for each in outcomes]
    if whole:
        bare = [soonest(form.proposals) for form in whole if not form.stores]
        best[0], least = min([best[0], *bare]), [0.0, *least[1:]]
    return worth_growing(chains, best, least, known)


def worth_growing(
    chains: Sequence[Sequence[int]], found: Sequence[float], least: Sequence[float], known: float
) -> set[int]:
    """The kernels of some chains whose e-graphs may make the best of them better.

    Each kernel has a number: `found` are the seconds of the best that is found for it, infinite where there is nothing yet, and `least`
    those that it takes to read and write once.  Not worth it is a kernel that takes hardly more than that, or hardly any of the time of a chain, or whose
    chain is far slower than another one, or than what is `known` of the program otherwise.

    >>> from relift.egraph.search.pruning import worth_growing
    >>> found, least = [9.0, 1.0, 0.1, 60.0], [1.0, 1.0, 0.01, 1.0]
    >>> worth_growing([[0, 1, 2], [1, 3]], found, least, known=12.0)
    {0}
    """
    seconds = [f if math.isfinite(f) else l for f, l in zip(found, least, strict=True)]
    wholes = [sum(seconds[i] for i in chain) for chain in chains]
    done = [
        whole
        for whole, chain in zip(wholes, chains, strict=True)
        if all(math.isfinite(found[i]) for i in chain)
    ]
    far = FAR * min([known, *done])
    return {
        i
        for whole, chain in zip(wholes, chains, strict=True)
        if whole <= far
        for i in chain
        if math.isinf(found[i]) or (found[i] > NEAREST * least[i] and matters(found[i], whole))
    }
