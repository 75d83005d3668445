"""Confirmation: the programs along a derivation, compared with its source by the interpreter.

Replaying a derivation believes its rules.  Confirming it believes the interpreter alone: where the programs
that are recorded are in its reach, they are run at their own sizes; else the derivation is done again at small
sizes, and those are run.  The inputs are exact numbers, edge values among them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from relift.rewrites.checks.random.exact_inputs import exact_inputs
from relift.rewrites.checks.random.models import ROUNDING_OF_F32, equal
from relift.rewrites.derivation.steps import BrokenDerivation, Derivation, steps_at
from relift.rewrites.rule import Rule
from relift.semantics.domains import Exact, Numeric
from relift.semantics.errors import ReliftError, Undefined
from relift.semantics.interpreter import World, evaluate, refines
from relift.semantics.language.programs import Program
from relift.semantics.notation.printer import show
from relift.semantics.patterns import Iterate
from relift.semantics.syntax.binding import tidy
from relift.semantics.syntax.terms import Lambda, Pattern, Term, children
from relift.semantics.syntax.types import Array, Scalar, Tuple, Type, TypeVariable, Vector, cells

LARGEST_TOTAL = 100
"""Below this is the sum of the small sizes at which a derivation is confirmed."""

REACH = 1_500_000
"""So many cells and calls of functions, in all programs together, are evaluated for one confirmation."""

INPUTS = 4
"""On this many inputs, where they are in reach."""


@dataclass(frozen=True)
class Confirmation:
    """All intermediate programs agreed with the source at these sizes, on some inputs of exact numbers.

    `recorded`: they are the programs that the derivation records, not those that it gives at smaller sizes.
    """

    sizes: Mapping[str, int]
    terms: tuple[Term, ...]
    recorded: bool
    inputs: int


def confirm(
    derivation: Derivation, rules: Mapping[str, Rule], limit: int = 3000, *, reach: int = REACH
) -> Confirmation | None:
    """Compare every program of a derivation with its source by the interpreter.

    What is recorded is run where it is in `reach`.  Else the derivation is done again at sizes, and with numbers
    chosen along the way, that are as small as the steps allow; None when none of the first `limit`
    assignments makes every step apply, and when no input was found on which the source is defined.  Raises
    `BrokenDerivation` when two programs differ, or the derivation does not replay.
    """
    terms = derivation.replay(rules)
    effort = sum(map(work, terms))
    if effort <= reach:
        inputs = _compare(derivation, terms, derivation.program, reach // max(effort, 1))
        return Confirmation(dict(derivation.sizes), tuple(terms), True, inputs) if inputs else None
    for tried, (sizes, choices) in enumerate(_small_assignments(derivation)):
        if tried >= limit:
            return None
        small = _derived(derivation, rules, sizes, choices)
        if small is not None:
            return _confirmed(derivation, sizes, small)
    return None


MOST_TRIED = 3000
"""So many assignments of small sizes are tried at most."""
MORE = 400
"""So many more assignments are tried, once one applies, for others that are unlike it."""


def small_confirmations(
    derivation: Derivation, rules: Mapping[str, Rule], count: int
) -> list[Confirmation]:
    """The same at several small sizes: the least that apply, then others, alike in no size where there are such."""
    found: list[Confirmation] = []
    alike: list[Confirmation] = []
    first = MOST_TRIED
    for tried, (sizes, choices) in enumerate(_small_assignments(derivation)):
        if tried >= min(MOST_TRIED, first + MORE) or len(found) == count:
            break
        known = [c.sizes for c in (*found, *alike)]
        if sizes in known or (len(alike) >= count and _meets(sizes, found)):
            continue
        terms = _derived(derivation, rules, sizes, choices)
        here = None if terms is None else _confirmed(derivation, sizes, terms)
        if here is not None:
            first = min(first, tried)
            (alike if _meets(sizes, found) else found).append(here)
    return [*found, *alike][:count]


def _meets(sizes: Mapping[str, int], found: Sequence[Confirmation]) -> bool:
    """Whether some size is as it was before."""
    return any(sizes[name] == other.sizes[name] for other in found for name in sizes)


def _derived(
    derivation: Derivation,
    rules: Mapping[str, Rule],
    sizes: Mapping[str, int],
    choices: Mapping[int, int],
) -> list[Term] | None:
    """The programs along a derivation, done again at other sizes; None where a step does not apply."""
    try:
        small = derivation.origin.at(sizes)
        return [small.body, *(t for t, _ in steps_at(derivation, small, rules, choices))]
    except ReliftError:
        return None


def _confirmed(
    derivation: Derivation, sizes: Mapping[str, int], terms: Sequence[Term]
) -> Confirmation | None:
    """They agree on some inputs; None where the source has no value on any."""
    effort = sum(map(work, terms))
    inputs = _compare(derivation, terms, derivation.origin.at(sizes), REACH // max(effort, 1))
    return Confirmation(sizes, tuple(terms), False, inputs) if inputs else None


def work(t: Term) -> int:
    """About how many cells and calls the interpreter computes for a term.

    >>> from relift import i32
    >>> from relift.rewrites.derivation.confirmation import work
    >>> from relift.semantics.notation.parser import parse_term
    >>> from relift.semantics.syntax.terms import Input
    >>> work(parse_term("map(lambda x: x + 1, xs)", xs=Input("xs", i32[8])))
    40
    >>> work(parse_term("iterate(2, lambda ys: map(lambda x: x + 1, ys), xs)", xs=Input("xs", i32[8])))
    96
    """
    total = _cells(t.type)
    turns = _calls(t) if isinstance(t, Pattern) else 1
    for _, child in children(t):
        total += turns * work(child.body) if isinstance(child, Lambda) else work(child)
    return total


def _calls(t: Pattern) -> int:
    """How often a pattern calls its function: once for each element, however long what it starts with and its result are."""
    if isinstance(t, Iterate):
        return t.m.constant or 0
    data = {field: u.type for field, u in children(t) if not isinstance(u, Lambda)}
    if data.pop("init", None) is None:
        data["result"] = t.type
    return max(map(_length, data.values()), default=1)


def _length(t: Type) -> int:
    match t:
        case Array(_, n) | Vector(_, n):
            return n.constant or 1
        case Tuple(parts):
            return max(map(_length, parts), default=1)
        case Scalar() | TypeVariable():
            return 1


def _cells(t: Type) -> int:
    match t:
        case Tuple(parts):
            return sum(map(_cells, parts))
        case Array(element, n):
            return (n.constant or 0) * _cells(element)
        case Vector() | Scalar() | TypeVariable():
            return cells(t).constant or 1


def _small_assignments(
    derivation: Derivation,
) -> Iterator[tuple[dict[str, int], dict[int, int]]]:
    """Small values for the program's sizes and for each number chosen along the way, smallest first."""
    chosen = sorted(
        {
            value
            for step in derivation.steps
            for value in step.choices.values()
            if value > 3  # smaller ones are already small, and may be dimensions
        }
    )
    originals = {**{str(value): value for value in chosen}, **derivation.sizes}
    rising = sorted(originals, key=lambda name: originals[name])
    values = [originals[name] for name in rising]
    for found in _by_total(values):
        small = dict(zip(rising, found, strict=True))
        yield (
            {name: small[name] for name in derivation.sizes},
            {value: small[str(value)] for value in chosen},
        )


def _by_total(originals: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Smaller numbers, of least total first, that are in order and divide each other as the originals do.

    >>> from relift.rewrites.derivation.confirmation import _by_total
    >>> next(_by_total((4, 16, 64)))
    (2, 4, 8)
    """
    for total in range(2 * len(originals), LARGEST_TOTAL):
        yield from _in_order(originals, total, ())


def _in_order(
    originals: Sequence[int], total: int, before: tuple[int, ...]
) -> Iterator[tuple[int, ...]]:
    """What may follow the numbers `before`, which stand for the first originals, for a given total."""
    done = len(before)
    if done == len(originals):
        if total == 0:
            yield before
        return
    original = originals[done]
    step = math.lcm(
        *(b for b, o in zip(before, originals, strict=False) if o < original and original % o == 0)
    )
    least = 2 if done == 0 or originals[done - 1] == original else before[-1] + 1
    most = min(original, total - 2 * (len(originals) - done - 1))
    last = done == len(originals) - 1
    for value in range(total if last else -(-least // step) * step, most + 1, step):
        if value >= least and value % step == 0:
            yield from _in_order(originals, total - value, (*before, value))


def _compare(derivation: Derivation, terms: Sequence[Term], program: Program, reach: int) -> int:
    """On how many inputs every term gives what the first one does; raises `BrokenDerivation`.

    A rule into a function of the user's holds as far as its Python computes, in floats.
    """
    compared = 0
    exact = not any(own.rule.calls_user_functions for own in derivation.used)
    domain = Exact() if exact else Numeric()
    alike = _same if exact else partial(equal, rounding=ROUNDING_OF_F32)
    for inputs in exact_inputs(program, max(1, min(reach, INPUTS))):
        inputs = inputs if exact else {name: _modest(value) for name, value in inputs.items()}
        world = World(inputs=inputs, domain=domain)
        try:
            expected = evaluate(terms[0], world)
        except (Undefined, ZeroDivisionError):
            continue  # the source says nothing of this input
        compared += 1
        for number, t in enumerate(terms[1:], 1):
            try:
                same = refines(expected, evaluate(t, world), alike)
            except (Undefined, ZeroDivisionError) as error:
                raise BrokenDerivation(
                    f"step {number} makes the program undefined on {_brief(inputs)}: {error}"
                ) from None
            if not same:
                raise BrokenDerivation(
                    f"step {number} changes the result on {_brief(inputs)}; the term is now\n{show(tidy(t))}"
                )
    return compared


def _modest(value: Any) -> Any:
    """A value whose numbers are of a size at which floats neither overflow nor vanish."""
    if isinstance(value, list | tuple):
        return type(value)(map(_modest, value))
    if isinstance(value, bool) or _MODEST[0] <= abs(value) <= _MODEST[1] or value == 0:
        return value
    return type(value)(1)


_MODEST = (1e-3, 1e3)


def _brief(inputs: Mapping[str, Any]) -> str:
    """The inputs, or as many of them as fit on a few lines."""
    text = str(inputs)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


LONGEST = 600
"""Characters of the inputs that a message shows."""


def _same(x: Any, y: Any) -> bool:
    """Equal, or both not a number."""
    return bool(x == y) or (
        isinstance(x, float) and isinstance(y, float) and math.isnan(x) and math.isnan(y)
    )
