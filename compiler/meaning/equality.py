"""Whether two values are surely equal, by what is known of the numbers in them."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from relift.compiler.meaning.numbers.algebra import Folding
from relift.compiler.meaning.numbers.polynomials import Index
from relift.compiler.validation.symbols import COMMUTING, Symbol

Question: TypeAlias = Generator[tuple[Any, Any], bool, bool]
"""What asks whether pairs are equal, and says whether its own is."""

UNFOLDED = 256
"""A fold of so many turns is written out where it stands against something else."""

_LOGIC = {"nonneg", "bitwise_and", "bitwise_or", "invert", "whole"}


@dataclass
class Same:
    """Whether two values are surely equal: the same operations on the same cells, indices equal by what is known."""

    algebra: Folding
    known: dict[tuple[Symbol, Symbol], bool] = field(default_factory=dict)

    def __call__(self, x: Any, y: Any) -> bool:
        """Whether they are; without recursion, since sums may be deep."""
        waiting, answer = [self._asked(x, y)], False
        started = False
        while waiting:
            try:
                pair = waiting[-1].send(answer) if started else next(waiting[-1])
            except StopIteration as done:
                waiting.pop()
                answer, started = done.value, True
            else:
                waiting.append(self._asked(*pair))
                started = False
        return answer

    def _asked(self, x: Any, y: Any) -> Question:
        """The answer for two values, by those for pairs that are yielded."""
        if x is y:
            return True
        if x.__class__ in (int, Index) and y.__class__ in (int, Index):
            return self.algebra.ranges.same(x, y)
        if not isinstance(x, Symbol) or not isinstance(y, Symbol):
            return bool(x.__class__ is y.__class__ and x == y)
        if (x, y) not in self.known:
            self.known[x, y] = False
            self.known[x, y] = yield from self._symbols(x, y)
        return self.known[x, y]

    def _symbols(self, x: Symbol, y: Symbol) -> Question:
        if x.type != y.type:
            return False
        alike = x.op == y.op and x.op not in ("real", "whole") and len(x.args) == len(y.args)
        if alike and (yield from self._all(zip(x.args, y.args, strict=True))):
            return True
        if (
            alike
            and x.op in COMMUTING
            and (yield from self._all(zip(x.args, y.args[::-1], strict=True)))
        ):
            return True
        if x.op == y.op == "fold" and (yield from self._folds(x, y)):
            return True
        for u, v in ((x, y), (y, x)):
            if u.op == "fold":
                wide = self.algebra.unfolded(u, UNFOLDED)
                if wide is not None:
                    return (yield wide, v)
        if x.type == "bool" and _LOGIC & {x.op} and _LOGIC & {y.op}:
            return self._conditions(x, y)
        return False

    def _all(self, pairs: Iterable[tuple[Any, Any]]) -> Question:
        for pair in pairs:
            if not (yield pair):
                return False
        return True

    def _folds(self, x: Symbol, y: Symbol) -> Question:
        """Two folds of one range, of which one has more folds inside."""
        if x.args[2] != y.args[2] or x.args[1] == y.args[1] or not (yield x.args[0], y.args[0]):
            return False
        count, height = x.args[2], max(x.args[1], y.args[1])
        firsts = zip(x.args[3 : 3 + count], y.args[3 : 3 + count], strict=True)
        nexts = zip(self.algebra.raised(x, height), self.algebra.raised(y, height), strict=True)
        return (yield from self._all((*firsts, *nexts)))

    def _conditions(self, x: Symbol, y: Symbol) -> bool:
        """Two conditions, by Z3: one holds where the other does."""
        import z3

        from relift.compiler.meaning.numbers.ranges import STEPS

        r = self.algebra.ranges
        solver = z3.Solver()
        solver.set("rlimit", STEPS)
        numbers: list[Any] = []

        def formula(c: Symbol) -> Any:
            match c.op:
                case "nonneg":
                    numbers.append(c.args[0])
                    return r.z3_number(c.args[0]) >= 0
                case "bitwise_and":
                    return z3.And(*map(formula, c.args))
                case "bitwise_or":
                    return z3.Or(*map(formula, c.args))
                case "invert":
                    return z3.Not(formula(c.args[0]))
                case "whole":
                    return z3.BoolVal(bool(c.args[0]))
                case _:
                    return z3.Bool(f"symbol_{c.number}")

        solver.add(formula(x) != formula(y))
        r.tell(solver, numbers)
        return bool(solver.check() == z3.unsat)
