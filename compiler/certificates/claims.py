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
is part of its bounds; for all sizes it is assumed, and each launch refuses sizes that are too large (`overflow`).
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from relift.compiler.certificates.accesses import Accesses, accesses_of
from relift.compiler.certificates.certificate import (
    Certificate,
    Claim,
    Kind,
    Verdict,
    not_understood,
)
from relift.compiler.certificates.counting.coverage import covered, initialised, unassigned
from relift.compiler.certificates.counting.instances import NotCounted
from relift.compiler.certificates.effort import Effort
from relift.compiler.certificates.flows import Access, Iteration, advances
from relift.compiler.certificates.given import Misfit, given, vectors_of
from relift.compiler.certificates.prover import Prover, invocations
from relift.compiler.certificates.work_items import Grid
from relift.compiler.codegen.values.indices import index_code
from relift.compiler.running.launch import Buffer, Kernel, Launched
from relift.compiler.text.expressions import in_c
from relift.compiler.text.lexing import NotUnderstood
from relift.compiler.text.reader import read_kernels
from relift.compiler.text.tree import Declaration, Expression, KernelText, Name, Whole
from relift.compiler.text.turned_back import turned_back
from relift.semantics.syntax.sizes import Size


def certificates(
    compiled: Launched,
    *,
    effort: Effort | None = None,
    written: bool = True,
    known: Sequence[Certificate] = (),
) -> tuple[Certificate, ...]:
    """The certificates of all kernels of a compiled program, from its source and its launch.

    A kernel whose text is not understood gets one statement of each kind, unknown.  What was `written`
    is claimed unless that is declined, and nothing of it is ever refuted.  What is `known` without it is not asked
    again of a kernel of which nothing is unknown.

    >>> from relift import f32, map_glb, program
    >>> from relift.compiler.certificates.claims import certificates
    >>> from relift.compiler.program import compile_program
    >>> @program
    ... def double(x: f32[1024]):
    ...     return map_glb(0)(lambda v: v + v, x)
    >>> print(certificates(compile_program(double))[0].summary())
    bounds: 2 of 2 proved, races: 1 of 1 proved, covered: 1 of 1 proved; at these sizes
    """
    buffers = {b.name: b for b in compiled.plan.buffers}
    found: list[Certificate] = []
    effort = effort or Effort()
    try:
        texts = {k.name: k for k in read_kernels(compiled.source)}
    except NotUnderstood as error:
        return tuple(not_understood(k.name, error) for k in compiled.plan.different)
    earlier = {c.kernel: c for c in known if all(claim.verdict != "unknown" for claim in c.claims)}
    full = {b.name for b in compiled.plan.buffers if b.role not in ("temporary", "output")}
    # one that is launched again finds no less in its buffers than before
    for k in compiled.plan.different:
        grid, sizes = _grid(k, compiled.plan.sizes)
        if k.name not in texts:
            found.append(not_understood(k.name, NotUnderstood("a source without this kernel")))
            continue
        try:
            names = _names(texts[k.name], k, buffers)
        except Misfit as error:
            found.append(_misfit(k.name, error))
            continue
        own = _cells(texts[k.name], {name: buffers[b] for name, b in names.items()})
        filled = {name for name, b in names.items() if b in full}
        made = certify(
            texts[k.name],
            own,
            grid,
            sizes,
            effort=effort,
            full=filled if written else None,
            known=earlier.get(k.name),
        )
        found.append(made)
        full |= {
            names[c.subject] for c in made.claims if (c.kind, c.verdict) == ("covered", "proved")
        }
    return tuple(found)


def _grid(k: Kernel, known: Mapping[str, int]) -> tuple[Grid, dict[str, int]]:
    """The groups of a launch, and the sizes on which they depend."""
    sizes = dict(known)
    groups: list[Expression] = []
    local: list[Expression] = []
    cut: set[int] = set()
    for d, (n, m) in enumerate(zip(k.total, k.local, strict=True)):
        local.append(Whole(m))
        if d in k.turns:  # right for any number of groups
            name = next(g for i in itertools.count() if (g := f"groups_{d + 3 * i}") not in sizes)
            sizes[name] = 1
            groups.append(Name(name))
        elif (whole := n.divided_by(Size.of(m))) is not None:
            groups.append(index_code(whole))
        else:
            groups.append(index_code(n))
            local[d] = Whole(1)
            cut.add(d)
    return Grid(tuple(groups), tuple(local), frozenset(cut)), sizes


def _names(text: KernelText, k: Kernel, buffers: Mapping[str, Buffer]) -> dict[str, str]:
    """Which buffer each parameter is; raises `Misfit`, also where a size is meant by the name of another."""
    found = {name: b.name for name, b in given(text, k, buffers).items()}
    for name, buffer in found.items():
        roles = {buffers[b].role for b in (name, buffer) if b in buffers}
        if name != buffer and "size" in roles:
            raise Misfit(f"{text.name} takes {name}, it is given the size {buffer}")
    return found


def _cells(text: KernelText, given: Mapping[str, Buffer]) -> dict[str, Expression]:
    """How many elements each parameter has: cells of its buffer, or vectors of them."""
    counts = {p.name: vectors_of(given[p.name], p.type.width) for p in text.parameters}
    return {name: index_code(count) for name, count in counts.items() if count is not None}


def _misfit(kernel: str, error: Misfit) -> Certificate:
    """What does not fit its launch is refuted; what may be meant is unknown."""
    if not error.wrong:
        return not_understood(kernel, NotUnderstood(error.message))
    claim = Claim("bounds", "the launch", "refuted", error.message, 0.0)
    return Certificate(kernel, "at these sizes", (claim,))


def certify(
    kernel: KernelText,
    cells: Mapping[str, Expression],
    grid: Grid,
    sizes: Mapping[str, int] | None = None,
    *,
    effort: Effort | None = None,
    full: Collection[str] | None = None,
    known: Certificate | None = None,
) -> Certificate:
    """The certificate of one kernel, for all values of `sizes` that are at least the given ones.

    Sizes may occur in the kernel as constants, in the numbers of cells, and in the grid.  Where it is told which
    buffers are `full` when the kernel starts, it also says whether what is read was written, and all is written.
    What is `known` of bounds, races and barriers is not asked again.

    >>> from relift.compiler.certificates.claims import certify
    >>> from relift.compiler.certificates.work_items import Grid
    >>> from relift.compiler.text.reader import read_kernels
    >>> from relift.compiler.text.tree import Whole
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
        return not_understood(kernel.name, error)
    if back := _not_forwards(found, sizes):
        return not_understood(kernel.name, NotUnderstood(back))
    if asked := _of_groups(found, grid.cut):
        return not_understood(kernel.name, NotUnderstood(f"{asked} in groups of several sizes"))
    prover = Prover(found, grid, sizes, effort or Effort())
    claims = list(known.claims) if known is not None else _consulted_claims(prover)
    if full is not None:
        claims += _written_claims(kernel, prover, claims, full)
        claims = _of_halves(claims, kernel, cells, grid, sizes, prover.effort, full)
    return Certificate(kernel.name, "all sizes" if sizes else "at these sizes", tuple(claims))


def _consulted_claims(prover: Prover) -> list[Claim]:
    """What can be refuted: bounds, races and barriers."""
    return [
        *map(prover.bounds, prover.found.all),
        *prover.global_races(),
        *prover.local_races(),
        *map(prover.reached, prover.found.stops),
    ]


def _of_halves(
    claims: Sequence[Claim],
    kernel: KernelText,
    cells: Mapping[str, Expression],
    grid: Grid,
    sizes: Mapping[str, int],
    effort: Effort,
    full: Collection[str],
) -> list[Claim]:
    """The claims, where those on local arrays whose halves take turns are those of the loop that does not fetch ahead.

    What a turn reads there is what the turn before it has stored: in that loop, what the same turn has stored.
    """
    back = turned_back(kernel)
    if back == kernel:
        return list(claims)
    whole = set(kernel.body)
    halved = {s.name for s in back.body if isinstance(s, Declaration) and s not in whole}
    known = {
        c.subject: c
        for c in certify(back, cells, grid, sizes, effort=effort, full=full).claims
        if c.kind == "initialised" and c.subject in halved
    }
    return [known.get(c.subject, c) if c.kind == "initialised" else c for c in claims]


def _written_claims(
    kernel: KernelText, prover: Prover, claims: Sequence[Claim], full: Collection[str]
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
        return all(c.verdict == "proved" for c in claims if name in (*c.reads, *c.writes))

    for array in dict.fromkeys(a.array for a in accesses):
        own = [a for a in accesses if a.array == array]
        reads = [a for a in own if a.kind != "write"]  # an update is of a value that is there
        writes = [a for a in own if a.kind == "write"]
        is_global = array.type.space.of_device
        if reads and array.name not in full and not array.type.space.of_kernel:
            missing = _initialised(prover, own, held=held(array.name))
            add("initialised", array.name, missing)
        if writes and is_global:
            add("covered", array.name, _covered(prover, writes, held=held(array.name)))
    return found


def _initialised(prover: Prover, own: Sequence[Access], *, held: bool) -> str:
    """Why it is not known that all that is read of an array was written; nothing where it is.

    `own`: its accesses, as they stand in the text.
    """
    if own[0].array.type.space.of_device:
        return f"{own[0].array.name} is not known to be written before"
    if not held:
        return "it rests on bounds and races that are not proved"
    fillings: list[list[Access]] = []
    together: dict[Any, list[Access]] = {}
    for writes, run in itertools.groupby(own, lambda a: a.kind == "write"):
        if writes:  # an array that was read between is filled anew, for other values
            fillings.append(list(run))
            continue
        for r in run:
            together.setdefault((r.place, len(fillings)), []).append(r)
    missing = (
        _not_filled(prover, reads, fillings[:count] or [[]])
        for (_, count), reads in together.items()
    )
    return next(filter(None, missing), "")


def _not_filled(
    prover: Prover, reads: Sequence[Access], fillings: Sequence[Sequence[Access]]
) -> str:
    """Why no filling of an array is known to hold what is read in one place, as said of the first."""
    said: list[str] = []
    for writes in fillings:
        try:
            initialised(prover, reads, writes)
        except NotCounted as error:
            said.append(str(error))
        else:
            return ""
    return said[0]


def _covered(prover: Prover, writes: Sequence[Access], *, held: bool) -> str:
    """Why it is not known that every cell of an array is written; nothing where it is."""
    if not held:
        return "it rests on bounds and races that are not proved"
    try:
        covered(prover, writes, writes[0].array.cells)
    except NotCounted as error:
        return str(error)
    return ""


def _not_forwards(found: Accesses, sizes: Mapping[str, int]) -> str | None:
    """A loop that may go backwards, or stand still."""
    around = itertools.chain(*(a.place for a in found.all), *(s.place for s in found.stops))
    return next(
        (
            f"a loop by {in_c(w.step)}, which is not known to be above 0"
            for w in around
            if isinstance(w, Iteration) and not advances(w.step, sizes)
        ),
        None,
    )


def _of_groups(found: Accesses, cut: frozenset[int]) -> str | None:
    """What depends on who is in a group, where a launch has groups of several sizes."""
    if not cut:
        return None
    own = (f"local memory ({a.array.name})" for a in found.all if a.array.type.space.of_group)
    asked = (
        in_c(u)
        for place, offset, told in (
            *((a.place, a.offset, {"get_global_id"}) for a in found.all),
            *((s.differing, Whole(0), set[str]()) for s in found.stops),
        )
        for u in invocations(place, offset)
        if u.function.startswith("get_") and u.function not in told
        if any(u.arguments == (Whole(d),) for d in cut)
    )
    return next(itertools.chain(own, asked), None)
