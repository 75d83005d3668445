"""How large the numbers become with which a kernel computes in `int`: sizes, of which the largest must fit.

They are computed from the text, each part of an index by itself, as C computes it.  What depends on data is left
out: it says of itself whether it fits.

>>> from relift import nat
>>> from relift.compiler.certificates.overflow import spans_of
>>> from relift.compiler.text.reader import read_kernels
>>> n = nat("n")
>>> [k] = read_kernels("kernel void f(global float* out, const int n) { const int i = get_global_id(0); out[n*i] = 0.0f; }")
>>> spans_of(k, (n,), (1,), {"n": n}, [n * n])
(n*n,)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from relift.compiler.running.launch import Launch
from relift.compiler.text import tree
from relift.compiler.text.reader import read_kernels
from relift.semantics.syntax.sizes import Name as Atom
from relift.semantics.syntax.sizes import Size


@dataclass(frozen=True)
class Interval:
    """The numbers from `low` to `high`."""

    low: Size
    high: Size

    @property
    def natural(self) -> bool:
        """Whether none is negative."""
        return self.low.surely_at_least(0)

    @property
    def magnitude(self) -> Size:
        """No number is farther from 0."""
        if self.natural:
            return self.high
        return -self.low if (-self.high).surely_at_least(0) else self.high - self.low


def spans_of(
    kernel: tree.KernelText,
    total: Sequence[Size],
    local: Sequence[int],
    sizes: Mapping[str, Size],
    lengths: Iterable[Size],
) -> tuple[Size, ...]:
    """The lengths, and what a kernel computes, without those that another one is never less than.

    `total` and `local` are its numbers of work-items, `sizes` its parameters that are sizes.  A kernel that
    computes with `long` has no spans.
    """
    walker = _Spans(total, local, {name: Interval(n, n) for name, n in sizes.items()})
    for p in kernel.parameters:
        if p.name in sizes and p.type.scalar == "long":
            return ()
    walker.body(kernel.body)
    return largest([*lengths, *walker.found])


def with_spans(launch: Launch, source: str) -> Launch:
    """A launch whose kernels have the spans of their text, besides those that it claims."""
    if not launch.sizes:
        return launch
    texts = {k.name: k for k in read_kernels(source)}
    sizes = {name: Size.atom(Atom(name, least)) for name, least in launch.sizes.items()}
    cells = {b.name: b.cells for b in launch.buffers}
    kernels = tuple(
        replace(
            k,
            spans=spans_of(
                texts[k.name], k.total, k.local, sizes, [*k.spans, *(cells[a] for a in k.arguments)]
            ),
        )
        if k.name in texts
        else k
        for k in launch.kernels
    )
    return replace(launch, kernels=kernels)


def largest(found: Iterable[Size]) -> tuple[Size, ...]:
    """Without those sizes that another one is never less than."""
    kept: list[Size] = []
    for span in dict.fromkeys(found):
        if not any((other - span).surely_at_least(0) for other in kept):
            kept = [other for other in kept if not (span - other).surely_at_least(0)]
            kept.append(span)
    return tuple(kept)


@dataclass
class _Spans:
    total: Sequence[Size]
    local: Sequence[int]
    scope: dict[str, Interval | None]
    found: list[Size] = field(default_factory=list)

    def body(self, body: Sequence[tree.Statement]) -> None:
        outer = dict(self.scope)
        for statement in body:
            self.statement(statement)
        self.scope = outer

    def statement(self, statement: tree.Statement) -> None:
        match statement:
            case tree.Declaration(t, name, extent, value):
                inside = None if value is None else self.interval(value)
                if extent is not None:
                    self.interval(extent)
                whole = t.constant and t.scalar in ("int", "long") and t.width == 1
                self.scope[name] = inside if whole and not t.pointer else None
            case tree.Assignment(target, _, value):
                self.interval(target)
                self.interval(value)
            case tree.Evaluation(call):
                self.interval(call)
            case tree.Guard(condition, body):
                self.interval(condition)
                self.body(body)
            case tree.Loop(_, counter, start, end, step, body):
                first, last, by = map(self.interval, (start, end, step))
                inside = None
                if first is not None and last is not None and by is not None:
                    inside = Interval(first.low, last.high - 1)
                    self.found.append(last.high - 1 + by.high)
                outer = dict(self.scope)
                self.scope[counter] = inside
                self.body(body)
                self.scope = outer
            case tree.Barrier():
                pass

    def interval(self, e: tree.Expression) -> Interval | None:
        """Where a whole number lies, None for data; each part of it is noted."""
        found = self._interval(e)
        if found is not None and not isinstance(e, tree.Whole | tree.Name):
            self.found += [found.high, -found.low]
        return found

    def _interval(self, e: tree.Expression) -> Interval | None:
        match e:
            case tree.Whole(value):
                return Interval(Size.of(value), Size.of(value))
            case tree.Name(name):
                return self.scope.get(name)
            case tree.Invocation(function, (tree.Whole(d),)) if function.startswith("get_"):
                return self.identity(function, d)
            case tree.Invocation("min" | "max" as function, (left, right)):
                return _extreme(function, self.interval(left), self.interval(right))
            case tree.Prefix("-", operand):
                a = self.interval(operand)
                return None if a is None else Interval(-a.high, -a.low)
            case tree.Prefix("+", operand):
                return self.interval(operand)
            case tree.Binary("+" | "-" | "*" | "/" | "%" as operator, left, right):
                a, b = self.interval(left), self.interval(right)
                return None if a is None or b is None else _computed(operator, a, b)
            case tree.Conditional(condition, yes, no):
                self.interval(condition)
                a, b = self.interval(yes), self.interval(no)
                return None if a is None or b is None else _either(a, b)
            case tree.Cast(t, (operand,)) if (
                t.scalar in ("int", "long") and t.width == 1 and not t.pointer
            ):
                return self.interval(operand)
            case (
                tree.Real() | tree.Element() | tree.Member() | tree.Prefix()
                | tree.Binary() | tree.Invocation() | tree.Cast()
            ):  # fmt: skip
                for part in tree.parts(e):
                    self.interval(part)
                return None

    def identity(self, function: str, d: int) -> Interval | None:
        """The numbers of a work-item: below how many there are; a launch may round these up to whole groups."""
        if d >= len(self.total):
            return Interval(Size.of(0), Size.of(1))
        total, local = self.total[d], Size.of(self.local[d])
        match function:
            case "get_local_id":
                return Interval(Size.of(0), local - 1)
            case "get_local_size":
                return Interval(local, local)
            case "get_group_id" | "get_num_groups":
                groups = total.divided_by(local)
                count = total if groups is None else groups
                return Interval(Size.of(0), count - 1 if function == "get_group_id" else count)
            case _:
                return Interval(Size.of(0), total - 1 if function == "get_global_id" else total)


def _computed(operator: str, a: Interval, b: Interval) -> Interval:
    natural = a.natural and b.natural
    match operator:
        case "+":
            return Interval(a.low + b.low, a.high + b.high)
        case "-":
            return Interval(a.low - b.high, a.high - b.low)
        case "*" if natural:
            return Interval(a.low * b.low, a.high * b.high)
        case "*":
            most = a.magnitude * b.magnitude
            return Interval(-most, most)
        case "/":
            most = a.magnitude
            return Interval(Size.of(0) if natural else -most, most)
        case _:
            most = b.magnitude - 1
            return Interval(Size.of(0) if natural else -most, most)


def _extreme(function: str, a: Interval | None, b: Interval | None) -> Interval | None:
    """`min` or `max`; the one that is surely less or more, if one is."""
    if a is None or b is None:
        return None
    low_is_a = (b.low - a.low).surely_at_least(0)
    low_is_b = (a.low - b.low).surely_at_least(0)
    high_is_a = (a.high - b.high).surely_at_least(0)
    high_is_b = (b.high - a.high).surely_at_least(0)
    if function == "min":
        low = a.low if low_is_a else b.low if low_is_b else -(a.magnitude + b.magnitude)
        return Interval(low, b.high if high_is_a else a.high)
    high = a.high if high_is_a else b.high if high_is_b else a.magnitude + b.magnitude
    return Interval(b.low if low_is_a else a.low, high)


def _either(a: Interval, b: Interval) -> Interval:
    most = a.magnitude + b.magnitude
    low = Size.of(0) if a.natural and b.natural else -most
    high_is_a = (a.high - b.high).surely_at_least(0)
    high_is_b = (b.high - a.high).surely_at_least(0)
    return Interval(low, a.high if high_is_a else b.high if high_is_b else most)
