"""C in, programs out: what is found in a file, what it means, under which conditions, and how far that is shown.

>>> from relift.compiler.idioms.lift import lift
>>> found = lift('''
... float total(int n, const float *x) {
...   float s = 0;
...   for (int i = 0; i < n; i++) s += x[i];
...   return s;
... }
... ''')
>>> print(found.idioms[0].lifted.program)
total(x: f32[n]) -> f32 =
  reduce(add, 0.0, x)
>>> found.idioms[0].evidence
Evidence(runs=100, difference=None, skipped=None)
>>> print(found.idioms[0].proof)
proved for all sizes, to the last bit (8 statements, Z3)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relift.compiler.idioms.containing import contained
from relift.compiler.idioms.drawing import Beside
from relift.compiler.idioms.evidence import RUNS, Evidence, evidence
from relift.compiler.idioms.execution import Compiled
from relift.compiler.idioms.facts.accesses import Access
from relift.compiler.idioms.facts.control import Control
from relift.compiler.idioms.facts.evolution import exact_quotients
from relift.compiler.idioms.facts.llvm.ir import Extent, Function, Module
from relift.compiler.idioms.facts.llvm.reading import module_of
from relift.compiler.idioms.facts.llvm.source import Uncompilable, bitcode, normal_form
from relift.compiler.idioms.facts.relations import Relations
from relift.compiler.idioms.facts.values.expressions import line_of
from relift.compiler.idioms.facts.values.terms import Opaque
from relift.compiler.idioms.finding import Found, FunctionFinds, covers, find, kept
from relift.compiler.idioms.lifting.effects import Dependent, effect_of, looked_up, written_beside
from relift.compiler.idioms.lifting.programs import Lifted, lifted
from relift.compiler.idioms.refusals import passed_over, refusal
from relift.files import temporary_folder
from relift.processes.collecting import uncollected
from relift.semantics.errors import bounded_depth
from relift.semantics.language.arguments import an_instance

if TYPE_CHECKING:
    from relift.compiler.idioms.proofs.equality import Proof


@dataclass(frozen=True)
class LiftedIdiom:
    """One idiom of a file: where it is, its program with conditions and evidence, or why there is none."""

    function: str
    idiom: str
    line: int
    extent: Extent | None
    found: Found
    relations: Relations
    lifted: Lifted | None
    evidence: Evidence
    reason: str | None = None
    others: tuple[Beside, ...] = ()
    """What the same loop does beside."""

    @cached_property
    def proof(self) -> Proof:
        """Whether the program is what the loops compute at every size, where the conditions hold."""
        from relift.compiler.idioms.proofs.equality import Proof, proof

        if self.lifted is None:
            return Proof(reason="there is no program")
        return proof(self.relations, self.found, self.lifted)

    @property
    def conditional(self) -> tuple[Access, ...]:
        """The accesses that the loop makes in some iterations only."""
        known, loop = self.relations, self.found.loop
        inside = [a for a in known.accesses.values() if a.instruction.block in loop.blocks]
        always = {
            (a.base, a.index, a.is_store) for a in inside if self._is_always(a.instruction.block)
        }
        return tuple(a for a in inside if (a.base, a.index, a.is_store) not in always)

    @property
    def under_conditions(self) -> tuple[str, ...]:
        """The accesses that the loop makes in some iterations, and the program in all, in words."""
        spelled = self.relations.evolution.spelled
        found = (
            f"{spelled(a.base)} is {'written' if a.is_store else 'read'} under a condition (line {a.instruction.line})"
            for a in self.conditional
        )
        return tuple(dict.fromkeys(found))

    def _is_always(self, block: str) -> bool:
        """Whether a block is run in each iteration of the loop that it is in."""
        control = self.relations.control
        return all(control.dominates(block, latch) for latch in control.loop_of[block].latches)

    @property
    def conditions(self) -> tuple[str, ...]:
        """What must hold for the program to mean the same, and is not shown here."""
        if self.lifted is None:
            return ()
        known = self.lifted
        lengths = tuple(f"{least} <= {self._in_c(str(size))}" for size, least in known.natural)
        whole = (
            f"nothing is left over in {self._in_c(str(q))}"
            for size in known.sizes.values()
            for q in exact_quotients(size)
        )
        everywhere = (f"all its cells are there: {one}" for one in self.under_conditions)
        wraps = sorted(self.relations.evolution.wraps.values())
        said = (
            *lengths,
            *whole,
            *(c.text for c in known.conditions),
            *self._looked_up(),
            *self._beside(),
            *everywhere,
            *wraps,
        )
        return tuple(dict.fromkeys(said))

    def _looked_up(self) -> Iterator[str]:
        """That nothing is written where the nest looks up lengths and pointers each time."""
        assert self.lifted is not None, "cannot happen: only a program has conditions"
        known, target = self.relations, self.lifted.target.value
        own = (target,) if known.function.type_of(target) == "ptr" else ()
        spelled = known.evolution.spelled
        for array, loop in looked_up(known, self.found.loop):
            written = (*own, *written_beside(known, loop, target))
            others = (w for w in written if w != array and array not in self.lifted.reads)
            yield from (f"{spelled(array)} and {spelled(w)} do not overlap" for w in others)

    def _beside(self) -> Iterator[str]:
        """That what the loop writes to other arrays is not what is read or written here."""
        assert self.lifted is not None, "cannot happen: only a program has conditions"
        spelled, target = self.relations.evolution.spelled, self.lifted.target.value
        own = dict.fromkeys(self.lifted.reads)
        if target in self.relations.function.arguments:
            own[target] = None
        for other in written_beside(self.relations, self.found.loop, target):
            yield from (
                f"{spelled(a)} and {spelled(other)} do not overlap" for a in own if a != other
            )

    def to_json(self) -> dict[str, Any]:
        """The idiom as JSON."""
        known = self.lifted
        return {
            "function": self.function,
            "idiom": self.idiom,
            "line": self.line,
            "program": None if known is None else str(known.program),
            "sizes": {} if known is None else {n: self.said(n) for n in known.sizes},
            "conditions": list(self.conditions),
            "evidence": {
                "runs": self.evidence.runs,
                "ok": self.evidence.ok,
                "said": str(self.evidence),
            },
            "proof": {
                "ok": self.proof.ok,
                "statements": self.proof.statements,
                "invariants": list(self.proof.invariants),
                "said": str(self.proof),
            },
            "reason": self.reason,
        }

    def said(self, size: str) -> str:
        """What a size is, as the C file would say it."""
        assert self.lifted is not None, "cannot happen: only a program has sizes"
        return self._in_c(str(self.lifted.sizes[size]))

    def _in_c(self, text: str) -> str:
        return _in_c(self.relations, text)


@dataclass(frozen=True)
class LiftedFile:
    """What is found in a file; `skipped` says of functions why nothing is looked for, or the search was given up."""

    file: str
    idioms: tuple[LiftedIdiom, ...]
    skipped: tuple[tuple[str, str], ...]
    steps: int
    module: Module

    @property
    def ok(self) -> bool:
        """Whether something is found, and no program is known to differ."""
        return bool(self.idioms) and not any(i.evidence.difference for i in self.idioms)

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON."""
        return {
            "file": self.file,
            "idioms": [i.to_json() for i in self.idioms],
            "skipped": [{"function": f, "reason": r} for f, r in self.skipped],
            "steps": self.steps,
        }


@bounded_depth("the C file")
def lift(
    source: str | Path,
    function: str | None = None,
    *,
    runs: int = RUNS,
    seed: int = 0,
    options: Sequence[str] = (),
) -> LiftedFile:
    """The idioms of a C file, or of C text, as programs.

    `function` names the one that is looked at; `runs` are the drawn inputs on which each program is compared with the
    compiled C, `options` are for the compiler.  Raises `Uncompilable` where a compiler is missing or refuses the file.
    """
    an_instance(source, (str, Path), "the C", "give its text, or the path of its file")
    if isinstance(source, str) and "\n" in source:
        with temporary_folder() as folder:
            file = folder / "text.c"
            file.write_text(source, encoding="utf-8")
            return lift(file, function, runs=runs, seed=seed, options=options)
    path = Path(source)
    code, module = graph_of(path, options)
    if function is not None and function not in module.functions:
        known = ", ".join(sorted(module.functions)) or "none"
        raise Uncompilable(f"{path}: there is no function {function}; it has: {known}")
    compiled = Compiled(code) if runs else None
    asked = [f for f in module.functions.values() if function in (None, f.name)]
    done = [lifted_function(f, module, compiled, runs, seed) for f in asked]
    return LiftedFile(
        str(path),
        tuple(i for f in done for i in f.idioms),
        tuple((f.name, reason) for f in done for reason in f.skipped),
        sum(f.steps for f in done),
        module,
    )


def graph_of(path: Path, options: Sequence[str] = ()) -> tuple[bytes, Module]:
    """What the compiler makes of a file, and its functions; raises `Uncompilable`."""
    code = bitcode(path, options=options)
    return code, module_of(normal_form(code), str(path))


@dataclass(frozen=True)
class LiftedFunction:
    """What is found in a function; `skipped` says why nothing is looked for, or what stands in the way."""

    name: str
    idioms: tuple[LiftedIdiom, ...]
    skipped: tuple[str, ...]
    steps: int


def lifted_function(
    f: Function, module: Module, compiled: Compiled | None = None, runs: int = 0, seed: int = 0
) -> LiftedFunction:
    """The idioms of one function, as programs; with the compiled file, each run on drawn inputs."""
    searched = search_of(f, module)
    if isinstance(searched, str):
        return LiftedFunction(f.name, (), (searched,), 0)
    relations, search = searched
    found, dependent = programs(f, relations, search)
    skipped = (
        *(f"the search for {n} was given up after its bound of steps" for n in search.given_up),
        *(
            f"the loop at line {line_of(relations.evolution, x.loop)} is no idiom: {why}"
            for x, why in dependent
        ),
        *_uncounted(relations),
        *passed_over(relations, [*(i.found for i in found), *(x for x, _ in dependent)]),
    )
    idioms = tuple(_with_evidence(found, compiled, runs, seed))
    return LiftedFunction(f.name, idioms, tuple(dict.fromkeys(skipped)), search.steps)


@uncollected()
def search_of(f: Function, module: Module) -> str | tuple[Relations, FunctionFinds]:
    """What is found in a function, or why nothing is looked for."""
    control = Control(f)
    reason = refusal(f, module, control)
    if reason is not None:
        return reason
    relations = Relations(f, module, control)
    return relations, find(relations)


def programs(
    f: Function, relations: Relations, search: FunctionFinds
) -> tuple[list[LiftedIdiom], list[tuple[Found, str]]]:
    """The finds with their programs; and those that are none, with the reason, whose places smaller ones take.

    What has no program as a whole makes place, too, where a part of it has one.
    """
    none: list[tuple[Found, str]] = []
    hollow: list[LiftedIdiom] = []
    known: dict[tuple[str, str, str], LiftedIdiom] = {}
    while True:
        wrong: list[Found] = []
        for one in search.found:
            if one.key in known:
                continue
            try:
                found = known[one.key] = _program(f, relations, one)
            except Dependent as reason:
                none.append((one, _in_c(relations, str(reason))))
                wrong.append(one)
                continue
            if found.lifted is None:
                hollow.append(found)
                wrong.append(one)
        if not wrong:
            break
        search = search.without(wrong)
    idioms = [known[one.key] for one in search.found]
    largest = list(kept([i.found for i in hollow], relations))
    for i in hollow:
        if any(_is_part(part.found, i.found, relations) for part in idioms if part.lifted):
            none.append((i.found, i.reason or ""))
        elif i.found in largest:
            idioms.append(i)
    return sorted(idioms, key=lambda i: i.line), none


def _in_c(relations: Relations, text: str) -> str:
    """A text with the values of the function called as the C file calls them."""
    evolution = relations.evolution
    loops = {str(loop.counter): loop for loop in evolution.control.loops.values()}

    def called(m: re.Match[str]) -> str:
        if (loop := loops.get(m[0])) is not None:
            return f"(iterations done of line {line_of(evolution, loop)})"
        return evolution.spelled(m[0])

    return re.sub(r"[%@$][\w.]+", called, text)


def _is_part(part: Found, whole: Found, relations: Relations) -> bool:
    """Whether a find is of the same result in fewer loops, or of what goes into it."""
    if part.result == whole.result:
        return part.loop.blocks < whole.loop.blocks
    return covers(whole, part, relations)


def _program(f: Function, relations: Relations, one: Found) -> LiftedIdiom:
    """A find with its program, or the reason why there is none; raises `Dependent`."""
    extent = next((f.extents[b] for b in one.loop.latches if b in f.extents), None)
    line = line_of(relations.evolution, one.loop)
    program, why = None, None
    try:
        effect = effect_of(relations, one.loop, one.result, one.idiom)
        program = lifted(effect, relations, f.name)
    except Dependent:
        raise
    except Opaque as reason:
        why = _in_c(relations, str(reason))
    none = Evidence(skipped="there is no program" if why else "no inputs were asked for")
    return LiftedIdiom(f.name, one.idiom, line, extent, one, relations, program, none, why)


def _with_evidence(
    found: Sequence[LiftedIdiom], compiled: Compiled | None, runs: int, seed: int
) -> Iterator[LiftedIdiom]:
    for i in found:
        others = tuple(
            Beside(other.found, other.lifted)
            for other in found
            if other is not i and other.lifted is not None and other.found.loop == i.found.loop
        )
        if compiled is None or i.lifted is None:
            yield replace(i, others=others)
            continue
        work = partial(
            evidence, i.relations, i.found, i.lifted, compiled, runs, seed, others=others
        )
        yield replace(i, evidence=contained(work), others=others)


def _uncounted(relations: Relations) -> Iterator[str]:
    """The loops that cannot be an idiom, by what they are; one that is shown to end may be part of one."""
    evolution = relations.evolution
    for loop in relations.control.loops.values():
        if evolution.trips(loop) is None and evolution.endings.get(loop.header) is None:
            leaving = [relations.function.blocks[b][-1] for b, _ in relations.control.exits(loop)]
            lines = sorted({i.line for i in leaving if i.line})
            where = f" (line{'s' * (len(lines) > 1)} {', '.join(map(str, lines))})" if lines else ""
            what = (
                "has several exits"
                if len({i.block for i in leaving}) > 1
                else "is not counted before it begins"
            )
            yield f"the loop at line {line_of(relations.evolution, loop)} {what}{where}"
