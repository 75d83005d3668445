"""Programs and folders whose kernels are validated, by name: what can be sent to whoever does the work.

What comes back is what one process would say of them, in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from pathlib import Path

from relift.compiler.agreement.artefacts import read_saved
from relift.compiler.meaning.evidence import Meaning, meaning_of
from relift.compiler.program import compile_program, is_parallel
from relift.processes.executors import each
from relift.rewrites.loading import load_program
from relift.semantics.errors import ReliftError


class NoKernel(ReliftError):
    """There is no kernel of a program that could be compared with it."""

    def __init__(self, message: str) -> None:
        super().__init__(message, place="")


@dataclass(frozen=True)
class Subject:
    """A folder of `optimize --out`, or a low-level program (`path.py:name`) that is compiled at these sizes.

    Sizes that are not given stay open.  Where it is `exact`, products and sums are rounded one by one.
    """

    where: str
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])
    exact: bool = False


def meaning_of_subject(
    subject: Subject, report: Callable[[str], None] = lambda kernel: None
) -> Meaning:
    """Whether the kernels of a folder, or those that a program is compiled to, compute the program.

    Raises `ReliftError` where there is no such folder, program or size, or no kernel.
    """
    if Path(subject.where).is_dir():
        saved = read_saved(Path(subject.where))
        return meaning_of(saved.kernel, saved.low, report=report)
    loaded, sizes = load_program(subject.where), subject.sizes
    if unknown := [name for name in sizes if name not in loaded.sizes]:
        raise NoKernel(
            f"{loaded.name} has no size {unknown[0]}; it has: {', '.join(loaded.sizes) or 'none'}"
        )
    here = loaded.at(sizes, partly=True)
    if not is_parallel(here):
        raise NoKernel(
            f"{loaded.name} is not low-level, so it has no kernel; validate a folder of relift optimize --out, "
            "or give --kernel FILE.cl --entry NAME"
        )
    return meaning_of(compile_program(here, contract=not subject.exact), here, report=report)


def meanings(
    subjects: Sequence[Subject],
    executor: Executor | None = None,
    report: Callable[[str], None] = lambda what: None,
) -> Iterator[Meaning]:
    """What becomes of each of several programs and folders; shared out where there is an executor.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from relift.compiler.meaning.subjects import Subject, meanings
    >>> from relift.files import temporary_folder
    >>> with temporary_folder() as folder, ThreadPoolExecutor(2) as executor:
    ...     file = folder / "row.py"
    ...     _ = file.write_text(
    ...         "import relift as rl\\n"
    ...         "@rl.program\\n"
    ...         "def row(x: rl.f32[8]):\\n"
    ...         "    return rl.map_glb(0)(lambda v: v + v, x)\\n"
    ...     )
    ...     [found.verdict for found in meanings([Subject(f"{file}:row")] * 2, executor)]
    ['validated', 'validated']
    """
    if executor is None:
        for subject in subjects:
            yield meaning_of_subject(subject, report)
        return
    sent = [replace(subject, where=_absolute(subject.where)) for subject in subjects]
    for done, found in enumerate(each(meaning_of_subject, sent, executor), 1):
        report(f"{done} of {len(subjects)}")
        yield found


def _absolute(where: str) -> str:
    """A name that means the same to processes of other folders."""
    named = Path(where).is_dir() or where.endswith(".py")
    path = Path(where if named else where.rpartition(":")[0])
    return str(Path(where).absolute()) if named or path.is_file() else where
