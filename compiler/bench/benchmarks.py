"""Benchmarks: low-level programs with the sizes, the inputs and the references that their times are read against."""

from __future__ import annotations

import inspect
import symtable
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import decode_source
from numbers import Real
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, TypeAlias

from relift.compiler.bench.by_hand import ByHand
from relift.files import require_file
from relift.rewrites.loading import load_file, named_in
from relift.semantics.errors import ReliftError
from relift.semantics.language.programs import Program

Sizes: TypeAlias = Mapping[str, int]


@dataclass(frozen=True)
class Reference:
    """What a hand-written program takes for the same, on the device that the benchmark is for."""

    name: str
    seconds: float


@dataclass(frozen=True)
class Draw:
    """How an input is drawn: evenly from [low, high), whole numbers if `whole`; `high` may name a size."""

    low: float = 0.0
    high: float | str = 1.0
    whole: bool = False

    def at(self, sizes: Sizes) -> dict[str, Any]:
        """The same at sizes, as a manifest has it."""
        high = sizes[self.high] if isinstance(self.high, str) else self.high
        return {"low": self.low, "high": high, "whole": self.whole}


@dataclass(frozen=True)
class Benchmark:
    """A family of low-level programs, one for each choice of sizes.

    `make` takes the sizes and, besides, tuning parameters; a choice of those is a variant, the first is the
    default.  `gold` is the same in NumPy and float64, on the arguments of the program.  `flops` and `moved`
    count the operations and the bytes that any program must do and move; they take all sizes.  `numpy` and
    `by_hand` are the same in NumPy and single precision, and in OpenCL that a person wrote for a CPU: both are
    timed in turn with the kernels.  With `by_device`, `make` takes the `device` on which it is timed, too: a
    search for it, say.
    """

    name: str
    target: Literal["cpu", "gpu"]
    make: Callable[..., Program]
    sizes: Sizes
    small: Sequence[Sizes]
    gold: Callable[..., Any]
    flops: Callable[..., int]
    moved: Callable[..., int]
    variants: Sequence[Sizes] = ({},)
    inputs: Mapping[str, Draw] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    tolerance: float = 1e-5
    reference: Reference | None = None
    numpy: Callable[..., Any] | None = None
    by_hand: ByHand | None = None
    by_device: bool = False

    def at(self, variant: Sizes, device: str | None = None) -> Program:
        """The program at the sizes at which it is timed, on a device where one is named."""
        of = {"device": device} if self.by_device and device is not None else {}
        return self.make(**{**self.sizes, **variant}, **of)

    def unfit(self) -> str | None:
        """What its functions cannot be asked, in words; None where they take all sizes of each variant."""
        if not self.variants:
            return "has no variants; one without parameters is {}"
        for named in ("make", "flops", "moved"):
            function = getattr(self, named)
            if not callable(function):
                return f"has a {named} that is no function of its sizes"
            takes = inspect.signature(function)
            for variant in self.variants:
                sizes = {**self.sizes, **variant}
                try:
                    takes.bind(**sizes)
                except TypeError:
                    given = ", ".join(f"{name}={size}" for name, size in sizes.items())
                    return f"has a {named} of {takes}, which does not take its sizes {given}"
                if named != "make" and not isinstance(count := function(**sizes), Real):
                    return f"has a {named} that is no number but {str(count)[:60]!r}"
        return None

    def described(self, variant: Sizes) -> dict[str, Any]:
        """What a table of times says besides times."""
        sizes = {**self.sizes, **variant}
        return {
            "name": self.name,
            "target": self.target,
            "sizes": dict(self.sizes),
            "variant": dict(variant),
            "flops": self.flops(**sizes),
            "moved": self.moved(**sizes),
            "reference": None if self.reference is None else self.reference.name,
            "reference_seconds": None if self.reference is None else self.reference.seconds,
        }


def on_cpu(b: Benchmark, **sizes: int) -> Benchmark:
    """The program of a GPU's benchmark on a CPU, at sizes that it can do: there, each loses its reference.

    Its small sizes are tested already.
    """
    return replace(b, target="cpu", sizes=sizes, variants=({},), small=(), reference=None)


def load_benchmarks(
    folder: Path, names: Sequence[str], target: str, *, defaults: bool = False
) -> list[Benchmark]:
    """The benchmarks for a kind of device that the Python files of a folder list; all if no names are given.

    With `defaults`, only their first variants.  A file lists them as `benchmarks`; others are not executed.
    Raises `ReliftError` for a folder without such a file, and for a name that there is not.
    """
    if not folder.is_dir():
        raise ReliftError(
            f"there is no folder {folder}; benchmarks are the files of examples/low_level in Relift's "
            "checkout, say --folder where it is",
            place="",
        )
    files = [file for file in sorted(folder.glob("*.py")) if _lists_benchmarks(file)]
    if not files:
        raise ReliftError(
            f"no file of {folder} lists benchmarks; one does by a list that is called benchmarks",
            place="",
        )
    found = [b for file in files for b in _listed(file) if b.target == target]
    known = {b.name for b in found}
    if missing := [name for name in names if name not in known]:
        raise ReliftError(
            f"there is no benchmark {missing[0]} for {target}; there are: {', '.join(sorted(known))}",
            place="",
        )
    chosen = [b for b in found if not names or b.name in names]
    return [replace(b, variants=b.variants[:1]) if defaults else b for b in chosen]


def load_samples(samples: Path, benchmarks: Iterable[Benchmark]) -> ModuleType:
    """The module of `samples`, whose functions say what the results of the benchmarks must be, before anything is searched.

    Raises `ReliftError` where there is no such file, and where it has no function for one of the benchmarks.
    """
    found = load_file(samples)
    for b in benchmarks:
        if not callable(named_in(found, b.name)):
            said = f"{samples} has no function {b.name}, which computes rows of that benchmark's result"
            raise ReliftError(said, place="")
    return found


def _listed(file: Path) -> Sequence[Benchmark]:
    """The benchmarks of a file, which is executed; raises `ReliftError` where it lists other things."""
    found = named_in(load_file(file), "benchmarks", ())
    listed = found if isinstance(found, Sequence) else (found,)
    for other in listed:
        if not isinstance(other, Benchmark):
            said = f"{file}: benchmarks is or holds {str(other)[:60]!r}; it is a list of Benchmark"
            raise ReliftError(said, place="")
        if (why := other.unfit()) is not None:
            raise ReliftError(f"{file}: the benchmark {other.name} {why}", place="")
    return listed


def _lists_benchmarks(file: Path) -> bool:
    """Whether a file gives the name `benchmarks` to something, found without executing it."""
    require_file(file)
    try:
        names = symtable.symtable(decode_source(file.read_bytes()), str(file), "exec")
        found = names.lookup("benchmarks")
    except (KeyError, SyntaxError, ValueError):
        return False
    return found.is_assigned() or found.is_imported()
