"""The search with what only the compiler knows: which programs run, what they take, and what is wrong with them.

`egraph` and `compiler` do not know each other; here they meet.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import TYPE_CHECKING, Any

from relift.device import DeviceDescription

if TYPE_CHECKING:
    from relift.egraph.search.optimize import Optimized
    from relift.rewrites.derivation.steps import Derivation
    from relift.semantics.language.programs import Program


def optimize(
    program: Program,
    sizes: Mapping[str, int] | None = None,
    target: str | DeviceDescription = "cpu",
    *,
    like: tuple[Any, ...] | None = None,
    tune: bool = False,
    **options: Any,
) -> Optimized:
    """The best programs that the search finds and the compiler accepts; see `egraph.search.optimize`.

    The sizes are those of `sizes`, or those that the arguments `like` have.  A `target` is cpu, gpu or part of a
    device's name, as of this machine, or a description.  With `tune`, they are timed on the device that it names, and the
    fastest come first.

    >>> import numpy as np, relift as rl
    >>> n = rl.nat("n")
    >>> @rl.program
    ... def double(x: rl.f32[n]):
    ...     return rl.map(lambda v: v + v, x)
    >>> rl.optimize(double, like=(np.zeros(64, np.float32),)).derivation.sizes
    {'n': 64}
    """
    if like is not None:
        sizes = {**program.solve_sizes(like), **(sizes or {})}
    here = target.kind if isinstance(target, DeviceDescription) else target
    return compilable(
        program, sizes, device_for(target), timed_here=here if tune else None, **options
    )


def device_for(
    target: str | DeviceDescription, missing: Callable[[DeviceDescription], None] | None = None
) -> DeviceDescription:
    """The device of this machine that a target names; where it has none of a kind, what stands for the kind.

    `missing` is told what stands for it. Raises `Unsupported` for a name that no device has.

    >>> from relift.device import CPU
    >>> from relift.optimization import device_for
    >>> device_for("cpu").kind, device_for(CPU) is CPU
    ('cpu', True)
    """
    from relift.compiler.devices.survey import describe, find_device
    from relift.device import described, preset
    from relift.semantics.errors import Unsupported

    if isinstance(target, DeviceDescription):
        return target
    if not isinstance(target, str) or target in described():
        return preset(target)
    try:
        return describe(find_device(target))
    except Unsupported:
        if target not in ("cpu", "gpu"):
            raise
    found = preset(target)
    if missing is not None:
        missing(found)
    return found


def compilable(
    program: Program,
    sizes: Mapping[str, int] | None,
    target: DeviceDescription,
    *,
    timed_here: str | None,
    executor: Executor | None = None,
    **options: Any,
) -> Optimized:
    """The same; timed on the device of this machine that `timed_here` names, where it names one.

    Candidates are judged by an `executor` where there is one; all are timed here, one after the other.
    """
    from relift.compiler.program import refusal
    from relift.egraph.search.optimize import optimize as search

    if rules := options.get("rules"):
        from relift.checking import require_functions

        require_functions(rules)
    if timed_here is not None:
        from relift.compiler.running.timing import timer

        options |= {
            "judge": partial(judged, executor),
            "measure": timer(timed_here, contract=options.get("float") != "exact"),
        }
    return search(
        program, sizes, target, refused=partial(refusal, device=target, known={}), **options
    )


def judged(
    executor: Executor | None, derivations: Sequence[Derivation]
) -> Callable[[Derivation], str | None]:
    """What says why a candidate need not be timed: asked here one by one, or of as many as are judged at a time, by who shares the work.

    Nobody works while a candidate is timed, so the next ones are judged when the first of them is asked for.
    A derivation with rules or functions of the user's own, which no file holds whole, is judged here all the same.
    """
    from relift.compiler.agreement.verification import failure_on_symbols
    from relift.processes.executors import at_a_time, each
    from relift.rewrites.derivation.files import to_json

    if executor is None:
        return failure_on_symbols
    found: dict[int, str | None] = {}
    whole: dict[int, tuple[Derivation, str]] = {}  # which keep what has this identity
    for d in derivations:
        data = {} if d.own else to_json(d)
        if data and not data["user_functions"]:
            whole[id(d)] = (d, json.dumps(data))

    def of(derivation: Derivation) -> str | None:
        if id(derivation) not in whole:
            return failure_on_symbols(derivation)
        if id(derivation) not in found:
            left = [key for key in whole if key not in found and key != id(derivation)]
            now = [id(derivation), *left[: at_a_time(executor) - 1]]
            texts = [whole[key][1] for key in now]
            found.update(zip(now, each(wrong_on_symbols, texts, executor), strict=True))
        return found[id(derivation)]

    return of


def wrong_on_symbols(derivation: str) -> str | None:
    """Why the candidate of a derivation, as a file has it, need not be timed."""
    from relift.compiler.agreement.verification import failure_on_symbols
    from relift.rewrites.derivation.files import from_json
    from relift.rewrites.library import RULES

    return failure_on_symbols(from_json(json.loads(derivation), RULES))
