"""All kernels of a program: its source, and how it is launched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from relift.compiler.certificates.overflow import spans_of
from relift.compiler.codegen.body import Body
from relift.compiler.codegen.cells import Addressing
from relift.compiler.codegen.expressions import CExpression, c_type, memory_type
from relift.compiler.codegen.functions import Functions
from relift.compiler.codegen.generate import Generator, Scope
from relift.compiler.codegen.local_memory import share_places
from relift.compiler.codegen.registers import named_registers
from relift.compiler.codegen.shared_indices import share_indices
from relift.compiler.codegen.trees import as_value
from relift.compiler.dialects.opencl import OpenCL
from relift.compiler.lowering.analyses import ALL, Analyses
from relift.compiler.lowering.iterations import written_out
from relift.compiler.lowering.spec import check_kernel, check_sizes
from relift.compiler.lowering.stages import Stage, stages_of
from relift.compiler.lowering.threads import Counts, Threads, counts_of, number, threads_of
from relift.compiler.running.compiled import Compiled
from relift.compiler.running.launch import INT_LIMIT, Buffer, Kernel, Launch, Parameter, Role
from relift.compiler.text.names import Names, stored_as
from relift.compiler.text.reader import read_kernels
from relift.compiler.text.tree import (
    Argument,
    Cast,
    CType,
    Declaration,
    KernelText,
    Source,
    Statement,
    Whole,
    call,
    expressions_of,
    statements_within,
    variables,
    within,
)
from relift.compiler.text.tree import Name as TreeName
from relift.semantics.errors import IllTyped, Unsupported, bounded_depth
from relift.semantics.indices.expressions import simplifying
from relift.semantics.indices.views import (
    Environment,
    Memory,
    TupleView,
    View,
    memories,
    stored,
)
from relift.semantics.language.arguments import an_instance
from relift.semantics.language.naming import named_in
from relift.semantics.language.vocabulary import Program
from relift.semantics.notation.printer import show
from relift.semantics.patterns import MapGlb, MapWrg
from relift.semantics.syntax.binding import tidy
from relift.semantics.syntax.sizes import Name, Size
from relift.semantics.syntax.terms import Input, UserFunction, require_writable, subterms
from relift.semantics.syntax.types import Scalar, Tuple, Type, f64, i32, i64, type_sizes

WORK_ITEMS = {
    f"{kind}_{d}{end}": (function, d)
    for end, functions in (
        ("", {"glb": "get_global_id", "wrg": "get_group_id", "lcl": "get_local_id"}),
        ("_count", {"glb": "get_global_size", "wrg": "get_num_groups"}),
    )
    for kind, function in functions.items()
    for d in range(3)
}
"""The numbers of a work-item, called after the maps that it serves, and how many share the elements of one."""

LONGEST_COMMENT = 60
"""Lines of a term that are repeated above its kernel: a longer one is easier to read in the program."""


@bounded_depth("the program")
def compile_program(
    program: Program,
    sizes: Mapping[str, int] | None = None,
    *,
    local: Counts = None,
    global_: Counts = None,
    wide: bool = False,
    contract: bool = True,
    analyses: Analyses = ALL,
) -> Compiled:
    """The kernels of a program whose body is a low-level term (see `spec`).

    `sizes` fixes sizes of the program; those left open become arguments of the kernels, found from the
    shapes of a call.  They are `int`; with `wide`, or where a fixed size needs it, all indices are `long`.
    `local` and `global_` replace the numbers of work-items that are inferred, in the dimensions where a
    kernel has parallel maps.  With `contract`, the device may round `a*b + c` once instead of twice.
    `analyses` switches analyses off.  Raises `Unsupported` for terms that are not low-level, and where a
    size must be a number but is open.

    >>> @program
    ... def double(x: f32[1024]):
    ...     return map_glb(0)(lambda v: v + v, x)
    >>> print(compile_program(double).source)
    // double, kernel 1 of 1
    // out: f32[1024] =
    //   map_glb(0)(lambda v: v + v, x)
    // where x: f32[1024]
    // work-items: 1024, in groups of 64
    kernel void double_1(global const float* restrict x, global float* restrict out) {
      const int glb_0 = get_global_id(0);
    <BLANKLINE>
      const float v = x[glb_0];
      out[glb_0] = v + v;
    }
    <BLANKLINE>
    """
    source, launch = kernels_of(
        program,
        sizes,
        local=local,
        global_=global_,
        wide=wide,
        contract=contract,
        analyses=analyses,
    )
    return Compiled(OpenCL().source(source), launch)


@bounded_depth("the program")
def kernels_of(
    program: Program,
    sizes: Mapping[str, int] | None = None,
    *,
    local: Counts = None,
    global_: Counts = None,
    wide: bool = False,
    contract: bool = True,
    analyses: Analyses = ALL,
) -> tuple[Source, Launch]:
    """The kernels of a program as trees, which any dialect prints, and how they are launched; see `compile_program`."""
    program = an_instance(program, Program, "the program", "decorate its function with rl.program")
    program = program.at(sizes or {}, partly=True)
    require_writable(program.body, program.name)
    program = replace(program, body=written_out(program.body))
    check_sizes(program)
    file = Names()
    functions = Functions(file)
    for function in named_in(program.body):
        if isinstance(function, UserFunction):
            functions.name_of(function)
    interface = Names(file)
    program = _with_c_sizes(program, interface)
    stages = [Stage(s.result, tidy(s.body)) for s in stages_of(program)]
    names = {p.name: interface.fresh(p.name, stored_as(p.type)) for p in program.parameters}
    in_turns = not analyses.control_flow
    threads = [threads_of(s.body, local, global_, in_turns=in_turns) for s in stages]
    _check_counts(program.name, threads, local=local, global_=global_)
    turns = max((*counts_of(local, "local"), *counts_of(global_, "global_")), default=0)
    if program.sizes:
        wide = wide or any(_needs_long(stage, turns) for stage in stages)
    kernels: list[Kernel] = []
    texts: list[KernelText] = []
    for number_, (stage, of) in enumerate(zip(stages, threads, strict=True), start=1):
        title = f"{program.name}, kernel {number_} of {len(stages)}"
        name = file.fresh(f"{program.name}_{number_}")
        with simplifying(analyses.indices):
            kernel, text = _kernel(
                name, title, stage, of, names, functions, analyses, wide=wide, turns=turns
            )
        kernels.append(kernel)
        texts.append(text)
    buffers: list[Buffer] = []
    for p in program.parameters:
        buffers += _buffers(names[p.name], p.type, "input")
    for stage in stages[:-1]:
        buffers += _buffers(stage.result, stage.body.type, "temporary")
    buffers += _buffers("out", program.body.type, "output")
    sizes_of = program.least_sizes
    index_type = i64 if wide else i32
    buffers += [Buffer(name, index_type, Size.of(1), "size") for name in sizes_of]
    launch = Launch(
        program.name,
        tuple(_parameter(p.name, names[p.name], p.type) for p in program.parameters),
        _parameter("out", "out", program.body.type),
        tuple(buffers),
        tuple(kernels),
        sizes_of,
    )
    source = Source(
        tuple(texts),
        tuple(functions.definitions.values()),
        doubles=_has_doubles(program, functions),
        contract=contract,
    )
    return source, launch


def runs(program: Program) -> bool:
    """Whether the compiler accepts a low-level program; the search asks it of its candidates."""
    try:
        compile_program(program)
    except (IllTyped, Unsupported):
        return False
    return True


def is_low_level(program: Program) -> bool:
    """Whether a program says itself what runs in parallel, and the compiler accepts it: nothing is searched for."""
    return is_parallel(program) and runs(program)


def is_parallel(program: Program) -> bool:
    """Whether a program says itself what runs in parallel."""
    return any(isinstance(u, MapGlb | MapWrg) for u, _ in subterms(program.body))


def _with_c_sizes(program: Program, names: Names) -> Program:
    """The program with sizes that are called as the kernels can call them."""
    called = {name: names.fresh(name) for name in program.sizes}
    renamed = {
        name: Size.atom(Name(c, least))
        for name, least in program.least_sizes.items()
        if (c := called[name]) != name
    }
    return program.with_sizes(renamed) if renamed else program


def _check_counts(
    program: str, threads: Sequence[Threads], *, local: Counts, global_: Counts
) -> None:
    """Raise `IllTyped` for counts in a dimension where no kernel has a parallel map."""
    used = {d for t in threads for _, d in t.used}
    for name, given in (("local", local), ("global_", global_)):
        for d, n in enumerate(counts_of(given, name)):
            if n > 1 and d not in used:
                raise IllTyped(
                    f"{program}: {name} has {n} work-items in dimension {d}, where no kernel has a parallel "
                    f"map: all would do the same; give 1, or write map_glb({d})"
                )


def _has_doubles(program: Program, functions: Functions) -> bool:
    """Whether something is computed in double."""
    scalars = [u.type for u, _ in subterms(program.body)]
    in_c = any("double" in OpenCL().function(f) for f in functions.definitions.values())
    return in_c or f64 in scalars or any(f64 in _scalars_in(p.type) for p in program.parameters)


def _scalars_in(t: Type) -> set[Scalar]:
    return {m.scalar for m in memories("any", t)}


def _parameter(name: str, stored_as: str, t: Type) -> Parameter:
    return Parameter(name, t, tuple(m.name for m in memories(stored_as, t)))


def _buffers(name: str, t: Type, role: Role) -> list[Buffer]:
    by_value = {m.name for m in _scalars(name, t)} if role == "input" else set()
    return [
        Buffer(m.name, m.scalar, m.cells, "scalar" if m.name in by_value else role)
        for m in memories(name, t)
    ]


def _scalars(name: str, t: Type) -> list[Memory]:
    """The components of a parameter that are single scalars: they are passed by value."""
    match t:
        case Scalar():
            return [Memory(name, t, Size.of(1), "private")]
        case Tuple(parts):
            return [m for i, part in enumerate(parts) for m in _scalars(f"{name}_{i}", part)]
        case _:
            return []


def _parameter_view(name: str, t: Type) -> View:
    match t:
        case Scalar():
            return as_value(CExpression(TreeName(name), t))
        case Tuple(parts):
            views = (_parameter_view(f"{name}_{i}", part) for i, part in enumerate(parts))
            return TupleView(tuple(views))
        case _:
            return stored(name, t)


def _kernel(
    name: str,
    title: str,
    stage: Stage,
    threads: Threads,
    names: dict[str, str],
    functions: Functions,
    analyses: Analyses,
    *,
    wide: bool,
    turns: int,
) -> tuple[Kernel, KernelText]:
    """One kernel: how it is launched, and its tree."""
    check_kernel(stage.body, threads.used)
    read = {u.name: u for u, _ in subterms(stage.body) if isinstance(u, Input)}
    order = [p for p in names if p in read] + [p for p in read if p not in names]
    views: dict[str, View] = {}
    arguments: list[str] = []
    declared: list[Argument] = []
    for p in order:
        c, t = names.get(p, p), read[p].type
        views[p] = _parameter_view(c, t) if p in names else stored(c, t)
        scalars = {m.name for m in _scalars(c, t)} if p in names else set()
        for m in memories(c, t):
            arguments.append(m.name)
            by_value = m.name in scalars
            declared.append(
                Argument(c_type(m.scalar) if by_value else _pointer(m, constant=True), m.name)
            )
    for m in memories(stage.result, stage.body.type):
        arguments.append(m.name)
        declared.append(Argument(_pointer(m), m.name))
    long = wide or _needs_long(stage, turns)
    inside = Names(functions.names)
    lengths = _lengths(stage)
    inside.take([*arguments, *set().union(*(n.names() for n in lengths))])
    emitted, addressing = Body(inside), Addressing(long)
    generator = Generator(emitted, functions, threads, addressing, analyses)
    generator.write(stage.body, stored(stage.result, stage.body.type), Scope(Environment(views)))
    body, local_arrays = share_places(
        emitted.statements, generator.local_arrays, generator.pointed_to
    )
    body = named_registers(body, emitted.fresh)
    open_ = sorted(set().union(*(n.names() for n in lengths)) & _mentioned(body))
    for size in open_:
        arguments.append(size)
        declared.append(Argument(replace(addressing.number, constant=True), size))
    if analyses.indices:
        body = share_indices(body, [*WORK_ITEMS, *arguments], addressing.number, emitted.fresh)
    comment = [
        *_comment(title, stage, [read[p] for p in order], threads),
        *_indexed(generator),
    ]
    tree = KernelText(
        name,
        tuple(declared),
        (*_prologue(body, local_arrays, addressing.number), *body),
        (*threads.local, 1, 1)[:3] if threads.has_groups else None,
        comment=tuple(comment),
        computes_with=_widest_vector(body) or _along_rows(generator),
    )
    local_bytes = sum(number(m.cells) * m.scalar.bytes for m in local_arrays)
    is_open = any(n.constant is None for n in lengths)
    counted = _counted(tree, threads, lengths) if is_open and not long else ()
    return (
        Kernel(
            name,
            tuple(arguments),
            threads.total,
            threads.local,
            local_bytes,
            tuple(sorted(threads.turns)),
            counted,
        ),
        tree,
    )


def _pointer(m: Memory, *, constant: bool = False) -> CType:
    """The type of a buffer."""
    return replace(memory_type(m.scalar), pointer=True, space="global", constant=constant)


def _counted(tree: KernelText, threads: Threads, lengths: Sequence[Size]) -> tuple[Size, ...]:
    """The spans of a kernel, from its text."""
    [kernel] = read_kernels(OpenCL().kernel(tree))
    atoms = {str(a): Size.atom(a) for n in lengths for a in n.atoms() if isinstance(a, Name)}
    return spans_of(kernel, threads.total, threads.local, atoms, lengths)


def _lengths(stage: Stage) -> list[Size]:
    """The cells of all buffers of a kernel, and the lengths of all arrays, also of those that are only views."""
    inputs = {u for u, _ in subterms(stage.body) if isinstance(u, Input)}
    stored_ = [(stage.result, stage.body.type), *((p.name, p.type) for p in inputs)]
    cells = [m.cells for name, t in stored_ for m in memories(name, t)]
    lengths = [n for u, _ in subterms(stage.body) for n in type_sizes(u.type)]
    return list(dict.fromkeys([*cells, *lengths]))


def _needs_long(stage: Stage, turns: int) -> bool:
    """Whether something in a kernel is longer than `int` counts, at the sizes that are fixed.

    A grid-stride loop counts to `turns` beyond its end.
    """
    longest = max((n.constant or 0 for n in _lengths(stage)), default=0)
    return longest + turns >= INT_LIMIT


def _prologue(
    body: Sequence[Statement], local_arrays: list[Memory], number_type: CType
) -> list[Declaration]:
    """Local arrays, and the numbers of the work-item that the body mentions."""
    mentioned = _mentioned(body)
    arrays = [
        Declaration(
            replace(memory_type(m.scalar), space="local"),
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
        if name in mentioned
    ]
    return [*arrays, *items]


def _mentioned(body: Sequence[Statement]) -> set[str]:
    """The names of variables in some statements."""
    found = (variables(e) for s in statements_within(body) for e in expressions_of(s))
    return set[str]().union(*found)


def _comment(title: str, stage: Stage, read: list[Input], threads: Threads) -> list[str]:
    shown = show(stage.body, width=94).splitlines()
    if len(shown) > LONGEST_COMMENT:
        shown = [f"(a term of {len(shown)} lines)"]
    term = "\n  ".join([f"{stage.result}: {stage.body.type} =", *shown])
    inputs = ", ".join(f"{p.name}: {p.type}" for p in read)
    items = " x ".join(map(str, threads.total))
    groups = " x ".join(map(str, threads.local))
    lines = (
        [title, *term.splitlines(), f"where {inputs}"] if inputs else [title, *term.splitlines()]
    )
    lines.append(f"work-items: {items}, in groups of {groups}")
    return lines


def _indexed(generator: Generator) -> list[str]:
    """The private arrays that are not registers."""
    return [
        f"{name}: its index {OpenCL().expression(generator.addressing.index(index))} is no constant, so it lies "
        "in memory, not in registers (see map_seq_unroll)"
        for name, index in generator.indexed.items()
    ]


def _along_rows(generator: Generator) -> CType | None:
    """A hint where loops walk along rows and work-items do not: vectors of work-items would gather from as many rows.

    A driver that is told of vectors makes none of work-items, and packs the turns of the loop.
    """
    walks = generator.walks
    return CType("float", 4) if walks["loop"] > walks["items"] else None


def _widest_vector(body: Sequence[Statement]) -> CType | None:
    """The type of the longest vectors that a kernel computes with; none where it has only scalars.

    It is said to the driver: one that packs work-items in vectors must not pack those that are vectors already.  Of
    vectors of one length, floats are what is computed with.

    >>> _widest_vector(read_kernels("kernel void f() { float4 v = (float4)(0); *(global int8*)(out) = (int8)(1); }")[0].body)
    CType(scalar='int', width=8, pointer=False, space='private', constant=False, fixed=False)
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
