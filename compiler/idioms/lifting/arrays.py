"""The arrays and sizes of a lifted program: what each array's type is, and which cells each read reaches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from keyword import iskeyword
from typing import Any

from relift.compiler.idioms.facts.names import Counter, Length
from relift.compiler.idioms.facts.relations import Relations
from relift.compiler.idioms.facts.values.terms import (
    Expression,
    Fold,
    Opaque,
    Read,
    Search,
    Value,
    all_of,
    require_short,
)
from relift.compiler.idioms.lifting.conditions import About, LiftingCondition
from relift.compiler.idioms.lifting.effects import Turn
from relift.compiler.idioms.lifting.layouts import (
    Shape,
    Walk,
    Window,
    absolute,
    shape_of,
    walks,
    windows,
)
from relift.compiler.idioms.lifting.naming import Sizes
from relift.compiler.idioms.lifting.viewing import Viewed
from relift.semantics.language import vocabulary as rl
from relift.semantics.syntax.sizes import Name, Size
from relift.semantics.syntax.terms import Input
from relift.semantics.syntax.types import SCALARS, Array, Type


class NotOrdered(Opaque):
    """Two sizes, of which it is not known which is the larger."""


@dataclass
class Base:
    """An array that is read or written, while its type is found out."""

    kind: str
    cells: str
    """What lies in memory, where that is narrower."""

    shape: Shape | None = None
    walks: dict[Read, tuple[Walk, ...]] = field(default_factory=dict[Read, "tuple[Walk, ...]"])
    gathered: bool = False
    term: Any = None
    shift: Size = field(default_factory=lambda: Size.of(0))
    """The first row that is reached."""
    offset: Size = field(default_factory=lambda: Size.of(0))
    """How many cells before the first row the array begins, in values of the function."""
    windows: dict[Read, list[Window]] = field(default_factory=dict[Read, "list[Window]"])


@dataclass
class Arrays:
    """The inputs of a program while it is made."""

    relations: Relations
    name: str
    sizes: Sizes = field(default_factory=Sizes)
    bases: dict[str, Base] = field(default_factory=dict[str, Base])
    scalars: dict[str, Input] = field(default_factory=dict[str, Input])
    conditions: list[LiftingCondition] = field(default_factory=list[LiftingCondition])
    names: dict[str, str] = field(default_factory=dict[str, str])
    floor: int = 0
    """How often every loop runs at least, where the sizes of arrays are not ordered otherwise."""
    counters: frozenset[str] = frozenset()
    """Those of the loops that are lifted; a loop around them only has a fixed value here."""

    unbounded: frozenset[str] = frozenset()
    """Of these loops it is data how often they run."""

    def prepare(self, turns: Sequence[Turn], values: Sequence[Expression]) -> None:
        """Name the sizes and give every array its type."""
        require_short(values)
        inside = [e for v in values for e in all_of(v)]
        folds = list({e.loop: e for e in inside if isinstance(e, Fold)}.values())
        reads = list(dict.fromkeys(e for e in inside if isinstance(e, Read)))
        self.names = self._input_names(reads, inside)
        taken = frozenset(self.names.values())
        self.sizes = Sizes(taken)
        lengths = {t.counter: t.trips for t in turns} | {
            f.counter: f.trips for f in folds if not f.computed
        }
        searches = {e.counter for e in inside if isinstance(e, Search)}
        self.counters = frozenset(lengths) | {f.counter for f in folds} | searches
        self.unbounded = self.counters - lengths.keys()
        slid = self._slid(reads, lengths)
        leasts: dict[Size, int] = {}  # loops that run as often as each other have one size
        for counter, trips in lengths.items():
            if trips.names() & self.counters:
                raise Opaque("the length of a loop changes with the loops around it")
            loop = self.relations.control.loops.get(counter.header)
            is_late = loop is not None and self.relations.evolution.is_late(loop)
            least = 1 if counter in slid or is_late else self.floor
            leasts[trips] = max(least, leasts.get(trips, 0))
        for counter, trips in lengths.items():
            self.sizes.add(counter, trips, leasts[trips])
        for base in dict.fromkeys(r.base for r in reads):
            self._shape(base, [r for r in reads if r.base == base])
        for base in self.bases:
            self._type(base)

    def _slid(self, reads: Sequence[Read], lengths: Mapping[Counter, Size]) -> set[str]:
        """The counters of windows, which are at least one."""
        found: set[str] = set()
        moved: dict[object, set[Size]] = {}
        for r in reads:
            own = tuple((c, stride_of(r.index, c)) for c in lengths if c in r.index.names())
            rest = r.index.substitute({c: Size.of(0) for c, _ in own})
            moved.setdefault((r.base, own), set()).add(rest)
            if len(moved[r.base, own]) > 1:
                found |= {c for c, _ in own}
            strides = [
                (c, absolute(stride_of(r.index, c))) for c in lengths if c in r.index.names()
            ]
            for c, s in strides:
                if sum(s == other for _, other in strides) > 1:
                    found.add(c)
        return found

    def _shape(self, name: str, reads: Sequence[Read]) -> None:
        kinds = {(r.cells or r.type, r) for r in reads}
        if len({kind for kind, _ in kinds}) > 1:
            said = " and as ".join(sorted({kind for kind, _ in kinds}))
            raise Opaque(f"{self.spelled(name)} is read as {said}")
        base = self.bases[name] = Base(reads[0].type, reads[0].cells)
        affine = [
            r for r in reads
            if not r.computed and self._is_affine(r) and not r.index.names() & self.unbounded
        ]  # fmt: skip
        base.gathered = len(affine) < len(reads)
        if base.gathered and isinstance(name, Viewed):
            raise Opaque(
                f"{self.spelled(name.array)} is read as {name.kind}, too, at cells that data choose"
            )
        if base.gathered:
            return
        counters = {r: sorted(r.index.names() & self.counters) for r in reads}
        base.shape = shape_of([stride_of(r.index, c) for r in reads for c in counters[r]])
        for r in reads:
            base.walks[r] = walks(r.index, counters[r], base.shape)
        self._begin_alike(base, base.shape)

    def _begin_alike(self, base: Base, shape: Shape) -> None:
        """Where all reads begin as far into rows of a few cells, that is where the array begins: `x[n - 2 * i]`."""
        for d, length in enumerate(shape.lengths(), start=1):
            firsts = {_varying(found[d].first) for found in base.walks.values()}
            if length.constant is None or len(firsts) != 1 or firsts == {Size.of(0)}:
                continue
            [far] = firsts
            base.offset = base.offset + far * shape.strides[d]
            for r, found in base.walks.items():
                here = replace(found[d], first=found[d].first - far)
                base.walks[r] = (*found[:d], here, *found[d + 1 :])

    def _is_affine(self, r: Read) -> bool:
        own = r.index.names() & self.counters
        found = (r.index.linear_in(n) for n in own)
        return all(x is not None and not x[0].names() & self.counters for x in found)

    def _type(self, name: str) -> None:
        """The type of an array: the cells that are reached in the first dimension, whole rows in the others."""
        base, kind = self.bases[name], SCALARS[self.bases[name].kind]
        if base.shape is None:
            length = Size.atom(Name(self.sizes.fresh(("len",)), 1))
            self.sizes.meaning[str(length)] = Size.atom(Length(name))
            base.term = Input(self.names[name], Array(kind, length))
            return
        rows = [
            self._row(base, d, length) for d, length in enumerate(base.shape.lengths(), start=1)
        ]
        for r, found in base.walks.items():
            base.windows[r] = windows(found, self.sizes.trips, rows, self.sizes.of)
        ends = [w[0] for w in base.windows.values()]
        low = extreme([w.low for w in ends], least=True)
        if not low.surely_at_least(0):
            base.shift = low
            for r, ws in base.windows.items():
                base.windows[r] = [replace(ws[0], low=ws[0].low - low), *ws[1:]]
        high = extreme([w[0].end for w in base.windows.values()], least=False)
        t: Type = kind
        for length in reversed([high, *rows]):
            t = Array(t, length)
        base.term = Input(self.names[name], t)

    def _row(self, base: Base, dimension: int, length: Size) -> Size:
        """The length of a row; where it has a name of its own, at least what is used of it."""
        used: list[Size] = []
        for found in base.walks.values():
            w = found[dimension]
            span = sum((self.sizes.trips[c] - 1 for c, _ in w.moves), Size.of(1))
            used.append(
                self.sizes.of(w.first) + span if not any(s < 0 for _, s in w.moves) else span
            )
        return self.sizes.row(length, extreme(used, least=False))

    def _input_names(self, reads: Sequence[Read], inside: Sequence[Expression]) -> dict[str, str]:
        """What arrays and scalars are called: as in the C file."""
        found: dict[str, str] = {}
        values = [r.base for r in reads] + [e.name for e in inside if isinstance(e, Value)]
        for value in dict.fromkeys(values):
            name = self.named(value)
            while (
                name in found.values()
                or not name.isidentifier()
                or hasattr(rl, name)
                or iskeyword(name)
            ):
                name = (name if name.isidentifier() else "v") + "_"
            found[value] = name
        return found

    def condition(self, about: About, text: str) -> None:
        condition = LiftingCondition(about, text)
        if condition not in self.conditions:
            self.conditions.append(condition)

    def spelled(self, value: str) -> str:
        if isinstance(value, Viewed):
            return f"{self.spelled(value.array)}_as_{value.kind}"
        return self.relations.evolution.spelled(value)

    def named(self, value: str) -> str:
        """What the program calls an array or a number."""
        return (
            self.spelled(value)
            if isinstance(value, Viewed)
            else self.relations.evolution.named(value)
        )

    def said(self, size: Size) -> str:
        return str(size.substitute({n: Size.atom(self.spelled(n)) for n in size.names()}))


def _varying(size: Size) -> Size:
    """A polynomial without its constant."""
    return Size({monomial: c for monomial, c in size.terms.items() if monomial})


def stride_of(index: Size, counter: str) -> Size:
    linear = index.linear_in(counter)
    if linear is None:
        raise Opaque("an index is not linear in the counters of the loops")
    return linear[0]


def extreme(sizes: Sequence[Size], *, least: bool) -> Size:
    """The least or the greatest of polynomials, where it is known which; raises `Opaque`."""
    found = sizes[0]
    for s in sizes[1:]:
        difference = (found - s) if least else (s - found)
        if difference.surely_at_least(0):
            found = s
        elif not (-difference).surely_at_least(0):
            raise NotOrdered(f"it is not known which is the larger, {found} or {s}")
    return found
