"""The page that links a program to its kernel names each link, and ten things that are trusted."""

from __future__ import annotations

from pathlib import Path

from proofs_tests.command_line import ROOT
from relift.chain import chain_of
from relift.compiler.program import compile_program
from relift.rewrites.application.matching import apply_rule
from relift.rewrites.derivation.steps import Derivation, Step
from relift.rewrites.library import RULES
from relift.rewrites.loading import load_program
from relift.semantics.language.programs import Program

LINKS = ("program", "theorem", "low-level program", "validation", "kernel", "what is trusted")


def saxpy() -> tuple[Derivation, Program]:
    """One step from the program to a kernel."""
    program = load_program(str(Path(ROOT) / "examples" / "saxpy.py"))
    source = program.at({"n": 8})
    choices = {"d": 0}
    result, substitution = apply_rule(RULES["map_to_glb"], source.body, choices=choices)
    step = Step("map_to_glb", "forward", (), substitution, choices)
    low = Program(program.name, source.parameters, result)
    return Derivation(program, {"n": 8}, (step,), result), low


def test_a_chain_says_what_was_shown_and_what_is_trusted() -> None:
    """A link that was not asked for is called so, and what it would have replaced is trusted."""
    derivation, low = saxpy()
    kernel = compile_program(low)
    plain = chain_of(derivation, kernel, None)
    assert tuple(s.title.split(":")[0] for s in plain.sections)[:2] == LINKS[:2]
    assert all(s.title.startswith(link) for s, link in zip(plain.sections, LINKS, strict=True))
    assert "not asked for: 1 steps by rules of the ledger" in plain.text()
    assert len(plain.sections[-1].lines) == 10
    assert "races   write out" in plain.text()
    validated = chain_of(derivation, kernel, None, ["validated: equal for all data"])
    assert "validated: equal for all data" in validated.html()
    assert not any("code generator" in line for line in validated.sections[-1].lines)
