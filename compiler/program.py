"""All kernels of a program: its source, and how it is launched."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from relift.compiler.codegen.interface import buffers, parameter
from relift.compiler.codegen.kernel import Settings, accepted, kernel_of, needs_long
from relift.compiler.codegen.values.functions import Functions
from relift.compiler.dialects.opencl.printer import OpenCL
from relift.compiler.lowering.analyses import ALL, Analyses
from relift.compiler.lowering.iterations import written_out
from relift.compiler.lowering.spec import check_sizes
from relift.compiler.lowering.stages import OUT, Stage, stages_of
from relift.compiler.lowering.threads import Counts, Threads, counts_of, threads_of
from relift.compiler.running.compiled import Compiled
from relift.compiler.running.launch import Buffer, Kernel, Launch
from relift.compiler.text.names import Names, stored_as
from relift.compiler.text.tree import KernelText, Source, mentioned, renamed
from relift.device import DeviceDescription
from relift.semantics.errors import IllTyped, Unsupported, bounded_depth
from relift.semantics.indices.expressions import simplifying
from relift.semantics.indices.stored import memories
from relift.semantics.language.naming import named_in
from relift.semantics.language.programs import Program, a_program
from relift.semantics.patterns import EachOf
from relift.semantics.syntax.sizes import Name, Size
from relift.semantics.syntax.terms import Term, UserFunction, require_writable, subterms
from relift.semantics.syntax.types import SCALARS, i32, i64


@bounded_depth("the program")
def compile_program(
    program: Program,
    sizes: Mapping[str, int] | None = None,
    *,
    local: Counts = None,
    global_: Counts = None,
    wide: bool = False,
    contract: bool = True,
    analyses: Analyses = ALL,
) -> Compiled:
    """The kernels of a program whose body is a low-level term (see `spec`).

    `sizes` fixes sizes of the program; those left open become arguments of the kernels, found from the
    shapes of a call.  They are `int`; with `wide`, or where a fixed size needs it, all indices are `long`.
    `local` and `global_` replace the numbers of work-items that are inferred, in the dimensions where a
    kernel has parallel maps.  With `contract`, the device may round `a*b + c` once instead of twice.
    `analyses` switches analyses off.  Raises `Unsupported` for terms that are not low-level, and where a
    size must be a number but is open.

    >>> from relift import f32, map_glb, program
    >>> from relift.compiler.program import compile_program
    >>> @program
    ... def double(x: f32[1024]):
    ...     return map_glb(0)(lambda v: v + v, x)
    >>> print(compile_program(double).source)
    // double, kernel 1 of 1
    // out: f32[1024] =
    //   map_glb(0)(lambda v: v + v, x)
    // where x: f32[1024]
    // work-items: 1024, in groups of 64
    kernel void double_1(global const float* restrict x, global float* restrict out) {
      const int glb_0 = get_global_id(0);
    <BLANKLINE>
      const float v = x[glb_0];
      out[glb_0] = v + v;
    }
    <BLANKLINE>
    """
    source, launch = kernels_of(
        program,
        sizes,
        local=local,
        global_=global_,
        wide=wide,
        contract=contract,
        analyses=analyses,
    )
    return Compiled(OpenCL().source(source), launch)


@bounded_depth("the program")
def kernels_of(
    program: Program,
    sizes: Mapping[str, int] | None = None,
    *,
    local: Counts = None,
    global_: Counts = None,
    wide: bool = False,
    contract: bool = True,
    analyses: Analyses = ALL,
) -> tuple[Source, Launch]:
    """The kernels of a program as trees, which any dialect prints, and how they are launched; see `compile_program`."""
    staged = _staged(program, sizes, local, global_, wide=wide, analyses=analyses)
    kernels: dict[Stage, Kernel] = {}
    texts: list[KernelText] = []
    for number in range(len(staged.stages)):
        kernel, text = staged.kernel(number)
        kernels[staged.stages[number]] = kernel
        texts.append(text)
    functions = staged.settings.functions
    source = Source(
        tuple(texts),
        tuple(functions.definitions.values()),
        extensions=_extensions(staged.program, functions),
        contract=contract,
    )
    return _named_after_results(source, staged.launch(kernels), staged.lies)


def _named_after_results(
    source: Source, launch: Launch, lies: Mapping[str, str]
) -> tuple[Source, Launch]:
    """Kernels in which a memory where a result lies is called as the result is, unless something else is called so.

    `lies` says where each of these results lies.
    """
    taken = {f.name for f in source.functions} | {b.name for b in launch.buffers}
    taken |= {a.name for k in source.kernels for a in k.parameters}
    taken = taken.union(*(mentioned(k.body) for k in source.kernels))
    names = {memory: place for place, memory in lies.items() if place not in taken}

    def called(old: Sequence[str]) -> tuple[str, ...]:
        return tuple(names.get(name, name) for name in old)

    def text(kernel: KernelText) -> KernelText:
        own = tuple(replace(a, name=names.get(a.name, a.name)) for a in kernel.parameters)
        moved = tuple(
            f"{a.name} lies in {new.name}"
            for a, new in zip(kernel.parameters, own, strict=True)
            if a.name != new.name
        )
        comment = (*kernel.comment, *moved)
        return replace(kernel, parameters=own, body=renamed(kernel.body, names), comment=comment)

    return (
        replace(source, kernels=tuple(map(text, source.kernels))),
        replace(
            launch,
            buffers=tuple(replace(b, name=names.get(b.name, b.name)) for b in launch.buffers),
            kernels=tuple(replace(k, arguments=called(k.arguments)) for k in launch.kernels),
            result=replace(launch.result, buffers=called(launch.result.buffers)),
        ),
    )


@dataclass(frozen=True)
class _Staged:
    """A program that is cut into stages, of which each becomes a kernel; those of later steps are `launched` again."""

    program: Program
    launched: Sequence[Stage]
    stages: Sequence[Stage]
    lies: Mapping[str, str]
    """The memories of results that no kernel of their own stores, by where it would."""
    threads: Sequence[Threads]
    settings: Settings
    file: Names

    def accepted(self, number: int) -> Kernel:
        """How the kernel of one stage is launched, without its text where no size is open; raises what refuses it."""
        if self.program.sizes:
            return self.kernel(number)[0]
        with simplifying(self.settings.analyses.indices):
            stage = self.stages[number].tidied()
            return accepted(self.program.name, stage, self.threads[number], self.settings)

    def kernel(self, number: int) -> tuple[Kernel, KernelText]:
        """The kernel of one stage."""
        name = f"{self.program.name}_{number + 1}"
        title = f"{self.program.name}, kernel {number + 1} of {len(self.stages)}"
        stage = self.stages[number]
        with simplifying(self.settings.analyses.indices):
            return kernel_of(
                self.file.fresh(name), title, stage.tidied(), self.threads[number], self.settings
            )

    def launch(self, kernels: Mapping[Stage, Kernel]) -> Launch:
        """How these kernels are launched."""
        order = [kernels[stage] for stage in self.launched]
        settings = self.settings
        return _launch(
            self.program, self.launched, order, settings.names, self.lies, wide=settings.wide
        )


def _staged(
    program: Program,
    sizes: Mapping[str, int] | None,
    local: Counts,
    global_: Counts,
    *,
    wide: bool,
    analyses: Analyses,
) -> _Staged:
    program = a_program(program).at(sizes or {}, partly=True)
    require_writable(program.body, program.name)
    program = replace(program, body=written_out(program.body))
    check_sizes(program)
    file = Names()
    functions = Functions(file)
    for function in named_in(program.body):
        if isinstance(function, UserFunction):
            functions.name_of(function)
    interface = Names(file)
    program = _with_c_sizes(program, interface)
    found = stages_of(program)
    lies = {place: memory for stage in found for place, memory in stage.lies}
    launched = [stage for stage in found if not stage.lies]
    stages = list(dict.fromkeys(launched))
    names = {p.name: interface.fresh(p.name, stored_as(p.type)) for p in program.parameters}
    in_turns = not analyses.control_flow
    threads = [threads_of(s.body, local, global_, in_turns=in_turns) for s in stages]
    _check_counts(program.name, threads, local=local, global_=global_)
    turns = max((*counts_of(local, "local"), *counts_of(global_, "global_")), default=0)
    if program.sizes:
        wide = wide or any(needs_long(stage, turns) for stage in stages)
    settings = Settings(names, functions, analyses, wide, turns)
    return _Staged(program, launched, stages, lies, threads, settings, file)


def _launch(
    program: Program,
    stages: Sequence[Stage],
    kernels: Sequence[Kernel],
    names: Mapping[str, str],
    lies: Mapping[str, str],
    *,
    wide: bool,
) -> Launch:
    """How the kernels are launched: the buffers of the program, and those between its stages."""
    found = [b for p in program.parameters for b in buffers(names[p.name], p.type, "input")]
    results = [
        replace(b, name=lies.get(b.name, b.name)) for b in buffers(OUT, program.body.type, "output")
    ]
    written = {b.name for b in results}
    for result, body in {s.result: s.body for s in stages}.items():
        between = buffers(result, body.type, "temporary")
        found += [b for b in between if b.name not in written]
    found += results
    sizes = program.least_sizes
    index_type = i64 if wide else i32
    found += [Buffer(name, index_type, Size.of(1), "size") for name in sizes]
    return Launch(
        program.name,
        tuple(parameter(p.name, names[p.name], p.type) for p in program.parameters),
        replace(parameter(OUT, OUT, program.body.type), buffers=tuple(b.name for b in results)),
        tuple(found),
        tuple(kernels),
        sizes,
    )


def refusal(
    program: Program,
    device: DeviceDescription | None = None,
    known: dict[Term, Kernel] | None = None,
) -> str | None:
    """Why the compiler, or a device, refuses a low-level program, None if neither does; the search asks it of its candidates.

    In `known` are the kernels that were accepted, by what they compute: candidates differ in one or two.
    """
    known = {} if known is None else known
    kernels: dict[Stage, Kernel] = {}
    try:
        staged = _staged(program, None, None, None, wide=False, analyses=ALL)
        for number, stage in enumerate(staged.stages):
            shape = stage.shape()
            if staged.program.sizes or shape not in known:
                known[shape] = staged.accepted(number)
            kernels[stage] = replace(known[shape], name=f"{program.name}_{number + 1}")
        plan = staged.launch(kernels)
    except (IllTyped, Unsupported) as error:
        return error.message
    if device is None:
        return None
    wanted = plan.too_large(device.local_memory_bytes, device.max_work_group, device.name)
    if wanted is None and device.memory_bytes and not plan.sizes:
        return plan.beyond(device.memory_bytes, device.name)
    return wanted


def runs(program: Program) -> bool:
    """Whether the compiler accepts a low-level program."""
    return refusal(program) is None


def is_low_level(program: Program) -> bool:
    """Whether a program says itself what runs in parallel, and the compiler accepts it: nothing is searched for."""
    return is_parallel(program) and runs(program)


def is_parallel(program: Program) -> bool:
    """Whether a program says itself what runs in parallel."""
    return any(isinstance(u, EachOf) and u.level != "lcl" for u, _ in subterms(program.body))


def _with_c_sizes(program: Program, names: Names) -> Program:
    """The program with sizes that are called as the kernels can call them."""
    called = {name: names.fresh(name) for name in program.sizes}
    renamed = {
        name: Size.atom(Name(c, least))
        for name, least in program.least_sizes.items()
        if (c := called[name]) != name
    }
    return program.with_sizes(renamed) if renamed else program


def _check_counts(
    program: str, threads: Sequence[Threads], *, local: Counts, global_: Counts
) -> None:
    """Raise `IllTyped` for counts in a dimension where no kernel has a parallel map."""
    used = {d for t in threads for _, d in t.used}
    for name, given in (("local", local), ("global_", global_)):
        for d, n in enumerate(counts_of(given, name)):
            if n > 1 and d not in used:
                raise IllTyped(
                    f"{program}: {name} has {n} work-items in dimension {d}, where no kernel has a parallel "
                    f"map: all would do the same; give 1, or write map_glb({d})"
                )


def _extensions(program: Program, functions: Functions) -> tuple[str, ...]:
    """What of OpenCL is needed for the scalar types that something is computed in."""
    used = {u.type for u, _ in subterms(program.body)}
    used |= {m.scalar for p in program.parameters for m in memories(p.name, p.type)}
    in_c = [OpenCL().function(f) for f in functions.definitions.values()]
    found = (
        t.extension
        for t in SCALARS.values()
        if t.extension and (t in used or any(re.search(rf"\b{t.c}\d*\b", text) for text in in_c))
    )
    return tuple(found)
