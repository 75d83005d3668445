"""How inexact a low-level program's result may be: what rounding theory says of its longest chain of sums.

A fold of n numbers in order rounds n times, one in pairs log n times, one by lanes and chunks as often as its
longest path.  Each rounding is off by u = 2**-24 of what is added up so far, at most.

    many, small     they are off to either side alike, so together by the root of their number times u; of N cells
                    of a result the worst is off by about the root of 2 ln N of that
    beyond LONGEST  what is added is so small beside the sum that rounding has a side; then all may add up

Source: Higham and Mary, A new approach to probabilistic rounding error analysis, SISC 2019; Connolly, Higham and
Mary, Stochastic rounding and its probabilistic backward error analysis, SISC 2021, for stagnating sums.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from relift.compiler.running.arrays.buffers import components
from relift.semantics.language.programs import Program
from relift.semantics.patterns import Accumulating, Iterate, Reduce
from relift.semantics.syntax import terms
from relift.semantics.syntax.types import FLOATS, Scalar, cells, dimensions

UNIT = float(np.finfo(np.float32).eps) / 2
LONGEST = 1 << 18
"""Roundings of a chain up to which they are off to either side alike."""

MOST = 2.0**-4
"""A result with fewer right bits than four is wrong, whatever its chain excuses."""

_EXACT = frozenset(["minimum", "maximum", "select", "absolute", "neg"])


_NOWHERE = -math.inf
"""The depth of what is not on a path that is looked for."""


def allowed(program: Program) -> float:
    """The error, relative to the largest value of a result, up to which a kernel of the program is right.

    >>> from relift.compiler.agreement.rounding import allowed
    >>> import relift as rl
    >>> n = rl.nat("n")
    >>> def fold(x: rl.f32[n]):
    ...     return rl.reduce_seq(rl.add, 0.0, x)
    >>> total = rl.program(fold)
    >>> [f"{allowed(total.at({'n': n})):.1e}" for n in (1 << 10, 1 << 16, 1 << 19, 1 << 24)]
    ['1.9e-06', '1.5e-05', '3.1e-02', '6.2e-02']
    >>> m = rl.nat("m")
    >>> def folds(x: rl.f32[m, n]):
    ...     return rl.map_seq(lambda row: rl.reduce_seq(rl.add, 0.0, row), x)
    >>> f"{allowed(rl.program(folds).at({'n': 1 << 10, 'm': 1 << 20})):.1e}"
    '1.0e-05'
    """
    if not any(scalar.is_float for scalar, _ in components(program.body.type)):
        return 0.0
    n, unit = roundings(program), _unit(program)
    if n <= LONGEST:
        return min(math.sqrt(n) * unit * _worst_of(cells(program.body.type).constant or 1), MOST)
    return min(n * unit, MOST)


def _worst_of(cells: int) -> float:
    """How far the worst of so many normal deviations is off, in standard deviations; one is as good as any."""
    return max(1.0, math.sqrt(2 * math.log(max(cells, 1))))


def _unit(program: Program) -> float:
    """What a rounding is off by at most: in the shortest floats that something is computed in, or those of UNIT."""
    used = {u.type.name for u, _ in terms.subterms(program.body) if isinstance(u.type, Scalar)}
    units = (float(np.finfo(FLOATS[name].dtype).eps) / 2 for name in used & FLOATS.keys())
    return max([UNIT, *units])


def roundings(program: Program) -> float:
    """The most roundings on a path from an input to the result of a low-level program at concrete sizes."""
    return max(0.0, _depth(program.body, {}, 0.0))


def _depth(t: terms.Term, known: Mapping[str, float], other: float) -> float:
    """The most roundings on a path to t, from variables with as many as is known of them, or from what is `other`."""

    def below(*parts: terms.Term) -> float:
        return max((_depth(u, known, other) for u in parts), default=other)

    match t:
        case terms.Var(name):
            return known.get(name, other)
        case Accumulating(f, init, xs):
            return _folded(f, _length(xs), (below(init), below(xs)), known, other)
        case Iterate(m, f, x):
            return _folded(f, m.constant or 0, (below(x),), known, other)
        case Reduce(_, init, xs):
            return below(init, xs) + _length(xs)
        case terms.Combine(operator, left, right):
            return below(left, right) + (terms.innermost(operator).name not in _EXACT)
        case terms.Apply(function, arguments):
            return below(*arguments) + (function not in _EXACT)
        case terms.Call(_, arguments):
            return below(*arguments) + 1
        case (
            terms.Input() | terms.Literal() | terms.MakeTuple() | terms.Get() | terms.Metavariable()
            | terms.Pattern()
        ):  # fmt: skip
            parts = [child for _, child in terms.children(t)]
            data = below(*(u for u in parts if not isinstance(u, terms.Lambda)))
            bodies = [
                _depth(f.body, {**known, **{x.name: data for x in f.parameters}}, other)
                for f in parts
                if isinstance(f, terms.Lambda)
            ]
            return max(bodies, default=data)


def _folded(
    f: terms.Lambda, turns: int, start: tuple[float, ...], known: Mapping[str, float], other: float
) -> float:
    """The roundings of a fold: those of a turn count once for what enters, and again for what is carried on."""
    carried, *elements = (x.name for x in f.parameters)
    nothing = dict.fromkeys([*known, *elements], _NOWHERE)
    each = _depth(f.body, {**nothing, carried: 0.0}, _NOWHERE)
    entering = {carried: _NOWHERE, **dict(zip(elements, start[1:], strict=True))}
    enters = _depth(f.body, {**known, **entering}, other)
    if each == _NOWHERE:
        return enters
    return max(start[0] + turns * each, enters + max(turns - 1, 0) * each)


def _length(xs: terms.Term) -> int:
    return dimensions(xs.type)[0][0].constant or 0
