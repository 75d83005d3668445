"""Cells that the work-items of a group, or of a kernel, update at once: by which operators, where, and by whom.

What has updated a cell before is not known, so the operator must be one of which the order is the same: of whole numbers the sum, which
wraps around, and the larger or the smaller one are; of floats these are where a program lets its sums be regrouped.
"""

from __future__ import annotations

from relift.compiler.text.at_once import works_in
from relift.compiler.text.c_types import UPDATES, Update
from relift.semantics.errors import Unsupported
from relift.semantics.interpreter import operand_type, scalar_function
from relift.semantics.patterns import EachOf, Join, MapGlb, MapLcl, MapSeqUnroll, ReduceByIndex
from relift.semantics.patterns.opencl import in_group_memory
from relift.semantics.syntax.memory import Space
from relift.semantics.syntax.terms import Term
from relift.semantics.syntax.types import Scalar, Tuple


def updating(t: ReduceByIndex, *, stored: bool = False) -> EachOf:
    """Who updates cells, and with what: work-items of a group, or of a kernel where another one has `stored` the cells.

    Raises `Unsupported` where nobody does.
    """
    if update_of(t, Space.LOCAL) is None:
        by = getattr(t.op, "name", t.op)
        raise Unsupported(
            f"{t.name} by {by} of {operand_type(t)}; cells are updated at once by {', '.join(t.at_once)} of {' and '.join(map(str, t.at_once_of))}"
        )
    if not (stored or in_group_memory(t.init) or isinstance(t.init, ReduceByIndex)):
        raise Unsupported(
            f"{t.name} of cells that nobody shares; write to_local, or outside of all maps to_global, around the computation of their first values"
        )
    items = t.xs.xss if isinstance(t.xs, Join) else t.xs
    who = MapGlb if stored else MapLcl
    if not isinstance(items, who) or not _gives_pairs(items.f.body, rows=items is not t.xs):
        raise Unsupported(
            f"{t.name} of what no work-items {'' if stored else 'of a group '}compute; what is combined is a {who.name} of pairs, "
            "or a join of one of map_seq_unroll"
        )
    return items


def _gives_pairs(t: Term, *, rows: bool) -> bool:
    """Whether what a work-item computes is a pair, or a row of pairs that are written out."""
    return isinstance(t, MapSeqUnroll) if rows else isinstance(t.type, Tuple)


def update_of(t: ReduceByIndex, space: Space) -> str | None:
    """The function of OpenCL C that updates a cell in some memory as the operator says; None where there is none.

    >>> import relift as rl
    >>> from relift.compiler.lowering.updates import update_of
    >>> from relift.semantics.syntax.memory import Space
    >>> from relift.semantics.syntax.terms import Input
    >>> cells, pairs = Input("cells", rl.i32[4]), Input("pairs", rl.tup(rl.i32, rl.i32)[8])
    >>> [update_of(rl.reduce_by_index(op, cells, pairs), Space.LOCAL) for op in (rl.add, rl.maximum, rl.mul)]
    ['atomic_add', 'atomic_max', None]
    >>> cells, pairs = Input("cells", rl.f32[4]), Input("pairs", rl.tup(rl.i32, rl.f32)[8])
    >>> update_of(rl.reduce_by_index(rl.add, cells, pairs), Space.GLOBAL)
    'add_f32_at_once_global'
    """
    of = operand_type(t)
    if of not in t.at_once_of or not isinstance(of, Scalar):
        return None
    wanted = Update(scalar_function(t.op, of) or "", of.c)
    found = (name for name, how in UPDATES.items() if how == wanted and works_in(name, space))
    return next(found, None)
