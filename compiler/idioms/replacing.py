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
from relift.compiler.idioms.facts.expressions import Opaque
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
    if idiom.under_conditions:
        raise Kept(f"a kernel would go to every cell, where {idiom.under_conditions[0]}")
    if extent is None:
        raise Kept("its place in the file is not known")
    place = (extent.line, extent.column)
    if place in taken:
        raise Kept("the loop is replaced already")
    rest = text.split("\n")[extent.line - 1][extent.column - 1 :]
    if not re.match(r"(for|while|do)\b", rest):
        raise Kept("it is not a loop of this file's own text, but of a macro or another file")
    _require_only_effect(idiom)
    name = f"relift_{idiom.function}_{extent.line}_{extent.column}"
    by_blas = routine(idiom) if calls_of == "blas" else None
    scalar = idiom.relations.function.type_of(lifted.target.value) != "ptr"
    inspected = inspection(idiom) if any(map(_is_length, lifted.sizes.values())) else None
    values = _values(
        lifted, (inspected.values if inspected else set()) | (by_blas.values if by_blas else set())
    )
    spelled = {v: _spelled(v, idiom.relations, idiom) for v in values}
    given, typed = _passed(lifted, idiom.relations, spelled, idiom, scalar=scalar)
    if by_blas is not None:
        refuse = f"return relift_refuse(&{name}_refused);"
        work = [*(f"  if ({c}) {refuse}" for c in by_blas.checks), f"  {by_blas.call}"]
        source, spans = None, list[Size]()
    else:
        source, launch = _kernel(lifted, name)
        spans = list(launch.kernels[0].spans)
        work = _kernel_lines(lifted, launch, entry(source.kernels[0]).name, name, scalar=scalar)
    body = _wrapper(name, typed, lifted, spans, work, inspected, scalar=scalar)
    return _Call(
        name, place, ", ".join(given), f"int {name}({', '.join(typed)})", body, source,
        by_blas.prototype if by_blas else "",
    )  # fmt: skip


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
    lines = _launch_lines(lifted, launch.kernels[0], launch, kernel, element, name)
    lines += ["  *to = out[0];"] if scalar else _copy_lines(_lengths(lifted))
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


def _launch_lines(
    lifted: Lifted, k: Kernel, launch: Launch, kernel: str, element: str, name: str
) -> list[str]:
    """The kernel, run into memory of its own by as many threads as there are."""
    lines = [f"  {element} *const out = relift_malloc(cells * sizeof({element}));"]
    lines.append(f"  if (!out) return relift_refuse(&{name}_refused);")
    given: list[str] = []
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
    totals = [f"(int)({polynomial(s, in_sizes=True)})" for s in k.total] + ["1", "1"]
    lines += [
        f"  void *given[] = {{{', '.join(given)}}};",
        f"  const int offset[3] = {{0, 0, 0}}, range[3] = {{{', '.join(totals[:3])}}};",
        "  const int threads = relift_threads(), share = range[0] / (8 * threads) + 1;",
        "  const int local[3] = {share < 1024 ? share : 1024, 1, 1};",
        f"  if ({kernel}(given, offset, range, local, threads)) {{",
        "    relift_free(out);",
        f"    return relift_refuse(&{name}_refused);",
        "  }",
    ]
    return lines


def _copy_lines(lengths: Sequence[str]) -> list[str]:
    """The result, to where it goes."""
    lines, pad = ["  long long from = 0;"], "  "
    place: list[str] = []
    for d in range(len(lengths)):
        lines.append(f"{pad}for (long long i_{d} = 0; i_{d} < length_{d}; ++i_{d})")
        place.append(f"i_{d} * stride_{d}")
        pad += "  "
    lines.append(f"{pad}first[{' + '.join(place) or '0'}] = out[from++];")
    return lines


_SERVICES = """
#ifdef _OPENMP
extern int omp_get_max_threads(void);
#endif
static inline int relift_threads(void) {
#ifdef _OPENMP
  return omp_get_max_threads();
#else
  return 1;
#endif
}
static inline int relift_refuse(long *count) { __atomic_add_fetch(count, 1, __ATOMIC_RELAXED); return 0; }
static inline void *relift_malloc(unsigned long bytes) { return __builtin_malloc(bytes); }
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
