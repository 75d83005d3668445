"""A derivation is one theorem that the prover accepts, and no other thing is."""

from __future__ import annotations

import itertools
import json
import pickle
import random
import re
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import relift as rl
from proofs_tests.command_line import here
from proofs_tests.prover import PROVER, needs_prover
from proofs_tests.theorems import Verdicts, forgeries, judged, theorem_of
from relift.rewrites.application.matching import apply_rule
from relift.rewrites.checks.rocq import tier
from relift.rewrites.checks.rocq.installed import compiled_library
from relift.rewrites.checks.theorem import composed, proving, shared
from relift.rewrites.checks.theorem.composed import general_theorem, stated_theorem
from relift.rewrites.checks.theorem.proving import Checker, NotProved, Proved
from relift.rewrites.checks.theorem.shared import Asked, answers
from relift.rewrites.checks.theorem.store import Store
from relift.rewrites.derivation.files import from_json, to_json, write_json
from relift.rewrites.derivation.steps import BrokenDerivation, Derivation, Step
from relift.rewrites.library import RULES
from relift.semantics.errors import ReliftError
from relift.semantics.syntax.binding import map_children
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import Lambda, Var, subterms

n = rl.nat("n")


@rl.program
def dot(x: rl.f32[n], y: rl.f32[n]):
    return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(x, y)))


@rl.program
def differences(x: rl.f32[n], y: rl.f32[n]):
    return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] - p[1], rl.zip(x, y)))


def derived(
    program: Any, size: int, steps: Sequence[tuple[str, tuple[str, ...], str, dict[str, int]]]
) -> Derivation:
    """The derivation by these rules, each at its position."""
    t = program.at({"n": size}).body
    taken: list[Step] = []
    for name, position, direction, choices in steps:
        way: Any = direction
        t, filling = apply_rule(RULES[name], t, position, direction=way, choices=choices)
        taken.append(Step(name, way, position, filling, choices))
    return Derivation(program, {"n": size}, tuple(taken), t)


def chunked(size: int = 24, program: Any = dot) -> Derivation:
    """Sums of chunks: laws of operators, positions below binders, steps in both directions, a choice."""
    return derived(
        program,
        size,
        [
            ("partial_reduce_chunks", (), "forward", {"m": 4}),
            ("split_join", ("xs", "xs", "xs"), "forward", {"m": 4}),
            ("split_of_join", ("xs", "xs"), "forward", {}),
            ("map_fusion", ("xs",), "forward", {}),
            ("reduce_to_seq", ("xs", "f"), "forward", {}),
            ("reduce_to_seq", ("xs", "f"), "backward", {}),
            ("reduce_to_seq", ("xs", "f"), "forward", {}),
            ("reduce_map_fusion", ("xs", "f"), "forward", {}),
            ("map_to_glb", ("xs",), "forward", {"d": 0}),
        ],
    )


@pytest.fixture(scope="module")
def checker(tmp_path_factory: pytest.TempPathFactory) -> Checker:
    """The prover, with a cache of its own."""
    own = Checker.here()
    folder = tmp_path_factory.mktemp("lemmas")
    return Checker(own.prover, Store(folder))


@needs_prover
def test_a_derivation_is_one_theorem(checker: Checker) -> None:
    """Its steps are proved and put together; what is assumed is what the program says of its operators."""
    theorem = theorem_of([chunked()], RULES)
    assert checker.check(theorem) == len(theorem.lemmas) + 1
    laws = [law.split()[0] for law in theorem.statement.of("law")]
    assert laws == ["associative", "neutral"]
    assert checker.check(theorem) == 0, "an unchanged step is not proved again"


@needs_prover
def test_other_sizes_take_the_same_proof(checker: Checker, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lemmas speak of sizes by name: at other sizes only what names numbers is checked.

    Four chunks of four are no squares: what is equal by chance has two names.
    """
    written = json.loads(json.dumps(to_json(chunked(16))))
    squares = general_theorem(from_json(written, RULES), RULES)
    checker.check(squares)
    product = re.compile(r"n = \(s(\d) \* s(?!\1)\d\)")
    assert any(map(product.fullmatch, squares.statement.of("size")))
    runs: list[str] = []
    compiled = Checker.compile

    def counted(own: Checker, folder: Path, module: str, *more: str) -> tuple[int, str]:
        runs.append(module)
        return compiled(own, folder, module, *more)

    monkeypatch.setattr(Checker, "compile", counted)
    assert checker.check(general_theorem(chunked(40), RULES)) == 0
    assert runs == ["AtItsSizes"]


def test_at_other_sizes_nothing_is_written_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is what would be written anew; another program, or sizes that are equal there, are written."""
    written: list[str] = []
    write = composed.write_theorem

    def counted(about: composed.About, *more: Any) -> composed.Theorem:
        written.append(str(about.programs[-1]))
        return write(about, *more)

    monkeypatch.setattr(composed, "write_theorem", counted)
    monkeypatch.setattr(composed, "WRITTEN", {})
    general_theorem(chunked(24), RULES)
    again = general_theorem(chunked(40), RULES)
    assert len(written) == 1
    composed.WRITTEN.clear()
    anew = general_theorem(chunked(40), RULES)
    assert (again.result, again.derivation) == (anew.result, anew.derivation)
    theorem_of([chunked(40)], RULES)
    assert len(written) == 2
    squares = theorem_of([chunked(16)], RULES)
    assert len(written) == 3, "four chunks of four: one size less"
    assert theorem_of([chunked(16, differences)], RULES).result != squares.result
    assert len(written) == 4


def test_one_chunk_is_as_general_as_many() -> None:
    """A size may be what was chosen along the way: elsewhere it is several times that."""
    one, many = (general_theorem(chunked(size), RULES) for size in (4, 24))
    assert one.composition.name == many.composition.name
    assert len(set(one.statement.writer.atoms)) == len(set(many.statement.writer.atoms))
    assert (4, 4) not in one.statement.writer.atoms


@needs_prover
def test_half_a_result_that_assumes_is_not_kept(checker: Checker) -> None:
    """Each half is audited: one that rests on an axiom is refused, and refused again."""
    theorem = theorem_of([chunked(56)], RULES)
    checker.check(theorem)
    for half, wrong in (("for_all", "unfold agreement. "), ("at_sizes", "Proof. intros for_all. ")):
        text = getattr(theorem.halves, half)
        before, proof, after = text.rpartition(wrong)
        admitted = f"{before}{proof}Admitted.{after.partition('Qed.')[2]}"
        forged = replace(theorem)
        forged.__dict__["halves"] = replace(theorem.halves, **{half: admitted})
        for _ in range(2):
            with pytest.raises(NotProved, match="rests on assumptions"):
                checker.check(forged)


def test_a_theorem_is_the_same_for_a_derivation_that_was_read_from_a_file() -> None:
    """No name in it depends on what variables were called before they were written, or `verify` would differ."""
    honest = chunked()
    before = honest.replay(RULES)[:-1]
    ends = honest.result, _named_apart(honest.result)
    assert ends[0] != ends[1]
    stated = [stated_theorem([honest], [[*before, end]], RULES).result for end in ends]
    assert stated[0] == stated[1]


@rl.program
def largest(x: rl.f32[n]) -> Any:
    """The largest absolute value: `maximum` as a function and as an operator."""
    return rl.reduce(rl.maximum, 0.0, rl.map(lambda v: rl.maximum(v, -v), x))


def test_a_function_that_is_an_operator_too_is_stated_alike() -> None:
    """A text calls both by one name, so what was read from a file has operators only."""
    written = derived(largest, 24, [("reduce_to_seq", (), "forward", {})])
    read = from_json(json.loads(json.dumps(to_json(written))), RULES)
    assert read.program.body != written.program.body
    assert general_theorem(read, RULES).result == general_theorem(written, RULES).result


def _named_apart(t: Any) -> Any:
    """A term whose variables have other numbers in their names."""
    names = {x.name: f"{x.name}_{i}" for i, (x, _) in enumerate(subterms(t)) if isinstance(x, Var)}

    def under(f: Lambda) -> Lambda:
        return Lambda(tuple(Var(names[x.name], x.type) for x in f.parameters), renamed(f.body))

    def renamed(u: Any) -> Any:
        if isinstance(u, Var):
            return Var(names.get(u.name, u.name), u.type)
        return map_children(u, renamed, under)

    return renamed(t)


@needs_prover
def test_what_is_not_defined_everywhere_says_where(checker: Checker) -> None:
    """A program that reads at computed indices has a theorem about the data at which it is defined."""

    @rl.program
    def read(ids: rl.i32[n], x: rl.f32[n]):
        return rl.map(lambda i: rl.at_runtime_unsafe(i, x), ids)

    theorem = theorem_of([derived(read, 8, [("map_to_seq", (), "forward", {})])], RULES)
    checker.check(theorem)
    domains = theorem.statement.domains
    assert domains.keys() == {"D_source", "D_result"}
    assert domains["D_source"] == ("(map_defined (fun (v_i : Z) => (in_range n v_i)) n input_ids)")


@needs_prover
def test_what_is_no_step_is_refused_by_name(checker: Checker) -> None:
    """The prover does not believe the programs that a derivation records, nor where its steps are."""
    honest = chunked()
    terms = honest.replay(RULES)
    other = list(terms)
    other[-1] = derived(dot, 24, []).result
    with pytest.raises(NotProved, match="step 9 by map_to_glb is not proved"):
        checker.check(stated_theorem([honest], [other], RULES))
    size = honest.steps[0].substitution
    wrong = replace(size, sizes={**size.sizes, "m": Size.of(6)})
    forged = replace(
        honest, steps=(replace(honest.steps[0], substitution=wrong), *honest.steps[1:])
    )
    with pytest.raises(NotProved, match="step 1 by partial_reduce_chunks is not proved"):
        checker.check(stated_theorem([forged], [terms], RULES))


@needs_prover
def test_a_fact_that_does_not_hold_at_the_sizes_is_refused(checker: Checker) -> None:
    """What the steps ask of sizes is shown at those of the derivation, or there is no theorem."""
    theorem = theorem_of([chunked()], RULES)
    checker.check(theorem)
    files = {"Derivation.v": theorem.derivation, "Result.v": theorem.result}
    checker.check_files(files)
    forged = theorem.result.replace("N.to_nat 4.", "N.to_nat 5.")
    assert forged != theorem.result
    with pytest.raises(NotProved, match="is not accepted"):
        checker.check_files({**files, "Result.v": forged})


@needs_prover
def test_a_proof_that_assumes_is_refused(checker: Checker) -> None:
    """A lemma that is admitted compiles; the audit finds it."""
    theorem = theorem_of([chunked()], RULES)
    name = theorem.lemmas[0].name
    before, _, after = theorem.derivation.partition(f"Theorem {name} :")
    statement, _, rest = after.partition("Proof.")
    admitted = f"{before}Theorem {name} :{statement}Admitted.{rest.partition('Qed.')[2]}"
    files = {"Derivation.v": admitted, "Result.v": theorem.result}
    with pytest.raises(NotProved, match="rests on assumptions"):
        checker.check_files(files)


@needs_prover
def test_a_damaged_cache_is_no_obstacle(checker: Checker) -> None:
    """A module that was cut off, and what needs it, is proved again."""
    theorem = theorem_of([chunked()], RULES)
    checker.check(theorem)
    for module in checker.store.folder.glob("*.vo"):
        module.write_bytes(module.read_bytes()[:100])
    assert checker.check(theorem) == len(theorem.lemmas) + 1
    assert checker.check(theorem) == 0


@needs_prover
def test_no_changed_derivation_is_accepted(checker: Checker) -> None:
    """A size, a position, a rule, a part or a program changed: the prover alone refuses what is not equal.

    `python -m proofs_tests.theorems tampered` tries five hundred.
    """
    honest, verdicts = chunked(), Verdicts()
    stream = forgeries(honest, honest.replay(RULES), random.Random(7))
    judged(checker, itertools.islice(stream, 30), verdicts)
    assert verdicts.wrong == ()
    assert verdicts.by_prover >= 10


def sums(parts: int) -> Derivation:
    """Several equal sums, in each of which the same two steps are done, one sum after the other."""

    @rl.program
    def added(x: rl.f32[n]):
        one = rl.reduce(rl.add, 0.0, rl.map(lambda v: v * v, x))
        return sum([one] * (parts - 1), one)

    steps: list[Any] = []
    for i in range(parts):
        place = ("arguments.0",) * (parts - 1 - i) + ("arguments.1",) * (i > 0)
        steps += [(rule, place, "forward", {}) for rule in ("reduce_to_seq", "reduce_map_fusion")]
    return derived(added, 8, steps)


def test_what_is_done_at_several_places_is_proved_once() -> None:
    """The same steps at other places of a program add the place to the proof, and no lemma of a step."""
    two, four = (theorem_of([sums(parts)], RULES) for parts in (2, 4))
    steps = [
        {lemma.name for lemma in each.lemmas if lemma.name.startswith("step_")}
        for each in (two, four)
    ]
    assert steps[0] == steps[1]
    assert len(steps[0]) == 2


@needs_prover
def test_steps_at_several_places_are_put_together(checker: Checker) -> None:
    """What was proved once stands at each of the places."""
    assert checker.check(theorem_of([sums(3)], RULES))


def test_a_rule_that_is_not_proved_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """No theorem is made of a step whose rule is no theorem."""
    changed = {**RULES, "map_fusion": replace(RULES["map_fusion"], right=RULES["map_fusion"].left)}
    with pytest.raises(BrokenDerivation, match="step 4 is by map_fusion, which is stale"):
        theorem_of([chunked()], changed)


def test_several_derivations_are_what_they_are_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In their order, whoever proves them; one that the prover refuses ends nothing, bad input does."""

    def judged(derivation: Derivation, **_: object) -> Proved:
        if len(derivation.steps) == 1:
            raise NotProved("step 1 is not proved")
        return Proved(general_theorem(derivation, RULES), "a prover", 0.0, 0)

    monkeypatch.setattr(shared, "prove", judged)
    long, short = tmp_path / "long.json", tmp_path / "short.json"
    long.write_text(write_json(chunked()))
    short.write_text(write_json(derived(dot, 24, [("reduce_to_seq", (), "forward", {})])))
    asked = [Asked(long), Asked(short), Asked(long, {"n": 40})]
    here = [a.to_json() for a in answers(asked)]
    assert [a["proved"] for a in here] == [True, False, True]
    assert here[1]["reason"] == "step 1 is not proved"
    with ThreadPoolExecutor(2) as executor:
        there = list(answers(asked, executor))
        with pytest.raises(ReliftError, match="dot has no size k"):
            list(answers([Asked(long, {"k": 3})], executor))
    assert [a.to_json() for a in there] == here
    assert [a.to_json() for a in pickle.loads(pickle.dumps(there))] == here


@needs_prover
def test_the_prover_does_not_count_up_to_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """An instance at 2^26 takes what one at 24 does, and no memory for so many successors, in halves and as files."""
    monkeypatch.setattr(proving, "LIMIT", 30.0)
    found = proving.prove(chunked(1 << 26))
    Checker.here().check_files(found.files)


def test_without_a_prover_one_line_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A prover that is missing, or does not work, is bad input and no verdict."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(tier, "compiled_library", compiled_library)
    with pytest.raises(ReliftError, match="nothing can be proved here: coqc is not installed"):
        proving.prove(chunked())
    broken = tmp_path / "coqc"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    with pytest.raises(ReliftError, match=r"nothing can be proved here: .*coqc does not work"):
        proving.prove(chunked())


@needs_prover
def test_the_verb_writes_a_file_that_the_prover_takes(tmp_path: Path) -> None:
    """`relift prove --out` writes one file, which needs the library alone; bad input is one line."""
    file, theorem = tmp_path / "derivation.json", tmp_path / "theorem.v"
    file.write_text(write_json(chunked()))
    ran = here("prove", str(file), "--out", str(theorem))
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("PROVED: source = result, 9 steps, under 2 laws")
    assert PROVER is not None
    command = [PROVER, "-q", "-Q", str(compiled_library(PROVER)), "Relift", theorem.name]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert said.stdout.strip() == "Closed under the global context", said.stderr
    for words, reason in (
        (("gone.json",), "there is no file gone.json"),
        ((str(file), "--out", "theorem.txt"), "a file of Rocq ends in .v"),
        ((str(file), str(file), "--out", "theorem.v"), "holds one theorem"),
        ((str(file), "--size", "k=3"), "dot has no size k"),
    ):
        ran = here("prove", *words)
        assert (ran.returncode, ran.stderr.count("\n")) == (2, 1), ran.stderr
        assert reason in ran.stderr
