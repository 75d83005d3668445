"""One kernel: the term of a stage as a tree, after all passes, and how it is launched."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from relift.compiler.certificates.overflow import spans_of
from relift.compiler.codegen.body import Body
from relift.compiler.codegen.emission import Emission
from relift.compiler.codegen.generate import Generator
from relift.compiler.codegen.interface import Interface, interface
from relift.compiler.codegen.passes.alike_reads import alike_reads
from relift.compiler.codegen.passes.conditional_barriers import close_conditional_barriers
from relift.compiler.codegen.passes.gathered_once import gathered_once
from relift.compiler.codegen.passes.local_memory import share_places
from relift.compiler.codegen.passes.registers import named_registers
from relift.compiler.codegen.passes.row_pointers import row_pointers
from relift.compiler.codegen.passes.rows_apart import rows_apart
from relift.compiler.codegen.passes.shared_indices import share_indices
from relift.compiler.codegen.scope import Scope
from relift.compiler.codegen.values.cells import Addressing
from relift.compiler.codegen.values.functions import Functions
from relift.compiler.codegen.values.scalars import memory_type
from relift.compiler.codegen.values.tables import tables_of
from relift.compiler.dialects.opencl.printer import OpenCL
from relift.compiler.lowering.analyses import Analyses
from relift.compiler.lowering.spec import check_kernel
from relift.compiler.lowering.stages import Stage
from relift.compiler.lowering.threads import Threads, number
from relift.compiler.running.launch import INT_LIMIT, Kernel
from relift.compiler.text.names import Names
from relift.compiler.text.reader import read_kernels
from relift.compiler.text.tree import (
    Argument,
    Binary,
    Block,
    Cast,
    CType,
    Declaration,
    Element,
    KernelText,
    Loop,
    Statement,
    Whole,
    call,
    expressions_of,
    mentioned,
    statements_within,
    within,
)
from relift.semantics.indices.stored import memories, stored
from relift.semantics.indices.views import Environment, Memory
from relift.semantics.library_calls import calls_library
from relift.semantics.notation.printer import show
from relift.semantics.syntax.sizes import Name, Size
from relift.semantics.syntax.terms import Input, subterms
from relift.semantics.syntax.types import type_sizes

WORK_ITEMS = {
    f"{level}_{d}{end}": (function, d)
    for end, functions in (
        ("", {"glb": "get_global_id", "wrg": "get_group_id", "lcl": "get_local_id"}),
        ("_count", {"glb": "get_global_size", "wrg": "get_num_groups"}),
    )
    for level, function in functions.items()
    for d in range(3)
}
"""The numbers of a work-item, called after the maps that it serves, and how many share the elements of one."""

_NUMBERS = frozenset(
    name
    for name, (function, _) in WORK_ITEMS.items()
    if function in ("get_global_id", "get_local_id")
)
"""What differs between the work-items of a group."""

_LONG_ROW = re.compile(r"\(((?:[-+.\w]+, ){3})[-+.\w, ]{60,}\), (\w+)")
"""Constants of which a comment has the first three: the kernel has all of them as a table."""

LONGEST_COMMENT = 60
"""Lines of a term that are repeated above its kernel: a longer one is easier to read in the program."""


@dataclass(frozen=True)
class Settings:
    """What all kernels of a program share: the names of its parameters in C, its functions, and how indices count.

    Work-items count to `turns` beyond the end of their loops.
    """

    names: Mapping[str, str]
    functions: Functions
    analyses: Analyses
    wide: bool
    turns: int


@dataclass(frozen=True)
class _Placed:
    """A kernel whose statements are there, with its local arrays at their places."""

    stage: Stage
    threads: Threads
    given: Interface
    lengths: Sequence[Size]
    emission: Emission
    body: Block
    local_arrays: list[Memory]
    tables: tuple[Declaration, ...]

    def kernel(self, name: str, arguments: Sequence[str], counted: Sequence[Size]) -> Kernel:
        """How it is launched."""
        local_bytes = sum(number(m.cells) * m.scalar.bytes for m in self.local_arrays)
        threads, turns = self.threads, tuple(sorted(self.threads.turns))
        return Kernel(
            name, tuple(arguments), threads.total, threads.local, local_bytes, turns, tuple(counted)
        )

    @property
    def open(self) -> set[str]:
        """The sizes that are known at the launch only."""
        return {size for n in self.lengths for size in n.names()}


def _placed(stage: Stage, threads: Threads, settings: Settings) -> _Placed:
    """The statements of a kernel; raises what refuses it."""
    check_kernel(stage.body, threads.used, updates=stage.updates)
    given = interface(stage, settings.names)
    lengths = _lengths(stage)
    taken = [*(a.name for a in given.arguments), *{size for n in lengths for size in n.names()}]
    emission = _counted_as_needed(stage, threads, settings, given, taken, lengths)
    body, local_arrays = share_places(
        emission.body.statements, emission.local_arrays, emission.pointed_to
    )
    tables, body = tables_of(stage.body, body, emission.body.names.fresh, _NUMBERS)
    return _Placed(stage, threads, given, lengths, emission, body, local_arrays, tables)


def accepted(name: str, stage: Stage, threads: Threads, settings: Settings) -> Kernel:
    """How a kernel of known sizes is launched, without its text: what is done to that last refuses nothing."""
    placed = _placed(stage, threads, settings)
    return placed.kernel(name, [a.name for a in placed.given.arguments], ())


def kernel_of(
    name: str, title: str, stage: Stage, threads: Threads, settings: Settings
) -> tuple[Kernel, KernelText]:
    """One kernel: how it is launched, and its tree."""
    placed = _placed(stage, threads, settings)
    emission, given, open_ = placed.emission, placed.given, placed.open
    addressing = emission.addressing
    inside = emission.body.names
    read_only = frozenset(a.name for a in given.arguments if a.type.pointer and a.type.constant)
    body = gathered_once(named_registers(placed.body, inside.fresh), read_only, inside.fresh)
    body = alike_reads(body)
    body = close_conditional_barriers(body)
    size = replace(addressing.number, constant=True)
    sizes = [Argument(size, n) for n in sorted(open_ & mentioned(body))]
    arguments = (*given.arguments, *sizes)
    names = tuple(a.name for a in arguments)
    if settings.analyses.indices:
        body = rows_apart(body, inside.fresh)
        body = share_indices(body, [*WORK_ITEMS, *names], addressing.number, inside.fresh)
        body = row_pointers(body, arguments, inside.fresh)
    tree = KernelText(
        name,
        arguments,
        (*placed.tables, *_prologue(body, placed.local_arrays, addressing.number), *body),
        (*threads.local, 1, 1)[:3] if threads.has_groups else None,
        comment=(*_comment(title, stage, given.read, threads), *_indexed(emission)),
        computes_with=_widest_vector(body) or _along_rows(stage, emission),
    )
    counted = _counted(tree, threads, placed.lengths) if open_ and not addressing.long else ()
    free = threads.free and tree.computes_with is None
    launched = placed.kernel(name, names, counted)
    return replace(launched, free=free, arrays=threads.arrays), tree


def _counted_as_needed(
    stage: Stage,
    threads: Threads,
    settings: Settings,
    given: Interface,
    taken: Sequence[str],
    lengths: Sequence[Size],
) -> Emission:
    """The statements of a kernel, whose indices are `long` where something is so long, or a driver makes better vectors."""
    long = settings.wide or _is_long(lengths, settings.turns)
    emission = _emitted(stage, threads, settings, given, taken, Addressing(long))
    is_open = any(n.constant is None for n in lengths)
    if long or is_open or threads.has_groups or not _side_by_side(emission.body.statements):
        return emission
    return _emitted(stage, threads, settings, given, taken, Addressing(long=True))


def _emitted(
    stage: Stage,
    threads: Threads,
    settings: Settings,
    given: Interface,
    taken: Sequence[str],
    addressing: Addressing,
) -> Emission:
    """The statements of a kernel; once more where its accesses say that private arrays are accessed as vectors."""

    def emitted(aligned: Mapping[str, int]) -> Emission:
        inside = Names(settings.functions.names)
        inside.take(taken)
        emission = Emission(
            Body(inside), settings.functions, threads, addressing, settings.analyses, aligned
        )
        result = stored(stage.result, stage.body.type)
        Generator(emission).write(stage.body, result, Scope(Environment(given.views)))
        return emission

    first = emitted({})
    aligned = first.accesses.as_vectors()
    return emitted(aligned) if aligned else first


# ---- lengths


def _lengths(stage: Stage) -> list[Size]:
    """The cells of all buffers of a kernel, and the lengths of all arrays, also of those that are only views."""
    inputs = {u for u, _ in subterms(stage.body) if isinstance(u, Input)}
    stored_ = [(stage.result, stage.body.type), *((p.name, p.type) for p in inputs)]
    cells = [m.cells for name, t in stored_ for m in memories(name, t)]
    lengths = [n for u, _ in subterms(stage.body) for n in type_sizes(u.type)]
    return list(dict.fromkeys([*cells, *lengths]))


def needs_long(stage: Stage, turns: int) -> bool:
    """Whether something in a kernel is longer than `int` counts, at the sizes that are fixed.

    A grid-stride loop counts to `turns` beyond its end.
    """
    return _is_long(_lengths(stage), turns)


def _is_long(lengths: Sequence[Size], turns: int) -> bool:
    return max((n.constant or 0 for n in lengths), default=0) + turns >= INT_LIMIT


def _counted(tree: KernelText, threads: Threads, lengths: Sequence[Size]) -> tuple[Size, ...]:
    """The spans of a kernel, from its text."""
    [kernel] = read_kernels(OpenCL().kernel(tree))
    atoms = {str(a): Size.atom(a) for n in lengths for a in n.atoms() if isinstance(a, Name)}
    return spans_of(kernel, threads.total, threads.local, atoms, lengths)


def _side_by_side(body: Sequence[Statement]) -> bool:
    """Whether only the place of a work-item says what it accesses, next to its neighbours: a driver makes vectors of them.

    It has to see that neighbours access neighbouring cells.  Of `4098*j + i + 1` it does not if that is an `int`, which may
    be narrower than the number of a work-item; Intel's then gathers each cell, in four times as long.  Divisions and
    loops take longer for `long`.

    >>> from relift.compiler.codegen.kernel import _side_by_side
    >>> from relift.compiler.text.reader import read_kernels
    >>> def answer(text):
    ...     return _side_by_side(read_kernels("kernel void f() { " + text + " }")[0].body)
    >>> answer("out[glb_0] = x[glb_0 + 1];"), answer("out[glb_0] = x[glb_0];"), answer("out[glb_0] = x[glb_0/3 + 1];")
    (True, False, False)
    >>> answer("if (glb_0 < 9) { for (int i = 0; i < 4; i += 1) { out[4*glb_0 + i] = 0; } }")
    False
    """
    statements = list(statements_within(body))
    if any(isinstance(s, Loop) for s in statements) or _widest_vector(body) is not None:
        return False
    written = [e for s in statements for e in expressions_of(s)]
    indices = [e.index for each in written for e in within(each) if isinstance(e, Element)]
    inside = [e for index in indices for e in within(index)]
    divides = any(isinstance(e, Binary) and e.operator in "/%" for e in inside)
    return not divides and any(isinstance(index, Binary) for index in indices)


# ---- around the body


def _prologue(
    body: Sequence[Statement], local_arrays: list[Memory], number_type: CType
) -> list[Declaration]:
    """Local arrays, and the numbers of the work-item that the body mentions."""
    known = mentioned(body)
    arrays = [
        Declaration(
            replace(memory_type(m.scalar), space=m.space),
            m.name,
            Whole(max(1, number(m.cells))),
            None,
            aligned=128,
        )
        for m in local_arrays
    ]
    t = replace(number_type, constant=True)
    items = [
        Declaration(t, name, None, call(function, Whole(d)))
        for name, (function, d) in WORK_ITEMS.items()
        if name in known
    ]
    return [*arrays, *items]


def _comment(title: str, stage: Stage, read: Sequence[Input], threads: Threads) -> list[str]:
    shown = _LONG_ROW.sub(r"(\1...), \2", show(stage.body, width=94)).splitlines()
    if len(shown) > LONGEST_COMMENT:
        shown = [f"(a term of {len(shown)} lines)"]
    term = "\n  ".join([f"{stage.result}: {stage.body.type} =", *shown])
    inputs = ", ".join(f"{p.name}: {p.type}" for p in read)
    items = " x ".join(map(str, threads.total))
    groups = " x ".join(map(str, threads.local))
    return [
        title,
        *term.splitlines(),
        *([f"where {inputs}"] if inputs else []),
        f"work-items: {items}, in groups of {groups}",
    ]


def _indexed(emission: Emission) -> list[str]:
    """The private arrays that are not registers."""
    return [
        f"{name}: its index {OpenCL().expression(emission.addressing.index(index))} is no constant, so it lies "
        "in memory, not in registers (see map_seq_unroll)"
        for name, index in emission.accesses.indexed.items()
    ]


# ---- hints to the driver


def _along_rows(stage: Stage, emission: Emission) -> CType | None:
    """A hint where loops write along rows and work-items do not: vectors of work-items would scatter to as many rows.

    A driver that is told of vectors makes none of work-items, and may pack the turns of the loop.  What is only read is gathered
    in less time than a fold of a driver takes that goes in turns: 8192 maxima of rows of 1000 numbers take Intel's 0.8 ms, and 7.9
    by rows.  So does what a loop computes by functions of the library, which no driver packs there: 16,384 rows of 64 exponentials
    take 0.7 ms, and 2.7.
    """
    walks = emission.accesses.walks
    by_rows = walks["loop"] > walks["items"] and not calls_library(stage.body)
    return CType("float", 4) if by_rows else None


def _widest_vector(body: Sequence[Statement]) -> CType | None:
    """The type of the longest vectors that a kernel computes with; none where it has only scalars.

    It is said to the driver: one that packs work-items in vectors must not pack those that are vectors already.  Of
    vectors of one length, floats are what is computed with.

    >>> from relift.compiler.codegen.kernel import _widest_vector
    >>> from relift.compiler.text.reader import read_kernels
    >>> _widest_vector(read_kernels("kernel void f() { float4 v = (float4)(0); *(global int8*)(out) = (int8)(1); }")[0].body)
    CType(scalar='int', width=8, pointer=False, space=Space.PRIVATE, constant=False, fixed=False)
    """
    found = [t for t in _types(body) if t.width > 1 and t.scalar in _COMPUTED]
    widest = max(
        found, key=lambda t: (t.width, t.scalar in ("float", "double"), t.scalar), default=None
    )
    return None if widest is None else CType(widest.scalar, widest.width)


_COMPUTED = ("float", "double", "int", "long")


def _types(body: Sequence[Statement]) -> Iterator[CType]:
    """The types that some statements mention."""
    for s in statements_within(body):
        if isinstance(s, Declaration):
            yield s.type
        for e in expressions_of(s):
            yield from (part.type for part in within(e) if isinstance(part, Cast))
