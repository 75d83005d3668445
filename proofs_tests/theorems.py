"""Theorems of derivations by the dozen: every rule as a step of its own, every example, and what somebody changed.

    python -m proofs_tests.theorems rules                    each rule, in each direction, as a derivation of one step
    python -m proofs_tests.theorems examples [NAME…]         what the search finds for each example, on CPU and GPU
    python -m proofs_tests.theorems again [NAME…]            the same derivations at other sizes, and how long that takes
    python -m proofs_tests.theorems tampered --count 500     one thing changed; the prover alone has to refuse it

Many theorems go into one file of the prover here: a start of it takes longer than most of them.
"""

from __future__ import annotations

import itertools
import os
import random
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from proofs_tests.tampering import derivations
from relift.device import preset
from relift.egraph.search.optimize import optimize
from relift.files import temporary_folder
from relift.rewrites.checks.rocq.tier import opening
from relift.rewrites.checks.theorem.composed import (
    HEADING,
    Theorem,
    general_theorem,
    named,
    require_provable,
    stated_theorem,
)
from relift.rewrites.checks.theorem.congruence import Lemma
from relift.rewrites.checks.theorem.proving import Checker, NotProved, prove
from relift.rewrites.checks.theorem.result import IMPORTED, IMPORTS
from relift.rewrites.checks.theorem.store import Store
from relift.rewrites.derivation.files import from_json
from relift.rewrites.derivation.steps import Derivation, Step, redone
from relift.rewrites.library import RULES
from relift.rewrites.loading import load_program
from relift.rewrites.rule import Rule
from relift.semantics.errors import ReliftError
from relift.semantics.syntax.binding import positions, replace_at
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import Get, Input, Lambda, Literal, Term
from relift.semantics.syntax.types import Tuple, boolean

app = typer.Typer(add_completion=False, no_args_is_help=True)
BATCH = 40
EXAMPLES = Path(__file__).parent.parent / "examples"


@app.callback()
def commands() -> None:
    """Theorems of derivations by the dozen."""


def theorem_of(derivations: Sequence[Derivation], rules: Mapping[str, Rule] = RULES) -> Theorem:
    """The theorem of a derivation, given at one or more sizes."""
    require_provable(derivations[0], rules)
    return stated_theorem(derivations, [d.replay(rules) for d in derivations], rules)


# ---- many theorems in one file


def together(theorems: Sequence[Theorem]) -> str:
    """A file with the lemmas of many theorems, what each says in a module of its own, and what all assume."""
    lemmas = {lemma.name: lemma.text for each in theorems for lemma in each.lemmas}
    lemmas |= {each.composition.name: each.composition.text for each in theorems}
    parts = [f"{IMPORTED}{HEADING}{opening()}", *lemmas.values()]
    for i, theorem in enumerate(theorems):
        said = theorem.result.removeprefix(IMPORTS).replace("Print Assumptions everything.\n", "")
        short = named(theorem.composition)
        parts.append(
            f"Module K{i}.\nModule Derivation.\n{short}End Derivation.\n{said}\nEnd K{i}.\n"
        )
    everything = ", ".join(f"K{i}.everything" for i in range(len(theorems)))
    parts.append(f"Definition all := ({everything}).\nPrint Assumptions all.\n")
    return "\n".join(parts)


def refused(checker: Checker, theorems: dict[str, Theorem]) -> Iterator[tuple[str, str]]:
    """The theorems that the prover does not accept, by name, with what it says."""
    if not theorems:
        return
    with temporary_folder() as folder:
        status, said = checker.compile(folder, "Many", together(list(theorems.values())))
    if status == 0 and "Closed under the global context" in said:
        return
    if len(theorems) == 1:
        yield (
            next(iter(theorems)),
            " ".join(said.partition("Error:")[2].split())[:300] or said[:300],
        )
        return
    names = list(theorems)
    for half in (names[: len(names) // 2], names[len(names) // 2 :]):
        yield from refused(checker, {name: theorems[name] for name in half})


@app.command()
def rules(
    only: Annotated[list[str] | None, typer.Argument(help="Rules; all if none.")] = None,
) -> None:
    """Prove a derivation of one step by each rule; 1 if the prover refuses one."""
    checker, start = Checker.here(), time.monotonic()
    stated: dict[str, Theorem] = {}
    unstated: dict[str, str] = {}
    wrong: dict[str, str] = {}
    count = 0

    def judged() -> None:
        for name, said in refused(checker, stated):
            wrong[name] = said
            print(f"REFUSED {name}: {said}", flush=True)
        stated.clear()

    for name, data in derivations(frozenset(only or ())):
        try:
            stated[name] = theorem_of([from_json(data, RULES)], RULES)
            count += 1
        except ReliftError as error:
            unstated[name] = error.message
            print(f"not stated {name}: {error.message}", flush=True)
        if len(stated) == BATCH:
            judged()
    judged()
    print(
        f"{count} theorems of one step, {len(wrong)} refused, {len(unstated)} not stated, "
        f"{time.monotonic() - start:.0f} s"
    )
    raise typer.Exit(bool(wrong))


# ---- examples


SIZES: dict[str, dict[str, int]] = {
    "dot": {"n": 4096}, "saxpy": {"n": 4096}, "sum_of_squares": {"n": 4096}, "stencil": {"n": 4096},
    "matvec": {"n": 1024, "m": 1024}, "matmul": {"n": 1024, "m": 1024, "k": 1024},
    "transpose": {"n": 1024, "m": 1024}, "nbody": {"n": 1024}, "nbody_nvidia": {"n": 1024},
    "md": {"n": 1024, "k": 128}, "kmeans": {"n": 1024, "k": 5, "d": 34},
    "nearest_neighbour": {"n": 4096}, "mriq": {"n": 1024, "k": 512},
    "convolution": {"h": 64, "w": 64, "r": 2}, "convolution_separable": {"h": 64, "w": 64, "r": 8},
    "atax": {"n": 1024, "m": 1024}, "gemv": {"n": 1024, "m": 1024}, "gesummv": {"n": 1024, "m": 1024},
    "j2d5pt": {"n": 64, "m": 64}, "j2d9pt": {"n": 64, "m": 64}, "j3d7pt": {"n": 16, "m": 16, "k": 16},
    "heat3d": {"n": 16, "m": 16, "k": 16}, "hotspot": {"n": 64, "m": 64},
    "acoustic": {"n": 16, "m": 16, "k": 16}, "black_scholes": {"n": 4096},
    "mandelbrot": {"n": 64, "m": 64}, "histogram": {"n": 4096, "b": 16},
}  # fmt: skip
"""The examples that a search takes to a kernel, with sizes that leave it room for tiles."""


def searched(name: str, target: str, budget: float) -> Derivation:
    """What the search finds for an example."""
    program = load_program(str(EXAMPLES / f"{name}.py"))
    return optimize(program, SIZES[name], preset(target), budget=budget).derivation


@app.command()
def examples(
    only: Annotated[list[str] | None, typer.Argument(help="Examples; all if none.")] = None,
    budget: Annotated[float, typer.Option(help="Seconds of each search.")] = 15.0,
) -> None:
    """Prove what the search finds for each example, on CPU and GPU; 1 if the prover refuses one."""
    failed = 0
    prover = Checker.here().prover
    for name in only or SIZES:
        for target in ("cpu", "gpu"):
            try:
                derivation = searched(name, target, budget)
                with temporary_folder() as folder:  # nothing is known of what others have proved
                    checker, before = Checker(prover, Store(folder / "lemmas")), _computed()
                    theorem = general_theorem(derivation, RULES)
                    new = checker.check(theorem)
                    seconds, before = _computed() - before, _computed()
                    checker.check(general_theorem(derivation, RULES))
                    again = _computed() - before
            except ReliftError as error:
                failed += 1
                print(f"FAILED {name} {target}: {error.message}", flush=True)
                continue
            laws = len(theorem.statement.of("law"))
            print(
                f"{name} {target}: {len(theorem.steps)} steps, {laws} laws, {seconds:.1f} s of processors, "
                f"{new} lemmas; again {again:.1f} s",
                flush=True,
            )
    raise typer.Exit(bool(failed))


def _computed() -> float:
    """Seconds that processors have worked for this process and what it has waited for."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


AT_OTHERS = 2.0
"""Seconds of processors in which a derivation that was proved is proved at other sizes."""


@app.command()
def again(
    only: Annotated[list[str] | None, typer.Argument(help="Examples; all if none.")] = None,
    budget: Annotated[float, typer.Option(help="Seconds of each search.")] = 15.0,
) -> None:
    """Prove derivations, and once more at two and at three times the sizes; 1 if one takes 2 s of processors then."""
    slow = 0
    for name in only or SIZES:
        for target in ("cpu", "gpu"):
            derivation = searched(name, target, budget)
            prove(derivation)
            for factor in (2, 3):
                sizes = {size: factor * n for size, n in derivation.sizes.items()}
                before = _computed()
                try:
                    there, programs = redone(derivation, RULES, sizes, {})
                    proved = prove(there, programs=programs)
                except ReliftError as error:
                    print(f"{name} {target}: not at {sizes}: {error.message}", flush=True)
                    continue
                seconds = _computed() - before
                slow += seconds >= AT_OTHERS
                print(
                    f"{name} {target}, {proved.steps} steps, at {sizes}: {seconds:.2f} s, {proved.new} lemmas new",
                    flush=True,
                )
    raise typer.Exit(bool(slow))


# ---- what somebody changed


@dataclass(frozen=True)
class Forged:
    """A derivation with one thing changed, and the programs that it claims; they are not replayed."""

    what: str
    derivation: Derivation
    terms: tuple[Term, ...]
    honest: bool
    """Whether the programs are those of the derivation that was changed."""


def forgeries(d: Derivation, terms: Sequence[Term], drawn: random.Random) -> Iterator[Forged]:
    """One change after the other, without end: of a size, a position, a rule, a direction, a part, a program."""
    makers = (_size, _position, _rule, _direction, _filling, _program, _program)
    while True:  # which a caller ends
        number = drawn.randrange(len(d.steps))
        maker = drawn.choice(makers)
        found = maker(d, terms, number, drawn)
        if found is not None:
            yield found


def _with(d: Derivation, terms: Sequence[Term], number: int, what: str, step: Step) -> Forged:
    steps = (*d.steps[:number], step, *d.steps[number + 1 :])
    name = f"step {number + 1} by {d.steps[number].rule}: {what}"
    return Forged(name, replace(d, steps=steps), tuple(terms), True)


def _size(d: Derivation, terms: Sequence[Term], number: int, drawn: random.Random) -> Forged | None:
    step = d.steps[number]
    sizes = dict(step.substitution.sizes)
    if not sizes:
        return None
    name = drawn.choice(sorted(sizes))
    old = sizes[name].constant or 0
    sizes[name] = Size.of(
        drawn.choice([n for n in (old + 1, abs(old - 1), 2 * old + 3) if n != old])
    )
    filled = replace(step.substitution, sizes=sizes)
    return _with(d, terms, number, f"{name} = {sizes[name]}", replace(step, substitution=filled))


def _position(
    d: Derivation, terms: Sequence[Term], number: int, drawn: random.Random
) -> Forged | None:
    step = d.steps[number]
    others = [place for place, _ in positions(terms[number]) if place != step.position]
    if not others:
        return None
    place = drawn.choice(others)
    return _with(d, terms, number, f"at {'.'.join(place)}", replace(step, position=place))


def _rule(d: Derivation, terms: Sequence[Term], number: int, drawn: random.Random) -> Forged | None:
    step = d.steps[number]
    own = RULES[step.rule]
    alike = [
        name
        for name, r in RULES.items()
        if name != step.rule
        and r.parameters.keys() <= own.parameters.keys()
        and set(r.sizes) <= set(own.sizes)
        and set(r.types) <= set(own.types)
        and (r.left, r.right) != (own.left, own.right)
    ]
    if not alike:
        return None
    name = drawn.choice(alike)
    return _with(d, terms, number, f"by {name}", replace(step, rule=name))


def _direction(
    d: Derivation, terms: Sequence[Term], number: int, drawn: random.Random
) -> Forged | None:
    step = d.steps[number]
    turned: Any = "forward" if step.direction == "backward" else "backward"
    return _with(d, terms, number, turned, replace(step, direction=turned))


def _filling(
    d: Derivation, terms: Sequence[Term], number: int, drawn: random.Random
) -> Forged | None:
    step = d.steps[number]
    functions = dict(step.substitution.functions)
    if not functions:
        return None
    name = drawn.choice(sorted(functions))
    f = functions[name]
    if (body := _changed(f.body, drawn)) is None:
        return None
    functions[name] = Lambda(f.parameters, body)
    filled = replace(step.substitution, functions=functions)
    return _with(d, terms, number, f"{name} changed", replace(step, substitution=filled))


def _program(
    d: Derivation, terms: Sequence[Term], number: int, drawn: random.Random
) -> Forged | None:
    """Another program after the step, be it the result or one on the way."""
    other = _changed(terms[number + 1], drawn)
    if other is None:
        return None
    changed = (*terms[: number + 1], other, *terms[number + 2 :])
    what = f"the program after step {number + 1} by {d.steps[number].rule}"
    return Forged(what, d, changed, False)


def _changed(t: Term, drawn: random.Random) -> Term | None:
    """A term of the same type in which one leaf is another: a number, a component, an input, a variable."""
    found = list(positions(t))
    inputs = sorted({u for _, u in found if isinstance(u, Input)}, key=lambda u: u.name)
    for place, u in drawn.sample(found, len(found)):
        match u:
            case Literal(value, of) if value + 1 != value:
                other = not value if of == boolean else value + 1
                return replace_at(t, place, Literal(other, of))
            case Get(index, of) if isinstance(of.type, Tuple):
                others = [i for i, p in enumerate(of.type.parts) if p == u.type and i != index]
                if others:
                    return replace_at(t, place, replace(u, index=drawn.choice(others)))
            case Input():
                alike = [x for x in inputs if x.type == u.type and x != u]
                if alike:
                    return replace_at(t, place, drawn.choice(alike))
            case _:
                pass
    return None


@dataclass
class Verdicts:
    """How the changed derivations fared: refused before the prover, by it, or accepted."""

    tried: int = 0
    unstated: int = 0
    by_prover: int = 0
    harmless: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()


def judged(checker: Checker, forged: Iterable[Forged], verdicts: Verdicts) -> None:
    """Let the prover alone judge; `wrong`: it accepts other programs, or what the matcher believes as well.

    What it accepts although a step says something else, which only the matcher sees, is about the same programs.
    """
    lemmas: dict[str, str] = {}
    tests: list[tuple[Forged, list[Lemma]]] = []
    for each in forged:
        verdicts.tried += 1
        try:
            theorem = stated_theorem([each.derivation], [each.terms], RULES)
        except (ReliftError, LookupError, AssertionError, AttributeError, ValueError, TypeError):
            verdicts.unstated += 1
            continue
        lemmas |= {x.name: x.text for x in theorem.lemmas}
        tests.append((each, list(theorem.lemmas)))
    parts = [f"{IMPORTED}{HEADING}{opening()}"]
    parts += [_tried(name, text) for name, text in lemmas.items()]
    with temporary_folder() as folder:
        status, said = checker.compile(folder, "Forged", "\n".join(parts))
    if status:
        raise NotProved(f"the file of the forgeries is not accepted: {said[:300]}")
    stopped = set(_STOPPED.findall(said))
    for each, own in tests:
        if any(x.name in stopped for x in own):
            verdicts.by_prover += 1
        elif each.honest and not _replays(each.derivation):
            verdicts.harmless += (each.what,)
        else:
            verdicts.wrong += (each.what,)


def _replays(d: Derivation) -> bool:
    """Whether the matcher believes a derivation, too, so that `relift prove` would take it."""
    try:
        d.replay(RULES)
    except (ReliftError, LookupError):
        return False
    return True


_STOPPED = re.compile(r"STOPPED:(\w+)")
_EXACT = re.compile(r"Theorem (\w+) : (.*)\.\nProof\. exact (.*)\. Qed\.\n\Z", re.DOTALL)


def _tried(name: str, text: str) -> str:
    """A lemma that may not be well typed, or whose proof may fail; it says so."""
    found = _EXACT.fullmatch(text)
    if found is None:
        return text  # a rule, which no change concerns
    stopped = f'idtac "STOPPED:{name}"'
    stated = f"ltac:(first [ exact ({found[2]}) | {stopped}; exact True ])"
    return (
        f"Definition {name} : {stated}.\nProof. first [ exact {found[3]} | {stopped} ]. Admitted.\n"
    )


@app.command()
def tampered(
    only: Annotated[list[str] | None, typer.Argument(help="Examples; several if none.")] = None,
    count: Annotated[int, typer.Option(help="So many changes.")] = 500,
    seed: Annotated[int, typer.Option(help="What they are drawn by.")] = 0,
) -> None:
    """Change derivations in one place each; 1 if the prover accepts one that claims other programs."""
    checker, drawn, verdicts = Checker.here(), random.Random(seed), Verdicts()
    names = only or ["dot", "matvec", "stencil", "gemv", "kmeans", "convolution"]
    for name in names:
        d = searched(name, "cpu", 15.0)
        stream = forgeries(d, d.replay(RULES), drawn)
        left = -(-count // len(names))
        while left:
            some = min(left, 25)
            judged(checker, itertools.islice(stream, some), verdicts)
            left -= some
        print(f"{name}: {verdicts.tried} tried, {len(verdicts.wrong)} wrong", flush=True)
    for line in verdicts.harmless:
        print(f"about the same programs, refused by the matcher: {line}")
    for line in verdicts.wrong:
        print(f"WRONG {line}")
    print(
        f"{verdicts.tried} changes: {verdicts.unstated} cannot be stated, {verdicts.by_prover} refused by the "
        f"prover, {len(verdicts.harmless)} about the same programs and refused by the matcher, "
        f"{len(verdicts.wrong)} wrong"
    )
    raise typer.Exit(bool(verdicts.wrong))


if __name__ == "__main__":
    app()
