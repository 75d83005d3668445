"""The search with what only the compiler knows: which programs run, what they take, and what is wrong with them.

`egraph` and `compiler` do not know each other; here they meet.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from relift.device import DeviceDescription

if TYPE_CHECKING:
    from relift.egraph.search.optimize import Optimized
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

    The sizes are those of `sizes`, or those that the arguments `like` have.  With `tune`, they are timed on the device
    that `target` names, and the fastest come first.

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
    return compilable(program, sizes, target, timed_here=here if tune else None, **options)


def compilable(
    program: Program,
    sizes: Mapping[str, int] | None,
    target: str | DeviceDescription,
    *,
    timed_here: str | None,
    **options: Any,
) -> Optimized:
    """The same; timed on the device of this machine that `timed_here` names, where it names one."""
    from relift.compiler.program import refusal
    from relift.egraph.search.optimize import optimize as search

    if rules := options.get("rules"):
        from relift.compiler.agreement.functions_in_c import require_functions

        require_functions(rules)
    if timed_here is not None:
        from relift.compiler.agreement.verification import failure_on_symbols
        from relift.compiler.running.timing import timer

        options |= {
            "judge": failure_on_symbols,
            "measure": timer(timed_here, contract=options.get("float") != "exact"),
        }
    return search(program, sizes, target, refused=refusal, **options)
