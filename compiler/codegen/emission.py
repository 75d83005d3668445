"""One kernel, or one C function, while it is written: its statements, its registers, and its way to memory.

The chapters of code generation share it: `loops`, `arrays`, `folds`, `evaluation`, and `generate`, which joins them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from relift.compiler.codegen.accesses import Accesses
from relift.compiler.codegen.barriers import Barriers
from relift.compiler.codegen.body import Body
from relift.compiler.codegen.scope import Scope
from relift.compiler.codegen.values.cells import Addressing, assigned, code_of
from relift.compiler.codegen.values.functions import Functions
from relift.compiler.codegen.values.scalars import CExpression, c_type
from relift.compiler.codegen.values.trees import (
    Tree,
    as_view,
    flattened,
    mapped,
    register_code,
    registers_of,
    widened,
)
from relift.compiler.lowering.analyses import ALL, Analyses
from relift.compiler.lowering.threads import Threads, number
from relift.compiler.text.tree import (
    Binary,
    Conditional,
    Declaration,
    Name,
    Statement,
    bare,
    statements_within,
    variables,
    words,
)
from relift.semantics.errors import Unsupported
from relift.semantics.indices.expressions import variable
from relift.semantics.indices.lanes import Lane
from relift.semantics.indices.views import (
    ArrayView,
    Cell,
    CodeValue,
    Guarded,
    Memory,
    TupleView,
    VectorView,
    View,
    memories_of,
)
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.terms import Get, Lambda, Term, Var, subterms
from relift.semantics.syntax.types import Scalar, Tuple, Type


class Emission:
    """The statements of a kernel so far, the arrays that it has, and what is known of its work-items."""

    def __init__(
        self,
        body: Body,
        functions: Functions,
        threads: Threads | None = None,
        addressing: Addressing | None = None,
        analyses: Analyses = ALL,
        aligned: Mapping[str, int] | None = None,
    ) -> None:
        self.body = body
        self.functions = functions
        self.threads = threads or Threads((1,), (1,), frozenset())
        self.addressing = addressing or Addressing()
        self.analyses = analyses
        self.aligned = aligned or {}
        """The private arrays of scalars that are accessed as vectors, each with how many lanes these have."""
        self.barriers = Barriers(body, active=self.threads.group_size > 1)
        self.accesses = Accesses(self.barriers)
        self.local_arrays: list[Memory] = []
        self.pointed_to: frozenset[str] = frozenset()
        """The local arrays that have pointers."""
        self._lanes = 0
        self._applied: dict[int, tuple[Lambda, tuple[Var, ...]]] = {}

    def statement(self, s: Statement) -> None:
        """Emit one statement, after the barrier that it may need."""
        for inner in statements_within((s,)):
            self.barriers.on_statement(inner)
        self.barriers.before_statement()
        self.body.add(s)

    def fresh_lane(self, width: Size, scope: Scope) -> Lane:
        """A lane variable for a new vector operation."""
        if scope.lane is not None:
            raise Unsupported(
                "a vector inside a vector operation; OpenCL has no vectors of vectors"
            )
        self._lanes += 1
        return Lane(variable(f"lane_{self._lanes}", width), number(width))

    # ---- registers

    def named(
        self, e: CExpression, hint: str, *, fixed: bool = True, anew: bool = False
    ) -> CExpression:
        """e as a register of its own; e itself when it is one already, or a scalar constant, unless `anew`.

        What is computed of constants is none: an index is a number, or the name of a register.
        """
        constant = not words(e.code) and not isinstance(e.code, (Binary, Conditional))
        known = isinstance(e.code, Name) or (e.width is None and constant)
        if fixed and known and not anew:
            return e
        name = self.body.fresh(hint)
        t = replace(c_type(e.scalar, e.width), constant=fixed)
        self.statement(Declaration(t, name, None, bare(register_code(e))))
        return CExpression(Name(name), e.scalar, e.width)

    def hold(self, value: Tree, t: Type, hint: str, scope: Scope, *, fixed: bool = True) -> View:
        """Emit registers with a value; `fixed` ones keep it, so a constant or a register needs no new one."""

        def held(part: Tree, name: str) -> Tree:
            if isinstance(part, tuple):
                return tuple(held(p, f"{name}_{i}") for i, p in enumerate(part))
            return self.named(part, name, fixed=fixed)

        return as_view(held(value, hint), t, None if scope.lane is None else scope.lane.index)

    def assign(self, registers: View, value: Tree) -> None:
        """Emit the assignment of all registers at once: no component sees another's new value."""
        targets = registers_of(registers)
        values = flattened(value)
        for j, target in enumerate(targets):
            later = set[str]().union(*(words(w.code) for w in values[j + 1 :]))
            if variables(code_of(target)) <= later:  # a value that is but a register needs another
                anew = set[str]().union(*(variables(code_of(r)) for r in targets))
                values = [self.named(w, "v", anew=bool(words(w.code) & anew)) for w in values]
                break
        for target, v in zip(targets, values, strict=True):
            if target.code != v.code:
                self.statement(assigned(code_of(target), register_code(v)))

    def applied(self, f: Lambda, scope: Scope, *arguments: View) -> Scope:
        """The scope of the body of f, where what is read from memory more than once has a register."""
        views: list[View] = []
        reused = self._reused_in(f)
        for x, v in zip(f.parameters, arguments, strict=True):
            views.append(self.in_registers(v, x.type, x.name, scope) if x in reused else v)
        return scope.bind(f, *views)

    def in_registers(self, v: View, t: Type, hint: str, scope: Scope) -> View:
        """A scalar, or a tuple of them, of which what lies in memory is read into registers.

        Where a selection reads it in its branches, the driver of an H200 waits for one element after the other: the
        places of the smallest of 8192 columns took 212 us, and their sums take 65.
        """
        if isinstance(v, TupleView) and isinstance(t, Tuple):
            parts = enumerate(zip(v.parts, t.parts, strict=True))
            return TupleView(
                tuple(self.in_registers(p, of, f"{hint}_{i}", scope) for i, (p, of) in parts)
            )
        of_memory = isinstance(v, Cell | Guarded)
        return self.hold(self.read(v, scope), t, hint, scope) if of_memory else v

    def _reused_in(self, f: Lambda) -> tuple[Var, ...]:
        """The parameters of f that are used more than once; loops that are written out apply f many times."""
        known, found = self._applied.get(id(f), (None, ()))
        if known is None:
            held = (x for x in f.parameters if fits_registers(x.type))
            found = tuple(x for x in held if is_reused(x, f.body))
            self._applied[id(f)] = f, found
        return found

    # ---- memory

    def read(self, v: View, scope: Scope) -> Tree:
        """The C expressions of what a view shows."""
        match v:
            case TupleView(parts):
                return tuple(self.read(part, scope) for part in parts)
            case VectorView(width, at):
                lane = self.fresh_lane(width, scope)
                value = self.read(at(lane.index), scope.in_lanes(lane))
                return widened(value, lane.width)
            case Cell() | CodeValue() | Guarded():
                self.accesses.read(v, scope.lane)
                return self.addressing.load(v, scope.lane)
            case ArrayView():
                raise AssertionError("cannot happen: an array is no expression")

    def store(self, value: Tree, target: View, scope: Scope) -> None:
        """Emit the writing of an evaluated value."""
        match target:
            case VectorView(width, at):
                lane = self.fresh_lane(width, scope)
                self.store(value, at(lane.index), scope.in_lanes(lane))
            case TupleView(places) if isinstance(value, tuple):
                parts = self._before_writing(value, target)
                for part, place in zip(parts, places, strict=True):
                    self.store(part, place, scope)
            case Cell() | CodeValue() | Guarded() if isinstance(value, CExpression):
                if value.width is not None and self.addressing.needs_name(target, scope.lane):
                    value = self.named(value, "v")
                self.accesses.written(target, scope.lane)
                for statement in self.addressing.store(target, value, scope.lane):
                    self.statement(statement)
            case ArrayView() | TupleView() | Cell() | CodeValue() | Guarded():
                raise AssertionError(f"cannot happen: {value} does not fit {target}")

    def _before_writing(self, parts: tuple[Tree, ...], target: View) -> tuple[Tree, ...]:
        """The parts of a tuple that is written part by part: read before any is written, be it no more than a name."""
        later = set[str]().union(*(words(e.code) for e in flattened(parts[1:])))
        written = {m.name for m in memories_of(target)}
        written |= set[str]().union(*(variables(code_of(r)) for r in registers_of(target)))
        if not later & written:
            return parts
        keep = lambda e: self.named(e, "v", anew=bool(words(e.code) & written))
        return tuple(mapped(part, keep) for part in parts)


class Terms(Protocol):
    """What the chapters of code generation ask of one another: a term written, viewed or evaluated."""

    @property
    def emission(self) -> Emission:
        """The kernel that is written."""
        ...

    def write(self, t: Term, target: View, scope: Scope) -> None:
        """Emit what computes t into `target`."""
        ...

    def view(self, t: Term, scope: Scope) -> View:
        """Emit what t computes and say where its result lies."""
        ...

    def evaluate(self, t: Term, scope: Scope) -> Tree:
        """The C expressions of a value that is no array."""
        ...

    def inside(self, body: Body) -> Terms:
        """The same for a C function of its own."""
        ...


def is_reused(x: Var, body: Term) -> bool:
    """Whether x, or a component of it, is used more than once; under a lambda it may be used any number of times.

    Each component that is used once alone is no reuse: a sum of pairs needs no register for either pair.
    """
    uses = Counter[tuple[int, ...]]()
    for u, bound in subterms(body):
        if (path := _path_in(x, u)) is not None:
            if bound:
                return True
            uses[path] += 1
    parts = Counter[tuple[int, ...]]()
    for path, count in uses.items():
        if path:
            parts[path[:-1]] += count
    return any(count > 1 and count > parts[path] for path, count in uses.items())


def _path_in(x: Var, u: Term) -> tuple[int, ...] | None:
    """The path from x to the component that u is, if it is one."""
    if isinstance(u, Get):
        around = _path_in(x, u.of)
        return None if around is None else (*around, u.index)
    return () if u == x else None


def fits_registers(t: Type) -> bool:
    """Whether a value of type t is a scalar or a tuple of scalars."""
    return isinstance(t, Scalar) or (
        isinstance(t, Tuple) and all(isinstance(p, Scalar) for p in t.parts)
    )
