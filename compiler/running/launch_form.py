"""Whether the launch of a file is one at all: what of it can be seen without the text of its kernels.

What the kernels compute and whether they keep within their buffers is for others (`certificates`, `meaning`); here it
is only that the launch has kernels, that these have groups and are given buffers that there are, and that the buffers
of the arguments and of the result are those of their types.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from relift.compiler.codegen.interface import buffers
from relift.compiler.running.launch import Kernel, Launch, Parameter, Role
from relift.semantics.errors import IllTyped

DIMENSIONS = 3
"""Of work-items, at most."""


def require_form(plan: Launch, file: str) -> None:
    """Raise `IllTyped` for a launch that could not be one of the compiler's; `file` is where it was read.

    >>> from dataclasses import replace
    >>> from relift import f32, map_glb, program
    >>> from relift.compiler.program import compile_program
    >>> from relift.compiler.running.launch_form import require_form
    >>> @program
    ... def double(x: f32[64]):
    ...     return map_glb(0)(lambda v: v + v, x)
    >>> plan = compile_program(double).plan
    >>> require_form(plan, "launch.json")
    >>> require_form(replace(plan, kernels=()), "launch.json")
    Traceback (most recent call last):
        ...
    relift.semantics.errors.IllTyped: launch.json is no launch: it has no kernel, so nothing is computed; ...
    """
    if (wrong := next(_faults(plan), None)) is not None:
        raise IllTyped(f"{file} is no launch: {wrong}; write the folder anew with --out", place="")


def _faults(plan: Launch) -> Iterator[str]:
    if not plan.kernels:
        yield "it has no kernel, so nothing is computed"
    names = [b.name for b in plan.buffers]
    if len(set(names)) < len(names):
        yield "it has two buffers of one name"
    for p in plan.parameters:
        yield from _unlike(plan, p, "input")
    yield from _unlike(plan, plan.result, "output")
    taken = [name for p in (*plan.parameters, plan.result) for name in p.buffers]
    if len(set(taken)) < len(taken):
        yield "a buffer belongs to two values"
    if [b.name for b in plan.buffers if b.role == "size"] != list(plan.sizes):
        yield f"its sizes ({', '.join(plan.sizes)}) are not those of its buffers"
    for b in plan.buffers:
        if b.role not in ("temporary", "size") and b.name not in taken:
            yield f"buffer {b.name} has role {b.role} and belongs to no value"
    for k in plan.kernels:
        yield from _unfit(k, names)


def _unlike(plan: Launch, p: Parameter, role: Role) -> Iterator[str]:
    """Where the buffers of a value are not those of its type."""
    known = {b.name: b for b in plan.buffers}
    if missing := [name for name in p.buffers if name not in known]:
        yield f"{p.name} has a buffer {missing[0]}, which there is not"
        return
    found = [(b.scalar, b.cells, b.role) for b in map(known.__getitem__, p.buffers)]
    if found != [(b.scalar, b.cells, b.role) for b in buffers(p.name, p.type, role)]:
        yield f"the buffers of {p.name} are not those of a value of type {p.type}"


def _unfit(k: Kernel, buffers: Sequence[str]) -> Iterator[str]:
    """What of a kernel fits no launch."""
    if missing := [name for name in k.arguments if name not in buffers]:
        yield f"{k.name} is given {missing[0]}, which is no buffer"
    if not 1 <= len(k.total) == len(k.local) <= DIMENSIONS:
        yield f"{k.name} has work-items in {len(k.total)} dimensions and groups in {len(k.local)}"
    if not all(_is_count(m) and m > 0 for m in k.local):
        yield f"{k.name} has groups of {' x '.join(map(str, k.local))} work-items"
    if not (_is_count(k.local_bytes) and k.local_bytes >= 0):
        yield f"{k.name} takes {k.local_bytes} bytes of local memory"
    if not all(_is_count(d) and 0 <= d < len(k.total) for d in k.turns):
        yield f"{k.name} has loops over dimensions that it has not"
    if not isinstance(k.free, bool) or (k.free and k.turns):
        yield f"{k.name} is free in its groups, or not: its launch says {k.free}"
    if not isinstance(k.arrays, bool):
        yield f"{k.name} has private arrays, or none: its launch says {k.arrays}"


def _is_count(n: object) -> bool:
    return isinstance(n, int) and not isinstance(n, bool)
