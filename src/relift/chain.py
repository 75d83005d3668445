"""The chain from a program to its kernel, on one page: each link by its own means, and what has to be trusted.

program  =  low-level program          by a theorem of the prover
low-level program  ->  kernel          by validation of its text, where that was asked for
kernel                                 by certificates: bounds, races, barriers, coverage, values
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from relift.display.blocks import Block, Code, Title
from relift.display.displayed import Displayed
from relift.display.printing import document

if TYPE_CHECKING:
    from relift.compiler.running.compiled import Compiled
    from relift.rewrites.checks.theorem.proving import Proved
    from relift.rewrites.derivation.steps import Derivation

TEXT, PAGE = "chain.txt", "chain.html"


@dataclass(frozen=True)
class Section:
    """A link of the chain: its title, and lines as they are printed."""

    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Chain(Displayed):
    """The page of one kernel."""

    name: str
    sections: tuple[Section, ...]

    def text(self) -> str:
        """The page as text."""
        parts = [self.name]
        for number, section in enumerate(self.sections, 1):
            parts += ["", f"{number}. {section.title}", *(f"   {x}" for x in section.lines)]
        return "\n".join(parts) + "\n"

    def display(self) -> Sequence[Block]:
        """The links, each with its lines."""
        shown: list[Block] = [Title(self.name)]
        for number, section in enumerate(self.sections, 1):
            shown += [Title(f"{number}. {section.title}"), Code("\n".join(section.lines))]
        return shown

    def html(self) -> str:
        """The page as one self-contained HTML file."""
        return document(self.name, self.display())


def chain_of(
    derivation: Derivation,
    kernel: Compiled,
    proof: Proved | None,
    validated: Sequence[str] = (),
) -> Chain:
    """The chain of a kernel that was compiled from the result of a derivation.

    `validated`: what the validation of the kernel's text says, a line each; none where it was not asked for.
    """
    from relift.semantics.notation.printer import show
    from relift.semantics.syntax.binding import tidy

    sizes = ", ".join(f"{name} = {n}" for name, n in derivation.sizes.items()) or "fixed sizes"
    claims = [line for c in kernel.certificates for line in c.text().splitlines()]
    digest = hashlib.sha256(kernel.source.encode()).hexdigest()
    sections = (
        Section("program", tuple(str(derivation.origin).splitlines())),
        Section("theorem: the program equals the low-level program", _theorem(derivation, proof)),
        Section("low-level program", tuple(show(tidy(derivation.result)).splitlines())),
        Section(
            "validation: the kernel's text computes the low-level program",
            tuple(validated) or ("not asked for: the code generator is trusted",),
        ),
        Section("kernel and its claims", (f"text without comments: sha256 {digest}", *claims)),
        Section("what is trusted", trusted(derivation, proof, bool(validated))),
    )
    return Chain(f"{derivation.origin.name} at {sizes}: from the program to the kernel", sections)


def _theorem(derivation: Derivation, proof: Proved | None) -> tuple[str, ...]:
    if proof is None:
        count = len(derivation.steps)
        return (
            f"not asked for: {count} steps by rules of the ledger, replayed by Relift's matcher",
        )
    lines = proof.text().splitlines()
    return (*lines, f"Result.v: sha256 {proof.sha256}")


def trusted(derivation: Derivation, proof: Proved | None, validated: bool) -> tuple[str, ...]:
    """What the chain rests on, in ten lines."""
    if proof is None:
        steps = (
            "the ledger, which says that each rule is proved, and the prover that said so",
            "Patterns.v, Arrays.v and Laws.v: what patterns mean there; tests compare them with the interpreter",
            "Relift's matcher, which replays the steps",
        )
        laws = "the laws that the program declares of its operators"
    else:
        steps = (
            f"the kernel of {proof.prover}, which accepts Result.v without an axiom",
            "Patterns.v, Arrays.v and Laws.v: what patterns mean there; tests compare them with the interpreter",
            "the printing of two terms, source and result, as Result.v, and the premises that stand in it",
        )
        laws = f"the laws of operators that it assumes: {'; '.join(proof.laws) or 'none'}"
    floats = "exact" if derivation.policy == "exact" else "reassociate"
    generator = (
        "the validation of the text: Relift's reader of OpenCL C, its symbolic execution, Z3"
        if validated
        else "the code generator, from the low-level program to the text"
    )
    return (
        *steps,
        laws,
        f"floating point: values with equality (--float {floats}); how an operation rounds is the device's",
        "whole numbers: Z in the theorem; that i32 and i64 do not overflow is asked of the data",
        generator,
        "the certificates: Relift's reader of OpenCL C and Z3; a claim that is unknown is not made",
        "the OpenCL compiler, the driver and the device that run the text",
        "Python, NumPy and pyopencl, which launch it as launch.json says",
    )
