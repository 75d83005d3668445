"""Folds on numbers, by Python that is made for each: a hundred thousand turns take no longer than people wait.

What is computed is what `computed` computes operation by operation, but of a selection both values.  Where one of
them cannot be computed, or a fold is too large for this, it is computed there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import CodeType, FunctionType
from typing import Any

from relift.compiler.meaning.numbers.polynomials import Atom, Index, Whole
from relift.compiler.validation.symbols import Symbol
from relift.semantics.domains import DTYPES
from relift.semantics.syntax.scalars import SCALAR_FUNCTIONS

MOST_OPERATIONS = 4_000
"""Operations of one fold, those of folds inside of it counted once each."""

MOST_LOOPS = 12
"""Loops in each other; Python knows no more than twenty."""


class NotMade(Exception):
    """There is no such Python for a fold."""


class FoldInPython:
    """A fold as a function of who draws inputs, how an operation without a name is computed, and the numbers of atoms."""

    def __init__(self, fold: Symbol) -> None:
        self.lines: list[str] = []
        self.names: dict[str, Any] = {}
        self.atoms: dict[Atom, str] = {}
        self.known: list[dict[Symbol, str]] = [{}]
        self.operations = 0
        found = self._value(fold, 1)
        head = ["def run(drawn, applied, numbers, spend):"]
        head += [f"    {name} = numbers({name}_)" for name in self.atoms.values()]
        self.names |= {f"{name}_": a for a, name in self.atoms.items()}
        text = "\n".join([*head, *self.lines, f"    return {found}", ""])
        [code] = [c for c in compile(text, "<fold>", "exec").co_consts if isinstance(c, CodeType)]
        self.run: Callable[..., Any] = FunctionType(code, self.names)

    def _emit(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def _new(self, x: Symbol, depth: int, text: str) -> str:
        self.operations += 1
        if self.operations > MOST_OPERATIONS:
            raise NotMade
        name = f"v{self.operations}"
        self._emit(depth, f"{name} = {text}")
        self.known[-1][x] = name
        return name

    def _value(self, x: Symbol, depth: int) -> str:
        """The name of a value, whose parts are computed first."""
        waiting = [x]
        while waiting:
            now = waiting[-1]
            if self._found(now) is not None:
                waiting.pop()
                continue
            missing = [v for v in _parts(now) if self._found(v) is None]
            if missing:
                waiting += missing
                continue
            waiting.pop()
            self._made(now, depth)
        found = self._found(x)
        assert found is not None, "cannot happen: it was just made"
        return found

    def _found(self, x: Symbol) -> str | None:
        if x.op == "accumulator":
            return f"a{x.args[0]}_{x.args[1]}" if isinstance(x.args[0], int) else None
        return next((at[x] for at in reversed(self.known) if x in at), None)

    def _made(self, x: Symbol, depth: int) -> None:
        kind = "boolean" if x.type == "bool" else x.type
        if x.op in ("open", "accumulator", "looked") or kind not in DTYPES:
            raise NotMade
        self.names.setdefault(f"as_{kind}", DTYPES[kind].type)
        match x.op:
            case "fold":
                self._loop(x, depth)
            case "cell":
                place, array = self._whole(x.args[1], depth), f"n{len(self.names)}"
                self.names[array] = x.args[0]
                self._new(x, depth, f"as_{kind}(drawn({array}, {place}, {kind!r}))")
            case "real" | "whole":
                name = f"c{len(self.names)}"
                self.names[name] = x
                self._new(x, depth, f"applied({name}, ())")
            case "index":
                self._new(x, depth, f"as_{kind}({self._whole(x.args[0], depth)})")
            case "nonneg":
                self._new(x, depth, f"as_{kind}({self._whole(x.args[0], depth)} >= 0)")
            case "select":
                c, yes, no = map(self._found, x.args)
                self._new(x, depth, f"{yes} if {c} else {no}")
            case _:
                given = ", ".join(str(self._found(v)) for v in x.args)
                plain = x.op in SCALAR_FUNCTIONS and x.op != "invert" and x.op not in DTYPES
                if isinstance(x.op, str) and plain:
                    self.names[f"f_{x.op}"] = SCALAR_FUNCTIONS[x.op].meaning
                    self._new(x, depth, f"f_{x.op}({given})")
                    return
                own = f"c{len(self.names)}"
                self.names[own] = x
                self._new(x, depth, f"applied({own}, ({given},))")

    def _loop(self, x: Symbol, depth: int) -> None:
        trip, height, count = x.args[:3]
        if depth > MOST_LOOPS:
            raise NotMade
        firsts, nexts = x.args[3 : 3 + count], x.args[3 + count :]
        before, turns = self.operations, self._whole(trip, depth)
        held = ", ".join(f"a{height}_{k}" for k in range(count))
        values = [self._value(v, depth) for v in firsts]
        self._emit(depth, f"{held}, = {', '.join(values)},")
        self._emit(depth, f"for i{height} in range({turns}):")
        spent = len(self.lines)
        self._emit(depth + 1, "")
        self.known.append({})
        made = [self._value(v, depth + 1) for v in nexts]
        self.known.pop()
        self._emit(depth + 1, f"{held}, = {', '.join(made)},")
        self.lines[spent] = "    " * (depth + 1) + f"spend({self.operations - before})"
        self._new(x, depth, f"a{height}_0")

    def _whole(self, x: Whole, depth: int) -> str:
        if not isinstance(x, Index):
            return str(int(x))
        terms = [
            " * ".join([str(c), *(self._atom(a, depth) for a in m)]) for m, c in x.terms.items()
        ]
        return f"({' + '.join(terms)})"

    def _atom(self, a: Atom, depth: int) -> str:
        if a.kind in ("div", "mod", "min", "max"):
            u, v = (self._whole(w, depth) for w in a.args)
            if a.kind in ("min", "max"):
                return f"{a.kind}({u}, {v})"
            return f"({u} {'//' if a.kind == 'div' else '%'} {v})"
        if a.kind == "data":
            return f"int({self._value(a.args[0], depth)})"
        if a.kind == "bound":
            return a.name
        return self.atoms.setdefault(a, f"n{len(self.atoms)}")


ALONE = frozenset(
    ["open", "looked", "cell", "real", "whole", "index", "nonneg", "accumulator", "fold"]
)
"""Operations whose arguments are no values, or are computed turn by turn."""


def _parts(x: Symbol) -> Sequence[Symbol]:
    """The values that an operation is computed from, where these are not looked at one by one."""
    return () if x.op in ALONE else x.args
