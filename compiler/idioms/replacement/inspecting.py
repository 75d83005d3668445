"""C that looks, before a kernel runs, which cells of an array a nest of loops will read by indices that are data.

And whether a float that becomes a whole number is one: C does not say what else it becomes.  C does not say how long arrays are, and a program has arrays with lengths.  So the loops are run with nothing but their indices
computed: an array is as long as the greatest index says, and the guard fails where one is negative.  What is read for that the
loops read themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from relift.compiler.idioms.facts.names import Counter, Length
from relift.compiler.idioms.facts.values.places import reads_of
from relift.compiler.idioms.facts.values.terms import (
    Accumulator,
    Apply,
    Constant,
    Expression,
    Fold,
    Index,
    Read,
    Search,
    Value,
    below,
)
from relift.compiler.idioms.lift import LiftedIdiom
from relift.compiler.idioms.lifting.effects import Cells, Result, Running, Turn, Updates, effect_of
from relift.compiler.idioms.replacement.spelling import C_TYPES, Kept, counted, counter_of, letter
from relift.compiler.idioms.replacement.writing import Writing, becomes_whole
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.types import dimensions

_SIGNS = {"add": "+", "sub": "-", "mul": "*"}


@dataclass(frozen=True)
class Inspection:
    """The lines that find the lengths out, and the values of the function that they need."""

    lines: list[str]
    values: set[str]


def inspection(idiom: LiftedIdiom) -> Inspection:
    """What finds out the lengths of an idiom's arrays, and whether floats become whole numbers; raises `Kept`."""
    assert idiom.lifted is not None, "cannot happen: only a program has lengths"
    found = idiom.found
    effect = effect_of(idiom.relations, found.loop, found.result, found.idiom)
    turns: tuple[Turn, ...]
    values: tuple[Expression, ...]
    match effect:
        case Cells():
            turns, values = effect.turns, (effect.value,)
        case Result(fold):
            turns, values = (), (fold,)
        case Updates():
            turns, values = effect.turns, (effect.value, effect.guard, effect.cell)
        case Running():
            raise Kept("the length of an array is not known where the loop stands")
    arrays = {
        p.value: p.name
        for p in idiom.lifted.parameters
        if p.first is not None and str(dimensions(p.type)[1]) in ("i32", "i64")
    }
    lengths = unknown_lengths(idiom)
    made = _Inspecting(arrays, lengths, Writing(idiom.lifted))
    body = list(made.nest(turns, values))
    written = idiom.lifted.target.value  # which may have no cells where the loop does nothing
    lines = [f"  long long size_{name} = {int(base != written)};" for base, name in lengths.items()]
    return Inspection(
        [*lines, "  long long least_index = 0;", *body], made.values | made.writing.values
    )


def unknown_lengths(idiom: LiftedIdiom) -> dict[str, str]:
    """The arrays that are read at cells that data choose, each with the size that is its length."""
    assert idiom.lifted is not None, "cannot happen: only a program has lengths"
    return {
        of.array: name
        for name, size in idiom.lifted.sizes.items()
        for of in size.names()
        if isinstance(of, Length)
    }


@dataclass
class _Inspecting:
    arrays: Mapping[str, str]
    lengths: Mapping[str, str]
    writing: Writing
    values: set[str] = field(default_factory=set[str])
    depth: int = 1

    def nest(self, turns: tuple[Turn, ...], values: tuple[Expression, ...]) -> Iterator[str]:
        """Loops around what is read in them."""
        if not turns:
            yield from self.reads(values)
            return
        yield self.head(turns[0].counter, turns[0].trips, {})
        self.depth += 1
        yield from self.nest(turns[1:], values)
        self.depth -= 1
        yield "  " * self.depth + "}"

    def head(self, counter: Counter, trips: Size, computed: Mapping[str, Expression]) -> str:
        """The head of a loop."""
        c = counter_of(counter)
        end = self.polynomial(trips, computed)
        line = f"{'  ' * self.depth}for (long long {c} = 0; {c} < {end}; ++{c}) {{"
        if self.depth > 1:
            return line
        found = ", ".join(f"size_{name}" for name in self.lengths.values())
        longest = f"reduction(max: {found}) " if found else ""
        return f"#pragma omp parallel for {longest}reduction(min: least_index)\n{line}"

    def reads(self, values: tuple[Expression, ...]) -> Iterator[str]:
        """What is read by some expressions, each cell once."""
        met: set[Expression] = set()
        for e in values:
            yield from self.read(e, met)

    def read(self, e: Expression, met: set[Expression]) -> Iterator[str]:
        """What an expression reads, the inner cells first."""
        if e in met:
            return
        met.add(e)
        if isinstance(e, Fold):
            for inner in (*e.starts, *(x for _, x in e.computed)):
                yield from self.read(inner, met)
            yield self.head(e.counter, e.trips, dict(e.computed))
            self.depth += 1
            yield from self.reads(reads_of(e))
            self.depth -= 1
            yield "  " * self.depth + "}"
            return
        if isinstance(e, Search):
            raise Kept("a loop inside is not counted before it begins")
        for inner in below(e):
            yield from self.read(inner, met)
        if isinstance(e, Apply) and becomes_whole(e):
            fits = f"relift_fits_{e.type}({self.writing.text(e.arguments[0])})"
            yield f"{'  ' * self.depth}least_index = {fits} ? least_index : -1;"
        if isinstance(e, Read) and e.base in self.lengths:
            pad, length = "  " * self.depth, f"size_{self.lengths[e.base]}"
            yield f"{pad}{{"
            yield f"{pad}  const long long at = {self.polynomial(e.index, dict(e.computed))};"
            yield f"{pad}  least_index = at < least_index ? at : least_index;"
            yield f"{pad}  {length} = at >= {length} ? at + 1 : {length};"
            yield f"{pad}}}"

    def polynomial(self, size: Size, computed: Mapping[str, Expression]) -> str:
        """A polynomial over counters, values of the function and what is computed."""
        return counted(size, lambda name: self.atom(name, computed))

    def atom(self, name: str, computed: Mapping[str, Expression]) -> str:
        """An atom of a polynomial."""
        if name in computed:
            return self.integer(computed[name])
        if isinstance(name, Counter):
            return counter_of(name)
        self.values.add(name)
        return letter(name)

    def integer(self, e: Expression) -> str:
        """An index that is computed; raises `Kept` where that takes more than sums and products."""
        match e:
            case Read() if e.base in self.arrays and e.type in ("i32", "i64"):
                array = f"((const {C_TYPES[e.type]} *)array_{self.arrays[e.base]})"
                return f"(long long){array}[{self.polynomial(e.index, dict(e.computed))}]"
            case Index(size, _):
                return f"({self.polynomial(size, {})})"
            case Constant(value, "i32" | "i64"):
                return f"{int(value)}LL"
            case Value(name, "i32" | "i64"):
                return self.atom(name, {})
            case Apply("i32" | "i64", (inner,), _) if inner.type in ("i32", "i64"):
                return self.integer(inner)
            case Apply("floor_divide", (a, b), _):
                return f"relift_floor({self.integer(a)}, {self.integer(b)})"
            case Apply(function, (a, b), _) if function in _SIGNS and e.type in ("i32", "i64"):
                return f"({self.integer(a)} {_SIGNS[function]} {self.integer(b)})"
            case Apply("select", (condition, yes, no), _):
                chosen = f"{self.integer(yes)} : {self.integer(no)}"
                return f"({self.writing.text(condition)} ? {chosen})"
            case Read() | Constant() | Value() | Apply() | Fold() | Search() | Accumulator():
                raise Kept("an index is computed in a way that is not looked at before the loop")
