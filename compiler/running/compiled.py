"""A compiled program: source and launch, run on NumPy arrays, saved in a folder."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from relift.compiler.bench.bundle_runner import EXACT
from relift.compiler.devices.naming import Device, label
from relift.compiler.running.arrays.buffers import Held, Row, held, unflatten
from relift.compiler.running.arrays.device_array import DeviceArray, is_resident
from relift.compiler.running.arrays.results import (
    Again,
    call_key,
    cells_of,
    common_device,
    of_host,
    on_device,
    residents,
    returned,
    taken,
    written_in_place,
)
from relift.compiler.running.artefact import Origin, read_artefact, write_artefact
from relift.compiler.running.launch import Launch, launch_from_json
from relift.compiler.running.launch_form import require_form
from relift.compiler.running.session import plan_at, session_on
from relift.display.displayed import Displayed
from relift.semantics.array_exchange import as_given, host_arguments, leaves
from relift.semantics.domains import DTYPES
from relift.semantics.errors import IllTyped
from relift.semantics.syntax.types import Type

if TYPE_CHECKING:
    from relift.compiler.certificates.certificate import Certificate
    from relift.compiler.dialects.backend import Session

SOURCE, LAUNCH, CERTIFICATE = "kernel.cl", "launch.json", "certificate.json"


@dataclass(frozen=True)
class Compiled(Displayed):
    """The OpenCL source of all kernels of a program, and how to launch them.

    Before the first run its certificates are asked, and it is not run where one is refuted (see `consultation`).
    `unchecked` runs it anyway: for those who plant faults to see whether other means find them.
    """

    shown_by: ClassVar = "relift.compiler.running.displays:of_compiled"

    source: str
    plan: Launch
    unchecked: bool = False
    _sessions: dict[str, Session] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )
    _calls: dict[Hashable, Again] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    @property
    def is_exact(self) -> bool:
        """Whether every product and every sum is rounded, in the order of the term."""
        return EXACT in self.source

    @property
    def launch(self) -> dict[str, Any]:
        """Buffers, kernels and sizes, as JSON can hold them."""
        return self.plan.as_json()

    @property
    def certificates(self) -> tuple[Certificate, ...]:
        """What is known of bounds, races and barriers of each kernel; made when it is first asked for, and kept."""
        from relift.compiler.certificates.consultation import consulted

        return consulted(self)

    def __call__(
        self,
        *arrays: Any,
        device: str | None = None,
        sizes: Mapping[str, int] | None = None,
        out: Any = None,
    ) -> Any:
        """Run on a device (see `devices.find_device`); NumPy values in and out, as the interpreter's.

        Arrays of other libraries that speak DLPack are taken, and given, too.  Where an argument is a
        `rl.device_array`, or lies on a device that another library shares with us, the kernels run where it lies, the
        call does not wait for them, and its result lies there.
        `out` is an array for the result, or a tuple of them, which is returned.  Open sizes are found from the shapes
        of the arguments; `sizes` gives those that no shape shows.
        """
        key = None if device is not None or sizes else call_key(arrays, out)
        if key is not None and (before := self._calls.get(key)) is not None:
            return before(arrays, out)
        parameters = [(p.name, p.type) for p in self.plan.parameters]
        here, there = taken(self.plan, arrays, out)
        if here is not arrays or there is not out:
            found = self(*here, device=device, sizes=sizes, out=there)
            return returned(found, arrays) if out is None else out
        placed = [a for a in leaves((arrays, out)) if isinstance(a, DeviceArray)]
        host = host_arguments(arrays, parameters, self.plan.program, is_resident)
        rows = self.rows(host, sizes or {})
        t = plan_at(self.plan, rows).result.type
        if placed:
            where = common_device(placed, device, self.plan.program)
            found = self._resident(rows, t, self.session(where), out)
            if key is not None:
                self._calls[key] = self._again(rows, t, self.session(where), out)
            return found
        session = self.session(device)
        if out is None:
            return as_given(unflatten(session.run(rows), t), arrays)
        self._run_into(of_host(out, t), rows, session)
        return out

    def again(self, key: Hashable) -> Again | None:
        """The next call like one that was made, by its `call_key`; none where more of its arguments has to be looked at."""
        return self._calls.get(key)

    def _resident(self, rows: dict[str, Held], t: Type, session: Session, out: Any) -> Any:
        """Run where arguments lie, and do not wait."""
        if out is None:
            return on_device(session.enqueue(rows).values(), t, session.device)
        session.enqueue(rows | dict(zip(self._results, residents(out, t, rows), strict=True)))
        return out

    def _again(self, rows: Mapping[str, Held], t: Type, session: Session, out: Any) -> Again:
        """The next call with such arguments, which are known to fit."""
        sizes = {name: rows[name] for name in self.plan.sizes}
        parameters = plan_at(self.plan, rows).parameters
        given = [p.buffers[0] for p in parameters] + ([] if out is None else self._results)
        return Again(session.repeated(given, sizes), session.device, parameters, cells_of(t), t)

    def _run_into(self, out: Sequence[Row], rows: dict[str, Held], session: Session) -> None:
        """Run with the result in arrays of the host, in place where the device can write there."""
        if written_in_place(out, rows):
            rows |= zip(self._results, (a.reshape(-1) for a in out), strict=True)
        for array, row in zip(out, session.run(rows), strict=True):
            if not np.may_share_memory(array, row):
                array[...] = row.reshape(array.shape)

    @property
    def _results(self) -> list[str]:
        return [b.name for b in self.plan.buffers if b.role == "output"]

    def timed(
        self,
        arrays: tuple[Any, ...],
        device: str | None = None,
        repeats: int = 10,
        *,
        sizes: Mapping[str, int] | None = None,
    ) -> list[float]:
        """Seconds on the device of each of `repeats` runs, all kernels together, buffers in place.

        `sizes` gives those that no shape shows, as in a call.
        """
        return self.session(device).timed(self.rows(arrays, sizes), repeats)

    def rows(
        self, arrays: tuple[Any, ...], sizes: Mapping[str, int] | None = None
    ) -> dict[str, Held]:
        """The arguments and open sizes by buffer; raises `IllTyped` when they are not what the program takes."""
        parameters = self.plan.parameters
        if len(arrays) != len(parameters):
            wanted = ", ".join(f"{p.name}: {p.type}" for p in parameters)
            raise IllTyped(
                f"{self.plan.program} takes {len(parameters)} arguments ({wanted}), "
                f"{len(arrays)} are given"
            )
        found = self.plan.solved(arrays, sizes or {})
        here = self.plan.at(found)
        rows: dict[str, Held] = {
            b.name: np.array([found[b.name]], DTYPES[b.scalar.name])
            for b in self.plan.buffers
            if b.role == "size"
        }
        for p, value in zip(here.parameters, arrays, strict=True):
            rows.update(zip(p.buffers, held(value, p.type, p.name), strict=True))
        return rows

    def session(self, device: str | Device | None = None) -> Session:
        """The program built for a device; kept, so that the next call builds nothing.

        Raises `Refuted` where a certificate is refuted, unless it is to run `unchecked`.
        """
        from relift.compiler.certificates.consultation import require_not_refuted

        key = device if isinstance(device, str) else "" if device is None else label(device)
        if key not in self._sessions:
            if not self.unchecked:
                require_not_refuted(self)
            self._sessions[key] = session_on(self.source, self.plan, device, unchecked=True)
        return self._sessions[key]

    def save(
        self,
        folder: str | Path,
        others: Mapping[str, str] | None = None,
        origin: Origin | None = None,
    ) -> Path:
        """Write kernel.cl, launch.json, certificate.json and `others`, bound together by a manifest.

        A reader never sees half a folder.  Above each kernel, a comment sums up its certificate; `origin` is the
        program that the kernels compute.
        """
        from relift.compiler.certificates.certificate import annotated, certificate_json
        from relift.compiler.certificates.consultation import certified

        where, found = Path(folder), certified(self)
        files = files_of(self) | {
            SOURCE: annotated(self.source, found),
            CERTIFICATE: certificate_json(found),
        }
        write_artefact(where, {**files, **(others or {})}, origin)
        return where


def files_of(compiled: Compiled) -> dict[str, str]:
    """What running a program needs, as the texts of two files."""
    return {SOURCE: compiled.source, LAUNCH: json.dumps(compiled.launch, indent=2) + "\n"}


def of_files(files: Mapping[str, str]) -> Compiled:
    """The inverse of `files_of`; raises `IllTyped` for what is no launch."""
    try:
        data = json.loads(files[LAUNCH])
    except (ValueError, RecursionError) as error:
        raise IllTyped(f"{LAUNCH} is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise IllTyped(f"{LAUNCH} is no launch")
    plan = launch_from_json(data)
    require_form(plan, LAUNCH)
    return Compiled(files[SOURCE], _with_spans(files[SOURCE], plan))


def load(folder: str | Path) -> Compiled:
    """What `Compiled.save` wrote; raises `ReliftError` when the folder holds no such thing, or not as it was written."""
    files, _ = read_artefact(Path(folder), (SOURCE, LAUNCH, CERTIFICATE))
    return of_files(files)


def _with_spans(source: str, plan: Launch) -> Launch:
    """The launch with the spans that the text has: those of launch.json are not believed."""
    from relift.compiler.certificates.overflow import with_spans
    from relift.compiler.text.lexing import NotUnderstood

    try:
        return with_spans(plan, source)
    except NotUnderstood:
        return plan  # its certificate is unknown, and says so
