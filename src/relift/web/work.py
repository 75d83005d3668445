"""What is done for a request, section by section, as each is there."""

from __future__ import annotations

import math
import re
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from relift.checking import check
from relift.compiler.agreement.comparison import in_reach
from relift.compiler.agreement.inputs import whole_inputs
from relift.compiler.program import compile_program
from relift.compiler.running.timing import timer
from relift.device import preset
from relift.display.blocks import Block, Code, Roof, Title, Words
from relift.egraph.cost.model import time_text
from relift.egraph.displays import of_candidates, of_growth, of_saturation
from relift.egraph.growing import e_graph, is_searchable
from relift.egraph.search.optimize import Optimized
from relift.optimization import optimize
from relift.rewrites.checks.isolation import Stopped, at_most
from relift.rewrites.checks.rocq.statements import proposition
from relift.rewrites.checks.verdicts import TIERS, TierResult
from relift.rewrites.displays import HEADLINES, of_conclusion, of_results
from relift.rewrites.ledger.book import known_rules
from relift.rewrites.loading import load_program, load_rules
from relift.rewrites.rule import RejectedRule, Rule
from relift.semantics.errors import ReliftError, Unsupported
from relift.semantics.language.programs import Program
from relift.semantics.notation.displays import of_run
from relift.web import guard
from relift.web.operations import operations
from relift.web.printed import program_of, rule_of
from relift.web.requests import BadRequest, CheckRule, Request, RunProgram

Show = Callable[[str, Sequence[Block]], None]
"""Shows a section under its name; shown again, it takes the place of what was there."""

Say = Callable[[str], None]
"""Says what goes on."""

BUDGET, NODES, MEMORY_MB, TOP = 30.0, 20_000, 1_000, 4
"""What a search of the workbench may take, and how many candidates it shows."""

ROUNDS = 2
"""Rounds in which the rules of a derivation grow the e-graph that is drawn."""

MOST = 8
"""Rules of one file that are checked."""

SMALL = 4
"""The sizes at which arrays are drawn, where a program can be run at them."""


def work(request: Request, show: Show, say: Say) -> None:
    """Do what is asked for; raises `ReliftError`."""
    match request:
        case CheckRule():
            _check(request, show, say)
        case RunProgram():
            _run(request, show, say)


def _check(request: CheckRule, show: Show, say: Say) -> None:
    rules = _rules(request)
    for number, rule in enumerate(rules[:MOST]):
        _check_one(rule, _numbered(show, number), say)
    if len(rules) > MOST:
        rest = ", ".join(rule.name for rule in rules[MOST:])
        show("more", [Words(f"not checked: {rest}; {MOST} rules are checked at a time", "open")])


def _numbered(show: Show, number: int) -> Show:
    """Sections of the first rule have their names, those of others a number, too."""
    behind = f" {number + 1}" if number else ""
    return lambda name, blocks: show(name + behind, blocks)


def _check_one(rule: Rule | RejectedRule, show: Show, say: Say) -> None:
    show("rule", rule.display())
    results: list[TierResult] = []

    def finished(result: TierResult) -> None:
        results.append(result)
        show("tiers", of_results(results))
        if result.tier == TIERS[-1]:
            say("looking for conditions that are missing, or not needed")

    report = check(rule, progress=say, finished=finished, ahead=True)
    if not results:
        show("tiers", of_results(report.results))
    title = report.text().split("\n", 1)[0]
    show("verdict", [Title(title, HEADLINES[report.headline]), *of_conclusion(report)])
    if isinstance(rule, Rule):
        show("statement", _statement(rule))


def _statement(rule: Rule) -> list[Block]:
    try:
        return [Code(proposition(rule))]
    except ReliftError as error:
        return [Words(f"no statement: {error.message}", "open")]


def _rules(request: CheckRule) -> list[Rule | RejectedRule]:
    if not request.source:
        known = known_rules()
        if request.name not in known:
            raise BadRequest(f"the ledger has no rule {request.name[:80]}; write one, or pick one")
        return [known[request.name]]
    if request.language == "printed":
        return [rule_of(request.source)]
    with ExitStack() as stack:
        return list(_loaded(lambda: load_rules(_written(request.source, stack))).values())


def _written(source: str, stack: ExitStack) -> Path:
    """The user's Python as a file, which is watched from now on."""
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="relift-"))
    file = Path(folder).resolve() / "yours.py"
    file.write_text(source, encoding="utf-8")
    guard.watch(file)
    return file


def _program(request: RunProgram) -> Program:
    if request.language == "printed":
        return program_of(request.source)
    with ExitStack() as stack:
        name = f":{request.name}" if request.name else ""
        return _loaded(lambda: load_program(f"{_written(request.source, stack)}{name}"))


T = TypeVar("T")


def _loaded(load: Callable[[], T]) -> T:
    """What a user's file tells, if it does so in time."""
    try:
        with at_most(guard.LOADING, memory=guard.MEMORY // 2):
            return load()
    except Stopped as error:
        raise BadRequest(
            f"stopped: {error}; its rules and programs are to be told sooner"
        ) from None


def _run(request: RunProgram, show: Show, say: Say) -> None:
    program = _program(request)
    show("program", program.display())
    sizes = _sizes(request.sizes, program)
    say("interpreting")
    show("interpreter", _drawn(program))
    started = time.monotonic()

    def heard(stage: str, nodes: int, seconds: float) -> None:
        say(f"searching, {stage}: {nodes} nodes, {time.monotonic() - started:.1f} s")

    best = optimize(
        program, sizes, request.target, budget=BUDGET, nodes=NODES, memory_mb=MEMORY_MB, top=TOP,
        progress=heard,
    )  # fmt: skip
    ended = best.stopped or "all stages ran"
    said = f"{best.nodes} nodes in {best.seconds:.1f} s: {ended}"
    show("search", [Words(said), *of_growth(best)])
    show("candidates", of_candidates(best))
    show("derivation", best.derivation.display())
    say("drawing the e-graph of these rules")
    show("egraph", _grown(program, sizes, best))
    say("proving what is claimed of the kernel")
    show("kernel", compile_program(best.term).display())
    say("measuring")
    best = _measured(best, request.target, show)
    show("roofline", _roofline(program, sizes, best, request.target))


def _grown(program: Program, sizes: dict[str, int], best: Optimized) -> list[Block]:
    """The e-graph of the program under the rules that its derivation uses, for some rounds."""
    used = dict.fromkeys(
        step.rule + ("<" if step.direction == "backward" else "") for step in best.derivation.steps
    )
    fit = [rule for rule in used if is_searchable(program, rule)]
    rest = [rule for rule in used if rule not in fit]
    left_out = [Words(f"without what no e-graph uses: {', '.join(rest)}", "open")] if rest else []
    try:
        return [*of_saturation(e_graph(program, fit, sizes, rounds=ROUNDS)), *left_out]
    except ReliftError as error:
        return [Words(f"not drawn: {error.message}", "open")]


def _sizes(text: str, program: Program) -> dict[str, int]:
    """The sizes that are given as `n=1024,m=64`; those that are not given are small."""
    found: dict[str, int] = {}
    for part in re.split(r"[\s,]+", text.strip()):
        name, equals, number = part.partition("=")
        if part and not (equals and number.isascii() and number.isdigit() and len(number) < 10):
            raise BadRequest(f"sizes read n=1024,m=64, not {part[:40]}")
        if part:
            found[name] = int(number)
    each = 1 << max(4, 16 // max(1, len(program.sizes)))
    return {**dict.fromkeys(program.sizes, each), **found}


def _drawn(program: Program) -> list[Block]:
    """The program on small inputs, with the array after each stage."""
    for each in (SMALL, SMALL * 2, 6, 12, 16, SMALL + 1, 3):
        sizes = {name: max(each, least) for name, least in program.least_sizes.items()}
        try:
            at = program.at(sizes)
            if not in_reach(at):
                raise Unsupported("its arrays are too large")
            return of_run(program, whole_inputs(at, 0))
        except ReliftError as error:
            last = error
    return [Words(f"not drawn: {last.message}", "open")]


def _measured(best: Optimized, target: str, show: Show) -> Optimized:
    """The candidates with their times on the device of this machine, where it has one."""
    try:
        time_of = timer(target)
        found = []
        for number, candidate in enumerate(best.candidates):
            found.append(replace(candidate, measured=time_of(candidate.term)))
            rest = best.candidates[number + 1 :]
            best = replace(best, candidates=(*found, *rest))
            show("candidates", of_candidates(best))
    except ReliftError as error:
        show("candidates", [*of_candidates(best), Words(f"not measured: {error.message}", "open")])
    return best


def _roofline(program: Program, sizes: dict[str, int], best: Optimized, target: str) -> list[Block]:
    """The best candidate under the roofs of the device, as predicted and as measured."""
    device, count = preset(target), operations(program, sizes)
    moved = best.cost.bytes
    if not count or not moved or not math.isfinite(count):
        return [Words("nothing to draw: the program computes with no floats", "open")]
    times: dict[str, Any] = {
        "predicted": best.cost.seconds,
        "measured": best.candidates[0].measured,
    }
    points = tuple(
        (f"{name}, {time_text(seconds)}", count / moved, count / seconds / 1e9)
        for name, seconds in times.items()
        if seconds
    )
    said = f"{count:.4g} operations on {moved:.4g} bytes of global memory, each counted once"
    return [Roof(device.name, device.bandwidth_gbs, device.fma_gflops, points), Words(said)]
