"""A C file with calls of kernels in the place of loops, each guarded: where the guard fails, the loop that was there runs.

Two files are written.  In the first, `if (relift_f_12(…)) {} else` stands before a loop; the second holds those functions: they check
the conditions that can be checked, run the kernel into memory of its own, and copy the result to where the loop puts it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

from relift.compiler.dialects.c.printer import C, entry
from relift.compiler.idioms.facts.control import Loop
from relift.compiler.idioms.facts.llvm.ir import Extent
from relift.compiler.idioms.facts.llvm.layout import width_of
from relift.compiler.idioms.facts.names import Counter
from relift.compiler.idioms.facts.relations import Relations
from relift.compiler.idioms.facts.values.terms import Opaque
from relift.compiler.idioms.lift import LiftedFile, LiftedIdiom
from relift.compiler.idioms.lifting.programs import Lifted
from relift.compiler.idioms.replacement.blas import routine
from relift.compiler.idioms.replacement.counting import FIELDS_APART, counted_apart, counting
from relift.compiler.idioms.replacement.guarded import (
    SERVICES,
    Guarded,
    computed_apart,
    element_of,
    kernel_lines,
    stored,
    together,
    wrapper,
)
from relift.compiler.idioms.replacement.inspecting import Inspection, inspection
from relift.compiler.idioms.replacement.lowered import lowered
from relift.compiler.idioms.replacement.offloading import (
    Offloaded,
    counted_on_device,
    function_of,
    host_library,
    offloaded,
)
from relift.compiler.idioms.replacement.passing import passed
from relift.compiler.idioms.replacement.ranges import fitting, range_checks
from relift.compiler.idioms.replacement.sparse_calls import sparse_routine
from relift.compiler.idioms.replacement.spelling import (
    C_TYPES,
    Kept,
    is_length,
    letter,
    names_in,
    place_of,
)
from relift.compiler.idioms.replacement.standing import Standing
from relift.compiler.program import kernels_of
from relift.compiler.running.launch import Launch
from relift.compiler.text.tree import Source
from relift.semantics.errors import ReliftError
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.types import Scalar

Calls: TypeAlias = Literal["kernels", "blas", "opencl", "sparse"]
CALLS: dict[str, Calls] = {c: c for c in get_args(Calls)}

KERNEL, DEVICE = "C by threads", "OpenCL"
"""What does the work of a call, in words."""


@dataclass(frozen=True)
class Replacement:
    """The two files, what is replaced in them by which function, and what is not and why."""

    text: str
    kernels: str
    replaced: tuple[tuple[LiftedIdiom, str], ...]
    kept: tuple[tuple[LiftedIdiom, str], ...]
    ways: Mapping[str, str]
    """By function, what does its work."""


def replacement(found: LiftedFile, text: str, calls_of: Calls = "kernels") -> Replacement:
    """The file with its loops replaced where that can be done; by a BLAS or on a device, where that is asked for and does it."""
    done: list[tuple[LiftedIdiom, str]] = []
    kept: list[tuple[LiftedIdiom, str]] = []
    calls: list[_Call] = []
    used = [i for i in found.idioms if not i.relations.is_unused(i.found.result, i.found.loop)]
    kept += [(i, "nothing uses what it computes") for i in found.idioms if i not in used]
    whole = _together(used, text, calls_of)
    for idiom in used:
        if (idiom.function, idiom.found.result) in whole:
            call = whole[idiom.function, idiom.found.result]
        else:
            try:
                call = _call(idiom, text, [c.place for c in calls], calls_of)
            except (Kept, Opaque, ReliftError) as reason:
                kept.append((idiom, _reason(reason)))
                continue
        if call not in calls:
            calls.append(call)
        done.append((idiom, call.name))
    lines = text.split("\n")
    for call in sorted(calls, key=lambda c: c.place, reverse=True):
        line, column = call.place
        at = lines[line - 1].encode()
        before, after = at[: column - 1].decode(), at[column - 1 :].decode()
        lines[line - 1] = f"{before}if ({call.name}({call.arguments})) {{}} else {after}"
    prototypes = "".join(f" {c.prototype};" for c in calls)
    head = f"/* with calls of {len(calls)} kernels, which a second file defines */{prototypes}\n#line 1\n"
    ways = {c.name: c.way for c in calls}
    return Replacement(head + "\n".join(lines), _kernels(calls), tuple(done), tuple(kept), ways)


# ---- what can be replaced


def _reason(error: Kept | Opaque | ReliftError) -> str:
    return f"no kernel: {error.message}" if isinstance(error, ReliftError) else str(error)


@dataclass(frozen=True, eq=False)
class _Call:
    name: str
    place: tuple[int, int]
    arguments: str
    prototype: str
    body: str
    sources: tuple[Source, ...] = ()
    declared: str = ""
    way: str = KERNEL
    on_device: tuple[str, ...] = ()
    """What holds the kernels of a device."""

    def of_device(self, done: Offloaded) -> _Call:
        """The call, where a device does the work, or part of it."""
        return replace(self, way=DEVICE, on_device=(*self.on_device, done.definition))


@dataclass(frozen=True)
class _Shown:
    """An idiom whose program is shown to be what its loop does, and where that stands."""

    idiom: LiftedIdiom
    lifted: Lifted
    extent: Extent
    standing: Standing

    @property
    def kernel(self) -> str:
        """What the kernel is called that stands for the loop."""
        return f"{self.idiom.function}_{self.extent.line}_{self.extent.column}"

    @property
    def name(self) -> str:
        """The function that stands for the loop."""
        return function_of(self.kernel)

    @property
    def scalar(self) -> bool:
        """Whether the result is a variable."""
        return self.idiom.relations.function.type_of(self.lifted.target.value) != "ptr"

    @property
    def place(self) -> tuple[int, int]:
        """Line and column."""
        return self.extent.line, self.extent.column


def _shown(idiom: LiftedIdiom, text: str) -> _Shown:
    """What is known of an idiom that may be replaced; raises `Kept`."""
    lifted, extent = idiom.lifted, idiom.extent
    if lifted is None:
        raise Kept(idiom.reason or "there is no program")
    if lifted.target.cells or any(p.cells for p in lifted.parameters):
        raise Kept("its cells are narrower than the numbers of kernels")
    if not idiom.evidence.ok and (idiom.evidence.difference or not idiom.proof.ok):
        raise Kept(f"its program is not shown to agree ({idiom.evidence}; {idiom.proof})")
    if extent is None:
        raise Kept("its place in the file is not known")
    relations = idiom.relations
    if _reads_ahead(idiom):
        raise Kept(
            "it reads cells that it writes later, which a kernel would not find as they were"
        )
    standing = Standing(relations.evolution, idiom.found.loop, extent, text)
    return _Shown(idiom, lifted, extent, standing)


def _reads_ahead(idiom: LiftedIdiom) -> bool:
    """Whether a loop reads cells before it writes them, in another iteration."""
    relations, loop = idiom.relations, idiom.found.loop
    inside = [a for _, a in relations.accesses_of(loop)]
    return any(
        relations.evolution.reads_ahead(a, s, loop) for s in inside if s.is_store for a in inside
    )


def _call(
    idiom: LiftedIdiom, text: str, taken: Sequence[tuple[int, int]], calls_of: Calls
) -> _Call:
    """The call of an idiom that is all that its loop does; raises `Kept`."""
    shown = _shown(idiom, text)
    counted = counting(idiom, shown.name)
    if counted is None:
        _require_everywhere(idiom)
    _require_call(shown, text, taken)
    _require_only_effect(idiom.relations, idiom.found.loop, {shown.lifted.target.value})
    if counted is None:
        return _made(shown, calls_of)
    on_device = counted_on_device(idiom, shown.name) if calls_of == "opencl" else None
    does = on_device or counted
    given, guarded = _guarded(shown, (), None, does.values)
    refused = map(guarded.refuse, guarded.ranges)
    head = f"int {shown.name}({', '.join(guarded.typed)})"
    fields = guarded.over_fields("first", "(first + most + 1)")
    apart = [f"  if ({condition}) failed = 1;" for condition in fields]
    work = (x for line in does.lines for x in (apart if line == FIELDS_APART else [line]))
    lines = (*refused, *work, "  return 1;", "}")
    body = "\n".join([f"long {shown.name}_refused;", f"{head} {{", *lines])
    call = _Call(shown.name, shown.place, ", ".join(given), head, body)
    return call if on_device is None else call.of_device(on_device)


def _made(shown: _Shown, calls_of: Calls) -> _Call:
    """The call of what does the work of a loop; raises `Kept`."""
    lifted = shown.lifted
    _require_same_of_nan(shown.idiom, lifted)
    if calls_of == "blas" and (by_blas := routine(shown.idiom)) is not None:
        given, guarded = _guarded(shown, (), None, by_blas.values)
        work = [*map(guarded.refuse, by_blas.checks), f"  {by_blas.call}"]
        call = _wrapped(shown, given, wrapper(guarded, work))
        return replace(call, declared=by_blas.prototype, way=by_blas.name)
    if calls_of == "opencl" and (on_device := offloaded(shown.idiom, shown.kernel)) is not None:
        given, guarded = _guarded(shown, on_device.spans, _inspected(shown), on_device.values)
        return _wrapped(shown, given, wrapper(guarded, on_device.lines)).of_device(on_device)
    if calls_of == "sparse" and (by_library := sparse_routine(shown.idiom)) is not None:
        given, guarded = _guarded(shown, (), _inspected(shown), by_library.values)
        refuse = f"relift_refuse(&{shown.name}_refused)"
        work = [
            *map(guarded.refuse, by_library.checks),
            f"  {by_library.call}".replace("REFUSED", refuse),
        ]
        call = _wrapped(shown, given, wrapper(guarded, work))
        return replace(call, declared=by_library.prototype, way=by_library.name)
    if _has_lengths(shown) and (in_one := passed(shown.idiom)) is not None:
        given, guarded = _guarded(shown, (), in_one)
        return _wrapped(shown, given, wrapper(guarded, stored(lifted)))
    source, launch = _kernel(lifted, shown.kernel)
    given, guarded = _guarded(shown, launch.kernels[0].spans, _inspected(shown))
    work = kernel_lines(
        lifted, launch, entry(source.kernels[0]).name, shown.name, scalar=shown.scalar
    )
    return replace(_wrapped(shown, given, wrapper(guarded, work)), sources=(source,))


def _wrapped(shown: _Shown, given: Sequence[str], body: str) -> _Call:
    """The call of a function."""
    head = body.partition(" {\n")[0].partition("\n")[2]
    return _Call(shown.name, shown.place, ", ".join(given), head, body)


def _together(
    idioms: Sequence[LiftedIdiom], text: str, calls_of: Calls
) -> dict[tuple[str, str], _Call]:
    """The calls for loops with several results, by function and each of these."""
    of_loop: dict[tuple[str, str], list[LiftedIdiom]] = {}
    for idiom in idioms:
        of_loop.setdefault((idiom.function, idiom.found.loop.header), []).append(idiom)
    found: dict[tuple[str, str], _Call] = {}
    for group in of_loop.values():
        if len(group) > 1:
            try:
                call = _of_several(group, text, calls_of)
            except (Kept, Opaque, ReliftError):
                continue  # each is asked for itself, and says why it stays
            found.update({(i.function, i.found.result): call for i in group})
    return found


def _of_several(group: Sequence[LiftedIdiom], text: str, calls_of: Calls) -> _Call:
    """The call for a loop with several results; raises `Kept`."""
    shown = [_shown(idiom, text) for idiom in group]
    first = shown[0]
    _require_call(first, text, ())
    targets = {s.lifted.target.value for s in shown}
    _require_only_effect(first.idiom.relations, first.idiom.found.loop, targets)
    given, parts, works = list[str](), list[Guarded](), list[Sequence[str]]()
    sources, devices = list[Source](), list[Offloaded]()
    for number, one in enumerate(shown):
        counted = counted_apart(one.idiom, first.name)
        if counted is None:
            _require_everywhere(one.idiom)
        _require_same_of_nan(one.idiom, one.lifted)
        kernel = f"{first.kernel}_{number}"
        on_device = offloaded(one.idiom, kernel, first.name) if calls_of == "opencl" else None
        if on_device is not None:
            own, guarded = _guarded(one, on_device.spans, _inspected(one), on_device.values)
            works.append(on_device.lines)
            devices.append(on_device)
        elif counted is not None:
            own, guarded = _guarded(one, (), _inspected(one), counted.values)
            works.append(counted.lines)
        else:
            source, launch = _kernel(one.lifted, kernel)
            own, guarded = _guarded(one, launch.kernels[0].spans, _inspected(one))
            called = entry(source.kernels[0]).name
            works.append(computed_apart(one.lifted, launch, called, first.name))
            sources.append(source)
        given += own
        parts.append(replace(guarded, name=first.name))
    body = together(first.name, parts, works)
    typed = ", ".join(f"{t}_{n}" for n, part in enumerate(parts) for t in part.typed)
    head = f"int {first.name}({typed})"
    call = _Call(first.name, first.place, ", ".join(given), head, body, tuple(sources))
    for each in devices:
        call = call.of_device(each)
    return call


def _inspected(shown: _Shown) -> Inspection | None:
    """What finds out how long arrays are that are read at cells that data choose, and whether floats become whole numbers."""
    is_asked = _has_lengths(shown) or shown.lifted.asks("whole numbers")
    return inspection(shown.idiom) if is_asked else None


def _has_lengths(shown: _Shown) -> bool:
    return any(map(is_length, shown.lifted.sizes.values()))


def _guarded(
    shown: _Shown,
    spans: Sequence[Size],
    inspected: Inspection | None,
    needed: Collection[str] = (),
) -> tuple[list[str], Guarded]:
    """The arguments of a call, and the function's checks; `needed` are values of the function that it works with besides."""
    ranges = range_checks(shown.idiom)
    looked_at = inspected.values if inspected is not None else ()
    values = _values(shown.lifted, {*needed, *ranges.values, *looked_at})
    spelled = {v: shown.standing.spelled(v) for v in values}
    given, typed = _passed(shown.lifted, shown.standing, spelled, scalar=shown.scalar)
    fields = shown.standing.places
    given += [f"(const void *){place}" for place in fields.values()]
    typed += [f"const void *{place_of(value)}" for value in fields]
    checks = (*fitting(shown.idiom.relations, values, ranges), *ranges.checks)
    widths = {v: width_of(shown.idiom.relations.function.type_of(v)) for v in fields}
    return given, Guarded(
        shown.name, typed, shown.lifted, spans, inspected, checks, shown.scalar, widths
    )


def _require_same_of_nan(idiom: LiftedIdiom, lifted: Lifted) -> None:
    """Raise `Kept` where a program compares as C does but for NaN, and is not shown to do so to the last bit."""
    if lifted.asks("not a number") and not idiom.proof.rounded:
        raise Kept("what is compared may be NaN, which a kernel may take otherwise")


def _require_everywhere(idiom: LiftedIdiom) -> None:
    if idiom.under_conditions:
        raise Kept(f"a kernel would go to every cell, where {idiom.under_conditions[0]}")


def _require_call(shown: _Shown, text: str, taken: Sequence[tuple[int, int]]) -> None:
    """Raise `Kept` where no call can stand before a loop."""
    if shown.place in taken:
        raise Kept("the loop is replaced already")
    rest = text.split("\n")[shown.extent.line - 1].encode()[shown.extent.column - 1 :]
    if not re.match(rb"(for|while|do)\b", rest):
        raise Kept("it is not a loop of this file's own text, but of a macro or another file")
    if _is_under_pragma(text, shown.place):
        raise Kept("a pragma before it asks for a loop")
    shown.standing.require_plain_head()


def _is_under_pragma(text: str, place: tuple[int, int]) -> bool:
    """Whether a loop is what a pragma before it is about."""
    *above, own = text.split("\n")[: place[0]]
    before = " ".join([*above, own.encode()[: place[1] - 1].decode()]).rstrip()
    last = next((line for line in reversed(above) if line.strip()), "")
    continued = len(above) > 1 and any(line.rstrip().endswith("\\") for line in above[-2:])
    is_first = not own.encode()[: place[1] - 1].strip()
    directive = last.lstrip().startswith("#") and "pragma" in last
    return (is_first and (directive or continued)) or bool(
        re.search(r"_Pragma\s*\([^()]*\)$", before)
    )


def _kernel(lifted: Lifted, name: str) -> tuple[Source, Launch]:
    """The one kernel of a program; raises `Kept`."""
    low = lowered(replace(lifted.program, name=name))
    source, launch = kernels_of(low, contract=False)
    if len(launch.kernels) != 1 or launch.kernels[0].turns or not entry(source.kernels[0]).free:
        raise Kept("no kernel: it would be several")
    return source, launch


def _values(lifted: Lifted, more: Collection[str]) -> list[str]:
    """The values of the function that sizes, strides and begins are made of."""
    sizes = [s for s in lifted.sizes.values() if not is_length(s)]
    sizes += [lifted.target.first, *lifted.target.strides]
    sizes += [p.first for p in lifted.parameters if p.first is not None]
    found = {n for s in sizes for n in names_in(s)} | set(more)
    if any(isinstance(n, Counter) for n in found):
        raise Kept("a length is not known where the loop stands")
    return sorted(found)


def _require_only_effect(relations: Relations, loop: Loop, targets: Collection[str]) -> None:
    """Raise `Kept` where a loop does more than to compute some results."""
    left = {*targets}.union(*(_last_values(relations, t) for t in targets))
    for i in relations.instructions.values():
        if i.block in loop.blocks:
            if i.opcode == "store" and relations.evolution.base_of(i.operands[1]) not in targets:
                raise Kept(f"the loop stores elsewhere, too (line {i.line})")
            continue
        for operand in i.operands:
            inner = relations.instructions.get(operand)
            if inner is None or inner.block not in loop.blocks or inner.type == "void":
                continue
            if operand not in left:
                shown = relations.evolution.spelled(operand)
                raise Kept(f"{shown} of the loop is used after it (line {i.line or inner.line})")


def _last_values(relations: Relations, target: str) -> tuple[str, ...]:
    """What a carried value becomes: a loop that is asked late leaves that."""
    phi = relations.instructions.get(target)
    return phi.operands if phi is not None and phi.opcode == "phi" else ()


def _passed(
    lifted: Lifted,
    standing: Standing,
    spelled: dict[str, str],
    *,
    scalar: bool,
) -> tuple[list[str], list[str]]:
    """The arguments of the call, and the parameters of the function."""
    given, typed = list[str](), list[str]()
    element_of(lifted.program.body.type)
    if scalar:
        given.append(f"(void *)&{standing.result(lifted.target.value)}")
    else:
        given.append(f"(void *){standing.spelled(lifted.target.value)}")
    typed.append("void *to")
    for p in lifted.parameters:
        given.append(standing.spelled(p.value))
        if p.first is not None:
            given[-1] = f"(const void *){given[-1]}"
            typed.append(f"const void *array_{p.name}")
        else:
            assert isinstance(p.type, Scalar), "cannot happen: what is no array is a scalar"
            typed.append(f"{C_TYPES[p.type.name]} value_{p.name}")
    for value, name in spelled.items():
        given.append(f"(long long){name}")
        typed.append(f"long long {letter(value)}")
    return given, typed


def _kernels(calls: Sequence[_Call]) -> str:
    """The second file: kernels, and the functions that check and call them."""
    head = (
        "/* Kernels for the loops of another file.  Each function returns 1 when it has done what the loop does, and 0, counted\n"
        "   in its `_refused`, when a condition fails.  Compile with: cc -O3 -march=native -fopenmp -ffp-contract=off */\n"
    )
    if not calls:
        return head
    declared = sorted({c.declared for c in calls} - {""})
    sources = [source for c in calls for source in c.sources]
    written: list[str] = []
    if sources:
        functions = {f.name: f for s in sources for f in s.functions}
        whole = replace(
            sources[0],
            kernels=tuple(k for s in sources for k in s.kernels),
            functions=tuple(functions.values()),
        )
        written.append(C().file(whole))
    devices = [definition for c in calls for definition in c.on_device]
    host = [host_library()] if devices else []
    bodies = (c.body for c in calls)
    # the words of kernels in C would be in the way of the headers that the host library includes
    return "\n".join([head, *host, *written, *declared, SERVICES, *devices, *bodies, ""])
