"""What names a random program: a kind, a seed, and changes of the choices that the seed made.

A program that made the compiler do something new is changed: its choices are taken up to a place, or but for some of
them, and the rest is drawn anew.  Nothing but the name is needed to make the program again.

>>> from relift.compiler.fuzzing.programs.cases import Case, Kind, case_of, program_of
>>> case_of("groups 17/3") == Case(Kind("groups"), 17, (3,))
True
>>> program_of(Case(Kind("items"), 1)) == program_of(Case(Kind("items"), 1))
True
"""

from __future__ import annotations

import random
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from relift.rewrites.checks.random.draws import KINDS
from relift.rewrites.checks.random.draws import Kind as LowKind
from relift.rewrites.checks.random.expressions import DEEPEST, Scope
from relift.rewrites.checks.random.kernels import Builder
from relift.semantics.errors import ReliftError
from relift.semantics.indices.functions import reverse, shift
from relift.semantics.language import vocabulary as rl
from relift.semantics.language.coercion import make_tuple
from relift.semantics.language.naming import distinctly_named
from relift.semantics.language.programs import Program
from relift.semantics.language.tracing import FixedLambda, build
from relift.semantics.language.vocabulary import VOCABULARY
from relift.semantics.patterns import Fold, Map, ReduceSeq, Store
from relift.semantics.syntax.binding import map_children
from relift.semantics.syntax.nodes import argument
from relift.semantics.syntax.terms import Lambda, Pattern, Term
from relift.semantics.syntax.types import f32

Making: TypeAlias = Literal["as drawn", "varied", "lowered"]
"""What is done with a program that was drawn: nothing, rules rewrite it, or it is made high-level and rules lower it."""


@dataclass(frozen=True)
class Kind:
    """How a program is drawn: as a low-level one of some kind, and what is done with it."""

    low: LowKind
    making: Making = "as drawn"

    def __str__(self) -> str:
        match self.making:
            case "as drawn":
                return self.low
            case "varied":
                return f"varied {self.low}"
            case "lowered":
                return "high"


NAMED: dict[str, Kind] = {
    str(kind): kind
    for kind in (
        *map(Kind, KINDS),
        Kind("items", "varied"),
        Kind("groups", "varied"),
        Kind("items", "lowered"),
    )
}
"""The kinds by what they are called."""

ALL_KINDS: tuple[str, ...] = tuple(NAMED)


@dataclass(frozen=True)
class Case:
    """One program."""

    kind: Kind
    seed: int
    changes: tuple[int, ...] = ()

    def changed(self, seed: int) -> Case:
        """The program with some of its choices drawn anew."""
        return replace(self, changes=(*self.changes, seed))

    def random(self, what: str) -> random.Random:
        """Random numbers of this case, others for each purpose."""
        return random.Random(f"{self} {what}")

    def __str__(self) -> str:
        return "/".join([f"{self.kind} {self.seed}", *map(str, self.changes)])


def case_of(name: str) -> Case:
    """The case of a name; raises `ReliftError` for what is none."""
    kind, _, numbers = name.rpartition(" ")
    seed, *changes = numbers.split("/")
    known = NAMED.get(kind)
    if known is None or not all(n.isdecimal() for n in (seed, *changes)):
        raise ReliftError(
            f"{name!r} names no program; one is called like 'groups 17' or 'groups 17/3'", place=""
        )
    return Case(known, int(seed), tuple(map(int, changes)))


@dataclass
class Followed:
    """Choices that follow others as far as those go and fit, and are drawn behind them; all are kept."""

    generator: random.Random
    script: Sequence[int] = ()
    taken: list[int] = field(default_factory=list)

    def number(self, least: int, most: int) -> int:
        """A whole number between two bounds, both included."""
        place = len(self.taken)
        known = self.script[place] if place < len(self.script) else None
        drawn = self.generator.randint(least, most)
        self.taken.append(known if known is not None and least <= known <= most else drawn)
        return self.taken[-1]


LONG = (64, 33, 100)
"""Lengths at which drivers make vectors of folds."""


@dataclass
class Wide(Builder):
    """Programs of a campaign: more of what groups may skip, and now and then long folds, but none within folds."""

    long: bool = False
    enclosed: bool = False
    """Whether what is made stands in a loop or in groups within groups, where no other groups may be."""

    def program(self) -> Program | None:
        """One program, or None where no well-typed one came out."""
        self.long = self.chance(3)
        self.deepest = 1 if self.long else DEEPEST
        return super().program()

    def run_through(self, scope: Scope) -> Any:
        """What a fold runs through."""
        if self.long and self.chance(2):
            return self.layout(self.input(f32[self.pick(LONG)]), deep=1)
        return super().run_through(scope)

    def group(self, c: Any, scope: Scope, dim: int, tiles: int) -> Any:
        """What a group computes; half of those with a tile do something that may be skipped, and go on behind it."""
        if tiles or len(scope.arrays) < 2 or not self.spend() or self.chance(2):
            return super().group(c, scope, dim, tiles)
        if not self.enclosed and self.chance(2):
            return self.of_several_numbers(c, scope, dim)
        behind = rl.map_lcl(dim)(self.number_of(scope), self.row(scope))
        return make_tuple(self.in_turns(c, scope, dim), behind)

    def in_turns(self, c: Any, scope: Scope, dim: int) -> Any:
        """A loop, of no turn perhaps, with a tile in each."""
        with self.enclosing():
            return super().in_turns(c, scope, dim)

    def of_several_numbers(self, c: Any, scope: Scope, dim: int) -> Any:
        """Groups within groups, of different numbers; a loop where there may be none."""
        if self.enclosed:
            return self.in_turns(c, scope, dim)
        with self.enclosing():
            return super().of_several_numbers(c, scope, dim)

    @contextmanager
    def enclosing(self) -> Generator[None, None, None]:
        """What is made inside is enclosed."""
        before, self.enclosed = self.enclosed, True
        try:
            yield
        finally:
            self.enclosed = before

    def row(self, scope: Scope) -> Any:
        """An array whose elements a group divides among its work-items; often the newest tile, as others wrote it."""
        if self.chance(2):
            return super().row(scope)
        moved = self.pick((reverse, reverse, shift(1)))
        return self.layout(rl.gather(moved, scope.arrays[-1]), deep=1)


@dataclass
class Loose(Wide):
    """Programs whose numbers may grow: sums depend on their order, products overflow."""

    def clipped(self, x: Any) -> Any:
        """The value as it is."""
        return x


def program_of(case: Case) -> Program | None:
    """The program of a case, or None where its choices made an ill-typed one."""
    kind = case.kind.low
    script: Sequence[int] = ()
    followed = Followed(random.Random(f"{kind} {case.seed}"))
    made = Loose if case.random("numbers").random() < 0.5 else Wide
    program = made(followed, kind).program()
    for number, change in enumerate(case.changes, 1):
        generator = random.Random(f"{replace(case, changes=case.changes[:number])}")
        script = _changed(followed.taken, random.Random(change))
        followed = Followed(generator, script)
        program = made(followed, kind).program()
    if program is None or case.kind.making != "lowered":
        return program
    return raised(program)


def _changed(taken: Sequence[int], generator: random.Random) -> list[int]:
    """Choices cut off at some place, or with a few of them left to be drawn; -1 is none."""
    found = list(taken)
    if not found:
        return found
    if generator.random() < 0.5:
        return found[: generator.randrange(len(found))]
    for _ in range(generator.randint(1, 3)):
        found[generator.randrange(len(found))] = -(10**9)
    return found


def raised(program: Program) -> Program | None:
    """The program without a word of who computes and where it is stored; None where that is not typed."""
    try:
        body = _raised(program.body)
        (body,) = distinctly_named(
            [body], {*(p.name for p in program.parameters), *program.sizes}, VOCABULARY
        )
        return replace(program, body=body)
    except ReliftError:
        return None


def _raised(t: Term) -> Term:
    def under(f: Lambda) -> Lambda:
        return Lambda(f.parameters, _raised(f.body))

    t = map_children(t, _raised, under)
    if isinstance(t, Store):
        return t.xs
    if isinstance(t, Fold):
        return build(ReduceSeq, (FixedLambda(t.f.parameters, t.f.body), t.init, t.xs))
    if isinstance(t, Pattern) and t.loop == "map":
        f, xs = argument(t, "f"), argument(t, "xs")
        assert isinstance(f, Lambda), "cannot happen: every map has a function"
        return build(Map, (FixedLambda(f.parameters, f.body), xs))
    return t
