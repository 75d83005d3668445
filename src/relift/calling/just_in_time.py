"""Programs that are optimised for the sizes that they meet: the search, the compiler, and what was found before."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Hashable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, overload

from relift.compiler.running.arrays.device_array import DeviceArray, is_resident
from relift.compiler.running.arrays.results import Again, call_key, returned, taken
from relift.files import user_cache, write_text
from relift.semantics.array_exchange import host_arguments, leaves
from relift.semantics.errors import ReliftError
from relift.semantics.language.programs import Program
from relift.semantics.language.programs import program as traced

if TYPE_CHECKING:
    from relift.compiler.devices.naming import Device
    from relift.compiler.running.compiled import Compiled
    from relift.device import DeviceDescription
    from relift.rewrites.declared_laws import FloatPolicy
    from relift.rewrites.derivation.steps import Derivation


@dataclass(frozen=True, eq=False)
class Jitted:
    """A program that is called like a kernel, and has one for each choice of sizes at which it was called.

    What the search finds is kept in the user's cache as a derivation, which is replayed before it is used again.
    """

    program: Program
    target: str
    policy: FloatPolicy
    tune: bool
    budget: float
    _kernels: dict[tuple[str, tuple[tuple[str, int], ...]], Compiled] = field(
        default_factory=dict, repr=False
    )
    _calls: dict[Hashable, Again] = field(default_factory=dict, repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        """Run on the device of `target`, or where arrays lie, after a search where none was made at these sizes; arrays
        are taken, given and left where they lie as by `Compiled`."""
        key = call_key(arrays, out)
        if key is not None and (before := self._calls.get(key)) is not None:
            return before(arrays, out)
        here, there = taken(self.program, arrays, out)
        if here is not arrays or there is not out:
            found = self(*here, out=there)
            return returned(found, arrays) if out is None else out
        kernel = self.kernel(*arrays)
        result = kernel(*arrays, device=None if is_resident(arrays) else self.target, out=out)
        if key is not None and (again := kernel.again(key)) is not None:
            self._calls[key] = again
        return result

    def kernel(self, *arrays: Any) -> Compiled:
        """The kernels for arrays of these shapes, for the device on which they lie, else that of `target`."""
        from relift.compiler.devices.naming import label
        from relift.compiler.devices.survey import find_device

        arrays, _ = taken(self.program, arrays, None)
        placed = [a for a in leaves(arrays) if isinstance(a, DeviceArray)]
        device = placed[0].device if placed else find_device(self.target)
        parameters = ((p.name, p.type) for p in self.program.parameters)
        host = host_arguments(arrays, parameters, self.program.name, is_resident)
        sizes = self.program.solve_sizes(host)
        key = label(device), tuple(sorted(sizes.items()))
        with self._lock:  # two threads that meet the same sizes search once
            if key not in self._kernels:
                self._kernels[key] = self._compiled(sizes, device)
            return self._kernels[key]

    def _compiled(self, sizes: Mapping[str, int], device: Device) -> Compiled:
        from relift.compiler.devices.survey import describe
        from relift.compiler.program import compile_program, is_low_level

        low = self.program.at(sizes)
        if not is_low_level(low):
            low = _low_level(self._derivation(sizes, describe(device)))
        return compile_program(low, contract=self.policy != "exact")

    def _derivation(self, sizes: Mapping[str, int], device: DeviceDescription) -> Derivation:
        """What was found before for such a device, else what is found now, which is kept."""
        from relift.optimization import compilable
        from relift.rewrites.derivation.files import write_json

        place = _place(self, sizes, device)
        found = _kept(place, self, sizes)
        if found is None:
            here = self.target if self.tune else None
            found = compilable(
                self.program, sizes, device, timed_here=here, float=self.policy, budget=self.budget
            ).derivation
            write_text(place, write_json(found))
        return found


def _low_level(derivation: Derivation) -> Program:
    from relift.semantics.syntax.binding import tidy

    return replace(derivation.program, body=tidy(derivation.result))


def _place(jitted: Jitted, sizes: Mapping[str, int], device: DeviceDescription) -> Path:
    """The file for what a search finds: its name is that of all that the search depends on."""
    import relift
    from relift.rewrites.derivation.files import program_hash

    asked = [jitted.policy, jitted.tune, jitted.budget, sorted(sizes.items())]
    said = [relift.__version__, program_hash(jitted.program), *asked, asdict(device)]
    digest = hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
    return user_cache() / "found" / f"{digest[:32]}.json"


def _kept(place: Path, jitted: Jitted, sizes: Mapping[str, int]) -> Derivation | None:
    """What a file holds, if it replays by rules that are PROVED, and is of this program at these sizes."""
    from relift.rewrites.derivation.files import program_hash, read_json
    from relift.rewrites.derivation.steps import require_standing
    from relift.rewrites.library import RULES

    if not place.exists():
        return None
    try:
        found = read_json(place, RULES)
        require_standing(found, RULES)
    except ReliftError:
        return None  # of another library, or damaged: it is found anew, and written over
    same = program_hash(found.origin) == program_hash(jitted.program)
    fits = same and dict(found.sizes) == dict(sizes) and found.policy == jitted.policy
    return found if fits else None


@overload
def jit(program: Program | Callable[..., Any]) -> Jitted: ...
@overload
def jit(
    *,
    target: str = "cpu",
    float: FloatPolicy = "reassociate",
    tune: bool = False,
    budget: float = 120.0,
) -> Callable[[Program | Callable[..., Any]], Jitted]: ...
def jit(
    program: Program | Callable[..., Any] | None = None,
    *,
    target: str = "cpu",
    float: FloatPolicy = "reassociate",
    tune: bool = False,
    budget: float = 120.0,
) -> Jitted | Callable[[Program | Callable[..., Any]], Jitted]:
    """A program, or a function that `rl.program` would trace, as a callable that is optimised for the sizes it meets.

    The first call at some sizes searches, for at most `budget` seconds, for the device that `target` names (see
    `devices.find_device`), and keeps what it finds in the user's cache; with `tune`, candidates are timed.  A program that
    says itself what runs in parallel is compiled as it is.

    >>> import numpy as np, relift as rl
    >>> n = rl.nat("n")
    >>> @rl.jit
    ... def double(x: rl.f32[n]):
    ...     return rl.map(lambda v: v + v, x)
    >>> double(np.float32([1, 2, 3]))
    array([2., 4., 6.], dtype=float32)
    """

    def made(given: Program | Callable[..., Any]) -> Jitted:
        found = given if isinstance(given, Program) else traced(given)
        return Jitted(found, target, float, tune, budget)

    return made if program is None else made(program)
