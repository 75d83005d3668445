"""Where kernels store what they compute; one that was counted before, for another candidate of a search, is not followed again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeGuard

from relift.device import DeviceDescription
from relift.egraph.cost.accesses import Accesses
from relift.egraph.cost.kernel import Kernel
from relift.egraph.cost.meter import Meter
from relift.semantics.indices.copies import copied
from relift.semantics.indices.views import Environment, View, memories_of
from relift.semantics.kept import Kept
from relift.semantics.patterns import Store, ToGlobal
from relift.semantics.patterns.repeated import beside_what_is_stored
from relift.semantics.syntax.binding import canonical, inputs_in, replaced
from relift.semantics.syntax.terms import Input, Term, free_variables


@dataclass(frozen=True)
class Counted:
    """What a kernel came to, and the places, among the values that it reads, of those in the order in which they were asked for.

    `memories` are what those are called that it reads, in the order of the values, and that it writes.
    """

    kernel: Kernel
    asked: tuple[int, ...]
    memories: tuple[str, ...]


_known: Kept[tuple[DeviceDescription, Term], Counted] = Kept("kernels that were counted")
"""By what they compute, with the values that others store as inputs."""


@contextmanager
def counted_once() -> Generator[None]:
    """What a kernel comes to is found once inside, however many programs have it.

    >>> from relift import f32, map_glb, program
    >>> from relift.device import CPU
    >>> from relift.egraph.cost.buffers import counted_once, known_kernels
    >>> from relift.egraph.cost.model import estimate
    >>> @program
    ... def double(x: f32[8]):
    ...     return map_glb(0)(lambda v: v + v, x)
    >>> with counted_once():
    ...     estimate(double, CPU) == estimate(double, CPU), len(known_kernels())
    (True, 1)
    """
    with _known.once():
        yield


known_kernels = _known.now
"""What was counted since `counted_once` began; nothing is kept outside."""


def is_stored(t: Term) -> TypeGuard[Store]:
    """Whether a kernel of its own computes a term."""
    return isinstance(t, ToGlobal) and not free_variables(t)


def apart(t: Term) -> tuple[Term, Sequence[str], Sequence[Term]]:
    """What a kernel computes, whatever its inputs are called, where what others store are inputs, what its own are called, and what the others store, each once.

    >>> from relift import add, f32, map, program, reduce, show, to_global
    >>> from relift.egraph.cost.buffers import apart
    >>> @program
    ... def total(x: f32[8]):
    ...     return reduce(add, 0.0, to_global(map(lambda v: v * v, x)))
    >>> shape, given, stored = apart(total.body)
    >>> show(shape), given, [show(each) for each in stored]
    ('reduce(add, 0.0, stored 0)', (), ['map(lambda %0: %0 * %0, x)'])
    """
    given: dict[str, Input] = {}
    stored: dict[Term, Input] = {}

    def read(u: Term) -> Term | None:
        if isinstance(u, Input):
            return given.setdefault(u.name, Input(f"input {len(given)}", u.type))
        if not is_stored(u):
            return None
        return stored.setdefault(canonical(u.xs), Input(f"stored {len(stored)}", u.type))

    return canonical(replaced(t, read, Input, ToGlobal)), tuple(given), list(stored)


class Lying:
    """Which results lie where other kernels store them, each in memories of its own: they have no kernel."""

    def __init__(self, buffers: Iterable[Input] = ()) -> None:
        self._inputs: dict[Term, Input] = {}
        self._buffers = {each.name for each in buffers}
        """Those that are known already."""
        self._taken: set[str] = set()

    def anywhere(self, t: Term) -> bool:
        """Whether other kernels store all cells of a result."""
        return bool(self._memories(t)[0])

    def of(self, t: Term) -> tuple[Term, ...] | None:
        """What other kernels compute that store all cells of a result, which lies there from now on; None where it cannot."""
        memories, stored = self._memories(t)
        if not memories or not self._taken.isdisjoint(memories):
            return None
        self._taken.update(memories)
        return stored

    def _memories(self, t: Term) -> tuple[Collection[str], tuple[Term, ...]]:
        def read(u: Term) -> Term | None:
            if not is_stored(u):
                return None
            return self._inputs.setdefault(
                canonical(u.xs), Input(f"stored {len(self._inputs)}", u.type)
            )

        shown = replaced(t, read, ToGlobal)
        stored = {i.name: computed for computed, i in self._inputs.items()}
        names = inputs_in(shown)
        if not names or not names <= {*stored, *self._buffers}:
            return (), ()
        lies = copied("out", shown) or {}
        return lies.values(), tuple(computed for n, computed in stored.items() if n in names)


class Buffers:
    """Where the kernels of a program store what they compute; each is followed once, by `follow`, or looked up."""

    def __init__(
        self,
        meter: Meter,
        accesses: Accesses,
        follow: Callable[[str, Term, Environment], View],
    ) -> None:
        self._meter, self._accesses, self._follow = meter, accesses, follow
        self._held: dict[Term, View] = {}
        """By the canonical form of what computes a value."""
        self._asked: dict[Term, None] = {}
        """What the kernel that is followed has asked for, in order."""

    def results(self, found: Sequence[Term], environment: Environment, lying: Lying) -> None:
        """Where the results of a program are; one that other kernels store, or all of its cells, has no kernel."""
        for t in found:
            for _, part in beside_what_is_stored(t, lying.anywhere):
                stored = lying.of(part)
                for each in (part,) if stored is None else stored:
                    self.of(each, environment, "out" if stored is None else "")

    def of(self, t: Term, environment: Environment, name: str = "") -> View:
        """What a kernel of its own computes before what asks for it, once, wherever it is read."""
        if (key := canonical(t)) not in self._held:
            name = name or self._meter.fresh("buffer")
            self._held[key] = self._kernel(name, t, environment)
        self._asked[key] = None
        return self._held[key]

    def _kernel(self, name: str, t: Term, environment: Environment) -> View:
        known = known_kernels()
        if known is None or free_variables(t):
            return self._follow(name, t, environment)
        shape, given, stored = apart(t)
        inputs = [environment.inputs[each] for each in given]

        def memories(result: View) -> tuple[str, ...]:
            views = (*inputs, *(self._held[each] for each in stored), result)
            return tuple(m.name for view in views for m in memories_of(view))

        key = self._meter.device, shape
        if (before := known.get(key)) is not None:
            for place in before.asked:
                self.of(stored[place], environment)
            result = self._accesses.stored(name, t.type)
            renamed = dict(zip(before.memories, memories(result), strict=True))
            self._meter.finished.append(replace(before.kernel, renamed=renamed))
            return result
        around, self._asked = self._asked, {}
        found = self._follow(name, t, environment)
        asked, self._asked = self._asked, around
        kernel = self._meter.finished[-1]
        if (
            asked.keys() == set(stored) and not kernel.in_strips
        ):  # else it computes one in its place
            known[key] = Counted(kernel, tuple(map(stored.index, asked)), memories(found))
        return found

    def read_by(self, t: Term, environment: Environment) -> tuple[Term, Environment]:
        """A term that moves what kernels of their own compute, in which these results are inputs."""
        inputs = dict(environment.inputs)

        def read(u: Term) -> Term | None:
            if not is_stored(u):
                return None
            buffer = self.of(u.xs, environment)
            name = next((n for n, v in inputs.items() if v is buffer), f"buffer {len(inputs)}")
            inputs[name] = buffer
            return Input(name, u.type)

        return replaced(t, read, ToGlobal), replace(environment, inputs=inputs)
