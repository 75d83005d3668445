"""The theorems of several derivations, shared out: each is proved where its file is sent.

What comes back is what one process would say of them, in the same order, but for seconds and for how many lemmas
were new: those that two derivations have in common are proved by whoever is there first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from relift.processes.executors import each
from relift.rewrites.checks.operator_uses import require_laws
from relift.rewrites.checks.theorem.proving import NotFinished, NotProved, prove
from relift.rewrites.derivation.files import file_of, read_json
from relift.rewrites.derivation.steps import Redone, redone
from relift.rewrites.library import RULES
from relift.semantics.errors import ReliftError


@dataclass(frozen=True)
class Asked:
    """A derivation.json of `optimize --out`, or its folder, and sizes at which it is done again."""

    file: Path
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])


Ending: TypeAlias = Literal["proved", "refused", "not finished"]


@dataclass(frozen=True)
class Answer:
    """What became of a derivation, in words and data, which can be sent where terms cannot.

    `theorem`: the theorem with its proof as one file of Rocq; none unless it is `proved`.
    """

    program: str
    sizes: Mapping[str, int]
    verdict: Ending
    said: str
    data: Mapping[str, Any]
    theorem: str = ""

    def text(self) -> str:
        """What is said of it, for a person."""
        return self.said if self.verdict == "proved" else f"{self.verdict}: {self.said}"

    def to_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return {"program": self.program, "sizes": dict(self.sizes), **self.data}


def derivation_of(asked: Asked) -> Redone:
    """A derivation whose laws are to be believed, at its sizes, or done again at others; raises `ReliftError`."""
    file = file_of(asked.file)
    loaded = read_json(file, RULES)
    require_laws(loaded.program.body)
    if not asked.sizes:
        return loaded, ()
    if unknown := sorted(asked.sizes.keys() - loaded.sizes.keys()):
        raise ReliftError(f"{loaded.origin.name} has no size {unknown[0]}", place="")
    return redone(loaded, RULES, {**loaded.sizes, **asked.sizes}, {})


def answer(asked: Asked, progress: Callable[[str], None] = lambda text: None) -> Answer:
    """The theorem of a derivation, by the prover of this machine; raises `ReliftError` for bad input."""
    derivation, programs = derivation_of(asked)
    name, sizes = derivation.origin.name, dict(derivation.sizes)
    try:
        found = prove(derivation, progress=progress, programs=programs)
    except NotProved as error:
        verdict: Ending = "not finished" if isinstance(error, NotFinished) else "refused"
        data = {"proved": False, "verdict": verdict, "reason": error.message}
        return Answer(name, sizes, verdict, error.message, data)
    return Answer(name, sizes, "proved", found.text(), found.to_json(), found.theorem.whole)


def answers(
    asked: Sequence[Asked],
    executor: Executor | None = None,
    progress: Callable[[str], None] = lambda text: None,
) -> Iterator[Answer]:
    """What becomes of each of several derivations; shared out where there is an executor.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from pathlib import Path
    >>> from relift.rewrites.checks.theorem.shared import Asked, answers
    >>> with ThreadPoolExecutor(2) as executor:  # doctest: +SKIP
    ...     [a.verdict for a in answers([Asked(Path("dot")), Asked(Path("matmul"))], executor)]
    ['proved', 'proved']
    """
    if executor is None:
        for one in asked:
            yield answer(one, progress)
        return
    sent = [replace(one, file=one.file.absolute()) for one in asked]
    for done, found in enumerate(each(answer, sent, executor), 1):
        progress(f"{done} of {len(asked)}")
        yield found
