"""What is known of a function, as relations that constraints are solved over."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import chain

from relift.compiler.idioms.constraints.solving import Relation, Row
from relift.compiler.idioms.facts.accesses import Access
from relift.compiler.idioms.facts.alternatives import Alternatives
from relift.compiler.idioms.facts.consequences import goes_nowhere, goes_only
from relift.compiler.idioms.facts.control import Control, Loop
from relift.compiler.idioms.facts.llvm.ir import Function, Module
from relift.compiler.idioms.facts.llvm.numbers import BITS
from relift.compiler.idioms.facts.looking import looked_up_once
from relift.compiler.idioms.facts.names import is_constant
from relift.compiler.idioms.facts.structure import Asked, Computed, Listed, Same
from relift.compiler.idioms.facts.values.expressions import Expressions, Paths
from relift.compiler.idioms.facts.values.folds import combination, depends, replaced
from relift.compiler.idioms.facts.values.multiples import is_multiple, is_scaled_fold
from relift.compiler.idioms.facts.values.narrow import as_value
from relift.compiler.idioms.facts.values.places import takes_place
from relift.compiler.idioms.facts.values.terms import (
    Accumulator,
    Apply,
    Constant,
    Expression,
    Fold,
    Index,
    Opaque,
    Read,
    Search,
    TooLong,
    Value,
    all_of,
    select,
)

_SPELLED = {"branch": "br", "gep": "getelementptr", "return": "ret"}


class Relations(Alternatives):
    """The relations of one function."""

    def __init__(self, function: Function, module: Module, control: Control | None = None) -> None:
        whole = control or Control(function)
        once = looked_up_once(function, module, whole)
        super().__init__(once, module, whole if once is function else None)
        self._known: dict[tuple[str, str], Relation] = {}
        self._builders: dict[str, Expressions] = {}
        self._paths: dict[str, Paths] = {}
        self._becomes: dict[str, Expression | None] = {}

    # ---- for the solver

    def relation(self, name: str, word: str) -> Relation:
        """The relation of an atom."""
        found = self._known.get((name, word))
        if found is None:
            found = self._known[name, word] = self._made(name, word)
        return found

    def of_sets(self, name: str, groups: Sequence[frozenset[str]]) -> bool:
        """The atoms whose variables stand for sets of values."""
        if name == "same set":
            return groups[0] == groups[1]
        sources, results, through = groups
        return self.all_through(sources, results, through)

    # ---- the table of all relations

    def _made(self, name: str, word: str) -> Relation:
        listed: dict[str, Callable[[], Iterable[Row]]] = {
            "constant": lambda: ((v,) for v in self.universe if is_constant(v) and v not in self.instructions),
            "argument": lambda: ((v,) for v in self.function.arguments),
            "preexecution": lambda: ((v,) for v in self.universe if v not in self.instructions),
            "unused": lambda: ((v,) for v in self.instructions if v not in self.function.users),
            "integer zero": lambda: ((v,) for v in self.universe if v in ("0", "false")),
            "float zero": lambda: ((v,) for v in self.universe if v in ("0.000000e+00", "-0.000000e+00")),
            "control flow": self.control_flow,
            "control dependence": self.control_dependence,
            "dependence": lambda: chain(chain.from_iterable(map(self.operands_of, self.instructions)), self.control_dependence()),
            "phi": self.phis,
            "block": lambda: ((str(b[0]), str(b[-1])) for b in self.function.blocks.values()),
            "pure": self.pure,
            "loop": lambda: ((self.begin(loop),) for loop in self.control.loops.values()),
            "counted": lambda: ((self.begin(loop),) for loop in self.counted),
            "loop end": self.loop_ends,
            "iterator": lambda: self.iterators,
            "directly inside": self.directly_inside,
            "affine access": self.affine_accesses,
            "moves": lambda: self.movements(moving=True),
            "stays": lambda: self.movements(moving=False),
            "by data": self.by_data,
            "data": self.data,
            "contiguous": self.contiguous,
            "skipping": self.skipping,
            "contributes": self.contributing,
            "previous": self.previous,
            "same cell": self.same_cells,
            "carried": self.carried,
            "folds": lambda: ((u, a) for u, a, op in self.folds if word in ("", op)),
            "places": self.places,
            "alone": self.alone,
            "independent": self.independent,
            "alternatives": self.alike,
            "updates": lambda: self._alike(self.among_updates(), self.updates),
        }  # fmt: skip
        if name in listed:
            return Listed(listed[name]())
        computed: dict[str, Callable[[], Computed]] = {
            "integer": lambda: self.typed("i"),
            "float": lambda: self.typed("float", "double"),
            "pointer": lambda: self.typed("ptr"),
            "data flow": lambda: self.data_flow,
            "inside": lambda: self.inside,
            "belongs": lambda: self.belonging,
            "indexed": lambda: self.indexed,
            "same array": lambda: self.same_arrays,
            "operand": lambda: self.operands(int(word)),
        }
        if name in computed:
            return computed[name]()
        if name == "instruction":
            opcode = _SPELLED.get(word, word)
            return Listed((n,) for n in self.by_opcode.get(opcode, ()))
        return self._asked(name)

    def _asked(self, name: str) -> Relation:
        before = self.control.instruction_dominates
        after = self.control.instruction_post_dominates
        tests: dict[str, Callable[..., bool]] = {
            "different": lambda a, b: a != b,
            "dominates": lambda a, b: self.both(before, a, b),
            "strictly dominates": lambda a, b: a != b and self.both(before, a, b),
            "post dominates": lambda a, b: self.both(after, a, b),
            "strictly post dominates": lambda a, b: a != b and self.both(after, a, b),
            "passes": self.passes,
            "invariant": self.invariant,
            "kernel": self._is_kernel,
            "goes only": self._goes_only,
            "adds only": self._adds_only,
            "scales only": self._scales_only,
            "left": self._is_left,
            "unused sum": lambda value, begin: self.is_unused(value, self.loop_at(begin)),
            "once": self.comes_once,
            "in step": self.in_step,
            "beside": self.read_beside,
            "pushes": self.written_beside,
        }
        return Same() if name == "same" else Asked(tests[name])

    # ---- values

    def carried(self) -> Iterator[Row]:
        for loop in self.control.loops.values():
            for phi in self.function.blocks[loop.header]:
                if phi.opcode != "phi" or len(phi.operands) != 2 or self.evolution.step(phi.name):
                    continue
                back = [
                    v for v, b in zip(phi.operands, phi.labels, strict=True) if b in loop.blocks
                ]
                entry = [
                    v for v, b in zip(phi.operands, phi.labels, strict=True) if b not in loop.blocks
                ]
                if len(back) == len(entry) == 1:
                    yield phi.name, entry[0], back[0], self.begin(loop)

    @cached_property
    def folds(self) -> list[tuple[str, str, str]]:
        """The updates that combine: what is computed, the accumulator or the cell that is read, the operator."""
        found: list[tuple[str, str, str]] = []
        for phi, _, update, begin in self.carried():
            e = self._expression(self.loop_at(begin), phi)
            combined = combination(e, Accumulator(phi, e.type)) if e is not None else None
            if combined is not None:
                found.append((update, phi, combined.operator))
        for access in self.accesses.values():
            if access.is_store:
                found += self._of_memory(access)
        return found

    def alike(self) -> Iterator[Row]:
        """The last of alternatives that combine their cells by one operator."""
        return self._alike(self.among_alternatives(), self.alternatives)

    def _alike(
        self, rows: Iterable[Row], stores_of: Callable[[Access], list[Access]]
    ) -> Iterator[Row]:
        for name, begin in rows:
            stores = {str(a.instruction) for a in stores_of(self.accesses[name])}
            known = {(update, operator) for update, _, operator in self.folds if update in stores}
            if {update for update, _ in known} == stores and len({o for _, o in known}) == 1:
                yield name, begin

    def places(self) -> Iterator[Row]:
        """The updates of places in arrays that the loop does not write: what is computed, and the place before."""
        for phi, _, update, begin in self.carried():
            loop = self.loop_at(begin)
            e = self._expression(loop, phi)
            if e is None or not takes_place(e, Accumulator(phi, e.type)):
                continue
            written = {a.base for _, a in self.accesses_of(loop) if a.is_store}
            if not any(isinstance(r, Read) and r.base in written for r in all_of(e)):
                yield update, phi

    def _expression(self, loop: Loop, phi: str) -> Expression | None:
        """What a carried value becomes; others may go their own way beside it, and are known where it needs them."""
        if phi not in self._becomes:
            self._becomes[phi] = self._made_from(loop, phi)
        return self._becomes[phi]

    def _made_from(self, loop: Loop, phi: str) -> Expression | None:
        try:
            _, (own, *others) = Expressions(self.evolution, loop).updates(loop, phi)
        except Opaque:
            return None
        before = Accumulator(phi, own.type)
        return None if any(depends(e, before) for e in others) else own

    def builder(self, loop: Loop) -> Expressions:
        """The expressions in a loop over what no iteration gives to the next."""
        if loop.header not in self._builders:
            self._builders[loop.header] = Expressions(self.evolution, loop)
        return self._builders[loop.header]

    def paths(self, loop: Loop) -> Paths:
        """The conditions under which an iteration of a loop comes to its blocks."""
        if loop.header not in self._paths:
            self._paths[loop.header] = Paths(self.builder(loop), loop.header)
        return self._paths[loop.header]

    def _of_memory(self, store: Access) -> Iterator[tuple[str, str, str]]:
        """How a store combines the cell, or the one of the step before, with what does not depend on it."""
        loop = self.control.loop_of.get(store.instruction.block)
        e = self._stored(store, loop) if loop is not None else None
        if e is None or loop is None:
            return
        stride = self.evolution.stride(store, loop)
        cells = {store.index} if stride is None else {store.index, store.index - stride}
        own = [r for r in dict.fromkeys(all_of(e)) if isinstance(r, Read) and r.base == store.base]
        if any(r.index not in cells for r in own):
            return
        for r in own:
            cell = Accumulator("(cell)", e.type)
            combined = combination(replaced(e, r, cell), cell)
            if combined is None:
                continue
            for name in self.read_at.get((r.base, r.index), ()):
                yield str(store.instruction), name, combined.operator

    def _stored(self, store: Access, loop: Loop) -> Expression | None:
        """What a cell holds after a store, which may not be executed: then what it held."""
        builder = self.builder(loop)
        i = store.instruction
        try:
            value = builder.of(i.operands[0], i.types[0])
            atoms = builder.atoms(store.index)
            cells = self.evolution.cells(store.base, store.type)
            cell = Read(store.base, store.index, atoms, value.type, cells=cells)
            old = as_value(cell, cells, BITS.get(store.type, 0))
            return select(self.paths(loop).reached(i.block), value, old)
        except Opaque:
            return None

    def _is_kernel(self, value: str, begin: str) -> bool:
        try:
            self.builder(self.loop_at(begin)).of(value, self.type_of(value))
        except TooLong:
            return True
        except Opaque:
            return False
        return True

    def _adds_only(self, update: str, accumulator: str, one: str, other: str, begin: str) -> bool:
        """Whether an update adds the product of two values, and of what a loop does not change."""
        i, loop = self.instructions.get(update), self.loop_at(begin)
        if i is None:
            return False
        value, type_ = (i.operands[0], i.types[0]) if i.opcode == "store" else (i.name, i.type)
        builder = Expressions(self.evolution, loop)
        try:
            before = Accumulator(accumulator, builder.scalar(type_))
            builder.carried[accumulator] = before
            combined = combination(builder.of(value, type_), before)
            product = [builder.of(v, self.type_of(v)) for v in (one, other)]
        except Opaque:
            return False
        if combined is None or combined.operator != "add" or combined.condition is not None:
            return False
        return is_multiple(combined.element, product, partial(self._is_steady, loop))

    def _scales_only(self, store: str, begin: str) -> bool:
        """Whether a store is of one fold, perhaps scaled and added to what was in the cell."""
        access, loop = self.accesses.get(store), self.loop_at(begin)
        if access is None:
            return False
        try:
            i = access.instruction
            value = self.builder(loop).of(i.operands[0], i.types[0])
        except Opaque:
            return False
        return is_scaled_fold(value, access.base, partial(self._is_steady, loop))

    def _is_steady(self, loop: Loop, e: Expression) -> bool:
        """Whether a loop does not change what an expression is."""
        names = (n for part in all_of(e) for n in _named(part))
        carried = any(isinstance(part, Accumulator | Fold | Search) for part in all_of(e))
        return not carried and all(self.evolution.stays(n, loop) for n in names)

    def _is_left(self, value: str, begin: str) -> bool:
        """Whether a value is used after the loop that computes it."""
        blocks = self.loop_at(begin).blocks
        return any(user.block not in blocks for user in self.function.users.get(value, ()))

    def is_unused(self, value: str, loop: Loop) -> bool:
        """Whether nothing but its own next value depends on a value that a loop carries."""
        is_carried = any(i.name == value for i in self.function.blocks[loop.header])
        return is_carried and goes_nowhere(value, self.function, self.control, loop)

    def _goes_only(self, value: str, store: str, begin: str) -> bool:
        """Whether what is computed from a value in a loop is stored by one store and kept nowhere else."""
        return goes_only(value, store, self.function, self.control, self.loop_at(begin))


def _named(e: Expression) -> Iterable[str]:
    """The values and counters that an expression names itself."""
    match e:
        case Value(name, _) | Accumulator(name, _):
            return (name,)
        case Index(size, _) | Read(_, size):
            return size.names()
        case Constant() | Apply() | Fold() | Search():
            return ()
