"""Idioms in a function: each constraint of the library solved, and of what overlaps the largest kept."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path

from relift.compiler.idioms.constraints.expansion import Expanded, expand
from relift.compiler.idioms.constraints.parsing import parse
from relift.compiler.idioms.constraints.solving import MOST_STEPS, Solver, TooManySteps
from relift.compiler.idioms.constraints.syntax import Constraint
from relift.compiler.idioms.facts.control import Loop
from relift.compiler.idioms.facts.relations import Relations
from relift.plugins import working
from relift.processes.collecting import uncollected

FILES = ("loops", "memory", "reductions", "maps", "linear_algebra", "sparse")


@dataclass(frozen=True)
class Idiom:
    """What is looked for: a constraint, how deep a nest, and the variable that is its result."""

    name: str
    constraint: str
    result: str
    outermost: str = "begin"
    depth: int = 0
    least: int = 1
    """How many loops stand in each other at least where it is found."""


IDIOMS = (
    *(Idiom("gemm", "GEMM", "output.store", depth=n) for n in (4, 3)),
    Idiom("gemv", "GEMV", "store", least=2),
    Idiom("csr", "CSR", "output.store", "outer_loop.begin", least=2),
    Idiom("ell", "ELL", "output.store", "outer_loop.begin", least=2),
    Idiom("jds", "JDS", "output.store", "outer_loop.begin", least=2),
    Idiom("transposition", "Transposition", "write.store", least=2),
    *(Idiom("stencil", "Stencil", "write.store", depth=n) for n in (3, 2, 1)),
    Idiom("scan", "Scan", "store"),
    Idiom("histogram", "Histogram", "store"),
    Idiom("axpy", "AXPY", "write.store"),
    *(Idiom("memory-reduction", "MemoryReduction", "store", depth=n) for n in (3, 2, 1)),
    *(Idiom("map", "Map", "write.store", depth=n) for n in (4, 3, 2, 1)),
    Idiom("argmin", "ArgReduction", "place"),
    Idiom("argmin", "PlaceReduction", "place"),
    Idiom("dot", "DotProduct", "accumulator"),
    Idiom("reduction", "ScalarReduction", "accumulator"),
)
"""The more special ones first: of those that explain one result, the first with the largest nest counts."""


@dataclass(frozen=True)
class Idioms:
    """Idioms of a plug-in: constraints in the language of IDL, beside those of the library, and what is looked for."""

    file: Path
    sought: tuple[Idiom, ...]


@cache
def sought() -> tuple[Idiom, ...]:
    """All idioms: those of plug-ins first, which are more special than the library's."""
    own = [i for idioms in working("idioms", unfit).values() for i in idioms.sought]
    return (*own, *IDIOMS)


def unfit(value: object) -> str | None:
    """Why what a plug-in names is no library of idioms; its constraints are read and written out."""
    if not isinstance(value, Idioms):
        return f"it names {value!r}"
    known = {**_read(value.file), **_library()}
    if twice := [name for name in _read(value.file) if name in _library()]:
        return f"the library has a constraint {twice[0]}"
    for idiom in value.sought:
        if idiom.constraint not in known:
            return f"{value.file} has no constraint {idiom.constraint}"
        if any(idiom.name == other.name for other in IDIOMS):
            return f"the library has an idiom {idiom.name}"
        expand(idiom.constraint, known)
    return None


def _rank(idiom: str) -> int:
    """How special an idiom is: the place of the first of its name."""
    return next(number for number, i in enumerate(sought()) if i.name == idiom)


@dataclass(frozen=True)
class Found:
    """One solution: the idiom, the outermost loop of it, its result (a store, or a value that is carried), all variables."""

    idiom: str
    loop: Loop
    result: str
    solution: Mapping[str, str | tuple[str, ...]]

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes two finds the same one."""
        return self.idiom, self.loop.header, self.result


@dataclass(frozen=True)
class FunctionFinds:
    """What was found in a function, and how many steps that took; `given_up` names constraints whose search was not ended."""

    found: tuple[Found, ...]
    steps: int
    given_up: tuple[str, ...]
    everything: _Everything

    def without(self, wrong: Collection[Found]) -> FunctionFinds:
        """The same, where some finds are said to be wrong: what they stood for may be.

        No find of one result depends on those of another, so only the results of what is wrong are looked for again.
        """
        return self.everything.without(wrong)


@cache
def library() -> Mapping[str, Constraint]:
    """All constraints by name, those of plug-ins among them."""
    found = dict(_library())
    for idioms in working("idioms", unfit).values():
        found.update(_read(idioms.file))
    return found


def _read(file: Path) -> dict[str, Constraint]:
    return parse(file.read_text("utf-8"), file.name)


@cache
def _library() -> Mapping[str, Constraint]:
    found: dict[str, Constraint] = {}
    folder = files("relift.compiler.idioms").joinpath("library")
    for name in FILES:
        found.update(parse(folder.joinpath(f"{name}.idl").read_text("utf-8"), f"{name}.idl"))
    return found


@cache
def expanded(constraint: str, depth: int = 0) -> Expanded:
    """A constraint of the library written out, for nests of a depth."""
    known = dict(library())
    if depth:
        from relift.compiler.idioms.constraints.syntax import Calculation, Where

        c = known[constraint]
        formula = Where(c.formula, "N", Calculation(((1, depth),)))
        known[constraint] = Constraint(c.name, formula, c.place)
    return expand(constraint, known)


@uncollected()
def find(relations: Relations, most: int = MOST_STEPS) -> FunctionFinds:
    """The idioms of a function."""
    everything = _Everything(relations, most)
    for number, idiom in enumerate(sought()):
        everything.take(number, idiom, {})
    return everything.searched()


@dataclass
class _Everything:
    """All solutions that may be kept, and of each result the largest loop that is explained."""

    relations: Relations
    most: int
    found: list[tuple[int, Found]] = field(default_factory=list[tuple[int, Found]])
    """By the place of the idiom among those that are sought."""
    steps: int = 0
    given_up: list[str] = field(default_factory=list[str])
    wrong: set[tuple[str, str, str]] = field(default_factory=set[tuple[str, str, str]])
    _largest: dict[str, Loop] = field(default_factory=dict[str, Loop])

    @cached_property
    def nested(self) -> int:
        """How many loops stand in each other at most."""
        control = self.relations.control
        return max((len(control.around(h)) for h in control.loops), default=0)

    def take(self, number: int, idiom: Idiom, given: Mapping[str, str]) -> None:
        """Look for an idiom, where some of its variables may be given."""
        if max(idiom.depth, idiom.least) > self.nested:
            return

        def is_known(begin: str, result: str) -> bool:
            loop, largest = self.relations.loop_at(begin), self._largest.get(result)
            explained = largest is not None and loop.blocks <= largest.blocks
            return explained or (idiom.name, loop.header, result) in self.wrong

        names = idiom.outermost, idiom.result
        constraint = expanded(idiom.constraint, idiom.depth)
        solver = Solver(self.relations, self.most)
        try:
            for solution in solver.unknown(constraint, names, is_known, given):
                begin, result = (str(solution[name]) for name in names)
                loop = self._largest[result] = self.relations.loop_at(begin)
                self.found.append((number, Found(idiom.name, loop, result, solution)))
        except TooManySteps:
            self.given_up.append(idiom.constraint)
        self.steps += solver.steps

    def searched(self) -> FunctionFinds:
        """What is kept of all that was found, the more special idioms first."""
        self.found.sort(key=lambda f: f[0])
        best = tuple(kept([f for _, f in self.found], self.relations))
        return FunctionFinds(best, self.steps, tuple(dict.fromkeys(self.given_up)), self)

    @uncollected()
    def without(self, wrong: Collection[Found]) -> FunctionFinds:
        """What is found where some finds are wrong, too."""
        self.wrong |= {f.key for f in wrong}
        again = dict.fromkeys(f.result for f in wrong)
        self.found = [(n, f) for n, f in self.found if f.result not in again]
        for result in again:
            self._largest.pop(result, None)
            for number, idiom in enumerate(sought()):
                self.take(number, idiom, {idiom.result: result})
        return self.searched()


def kept(everything: Sequence[Found], relations: Relations) -> Iterator[Found]:
    """One find for each result: the largest nest, then the most special idiom."""
    best: dict[object, Found] = {}
    for f in everything:
        key = _cell_of(f, relations)
        known = best.get(key)
        if known is None or _is_better(f, known, relations):
            best[key] = f
    in_loop: dict[str, list[Found]] = {}
    for f in best.values():
        in_loop.setdefault(f.loop.header, []).append(f)
    for f in best.values():
        around = relations.control.around(f.loop.header)
        others = (other for loop in around for other in in_loop.get(loop.header, ()))
        if not any(covers(other, f, relations) for other in others if other is not f):
            yield f


def _cell_of(f: Found, relations: Relations) -> object:
    """What a find is of: a value, or a cell, to which several stores of one loop may go."""
    store = relations.accesses.get(f.result)
    if store is None:
        return f.result
    loop = relations.control.loop_of.get(store.instruction.block)
    return store.base, store.index, store.type, loop.header if loop is not None else ""


def _is_better(f: Found, known: Found, relations: Relations) -> bool:
    """Whether a find of the same result is of a larger nest; or of a later store, where the idiom is the same."""
    if len(f.loop.blocks) != len(known.loop.blocks):
        return len(f.loop.blocks) > len(known.loop.blocks)
    if f.idiom != known.idiom or f.result == known.result:
        return False
    one, other = relations.instructions[f.result], relations.instructions[known.result]
    return one.position > other.position


def covers(outer: Found, inner: Found, relations: Relations) -> bool:
    """Whether a find explains another: the sum of a product's inner loop, the reduction in each row."""
    if _same_cells(outer, inner, relations) and inner.loop.blocks <= outer.loop.blocks:
        return _rank(outer.idiom) < _rank(inner.idiom)  # what the cells begin with
    if inner.loop == outer.loop:  # the running sum of a scan
        return outer.idiom == "scan" and inner.result in outer.solution.values()
    if not inner.loop.blocks < outer.loop.blocks:
        return False
    return inner.result in outer.solution.values() or _flows(inner.result, outer.result, relations)


def _same_cells(a: Found, b: Found, relations: Relations) -> bool:
    one, other = relations.accesses.get(a.result), relations.accesses.get(b.result)
    if one is None or other is None or one.base != other.base:
        return False
    return not relations.evolution.apart(one, other)


def _flows(value: str, result: str, relations: Relations) -> bool:
    """Whether a value goes into a result."""
    met, stack = set[str](), [result]
    while stack:
        at = stack.pop()
        i = relations.instructions.get(at)
        if at == value:
            return True
        if i is not None and at not in met:
            met.add(at)
            stack += i.operands
    return False
