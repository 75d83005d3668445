"""What the user's own rules and strategies do in a search beside its stages.

A rule that an e-graph can hold takes part in the stages.  Every rule is also applied to the program itself, wherever it
matches, so that what tactics make of the program, they make of that, too.
"""

from __future__ import annotations

import itertools
import traceback
from collections.abc import Iterable, Mapping, Sequence

from relift.egraph.checks.admission import Admitted, RefusedRule
from relift.egraph.process.saturation import Stage, named
from relift.egraph.search.derived import after
from relift.rewrites.application.matching import NoMatch
from relift.rewrites.declared_laws import FloatPolicy
from relift.rewrites.derivation.steps import Derivation
from relift.rewrites.library import RULES
from relift.rewrites.rule import Rule
from relift.rewrites.tactics.combinators import Rewriting, Tactic, apply, topdown, watched
from relift.semantics.errors import ReliftError, in_a_line, is_ours
from relift.semantics.language.programs import Program
from relift.semantics.notation.parser import names_used
from relift.semantics.syntax.binding import Position, canonical, term_at

MOST_PLACES = 16
"""So often a rule is applied to a program at most; one that fits what it makes would go on forever."""


_STRATEGY = "a strategy takes a Rewriting and a place, and returns a Rewriting, as those of relift.strategies do"


class StrategyStopped(ReliftError):
    """A strategy of the user's that does not apply; the message says how far it came."""


STAGES: tuple[Stage, ...] = (
    Stage("split into chunks", ("split_join", "partial_reduce_chunks", "stencil_tiling"), 1),
    Stage("move maps together", ("split_map", "map_join", "map_fusion"), 2),
    Stage("vectorise", ("vectorize_map", "vectorize_reduce", "as_vector_map"), 2),
    Stage(
        "fuse",
        (
            "map_fusion", "zip_map_left", "zip_map_right", "as_vector_map", "reduce_to_seq",
            "reduce_map_fusion",
        ),
        3,
    ),
)  # fmt: skip
"""What an e-graph grows by, one after the other."""


def stages_with(
    stages: Sequence[Stage], admitted: Admitted, policy: FloatPolicy
) -> tuple[Stage, ...]:
    """The stages, with one of the user's rules before them, which also take part in the last one."""
    own = admitted.searchable(policy)
    if not own:
        return tuple(stages)
    *before, last = stages
    joined = Stage(last.name, tuple(dict.fromkeys((*last.rules, *own))), last.iterations)
    return (Stage("the user's rules", own, 2), *before, joined)


def applied(admitted: Admitted) -> list[Tactic]:
    """For each rule, what applies it wherever it matches, a few times at most; `NoMatch` where it does nowhere."""
    found: list[Tactic] = []
    for name in admitted.names:
        rule, direction = named(name)
        found.append(_at_every_place(topdown(apply(admitted.rules[rule], direction))))
    return found


def _at_every_place(once: Tactic) -> Tactic:
    def tactic(at: Rewriting, place: Position) -> Rewriting:
        at = once(at, place)
        seen = {canonical(term_at(at.term, place))}
        for _ in range(MOST_PLACES - 1):
            try:
                more = once(at, place)
            except NoMatch:
                return at
            if (now := canonical(term_at(more.term, place))) in seen:
                return at
            at = more
            seen.add(now)
        return at

    return tactic


def by_strategies(
    source: Program, given: Derivation, strategies: Sequence[tuple[str, Tactic]], admitted: Admitted
) -> list[Derivation]:
    """What the user's strategies make of the program; raises `StrategyStopped` of one that does not apply, or fails."""
    found: list[Derivation] = []
    for name, strategy in strategies:
        with watched() as furthest:
            try:
                tried = _watched(strategy, name)
                found.append(_by_strategy(after(source, given, tried), name, admitted))
            except NoMatch as failure:
                told = furthest.told() if furthest.at is not None else failure.message
                raise StrategyStopped(
                    f"the strategy {name} does not apply to {given.program.name}: it stopped {told}",
                    place="",
                ) from None
    return found


def _watched(strategy: Tactic, name: str) -> Tactic:
    """The strategy; what is wrong with its own Python is said of it, and is no defect of the search."""

    def tactic(at: Rewriting, place: Position) -> Rewriting:
        try:
            found: object = strategy(at, place)
        except (ReliftError, AssertionError):
            raise
        except Exception as error:  # it may be built of anything
            frames = traceback.extract_tb(error.__traceback__)
            lines = [f"{f.filename}:{f.lineno}" for f in frames if not is_ours(f.filename)]
            where = f" at {lines[-1]}" if lines else ""
            said = f"the strategy {name} fails{where}: {in_a_line(error)}"
            raise StrategyStopped(f"{said}; {_STRATEGY}", place="") from error
        if not isinstance(found, Rewriting):
            kind = type(found).__name__
            raise StrategyStopped(f"the strategy {name} returns {kind}; {_STRATEGY}", place="")
        return found

    return tactic


def _by_strategy(reached: Derivation, name: str, admitted: Admitted) -> Derivation:
    """What a strategy makes of the program, by rules that may be used."""
    for step in reached.steps:
        if step.rule not in admitted.rules:
            raise RefusedRule(
                f"the strategy {name} is by {step.rule}, which nobody has checked; give it among rules, "
                "or by --rules",
                place="",
            )
    reached.replay(admitted.rules)  # also what it calls by a name of the library is that rule
    return reached


def kept_here(parts: Iterable[tuple[Program, Program]], rules: Mapping[str, Rule]) -> list[object]:
    """What refers to functions, in whatever the search for parts of one program by these rules comes to: it is sent to no process.

    Of each part as it is given, and as it is searched.
    """
    programs = list(itertools.chain(*parts))
    sides = (side for rule in rules.values() for side in (rule.left, rule.right))
    bodies = (program.body for program in programs)
    used = (value for t in (*bodies, *sides) for value in names_used(t).values())
    references = (program.reference for program in programs)
    return [*programs, *references, RULES, rules, *rules.values(), *used]
