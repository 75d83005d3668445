"""Histograms of whole numbers by several threads: each counts in bins of its own, which are added in the end.

Sums of whole numbers are the same in any order.  Nothing is written before all is counted, so a bin below the first, or bins
that lie over what is read, leave everything as it was.  How many bins there are is found out on the way.
"""

from __future__ import annotations

from dataclasses import dataclass

from relift.compiler.idioms.facts.names import Length
from relift.compiler.idioms.facts.values.folds import combination
from relift.compiler.idioms.facts.values.terms import Accumulator, Expression, Read, all_of, both
from relift.compiler.idioms.lift import LiftedIdiom
from relift.compiler.idioms.lifting.effects import OLD, Updates, effect_of
from relift.compiler.idioms.lifting.programs import Lifted
from relift.compiler.idioms.replacement.spelling import C_TYPES, counter_of
from relift.compiler.idioms.replacement.writing import Writing
from relift.semantics.syntax.types import dimensions

FIELDS_APART = "  /* fields */"
"""The line that becomes the checks that no bin, from `first` up to `most`, lies over a field that is looked up."""


@dataclass(frozen=True)
class Counting:
    """The lines that count, and the values of the function in them."""

    lines: tuple[str, ...]
    values: frozenset[str]


@dataclass(frozen=True)
class Bins:
    """What is added to which bins, and when."""

    effect: Updates
    guard: Expression
    element: Expression


def bins_of(idiom: LiftedIdiom) -> Bins | None:
    """The bins of whole numbers that an idiom counts in, where that is what it does."""
    found, lifted = idiom.found, idiom.lifted
    if lifted is None:
        return None
    effect = effect_of(idiom.relations, found.loop, found.result, found.idiom)
    if not isinstance(effect, Updates) or effect.type not in ("i32", "i64"):
        return None
    combined = combination(effect.value, Accumulator(OLD, effect.type))
    others = {p.value for p in lifted.parameters if p.first is not None} - {effect.base}
    data = [e for v in (effect.value, effect.guard, effect.cell) for e in all_of(v)]
    if (
        combined is None
        or combined.mask is not None
        or combined.operator != "add"
        or _are_gathered(lifted, others)
    ):
        return None
    guard = effect.guard if combined.condition is None else both(effect.guard, combined.condition)
    if any(isinstance(e, Read) and e.base == effect.base and e != effect.cell for e in data):
        return None
    return Bins(effect, guard, combined.element)


def counting(idiom: LiftedIdiom, name: str) -> Counting | None:
    """What counts the bins of an idiom by threads, where that is what it does; raises `Kept`."""
    bins = bins_of(idiom)
    if bins is None or idiom.lifted is None:
        return None
    writing = Writing(idiom.lifted, refuses="failed = 1;")
    lines = _lines(bins, writing, name)
    return Counting(tuple(lines), frozenset(writing.values))


def counted_apart(idiom: LiftedIdiom, name: str) -> Counting | None:
    """What counts into memory of its own, `out`, where it is known already how many bins there are."""
    bins = bins_of(idiom)
    if bins is None or idiom.lifted is None:
        return None
    writing = Writing(idiom.lifted, refuses="failed = 1;")
    kind, (loops, at) = C_TYPES[bins.effect.type], _loops(bins, writing)
    refuse = f"return relift_refuse(&{name}_refused);"
    lines = (
        f"  {kind} *const out = relift_malloc(cells * sizeof *out);",
        f"  if (!out) {refuse}",
        "  for (long long b = 0; b < cells; ++b) out[b] = first[b];",
        "  int failed = 0;",
        "#pragma omp parallel reduction(|: failed)",
        "  {",
        f"    unsigned {kind} *const own = relift_malloc(cells * sizeof *own);",
        "    if (own) __builtin_memset(own, 0, cells * sizeof *own);",
        "    else failed = 1;",
        "#pragma omp for schedule(static)",
        *loops,
        f"      if (own && {writing.text(bins.guard)}) own[{at}] += (unsigned {kind})({writing.text(bins.element)});",
        "#pragma omp critical",
        f"    for (long long b = 0; b < (own ? cells : 0); ++b) out[b] = ({kind})((unsigned {kind})out[b] + own[b]);",
        "    relift_free(own);",
        "  }",
        f"  if (failed) {{ relift_free(out); {refuse} }}",
    )
    return Counting(lines, frozenset(writing.values))


def _loops(bins: Bins, writing: Writing) -> tuple[list[str], str]:
    """The heads of the loops, and the bin of an iteration."""
    effect, loops = bins.effect, list[str]()
    for turn in effect.turns:
        c, end = counter_of(turn.counter), writing.polynomial(turn.trips, {})
        loops.append(f"    for (long long {c} = 0; {c} < {end}; ++{c})")
    computed = {n: writing.text(e) for n, e in effect.cell.computed}
    return loops, writing.polynomial(effect.cell.index, computed)


def _lines(bins: Bins, writing: Writing, name: str) -> list[str]:
    """What counts: each thread for itself, then one for all."""
    effect, guard, element = bins.effect, bins.guard, bins.element
    kind, (loops, at) = C_TYPES[effect.type], _loops(bins, writing)
    lines = [
        "  const int threads = relift_threads();",
        "  long long most = -1;",
        "  int failed = 0;",
        f"  unsigned {kind} **const counted = relift_malloc(threads * sizeof *counted);",
        f"  if (!counted) return relift_refuse(&{name}_refused);",
        "  for (int t = 0; t < threads; ++t) counted[t] = 0;",
        "  long long *const ends = relift_malloc(threads * sizeof *ends);",
        f"  if (!ends) {{ relift_free(counted); return relift_refuse(&{name}_refused); }}",
        "#pragma omp parallel num_threads(threads) reduction(max: most) reduction(|: failed)",
        "  {",
        "    struct relift_bins bins = {0, 0, 0};",
        "    unsigned long long room = 0;",
        f"    unsigned {kind} *own = 0;",
        "#pragma omp for schedule(static)",
    ]
    lines += [
        *loops,
        f"      if ({writing.text(guard)}) {{",
        f"        const long long at = {at};",
        "        if (__builtin_expect((unsigned long long)at >= room, 0)) {",
        "          bins = relift_room(bins, at, sizeof *own);",
        "          own = bins.memory;",
        "          room = bins.room;",
        "        }",
        "        if (__builtin_expect((unsigned long long)at >= room, 0)) failed = 1;",
        f"        else own[at] += (unsigned {kind})({writing.text(element)});",
        "      }",
        "    counted[relift_thread()] = own;",
        "    ends[relift_thread()] = (long long)room;",
        "    most = (long long)room - 1;",
        "  }",
        f"  {kind} *const first = ({kind} *)to;",
        *overlaps(effect.base, writing),
        "  for (int t = 0; t < threads; ++t) {",
        "    if (!failed && counted[t])",
        "      for (long long b = 0; b < ends[t]; ++b)",
        f"        if (counted[t][b]) first[b] = ({kind})((unsigned {kind})first[b] + counted[t][b]);",
        "    relift_free(counted[t]);",
        "  }",
        "  relift_free(counted);",
        "  relift_free(ends);",
        f"  if (failed) return relift_refuse(&{name}_refused);",
    ]
    return lines


def _are_gathered(lifted: Lifted, arrays: set[str]) -> bool:
    """Whether of some arrays one is read at cells that data choose, so that it is not known how long it is."""
    lengths = {n for s in lifted.sizes.values() for n in s.names() if isinstance(n, Length)}
    return any(Length(base) in lengths for base in arrays)


def overlaps(written: str, writing: Writing) -> list[str]:
    """That no bin lies over what is read, nor over what is looked up."""
    lines = [FIELDS_APART]
    for p in writing.lifted.parameters:
        if p.first is None or p.value == written:
            continue
        lengths, element = dimensions(p.type)
        cells = " * ".join(("1", *(f"({writing.of_sizes(n)})" for n in lengths)))
        kind = C_TYPES[str(element)]
        begin = f"(const {kind} *)array_{p.name} + ({writing.polynomial(p.first, {})})"
        lines.append(
            f"  if ((const char *)first < (const char *)({begin} + ({cells})) && (const char *)({begin}) < (const char *)(first + most + 1)) failed = 1;"
        )
    return lines
