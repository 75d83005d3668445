"""An iteration whose steps are kernels, as programs of their own: its first values, one step, and what reads its result.

What is found for a step is done in each of them, so a hundred steps are searched for once.  A step may store values for
itself, and be an iteration again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from relift.egraph.search.starts.staged import done_again, filled
from relift.rewrites.application.matching import apply_rule
from relift.rewrites.derivation.steps import Derivation, Step
from relift.rewrites.library import RULES
from relift.semantics.indices.views import is_layout
from relift.semantics.language.programs import Program
from relift.semantics.language.vocabulary import to_global
from relift.semantics.patterns import Iterate
from relift.semantics.patterns.repeated import repeats_kernels
from relift.semantics.syntax.binding import (
    Position,
    canonical,
    map_children,
    places_of,
    replace_at,
    substitute,
    term_at,
)
from relift.semantics.syntax.places import in_row, row_and_number
from relift.semantics.syntax.terms import (
    Get,
    Input,
    Lambda,
    MakeTuple,
    Term,
    Var,
    free_variables,
    subterms,
    unused,
)
from relift.semantics.syntax.types import Array, Tuple, holds_array

_Refused: TypeAlias = Callable[[Program], str | None]
"""What says why a low-level program is refused, if it is."""

FEWEST_STEPS = 3
"""Steps that are worth a loop on the host: fewer are written out."""


@dataclass(frozen=True)
class Iterated:
    """A program around an iteration: what each part of it is called, and the programs that are searched.

    `state` are the inputs of a step, `computed` the results of a step that it does not hand on as they are.  `rest` is None
    where the result of the iteration is that of the program.
    """

    whole: Program
    iteration: Iterate
    result: Input
    state: tuple[Input, ...]
    computed: tuple[int, ...]
    firsts: tuple[tuple[Position, Program], ...]
    step: Program
    rest: Program | None

    @property
    def programs(self) -> tuple[Program, ...]:
        """The programs that are searched, in the order in which what is found for them is put together."""
        rest = () if self.rest is None else (self.rest,)
        return (*rest, self.step, *(program for _, program in self.firsts))

    def refused(self, program: Program, refused: _Refused) -> _Refused:
        """What refuses low-level programs of one of these: each result of a step has a kernel of its own."""
        return partial(refused_in_parts, refused) if program is self.step else refused

    def low(self, found: Sequence[Term]) -> Term:
        """The whole, with these low-level terms for its programs."""
        step, firsts = found[self._before], found[self._before + 1 :]
        (x,) = self.iteration.f.parameters
        body = filled(step, self._values(x))
        if self._leaves_out:
            parts = list(_parts(self.iteration.f.body))
            lowered = _parts(body) if len(self.computed) > 1 else (body,)
            for i, part in zip(self.computed, lowered, strict=True):
                parts[i] = part
            body = MakeTuple(tuple(parts), x.type)
        first = self.iteration.x
        for (place, _), low in zip(self.firsts, firsts, strict=True):
            first = _with_part(first, place, low)
        whole = replace(self.iteration, f=Lambda((x,), body), x=first)
        if not repeats_kernels(whole):
            stored = to_global(term_at(body, _stored_at(body)))
            whole = replace(whole, f=Lambda((x,), replace_at(body, _stored_at(body), stored)))
        return whole if self.rest is None else filled(found[0], {self.result.name: whole})

    def derivation(self, start: Derivation, found: Sequence[Derivation]) -> Derivation:
        """The derivation of the whole that goes on with those of its programs."""
        step, firsts = found[self._before], found[self._before + 1 :]
        t, steps = start.result, list(start.steps)
        for rest in found[: self._before]:
            named: dict[str, Term] = {self.result.name: self.iteration}
            more, t = done_again(rest, rest.replay(RULES), t, (), named)
            steps += more
        below, parts = self._in_a_step()
        for place in places_of(t, self.iteration):
            around = term_at(t, place)
            assert isinstance(around, Iterate), "cannot happen: it is the iteration"
            values = self._values(around.f.parameters[0])
            at = (*place, "f", *below)
            more, t = done_again(step, step.replay(RULES), t, at, values, parts)
            steps += more
            if not repeats_kernels(term_at(t, place)):
                at = (*place, "f", *_stored_at(term_at(t, (*place, "f"))))
                t, substitution = apply_rule(RULES["store_global"], t, at)
                steps.append(Step("store_global", "forward", at, substitution))
            for (part, _), one in zip(self.firsts, firsts, strict=True):
                more, t = done_again(one, one.replay(RULES), t, (*place, "x", *part), {})
                steps += more
        return replace(start, steps=tuple(steps), result=t)

    @property
    def _before(self) -> int:
        """How many programs are before the step."""
        return len(self.programs) - 1 - len(self.firsts)

    def _in_a_step(self) -> tuple[Position, Mapping[str, str] | None]:
        """Where in a step the program of a step stands, and which of its results are which there."""
        if not self._leaves_out:
            return (), None
        if len(self.computed) == 1:
            return (f"parts.{self.computed[0]}",), None
        return (), {in_row("parts", k): in_row("parts", i) for k, i in enumerate(self.computed)}

    @property
    def _leaves_out(self) -> bool:
        """Whether a step hands something on as it is."""
        return len(self.computed) < len(_parts(self.iteration.f.body))

    def _values(self, x: Term) -> Mapping[str, Term]:
        """What the inputs of a step stand for."""
        if len(self.state) == 1:
            return {self.state[0].name: x}
        return {each.name: Get(i, x, each.type) for i, each in enumerate(self.state)}


def iterated(whole: Program, fewest: int = FEWEST_STEPS) -> Iterated | None:
    """The first iteration on arrays in a program that is outside all functions and has steps enough; None where there is none.

    >>> from relift import add, f32, iterate, map, program, reduce, show
    >>> from relift.egraph.search.starts.iterated import iterated
    >>> @program
    ... def total(x: f32[8]):
    ...     return reduce(add, 0.0, iterate(50, lambda y: map(lambda v: v * 0.5, y), map(lambda v: v + 1.0, x)))
    >>> for each in iterated(total).programs:
    ...     print(each.name, show(each.body))
    total reduce(add, 0.0, total_result)
    total_step map(lambda v: v * 0.5, y)
    total_first map(lambda v: v + 1.0, x)
    """
    t = next((u for u, _ in subterms(whole.body) if _is_cut(u, fewest)), None)
    if t is None or not isinstance(t, Iterate):
        return None
    taken = {p.name for p in whole.parameters}
    (x,) = t.f.parameters
    result = Input(unused(f"{whole.name}_result", taken), t.type)
    state, body = _step(t, taken)
    parts = _parts(t.f.body)
    computed = tuple(i for i, part in enumerate(parts) if not _is_handed_on(part, x.name))
    if not computed:
        return None
    if len(computed) < len(parts):
        own = _parts(body)
        kept = tuple(own[i] for i in computed)
        types = Tuple(tuple(part.type for part in kept))
        body = kept[0] if len(kept) == 1 else MakeTuple(kept, types)
    firsts = [
        ((in_row("parts", i),) if isinstance(t.x, MakeTuple) else (), part)
        for i, part in enumerate(_parts(t.x))
        if not is_layout(part)
    ]
    rest = _reading(whole.body, canonical(t), result)
    return Iterated(
        whole,
        t,
        result,
        state,
        computed,
        tuple((place, _program(whole, "_first", part)) for place, part in firsts),
        _program(whole, "_step", body),
        None if rest == result else _program(whole, "", rest),
    )


def copied_by_steps(t: Term) -> list[Position]:
    """Where in a step an array is handed on as it is that is a result of the program: a copy of it is one that a kernel writes.

    >>> from relift import f32, iterate, map, program
    >>> from relift.egraph.search.starts.iterated import copied_by_steps
    >>> @program
    ... def wave(x: f32[8], y: f32[8]):
    ...     return iterate(50, lambda s: (s[1], map(lambda v: v * 0.5, s[0])), (x, y))
    >>> copied_by_steps(wave.body)
    [('parts.0',)]
    """
    if not isinstance(t, Iterate) or not _is_cut(t, FEWEST_STEPS):
        return []
    (x,) = t.f.parameters
    parts = t.f.body.parts if isinstance(t.f.body, MakeTuple) else ()
    return [
        (in_row("parts", i),)
        for i, part in enumerate(parts)
        if isinstance(part.type, Array) and _is_handed_on(part, x.name)
    ]


def refused_in_parts(refused: _Refused, low: Program) -> str | None:
    """Why one of several results of a step is refused, each of which has a kernel of its own; None where none is."""
    reasons = (refused(replace(low, body=part)) for part in _parts(low.body))
    return next((reason for reason in reasons if reason is not None), None)


def _is_cut(t: Term, fewest: int) -> bool:
    """Whether a term is an iteration that a host may do."""
    return (
        isinstance(t, Iterate)
        and holds_array(t.type)
        and not free_variables(t)
        and (t.m.constant or 0) >= fewest
    )


def _step(t: Iterate, taken: set[str]) -> tuple[tuple[Input, ...], Term]:
    """The inputs of a step, one for each part of the state where it needs them one by one, and what it computes."""
    (x,) = t.f.parameters
    if isinstance(x.type, Tuple):
        names = [unused(f"{x.name}_{i}", taken) for i in range(len(x.type.parts))]
        state = tuple(Input(n, part) for n, part in zip(names, x.type.parts, strict=True))
        body = substitute(t.f.body, {x.name: MakeTuple(state, x.type)})
        again = filled(body, {s.name: Get(i, x, s.type) for i, s in enumerate(state)})
        if canonical(Lambda((x,), again).body) == canonical(t.f.body):
            return state, body
    one = Input(unused(x.name, taken), x.type)
    return (one,), substitute(t.f.body, {x.name: one})


def _stored_at(body: Term) -> Position:
    """What of a step that one work-item does is stored, so that it is a kernel, and no loop within one."""
    return (in_row("parts", 0),) if isinstance(body, MakeTuple) else ()


def _is_handed_on(part: Term, state: str) -> bool:
    """Whether a step hands a part of its state on as it is."""
    return isinstance(part, Get) and isinstance(part.of, Var) and part.of.name == state


def _parts(t: Term) -> tuple[Term, ...]:
    return t.parts if isinstance(t, MakeTuple) else (t,)


def _with_part(t: Term, place: Position, part: Term) -> Term:
    """A state with another first value."""
    if not place:
        return part
    named = row_and_number(place[0])
    assert named is not None, "cannot happen: a part of a state"
    parts = list(_parts(t))
    parts[named[1]] = part
    return MakeTuple(tuple(parts), t.type)


def _reading(t: Term, key: Term, result: Input) -> Term:
    """A term in which an iteration is an input."""
    if isinstance(t, Iterate) and canonical(t) == key:
        return result
    return map_children(
        t,
        lambda u: _reading(u, key, result),
        lambda f: Lambda(f.parameters, _reading(f.body, key, result)),
    )


def _program(whole: Program, suffix: str, body: Term) -> Program:
    inputs = dict.fromkeys(u for u, _ in subterms(body) if isinstance(u, Input))
    return Program(f"{whole.name}{suffix}", tuple(inputs), body, file=whole.file)
