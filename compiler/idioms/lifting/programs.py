"""Effects as programs of the language, in one normal form.

Dimensions of the result stand in the order in which they lie in memory, whatever the order of the loops was; arrays that
are read are brought to the order of the loops by views; what several reads share is a window that slides; sizes are called
by the dimensions.  So loops that mean the same are one program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from relift.compiler.idioms.facts.expressions import Opaque
from relift.compiler.idioms.facts.folds import combination, neutral
from relift.compiler.idioms.facts.relations import Relations
from relift.compiler.idioms.facts.terms import (
    Accumulator,
    Expression,
    Fold,
    Index,
    Read,
    Value,
    all_of,
    select,
)
from relift.compiler.idioms.lifting.effects import Cells, Effect, Result, Running, Turn, Updates
from relift.compiler.idioms.lifting.layouts import (
    Shape,
    Walk,
    Window,
    absolute,
    shape_of,
    view,
    walks,
    windows,
)
from relift.compiler.idioms.lifting.naming import Sizes
from relift.compiler.idioms.lifting.scalars import OPERATORS, Scope, integer, term_of
from relift.semantics.errors import IllTyped, Unsupported
from relift.semantics.indices.functions import reverse
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.coercion import as_term, literal
from relift.semantics.language.programs import Program
from relift.semantics.syntax.sizes import Name, Size
from relift.semantics.syntax.terms import Input, Term
from relift.semantics.syntax.types import SCALARS, Array, Type


@dataclass(frozen=True)
class Parameter:
    """A parameter of a lifted program: an array of the function from its cell `first` on, or a scalar."""

    name: str
    value: str
    type: Type
    first: Size | None = None


@dataclass(frozen=True)
class Target:
    """Where the result goes: cells of an array by their strides, or a value."""

    value: str
    first: Size
    strides: tuple[Size, ...]


@dataclass(frozen=True)
class Lifted:
    """A program, and how it is called in the place of the loops."""

    program: Program
    parameters: tuple[Parameter, ...]
    sizes: Mapping[str, Size]
    """What each size is, over values of the function."""
    target: Target
    conditions: tuple[str, ...]
    reads: tuple[str, ...]
    natural: tuple[tuple[Size, int], ...]
    """What must be at least so much: lengths of loops and rows."""


def lifted(effect: Effect, relations: Relations, name: str) -> Lifted:
    """The program of an effect; raises `Opaque` with the reason where there is none."""
    try:
        return _Lifting(relations, name).of(effect)
    except (IllTyped, Unsupported) as error:
        raise Opaque(f"no program: {error.message}") from None


@dataclass
class _Base:
    """An array that is read or written, while its type is found out."""

    kind: str
    shape: Shape | None = None
    walks: dict[Read, tuple[Walk, ...]] = field(default_factory=dict[Read, "tuple[Walk, ...]"])
    gathered: bool = False
    term: Any = None
    shift: Size = field(default_factory=lambda: Size.of(0))
    windows: dict[Read, list[Window]] = field(default_factory=dict[Read, "list[Window]"])


@dataclass
class _Lifting:
    relations: Relations
    name: str
    sizes: Sizes = field(default_factory=Sizes)
    bases: dict[str, _Base] = field(default_factory=dict[str, _Base])
    scalars: dict[str, Input] = field(default_factory=dict[str, Input])
    conditions: list[str] = field(default_factory=list[str])
    names: dict[str, str] = field(default_factory=dict[str, str])
    counters: frozenset[str] = frozenset()
    """Those of the loops that are lifted; a loop around them only has a fixed value here."""

    # ---- kinds of effects

    def of(self, effect: Effect) -> Lifted:
        match effect:
            case Cells():
                return self._cells(effect)
            case Updates():
                return self._updates(effect)
            case Running():
                return self._running(effect)
            case Result(fold):
                self._prepare((), (fold,))
                return self._finished(term_of(fold, self._scope()), Target(fold.name, Size.of(0), ()))

    def _cells(self, effect: Cells) -> Lifted:
        shape, moved = self._target(effect)
        order = [counter for w in moved for counter, _ in w.moves]
        turns = sorted(effect.turns, key=lambda t: order.index(t.counter))
        self._prepare(turns, (effect.value,))
        body = self._mapped([t.counter for t in turns], effect.value, self._scope())
        first, strides = effect.index, list[Size]()
        for w, stride in zip(moved, shape.strides, strict=True):
            if len(w.moves) > 1:
                raise Opaque("two loops move along one dimension of the result")
            for counter, sign in w.moves:
                first = first.substitute({counter: Size.of(0)})
                strides.append(stride * sign)
        return self._finished(body, Target(effect.base, first, tuple(strides)))

    def _target(self, effect: Cells) -> tuple[Shape, tuple[Walk, ...]]:
        """The dimensions of what is written; raises `Opaque` if two iterations may write one cell."""
        strides = [_stride(effect.index, t.counter) for t in effect.turns]
        shape = shape_of(strides)
        found = walks(effect.index, [t.counter for t in effect.turns], shape)
        trips = {t.counter: t.trips for t in effect.turns}
        for high, low, w in zip(shape.strides, shape.strides[1:], found[1:], strict=False):
            reach = sum((trips[c] for c, _ in w.moves), Size.of(0)) * low
            if high != reach and not (high - reach).surely_at_least(0) and w.moves:
                self.conditions.append(f"rows do not overlap: {self._said(reach)} <= {self._said(high)}")
        return shape, found

    def _updates(self, effect: Updates) -> Lifted:
        self._prepare(effect.turns, (effect.value, effect.guard, effect.cell))
        base = self.bases[effect.base]
        old = base.term

        def updated(h: Any, scope: Scope) -> Any:
            computed = {n: term_of(e, scope) for n, e in effect.cell.computed}
            index = integer(effect.cell.index, scope, computed)
            guard = term_of(effect.guard, scope) if effect.guard.type == "boolean" and not _is_true(effect.guard) else None
            safe = index if guard is None else rl.select(guard, index, 0)
            before = rl.at_runtime_unsafe(safe, h)
            value = term_of(effect.value, scope.with_(accumulators={"(cell)": before}))
            if guard is not None:
                value = rl.select(guard, value, before)
            return rl.scatter_indices(rl.make_array(safe), rl.make_array(value), h)

        def level(turns: Sequence[Turn], h: Any, scope: Scope) -> Any:
            if not turns:
                return updated(h, scope)
            first, *rest = turns
            everything = [effect.value, effect.guard, effect.cell]
            xs, bind = self._elements(first.counter, everything, scope)
            return rl.reduce_seq(lambda acc, x: level(rest, acc, bind(x)), h, xs)

        self.conditions.append(f"every index is one of {self._spelled(effect.base)}")
        return self._finished(level(effect.turns, old, self._scope()), Target(effect.base, Size.of(0), (Size.of(1),)))

    def _running(self, effect: Running) -> Lifted:
        self._prepare((effect.turn,), (effect.start, effect.update, effect.stored))
        scope = self._scope()
        xs, bind = self._elements(effect.turn.counter, [effect.update, effect.stored], scope)
        start = term_of(effect.start, scope)

        def step(value: Expression, acc: Any, x: Any) -> Any:
            return term_of(value, bind(x).with_(accumulators={effect.name: acc}))

        if effect.stored == effect.update:
            body = rl.scan_seq(lambda acc, x: step(effect.update, acc, x), start, xs)
        else:
            pairs = rl.scan_seq(
                lambda acc, x: (step(effect.update, acc[0], x), step(effect.stored, acc[0], x)), (start, start), xs
            )
            body = rl.map(lambda p: p[1], pairs)
        stride = _stride(effect.index, effect.turn.counter)
        first = effect.index.substitute({effect.turn.counter: Size.of(0)})
        return self._finished(body, Target(effect.base, first, (stride,)))

    # ---- sizes and arrays

    def _prepare(self, turns: Sequence[Turn], values: Sequence[Expression]) -> None:
        """Name the sizes and give every array its type."""
        inside = [e for v in values for e in all_of(v)]
        folds = list({e.loop: e for e in inside if isinstance(e, Fold)}.values())
        reads = list(dict.fromkeys(e for e in inside if isinstance(e, Read)))
        self.names = self._input_names(reads, inside)
        taken = frozenset(self.names.values())
        self.sizes = Sizes(taken)
        lengths = {t.counter: t.trips for t in turns} | {
            f"${f.loop[1:]}": f.trips for f in folds if not f.computed
        }
        self.counters = frozenset(lengths) | {f"${f.loop[1:]}" for f in folds}
        slid = self._slid(reads, lengths)
        for counter, trips in lengths.items():
            if trips.names() & self.counters:
                raise Opaque("the length of a loop changes with the loops around it")
            self.sizes.add(counter, trips, 1 if counter in slid else 0)
        for base in dict.fromkeys(r.base for r in reads):
            self._shape(base, [r for r in reads if r.base == base])
        for base in self.bases:
            self._type(base)

    def _slid(self, reads: Sequence[Read], lengths: Mapping[str, Size]) -> set[str]:
        """The counters of windows, which are at least one."""
        found: set[str] = set()
        moved: dict[object, set[Size]] = {}
        for r in reads:
            own = tuple((c, _stride(r.index, c)) for c in lengths if c in r.index.names())
            rest = r.index.substitute({c: Size.of(0) for c, _ in own})
            moved.setdefault((r.base, own), set()).add(rest)
            if len(moved[r.base, own]) > 1:
                found |= {c for c, _ in own}
            strides = [(c, absolute(_stride(r.index, c))) for c in lengths if c in r.index.names()]
            for c, s in strides:
                if sum(s == other for _, other in strides) > 1:
                    found.add(c)
        return found

    def _shape(self, name: str, reads: Sequence[Read]) -> None:
        kinds = {r.type for r in reads}
        if len(kinds) > 1:
            raise Opaque(f"{self._spelled(name)} is read as {' and as '.join(sorted(kinds))}")
        base = self.bases[name] = _Base(kinds.pop())
        affine = [r for r in reads if not r.computed and self._is_affine(r)]
        base.gathered = len(affine) < len(reads)
        if base.gathered:
            return
        counters = {r: sorted(r.index.names() & self.counters) for r in reads}
        base.shape = shape_of([_stride(r.index, c) for r in reads for c in counters[r]])
        for r in reads:
            base.walks[r] = walks(r.index, counters[r], base.shape)

    def _is_affine(self, r: Read) -> bool:
        own = r.index.names() & self.counters
        found = (r.index.linear_in(n) for n in own)
        return all(x is not None and not x[0].names() & self.counters for x in found)

    def _type(self, name: str) -> None:
        """The type of an array: the cells that are reached in the first dimension, whole rows in the others."""
        base, kind = self.bases[name], SCALARS[self.bases[name].kind]
        if base.shape is None:
            length = Size.atom(Name(self.sizes.fresh(("len",)), 1))
            self.sizes.meaning[str(length)] = Size.atom(f"length of {name}")
            base.term = Input(self.names[name], Array(kind, length))
            return
        rows = [self._row(base, d, length) for d, length in enumerate(base.shape.lengths(), start=1)]
        for r, found in base.walks.items():
            base.windows[r] = windows(found, self.sizes.trips, rows, _Substitution(self.sizes))
        ends = [w[0] for w in base.windows.values()]
        low = _extreme([w.low for w in ends], least=True)
        if not low.surely_at_least(0):
            base.shift = low
            for r, ws in base.windows.items():
                base.windows[r] = [replace(ws[0], low=ws[0].low - low), *ws[1:]]
        high = _extreme([w[0].end for w in base.windows.values()], least=False)
        t: Type = kind
        for length in reversed([high, *rows]):
            t = Array(t, length)
        base.term = Input(self.names[name], t)

    def _row(self, base: _Base, dimension: int, length: Size) -> Size:
        """The length of a row; where it has a name of its own, at least what is used of it."""
        used: list[Size] = []
        for found in base.walks.values():
            w = found[dimension]
            span = sum((self.sizes.trips[c] - 1 for c, _ in w.moves), Size.of(1))
            used.append(self.sizes.of(w.first) + span if not any(s < 0 for _, s in w.moves) else span)
        return self.sizes.row(length, _extreme(used, least=False))

    def _input_names(self, reads: Sequence[Read], inside: Sequence[Expression]) -> dict[str, str]:
        """What arrays and scalars are called: as in the C file."""
        found: dict[str, str] = {}
        values = [r.base for r in reads] + [e.name for e in inside if isinstance(e, Value)]
        for value in dict.fromkeys(values):
            name = self._spelled(value)
            while name in found.values() or not name.isidentifier() or hasattr(rl, name):
                name = (name if name.isidentifier() else "v") + "_"
            found[value] = name
        return found

    # ---- terms

    def _scope(self) -> Scope:
        return Scope({}, {}, {}, self._fixed, self._gathered, self._folded)

    def _fixed(self, value: str, kind: str) -> Any:
        """A fixed value: a scalar parameter."""
        if value not in self.scalars:
            name = self.names.get(value) or self._spelled(value)
            while name in {*self.names.values()} - {self.names.get(value)} or name in self.sizes.meaning or hasattr(rl, name):
                name += "_"
            self.scalars[value] = Input(name, SCALARS[kind])
        found = self.scalars[value]
        return found if found.type == SCALARS[kind] else rl.Elementary(kind)(found)

    def _gathered(self, r: Read, scope: Scope) -> Any:
        """A cell whose index is data, or a cell that no loop moves."""
        base = self.bases[r.base]
        if not base.gathered:
            return self._view(r, ())
        computed = {n: term_of(e, scope) for n, e in r.computed}
        self._condition(f"every index into {self._spelled(r.base)} is one of its cells")
        return rl.at_runtime_unsafe(integer(r.index, scope, computed), base.term)

    def _view(self, r: Read, order: Sequence[str]) -> Term:
        base = self.bases[r.base]
        return view(base.term, base.windows[r], self.sizes.trips, order)

    def _order(self) -> list[str]:
        return list(self.sizes.trips)

    def _elements(self, counter: str, values: Sequence[Expression], scope: Scope) -> tuple[Any, Any]:
        """What a loop goes through: the arrays that move with it, zipped; and how an element gives the cells."""
        inside = [e for v in values for e in all_of(v)]
        reads = [
            r for r in dict.fromkeys(e for e in inside if isinstance(e, Read))
            if counter in r.index.names() and not self.bases[r.base].gathered
        ]  # fmt: skip
        groups = self._groups(reads)
        members: list[Any] = []
        for leader in groups:
            members.append(scope.cells[leader] if leader in scope.cells else self._grouped(leader, groups[leader]))
        counts = any(self._counts(e, counter) for e in inside)
        if counts or not members:
            members.append(rl.generate(self.sizes.trips[counter], lambda i: i))

        def bind(x: Any) -> Scope:
            parts = [x] if len(members) == 1 else [x[i] for i in range(len(members))]
            cells: dict[Read, Any] = {}
            for leader, part in zip(groups, parts, strict=False):
                cells[leader] = part
                if not self._left(leader, counter):
                    cells.update(self._from_window(leader, groups[leader], part))
            counted = {counter: parts[-1]} if counts or not groups else {}
            return scope.with_(cells=cells, counters=counted)

        return (members[0] if len(members) == 1 else rl.zip(*members)), bind

    def _counts(self, e: Expression, counter: str) -> bool:
        """Whether the counter itself is used, not only what it leads to."""
        if isinstance(e, Index):
            return counter in e.size.names()
        if isinstance(e, Fold):
            return counter in e.trips.names()
        return isinstance(e, Read) and self.bases[e.base].gathered and counter in e.index.names()

    def _left(self, r: Read, counter: str) -> bool:
        """Whether a read moves with loops inside of this one."""
        order = self._order()
        return any(c in r.index.names() for c in order[order.index(counter) + 1 :])

    def _groups(self, reads: Sequence[Read]) -> dict[Read, list[Read]]:
        """Reads that differ by fixed distances, which one window gives, by their first."""
        found: dict[Any, list[Read]] = {}
        for r in reads:
            ws = self.bases[r.base].windows[r]
            near = all((w.low - v.low).constant is not None for w, v in zip(ws, self._first(r.base, ws), strict=True))
            key = (r.base, tuple(w.moves for w in ws)) if near and self._slidable(ws) else r
            found.setdefault(key, []).append(r)
        return {rs[0]: rs for rs in found.values()}

    def _first(self, base: str, like: Sequence[Window]) -> list[Window]:
        moves = tuple(w.moves for w in like)
        return next(ws for ws in self.bases[base].windows.values() if tuple(w.moves for w in ws) == moves)

    def _slidable(self, ws: Sequence[Window]) -> bool:
        return all(len(w.moves) == 1 and w.moves[0][1] > 0 for w in ws)

    def _grouped(self, leader: Read, group: Sequence[Read]) -> Any:
        """The view of one read, or the windows that hold the cells of several."""
        if len(group) == 1:
            return self._view(leader, self._order())
        lows, extents = self._box(leader, group)
        base = self.bases[leader.base]
        ws = base.windows[leader]
        around = [
            replace(w, low=low, span=w.span + extent - 1) for w, low, extent in zip(ws, lows, extents, strict=True)
        ]
        axes = [w.moves[0][0] for w in ws]
        cut = view(base.term, around, self.sizes.trips, axes)
        slid = _slid_nd(extents, cut)
        return _permuted(slid, axes, [c for c in self._order() if c in axes])

    def _box(self, leader: Read, group: Sequence[Read]) -> tuple[list[Size], list[int]]:
        """The lowest cell of a group in each dimension, and how far it reaches."""
        base = self.bases[leader.base]
        lows, extents = list[Size](), list[int]()
        for d, w in enumerate(base.windows[leader]):
            distances = [(base.windows[r][d].low - w.low).constant or 0 for r in group]
            lows.append(w.low + min(distances))
            extents.append(max(distances) - min(distances) + 1)
        return lows, extents

    def _from_window(self, leader: Read, group: Sequence[Read], window: Any) -> dict[Read, Any]:
        if len(group) == 1:
            return {}
        lows, _ = self._box(leader, group)
        base = self.bases[leader.base]
        found: dict[Read, Any] = {}
        for r in group:
            cell = window
            for w, low in zip(base.windows[r], lows, strict=True):
                cell = cell[int((w.low - low).constant or 0)]
            found[r] = cell
        return found

    def _mapped(self, counters: Sequence[str], value: Expression, scope: Scope) -> Any:
        """A map for each loop around a value."""
        if not counters:
            return term_of(value, scope)
        first, *rest = counters
        xs, bind = self._elements(first, [value], scope)
        if not rest and _is_identity(value, scope, bind, xs):
            return xs
        return rl.map(lambda x: self._mapped(rest, value, bind(x)), xs)

    def _folded(self, fold: Fold, scope: Scope) -> Any:
        """A fold: a reduction where its operator allows, else one step after the other."""
        if fold.computed:
            return self._while(fold, scope)
        counter = f"${fold.loop[1:]}"
        xs, bind = self._elements(counter, fold.updates, scope)
        starts = [term_of(s, scope) for s in fold.starts]
        acc = Accumulator(fold.name, fold.type)
        combined = combination(fold.updates[0], acc) if len(fold.names) == 1 else None
        if combined is not None and combined.operator in OPERATORS:
            element = combined.element
            none = neutral(combined.operator, fold.type)
            if combined.condition is not None and none is not None:
                element = select(combined.condition, element, none)
            if combined.condition is None or none is not None:
                self._of_operator(combined.operator, fold.type)
                body = rl.map(lambda x: term_of(element, bind(x)), xs) if not _is_identity(element, scope, bind, xs) else xs
                return rl.reduce(OPERATORS[combined.operator], starts[0], body)

        def step(state: Any, x: Any) -> Any:
            states = [state] if len(starts) == 1 else [state[i] for i in range(len(starts))]
            inner = bind(x).with_(accumulators=dict(zip(fold.names, states, strict=True)))
            found = [term_of(u, inner) for u in fold.updates]
            return found[0] if len(found) == 1 else tuple(found)

        start = starts[0] if len(starts) == 1 else tuple(starts)
        done = rl.reduce_seq(step, start, xs)
        return done if len(starts) == 1 else done[0]

    def _while(self, fold: Fold, scope: Scope) -> Any:
        """A fold whose length is data: it stops there, of as many steps as an array that it goes through has cells."""
        counter = f"${fold.loop[1:]}"
        arrays = [
            r.base for u in fold.updates for r in all_of(u)
            if isinstance(r, Read) and self.bases[r.base].gathered and counter in r.index.names()
        ]  # fmt: skip
        if len(fold.names) > 1 or not arrays:
            raise Opaque("a loop whose length is data, and which goes through no array")
        array = as_term(self.bases[arrays[0]].term).type
        assert isinstance(array, Array), "cannot happen: it is an array that is read"
        computed = {n: term_of(e, scope) for n, e in fold.computed}
        length = integer(fold.trips, scope, computed)

        def step(acc: Any, i: Any) -> Any:
            inner = scope.with_(counters={counter: i}, accumulators={fold.name: acc})
            return term_of(fold.updates[0], inner)

        self._condition("the bounds of rows rise, and stay inside the arrays")
        counts = rl.generate(array.length, lambda i: i)
        start = term_of(fold.starts[0], scope)
        return rl.reduce_while(step, lambda acc, i: i < length, start, counts)[1]

    # ---- the end

    def _of_operator(self, operator: str, kind: str) -> None:
        floats = kind in ("f32", "f64")
        if floats and operator in ("add", "mul"):
            self._condition("sums and products of floats may be regrouped")
        if floats and operator in ("minimum", "maximum"):
            self._condition("nothing that is compared is NaN")

    def _condition(self, text: str) -> None:
        if text not in self.conditions:
            self.conditions.append(text)

    def _spelled(self, value: str) -> str:
        return self.relations.evolution.spelled(value)

    def _said(self, size: Size) -> str:
        return str(size.substitute({n: Size.atom(self._spelled(n)) for n in size.names()}))

    def _finished(self, body: Any, target: Target) -> Lifted:
        term = as_term(body)
        arrays = [
            Parameter(self.names[n], n, b.term.type, self.sizes.back(b.shift) * _row_of(b))
            for n, b in self.bases.items()
        ]  # fmt: skip
        fixed = [Parameter(i.name, v, i.type) for v, i in self.scalars.items()]
        parameters = (*arrays, *fixed)
        program = Program(self.name, tuple(Input(p.name, p.type) for p in parameters), term)
        used = {n: m for n, m in self.sizes.meaning.items() if n in program.sizes}
        written = self.relations.accesses.get(target.value)
        assert written is None, "cannot happen: a target is an array or a value"
        if self.relations.function.type_of(target.value) == "ptr":
            for n in self.bases:
                if n != target.value:
                    self._alias(n, target.value)
        return Lifted(
            program, parameters, used, target, tuple(self.conditions), tuple(self.bases), tuple(self.sizes.at_least)
        )

    def _alias(self, a: str, b: str) -> None:
        if a.startswith("@") and b.startswith("@"):
            return
        self._condition(f"{self._spelled(a)} and {self._spelled(b)} do not overlap")


class _Substitution(dict[str, Size]):
    """Values of the function as sizes, found as they are asked for."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__(sizes.values)


def _stride(index: Size, counter: str) -> Size:
    linear = index.linear_in(counter)
    if linear is None:
        raise Opaque("an index is not linear in the counters of the loops")
    return linear[0]


def _extreme(sizes: Sequence[Size], *, least: bool) -> Size:
    """The least or the greatest of polynomials, where it is known which; raises `Opaque`."""
    found = sizes[0]
    for s in sizes[1:]:
        difference = (found - s) if least else (s - found)
        if difference.surely_at_least(0):
            found = s
        elif not (-difference).surely_at_least(0):
            raise Opaque(f"it is not known which is the larger, {found} or {s}")
    return found


def _row_of(base: _Base) -> Size:
    return base.shape.strides[0] if base.shape is not None else Size.of(1)


def _is_true(e: Expression) -> bool:
    from relift.compiler.idioms.facts.terms import TRUE

    return e == TRUE


def _is_identity(value: Expression, scope: Scope, bind: Any, xs: Any) -> bool:
    """Whether the element itself is the value, of arrays that are not zipped."""
    return isinstance(value, Read) and value not in scope.cells or _held(value, scope) and _single(xs)


def _held(value: Expression, scope: Scope) -> bool:
    return isinstance(value, Read) and value in scope.cells


def _single(xs: Any) -> bool:
    t = as_term(xs).type
    return isinstance(t, Array) and t.element in SCALARS.values()


def _slid_nd(extents: Sequence[int], xs: Any) -> Any:
    from relift.semantics.language.multidimensional import slide_nd

    return slide_nd(tuple(extents), (1,) * len(extents), xs)


def _permuted(xs: Any, axes: list[str], wanted: list[str]) -> Any:
    from relift.semantics.language.multidimensional import transpose_axes

    axes = list(axes)
    for place, counter in enumerate(wanted):
        at = axes.index(counter)
        if at != place:
            xs = transpose_axes(place, at, xs)
            axes[place], axes[at] = axes[at], axes[place]
    return xs


__all__ = ["Lifted", "Parameter", "Target", "lifted", "literal", "reverse"]
