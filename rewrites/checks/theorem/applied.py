"""A flat lemma, applied in a program: a proof term that says all that the lemma binds.

Its types and sizes are those of the program; the proofs of what it asks for are given to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from relift.rewrites.checks.rocq.text import Uninterpreted
from relift.rewrites.checks.theorem.flat import Flat
from relift.rewrites.checks.theorem.writer import ProgramSide, Writer, renamed
from relift.semantics.errors import Unsupported
from relift.semantics.syntax.signatures import FunctionKind, IndexKind, NatKind, OperatorKind
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.types import FLOATS, AnyType, Scalar, Type, i32, i64, substitute_type


@dataclass
class Instance:
    """A flat lemma in a program: what its types and sizes are, and the proofs of what it asks for.

    `values`: what its metavariables stand for on both sides, where that does not follow from the proofs.
    """

    w: Writer
    lemma: Flat
    types: Mapping[str, Type]
    sizes: Mapping[str, Size]
    values: Mapping[str, tuple[str, str]]
    proofs: Mapping[str, str]

    def text(self, law: Callable[[Any], str]) -> str:
        """The proof; `law` proves the conditions of a rule."""
        w, lemma = self.w, self.lemma
        types = [self.types[n] if n in self.types else FLOATS[n] for n in lemma.types]
        here = {x: w.size(self.sizes[n]) for x, n in lemma.sizes.items()}
        here |= {x: w.size(Size.of(value)) for x, value in lemma.literals.items()}
        here |= {x: w.size(n.substitute(self.sizes)) for x, n in lemma.fresh.items()}
        given = {x: self._given(of) for x, of in lemma.given.items()}
        parts = [f"@{lemma.name}"]
        parts += ["_ _"] * len(types)  # which follow from what is proved of them
        parts += here.values()
        parts += [text for text, _ in given.values() for _ in range(2)]
        parts += [v for name, _ in lemma.pairs.values() for v in self.values.get(name, ("_", "_"))]
        parts += map(w.per, types)
        parts += (self._fact(renamed(text, here)) for text in lemma.arithmetic)
        parts += map(law, lemma.rule.where)
        parts += [proof for _, proof in given.values()]
        parts += [self.proofs[name] for name, _ in lemma.pairs.values()]
        return f"({' '.join(parts)})"

    def _fact(self, text: str) -> str:
        left, equals, right = text.partition(" = ")
        return "eq_refl" if equals and left == right else self.w.fact(text, "size")

    def _given(self, of: Uninterpreted) -> tuple[str, str]:
        """What a lemma speaks of without a definition is one thing in a program, related to itself."""
        w = self.w
        match of.kind:
            case FunctionKind(arguments, result):
                kind = FunctionKind(tuple(map(self._type, arguments)), self._type(result))
                if not all(isinstance(t, Scalar) for t in (*kind.arguments, kind.result)):
                    raise Unsupported(f"{of.of} takes or gives what is no scalar", place="")
                sums = of.of == "add" and {*kind.arguments} <= {i32, i64}
                name = "Z.add" if sums else w.without_definition(of.of, kind)
                return name, _respecting(name, [w.type(t) for t in kind.arguments])
            case NatKind() | OperatorKind() | IndexKind():
                raise AssertionError(f"cannot happen: {of.of} is a function or a value")
            case AnyType():
                t = self._type(of.kind)
                side = ProgramSide.of(w)
                name = (
                    side.unspecified(t)
                    if of.of == "unspecified"
                    else w.without_definition(of.of, t)
                )
                return name, f"({w.reflexive(t)} {name})"

    def _type(self, t: Type) -> Type:
        return substitute_type(t, self.types, self.sizes)


def _respecting(name: str, types: Sequence[str]) -> str:
    """That a function takes equal scalars to equal ones."""
    heads, proof = "", f"(@eq_refl _ {name})"
    for i, of in enumerate(types):
        heads += f"fun (x{i} y{i} : {of}) (E{i} : x{i} = y{i}) => "
        proof = f"(equal_applied {proof} E{i})"
    return f"({heads}{proof})"
