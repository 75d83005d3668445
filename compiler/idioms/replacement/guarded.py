"""The functions that a replaced loop calls: they check what can be checked, run a kernel, and bring its result to where it goes."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from relift.compiler.idioms.facts.evolution import exact_quotients
from relift.compiler.idioms.lifting.programs import Lifted, Parameter
from relift.compiler.idioms.replacement.inspecting import Inspection
from relift.compiler.idioms.replacement.spelling import (
    C_TYPES,
    Kept,
    is_length,
    place_of,
    polynomial,
)
from relift.compiler.running.launch import Kernel, Launch
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.types import Scalar, Type, dimensions

_ROOM = 4096
"""What a kernel may count beyond its spans."""
_FIT = 16_384
"""How many cells a thread computes before they go to where they belong: they stay in its cache till then."""

_WIDTHS = {"f32": 4, "f64": 8, "i32": 4, "i64": 8}
"""How many bytes a cell has."""

_LONG_ROW = 64
"""How many cells a row has for which a kernel is worth a call."""


def element_of(t: Type) -> Scalar:
    """The type of the cells of a result; raises `Kept` where C has none for it."""
    _, element = dimensions(t)
    if not isinstance(element, Scalar) or element.name not in C_TYPES:
        raise Kept(f"a result of type {element} has no place in C")
    return element


@dataclass(frozen=True)
class Guarded:
    """What a function is given and checks before it works: where its result goes, what it reads, how long that is."""

    name: str
    """Of the function that is called, whose failed guards are counted."""
    typed: Sequence[str]
    lifted: Lifted
    spans: Sequence[Size]
    inspected: Inspection | None
    ranges: Sequence[str]
    scalar: bool
    fields: Mapping[str, int]
    """What is looked up before the loop, by value: so many bytes that the loop must not write."""

    @property
    def element(self) -> str:
        """The type of a cell of the result, in C."""
        return C_TYPES[element_of(self.lifted.program.body.type).name]

    def refuse(self, condition: str) -> str:
        """The line that leaves the loop to be run where a condition holds."""
        return f"  if ({condition}) return relift_refuse(&{self.name}_refused);"

    def over_fields(self, begin: str, end: str) -> list[str]:
        """The conditions under which what lies from one address to another is over a field that is looked up."""
        return [
            f"{at} && (const char *){begin} < (const char *){at} + {width} && (const char *){at} < (const char *){end}"
            for at, width in ((place_of(value), width) for value, width in self.fields.items())
        ]

    def checks(self, when_empty: str = "return 1;") -> list[str]:
        """The checks of sizes and places; after them `first` is where the result goes, and `data_x` begins what is read of x."""
        lifted = self.lifted
        lines, checks = [self.refuse(c) for c in self.ranges], list[str]()
        for n, meaning in lifted.sizes.items():
            too_large = f"size_{n} > 0x7fffffff"
            if is_length(meaning):
                checks.append(too_large)
                continue
            least = max((k for size, k in lifted.natural if size == meaning), default=0)
            lines += [
                self.refuse(f"({polynomial(q.of, in_sizes=False)}) % {q.by} != 0")
                for q in exact_quotients(meaning)
            ]
            lines.append(f"  const long long size_{n} = {polynomial(meaning, in_sizes=False)};")
            lines.append(self.refuse(f"size_{n} < {max(0, least)} || {too_large}"))
        if self.inspected is not None:
            lines += self.inspected.lines
            checks.append("least_index < 0")
        checks += [
            f"{polynomial(s, in_sizes=True, wide=True)} > 0x7fffffffLL - {_ROOM}"
            for s in self.spans
        ]
        lines += map(self.refuse, checks)
        lengths = lengths_of(lifted)
        lines.append(f"  const long long cells = {' * '.join(f'({x})' for x in lengths) or '1'};")
        lines.append(f"  if (cells == 0) {when_empty}")
        if self.scalar:
            lines.append(f"  {self.element} *const first = ({self.element} *)to;")
        else:
            lines += _target_lines(lifted, lengths, self.element, self.name)
            lines += map(self.refuse, self.over_fields("(first + low)", "(first + high)"))
        for p in lifted.parameters:
            if p.first is not None:
                lines += _array_lines(p, lifted, self.name, scalar=self.scalar)
        return lines


def wrapper(guarded: Guarded, work: Sequence[str]) -> str:
    """The function: its checks, and the work."""
    head = [f"long {guarded.name}_refused;", f"int {guarded.name}({', '.join(guarded.typed)}) {{"]
    return "\n".join([*head, *guarded.checks(), *work, "  return 1;", "}"])


def together(name: str, parts: Sequence[Guarded], works: Sequence[Sequence[str]]) -> str:
    """The function of a loop with several results: each is computed into memory of its own, and then all go to where they belong.

    So what one result is computed from is as it was before the loop.  That no result lies over another, or over what another one is
    computed from, is checked between.
    """
    texts = [_part(name, n, parts, works[n]) for n in range(len(parts))]
    own = [[f"{t}_{n}" for t in part.typed] for n, part in enumerate(parts)]
    lines = [
        f"long {name}_refused;",
        *texts,
        f"int {name}({', '.join(t for typed in own for t in typed)}) {{",
        f"  void *kept[{len(parts)}] = {{0}};",
        f"  const char *spans[{2 * len(parts)}] = {{0}};",
        "  int done = 1;",
        "  for (int phase = 0; phase < 3; ++phase) {",
    ]
    for n, typed in enumerate(own):
        given = ", ".join(re.split(r"[ *]", t)[-1] for t in typed)
        lines.append(f"    done = done && {name}_part_{n}(phase, &kept[{n}], spans, {given});")
    lines += ["  }", f"  for (int n = 0; n < {len(parts)}; ++n) relift_free(kept[n]);"]
    return "\n".join([*lines, "  return done;", "}"])


def _take_turns(a: Lifted, b: Lifted) -> bool:
    """Whether two results lie in one array between each other, as the fields of structures do: no cell is of both.

    All steps are multiples of some bytes; in these each result has a place of its own.
    """
    found: list[tuple[Size, int]] = []
    step = 0
    for lifted in (a, b):
        width = _WIDTHS[element_of(lifted.program.body.type).name]
        found.append((lifted.target.first * width, width))
        step = math.gcd(step, *(c * width for s in lifted.target.strides for c in s.terms.values()))
    (first, width), (second, other) = found
    distance = (second - first).constant
    if a.target.value != b.target.value or distance is None or not step:
        return False
    return width <= distance % step <= step - other


def _part(name: str, number: int, parts: Sequence[Guarded], work: Sequence[str]) -> str:
    """One result of a loop: computed by its `work` in phase 0, compared with the places of the others in phase 1, stored in phase 2."""
    guarded = parts[number]
    span = ("0", "0") if guarded.scalar else ("(first + low)", "(first + high)")
    own, apart = f"spans[{2 * number}]", list[str]()
    for n, other in enumerate(parts):
        if n != number:
            begin, end = f"spans[{2 * n}]", f"spans[{2 * n + 1}]"
            if not _take_turns(guarded.lifted, other.lifted):
                apart.append(f"{own} < {end} && {begin} < spans[{2 * number + 1}]")
            if not other.scalar:
                apart += guarded.over_fields(begin, end)
            apart += [
                f"(const char *)data_{p.name} < {end} && {begin} < (const char *)({_end_of(p)})"
                for p in guarded.lifted.parameters
                if p.first is not None and p.value != other.lifted.target.value
            ]
    store = ["  *first = out[0];"] if guarded.scalar else _copy_lines(guarded.lifted)
    return "\n".join([
        f"static int {name}_part_{number}(int phase, void **kept, const char **spans, {', '.join(guarded.typed)}) {{",
        *guarded.checks(),
        "  if (phase == 0) {",
        *work,
        "  *kept = out;",
        f"  {own} = (const char *){span[0]};",
        f"  spans[{2 * number + 1}] = (const char *){span[1]};",
        "  return 1;",
        "  }",
        "  if (phase == 1) {",
        *map(guarded.refuse, apart),
        "  return 1;",
        "  }",
        f"  const {guarded.element} *const out = *kept;",
        *store,
        "  return 1;",
        "}",
    ])  # fmt: skip


def computed_apart(lifted: Lifted, launch: Launch, kernel: str, name: str) -> list[str]:
    """A kernel run into memory of its own, `out`."""
    lines, given = _given_lines(launch, launch.kernels[0])
    totals = [polynomial(s, in_sizes=True) for s in launch.kernels[0].total]
    element = C_TYPES[element_of(lifted.program.body.type).name]
    return [*lines, *_launch_lines(totals, kernel, element, given, name)]


def kernel_lines(
    lifted: Lifted, launch: Launch, kernel: str, name: str, *, scalar: bool
) -> list[str]:
    """A kernel run into memory of its own, and its result brought to where it goes."""
    element = C_TYPES[element_of(lifted.program.body.type).name]
    totals = [polynomial(s, in_sizes=True) for s in launch.kernels[0].total]
    if not scalar and totals == lengths_of(lifted)[:1]:
        lines, given = _given_lines(launch, launch.kernels[0])
        return [*lines, *_shared_out(lifted, element, kernel, given, name)]
    lines = computed_apart(lifted, launch, kernel, name)
    lines += ["  *first = out[0];"] if scalar else stored(lifted)
    return [*lines, "  relift_free(out);"]


def stored(lifted: Lifted) -> list[str]:
    """What is computed already, brought to where it goes."""
    return _copy_lines(lifted)


def lengths_of(lifted: Lifted) -> list[str]:
    """The lengths of the dimensions of the result."""
    lengths, _ = dimensions(lifted.program.body.type)
    return [polynomial(n, in_sizes=True) for n in lengths]


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
    kind = C_TYPES[element_of(p.type).name]
    lines = [
        f"  const {kind} *const data_{p.name} = (const {kind} *)array_{p.name} + ({polynomial(p.first, in_sizes=False)});"
    ]
    if not scalar and p.value != lifted.target.value:
        lines.append(
            f"  if ((const char *)(first + low) < (const char *)({_end_of(p)}) && (const char *)data_{p.name} < (const char *)(first + high)) return relift_refuse(&{name}_refused);"
        )
    return lines


def _end_of(p: Parameter) -> str:
    """The end of what is read of an array."""
    return f"data_{p.name} + {cells_of(p)}"


def cells_of(p: Parameter) -> str:
    """How many cells an array has."""
    lengths, _ = dimensions(p.type)
    return " * ".join(f"({polynomial(n, in_sizes=True)})" for n in lengths)


def _given_lines(launch: Launch, k: Kernel) -> tuple[list[str], str]:
    """What a kernel is given, where `out` is its result."""
    lines, given = list[str](), list[str]()
    buffers = {b: p.name for p in launch.parameters for b in p.buffers}
    roles = {b.name: b.role for b in launch.buffers}
    for argument in k.arguments:
        role = roles.get(argument, "size")  # a size that no array has
        if role == "output":
            given.append("out")
        elif role == "size":
            lines.append(f"  int int_{argument} = (int)size_{argument};")
            given.append(f"&int_{argument}")
        elif role == "scalar":
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


def _shared_out(lifted: Lifted, element: str, kernel: str, given: str, name: str) -> list[str]:
    """The kernel, run by each thread for some rows after the others, which go from a cache to where they belong.

    An iteration reads no cell of the result but its own, so rows may be written before others are computed; and a kernel
    without barriers does not fail, so nothing is half done.  Where a row lies as the kernel writes it, it is written there.
    """
    run = f"{kernel}(given, offset, range, range, 1);"
    staged = [
        f"    {element} *const own = kept + relift_thread() * rows * row, *const out = own - begin * row;",
        f"    {given}",
        "    const int offset[3] = {(int)begin, 0, 0}, range[3] = {(int)(end - begin), 1, 1};",
        f"    {run}",
        *_copy_lines(lifted, "begin", "end", "own", "    "),
    ]
    if lies_in_rows(lifted):
        row = "length_1" if len(lifted.target.strides) == 2 else "1"
        at_once = "end - begin" if row == "1" else f"(stride_0 == {row} ? end - begin : 1)"
        staged = [
            f"    const long long most_at_once = {at_once};",
            f"    if (most_at_once > 1 || {row} >= {_LONG_ROW}) {{",
            "      for (long long at = begin; at < end; at += most_at_once) {",
            f"        {element} *const out = first + at * stride_0 - at * row;",
            f"        {given}",
            "        const int offset[3] = {(int)at, 0, 0}, range[3] = {(int)most_at_once, 1, 1};",
            f"        {run}",
            "      }",
            "      continue;",
            "    }",
            *staged,
        ]
    return [
        "  const int threads = relift_threads();",
        f"  const long long row = cells / length_0, fit = {_FIT} / row, even = length_0 / (4 * threads);",
        "  const long long most = fit < even ? fit : even, rows = most < 1 ? 1 : most;",
        f"  {element} *const kept = relift_malloc(threads * rows * row * sizeof({element}));",
        f"  if (!kept) return relift_refuse(&{name}_refused);",
        "#pragma omp parallel for schedule(dynamic) num_threads(threads)",
        "  for (long long begin = 0; begin < length_0; begin += rows) {",
        "    const long long end = begin + rows < length_0 ? begin + rows : length_0;",
        *staged,
        "  }",
        "  relift_free(kept);",
    ]


def lies_in_rows(lifted: Lifted) -> bool:
    """Whether the cells of a row of the result lie side by side, and none of them is read."""
    strides = list(lifted.target.strides)
    read = any(p.value == lifted.target.value for p in lifted.parameters)
    return not read and 0 < len(strides) <= 2 and strides[-1] == 1


def _copy_lines(
    lifted: Lifted, begin: str = "0", end: str = "length_0", of: str = "out", pad: str = "  "
) -> list[str]:
    """The result, to where it goes."""
    lines = [f"{pad}long long from = 0;"]
    place: list[str] = []
    for d, stride in enumerate(lifted.target.strides):
        first, last = (begin, end) if d == 0 else ("0", f"length_{d}")
        lines.append(f"{pad}for (long long i_{d} = {first}; i_{d} < {last}; ++i_{d})")
        known = (
            stride.constant
        )  # a thread is given variables, and would not know that one is a constant
        place.append(f"i_{d} * {f'stride_{d}' if known is None else known}")
        pad += "  "
    lines.append(f"{pad}first[{' + '.join(place) or '0'}] = {of}[from++];")
    return lines


SERVICES = """
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
static inline __int128 relift_below(__int128 x) { return x < 0 ? x : 0; }
static inline __int128 relift_above(__int128 x) { return x > 0 ? x : 0; }
static inline long long relift_up(long long x, long long by) { return x > 0 ? (x - 1) / by + 1 : x / by; }
static inline long long relift_floor(long long x, long long by) { return x / by - (x % by < 0); }
static inline void relift_reaches(long long *low, long long *high, long long by) { *(by < 0 ? low : high) += by; }
static inline int relift_fits_i32(double x) { return x > -2147483649.0 && x < 2147483648.0; }
static inline int relift_fits_i64(double x) { return x >= -0x1p63 && x < 0x1p63; }
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
static inline void relift_drop(void *place) { __builtin_free(*(void **)place); }
"""
