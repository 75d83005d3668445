"""What a host launches several kernels for: iterations whose steps are kernels, results that are computed in different ways, and values
that have names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias, TypeGuard

from relift.semantics.patterns.algorithmic import Iterate, Let, Zip
from relift.semantics.patterns.lookups import ReduceByIndex
from relift.semantics.patterns.opencl import EachOf, Store
from relift.semantics.syntax.binding import outside, substitute
from relift.semantics.syntax.terms import Lambda, MakeTuple, Term, children, free_variables


def repeats_kernels(t: Term) -> TypeGuard[Iterate]:
    """Whether a term is an iteration outside all functions, of whose steps each is one kernel or several.

    >>> from relift import f32, iterate, map_glb, map_seq, to_private
    >>> from relift.semantics.patterns.repeated import repeats_kernels
    >>> from relift.semantics.syntax.terms import Input
    >>> x = Input("x", f32[8])
    >>> repeats_kernels(iterate(3, map_glb(0)(lambda v: v + v), x))
    True
    >>> repeats_kernels(iterate(3, map_seq(lambda v: v + v), to_private(x)))
    False
    """
    return isinstance(t, Iterate) and not free_variables(t) and _has_kernels(t.f.body)


def updates_stored(t: Term) -> TypeGuard[ReduceByIndex]:
    """Whether a term updates, outside all functions, cells that another kernel has stored: all work-items of a kernel do so.

    >>> from relift import add, i32, generate, map_glb, reduce_by_index, to_global, tup
    >>> from relift.semantics.patterns.repeated import updates_stored
    >>> from relift.semantics.syntax.terms import Input
    >>> cells, keys = Input("cells", i32[8]), Input("keys", i32[99])
    >>> ones = map_glb(0)(lambda key: (key, 1), keys)
    >>> updates_stored(reduce_by_index(add, to_global(cells), ones)), updates_stored(reduce_by_index(add, cells, ones))
    (True, False)
    """
    return isinstance(t, ReduceByIndex) and _is_stored_apart(t.init) and not free_variables(t)


def results_of(t: Term) -> tuple[Term, ...]:
    """The results of a program that have a kernel each, for others share them out: in more dimensions, or groups and not work-items.

    So do they where one work-item computes a number, and many an array: each of these would compute the number.
    They are the parts of a tuple, or of arrays that are zipped, or of what is so in these; of others there is one, the program.

    >>> from relift import add, f32, map_glb, map_lcl, map_wrg, reduce_seq, split, transpose
    >>> from relift.semantics.patterns.repeated import results_of
    >>> from relift.semantics.syntax.terms import Input, MakeTuple
    >>> from relift.semantics.syntax.types import Tuple
    >>> x = Input("x", f32[8, 8])
    >>> items = map_glb(0)(lambda r: reduce_seq(add, 0.0, r), x)
    >>> groups = map_wrg(0)(lambda r: map_lcl(0)(lambda v: v + v, r), x)
    >>> both = lambda *parts: MakeTuple(parts, Tuple(tuple(part.type for part in parts)))
    >>> len(results_of(both(items, items))), len(results_of(both(items, groups)))
    (1, 2)
    >>> len(results_of(both(items, reduce_seq(add, 0.0, Input("y", f32[8])))))
    2
    >>> cells = map_glb(1)(lambda r: map_glb(0)(lambda v: v + v, r), x)
    >>> len(results_of(both(items, cells)))
    2
    >>> len(results_of(both(both(items, cells), both(items, items))))
    3
    """
    return tuple(part for _, part in results_at(t))


Path: TypeAlias = tuple[int, ...]
"""Which component of a tuple, of which component of that, and so on."""


def results_at(t: Term, at: Path = ()) -> tuple[tuple[Path, Term], ...]:
    """The same, each with where it is in the result."""
    parts = _parts_of(t)
    if not parts or not _differ(list(_leaves(t))):
        return ((at, t),)
    return tuple(found for i, part in enumerate(parts) for found in results_at(part, (*at, i)))


def beside_what_is_stored(
    t: Term, is_stored: Callable[[Term], bool]
) -> tuple[tuple[Path, Term], ...]:
    """A result, or each component of a tuple of which all but one are stored already, since other kernels read them."""
    parts = t.parts if isinstance(t, MakeTuple) else ()
    stored = [is_stored(part) for part in parts]
    if not any(stored) or stored.count(False) > 1:
        return (((), t),)
    return tuple(((i,), part) for i, part in enumerate(parts))


def _parts_of(t: Term) -> tuple[Term, ...]:
    """The parts of a tuple, or of arrays that are zipped; of others none."""
    t = _computed(t)
    if isinstance(t, Zip):
        return t.xs, t.ys
    return t.parts if isinstance(t, MakeTuple) else ()


def _computed(t: Term) -> Term:
    """A result without `to_global` around it: it has a buffer already."""
    while isinstance(t, Store) and t.space.of_device:
        t = t.xs
    return t


def _leaves(t: Term) -> Iterator[Term]:
    parts = _parts_of(t)
    if not parts:
        yield _computed(t)
    for part in parts:
        yield from _leaves(part)


def _differ(results: Sequence[Term]) -> bool:
    """Whether results are shared out in different ways."""
    computing = [outside(part, _is_stored_apart) for part in results]
    shares = [{(u.level, u.dim) for u in found if isinstance(u, EachOf)} for found in computing]
    among_all = {frozenset(s for s in share if s[0] in ("glb", "wrg")) for share in shares}
    # a number of a group is written by one of its work-items beside what all of them compute
    of_group = {frozenset(s for s in share if s[0] == "lcl") for share in shares}
    return len(among_all) > 1 or len(of_group - {frozenset()}) > 1


def names_a_buffer(t: Term) -> TypeGuard[Let]:
    """Whether a term is under a name for what another kernel stores.

    >>> from relift import f32, let, map_glb, to_global
    >>> from relift.semantics.patterns.repeated import names_a_buffer
    >>> from relift.semantics.syntax.terms import Input
    >>> x = Input("x", f32[8])
    >>> names_a_buffer(let(lambda v: map_glb(0)(lambda e: e + e, v), to_global(map_glb(0)(lambda e: e * e, x))))
    True
    """
    return isinstance(t, Let) and _is_stored_apart(t.x)


def without_names_of_buffers(t: Term, buffer: Callable[[Term], Term] = lambda value: value) -> Term:
    """What is under names for what other kernels store, with what is given for each of these values wherever it is read.

    With the values themselves it is as small as before while it is kept, for each is one object, and may be very long where it is
    written out.

    >>> from relift import f32, let, map_glb, show, to_global
    >>> from relift.semantics.patterns.repeated import without_names_of_buffers
    >>> from relift.semantics.syntax.terms import Input
    >>> x = Input("x", f32[8])
    >>> doubled = map_glb(0)(lambda e: e + e, x)
    >>> show(without_names_of_buffers(let(lambda v: map_glb(0)(lambda e: e * e, v), to_global(doubled))))
    'map_glb(0)(lambda e: e * e, to_global(map_glb(0)(lambda e: e + e, x)))'
    """
    while names_a_buffer(t):
        (x,) = t.f.parameters
        t = substitute(t.f.body, {x.name: buffer(t.x)})
    return t


def _is_stored_apart(t: Term) -> bool:
    """Whether another kernel than that of the result computes a term."""
    return isinstance(t, Store) and t.space.of_device and not free_variables(t)


def _has_kernels(t: Term) -> bool:
    """Whether a step is more than what one work-item, or one group, does; what is the same in all steps is no part of it."""
    if isinstance(t, Store) and t.space.of_device:
        return bool(free_variables(t))
    if isinstance(t, EachOf) and t.level in ("glb", "wrg"):
        return True
    below = (u.body if isinstance(u, Lambda) else u for _, u in children(t))
    return any(map(_has_kernels, below))
