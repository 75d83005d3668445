"""Calls of a sparse library in the style of oneMKL: a matrix in compressed rows is described, multiplied, and given back.

What is needed is read off the loops: where rows begin and end, which array has the columns and which the values.  Pointers are
moved where the loops count from one.  A library may take the rows in any order, and asks that none ends before it begins.
"""

from __future__ import annotations

from relift.compiler.idioms.facts.names import Counter
from relift.compiler.idioms.facts.values.terms import Expression, Read
from relift.compiler.idioms.lift import LiftedIdiom
from relift.compiler.idioms.lifting.effects import Cells, effect_of
from relift.compiler.idioms.replacement.blas import (
    LETTERS,
    Arguments,
    NotOne,
    Routine,
    product,
    strides_of,
)
from relift.compiler.idioms.replacement.inspecting import unknown_lengths
from relift.compiler.idioms.replacement.spelling import C_TYPES
from relift.semantics.syntax.sizes import Size

_PLAIN, _FROM_ZERO, _GENERAL = 10, 0, "{20, 40, 50}"  # the numbers of the library's enumerations


def sparse_routine(idiom: LiftedIdiom) -> Routine | None:
    """The call that does what an idiom does, where it is the product of a sparse matrix and a vector."""
    if idiom.lifted is None:
        return None
    found = idiom.found
    effect = effect_of(idiom.relations, found.loop, found.result, found.idiom)
    if not isinstance(effect, Cells) or effect.type not in LETTERS or len(effect.turns) != 1:
        return None
    try:
        return _csr(
            effect, Arguments(idiom.lifted, effect.type, sparse=True), unknown_lengths(idiom)
        )
    except NotOne:
        return None


def _csr(effect: Cells, write: Arguments, lengths: dict[str, str]) -> Routine:
    (turn,) = effect.turns
    old = Read(effect.base, effect.index, (), effect.type)
    (step,), first = strides_of(old, (turn.counter,))
    if step != 1:
        raise NotOne
    p = product(effect.value, old, write)
    low, high = _ends(p.trips, dict(p.fold.computed))
    (low_step,), low_first = strides_of(low, (turn.counter,))
    (high_step,), high_first = strides_of(high, (turn.counter,))
    if low_step != 1 or high_step != 1:
        raise NotOne
    for values, x in ((p.a, p.b), (p.b, p.a)):
        try:
            columns, moved = _column(x)
            at_values = _behind(values, p.counter, low)
            at_columns = _behind(columns, p.counter, low)
        except NotOne:
            continue
        if x.base not in lengths or effect.base in (
            x.base,
            values.base,
            columns.base,
            low.base,
            high.base,
        ):
            raise NotOne
        if moved.constant is None or moved.constant > 0:
            raise NotOne  # a column below the first
        starts, ends = (
            _rows(r, first_, write) for r, first_ in ((low, low_first), (high, high_first))
        )
        name, kind = f"mkl_sparse_{write.letter}", C_TYPES[write.kind]
        n = write.number(turn.trips)
        count = f"(int)(size_{lengths[x.base]} - ({moved.constant}))"
        indices = (
            f"(int *)array_{write.names[columns.base]} + ({write.wide(at_columns, is_count=False)})"
        )
        cells = f"({kind} *)({write.pointer(values.base, at_values)})"
        begin = f"{write.pointer(x.base, moved)}"
        lines = [
            f"const int *const starts = {starts}, *const ends = {ends};",
            f"for (long long r = 0; r < {n}; ++r) if (starts[r] < 0 || starts[r] > ends[r]) return REFUSED;",
            "void *matrix = 0;",
            f"const struct relift_matrix_descr general = {_GENERAL};",
            f"int status = {name}_create_csr(&matrix, {_FROM_ZERO}, {n}, {count}, (int *)starts, (int *)ends, {indices}, {cells});",
            f"if (!status) status = {name}_mv({_PLAIN}, {p.alpha}, matrix, general, {begin}, {p.beta}, {write.pointer(effect.base, first)});",
            "if (matrix) mkl_sparse_destroy(matrix);",
            "if (status) return REFUSED;",
        ]
        prototype = "\n".join([
            "#ifndef RELIFT_SPARSE", "#define RELIFT_SPARSE", "struct relift_matrix_descr { int type, mode, diag; };",
            "extern int mkl_sparse_destroy(void *);", "#endif",
            f"extern int {name}_create_csr(void **, int, int, int, int *, int *, int *, {kind} *);",
            f"extern int {name}_mv(int, {kind}, void *, struct relift_matrix_descr, const {kind} *, {kind}, {kind} *);",
        ])  # fmt: skip
        call = "\n  ".join(lines)
        return Routine(f"{name}_mv", prototype, call, tuple(write.checks), frozenset(write.values))
    raise NotOne


def _ends(trips: Size, computed: dict[str, Expression]) -> tuple[Read, Read]:
    """Where a row begins and ends, of which the difference is how often its loop runs."""
    found: dict[int, Read] = {}
    rest = trips
    for name, e in computed.items():
        linear = rest.linear_in(name)
        if linear is None or linear[0].constant not in (1, -1) or not _is_plain(e):
            raise NotOne
        assert isinstance(e, Read), "cannot happen: it is asked above"
        found[linear[0].constant or 0] = e
        rest = linear[1]
    if rest != 0 or set(found) != {1, -1}:
        raise NotOne
    return found[-1], found[1]


def _is_plain(e: Expression) -> bool:
    return isinstance(e, Read) and e.type == "i32" and not e.computed


def _column(x: Read) -> tuple[Read, Size]:
    """The column that says which cell of the vector is read, and by how much the cell is moved."""
    if len(x.computed) != 1:
        raise NotOne
    ((name, column),) = x.computed
    linear = x.index.linear_in(name)
    if linear is None or linear[0] != 1 or not isinstance(column, Read) or column.type != "i32":
        raise NotOne
    return column, linear[1]


def _behind(r: Read, counter: str, low: Read) -> Size:
    """Where an array begins whose cell `counter + low` is read."""
    if len(r.computed) != 1 or r.computed[0][1] != low:
        raise NotOne
    of_row = r.index.linear_in(r.computed[0][0])
    if of_row is None or of_row[0] != 1:
        raise NotOne
    inside = of_row[1].linear_in(counter)
    if inside is None or inside[0] != 1 or any(isinstance(n, Counter) for n in inside[1].names()):
        raise NotOne
    return inside[1]


def _rows(r: Read, first: Size, write: Arguments) -> str:
    if r.base not in write.arrays:
        raise NotOne
    return f"(const int *)array_{write.names[r.base]} + ({write.wide(first, is_count=False)})"
