"""The names of a kernel where a statement stands: what each is, and what is known of an expression of them.

Constants that are whole numbers are put in place of their names.  Every other name is made unique by a suffix such
as `#2`.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from relift.compiler.certificates.flows import Array, Fact, Iteration
from relift.compiler.text import tree
from relift.compiler.text.c_types import vector_function
from relift.compiler.text.expressions import in_c, shown
from relift.compiler.text.lexing import NotUnderstood

NUMBERS_OF_ITEMS = (
    "get_global_id", "get_group_id", "get_local_id", "get_global_size", "get_num_groups"
)  # fmt: skip
"""The functions that tell work-items apart; their numbers have no sign until a variable holds them."""


UNIFORM = ("get_group_id", "get_global_size", "get_num_groups", "min", "max")
"""The functions with one value for all work-items of a group, if their arguments have one."""

_SOMEWHERE = "an array that is not known"


@dataclass
class Names:
    """What the names of a kernel are, by kinds: arrays, pointers to their starts, and variables in `scope`.

    A pointer to another place of an array is in `scope`, for what it is set to for good; the arrays into which
    pointers lead are `reached`, and may not be hidden.
    `changing` are variables that are assigned again, `uniform` those with one value for a work-group; `whole` says
    which are whole numbers, and where these come from, `long` which are of that type, as the `numbers` of counters
    and constants are of theirs.  `tables` are the whole numbers of arrays of constants.
    """

    arrays: dict[str, Array] = field(default_factory=dict)
    scope: dict[str, tree.Expression] = field(default_factory=dict)
    pointers: dict[str, str] = field(default_factory=dict)
    changing: set[str] = field(default_factory=set)
    uniform: set[str] = field(default_factory=set)
    whole: dict[str, str] = field(default_factory=dict)
    tables: dict[str, tuple[int, ...]] = field(default_factory=dict)
    numbers: set[str] = field(default_factory=set)
    long: set[str] = field(default_factory=set)
    reached: set[str] = field(default_factory=set)
    made: int = 0

    # ---- declarations

    def parameter(self, p: tree.Argument, cells: Mapping[str, tree.Expression]) -> None:
        """A parameter of the kernel: a buffer of so many cells, or a number that does not change."""
        if p.type.pointer:
            if p.name not in cells:
                raise NotUnderstood(f"{p.name} is no buffer of the launch")
            self.arrays[p.name] = array = Array(p.name, p.type, cells[p.name])
            if array.constant and is_whole(p.type):
                self.whole[p.name] = "input"
            return
        self.scope[p.name] = tree.Name(p.name)
        self._note_width(p.name, p.type)
        if is_whole(p.type):
            self.whole[p.name] = "data"
        self.uniform.add(p.name)

    def size(self, name: str) -> None:
        """A size that is a number in the text, and any number in what is proved."""
        self.scope[name] = tree.Name(name)
        self.uniform.add(name)

    def array(self, d: tree.Declaration, extent: tree.Expression) -> None:
        """An array that the kernel declares."""
        self.made += 1
        cells = self.resolved(extent)
        self._require_unreached(d.name)
        self.scope.pop(d.name, None)
        self.arrays[d.name] = array = Array(d.name, d.type, cells, self.made)
        if d.name in self.whole:
            raise NotUnderstood(f"the array {d.name}, which hides whole numbers")
        if array.constant and is_whole(d.type):
            self.whole[d.name] = "input"
            numbers = tuple(n for e in d.values if (n := _number_of(e)) is not None)
            if len(numbers) == len(d.values):
                self.tables[d.name] = numbers

    def pointer(self, d: tree.Declaration) -> None:
        """A pointer that is declared, and set to a place of an array: to its start, or for good."""
        if d.name in self.pointers or d.value is None:
            raise NotUnderstood(f"the pointer {d.name} without a value, or declared again")
        value = self.resolved(d.value)
        array = _array_of(value)
        if array not in self.arrays:
            raise NotUnderstood(f"the pointer {shown(value)}, which leads into no array")
        if replace(self.arrays[array].type, pointer=True, constant=d.type.constant) != d.type:
            raise NotUnderstood(f"the pointer {d.name} into an array of another type")
        self._require_unreached(d.name)
        self.reached.add(array)
        if value == tree.Name(array):
            self.pointers[d.name] = array
        elif self.is_fixed(value):
            self.scope[d.name] = value
            self.arrays.pop(d.name, None)
        else:
            raise NotUnderstood(f"the pointer {shown(value)}, which depends on what changes")

    def _require_unreached(self, name: str) -> None:
        """Raise where a declaration hides an array that a pointer in sight may lead into."""
        if name in self.reached:
            raise NotUnderstood(f"{name}, which hides an array behind a pointer")

    def variable(self, d: tree.Declaration, value: tree.Expression | None) -> None:
        """A variable that is declared; a constant that is a whole number stands for its value."""
        wide = d.value is not None and self._is_long(d.value)
        cut = wide and d.type.scalar == "int"  # C drops the higher bits
        fixed = d.type.constant and is_whole(d.type) and not cut
        if value is not None and fixed and self.is_fixed(value) and not _is_beyond(value):
            self.numbers.add(d.type.scalar)
            self._require_unreached(d.name)
            self.scope[d.name] = value
            self.arrays.pop(d.name, None)
        else:
            key = self._fresh(d.name)
            if is_whole(d.type):
                self.whole[key] = "data"
            if not d.type.constant:
                self.changing.add(key)
        self._note_width(d.name, d.type)

    def _note_width(self, name: str, t: tree.CType) -> None:
        (self.long.add if t.scalar == "long" else self.long.discard)(name)

    @contextmanager
    def counter(self, loop: tree.Loop, *, uniform: bool) -> Generator[str, None, None]:
        """The counter of a loop, known inside by a name of its own."""
        outer = self.scope.get(loop.counter)
        key = self._fresh(loop.counter)
        self.whole[key] = "counter"
        self.numbers.add(loop.type.scalar)
        if uniform:
            self.uniform.add(key)
        yield key
        if outer is None:
            del self.scope[loop.counter]
        else:
            self.scope[loop.counter] = outer

    @contextmanager
    def block(self) -> Generator[None, None, None]:
        """What is declared inside is unknown outside; pointers stay as they are set."""
        scope, arrays, long = dict(self.scope), dict(self.arrays), set(self.long)
        pointers, reached = tuple(self.pointers), set(self.reached)
        yield
        self.scope, self.arrays, self.long = scope, arrays, long
        self.pointers = {name: self.pointers[name] for name in pointers}
        self.reached = reached | set(self.pointers.values())

    def _fresh(self, name: str) -> str:
        """A name for another variable that is called so from here on."""
        self._require_unreached(name)
        self.made += 1
        key = f"{name}#{self.made}"
        self.scope[name] = tree.Name(key)
        self.arrays.pop(name, None)
        return key

    # ---- pointers

    def pointed(self, value: tree.Expression) -> str:
        """The array to whose start a pointer is set."""
        e = self.resolved(value)
        if isinstance(e, tree.Name) and e.name in self.arrays:
            self.reached.add(e.name)
            return e.name
        raise NotUnderstood(f"the pointer {shown(e)}, which is not the start of an array")

    def exchanged(self, body: Sequence[tree.Statement]) -> list[dict[str, str]]:
        """How the second, third, ... turn of a loop finds the pointers, until one finds them as the first."""
        first, found = dict(self.pointers), list[dict[str, str]]()
        while True:
            self._follow_pointers(body)
            if _SOMEWHERE in self.pointers.values():
                raise NotUnderstood("pointers that a block in a loop exchanges")
            if self.pointers == first:
                return found
            if self.pointers in found:
                raise NotUnderstood("a loop that never sets its pointers back")
            found.append(dict(self.pointers))

    def _follow_pointers(self, body: Sequence[tree.Statement]) -> None:
        """Follow the pointers alone through a body."""
        kept = tuple(self.pointers)
        for statement in body:
            match statement:
                case tree.Declaration(t, name, _, tree.Name(value)) if t.pointer:
                    self.pointers[name] = self.pointers.get(value, value)
                case tree.Assignment(tree.Name(name), "=", tree.Name(value)) if (
                    name in self.pointers
                ):
                    self.pointers[name] = self.pointers.get(value, value)
                case tree.Loop() | tree.Guard():
                    before = dict(self.pointers)
                    self._follow_pointers(statement.body)
                    changed = {name for name in before if self.pointers[name] != before[name]}
                    self.pointers |= dict.fromkeys(changed, _SOMEWHERE)
                case tree.Declaration() | tree.Assignment() | tree.Evaluation() | tree.Barrier():
                    pass
        self.pointers = {name: self.pointers[name] for name in kept}

    # ---- what is known of an expression

    def resolved(self, e: tree.Expression) -> tree.Expression:
        """e with unique names, and constants in place of theirs."""
        if isinstance(e, tree.Prefix | tree.Binary) and any(map(_without_sign, tree.parts(e))):
            raise NotUnderstood(f"the arithmetic without signs {in_c(e)}")
        match e:
            case tree.Name(name):
                if name in self.pointers:
                    return tree.Name(self.pointers[name])
                if name in self.arrays:
                    return e
                if name not in self.scope and not name.isupper():
                    raise NotUnderstood(f"the name {name}")
                return self.scope.get(name, e)
            case tree.Whole() | tree.Real():
                return e
            case tree.Element(array, index):
                return _element(self.resolved(array), self.resolved(index))
            case tree.Member(of, name):
                return tree.Member(self.resolved(of), name)
            case tree.Prefix(operator, operand):
                return tree.Prefix(operator, self.resolved(operand))
            case tree.Binary(operator, left, right):
                return tree.Binary(operator, self.resolved(left), self.resolved(right))
            case tree.Conditional(condition, yes, no):
                return tree.Conditional(*map(self.resolved, (condition, yes, no)))
            case tree.Invocation(function, arguments):
                return tree.Invocation(function, tuple(map(self.resolved, arguments)))
            case tree.Cast(t, arguments):
                given = tuple(map(self.resolved, arguments))
                as_it_is = t == tree.CType("int") and not any(map(self._is_long, arguments))
                if as_it_is and all(map(self._is_number, given)):
                    return given[0]
                return tree.Cast(t, given)

    def _is_number(self, e: tree.Expression) -> bool:
        """Whether an expression is arithmetic on whole numbers with signs alone, or a cell of an input of such."""
        match e:
            case tree.Element(tree.Name(array), _):
                return self.whole.get(array) == "input"
            case tree.Name(name):
                return name in self.whole
            case tree.Whole() | tree.Binary() | tree.Prefix():
                return all(map(self._is_number, tree.parts(e)))
            case (
                tree.Real() | tree.Element() | tree.Member() | tree.Conditional()
                | tree.Invocation() | tree.Cast()
            ):  # fmt: skip
                return False

    def _is_long(self, e: tree.Expression) -> bool:
        """Whether an expression may be of the type long; no name that ever was may be left out."""
        return any(
            (isinstance(u, tree.Whole) and u.long)
            or (isinstance(u, tree.Name) and u.name in self.long)
            or (isinstance(u, tree.Cast) and u.type.scalar == "long")
            or (
                isinstance(u, tree.Name)
                and u.name in self.arrays
                and self.arrays[u.name].type.scalar == "long"
            )
            for u in tree.within(e)
        )

    def is_fixed(self, e: tree.Expression) -> bool:
        """Whether e has one value for a work-item and the turns around it, whenever it is computed."""
        return all(
            (not isinstance(u, tree.Name) or u.name not in self.changing)
            and not isinstance(u, tree.Real | tree.Cast | tree.Member)
            and (not isinstance(u, tree.Element) or self._of_constant(u))
            for u in tree.within(e)
        )

    def changes(self, e: tree.Expression) -> bool:
        """Whether e may have another value later: it reads a variable, or memory, that may be written."""
        return any(
            (isinstance(u, tree.Name) and u.name in self.changing)
            or (isinstance(u, tree.Prefix) and u.operator == "*")
            or (isinstance(u, tree.Invocation) and vector_function(u.function, "vload") > 0)
            or (isinstance(u, tree.Element) and not self._of_constant(u))
            for u in tree.within(e)
        )

    def _of_constant(self, e: tree.Element) -> bool:
        array = self.arrays.get(e.array.name) if isinstance(e.array, tree.Name) else None
        return array is not None and array.constant

    def is_uniform(self, e: tree.Expression) -> bool:
        """Whether e has one value for all work-items of a group."""
        return all(
            isinstance(u, tree.Whole | tree.Binary | tree.Prefix | tree.Conditional)
            or (isinstance(u, tree.Name) and u.name in self.uniform)
            or (isinstance(u, tree.Invocation) and u.function in UNIFORM)
            for u in tree.within(e)
        )

    def same_for_all(self, where: Iteration | Fact) -> bool:
        """Whether all work-items of a group take the same turns, or meet the same condition."""
        return where.uniform if isinstance(where, Iteration) else self.is_uniform(where.condition)


def _array_of(pointer: tree.Expression) -> str:
    """The name before the numbers that move a pointer; nothing where it is none."""
    while isinstance(pointer, tree.Binary) and pointer.operator in ("+", "-"):
        pointer = pointer.left
    return pointer.name if isinstance(pointer, tree.Name) else ""


def _is_beyond(e: tree.Expression) -> bool:
    """Whether a number is computed by more than arithmetic, so that nothing is known of it: a variable holds one, wherever it is asked."""
    return any(
        (isinstance(u, tree.Invocation) and u.function not in (*NUMBERS_OF_ITEMS, *UNIFORM))
        or (isinstance(u, tree.Binary) and u.operator in ("&", "|", "^", "<<", ">>"))
        for u in tree.within(e)
    )


def _element(array: tree.Expression, index: tree.Expression) -> tree.Element:
    """An element behind a pointer, counted from the start of its array."""
    if not isinstance(array, tree.Binary) or array.operator not in ("+", "-"):
        return tree.Element(array, index)
    left, right = (array.right, index) if array.operator == "+" else (index, array.right)
    return _element(array.left, tree.Binary(array.operator, left, right))


def _number_of(e: tree.Expression) -> int | None:
    """The whole number that is written, if one is."""
    if isinstance(e, tree.Prefix) and e.operator == "-":
        inner = _number_of(e.operand)
        return None if inner is None else -inner
    return e.value if isinstance(e, tree.Whole) else None


def _without_sign(e: tree.Expression) -> bool:
    """Whether a number of a work-item is computed with before a variable with a sign holds it."""
    match e:
        case tree.Invocation(function, arguments):
            return function in NUMBERS_OF_ITEMS or (
                function in ("min", "max") and any(map(_without_sign, arguments))
            )
        case tree.Conditional(_, yes, no):
            return _without_sign(yes) or _without_sign(no)
        case (
            tree.Whole() | tree.Real() | tree.Name() | tree.Element()
            | tree.Member() | tree.Prefix() | tree.Binary() | tree.Cast()
        ):  # fmt: skip
            return False


def is_whole(t: tree.CType) -> bool:
    """Whether a type is one of whole numbers with a sign."""
    return t.scalar in ("int", "long") and t.width == 1
