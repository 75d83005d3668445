"""Which kernels a program needs: one for the result, one before it for each `to_global`, and those of iterations.

A result that other kernels read, too, is computed once, and so is one whose cells another kernel stores for others, be it as a component of what it
stores or in other rows: it lies there, and no kernel copies it.  Several results are one kernel, unless work-items by themselves compute some of them, and groups others: then each has one.
Each has one, too, where work-items compute an array and one of them a number.

A `to_global` ends a kernel, and the next one reads its buffer.  Inside a lambda it does so when it depends on
no variable: what is the same for every element is computed once.  Equal ones share a buffer, and so does what has a name.

An iteration whose steps are kernels is written out: the kernels of each step, one after the other.  A step writes
buffers that the step before neither wrote nor read, so two or three take turns for each array, and after the first
steps the kernels are those of earlier ones: a stage that is the same is the same kernel, launched again.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from relift.semantics.errors import Unsupported
from relift.semantics.indices.copies import copied
from relift.semantics.indices.inverses import invertible_data
from relift.semantics.indices.stored import component_name
from relift.semantics.indices.views import is_layout
from relift.semantics.language.programs import Program
from relift.semantics.patterns import Iterate, ReduceByIndex, ToGlobal
from relift.semantics.patterns.repeated import (
    Path,
    beside_what_is_stored,
    repeats_kernels,
    results_at,
    updates_stored,
    without_names_of_buffers,
)
from relift.semantics.syntax.binding import (
    canonical,
    inputs_by_number,
    map_children,
    replaced,
    substitute,
    tidy,
)
from relift.semantics.syntax.terms import (
    Input,
    Lambda,
    Literal,
    MakeTuple,
    Term,
    distinct,
    free_variables,
    parts_of,
)
from relift.semantics.syntax.types import Type

OUT = "out"
"""What the result of a program is called; where several kernels write its parts, the parts of it are `out_0`, `out_1`, ..."""

MOST_STEPS = 1 << 14
"""Steps of an iteration that a host launches at most: each launch is listed."""


_STATE = "state of a step"  # what no input of a program is called


@dataclass(frozen=True)
class Stage:
    """One kernel: the term it computes and the name of what it computes.

    What `lies` in memory already needs none: that says where, by the memories in which a kernel would have stored it.
    One that `updates` combines with the cells of what it computes what an earlier kernel has left there.
    """

    result: str
    body: Term
    lies: tuple[tuple[str, str], ...] = ()
    updates: bool = False

    def tidied(self) -> Stage:
        """The same, with short names of variables, for reading."""
        return replace(self, body=tidy(self.body))

    def elsewhere(self, moved: Mapping[str, Input]) -> Stage:
        """The same, where some buffers are others."""
        result = moved[self.result].name if self.result in moved else self.result
        body = replaced(self.body, lambda u: moved.get(u.name) if isinstance(u, Input) else None)
        return replace(self, result=result, body=body)

    def shape(self) -> Term:
        """What it computes, whatever the arrays that it reads are called."""
        return inputs_by_number(self.body)


def stages_of(program: Program) -> tuple[Stage, ...]:
    """The kernels of a program in the order in which they run; the last computes `out`, or the last part of it.

    Raises `Unsupported` for an iteration of kernels that runs no fixed number of times, or too many.

    >>> from relift import add, f32, iterate, map_glb, program, reduce_seq, show, split, to_global
    >>> from relift.compiler.lowering.stages import stages_of
    >>> @program
    ... def total(x: f32[8]):
    ...     partial = map_glb(0)(lambda c: reduce_seq(add, 0.0, c), split(2, x))
    ...     return reduce_seq(add, 0.0, to_global(partial))
    >>> for stage in stages_of(total):
    ...     print(stage.result, "=", show(stage.body))
    tmp_1 = map_glb(0)(lambda c: reduce_seq(add, 0.0, c), split(2, x))
    out = reduce_seq(add, 0.0, tmp_1)
    >>> @program
    ... def doubled(x: f32[8]):
    ...     return iterate(5, map_glb(0)(lambda v: v + v), x)
    >>> for stage in stages_of(doubled):
    ...     print(stage.result, "=", show(stage.body))
    tmp_1 = map_glb(0)(lambda v: v + v, x)
    tmp_2 = map_glb(0)(lambda v: v + v, tmp_1)
    tmp_1 = map_glb(0)(lambda v: v + v, tmp_2)
    tmp_2 = map_glb(0)(lambda v: v + v, tmp_1)
    out = map_glb(0)(lambda v: v + v, tmp_2)
    >>> @program
    ... def rows(x: f32[8]):
    ...     doubled = to_global(map_glb(0)(lambda v: v + v, x))
    ...     return split(2, doubled), reduce_seq(add, 0.0, doubled)
    >>> for stage in stages_of(rows):
    ...     print(stage.result, "=", show(stage.body), dict(stage.lies))
    tmp_1 = map_glb(0)(lambda v: v + v, x) {}
    out_0 = split(2, tmp_1) {'out_0': 'tmp_1'}
    out_1 = reduce_seq(add, 0.0, tmp_1) {}
    """
    return tuple(_Stages({p.name for p in program.parameters}).of(program.body))


@dataclass
class _Stages:
    """The stages that were found, and which buffers hold what.

    `live` are the buffers that are still read, `changing` those that hold something else in another step.
    """

    taken: set[str]
    stages: list[Stage] = field(default_factory=list[Stage])
    found: dict[Term, Term] = field(default_factory=dict[Term, Term])
    """Where it lies what is computed already: by what computes it, or the iteration."""
    turns: dict[Type, list[Input]] = field(default_factory=dict[Type, list[Input]])
    """The buffers of steps, which take turns."""
    live: set[str] = field(default_factory=set[str])
    changing: set[str] = field(default_factory=set[str])

    def __post_init__(self) -> None:
        self.names = (n for k in itertools.count(1) if (n := f"tmp_{k}") not in self.taken)

    def of(self, body: Term) -> list[Stage]:
        """The stages of a program."""
        body = self.named(body)
        while isinstance(body, ToGlobal):
            body = self.named(body.xs)
        if repeats_kernels(body):
            self.repeated(body, written=True)
        else:
            self.results([(at, self.result(part)) for at, part in results_at(body)])
        return self.stages

    def results(self, found: Sequence[tuple[Path, Term]]) -> None:
        """A kernel for each result; that of a value which other kernels read stores it there, and there they read it."""
        moved: dict[str, Input] = {}
        own: list[Stage] = []
        apart = [
            ((*at, *below), part)
            for at, t in found
            for below, part in beside_what_is_stored(t, self._is_stored)
        ]
        for at, t in apart:
            place, buffer = component_name(OUT, *at), self.found.get(canonical(t))
            kept = {*self.taken, *self.changing, *moved}
            # a parameter may be called as the result is, and is read under that name
            if isinstance(buffer, Input) and kept.isdisjoint((buffer.name, place)):
                moved[buffer.name] = Input(place, buffer.type)
            else:
                own.append(Stage(place, t))
        held: set[str] = set()
        for stage in own:
            lies = self._lies(stage.body, stage.result, moved)
            free = held.isdisjoint(lies.values())  # a memory holds one result
            held.update(lies.values() if free else ())
            self.stages.append(replace(stage, lies=tuple(lies.items())) if free else stage)
        self.stages = [stage.elsewhere(moved) for stage in self.stages]

    def _is_stored(self, t: Term) -> bool:
        """Whether another kernel stores a result, or all of its cells."""
        return canonical(t) in self.found or bool(self._lies(t))

    def _lies(self, t: Term, place: str = OUT, moved: Collection[str] = ()) -> Mapping[str, str]:
        """Where a result lies that is only copied, of buffers that one kernel writes; nowhere where something is computed."""
        buffers = {s.result for s in self.stages} - {*self.taken, *self.changing, *moved}
        return (copied(place, t) or {}) if _inputs(t) <= buffers else {}

    def named(self, t: Term) -> Term:
        """What is under names for what other kernels store, with the buffers of these."""
        return without_names_of_buffers(t, self.lift)

    def result(self, t: Term) -> Term:
        """A term whose result has a buffer already, so `to_global` around it adds nothing."""
        t = self.named(t)
        if isinstance(t, ToGlobal):
            return self.result(t.xs)
        data = invertible_data(t)
        if data is None:
            return self.lift(t)
        return map_children(t, lambda u: self.result(u) if u is data else u, lambda f: f)

    def lift(self, t: Term) -> Term:
        """A term that reads the buffers of what other kernels compute."""
        t = self.named(t)
        while isinstance(t, ToGlobal) and (repeats_kernels(t.xs) or updates_stored(t.xs)):
            t = t.xs
        if updates_stored(t):
            return self.updated(t)
        if repeats_kernels(t):
            if (key := canonical(t)) not in self.found:
                self.found[key] = self.repeated(t)
            return self.found[key]
        if isinstance(t, ToGlobal) and not free_variables(t):
            return self.stored(self.result(t.xs))
        return map_children(t, self.lift, lambda f: Lambda(f.parameters, self.lift(f.body)))

    def stored(self, body: Term, into: str = "", *, changes: bool = False) -> Term:
        """The buffer of what a kernel of its own computes, one of this name where it is given; `changes`: by its step."""
        key = canonical(body)
        if not into and key in self.found:
            return self.found[key]
        buffer = Input(into, body.type) if into else self._buffer(body, changes=changes)
        self.stages.append(Stage(buffer.name, body))
        if buffer.name not in self.taken:  # by a parameter, which is read then
            self.found[key] = buffer
        return buffer

    def updated(self, t: ReduceByIndex) -> Term:
        """The buffer in which a kernel stores the first values of cells, which are its own, and another one updates them."""
        key = canonical(t)
        if key not in self.found:
            assert isinstance(t.init, ToGlobal), "cannot happen: that is how they are stored"
            first = self.result(t.init.xs)
            body = replace(t, init=first, xs=self.lift(t.xs))
            buffer = self._buffer(body, changes=False)
            self.stages.append(Stage(buffer.name, first))
            self.stages.append(Stage(buffer.name, replace(body, init=buffer), updates=True))
            self.found[key] = buffer
        return self.found[key]

    def _buffer(self, body: Term, *, changes: bool) -> Input:
        """A buffer for what one kernel computes: one of those that take turns, where it is another one in another step."""
        if not changes and not _inputs(body) & self.changing:
            return Input(next(self.names), body.type)
        turns = self.turns.setdefault(body.type, [])
        buffer = next((each for each in turns if each.name not in self.live), None)
        if buffer is None:
            buffer = Input(next(self.names), body.type)
            turns.append(buffer)
        self.live.add(buffer.name)
        self.changing.add(buffer.name)
        return buffer

    # ---- iterations

    def repeated(self, t: Iterate, *, written: bool = False) -> Term:
        """Where the result of an iteration lies; what its last step computes is the result of the program if that is `written`."""
        steps = _steps(t)
        state = tuple(p if is_layout(p) else self.stored(p) for p in _parts(self.lift(t.x)))
        around, before = set(self.live), dict(self.found)
        known: dict[tuple[Term, ...], tuple[list[Stage], tuple[Term, ...]]] = {}
        for step in range(steps):
            last = written and step == steps - 1
            if state in known and not last:
                again, state = known[state]
                self.stages += again
                continue
            start, read = len(self.stages), state
            self.live = around | _inputs(*state)
            first = self.live - self.changing if step == 0 else set[str]()
            self.changing |= first
            state = self._step(t, state, written=last)
            self.changing -= first
            own = {k: v for k, v in self.found.items() if not _inputs(v) & self.changing}
            self.found = {**own, **before}
            if step:  # the first computes what is the same in all
                known[read] = self.stages[start:], state
        self.live = around | _inputs(*state)
        if written and not steps:
            self.stages.append(Stage(OUT, _whole(state, t.type)))
        return _whole(state, t.type)

    def _step(self, t: Iterate, state: Sequence[Term], *, written: bool) -> tuple[Term, ...]:
        """The kernels of one step, and where what they compute lies."""
        (x,) = t.f.parameters
        marked = substitute(t.f.body, {x.name: Input(_STATE, x.type)})
        changing = [_STATE in _inputs(p) for p in _parts(without_names_of_buffers(marked))]
        parts = _parts(self.named(substitute(t.f.body, {x.name: _whole(state, x.type)})))
        places = [component_name(OUT, i) for i in range(len(parts))] if len(parts) > 1 else [OUT]
        after: dict[int, Term] = {}
        # one part may be stored where another one reads it, and is the shorter one then
        for i in sorted(range(len(parts)), key=lambda i: parts_of(parts[i])):
            body = self.result(parts[i])
            kept = isinstance(body, Input | Literal) and not written
            into = places[i] if written else ""
            # a count that begins with a number is read off no buffer, and takes turns all the same
            after[i] = body if kept else self.stored(body, into, changes=changing[i])
        return tuple(after[i] for i in range(len(parts)))


def _steps(t: Iterate) -> int:
    """How often a host launches the kernels of a step."""
    steps = t.m.constant
    if steps is None:
        raise Unsupported(
            f"iterate runs {t.m} times, and its steps are kernels, whose number a launch says; compile with sizes={{...}}"
        )
    if steps > MOST_STEPS:
        raise Unsupported(
            f"iterate runs {steps} times, and its steps are kernels, of which at most {MOST_STEPS} are launched; "
            "iterate fewer times, and call the program again with its result"
        )
    return steps


def _parts(t: Term) -> tuple[Term, ...]:
    """The values of a state that have kernels of their own."""
    return t.parts if isinstance(t, MakeTuple) else (t,)


def _whole(parts: Sequence[Term], t: Type) -> Term:
    """A state of these values."""
    return parts[0] if len(parts) == 1 else MakeTuple(tuple(parts), t)


def _inputs(*terms: Term) -> set[str]:
    """What is read."""
    return {u.name for t in terms for u in distinct(t) if isinstance(u, Input)}
