"""Kernels in OpenCL for the loops of a C file, and the lines that have a small host library in C run them.

Of an array goes to the device what the loops read, no cell more; what is computed goes from the device to where the loops put it.
Folds of one work-item and histograms of floats, which stay in the order of the loop, are nothing for a device.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files

from relift.compiler.bench.bundle_runner import in_order
from relift.compiler.dialects.c.printer import stopping
from relift.compiler.dialects.opencl.printer import OpenCL
from relift.compiler.idioms.facts.names import Counter
from relift.compiler.idioms.lift import LiftedIdiom
from relift.compiler.idioms.lifting.effects import Cells, Turn, effect_of
from relift.compiler.idioms.lifting.programs import Lifted, Parameter
from relift.compiler.idioms.replacement.counting import Bins, bins_of, overlaps
from relift.compiler.idioms.replacement.guarded import cells_of, element_of, lies_in_rows, stored
from relift.compiler.idioms.replacement.inspecting import unknown_lengths
from relift.compiler.idioms.replacement.lowered import lowered
from relift.compiler.idioms.replacement.reaching import Reach, reach
from relift.compiler.idioms.replacement.spelling import (
    C_TYPES,
    Kept,
    counter_of,
    letter,
    polynomial,
)
from relift.compiler.idioms.replacement.writing import Writing
from relift.compiler.program import kernels_of
from relift.compiler.running.launch import Launch
from relift.compiler.text import tree
from relift.semantics.errors import ReliftError
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.types import Scalar, dimensions

_OWN_BINS = 16384
"""The bytes of bins that a group counts in for itself: every device has as much memory of groups."""

_WORDS = """\
long relift_up(long x, long by) { return x > 0 ? (x - 1) / by + 1 : x / by; }
long relift_floor(long x, long by) { return x / by - (x % by < 0); }
"""


def host_library() -> str:
    """What runs the kernels: declarations of OpenCL, and functions in plain C."""
    return files("relift.compiler.idioms.replacement").joinpath("opencl_host.c").read_text("utf-8")


@dataclass(frozen=True)
class Offloaded:
    """What does the work of a loop on a device: the object that holds its kernels, the lines of C, and what these need."""

    definition: str
    lines: tuple[str, ...]
    values: frozenset[str]
    spans: tuple[Size, ...]


class _Early(OpenCL):
    """OpenCL C whose loops end where the rest of them is for nothing, as those of C do."""

    def loop(self, s: tree.Loop) -> str:
        return stopping(self, s, super().loop(s))


def function_of(kernel: str) -> str:
    """What the function is called that stands for a loop, by the kernel."""
    return f"relift_{kernel}"


def offloaded(idiom: LiftedIdiom, kernel: str, part_of: str | None = None) -> Offloaded | None:
    """A kernel with a work-item for each cell of a result, where there can be one.

    As a part of another function, which counts its failed guards, it leaves the result in `out`.
    """
    lifted = idiom.lifted
    if lifted is None or lifted.reads_two_types:
        return None
    effect = effect_of(idiom.relations, idiom.found.loop, idiom.found.result, idiom.found.idiom)
    if not isinstance(effect, Cells):
        return None
    try:
        program = replace(lifted.program, name=kernel)
        source, launch = kernels_of(lowered(program, by_cells=True), contract=False)
        lengths = unknown_lengths(idiom)
        known = {
            p.value: p.name
            for p in lifted.parameters
            if p.first is not None and p.value not in lengths
        }
        read = reach((effect.value,), effect.turns, known)
    except (Kept, ReliftError):
        return None
    kernels = launch.kernels
    if len(kernels) != 1 or kernels[0].turns or all(n.constant == 1 for n in kernels[0].total):
        return None
    name = function_of(kernel)
    lines = tuple(_lines(lifted, launch, read, lengths, name, part_of))
    text = _text(_Early().source(source))
    return Offloaded(_definition(name, text), lines, read.values, kernels[0].spans)


def _definition(name: str, text: str) -> str:
    quoted = "\n".join(
        '  "' + line.replace("\\", "\\\\").replace('"', '\\"') + '\\n"'
        for line in text.splitlines()
    )
    return f"static struct relift_offloaded {name}_on_device = {{\n{quoted}\n}};"


def _text(source: str) -> str:
    """A source whose loops are kept in order where that is asked for when it is built."""
    kept = re.compile(r"^[ \t]*#pragma clang loop[^\n]*$", re.MULTILINE)
    return kept.sub(r"#ifdef RELIFT_IN_ORDER\n\g<0>\n#endif", in_order(source))


def _lines(
    lifted: Lifted,
    launch: Launch,
    read: Reach,
    lengths: Mapping[str, str],
    name: str,
    part_of: str | None,
) -> Iterator[str]:
    """What is given, the call of the device, and the result in its place."""
    (kernel,) = launch.kernels
    element = C_TYPES[element_of(lifted.program.body.type).name]
    buffers = {b: p.name for p in launch.parameters for b in p.buffers}
    parameters = {p.name: p for p in lifted.parameters}
    roles = {b.name: b.role for b in launch.buffers}
    given, result = list[str](), 0
    refuse = f"return relift_refuse(&{part_of or name}_refused);"
    yield from read.lines
    for number, argument in enumerate(kernel.arguments):
        role = roles.get(argument, "size")
        if role == "output":
            result = number
            given.append(f"{{0, cells * sizeof({element}), 0, 0, 1}}")
        elif role == "size":
            yield f"  const int int_{argument} = (int)size_{argument};"
            given.append(f"{{&int_{argument}, sizeof(int), 0, 0, 0}}")
        elif role == "scalar":
            value = f"value_{buffers[argument]}"
            given.append(f"{{&{value}, sizeof {value}, 0, 0, 0}}")
        else:
            p = parameters[buffers[argument]]
            yield from _span_lines(p, refuse, gathered=p.value in lengths)
            data = f"data_{p.name}"
            size = f"sizeof *{data}"
            given.append(
                f"{{{data}, ({cells_of(p)}) * {size}, begin_{p.name} * {size}, end_{p.name} * {size}, 1}}"
            )
    totals = [polynomial(s, in_sizes=True) for s in kernel.total]
    place = part_of is None and lies_in_rows(lifted)
    to, rows, row, pitch = "out", "1", "cells", "0"
    if place:
        to = "first"
        if len(lifted.target.strides) == 2:
            rows, row, pitch = "length_0", "length_1", "stride_0"
    else:
        yield f"  {element} *const out = relift_malloc(cells * sizeof({element}));"
        yield f"  if (!out) {refuse}"
    yield f"  const struct relift_given given[] = {{{', '.join(given)}}};"
    yield f"  const long long range[] = {{{', '.join(totals)}}};"
    size = f"sizeof({element})"
    call = f'relift_offload(&{name}_on_device, "{kernel.name}", {len(given)}, given, {result}, {len(totals)}, range'
    yield f"  if (!{call}, {to}, {rows}, {row} * {size}, {pitch} * {size})) {{"
    if not place:
        yield "    relift_free(out);"
    yield f"    {refuse}"
    yield "  }"
    if not place and part_of is None:
        yield from stored(lifted)
        yield "  relift_free(out);"


def _span_lines(p: Parameter, refuse: str, *, gathered: bool) -> Iterator[str]:
    """What is read of an array, counted from its first cell."""
    if gathered:
        yield f"  const long long begin_{p.name} = 0, end_{p.name} = {cells_of(p)};"
        return
    assert p.first is not None, "cannot happen: it is an array"
    first = polynomial(p.first, in_sizes=False)
    some = f"high_{p.name} > low_{p.name}"
    yield f"  const long long begin_{p.name} = {some} ? low_{p.name} - ({first}) : 0;"
    yield f"  const long long end_{p.name} = {some} ? high_{p.name} - ({first}) : 0;"
    yield f"  if (begin_{p.name} < 0 || end_{p.name} > {cells_of(p)}) {refuse}"


# ---- bins


class _InOpenCL(Writing):
    """Expressions as OpenCL C, whose arrays begin with the first cell that is read."""

    def cell(self, array: str, kind: str, at: str) -> str:
        return f"held_{array}[({at}) - low_{array}]"

    def library(self, function: str, kind: str) -> str:
        return function


def counted_on_device(idiom: LiftedIdiom, name: str) -> Offloaded | None:
    """Kernels that find out how many bins there are, and count in them, where that can be done in any order."""
    bins, lifted = bins_of(idiom), idiom.lifted
    if bins is None or lifted is None or lifted.reads_two_types:
        return None
    arrays = {
        p.value: p.name
        for p in lifted.parameters
        if p.first is not None and p.value != bins.effect.base
    }
    if any(a.base in arrays for a in idiom.conditional):
        return None
    writing, on_host = _InOpenCL(lifted), Writing(lifted)
    computed = tuple(e for _, e in bins.effect.cell.computed)
    try:
        read = reach((*computed, bins.guard, bins.element), bins.effect.turns, arrays)
        text = _counting_text(bins, arrays, writing, name)
        ends = [on_host.polynomial(t.trips, {}) for t in bins.effect.turns]
    except Kept:
        return None
    if any(isinstance(n, Counter) for t in bins.effect.turns for n in t.trips.names()):
        return None
    lines = _counting_lines(bins, arrays, ends, writing, on_host, name)
    values = frozenset({*read.values, *writing.values, *on_host.values})
    return Offloaded(_definition(name, text), (*read.lines, *lines), values, ())


def _kinds(lifted: Lifted, arrays: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The names of arrays, each with the type of its cells in C."""
    for p in lifted.parameters:
        if p.value in arrays:
            yield arrays[p.value], C_TYPES[str(dimensions(p.type)[1])]


def _numbers(lifted: Lifted) -> Iterator[tuple[str, str]]:
    for p in lifted.parameters:
        if p.first is None and isinstance(p.type, Scalar):
            yield f"value_{p.name}", C_TYPES[p.type.name]


def _counting_text(bins: Bins, arrays: Mapping[str, str], writing: Writing, name: str) -> str:
    """Both kernels: work-items take the iterations in turns."""
    effect, kind = bins.effect, C_TYPES[bins.effect.type]
    computed = {n: writing.text(e) for n, e in effect.cell.computed}
    at = writing.polynomial(effect.cell.index, computed)
    guard, element = writing.text(bins.guard), writing.text(bins.element)
    ends = [f"end_{i}" for i in range(len(effect.turns))]
    parameters = [
        "const int room",
        "const long total",
        *(f"const long {e}" for e in ends),
        *(
            part
            for array, t in _kinds(writing.lifted, arrays)
            for part in (f"global const {t} *held_{array}", f"const long low_{array}")
        ),
        *(f"const {t} {n}" for n, t in _numbers(writing.lifted)),
        *(f"const long {letter(v)}" for v in sorted(writing.values)),
    ]
    loop = [
        "  for (long t = get_global_id(0); t < total; t += get_global_size(0)) {",
        *_counters(effect.turns, ends),
        f"    if ({guard}) {{",
        f"      const long at = {at};",
    ]
    wide = effect.type == "i64"
    add, most = ("atom_add", "2048") if wide else ("atomic_add", str(_OWN_BINS // 4))
    head = "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n" if wide else ""
    if "f64" in {p.type.name for p in writing.lifted.parameters if isinstance(p.type, Scalar)} | {
        t for _, t in _kinds(writing.lifted, arrays)
    }:
        head += "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
    text = "\n".join([
        f"{head}#pragma OPENCL FP_CONTRACT OFF",
        _WORDS,
        f"kernel void {name}_find(volatile global int *found, {', '.join(parameters)}) {{",
        *loop,
        "      if (at < 0 || at >= 0x7fffffff) found[1] = 1;",
        "      else if (at > found[0]) atomic_max(&found[0], (int)at);",
        "    }",
        "  }",
        "}",
        f"kernel void {name}_count(volatile global {kind} *bins, {', '.join(parameters)}) {{",
        f"  volatile local {kind} own[{most}];",
        f"  const int is_own = room <= {most};",
        "  for (int b = get_local_id(0); is_own && b < room; b += get_local_size(0)) own[b] = 0;",
        "  barrier(CLK_LOCAL_MEM_FENCE);",
        *loop,
        f"      const {kind} by = {element};",
        f"      if (is_own) {add}(&own[at], by);",
        f"      else {add}(&bins[at], by);",
        "    }",
        "  }",
        "  barrier(CLK_LOCAL_MEM_FENCE);",
        f"  for (int b = get_local_id(0); is_own && b < room; b += get_local_size(0)) if (own[b]) {add}(&bins[b], own[b]);",
        "}",
    ])  # fmt: skip
    text = re.sub(r"\b(0x[0-9a-f]+|\d+)LL\b", r"\1L", text.replace("long long", "long"))
    return text.replace('__builtin_nan("")', "NAN").replace("__builtin_inf()", "INFINITY")


def _counters(turns: Sequence[Turn], ends: Sequence[str]) -> list[str]:
    """The counters of nested loops from `t`, the number of the iteration."""
    if len(turns) == 1:
        return [f"    const long {counter_of(turns[0].counter)} = t;"]
    lines = ["    long rest = t;"]
    for turn, end in reversed(list(zip(turns, ends, strict=True))):
        lines += [
            f"    const long {counter_of(turn.counter)} = rest % {end};",
            f"    rest /= {end};",
        ]
    return lines


def _counting_lines(
    bins: Bins,
    arrays: Mapping[str, str],
    ends: list[str],
    writing: Writing,
    on_host: Writing,
    name: str,
) -> Iterator[str]:
    """What finds, counts, and adds to the bins that are there."""
    kind = C_TYPES[bins.effect.type]
    yield "  __int128 all = 1;"
    for i, end in enumerate(ends):
        yield f"  const long long end_{i} = {end};"
        yield f"  if (end_{i} <= 0) return 1;"
        yield f"  all *= end_{i};"
        yield f"  if (all > 1LL << 62) return relift_refuse(&{name}_refused);"
    yield "  const long long total = (long long)all;"
    given = [
        "{0}", "{0}", "{&total, 8, 0, 0, 0}",
        *(f"{{&end_{i}, 8, 0, 0, 0}}" for i in range(len(ends))),
    ]  # fmt: skip
    for array, t in _kinds(writing.lifted, arrays):
        size = f"(high_{array} > low_{array} ? high_{array} - low_{array} : 0) * sizeof({t})"
        given.append(f"{{(const {t} *)array_{array} + low_{array}, {size}, 0, {size}, 1}}")
        given.append(f"{{&low_{array}, 8, 0, 0, 0}}")
    given += [f"{{&{n}, sizeof {n}, 0, 0, 0}}" for n, _ in _numbers(writing.lifted)]
    given += [f"{{&{letter(v)}, 8, 0, 0, 0}}" for v in sorted(writing.values)]
    yield f"  struct relift_given given[] = {{{', '.join(given)}}};"
    yield "  void *counted = 0;"
    yield "  long long most = -1;"
    yield "  int failed = 0;"
    call = f'relift_count(&{name}_on_device, "{name}_find", "{name}_count", {len(given)}, given, total, sizeof({kind}), &counted, &most)'
    yield f"  if (!{call}) failed = 1;"
    yield f"  {kind} *const first = ({kind} *)to;"
    yield from overlaps(bins.effect.base, on_host)
    yield "  for (long long b = 0; !failed && counted && b <= most; ++b)"
    yield f"    if ((({kind} *)counted)[b]) first[b] = ({kind})((unsigned {kind})first[b] + (unsigned {kind})(({kind} *)counted)[b]);"
    yield "  relift_free(counted);"
    yield f"  if (failed) return relift_refuse(&{name}_refused);"
