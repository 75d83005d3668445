"""Certificates: no access of a kernel leaves its array, no two work-items race, and what is read was written.

These kinds of statement are made for every kernel, by Z3 on its text, for all work-items and all turns of the loops:

    bounds      what is read or written lies in its array, and a vector that must be aligned is
    races       two work-items do not access one cell, one of them writing, where no barrier is between them:
                for local memory two of a group in one barrier interval, for global memory any two
    barriers    a barrier is reached by all work-items of a group or by none
    initialised what is read of memory that the kernels themselves fill was written before (see `coverage`)
    covered     every cell of an array that a kernel writes is written, never by two work-items
    values      the result is that of the interpreter (see `validation`)

A statement is *proved*, *refuted* by numbers of work-items and turns for which it fails, or *unknown*: Z3
gave up (see `effort`), the index depends on data, or the writes cannot be counted.  What is not proved, but found
to hold by running the text on symbols at some sizes, is *shown* at these sizes; values are never more than that.
Unknown is never a pass.

Arithmetic is that of C on numbers that do not overflow.  At concrete sizes, that no part of an index overflows
is part of its bounds; for all sizes it is assumed, and each launch refuses sizes that are too large (`spans`).
"""

from __future__ import annotations

import itertools
import json
import re
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeAlias

from relift.compiler.certificates.accesses import Accesses, Stop, accesses_of
from relift.compiler.certificates.coverage import NotCounted, covered, initialised, unassigned
from relift.compiler.certificates.effort import Effort
from relift.compiler.certificates.flows import Access, Fact, Meeting, Turn
from relift.compiler.certificates.work_items import Formula, Grid, WorkItem, monotone
from relift.compiler.codegen.values.indices import index_code
from relift.compiler.running.launch import Launched
from relift.compiler.text.expressions import in_c
from relift.compiler.text.lexing import NotUnderstood
from relift.compiler.text.reader import read_kernels
from relift.compiler.text.tree import Expression, Invocation, KernelText, Name, Whole, within
from relift.semantics.syntax.sizes import Size

COMMENT = "// certificate: "
"""What a summary in a kernel's source begins with."""

VERSION = 2
"""The version of the format of certificate.json."""

Kind: TypeAlias = Literal["bounds", "races", "barriers", "initialised", "covered", "values"]
Verdict: TypeAlias = Literal["proved", "shown", "refuted", "unknown"]

KINDS: tuple[Kind, ...] = ("bounds", "races", "barriers", "initialised", "covered", "values")
"""All kinds, in the order in which they are summed up."""


@dataclass(frozen=True)
class Claim:
    """One statement about a kernel, and what became of it.

    `detail` is a model, why nothing is known, or of what is only `shown` the sizes at which it is.
    """

    kind: Kind
    subject: str
    verdict: Verdict
    detail: str
    seconds: float

    def row(self) -> tuple[str, str, str, str]:
        """The columns of a table: kind, subject, verdict, seconds."""
        verdict = f"{self.verdict}: {self.detail}" if self.detail else self.verdict
        return self.kind, self.subject, verdict, f"{self.seconds:.2f} s"


@dataclass(frozen=True)
class Certificate:
    """All statements about one kernel; `sizes` says for which sizes they were made."""

    kernel: str
    sizes: str
    claims: tuple[Claim, ...]

    @property
    def ok(self) -> bool:
        """Whether everything was proved, or at least shown at some sizes."""
        return all(claim.verdict in ("proved", "shown") for claim in self.claims)

    @property
    def refuted(self) -> bool:
        """Whether anything was refuted."""
        return any(claim.verdict == "refuted" for claim in self.claims)

    def summary(self) -> str:
        """One line: `bounds: 12 of 12 proved, races: 7 of 7 proved; at these sizes`."""
        counts = []
        for kind in KINDS:
            of_kind = [claim.verdict for claim in self.claims if claim.kind == kind]
            shown = of_kind.count("shown")
            if kind == "values" and of_kind:
                counts.append(f"values: {', '.join(dict.fromkeys(of_kind))}")
            elif of_kind or kind in ("bounds", "races"):
                more = f", {shown} shown" if shown else ""
                counts.append(f"{kind}: {of_kind.count('proved')} of {len(of_kind)} proved{more}")
        at = dict.fromkeys(claim.detail for claim in self.claims if claim.verdict == "shown")
        return "; ".join([", ".join(counts), self.sizes, *(f"shown {sizes}" for sizes in at)])

    def text(self) -> str:
        """The kernel, a table of its claims, and the summary."""
        rows = [claim.row() for claim in self.claims]
        widths = [max((len(row[i]) for row in rows), default=0) for i in range(4)]
        table = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        return "\n".join([self.kernel, *(f"  {line}" for line in table), f"  {self.summary()}"])

    def to_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return {"ok": self.ok, "summary": self.summary(), **asdict(self)}


def certificates(
    compiled: Launched, *, effort: Effort | None = None, written: bool = True
) -> tuple[Certificate, ...]:
    """The certificates of all kernels of a compiled program, from its source and its launch.

    A kernel whose text is not understood gets one statement of each kind, unknown.  What was `written`
    is claimed unless that is declined, and nothing of it is ever refuted.

    >>> from relift.compiler.program import compile_program
    >>> @program
    ... def double(x: f32[1024]):
    ...     return map_glb(0)(lambda v: v + v, x)
    >>> print(certificates(compile_program(double))[0].summary())
    bounds: 2 of 2 proved, races: 1 of 1 proved, covered: 1 of 1 proved; at these sizes
    """
    cells = {b.name: index_code(b.cells) for b in compiled.plan.buffers}
    found = []
    effort = effort or Effort()
    try:
        texts = {k.name: k for k in read_kernels(compiled.source)}
    except NotUnderstood as error:
        return tuple(_not_understood(k.name, error) for k in compiled.plan.kernels)
    full = {b.name for b in compiled.plan.buffers if b.role not in ("temporary", "output")}
    for k in compiled.plan.kernels:
        sizes = dict(compiled.plan.sizes)
        groups: list[Expression] = []
        local: list[Expression] = []
        cut: set[int] = set()
        for d, (n, m) in enumerate(zip(k.total, k.local, strict=True)):
            local.append(Whole(m))
            if d in k.turns:  # right for any number of groups
                name = next(
                    g for i in itertools.count() if (g := f"groups_{d + 3 * i}") not in sizes
                )
                sizes[name] = 1
                groups.append(Name(name))
            elif (whole := n.divided_by(Size.of(m))) is not None:
                groups.append(index_code(whole))
            else:
                groups.append(index_code(n))
                local[d] = Whole(1)
                cut.add(d)
        grid = Grid(tuple(groups), tuple(local), frozenset(cut))
        try:
            made = certify(
                texts[k.name], cells, grid, sizes, effort=effort, full=full if written else None
            )
        except KeyError:
            made = _not_understood(k.name, NotUnderstood("a source without this kernel"))
        found.append(made)
        full |= {c.subject for c in made.claims if (c.kind, c.verdict) == ("covered", "proved")}
    return tuple(found)


def certify(
    kernel: KernelText,
    cells: Mapping[str, Expression],
    grid: Grid,
    sizes: Mapping[str, int] | None = None,
    *,
    effort: Effort | None = None,
    full: Collection[str] | None = None,
) -> Certificate:
    """The certificate of one kernel, for all values of `sizes` that are at least the given ones.

    Sizes may occur in the kernel as constants, in the numbers of cells, and in the grid.  Where it is told which
    buffers are `full` when the kernel starts, it also says whether what is read was written, and all is written.

    >>> [kernel] = read_kernels("kernel void f(global float* out) { out[get_global_id(0)] = 0.0f; }")
    >>> from relift.compiler.text.reader import read_expression
    >>> n = read_expression("n")
    >>> certify(kernel, {"out": n}, Grid((n,), (Whole(1),)), {"n": 1}).summary()
    'bounds: 1 of 1 proved, races: 1 of 1 proved; all sizes'
    """
    sizes = sizes or {}
    try:
        found = accesses_of(kernel, cells, sizes)
    except NotUnderstood as error:
        return _not_understood(kernel.name, error)
    if asked := _of_groups(found, grid.cut):
        return _not_understood(kernel.name, NotUnderstood(f"{asked} in groups of several sizes"))
    prover = _Prover(found, grid, sizes, effort or Effort())
    claims = [
        *map(prover.bounds, found.all),
        *prover.global_races(),
        *prover.local_races(),
        *map(prover.reached, found.stops),
    ]
    if full is not None:
        claims += _written_claims(kernel, prover, claims, full)
    return Certificate(kernel.name, "all sizes" if sizes else "at these sizes", tuple(claims))


def _written_claims(
    kernel: KernelText, prover: _Prover, claims: Sequence[Claim], full: Collection[str]
) -> list[Claim]:
    """Whether what is read was written before, and every cell of what is written is."""
    start = time.perf_counter()
    found: list[Claim] = []

    def add(kind: Kind, subject: str, missing: str) -> None:
        nonlocal start
        verdict: Verdict = "unknown" if missing else "proved"
        now = time.perf_counter()
        found.append(Claim(kind, subject, verdict, missing, now - start))
        start = now

    if variables := unassigned(kernel):
        add("initialised", "variables", f"{', '.join(variables)} may be read before it is assigned")
    accesses = prover.found.all

    def held(name: str) -> bool:
        """Whether all accesses of an array are in bounds and do not race."""
        said = re.compile(rf"\b{re.escape(name)}\[")
        return all(c.verdict == "proved" for c in claims if said.search(c.subject))

    for array in dict.fromkeys(a.array for a in accesses):
        own = [a for a in accesses if a.array == array]
        reads = [a for a in own if a.kind == "read"]
        writes = [a for a in own if a.kind == "write"]
        is_global = array.type.space == "global"
        if reads and array.name not in full:
            before = own[: own.index(reads[0])]
            add(
                "initialised",
                array.name,
                _initialised(prover, reads, before, held=held(array.name)),
            )
        if writes and is_global:
            add("covered", array.name, _covered(prover, writes, held=held(array.name)))
    return found


def _initialised(
    prover: _Prover, reads: Sequence[Access], before: Sequence[Access], *, held: bool
) -> str:
    """Why it is not known that all that is read of an array was written; nothing where it is."""
    if reads[0].array.type.space == "global":
        return f"{reads[0].array.name} is not known to be written before"
    if not held:
        return "it rests on bounds and races that are not proved"
    places: dict[Any, list[Access]] = {}
    for r in reads:
        places.setdefault(r.place, []).append(r)
    try:
        for own in places.values():
            initialised(prover, own, before)
    except NotCounted as error:
        return str(error)
    return ""


def _covered(prover: _Prover, writes: Sequence[Access], *, held: bool) -> str:
    """Why it is not known that every cell of an array is written; nothing where it is."""
    if not held:
        return "it rests on bounds and races that are not proved"
    try:
        covered(prover, writes, writes[0].array.cells)
    except NotCounted as error:
        return str(error)
    return ""


def certificate_json(found: Sequence[Certificate]) -> str:
    """The text of certificate.json."""
    data = {"version": VERSION, "certificates": [c.to_json() for c in found]}
    return json.dumps(data, indent=1) + "\n"


def annotated(source: str, found: Sequence[Certificate]) -> str:
    """The source with the summary of each certificate in a comment above its kernel, instead of an older one."""
    lines = [line for line in source.split("\n") if not line.startswith(COMMENT)]
    for c in found:
        for start, line in enumerate(lines):
            if line.startswith(f"kernel void {c.kernel}("):
                attribute = start > 0 and lines[start - 1].startswith("__attribute__")
                lines.insert(start - attribute, f"{COMMENT}{c.summary()}")
                break
    return "\n".join(lines)


def _not_understood(kernel: str, error: NotUnderstood) -> Certificate:
    detail = f"the kernel has {error}, which is not understood"
    kinds: tuple[Kind, ...] = ("bounds", "races", "barriers")
    return Certificate(
        kernel,
        "at these sizes",
        tuple(Claim(kind, "the whole kernel", "unknown", detail, 0.0) for kind in kinds),
    )


LARGEST = {"int": 2**31 - 1, "long": 2**63 - 1}
"""The largest numbers of the types of indices."""


class _Prover:
    """Z3, asked about two work-items of one kernel."""

    def __init__(
        self, found: Accesses, grid: Grid, sizes: Mapping[str, int], effort: Effort
    ) -> None:
        self.found = found
        self.sizes = sizes
        self.effort = effort
        self.grid = replace(grid, flat=not any(_mentions_groups(access) for access in found.all))

    def item(self, mark: str = "", group: str = "") -> WorkItem:
        """A work-item of this kernel."""
        return WorkItem(self.grid, self.sizes, self.found.whole, mark, group)

    # ---- bounds

    def bounds(self, access: Access) -> Claim:
        """The access lies in its array, and is aligned if it must be."""
        import z3

        one = self.item()
        one.enter(access.place)
        offset, cells = one.number(access.offset), one.number(access.array.cells)
        wrong = {"": z3.Or(offset < 0, offset + access.width > cells)}
        if access.aligned:
            wrong["not aligned at "] = offset % access.width != 0
        if not self.sizes:
            largest = LARGEST["long" if self.found.wide else "int"]
            wrong["an index overflows at "] = z3.Or(
                [z3.Or(t < -largest, t > largest) for t in one.terms]
            )
        return self.claim("bounds", str(access), wrong, one, sure=access.sure)

    # ---- races

    def global_races(self) -> list[Claim]:
        """No two work-items write, or write and read, one cell of global memory."""
        shared = [
            a for a in self.found.all if a.array.type.space == "global" and not a.array.constant
        ]
        bundles = _bundled(shared)
        return [
            self.race(a, b, self.item(), self.item("'", "'"))
            for a, b in itertools.combinations_with_replacement(bundles, 2)
            if a[0].array == b[0].array and "write" in (a[0].kind, b[0].kind)
        ]

    def local_races(self) -> list[Claim]:
        """No two work-items of a group do so in local memory with no barrier between them."""
        found = []
        for meeting in self.found.meetings:
            one, other = self.item(), self.item("'")
            left, right = meeting.left.access, meeting.right.access
            found.append(self.race((left,), (right,), one, other, meeting))
        return found

    def race(
        self,
        left: tuple[Access, ...],
        right: tuple[Access, ...],
        one: WorkItem,
        other: WorkItem,
        meeting: Meeting | None = None,
    ) -> Claim:
        """No cell is accessed by one of the left accesses and, by another work-item, by one of the right."""
        import z3

        one.enter(left[0].place)
        other.enter(right[0].place)
        if meeting is not None:
            one.facts += _meeting_facts(meeting, one, other)
        cell = z3.Int("cell")
        both = [
            z3.Or([z3.And(start <= cell, cell < start + a.width) for a, start in starts])
            for starts in (
                [(a, one.number(a.offset)) for a in left],
                [(b, other.number(b.offset)) for b in right],
            )
        ]
        different = z3.Or([v != other.ids[name] for name, v in one.ids.items()])
        subject = _together(left) if left == right else f"{_together(left)} / {_together(right)}"
        sure = meeting.sure if meeting is not None else all(a.sure for a in (*left, *right))
        return self.claim("races", subject, {"": z3.And(different, *both)}, one, other, sure=sure)

    # ---- barriers

    def reached(self, stop: Stop) -> Claim:
        """All work-items of a group stand in the same turns and under the same conditions.

        Where a condition depends on the work-item, one that reaches the barrier and one of its group that turns off
        at that condition refute it.
        """
        import z3

        subject = "reached by the whole group"
        if not stop.differing:
            return Claim("barriers", subject, "proved", "", 0.0)
        unknown = "in a loop or a condition that depends on the work-item"
        first = stop.place.index(stop.differing[0])
        together, rest = stop.place[:first], stop.place[first:]
        if isinstance(rest[0], Turn) or not stop.sure:
            return Claim("barriers", subject, "unknown", unknown, 0.0)
        one, other = self.item(), self.item("'")
        one.enter(stop.place)
        other.enter(together)
        one.facts += [
            one.counter(w.counter) == other.counter(w.counter)
            for w in together
            if isinstance(w, Turn)
        ]
        conditions = list(itertools.takewhile(lambda w: isinstance(w, Fact), rest))
        truths = [other.truth(w.condition) for w in conditions if isinstance(w, Fact)]
        off = {"": z3.Or([z3.And(*truths[:k], z3.Not(t)) for k, t in enumerate(truths)])}
        said = self.claim("barriers", subject, off, one, other, sure=True)
        if said.verdict == "refuted" or (said.verdict == "proved" and len(conditions) == len(rest)):
            return said
        return replace(said, verdict="unknown", detail=unknown)

    # ---- Z3

    def impossible(self, wrong: Formula, *items: WorkItem) -> bool:
        """Whether Z3 shows that something cannot be."""
        import z3

        solver = z3.Solver()
        for item in items:
            solver.add(*item.facts)
        solver.add(*monotone(items), wrong)
        return bool(self.effort.check(solver) == z3.unsat)

    def claim(
        self,
        kind: Kind,
        subject: str,
        wrong: Mapping[str, Formula],
        *items: WorkItem,
        sure: bool,
    ) -> Claim:
        """What Z3 says about the absence of all that is `wrong`, each with the words for it.

        Only where the accesses are made for `sure`, whenever what is known of them holds, is a model a refutation.
        """
        import z3

        start = time.perf_counter()
        solver = z3.Solver()
        for item in items:
            solver.add(*item.facts)
        solver.add(*monotone(items), z3.Or(list(wrong.values())))
        answer = self.effort.check(solver)
        verdict: Verdict = "proved"
        detail = ""
        if answer == z3.sat and any(item.data for item in items):
            verdict, detail = "unknown", "the index depends on data"
        elif answer == z3.sat and not sure:
            verdict, detail = "unknown", "it depends on a condition that is not known"
        elif answer == z3.sat:
            model = solver.model()
            words = next(w for w, f in wrong.items() if z3.is_true(model.eval(f, True)))
            verdict, detail = "refuted", words + _model_text(model, items)
        elif answer != z3.unsat:
            verdict, detail = "unknown", self.effort.why
        return Claim(kind, subject, verdict, detail, time.perf_counter() - start)


def _meeting_facts(m: Meeting, one: WorkItem, other: WorkItem) -> list[Formula]:
    """In which turns of the loops around two accesses meet."""
    turns = {w.counter: w for w in m.left.access.place if isinstance(w, Turn)}
    facts = [one.counter(name) == other.counter(name) for name in m.same]
    if m.follows is not None:
        step = one.number(turns[m.follows].stride)
        facts.append(other.counter(m.follows) == one.counter(m.follows) + step)
    if m.later is not None:
        step = one.number(turns[m.later].stride)
        facts.append(other.counter(m.later) > one.counter(m.later) + step)
    for point, item in ((m.left, one), (m.right, other)):
        turns = {w.counter: w for w in point.access.place if isinstance(w, Turn)}
        facts += map(item.truth, point.way.conditions)
        for name in point.first:
            facts.append(item.counter(name) == item.number(turns[name].start))
        for name in point.last:
            step, end = item.number(turns[name].stride), item.number(turns[name].end)
            facts.append(item.counter(name) + step >= end)
    return facts


def _bundled(accesses: Sequence[Access]) -> list[tuple[Access, ...]]:
    """Accesses of one kind to one array in one place, together."""
    found: dict[Any, list[Access]] = {}
    for a in accesses:
        found.setdefault((a.array, a.kind, a.place), []).append(a)
    return [tuple(bundle) for bundle in found.values()]


def _together(bundle: Sequence[Access]) -> str:
    more = f" and {len(bundle) - 1} like it" if len(bundle) > 1 else ""
    return f"{bundle[0]}{more}"


def _mentions_groups(access: Access) -> bool:
    return access.array.type.space == "local" or any(
        u.function in ("get_group_id", "get_local_id") for u in _invocations(access)
    )


def _of_groups(found: Accesses, cut: frozenset[int]) -> str | None:
    """A number of groups, or of a place in one, where a launch has groups of several sizes."""
    asked = (
        in_c(u)
        for access in found.all
        for u in _invocations(access)
        if u.function.startswith("get_") and u.function != "get_global_id"
        if any(u.arguments == (Whole(d),) for d in cut)
    )
    return next(asked, None)


def _invocations(access: Access) -> Iterator[Invocation]:
    """The functions of OpenCL on which depends where an access is made."""
    expressions = [access.offset]
    for w in access.place:
        expressions += [w.start, w.end, w.step] if isinstance(w, Turn) else [w.condition]
    return (u for e in expressions for u in within(e) if isinstance(u, Invocation))


def _model_text(model: Any, items: Sequence[WorkItem]) -> str:
    """Sizes, numbers of work-items and turns: `n = 2, glb_0 = 1, glb_0' = 0`."""
    values = {name: v for item in items for name, v in item.shown.items()}
    return ", ".join(
        f"{re.sub('#[0-9]+', '', name)} = {model.eval(v, model_completion=True)}"
        for name, v in values.items()
    )
