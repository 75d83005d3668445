"""A derivation at sizes of which no two are equal by chance, so that its theorem speaks of all sizes.

At n = 4096 in chunks of 64 there are as many chunks as a chunk has elements, and a proof that sees the numbers only
would be one for squares.  Done again at sizes that divide each other as the derivation's do, and have nothing else
in common, the same derivation tells which numbers are one size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from relift.rewrites.derivation.steps import Derivation, Redone, redone
from relift.rewrites.rule import Rule
from relift.semantics.errors import ReliftError

LARGEST = 5_000_000
"""No size of another instance is larger: index functions are tried at each index."""

FIXED = 3
"""Numbers that were chosen up to this may be dimensions, and stay."""


def other_instance(derivation: Derivation, rules: Mapping[str, Rule]) -> Redone | None:
    """The derivation at sizes that have in common only what they must; None where no such were found."""
    for sizes, choices in _assignments(derivation):
        if max((*sizes.values(), *choices.values()), default=0) > LARGEST:
            continue
        try:
            return redone(derivation, rules, sizes, choices)
        except ReliftError:
            continue
    return None


def _assignments(derivation: Derivation) -> Iterator[tuple[dict[str, int], dict[int, int]]]:
    """Other numbers for the program's sizes and those chosen along the way, the most different ones first."""
    chosen = sorted({n for step in derivation.steps for n in step.choices.values() if n > FIXED})
    originals = {**{str(n): n for n in chosen}, **derivation.sizes}
    rising = sorted(originals, key=lambda name: (originals[name], name))
    if not rising:
        return
    fixed = {n for step in derivation.steps for n in step.choices.values() if 1 < n <= FIXED}
    apart = {
        name: new * math.lcm(1, *(n for n in fixed if originals[name] % n == 0))
        for name, new in zip(rising, apart_from([originals[x] for x in rising]), strict=True)
    }
    own = {name: apart[name] for name in derivation.sizes}
    yield own, {n: apart[str(n)] for n in chosen}
    yield own, {}
    factor = math.lcm(1, *chosen)
    primes = dict(zip(derivation.sizes, _primes(), strict=False))
    yield {name: factor * p for name, p in primes.items()}, {}
    yield {name: derivation.sizes[name] + factor * p for name, p in primes.items()}, {}


def apart_from(numbers: Sequence[int]) -> list[int]:
    """Rising numbers, each a prime of its own times those before it that divide the original; 0 divides nothing.

    >>> from relift.rewrites.checks.theorem.instances import apart_from
    >>> apart_from([4, 16, 24, 64])
    [5, 35, 55, 455]
    >>> apart_from([0, 3])
    [5, 7]
    """
    found: list[int] = []
    for number, prime in zip(numbers, _primes(), strict=False):
        below = zip(numbers, found, strict=False)
        dividing = [new for old, new in below if 0 < old < number and number % old == 0]
        found.append(prime * math.lcm(1, *dividing))
    return found


def _primes() -> Iterator[int]:
    """The primes from 5 on."""
    found = [2, 3]
    while True:
        candidate = found[-1] + 2
        while any(candidate % p == 0 for p in found):
            candidate += 2
        found.append(candidate)
        yield candidate
