"""A derivation at sizes of which no two are equal by chance, so that its theorem speaks of all sizes.

At n = 4096 in chunks of 64 there are as many chunks as a chunk has elements, and a proof that sees the numbers only
would be one for squares.  Done again at sizes that divide each other as the derivation's do, and have nothing else
in common, the same derivation tells which numbers are one size.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

from relift.rewrites.derivation.steps import Derivation, Redone, redone
from relift.rewrites.rule import Rule
from relift.semantics.errors import ReliftError

LARGEST = 5_000_000
"""No size of another instance is larger: index functions are tried at each index."""

FIXED = 3
"""Numbers that were chosen up to this may be dimensions, and stay."""


NESTED = 3
"""So many numbers that were chosen divide one another's quotients: vectors in chunks in tiles."""


def other_instances(derivation: Derivation, rules: Mapping[str, Rule]) -> Iterator[Redone]:
    """The derivation at sizes that have in common only what they must, the most different ones first."""
    for sizes, choices in _assignments(derivation, rules):
        if max((*sizes.values(), *choices.values()), default=0) > LARGEST:
            continue
        try:
            yield redone(derivation, rules, sizes, choices)
        except ReliftError:
            continue


def _assignments(
    derivation: Derivation, rules: Mapping[str, Rule]
) -> Iterator[tuple[dict[str, int], dict[int, int]]]:
    """Other numbers for the program's sizes and those chosen along the way."""
    chosen = sorted({n for step in derivation.steps for n in step.choices.values() if n > FIXED})
    originals = {**{str(n): n for n in chosen}, **derivation.sizes}
    rising = sorted(originals, key=lambda name: (originals[name], name))
    if not rising:
        return
    fixed = {n for step in derivation.steps for n in step.choices.values() if 1 < n <= FIXED}
    for equal, nested in itertools.product((False, True), repeat=2):
        numbers = apart_from([originals[x] for x in rising], nested=nested, equal=equal)
        apart = {
            name: new * math.lcm(1, *(n for n in fixed if originals[name] % n == 0))
            for name, new in zip(rising, numbers, strict=True)
        }
        own = {name: apart[name] for name in derivation.sizes}
        yield own, {n: apart[str(n)] for n in chosen}
        if nested:
            yield own, {}
    divisors = math.lcm(1, *_divisors(derivation, rules))
    families = [dict(zip(derivation.sizes, _primes(), strict=False))]
    if (growing := _growing(derivation.sizes)) not in families:
        families.append(growing)
    for multiples, depth in itertools.product(families, range(1, NESTED + 1)):
        factor = divisors**depth
        yield {name: factor * p for name, p in multiples.items()}, {}
        yield {name: derivation.sizes[name] + factor * p for name, p in multiples.items()}, {}


def _growing(sizes: Mapping[str, int]) -> dict[str, int]:
    """A prime for each size, that of a larger one larger by as much: a row stays longer than its window.

    >>> from relift.rewrites.checks.theorem.instances import _growing
    >>> _growing({"width": 64, "height": 64, "radius": 2})
    {'radius': 5, 'width': 163, 'height': 167}
    >>> _growing({"n": 4096, "m": 4096})
    {'n': 5, 'm': 7}
    """
    found: dict[str, int] = {}
    before, primes = 1, _primes()
    for name in sorted(sizes, key=lambda name: sizes[name]):
        least = max(found.values(), default=0) * sizes[name] / max(before, 1)
        found[name] = next(p for p in primes if p >= least)
        before = sizes[name]
    return found


def _divisors(derivation: Derivation, rules: Mapping[str, Rule]) -> Iterator[int]:
    """The lengths of chunks and the steps of windows in the rules by which numbers were chosen.

    Tiles of a stencil are `k + 1` windows, where `k` was chosen.
    """
    known = derivation.known(rules)
    for step in derivation.steps:
        for size in known[step.rule].divisors if step.choices else ():
            filled = size.substitute(step.substitution.sizes).constant
            if filled is not None and 0 < filled <= LARGEST:
                yield filled


def apart_from(numbers: Sequence[int], *, nested: bool = False, equal: bool = False) -> list[int]:
    """Rising numbers, each a prime of its own times those before it that divide the original; 0 divides nothing.

    `nested`: also times the product of those before it whose product divides it, from the smallest on, as rows of
    1024 in vectors of 4 have 64 chunks.  `equal`: one that is as large as another before it is a multiple of it, too,
    as a radius of 8 is one chunk of 8.

    >>> from relift.rewrites.checks.theorem.instances import apart_from
    >>> apart_from([4, 16, 24, 64])
    [5, 35, 55, 455]
    >>> apart_from([0, 3])
    [5, 7]
    >>> apart_from([4, 64, 1024], nested=True)
    [5, 35, 1925]
    >>> apart_from([8, 8, 16], equal=True)
    [5, 35, 385]
    """
    found: list[int] = []
    for number, prime in zip(numbers, _primes(), strict=False):
        below = zip(numbers, found, strict=False)
        dividing = [
            (old, new) for old, new in below if 0 < old < number + equal and number % old == 0
        ]
        common, product, quotient = math.lcm(1, *(new for _, new in dividing)), 1, number
        for old, new in dividing if nested else ():
            if quotient % old == 0:
                product, quotient = product * new, quotient // old
        found.append(prime * math.lcm(common, product))
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
