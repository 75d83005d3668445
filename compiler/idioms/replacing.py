"""A C file with calls of kernels in the place of loops, each guarded: where the guard fails, the loop that was there runs.

Two files are written.  In the first, `if (!relift_f_12(…))` stands before a loop; the second holds those functions: they check
the conditions that can be checked, run the kernel into memory of its own, and copy the result to where the loop puts it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from relift.compiler.dialects.c.printer import C, entry
from relift.compiler.idioms.blas import routine
from relift.compiler.idioms.counting import counting
from relift.compiler.idioms.facts.expressions import Opaque
from relift.compiler.idioms.facts.ir import Extent
from relift.compiler.idioms.facts.relations import Relations
from relift.compiler.idioms.inspecting import Inspection, inspection
from relift.compiler.idioms.lift import LiftedFile, LiftedIdiom
from relift.compiler.idioms.lifting.programs import Lifted, Parameter
from relift.compiler.idioms.lowered import lowered
from relift.compiler.idioms.spelling import C_TYPES, Kept, letter, polynomial
from relift.compiler.program import kernels_of
from relift.compiler.running.launch import Kernel, Launch
from relift.compiler.text.tree import Source
from relift.semantics.errors import ReliftError
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.types import Array, Scalar, Type

Calls: TypeAlias = Literal["kernels", "blas"]
_ROOM = 4096
"""What a kernel may count beyond its spans."""
_FIT = 16_384
"""How many cells a thread computes before they go to where they belong: they stay in its cache till then."""
CALLS: dict[str, Calls] = {"kernels": "kernels", "blas": "blas"}


@dataclass(frozen=True)
class Replacement:
    """The two files, what is replaced in them by which function, and what is not and why."""

    text: str
    kernels: str
    replaced: tuple[tuple[LiftedIdiom, str], ...]
    kept: tuple[tuple[LiftedIdiom, str], ...]


def replacement(found: LiftedFile, text: str, calls_of: Calls = "kernels") -> Replacement:
    """The file with its loops replaced where that can be done; by calls of a BLAS, where that is asked for and has them."""
    done: list[tuple[LiftedIdiom, str]] = []
    kept: list[tuple[LiftedIdiom, str]] = []
    calls: list[_Call] = []
    for idiom in found.idioms:
        try:
            call = _call(idiom, text, [c.place for c in calls], calls_of)
        except (Kept, Opaque) as reason:
            kept.append((idiom, str(reason)))
            continue
        except ReliftError as reason:
            kept.append((idiom, f"no kernel: {reason.message}"))
            continue
        calls.append(call)
        done.append((idiom, call.name))
    lines = text.split("\n")
    for call in sorted(calls, key=lambda c: c.place, reverse=True):
        line, column = call.place
        at = lines[line - 1]
        lines[line - 1] = (
            f"{at[: column - 1]}if (!{call.name}({call.arguments})) {at[column - 1 :]}"
        )
    prototypes = "".join(f" {c.prototype};" for c in calls)
    head = f"/* with calls of {len(calls)} kernels, which a second file defines */{prototypes}\n#line 1\n"
    return Replacement(head + "\n".join(lines), _kernels(calls), tuple(done), tuple(kept))


# ---- what can be replaced


@dataclass(frozen=True)
class _Call:
    name: str
    place: tuple[int, int]
    arguments: str
    prototype: str
    body: str
    source: Source | None
    declared: str


def _call(
    idiom: LiftedIdiom, text: str, taken: Sequence[tuple[int, int]], calls_of: Calls
) -> _Call:
    lifted, extent = idiom.lifted, idiom.extent
    if lifted is None:
        raise Kept(idiom.reason or "there is no program")
    if not idiom.evidence.ok:
        raise Kept(f"its program is not shown to agree ({idiom.evidence})")
    if idiom.relations.evolution.wraps:
        raise Kept("an index may wrap around")
    name = "" if extent is None else f"relift_{idiom.function}_{extent.line}_{extent.column}"
    counted = counting(idiom, name)
    if idiom.under_conditions and counted is None:
        raise Kept(f"a kernel would go to every cell, where {idiom.under_conditions[0]}")
    if extent is None:
        raise Kept("its place in the file is not known")
    place = _place(extent, text, taken)
    _require_only_effect(idiom)
    by_blas = routine(idiom) if calls_of == "blas" else None
    scalar = idiom.relations.function.type_of(lifted.target.value) != "ptr"
    has_lengths = any(map(_is_length, lifted.sizes.values()))
    inspected = inspection(idiom) if has_lengths and counted is None else None
    needed = [part.values for part in (inspected, by_blas, counted) if part is not None]
    values = _values(lifted, frozenset[str]().union(*needed))
    spelled = {v: _spelled(v, idiom.relations, idiom) for v in values}
    given, typed = _passed(lifted, idiom.relations, spelled, idiom, scalar=scalar)
    head, source = f"int {name}({', '.join(typed)})", None
    if counted is not None:
        body = "\n".join(
            [f"long {name}_refused;", f"{head} {{", *counted.lines, "  return 1;", "}"]
        )
        return _Call(name, place, ", ".join(given), head, body, None, "")
    if by_blas is not None:
        refuse = f"return relift_refuse(&{name}_refused);"
        work = [*(f"  if ({c}) {refuse}" for c in by_blas.checks), f"  {by_blas.call}"]
        spans = list[Size]()
    else:
        source, launch = _kernel(lifted, name)
        spans = list(launch.kernels[0].spans)
        work = _kernel_lines(lifted, launch, entry(source.kernels[0]).name, name, scalar=scalar)
    body = _wrapper(name, typed, lifted, spans, work, inspected, scalar=scalar)
    return _Call(
        name, place, ", ".join(given), head, body, source,
        by_blas.prototype if by_blas else "",
    )  # fmt: skip


def _place(extent: Extent, text: str, taken: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Where a loop begins in the file; raises `Kept` where no call can stand before it."""
    place = (extent.line, extent.column)
    if place in taken:
        raise Kept("the loop is replaced already")
    rest = text.split("\n")[extent.line - 1][extent.column - 1 :]
    if not re.match(r"(for|while|do)\b", rest):
        raise Kept("it is not a loop of this file's own text, but of a macro or another file")
    return place


def _kernel(lifted: Lifted, name: str) -> tuple[Source, Launch]:
    """The one kernel of a program; raises `Kept`."""
    low = lowered(replace(lifted.program, name=name.removeprefix("relift_")))
    source, launch = kernels_of(low, contract=False)
    if len(launch.kernels) != 1 or launch.kernels[0].turns or not entry(source.kernels[0]).free:
        raise Kept("no kernel: it would be several")
    return source, launch


def _is_length(size: Size) -> bool:
    """Whether a size is the length of an array, of which C says nothing."""
    return any(n.startswith("length of") for n in size.names())


def _values(lifted: Lifted, more: Collection[str]) -> list[str]:
    """The values of the function that sizes, strides and begins are made of."""
    sizes = [s for s in lifted.sizes.values() if not _is_length(s)]
    sizes += [lifted.target.first, *lifted.target.strides]
    sizes += [p.first for p in lifted.parameters if p.first is not None]
    found = {n for s in sizes for n in s.names()} | set(more)
    if any(n.startswith("$") for n in found):
        raise Kept("a length is not known where the loop stands")
    return sorted(found)


def _require_only_effect(idiom: LiftedIdiom) -> None:
    """Raise `Kept` where a loop does more than its idiom."""
    relations, loop = idiom.relations, idiom.found.loop
    target = idiom.lifted.target.value if idiom.lifted is not None else ""
    for i in relations.instructions.values():
        if i.block in loop.blocks:
            if i.opcode == "store" and relations.evolution.base_of(i.operands[1]) != target:
                raise Kept(f"the loop stores elsewhere, too (line {i.line})")
            continue
        for operand in i.operands:
            inner = relations.instructions.get(operand)
            if inner is None or inner.block not in loop.blocks or inner.type == "void":
                continue
            if operand != target and operand not in _last_values(relations, target):
                shown = relations.evolution.spelled(operand)
                raise Kept(f"{shown} of the loop is used after it (line {i.line})")


def _last_values(relations: Relations, target: str) -> tuple[str, ...]:
    """What a carried value becomes: a loop that is asked late leaves that."""
    phi = relations.instructions.get(target)
    return phi.operands if phi is not None and phi.opcode == "phi" else ()


def _spelled(value: str, relations: Relations, idiom: LiftedIdiom) -> str:
    """A value as the C file can say it where the loop stands; raises `Kept`."""
    function = relations.function
    if value.startswith("@"):
        return value[1:]
    names = function.variables.get(value, ())
    if value not in function.arguments or len(names) != 1:
        raise Kept(f"{relations.evolution.spelled(value)} has no name where the loop stands")
    (name,) = names
    for other, called in function.variables.items():
        if other == value or name not in called:
            continue
        found = relations.instructions.get(other)
        if found is None or found.block not in idiom.found.loop.blocks:
            raise Kept(f"{name} has another value at another place")
    return name


def _passed(
    lifted: Lifted,
    relations: Relations,
    spelled: dict[str, str],
    idiom: LiftedIdiom,
    *,
    scalar: bool,
) -> tuple[list[str], list[str]]:
    """The arguments of the call, and the parameters of the function."""
    given, typed = list[str](), list[str]()
    result = _element(lifted.program.body.type)
    if scalar:
        names = [n for n in relations.function.variables.get(lifted.target.value, ()) if n]
        if len(names) != 1:
            raise Kept("the variable that holds the result is not known")
        given.append(f"&{names[0]}")
        typed.append(f"{C_TYPES[result.name]} *to")
    else:
        given.append(f"(void *){_spelled(lifted.target.value, relations, idiom)}")
        typed.append("void *to")
    for p in lifted.parameters:
        given.append(_spelled(p.value, relations, idiom))
        if p.first is not None:
            given[-1] = f"(const void *){given[-1]}"
            typed.append(f"const void *array_{p.name}")
        else:
            assert isinstance(p.type, Scalar), "cannot happen: what is no array is a scalar"
            typed.append(f"{C_TYPES[p.type.name]} value_{p.name}")
    for value, name in spelled.items():
        given.append(f"(long long){name}")
        typed.append(f"long long {letter(value)}")
    return given, typed


def _element(t: Type) -> Scalar:
    while isinstance(t, Array):
        t = t.element
    if not isinstance(t, Scalar) or t.name not in C_TYPES:
        raise Kept(f"a result of type {t} has no place in C")
    return t


# ---- what is written


def _wrapper(
    name: str,
    typed: Sequence[str],
    lifted: Lifted,
    spans: Sequence[Size],
    work: Sequence[str],
    inspected: Inspection | None,
    *,
    scalar: bool,
) -> str:
    element = C_TYPES[_element(lifted.program.body.type).name]
    lengths = _lengths(lifted)
    lines = [f"long {name}_refused;", f"int {name}({', '.join(typed)}) {{"]
    checks = [f"size_{n} < 0 || size_{n} > 0x7fffffff" for n in lifted.sizes]
    if inspected is not None:
        lines += inspected.lines
        checks.append("least_index < 0")
    for n, meaning in lifted.sizes.items():
        if _is_length(meaning):
            continue
        least = max((k for size, k in lifted.natural if size == meaning), default=0)
        lines.append(f"  const long long size_{n} = {polynomial(meaning, in_sizes=False)};")
        checks.append(f"size_{n} < {least}")
    checks += [f"{polynomial(s, in_sizes=True, wide=True)} > 0x7fffffffLL - {_ROOM}" for s in spans]
    for check in checks:
        lines.append(f"  if ({check}) return relift_refuse(&{name}_refused);")
    lines.append(f"  const long long cells = {' * '.join(f'({x})' for x in lengths) or '1'};")
    lines.append("  if (cells == 0) return 1;")
    if not scalar:
        lines += _target_lines(lifted, lengths, element, name)
    for p in lifted.parameters:
        if p.first is not None:
            lines += _array_lines(p, lifted, name, scalar=scalar)
    return "\n".join([*lines, *work, "  return 1;", "}"])


def _kernel_lines(
    lifted: Lifted, launch: Launch, kernel: str, name: str, *, scalar: bool
) -> list[str]:
    """A kernel run into memory of its own, and its result brought to where it goes."""
    element = C_TYPES[_element(lifted.program.body.type).name]
    lines, given = _given_lines(launch, launch.kernels[0])
    totals = [polynomial(s, in_sizes=True) for s in launch.kernels[0].total]
    if not scalar and totals == _lengths(lifted)[:1]:
        return [*lines, *_shared_out(element, kernel, given, len(_lengths(lifted)), name)]
    lines += _launch_lines(totals, kernel, element, given, name)
    lines += ["  *to = out[0];"] if scalar else _copy_lines(len(_lengths(lifted)))
    return [*lines, "  relift_free(out);"]


def _lengths(lifted: Lifted) -> list[str]:
    """The lengths of the dimensions of the result."""
    lengths: list[str] = []
    t = lifted.program.body.type
    while isinstance(t, Array):
        lengths.append(polynomial(t.length, in_sizes=True))
        t = t.element
    return lengths


def _target_lines(lifted: Lifted, lengths: Sequence[str], element: str, name: str) -> list[str]:
    """Where the result goes, and that no two of its cells are one."""
    lines = [
        f"  {element} *const first = ({element} *)to + ({polynomial(lifted.target.first, in_sizes=False)});"
    ]
    lines.append("  long long low = 0, high = 1, room = 1;")
    for d, (length, stride) in reversed(
        list(enumerate(zip(lengths, lifted.target.strides, strict=True)))
    ):
        lines.append(
            f"  const long long length_{d} = {length}, stride_{d} = {polynomial(stride, in_sizes=False)};"
        )
        lines.append(
            f"  if (length_{d} > 1 && (stride_{d} < 0 ? -stride_{d} : stride_{d}) < room) return relift_refuse(&{name}_refused);"
        )
        lines.append(f"  room += (length_{d} - 1) * (stride_{d} < 0 ? -stride_{d} : stride_{d});")
        lines.append(
            f"  if (stride_{d} < 0) low += (length_{d} - 1) * stride_{d}; else high += (length_{d} - 1) * stride_{d};"
        )
    return lines


def _array_lines(p: Parameter, lifted: Lifted, name: str, *, scalar: bool) -> list[str]:
    """An array that is read, from its first cell on, and that it is not where the result goes."""
    assert p.first is not None, "cannot happen: it is an array"
    kind, cells, t = C_TYPES[_element(p.type).name], list[str](), p.type
    while isinstance(t, Array):
        cells.append(f"({polynomial(t.length, in_sizes=True)})")
        t = t.element
    lines = [
        f"  const {kind} *const data_{p.name} = (const {kind} *)array_{p.name} + ({polynomial(p.first, in_sizes=False)});"
    ]
    if not scalar and p.value != lifted.target.value:
        end = f"data_{p.name} + {' * '.join(cells)}"
        lines.append(
            f"  if ((const char *)(first + low) < (const char *)({end}) && (const char *)data_{p.name} < (const char *)(first + high)) return relift_refuse(&{name}_refused);"
        )
    return lines


def _given_lines(launch: Launch, k: Kernel) -> tuple[list[str], str]:
    """What a kernel is given, where `out` is its result."""
    lines, given = list[str](), list[str]()
    buffers = {b: p.name for p in launch.parameters for b in p.buffers}
    for argument in k.arguments:
        role = next(b for b in launch.buffers if b.name == argument)
        if role.role == "output":
            given.append("out")
        elif role.role == "size":
            lines.append(f"  int int_{argument} = (int)size_{argument};")
            given.append(f"&int_{argument}")
        elif role.role == "scalar":
            given.append(f"&value_{buffers[argument]}")
        else:
            given.append(f"(void *)data_{buffers[argument]}")
    return lines, f"void *given[] = {{{', '.join(given)}}};"


def _launch_lines(
    totals: Sequence[str], kernel: str, element: str, given: str, name: str
) -> list[str]:
    """The kernel, run into memory of its own by as many threads as there are."""
    sizes = [*(f"(int)({t})" for t in totals), "1", "1"]
    return [
        f"  {element} *const out = relift_malloc(cells * sizeof({element}));",
        f"  if (!out) return relift_refuse(&{name}_refused);",
        f"  {given}",
        f"  const int offset[3] = {{0, 0, 0}}, range[3] = {{{', '.join(sizes[:3])}}};",
        "  const int threads = relift_threads(), share = range[0] / (8 * threads) + 1;",
        "  const int local[3] = {share < 1024 ? share : 1024, 1, 1};",
        f"  if ({kernel}(given, offset, range, local, threads)) {{",
        "    relift_free(out);",
        f"    return relift_refuse(&{name}_refused);",
        "  }",
    ]


def _shared_out(element: str, kernel: str, given: str, dimensions: int, name: str) -> list[str]:
    """The kernel, run by each thread for some rows after the others, which go from a cache to where they belong.

    An iteration reads no cell of the result but its own, so rows may be written before others are computed; and a kernel
    without barriers does not fail, so nothing is half done.
    """
    return [
        "  const int threads = relift_threads();",
        f"  const long long row = cells / length_0, fit = {_FIT} / row, even = length_0 / (4 * threads);",
        "  const long long most = fit < even ? fit : even, rows = most < 1 ? 1 : most;",
        f"  {element} *const kept = relift_malloc(threads * rows * row * sizeof({element}));",
        f"  if (!kept) return relift_refuse(&{name}_refused);",
        "#pragma omp parallel for schedule(dynamic) num_threads(threads)",
        "  for (long long begin = 0; begin < length_0; begin += rows) {",
        "    const long long end = begin + rows < length_0 ? begin + rows : length_0;",
        f"    {element} *const own = kept + relift_thread() * rows * row, *const out = own - begin * row;",
        f"    {given}",
        "    const int offset[3] = {(int)begin, 0, 0}, range[3] = {(int)(end - begin), 1, 1};",
        f"    {kernel}(given, offset, range, range, 1);",
        *_copy_lines(dimensions, "begin", "end", "own", "    "),
        "  }",
        "  relift_free(kept);",
    ]


def _copy_lines(
    dimensions: int, begin: str = "0", end: str = "length_0", of: str = "out", pad: str = "  "
) -> list[str]:
    """The result, to where it goes."""
    lines = [f"{pad}long long from = 0;"]
    place: list[str] = []
    for d in range(dimensions):
        first, last = (begin, end) if d == 0 else ("0", f"length_{d}")
        lines.append(f"{pad}for (long long i_{d} = {first}; i_{d} < {last}; ++i_{d})")
        place.append(f"i_{d} * stride_{d}")
        pad += "  "
    lines.append(f"{pad}first[{' + '.join(place) or '0'}] = {of}[from++];")
    return lines


_SERVICES = """
#ifdef _OPENMP
extern int omp_get_max_threads(void), omp_get_thread_num(void);
#endif
static inline int relift_threads(void) {
#ifdef _OPENMP
  return omp_get_max_threads();
#else
  return 1;
#endif
}
static inline int relift_thread(void) {
#ifdef _OPENMP
  return omp_get_thread_num();
#else
  return 0;
#endif
}
static inline int relift_refuse(long *count) { __atomic_add_fetch(count, 1, __ATOMIC_RELAXED); return 0; }
static inline void *relift_malloc(unsigned long bytes) { return __builtin_malloc(bytes); }
struct relift_bins { void *memory; unsigned long long room, capacity; };
static inline struct relift_bins relift_room(struct relift_bins bins, long long at, unsigned long bytes) {
  const unsigned long long needed = (unsigned long long)at + 1, twice = 2 * bins.capacity;
  if (at < 0) return bins;
  if (needed > bins.capacity) {
    const unsigned long long more = needed < twice ? twice : needed;
    void *const found = more > ~0UL / bytes ? 0 : __builtin_realloc(bins.memory, more * bytes);
    if (!found) return bins;
    __builtin_memset((char *)found + bins.capacity * bytes, 0, (more - bins.capacity) * bytes);
    bins.memory = found;
    bins.capacity = more;
  }
  bins.room = needed;
  return bins;
}
static inline void relift_free(void *memory) { __builtin_free(memory); }
"""


def _kernels(calls: Sequence[_Call]) -> str:
    """The second file: kernels, and the functions that check and call them."""
    head = (
        "/* Kernels for the loops of another file.  Each function returns 1 when it has done what the loop does, and 0, counted\n"
        "   in its `_refused`, when a condition fails.  Compile with: cc -O3 -march=native -fopenmp -ffp-contract=off */\n"
    )
    if not calls:
        return head
    declared = sorted({c.declared for c in calls} - {""})
    sources = [c.source for c in calls if c.source is not None]
    written: list[str] = []
    if sources:
        functions = {f.name: f for s in sources for f in s.functions}
        whole = replace(
            sources[0],
            kernels=tuple(k for s in sources for k in s.kernels),
            functions=tuple(functions.values()),
        )
        written.append(C().file(whole))
    return "\n".join([head, *written, *declared, _SERVICES, *(c.body for c in calls), ""])
