"""Every pattern of the language in every place that a program may have one: alone, before and after others, below them.

`PATTERNS_OF` are tiny programs of eight numbers, `PLACES` what may be around one.  Of each pair the floor of the search
is asked for a program, which is compiled, certified, run, and compared with the interpreter.
"""

# mypy: disable-error-code="no-untyped-call, no-untyped-def, no-any-return, misc, operator"

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import relift as rl
from relift.compiler.agreement.inputs import random_inputs
from relift.compiler.certificates.claims import certificates
from relift.compiler.program import compile_program, refusal
from relift.device import CPU, DeviceDescription
from relift.egraph.encode.terms import require_searchable
from relift.egraph.search.proposals import Proposals
from relift.semantics.errors import ReliftError
from relift.semantics.language.coercion import as_term
from relift.semantics.language.programs import Program
from relift.semantics.syntax.terms import Input
from relift.semantics.syntax.types import Array, Tuple, Type, f32, i32


def inc(v):
    """One more."""
    return v + 1.0


def iota(n):
    """The first n indices."""
    return rl.generate(n, lambda i: i)


def softmax(x):
    """Numbers that are positive, and whose sum is 1."""
    e = rl.map(rl.exp, x)
    return rl.map(lambda v: v / rl.reduce(rl.add, 0.0, e), e)


PATTERNS_OF: dict[str, Callable[[Any], Any]] = {
    "map": lambda x: rl.map(inc, x),
    "reduce": lambda x: rl.reduce(rl.add, 0.0, x),
    "reduce_max": lambda x: rl.reduce(rl.maximum, -math.inf, x),
    "reduce_seq": lambda x: rl.reduce_seq(lambda a, v: a * 0.5 + v, 0.0, x),
    "partial_reduce": lambda x: rl.partial_reduce(rl.add, 0.0, 4, x),
    "iterate_elem": lambda x: rl.map(lambda v: rl.iterate(3, lambda a: a * a + 1.0, v), x),
    "iterate": lambda x: rl.iterate(3, lambda a: rl.map(inc, a), x),
    "iterate_stencil": lambda x: rl.iterate(3, lambda a: rl.map(lambda w: w[0] + w[2], rl.slide(3, 1, rl.pad(1, 1, rl.clamp, a))), x),
    "iterate_sizes": lambda x: rl.iterate_sizes(2, 2, rl.partial_reduce(rl.add, 0.0, 2), x),
    "scan": lambda x: rl.scan_seq(rl.add, 0.0, x),
    "scan_max": lambda x: rl.scan_seq(rl.maximum, -1e30, x),
    "scan_pair": lambda x: rl.scan_seq(lambda a, v: (a[0] + v, a[1] * v), (0.0, 1.0), x),
    "reduce_while": lambda x: rl.reduce_while(lambda s, v: s + v, lambda s, v: s + v < 2.0, 0.0, x),
    "filter": lambda x: rl.filter_seq(lambda v: v > 0.5, 0.0, x),
    "filter_arr": lambda x: rl.filter_seq(lambda v: v > 0.5, 0.0, x)[1],
    "sort": lambda x: rl.insertion_sort_seq(lambda u, v: u < v, x),
    "linear_search": lambda x: rl.linear_search(lambda v: rl.select(v > 0.5, i32(0), i32(1)), 0.25, x),
    "binary_search": lambda x: rl.binary_search(lambda v: rl.select(v > 2.0, i32(0), i32(0)), 0.25, x),
    "gather": lambda x: rl.gather(rl.reverse, x),
    "scatter": lambda x: rl.scatter(rl.reverse, x),
    "gather_indices": lambda x: rl.gather_indices(rl.map(lambda i: 7 - i, iota(8)), x),
    "scatter_indices": lambda x: rl.scatter_indices(rl.generate(8, lambda i: 7 - i), x, rl.repeat(8, 0.0)),
    "at_runtime": lambda x: rl.map(lambda i: rl.at_runtime(i + 3, -1.0, x), iota(8)),
    "at_unsafe": lambda x: rl.map(lambda i: rl.at_runtime_unsafe((i * 3) % 8, x), iota(8)),
    "generate": lambda x: rl.map(lambda p: p[0] * p[1], rl.zip(x, rl.generate(8, lambda i: f32(i * i)))),
    "generate_only": lambda x: rl.generate(8, lambda i: f32(i * i) + rl.head(x)),
    "make_array": lambda x: rl.make_array(rl.head(x), rl.reduce(rl.add, 0.0, x), 2.0),
    "literal_array": lambda x: rl.map(lambda p: p[0] * p[1], rl.zip(x, rl.literal_array([1.0]*8))),
    "unzip": lambda x: rl.unzip(rl.map(lambda v: (v, v * 2.0), x)),
    "zip": lambda x: rl.zip(x, rl.map(inc, x)),
    "split": lambda x: rl.split(4, x),
    "slide": lambda x: rl.slide(3, 1, x),
    "pad": lambda x: rl.pad(1, 1, rl.clamp, x),
    "pad_const": lambda x: rl.pad(1, 1, 0.0, x),
    "pad_of_map": lambda x: rl.pad(1, 1, rl.clamp, rl.map(inc, x)),
    "concat": lambda x: rl.concat(x, rl.map(inc, x)),
    "take": lambda x: rl.take(5, rl.map(inc, x)),
    "drop": lambda x: rl.drop(3, rl.map(inc, x)),
    "slide_of_map": lambda x: rl.slide(3, 1, rl.map(inc, x)),
    "transpose_of_map": lambda x: rl.transpose(rl.map(lambda c: rl.map(inc, c), rl.split(4, x))),
    "repeat": lambda x: rl.repeat(3, rl.reduce(rl.add, 0.0, x)),
    "head": lambda x: rl.head(rl.map(inc, x)),
    "tail": lambda x: rl.tail(rl.map(inc, x)),
    "let": lambda x: rl.let(lambda s: rl.map(lambda v: v / s, x), rl.reduce(rl.add, 0.0, x)),
    "let_array": lambda x: rl.let(lambda y: rl.map(lambda p: p[0] * p[1], rl.zip(y, rl.gather(rl.reverse, y))), rl.map(inc, x)),
    "softmax": softmax,
    "argmax": lambda x: rl.reduce_seq(lambda a, p: (rl.select(p[0] > a[0], p[0], a[0]), rl.select(p[0] > a[0], p[1], a[1])), (-1e30, i32(0)), rl.zip(x, iota(8))),
    "histogram": lambda x: rl.reduce_seq(lambda h, v: rl.map(lambda p: rl.select(rl.equal(p[1], i32(v * 4.0)), p[0] + 1, p[0]), rl.zip(h, iota(4))), rl.repeat(4, i32(0)), x),
    "array_acc": lambda x: rl.reduce_seq(lambda a, v: rl.map(lambda u: u * 0.5 + v, a), rl.repeat(3, 0.0), x),
    "array_acc_pairs": lambda x: rl.reduce_seq(lambda a, v: rl.map(lambda u: (u[0] + v, u[1] * v), a), rl.repeat(3, (0.0, 1.0)), x),
    "tuple_acc_arrays": lambda x: rl.reduce_seq(lambda a, v: (rl.map(lambda u: u + v, a[0]), a[1] + v), (rl.repeat(3, 0.0), 0.0), x),
    "scan_rows": lambda x: rl.scan_seq(lambda acc, row: rl.map(lambda p: p[0] + p[1], rl.zip(acc, row)), rl.repeat(4, 0.0), rl.split(4, x)),
    "rotate_values": lambda x: rl.rotate_values(3, x),
    "circular_buffer": lambda x: rl.circular_buffer(3, inc, x),
    "map_seq": lambda x: rl.map_seq(inc, x),
    "map_seq_slide": lambda x: rl.map_seq_slide(3, 1, lambda w: w[0] + w[2], x),
    "to_global": lambda x: rl.to_global(rl.map(inc, x)),
    "vectors": lambda x: rl.as_scalar(rl.map(rl.vectorize(4, inc), rl.as_vector(4, x))),
}  # fmt: skip
"""By name, a program of eight numbers."""


def doubled(t: Any) -> Any:
    """A value of any type, with each number in it doubled."""
    match t.type:
        case Array():
            return rl.map(doubled, t)
        case Tuple(parts):
            return tuple(doubled(t[i]) for i in range(len(parts)))
        case of:
            return t * 2.0 if of == f32 else t * 2


def total(t: Any) -> Any:
    """The sum of all numbers in a value of any type."""
    match t.type:
        case Array():
            return rl.reduce(rl.add, 0.0, rl.map(total, t))
        case Tuple(parts):
            first, *others = (total(t[i]) for i in range(len(parts)))
            for other in others:
                first = first + other
            return first
        case of:
            return t * 1.0 if of == f32 else f32(t)


def turned_back(rows: Any) -> Any:
    """Columns of results, where they are columns."""
    return rl.transpose(rows) if isinstance(rows.type.element, Array) else rows


Place = tuple[Type, Callable[[Callable[[Any], Any], Any], Any]]

PLACES: Mapping[str, Place] = {
    "alone": (f32[8], lambda p, x: p(x)),
    "of a map": (f32[8], lambda p, x: p(rl.map(lambda v: v * 0.5, x))),
    "before a map": (f32[8], lambda p, x: doubled(p(x))),
    "summed": (f32[8], lambda p, x: total(p(x))),
    "of each row": (f32[4, 8], rl.map),
    "of each column": (f32[8, 4], lambda p, x: rl.map(p, rl.transpose(x))),
    "of columns, as columns": (f32[8, 4], lambda p, x: turned_back(rl.map(p, rl.transpose(x)))),
    "of rows of rows": (f32[2, 3, 8], lambda p, x: rl.map(lambda rows: rl.map(p, rows), x)),
    "before a map, of each row": (f32[4, 8], lambda p, x: rl.map(lambda row: doubled(p(row)), x)),
    "of a map, of each row": (
        f32[4, 8],
        lambda p, x: rl.map(lambda row: p(rl.map(lambda v: v * 0.5, row)), x),
    ),
    "beside an array": (f32[8], lambda p, x: (p(x), rl.map(inc, x))),
    "beside a number": (f32[8], lambda p, x: (rl.reduce(rl.add, 0.0, x), p(x))),
    "beside a number, of each row": (
        f32[4, 8],
        lambda p, x: rl.map(lambda row: (p(row), rl.reduce(rl.add, 0.0, row)), x),
    ),
    "named": (f32[8], lambda p, x: rl.let(lambda y: (y, doubled(y)), p(x))),
}
"""By name, the type of the input, and the program around a pattern."""


def program_of(pattern: str, place: str) -> Program:
    """The program of a pattern in a place."""
    kind, around = PLACES[place]
    x = Input("x", kind)
    return Program("tiny", (x,), as_term(around(PATTERNS_OF[pattern], x)))


@dataclass(frozen=True)
class Outcome:
    """What became of a program: "right", or at which step it ended and why; what its certificates leave open."""

    said: str
    why: str = ""
    unknown: tuple[str, ...] = ()


def outcome(program: Program, device: DeviceDescription = CPU, *, run: bool = True) -> Outcome:
    """The program through the floor of the search, compiler, certificates and, where asked for, a device."""
    try:
        low = _lowered(program, device)
        compiled = compile_program(low)
        claims = [claim for each in certificates(compiled) for claim in each.claims]
        refuted = [str(claim.row()) for claim in claims if claim.verdict == "refuted"]
        if refuted:
            return Outcome("refuted", refuted[0])
        unknown = tuple(c.kind for c in claims if c.verdict == "unknown")
        if not run:
            return Outcome("right", "", unknown)
        inputs = random_inputs(program, 1)
        pairs = zip(_flat(compiled(*inputs)), _flat(program(*inputs)), strict=True)
        if not all(np.allclose(found, right, rtol=1e-4, atol=1e-5) for found, right in pairs):
            return Outcome("wrong", "another result than the interpreter's", unknown)
    except ReliftError as error:
        return Outcome("refused", error.message)
    return Outcome("right", "", unknown)


def _lowered(program: Program, device: DeviceDescription) -> Program:
    """The first of the floor that the compiler accepts, whose derivation replays."""
    task = Proposals(program, {}, device)
    require_searchable(task.said().result)
    reasons: list[str] = []
    for proposal in task.floor():
        reason = refusal(proposal.low)
        if reason is None:
            proposal.derive()
            return proposal.low
        reasons.append(reason)
    raise rl.Unsupported(reasons[0] if reasons else "nothing says what a kernel computes")


def _flat(value: object) -> list[np.ndarray]:
    """The arrays of a result, one after the other."""
    if isinstance(value, tuple):
        return [array for part in value for array in _flat(part)]
    found = np.asarray(value)
    return [found[name] for name in found.dtype.names] if found.dtype.names else [found]
