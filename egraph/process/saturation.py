"""Saturation: rules in stages, in a child process that a budget can end at any time.

The child runs one iteration after the other and sends the whole e-graph after each, so that whatever ends
the search, the last complete state is there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, TypeAlias

from relift.display.displayed import Displayed
from relift.egraph.encode.constructors import arity_of, constructors
from relift.egraph.encode.equations import NotSearchable
from relift.egraph.encode.prelude import laws_text, prelude, totality
from relift.egraph.encode.rules import EncodedRule, encode_rule
from relift.egraph.encode.snapshot import Dump, Snapshot
from relift.egraph.encode.terms import let_text, term_text
from relift.egraph.process.children import Child, SearchFailed, leave, waiting
from relift.rewrites.application.totality import (
    first_partial,
    first_partial_operator,
    has_open_cells,
    operators_in,
)
from relift.rewrites.checks.verdicts import Direction
from relift.rewrites.declared_laws import FloatPolicy
from relift.rewrites.library import RULES
from relift.rewrites.rule import Rule
from relift.semantics.errors import Unsupported
from relift.semantics.language.programs import Program
from relift.semantics.notation.parser import names_used
from relift.semantics.syntax.terms import BinaryOperator, Term, UserFunction

Progress: TypeAlias = Callable[[str, int, float], None]
"""Called after every iteration with its name, the number of nodes, and the seconds so far."""


class NeverBegan(SearchFailed):
    """A program that has no room in an e-graph: other ways may do without one."""


@dataclass(frozen=True)
class Stage:
    """Some rules, and how many iterations they run; `name<` is the rule `name` from right to left."""

    name: str
    rules: tuple[str, ...]
    iterations: int


@dataclass(frozen=True)
class Budget:
    """What a search may use, once the program is in the e-graph; the first to run out ends it."""

    seconds: float = 20.0
    nodes: int = 50_000
    memory_mb: int = 2_000


@dataclass(frozen=True)
class Request:
    """A search: a program at concrete sizes, stages of rules, and rules that run in every iteration.

    `tiles` and `lanes` are the values for sizes that rules leave open, `lanes` for widths of vectors.
    """

    program: Program
    stages: tuple[Stage, ...]
    normal_form: tuple[str, ...] = ()
    tiles: tuple[int, ...] = ()
    lanes: tuple[int, ...] = ()
    policy: FloatPolicy = "reassociate"
    budget: Budget = Budget()
    rules: Mapping[str, Rule] = field(default_factory=lambda: RULES)


@dataclass(frozen=True)
class Saturation(Displayed):
    """Where a search ended, and why; `complete` when no budget cut it short.

    `firings` and `profile` hold the matches and the seconds of every rule that was tried; `peak_mb` is the
    most memory that the child has taken.
    """

    shown_by: ClassVar = "relift.egraph.displays:of_saturation"

    snapshot: Snapshot
    stopped: str
    complete: bool
    nodes: int
    seconds: float
    iterations: int
    firings: Mapping[str, int]
    rules: tuple[EncodedRule, ...]
    request: Request
    profile: Mapping[str, float]
    peak_mb: float


def named(rule: str) -> tuple[str, Direction]:
    """The rule and the direction that a name in a stage means."""
    return (rule[:-1], "backward") if rule.endswith("<") else (rule, "forward")


def encode_rules(request: Request, *, partial: bool = False) -> dict[str, EncodedRule]:
    """The rules of a request by the name in its stages; raises `Unsupported` for one that cannot be used.

    `partial`: with premises that no value is lost, which a program needs in which some may be undefined.
    """
    mentioned = dict.fromkeys((*request.normal_form, *(r for s in request.stages for r in s.rules)))
    encoded: dict[str, EncodedRule] = {}
    for rule in mentioned:
        name, direction = named(rule)
        if name not in request.rules:
            raise Unsupported(f"there is no rule {name}")
        try:
            encoded[rule] = encode_rule(
                request.rules[name], direction, request.policy, partial=partial
            )
        except NotSearchable as reason:
            raise Unsupported(f"{rule} cannot be used in search: {reason}") from None
    return encoded


def names_of(
    terms: Iterable[Term],
) -> tuple[dict[str, BinaryOperator], dict[str, UserFunction]]:
    """The operators and the user functions in some terms; raises `Unsupported` when names clash."""
    operators: dict[str, BinaryOperator] = {}
    functions: dict[str, UserFunction] = {}
    for t in terms:
        for name, value in names_used(t).items():
            known = operators.get(name) or functions.get(name)
            if known is not None and known != value:
                raise Unsupported(f"two different functions are both named {name}; rename one")
            if isinstance(value, BinaryOperator):
                operators[name] = value
            else:
                functions[name] = value
    return operators, functions


def _combined(label: str, rules: Iterable[str], encoded: Mapping[str, EncodedRule]) -> str:
    """The rulesets that one iteration of a stage runs."""
    name = label if label == "normal" else "stage_" + label
    chosen = [encoded[rule] for rule in dict.fromkeys(rules)]
    apply = " ".join(rule.ruleset for rule in chosen)
    demand = " ".join(rule.demand for rule in chosen if rule.demand is not None)
    return (
        f"(unstable-combined-ruleset {name} {apply})\n"
        f"(unstable-combined-ruleset demand_{label} {demand})\n"
    )


def tables(arity: int, rules: Iterable[EncodedRule]) -> dict[str, tuple[str, ...]]:
    """The tables that the child sends, each with the sorts of its columns, the result last."""
    found: dict[str, tuple[str, ...]] = {
        "Sc": ("String", "T"),
        "Arr": ("i64", "T", "T"),
        "Vec": ("i64", "T", "T"),
        "Tup": ("L", "T"),
        "Clash": ("T", "T", "T"),
        "Nil": ("L",),
        "Cons": ("T", "L", "L"),
        "V": ("String", "T", "N"),
        "Fr": ("String", "N", "T", "N"),
        "OFn": ("String", "O"),
        "OAny": ("String", "O"),
        "OVec": ("i64", "O", "O"),
        "ty": ("E", "T"),
    }
    for c in constructors(arity).values():
        sorts = [slot.sort for slot in c.slots]
        found[c.name] = (*sorts, "E")
        found[c.mirrored] = (*("Q" if sort == "E" else sort for sort in sorts), "Q")
    for rule in rules:
        found[rule.log.relation] = rule.log.sorts
    return found


def is_partial(program: Program) -> bool:
    """Whether something in a program may be undefined, as far as its text tells."""
    return first_partial(program.body, open_cells=has_open_cells(program.body)) is not None


def saturate(request: Request, progress: Progress | None = None) -> Saturation:
    """Run a search; raises `UnsoundRules` when its rules equate what differs.

    An exception in `progress`, such as an interrupt, ends the child too.  Inside `one_child` the next search has it.
    """
    with Searcher(request) as searcher:
        return searcher.saturate(request, progress)


class Searcher:
    """Runs searches one after the other in one child process, which knows the rules of `widest`.

    A search that hangs or takes all memory ends the child; the next one gets a new child.
    """

    def __init__(self, widest: Request) -> None:
        self.widest = widest
        self._child: Child | None = None
        self._know(is_partial(widest.program))

    def _know(self, partial: bool) -> None:
        """Encode the rules, for programs that are partial or for those that are not."""
        self._end()
        self.partial = partial
        widest = self.widest
        body = widest.program.body
        self._encoded = encode_rules(widest, partial=partial)
        rules = (widest.rules[named(name)[0]] for name in self._encoded)
        sides = [side for rule in rules for side in (rule.left, rule.right)]
        self.arity = arity_of([body, *sides])
        self.operators, self.functions = names_of(
            [body, *(t for rule in widest.rules.values() for t in (rule.left, rule.right))]
        )
        (used, _), (own, _) = names_of(sides), names_of([body])
        self._own_laws = laws_text({name: own[name].laws for name in own if name not in used})
        parts = [prelude(self.arity), laws_text({name: used[name].laws for name in used})]
        if partial:
            parts.append(self._totality(body, sides))
        parts += [r.text for r in self._encoded.values()]
        self._base = {
            "program": "".join(parts),
            "tables": tables(self.arity, self._encoded.values()),
            "counted": list(constructors(self.arity)),
            "memory_mb": widest.budget.memory_mb,
            "search": True,
        }

    def _totality(self, body: Term, sides: Sequence[Term]) -> str:
        open_cells = has_open_cells(body)
        bodies = [f.body.body for f in self.functions.values() if f.body is not None]
        used = [pair for t in (body, *sides) for pair in operators_in(t)]
        return totality(
            self.arity,
            branches=not open_cells,
            functions=not open_cells and all(first_partial(t) is None for t in bodies),
            operators=all(first_partial_operator(*pair, open_cells) is None for pair in used),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._child is not None:
            leave(self._child, self._base)
        self._child = None

    def _end(self) -> None:
        if self._child is not None:
            self._child.__exit__()
        self._child = None

    def saturate(self, request: Request, progress: Progress | None = None) -> Saturation:
        """Run one search, with rules that this searcher knows."""
        if is_partial(request.program) and not self.partial:
            self._know(partial=True)
        if self._child is None and (found := waiting(self._base)) is not None:
            self._child = found
            with suppress(SearchFailed):  # or of memory: what others left in it took the room
                if (done := self._saturated(request, progress)).stopped != REASONS["memory"]:
                    return done
        return self._saturated(request, progress)

    def _saturated(self, request: Request, progress: Progress | None) -> Saturation:
        chosen = encode_rules(request, partial=self.partial)
        stages = [(stage.name, stage.iterations) for stage in request.stages]
        parts = [
            self._own_laws,  # told here, so that a child that knows the rules serves other programs
            *(_combined(str(i), s.rules, self._encoded) for i, s in enumerate(request.stages)),
            _combined("normal", request.normal_form, self._encoded),
            *(f"(tile {value})" for value in request.tiles),
            *(f"(lanes {value})" for value in request.lanes),
            let_text("$root", term_text(request.program.body)),
        ]
        message = {"program": "".join(parts), "stages": stages, "nodes": request.budget.nodes}
        if self._child is None:
            self._child = Child(self._base).__enter__()
        ended = False
        try:
            self._child.send(message)
            last, stopped, iterations, seconds = self._receive(self._child, request, progress)
            ended = stopped in ("saturated", "iterations", "nodes")
        finally:
            if not ended:
                self._end()
        snapshot = Snapshot(
            Dump(**last["data"]),
            arity=self.arity,
            operators=self.operators,
            functions=self.functions,
            inputs=[p.name for p in request.program.parameters],
        )
        return Saturation(
            snapshot,
            REASONS[stopped],
            stopped in ("saturated", "iterations"),
            last["nodes"],
            seconds,
            iterations,
            last["data"]["firings"],
            tuple(chosen.values()),
            request,
            last["profile"],
            last["peak_mb"],
        )

    def _receive(
        self, child: Child, request: Request, progress: Progress | None
    ) -> tuple[dict[str, Any], str, int, float]:
        """The last complete state, why the search ended, and how many iterations and seconds it took."""
        started = time.monotonic()
        deadline = started + _START_SECONDS
        last: dict[str, Any] | None = None
        iterations, stopped = 0, ""
        while not stopped:
            answer = child.receive(deadline)
            if isinstance(answer, str):
                stopped = answer
            elif "stopped" in answer:
                stopped = answer["stopped"]
            else:
                if last is None:
                    started = time.monotonic()
                    deadline = started + request.budget.seconds
                if answer["data"] is not None:
                    last = answer
                    iterations += answer["iteration"] > 0
                if progress is not None:
                    where = f"{answer['stage']} {answer['iteration']}"
                    progress(where, answer["nodes"], time.monotonic() - started)
        if last is None:
            raise NeverBegan(_NEVER_BEGAN[stopped].format(request.budget), place="")
        return last, stopped, iterations, time.monotonic() - started


_START_SECONDS = 60.0
"""How long the child may take until the program is in its e-graph; the budget counts from then on."""

REASONS = {
    "saturated": "saturated: no rule adds anything",
    "iterations": "all stages ran their iterations",
    "nodes": "the budget of nodes ran out",
    "seconds": "the budget of seconds ran out",
    "memory": "the budget of memory ran out",
}
"""Why an e-graph grows no further, in words."""


_NEVER_BEGAN = {
    "seconds": f"the program was not in the e-graph after {_START_SECONDS:.0f} s, so no rule was tried; "
    "write it with fewer terms, or split it",
    "memory": "a process of the search had {0.memory_mb} MB, too few for the program itself, so no rule was tried; "
    "raise memory_mb",
}
"""What ended a search before its first state, which no budget but that of memory can do."""
