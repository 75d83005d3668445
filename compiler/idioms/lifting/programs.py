"""Effects as programs of the language, in one normal form.

Dimensions of the result stand in the order in which they lie in memory, whatever the order of the loops was; arrays that
are read are brought to the order of the loops by views; what several reads share is a window that slides; sizes are called
by the dimensions.  So loops that mean the same are one program.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from keyword import iskeyword
from typing import Any

from relift.compiler.idioms.facts.names import is_global
from relift.compiler.idioms.facts.relations import Relations
from relift.compiler.idioms.facts.values.folds import combination, neutral
from relift.compiler.idioms.facts.values.terms import (
    TRUE,
    Accumulator,
    Apply,
    Constant,
    Expression,
    Fold,
    Index,
    Opaque,
    Read,
    Search,
    Value,
    all_of,
    below,
    select,
)
from relift.compiler.idioms.lifting.arrays import Base, NotOrdered, stride_of
from relift.compiler.idioms.lifting.conditions import About, LiftingCondition
from relift.compiler.idioms.lifting.effects import Cells, Effect, Result, Running, Turn, Updates
from relift.compiler.idioms.lifting.elements import Elements
from relift.compiler.idioms.lifting.layouts import Shape, Walk, mapped, shape_of, walks
from relift.compiler.idioms.lifting.scalars import OPERATORS, Scope, integer, term_of
from relift.compiler.idioms.lifting.viewing import array_of, viewed
from relift.semantics.errors import IllTyped, Unsupported
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.coercion import as_term, scalar
from relift.semantics.language.programs import Program, well_formed
from relift.semantics.language.tracing import scope
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import Apply as Applied
from relift.semantics.syntax.terms import Input, distinct
from relift.semantics.syntax.types import INTEGERS, SCALARS, Array, Scalar, Type


@dataclass(frozen=True)
class Parameter:
    """A parameter of a lifted program: an array of the function from its cell `first` on, or a scalar."""

    name: str
    value: str
    type: Type
    first: Size | None = None
    cells: str = ""
    """What lies in memory, where that is narrower than the numbers of the program."""


@dataclass(frozen=True)
class Target:
    """Where the result goes: cells of an array by their strides, or a value."""

    value: str
    first: Size
    strides: tuple[Size, ...]
    cells: str = ""
    """What lies in memory, where that is narrower than the numbers of the program."""


@dataclass(frozen=True)
class Lifted:
    """A program, and how it is called in the place of the loops."""

    program: Program
    parameters: tuple[Parameter, ...]
    sizes: Mapping[str, Size]
    """What each size is, over values of the function."""
    values: Mapping[str, Size]
    """What values of the function are, over sizes."""
    target: Target
    conditions: tuple[LiftingCondition, ...]
    reads: tuple[str, ...]
    natural: tuple[tuple[Size, int], ...]
    """What must be at least so much: lengths of loops and rows."""

    @property
    def reads_two_types(self) -> bool:
        """Whether an array of the function is two arrays of the program, of cells of two types."""
        arrays = [p.value for p in self.parameters if p.first is not None]
        return len(set(arrays)) < len(arrays)

    def asks(self, about: About) -> bool:
        """Whether a condition about something stays."""
        return any(condition.about == about for condition in self.conditions)


def lifted(effect: Effect, relations: Relations, name: str) -> Lifted:
    """The program of an effect; raises `Opaque` with the reason where there is none."""
    try:
        with scope([relations.evolution.named(v) for v in relations.universe]):
            try:
                return _Lifting(relations, name).of(effect)
            except NotOrdered:
                return _Lifting(relations, name, floor=1).of(effect)
    except (IllTyped, Unsupported) as error:
        raise Opaque(f"no program: {error.message}") from None


@dataclass
class _Lifting(Elements):
    """The terms of a program."""

    # ---- kinds of effects

    def of(self, effect: Effect) -> Lifted:
        effect = viewed(effect)
        match effect:
            case Cells():
                return self._cells(effect)
            case Updates():
                return self._updates(effect)
            case Running():
                return self._running(effect)
            case Result(fold):
                self.prepare((), (fold,))
                return self._finished(
                    term_of(fold, self._scope()), Target(fold.name, Size.of(0), ())
                )

    def _cells(self, effect: Cells) -> Lifted:
        shape, moved = self._target(effect)
        order = [counter for w in moved for counter, _ in w.moves]
        turns = sorted(effect.turns, key=lambda t: order.index(t.counter))
        self.prepare(turns, (effect.value,))
        body = self._mapped([t.counter for t in turns], effect.value, self._scope())
        first, strides = effect.index, list[Size]()
        for w, stride in zip(moved, shape.strides, strict=True):
            if len(w.moves) > 1:
                raise Opaque("two loops move along one dimension of the result")
            for counter, sign in w.moves:
                first = first.substitute({counter: Size.of(0)})
                strides.append(stride * sign)
        return self._finished(body, Target(effect.base, first, tuple(strides), effect.cells))

    def _target(self, effect: Cells) -> tuple[Shape, tuple[Walk, ...]]:
        """The dimensions of what is written; raises `Opaque` if two iterations may write one cell."""
        strides = [stride_of(effect.index, t.counter) for t in effect.turns]
        shape = shape_of(strides)
        if strides and shape.strides[-1].constant is None:
            self.condition("strides", f"{self.said(shape.strides[-1])} is not 0")
        found = walks(effect.index, [t.counter for t in effect.turns], shape)
        trips: dict[str, Size] = {t.counter: t.trips for t in effect.turns}
        for high, low, w in zip(shape.strides, shape.strides[1:], found[1:], strict=False):
            reach = sum((trips[c] for c, _ in w.moves), Size.of(0)) * low
            if high != reach and not (high - reach).surely_at_least(0) and w.moves:
                self.condition(
                    "rows that overlap",
                    f"rows do not overlap: {self.said(reach)} <= {self.said(high)}",
                )
        return shape, found

    def _updates(self, effect: Updates) -> Lifted:
        self.prepare(effect.turns, (effect.value, effect.guard, effect.cell))
        base = self.bases[effect.base]
        old = base.term

        everything = (effect.cell, effect.value, effect.guard)

        def updated(h: Any, scope: Scope) -> Any:
            used = (effect.cell, *everything)  # where to read and where to write
            return self._once(used, scope, lambda known: stored(h, known))

        def stored(h: Any, scope: Scope) -> Any:
            computed = {n: term_of(e, scope) for n, e in effect.cell.computed}
            index = integer(effect.cell.index, scope, computed)
            guard = None if effect.guard == TRUE else term_of(effect.guard, scope)
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
            xs, bind = self.elements(first.counter, everything, scope)
            return rl.reduce_seq(lambda acc, x: level(rest, acc, bind(x)), h, xs)

        self.condition("indices", f"every index is one of {self.spelled(effect.base)}")
        return self._finished(
            level(effect.turns, old, self._scope()),
            Target(effect.base, Size.of(0), (Size.of(1),), effect.cell.cells),
        )

    def _running(self, effect: Running) -> Lifted:
        self.prepare((effect.turn,), (effect.start, effect.update, effect.stored))
        scope = self._scope()
        xs, bind = self.elements(effect.turn.counter, [effect.update, effect.stored], scope)
        start = term_of(effect.start, scope)

        def step(value: Expression, acc: Any, x: Any) -> Any:
            return term_of(value, bind(x).with_(accumulators={effect.name: acc}))

        if effect.stored == effect.update:
            body = rl.scan_seq(lambda acc, x: step(effect.update, acc, x), start, xs)
        else:
            pairs = rl.scan_seq(
                lambda acc, x: (step(effect.update, acc[0], x), step(effect.stored, acc[0], x)),
                (start, start),
                xs,
            )
            body = rl.map(lambda p: p[1], pairs)
        stride = stride_of(effect.index, effect.turn.counter)
        first = effect.index.substitute({effect.turn.counter: Size.of(0)})
        return self._finished(body, Target(effect.base, first, (stride,), effect.cells))

    # ---- terms

    def _scope(self) -> Scope:
        return Scope({}, {}, {}, self._fixed, self._gathered, self._folded)

    def _fixed(self, value: str, kind: str) -> Any:
        """A fixed value: a scalar parameter."""
        if value not in self.scalars:
            name = self.names.get(value) or self.named(value)
            while (
                name in {*self.names.values()} - {self.names.get(value)}
                or name in self.sizes.meaning
                or hasattr(rl, name)
                or iskeyword(name)
            ):
                name += "_"
            self.scalars[value] = Input(name, SCALARS[kind])
        found = self.scalars[value]
        return found if found.type == SCALARS[kind] else rl.Elementary(kind)(found)

    def _gathered(self, r: Read, scope: Scope) -> Any:
        """A cell whose index is data, or a cell that no loop moves."""
        base = self.bases[r.base]
        if not base.gathered:
            return self.view(r, ())
        computed = {n: term_of(e, scope) for n, e in r.computed}
        self.condition("indices", f"every index into {self.spelled(r.base)} is one of its cells")
        return rl.at_runtime_unsafe(integer(r.index, scope, computed), base.term)

    def _mapped(self, counters: Sequence[str], value: Expression, scope: Scope) -> Any:
        """A map for each loop around a value."""
        if not counters:
            return self._element(value, scope)
        first, *rest = counters
        xs, bind = self.elements(first, [value], scope)
        return mapped(lambda x: self._mapped(rest, value, bind(x)), xs)

    def _folded(self, fold: Fold | Search, scope: Scope) -> Any:
        """A fold: a reduction where its operator allows, else one step after the other."""
        if isinstance(fold, Search):
            known = scope.searched.get(fold.whole)
            left = self._searched(fold, scope) if known is None else known
            return left if len(fold.names) == 1 else left[fold.names.index(fold.result)]
        if fold.computed:
            return self._while(fold, scope)
        counter = fold.counter
        xs, bind = self.elements(counter, fold.updates, scope)
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
                body = mapped(lambda x: self._element(element, bind(x)), xs)
                found = rl.reduce(OPERATORS[combined.operator], starts[0], body)
                return (
                    found if combined.mask is None else scalar("bitwise_and", found, combined.mask)
                )

        def step(state: Any, x: Any) -> Any:
            return _together([term_of(u, _carrying(fold, state, bind(x))) for u in fold.updates])

        done = rl.reduce_seq(step, _together(starts), xs)
        return done if len(starts) == 1 else done[0]

    def _searched(self, search: Search, scope: Scope) -> Any:
        """A loop that goes on while its test holds, of at most so many steps."""

        def within(state: Any, i: Any) -> Scope:
            return _carrying(search, state, scope.with_(counters={search.counter: i}))

        def step(state: Any, i: Any) -> Any:
            return _together([term_of(u, within(state, i)) for u in search.updates])

        def goes_on(state: Any, i: Any) -> Any:
            return term_of(search.test, within(state, i))

        start = _together([term_of(s, scope) for s in search.starts])
        steps = rl.generate(search.most, lambda i: i)
        return rl.reduce_while(step, goes_on, start, steps)[1]

    def _once(
        self, values: Sequence[Expression], scope: Scope, body: Callable[[Scope], Any]
    ) -> Any:
        """What is made of some values, where what is searched for more than once is looked for once."""
        often = Counter(search.whole for e in values for search in _searches(e))
        for search, times in often.items():
            if times > 1 and search not in scope.searched:

                def further(left: Any, known: Search = search) -> Any:
                    return self._once(values, scope.with_(searched={known: left}), body)

                return rl.let(further, self._searched(search, scope))
        return body(scope)

    def _element(self, value: Expression, scope: Scope) -> Any:
        """A value that is computed for itself."""
        return self._once((value,), scope, lambda known: term_of(value, known))

    def _while(self, fold: Fold, scope: Scope) -> Any:
        """A fold whose length is data: it stops there, of as many steps as an array that it goes through has cells."""
        counter = fold.counter
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

        self.condition("rows that rise", "the bounds of rows rise, and stay inside the arrays")
        counts = rl.generate(array.length, lambda i: i)
        start = term_of(fold.starts[0], scope)
        return rl.reduce_while(step, lambda acc, i: i < length, start, counts)[1]

    # ---- the end

    def _of_operator(self, operator: str, kind: str) -> None:
        floats = kind in ("f32", "f64")
        if floats and operator in ("add", "mul"):
            self.condition("regrouping", "sums and products of floats may be regrouped")
        if floats and operator in ("minimum", "maximum"):
            self.condition("not a number", "nothing that is compared is NaN")

    def _of_conversions(self, term: Any) -> None:
        for t in distinct(term):
            if isinstance(t, Applied) and t.function in INTEGERS:
                before = t.arguments[0].type
                if isinstance(before, Scalar) and before.is_float:
                    self.condition(
                        "whole numbers",
                        "no float that becomes a whole number is NaN or too large for it",
                    )

    def _finished(self, body: Any, target: Target) -> Lifted:
        term = as_term(body)
        self._of_conversions(term)
        arrays = [
            Parameter(
                self.names[n], array_of(n), b.term.type,
                self.sizes.back(b.shift) * _row_of(b) + b.offset, b.cells,
            )
            for n, b in self.bases.items()
        ]  # fmt: skip
        fixed = [Parameter(i.name, v, i.type) for v, i in self.scalars.items()]
        parameters = (*arrays, *fixed)
        inputs = tuple(Input(p.name, p.type) for p in parameters)
        program = Program(self.name, inputs, well_formed(term, inputs))
        if self.relations.function.type_of(target.value) == "ptr":
            for n in dict.fromkeys(map(array_of, self.bases)):
                if n != target.value:
                    self._alias(n, target.value)
        return Lifted(
            program,
            parameters,
            self.sizes.meaning,
            self.sizes.values,
            target,
            tuple(self.conditions),
            tuple(dict.fromkeys(map(array_of, self.bases))),
            tuple(self.sizes.at_least),
        )

    def _alias(self, a: str, b: str) -> None:
        if is_global(a) and is_global(b):
            return
        self.condition("aliases", f"{self.spelled(a)} and {self.spelled(b)} do not overlap")


def _searches(e: Expression) -> Iterator[Search]:
    """The searches of an expression that stand in no other loop, but for what they are made of."""
    match e:
        case Search():
            for start in e.starts:
                yield from _searches(start)
            yield e
        case Fold():
            for start in e.starts:
                yield from _searches(start)
        case Constant() | Value() | Index() | Read() | Apply() | Accumulator():
            for inner in below(e):
                yield from _searches(inner)


def _together(terms: Sequence[Any]) -> Any:
    """What a loop carries: one value, or a tuple."""
    return terms[0] if len(terms) == 1 else tuple(terms)


def _carrying(loop: Fold | Search, state: Any, scope: Scope) -> Scope:
    """The scope inside of a loop, where it has so much."""
    many = len(loop.names)
    states = [state] if many == 1 else [state[i] for i in range(many)]
    return scope.with_(accumulators=dict(zip(loop.names, states, strict=True)))


def _row_of(base: Base) -> Size:
    return base.shape.strides[0] if base.shape is not None else Size.of(1)
