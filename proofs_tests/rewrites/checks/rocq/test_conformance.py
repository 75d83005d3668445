"""The Rocq denotations are the interpreter's: closed programs give the same value in both.

Scalars are whole numbers, and scalar functions are arbitrary fixed functions on them, written once and used
by both, but sums and comparisons, which have a definition.  Reads out of bounds give a number that occurs nowhere else.
"""

from __future__ import annotations

import doctest
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from proofs_tests.prover import PROVER, needs_prover
from relift.rewrites.checks.random.programs import programs, values
from relift.rewrites.checks.rocq.installed import MISSING, compiled_library
from relift.rewrites.checks.rocq.statements import denotation
from relift.rewrites.checks.rocq.text import Uninterpreted
from relift.semantics.domains import Numeric
from relift.semantics.errors import Undefined
from relift.semantics.interpreter import World, evaluate
from relift.semantics.notation.parser import parse_term
from relift.semantics.patterns import PATTERNS
from relift.semantics.syntax.scalars import SCALAR_FUNCTIONS
from relift.semantics.syntax.signatures import FunctionKind
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.substitution import at_sizes
from relift.semantics.syntax.terms import Input, Pattern, Term, subterms
from relift.semantics.syntax.types import FLOATS, Array, Tuple, Type, Vector, boolean, i32, i64

PROGRAMS = 220
POISON, OPEN = 77, 55
pytestmark = needs_prover


def coefficients(name: str, count: int) -> list[int]:
    """What a scalar function is here: a linear function modulo 23, of its name."""
    return [zlib.crc32(f"{name} {i}".encode()) % 19 + 1 for i in range(count + 1)]


DEFINED: dict[str, tuple[Callable[..., Any], str]] = {
    "add": (lambda x, y: x + y, "x0 + x1"),
    "lt": (lambda x, y: x < y, "x0 <? x1"),
    "gt": (lambda x, y: x > y, "x1 <? x0"),
}
"""What has a definition on whole numbers, and so here, where all scalars are such."""


class Modular(Numeric):
    """Whole numbers for all scalars."""

    def literal(self, value: float, t: Type) -> Any:
        return (
            bool(value) if t == boolean else int(value) if t in (i32, i64) else number(repr(value))
        )

    def function(self, name: str) -> Callable[..., Any]:
        if name == "select":
            return lambda condition, x, y: x if condition else y
        if name in DEFINED:
            return DEFINED[name][0]

        def meaning(*arguments: Any) -> Any:
            constant, *factors = coefficients(name, len(arguments))
            total = constant + sum(c * int(x) for c, x in zip(factors, arguments, strict=True))
            result = SCALAR_FUNCTIONS[name].result
            truth = result == "boolean" or (result == "same" and isinstance(arguments[0], bool))
            return total % 2 == 0 if truth else total % 23 - 2

        return meaning

    def unspecified(self) -> Any:
        return OPEN


def number(text: str) -> int:
    return zlib.crc32(text.encode()) % 20


def definition(name: str, what: Uninterpreted) -> str:
    """The same in Rocq."""
    match what.kind:
        case FunctionKind(arguments, result):
            constant, *factors = coefficients(what.of, len(arguments))
            binders = " ".join(f"(x{i} : {rocq_type(t)})" for i, t in enumerate(arguments))
            terms = [
                f"{c} * {f'(if x{i} then 1 else 0)' if t == boolean else f'x{i}'}"
                for i, (c, t) in enumerate(zip(factors, arguments, strict=True))
            ]
            total = f"({' + '.join([str(constant), *terms])})"
            if what.of in DEFINED:
                return f"Definition {name} {binders} : {rocq_type(result)} := ({DEFINED[what.of][1]})%Z."
            body = f"Z.eqb ({total} mod 2) 0" if result == boolean else f"{total} mod 23 - 2"
            return f"Definition {name} {binders} : {rocq_type(result)} := ({body})%Z."
        case _:
            value = OPEN if what.of == "unspecified" else number(what.of.removeprefix("number "))
            return f"Definition {name} : Z := {value}%Z."


def rocq_type(t: Type) -> str:
    match t:
        case Array(element, _) | Vector(element, _):
            return f"(arr {rocq_type(element)})"
        case Tuple((first, *rest)):
            text = rocq_type(first)
            for part in rest:
                text = f"({text} * {rocq_type(part)})"
            return text
        case _:
            return "bool" if t == boolean else "Z"


def constant(value: Any, t: Type) -> str:
    """A value as a Rocq term; beyond the end of an array is poison."""
    match t:
        case Array(element, _) | Vector(element, _):
            items = "".join(f"{constant(x, element)} :: " for x in value)
            return f"(fun i => List.nth i ({items}nil)%list {poison(element)})"
        case Tuple(parts):
            return pairs(constant(x, part) for x, part in zip(value, parts, strict=True))
        case _:
            return str(value).lower() if t == boolean else f"({value})%Z"


def poison(t: Type) -> str:
    match t:
        case Array(element, _) | Vector(element, _):
            return f"(fun _ => {poison(element)})"
        case Tuple(parts):
            return pairs(map(poison, parts))
        case _:
            return "true" if t == boolean else f"{POISON}%Z"


def pairs(parts: Any) -> str:
    first, *rest = parts
    for part in rest:
        first = f"({first}, {part})"
    return str(first)


def listed(text: str, t: Type, depth: int = 0) -> str:
    """A Rocq value with lists for its arrays."""
    match t:
        case Array(element, n) | Vector(element, n):
            i = f"i{depth}"
            inner = listed(f"({text} {i})", element, depth + 1)
            return f"(List.map (fun {i} => {inner}) (List.seq 0 {n}))"
        case Tuple(parts):
            fields: list[str] = []
            whole = text
            for part in reversed(parts[1:]):
                fields.append(listed(f"(snd {whole})", part, depth))
                whole = f"(fst {whole})"
            return pairs([listed(whole, parts[0], depth), *reversed(fields)])
        case _:
            return text


def as_list(value: Any, t: Type) -> str:
    match t:
        case Array(element, _) | Vector(element, _):
            return f"({''.join(f'{as_list(x, element)} :: ' for x in value)}nil)%list"
        case Tuple(parts):
            return pairs(as_list(x, part) for x, part in zip(value, parts, strict=True))
        case _:
            return constant(value, t)


def example(number: int, t: Term, inputs: dict[str, Any]) -> str | None:
    """The module that states what the program gives; None where it is undefined."""
    try:
        result = evaluate(t, World(inputs=inputs, domain=Modular()))
    except Undefined:
        return None
    text, needed = denotation(t)
    used = {u.name: u for u, _ in subterms(t) if isinstance(u, Input)}
    lines = [f"Module Program{number}."]
    lines += [f"Definition {name} := Z." for name in FLOATS]
    lines += [definition(name, what) for name, what in needed.items()]
    lines += [
        f"Definition input_{name} : {rocq_type(u.type)} := {constant(inputs[name], u.type)}."
        for name, u in used.items()
    ]
    lines.append(f"Goal {listed(text, t.type)} = {as_list(result, t.type)}.")
    lines.append("Proof. vm_compute. reflexivity. Qed.")
    return "\n".join([*lines, f"End Program{number}."])


def documented() -> list[tuple[Term, dict[str, Any]]]:
    """The example of every pattern, from its docstring."""
    found: list[tuple[Term, dict[str, Any]]] = []

    def noted(text: str, **inputs: Any) -> None:
        given_as = {name: Input(name, type_of(value)) for name, value in inputs.items()}
        found.append((parse_term(text, given_as), inputs))

    for pattern in PATTERNS.values():
        for case in doctest.DocTestParser().get_examples(pattern.__doc__ or ""):
            if not case.source.startswith(("from ", "import ")):
                eval(case.source, {"interpret": noted})
    # 3 - x is an arbitrary function here, which orders no array as binary_search needs it; a constant does
    noted("binary_search(lambda x: 0, 7, xs)", xs=[1, 3, 5])
    return found


def type_of(value: Any) -> Type:
    if isinstance(value, list):
        return Array(type_of(value[0]), Size.of(len(value)))
    return i32


def drawn() -> list[tuple[Term, dict[str, Any]]]:
    """Random programs of known sizes, with inputs."""
    found: list[tuple[Term, dict[str, Any]]] = []

    @settings(
        max_examples=PROGRAMS,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),  # pyright: ignore[reportArgumentType]
    )
    @given(st.data(), programs(8))
    def draw(data: st.DataObject, program: Any) -> None:
        sizes = {name: data.draw(st.integers(1, 3)) for name in program.sizes}
        body = at_sizes(program.body, {name: Size.of(n) for name, n in sizes.items()})
        inputs = {p.name: data.draw(values(p.type, sizes)) for p in program.parameters}
        found.append((body, inputs))

    draw()
    return found


def run(folder: Path, examples: list[str]) -> subprocess.CompletedProcess[str]:
    """The prover on a file with these examples."""
    assert PROVER is not None, MISSING
    text = "From Relift Require Import Patterns.\n" + "\n".join(examples)
    (folder / "Conformance.v").write_text(text)
    command = [PROVER, "-q", "-Q", str(compiled_library(PROVER)), "Relift", "Conformance.v"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_denotations_are_the_interpreters(tmp_path: Path) -> None:
    """Random programs, and the documented example of each pattern, mean the same to Rocq."""
    examples: list[str] = []
    met: set[str] = set()
    for t, inputs in documented() + drawn():
        text = example(len(examples), t, inputs)
        if text is not None:
            examples.append(text)
            met |= {u.name for u, _ in subterms(t) if isinstance(u, Pattern)}
    assert len(examples) >= 200
    assert met == set(PATTERNS)
    ran = run(tmp_path, examples)
    assert ran.returncode == 0, ran.stderr


def test_a_wrong_denotation_is_noticed(tmp_path: Path) -> None:
    """The comparison tells a reversed array from the array."""
    xs = Input("xs", Array(i32, Size.of(3)))
    text = example(0, parse_term("gather(lambda i: 2 - i, xs)", {"xs": xs}), {"xs": [1, 2, 3]})
    assert text is not None
    assert run(tmp_path, [text]).returncode == 0
    assert run(tmp_path, [text.replace("(2 - v_i)", "v_i")]).returncode != 0
