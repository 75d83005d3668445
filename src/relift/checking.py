"""Rules checked by all that Relift knows: the tiers of the search's part, and whether the functions in C that a rule
names mean their Python, which only the compiler can try.

The tiers, and the interpreter below them, run the Python of such a function, kernels its C.  Whoever says something of a
rule, or takes one of the user's into a search, asks here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from relift.compiler.agreement.comparison import Agreement
from relift.compiler.agreement.functions_in_c import functions_agree
from relift.egraph.checks import admission, shared
from relift.egraph.checks.tiers import CheckOptions
from relift.egraph.checks.tiers import check_all as by_tiers
from relift.egraph.search.guidance import guided
from relift.rewrites.checks.verdicts import TIERS, CheckReport, Status, TierName, TierResult
from relift.rewrites.derivation.own_rules import Assumed
from relift.rewrites.rule import RejectedRule, Rule
from relift.semantics.errors import ReliftError
from relift.semantics.language.arguments import an_instance

if TYPE_CHECKING:
    from relift.egraph.checks.admission import Admitted
    from relift.egraph.checks.shared import Portion
    from relift.egraph.search.guidance.guided import GoalResult
    from relift.egraph.sketches.language import Sketch
    from relift.rewrites.declared_laws import FloatPolicy
    from relift.semantics.language.programs import Program


def check(
    rule: Rule | RejectedRule,
    *,
    tiers: Sequence[TierName] = TIERS,
    bound: int = 3,
    guards: bool = True,
    progress: Callable[[str], None] | None = None,
    finished: Callable[[TierResult], None] | None = None,
    ahead: bool = False,
) -> CheckReport:
    """What the tiers say of a rule; tier 3 tries every size up to `bound`.  `finished` is told of each tier at once.

    With `ahead`, the prover begins beside the first tiers; an interrupt then waits for it.
    A function in C that the rule names, and whose C does something else than its Python, rejects the rule.  What could not
    be compared, as where no device works, is said.

    >>> import relift as rl
    >>> from relift.rewrites.library import RULES
    >>> rl.check(RULES["join_split"], tiers=("1", "3")).ok
    True
    """
    an_instance(rule, (Rule, RejectedRule), "a rule", "decorate its function with rl.rule")
    found = check_all(
        [rule], tiers=tiers, bound=bound, guards=guards, progress=progress, finished=finished, ahead=ahead
    )  # fmt: skip
    return next(found)


def check_all(
    rules: Iterable[Rule | RejectedRule], **options: Unpack[CheckOptions]
) -> Iterator[CheckReport]:
    """What is said of each rule, one after the other, by tiers with these options and of its functions in C."""
    rules, finished = list(rules), options.get("finished")
    found = by_tiers(rules, **options)
    for rule in rules:
        said = _of_functions(rule)
        for result in said:
            if finished is not None:
                finished(result)
        report = next(found)
        yield replace(report, results=(*said, *report.results))


def check_shared(
    rules: Sequence[Rule | RejectedRule],
    how: Portion,
    executor: Executor,
    progress: Callable[[str], None] | None = None,
) -> Iterator[CheckReport]:
    """The same, shared out by the names of rules; `how` says where they are from, and the tiers."""
    found = shared.check_shared([rule.name for rule in rules], how, executor, progress)
    for rule, report in zip(rules, found, strict=True):
        yield replace(report, results=(*_of_functions(rule), *report.results))


def require_functions(rules: Iterable[object]) -> None:
    """Raise `ReliftError` when one of some rules, assumed or not, names a function whose C does something else than its Python."""
    for given in rules:
        rule = given.rule if isinstance(given, Assumed) else given
        if not isinstance(rule, Rule):
            continue
        for found in functions_agree(rule.left, rule.right):
            if found.refuted:
                raise ReliftError(f"{rule.name} is refused: {_told(found)}", place=rule.place or "")


def admitted(rules: Sequence[object], assumed: Collection[str] = ()) -> Admitted:
    """These rules, checked, as they may take part in a search; raises `ReliftError` where one is refused."""
    require_functions(rules)
    return admission.admitted(rules, assumed)


def reach(
    program: Program,
    sketch: Sketch | str,
    sizes: Mapping[str, int],
    *,
    stages: Sequence[tuple[Sequence[str | Rule], Sketch | str]] = (),
    rules: Sequence[object] = (),
    budget: float = 60.0,
    float: FloatPolicy = "reassociate",
) -> GoalResult:
    """A program equal to `program` that satisfies a sketch, with its derivation; see `egraph.search.guidance.guided.reach`.

    Rules of the user's own, of `rules` and of `stages`, are refused where they name a function in C that is not its Python.

    >>> import relift as rl
    >>> n = rl.nat("n")
    >>> @rl.program
    ... def double(x: rl.f32[n]):
    ...     return rl.map(lambda v: v * 2.0, x)
    >>> found = rl.reach(double, "... >= map[n // t](... >= map[t](...))", {"n": 8, "t": 4})
    >>> [step.rule for step in found.derivation.steps]
    ['split_join']
    """
    require_functions([*rules, *(rule for group, _ in stages for rule in group)])
    return guided.reach(
        program, sketch, sizes, stages=stages, rules=rules, budget=budget, float=float
    )


def _of_functions(rule: Rule | RejectedRule) -> tuple[TierResult, ...]:
    """What is said of the functions in C that a rule names, a line of its report each: it is made of them, as of its types."""
    if isinstance(rule, RejectedRule):
        return ()
    return tuple(map(_result, functions_agree(rule.left, rule.right)))


def _result(found: Agreement) -> TierResult:
    status: Status = "ok" if found.ok else "rejected" if found.refuted else "skipped"
    return TierResult("1", "userfun", status, _told(found))


def _told(found: Agreement) -> str:
    hint = "; the C and the Python of a function must mean the same" if found.refuted else ""
    return f"{found.against}: {found.detail}{hint}"
