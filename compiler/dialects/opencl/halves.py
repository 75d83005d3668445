"""Kernels that compute in `half`, for a device that only stores it: what `cl_khr_fp16` would do, done in `float`.

Every value is a `float` that `half` has, too.  What an operation gives is rounded to the nearest such, which is what
the operation would have given in `half`: `float` has more than twice its digits.  A multiply-add, which rounds once,
is done in `double`.  Global memory stays as it is, and is read and written through `vload_half` and `vstore_half`.

>>> from relift.compiler.dialects.opencl.halves import without_halves
>>> from relift.compiler.dialects.opencl.printer import OpenCL
>>> from relift.compiler.text.reader import read_source
>>> text = "kernel void f(global half* restrict y) { y[get_global_id(0)] = y[0] * y[1] + 0.1h; }"
>>> print(OpenCL().source(without_halves(read_source(text))), end="")
float round_half(float x) {
  ushort bits; vstore_half_rte(x, 0, (private half*)&bits); return vload_half(0, (private const half*)&bits);
}
<BLANKLINE>
kernel void f(global half* restrict y) {
  vstore_half_rte(round_half(round_half(vload_half(0, y)*vload_half(1, y)) + 0.0999755859375f), get_global_id(0), y);
}
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from relift.compiler.dialects.types import CONVERSION, Types, types_of
from relift.compiler.text import tree
from relift.compiler.text.c_types import FLOATS, MEMORY
from relift.semantics.errors import Unsupported
from relift.semantics.syntax.types import f16

EXTENSION = f16.extension
_EXACT = frozenset(["fabs", "floor", "ceil", "min", "max", "fmin", "fmax", "select"])
_TRUTHS = frozenset(["==", "!=", "<", ">", "<=", ">="])
_INSTEAD = {"half": "float", "short": "int"}
"""What is computed with instead, and the lanes of its comparisons."""


def without_halves(source: tree.Source) -> tree.Source:
    """The same source, which computes in `half` nowhere; raises `Unsupported` for functions that are not read."""
    needed: dict[str, tree.Function] = {}
    types = types_of(source)
    functions = [_Widened(types.inside(f), needed).function(f) for f in source.functions]
    kernels = [_Widened(types.inside(k), needed).kernel(k) for k in source.kernels]
    extensions = tuple(name for name in source.extensions if name != EXTENSION)
    return replace(
        source,
        kernels=tuple(kernels),
        functions=(*needed.values(), *functions),
        extensions=extensions,
    )


def _instead(t: tree.CType) -> tree.CType:
    """The type of a value, or of memory that is not global."""
    if t.pointer and t.space.of_device:
        return t
    return replace(t, scalar=_INSTEAD.get(t.scalar, t.scalar))


def _is_stored(t: tree.CType) -> bool:
    """Whether what a pointer points to is read and written by functions."""
    return t.pointer and t.scalar == "half" and t.space.of_device


def _in_double(e: tree.Expression, width: int) -> tree.Expression:
    return (
        tree.call(f"convert_double{width}", e)
        if width > 1
        else tree.Cast(tree.CType("double"), (e,))
    )


@dataclass
class _Widened:
    """Rewrites what `types` knows the variables of; `needed` are the functions that this takes."""

    types: Types
    needed: dict[str, tree.Function] = field(default_factory=dict[str, tree.Function])

    # ---- values

    def rounded(self, e: tree.Expression, width: int, scalar: str = "float") -> tree.Expression:
        """The nearest value of `half`."""
        lanes = str(width) if width > 1 else ""
        name = f"round_half{'_from_double' * (scalar == 'double')}{'_x' * (width > 1)}{lanes}"
        text = (
            f"ushort{lanes} bits; vstore_half{lanes}_rte(x, 0, (private half*)&bits); "
            f"return vload_half{lanes}(0, (private const half*)&bits);"
        )
        given = (tree.Argument(tree.CType(scalar, width), "x"),)
        self.needed.setdefault(
            name, tree.Function(name, tree.CType("float", width), given, None, text=text)
        )
        return tree.call(name, replace(e, parentheses=0))

    def value(self, e: tree.Expression, t: tree.CType) -> tree.Expression:
        """An operand where a value of type t is wanted, to which C converts it."""
        own = self.types.of(e)
        if t.scalar != "half" or t.pointer or own.scalar == "half":
            return self.expression(e)
        return self.converted(e, t)

    def converted(self, e: tree.Expression, t: tree.CType) -> tree.Expression:
        """A value of another type as one of `half`."""
        own = self.types.of(e)
        inner = self.expression(e)
        if own.scalar == "double":
            return self.rounded(inner, own.width, "double")
        if own.scalar not in FLOATS and own.width > 1:
            inner = tree.call(f"convert_float{own.width}", inner)
        elif own.scalar not in FLOATS:
            inner = tree.Cast(tree.CType("float"), (inner,))
        found = self.rounded(inner, own.width)
        return tree.Cast(tree.CType("float", t.width), (found,)) if t.width > own.width else found

    def expression(self, e: tree.Expression) -> tree.Expression:
        """An expression whose values are `float` where they were `half`."""
        t = self.types.of(e)
        match e:
            case tree.Real(text) if text[-1] in "hH":
                return self._constant(e, float(np.float16(float(text[:-1]))))
            case tree.Element(array, index) if _is_stored(of := self.types.of(array)):
                return self._loaded(of, array, self.expression(index))
            case tree.Prefix("*", pointer) if _is_stored(of := self.types.of(pointer)):
                return self._loaded(of, pointer, tree.Whole(0))
            case tree.Binary(operator, left, right) if t.scalar == "half" and not t.pointer:
                sides = (self.value(left, t), self.value(right, t))
                return self.rounded(replace(e, left=sides[0], right=sides[1]), t.width)
            case tree.Binary(operator, left, right) if operator in _TRUTHS:
                both = (self.types.of(left), self.types.of(right))
                if "half" not in (both[0].scalar, both[1].scalar):
                    return tree.mapped_expression(e, self.expression)
                wanted = tree.CType("half", max(both[0].width, both[1].width))
                return replace(e, left=self.value(left, wanted), right=self.value(right, wanted))
            case tree.Cast(to, (one,)) if to.scalar == "half" and not to.pointer:
                if self.types.of(one).scalar != "half":
                    return self.converted(one, to)
                return replace(e, type=_instead(to), arguments=(self.expression(one),))
            case tree.Cast(to, given):
                return replace(e, type=_instead(to), arguments=tuple(map(self.expression, given)))
            case tree.Invocation():
                return self._called(e, t)
            case (
                tree.Whole() | tree.Real() | tree.Name() | tree.Element() | tree.Member()
                | tree.Prefix() | tree.Binary() | tree.Conditional()
            ):  # fmt: skip
                return tree.mapped_expression(e, self.expression)

    def _constant(self, e: tree.Real, value: float) -> tree.Expression:
        if np.isinf(value):
            return tree.Name("INFINITY")
        return replace(e, text=f"{value!r}f")

    def _called(self, e: tree.Invocation, t: tree.CType) -> tree.Expression:
        """A call: of a function of the source, for memory, of a conversion, or of the library."""
        name, given = e.function, e.arguments
        if (m := MEMORY.fullmatch(name)) is not None:
            of = self.types.of(given[-1])
            inner = tuple(map(self.expression, given))
            if not _is_stored(of):
                return replace(e, arguments=inner)
            rounds = "_rte" if m["how"] == "vstore" else ""
            return tree.call(f"{m['how']}_half{m['width']}{rounds}", *inner)
        if (m := CONVERSION.fullmatch(name)) is not None:
            if m["scalar"] == "half":
                return self.converted(given[0], t)
            to = _INSTEAD.get(m["scalar"], m["scalar"])
            renamed = f"{m['how']}_{to}{m['width']}{m['sat'] or ''}"
            return tree.call(renamed, *map(self.expression, given))
        if t.scalar != "half":
            return replace(e, arguments=tuple(map(self.expression, given)))
        inner = tuple(
            self.expression(a) if name == "select" and i == 2 else self.value(a, t)
            for i, a in enumerate(given)
        )
        if name in self.types.functions or name in _EXACT:
            return replace(e, arguments=inner)
        if name == "fma":
            wide = [_in_double(a, t.width) for a in inner]
            return self.rounded(tree.call(name, *wide), t.width, "double")
        return self.rounded(tree.call(name, *inner), t.width)

    # ---- memory

    def _loaded(
        self, of: tree.CType, pointer: tree.Expression, place: tree.Expression
    ) -> tree.Expression:
        lanes = str(of.width) if of.width > 1 else ""
        return tree.call(f"vload_half{lanes}", place, self._to_halves(of, pointer))

    def _to_halves(self, of: tree.CType, pointer: tree.Expression) -> tree.Expression:
        """A pointer to single halves."""
        if of.width == 1:
            return self.expression(pointer)
        if isinstance(pointer, tree.Cast) and len(pointer.arguments) == 1:
            [inner] = pointer.arguments
            if self.types.of(inner).width == 1:
                return self.expression(inner)
        return tree.Cast(replace(of, width=1), (self.expression(pointer),))

    # ---- statements

    def statements(self, body: tuple[tree.Statement, ...]) -> tuple[tree.Statement, ...]:
        """A block."""
        return tuple(map(self.statement, body))

    def statement(self, s: tree.Statement) -> tree.Statement:
        """A statement."""
        match s:
            case tree.Declaration(t, _, extent, value):
                own = None if value is None else self.value(value, t)
                values = tuple(self.value(e, t) for e in s.values)
                return replace(s, type=_instead(t), extent=extent, value=own, values=values)
            case tree.Assignment(target, operator, value):
                t = self.types.of(target)
                if operator != "=":
                    value = tree.Binary(operator[0], target, value)
                return self._assigned(target, self.value(value, t))
            case tree.Evaluation() | tree.Barrier() | tree.Loop() | tree.Guard():
                return tree.mapped_statement(s, self.expression, self.statements)

    def _assigned(self, target: tree.Expression, value: tree.Expression) -> tree.Statement:
        if isinstance(target, tree.Element) and _is_stored(of := self.types.of(target.array)):
            return self._stored(of, target.array, self.expression(target.index), value)
        pointer = (
            target.operand if isinstance(target, tree.Prefix) and target.operator == "*" else None
        )
        if pointer is not None and _is_stored(of := self.types.of(pointer)):
            return self._stored(of, pointer, tree.Whole(0), value)
        of_lanes = target.of if isinstance(target, tree.Member) else None
        if isinstance(of_lanes, tree.Element) and _is_stored(self.types.of(of_lanes.array)):
            raise Unsupported("a lane of a vector of half in global memory is not set apart")
        return tree.Assignment(self.expression(target), "=", value)

    def _stored(
        self,
        of: tree.CType,
        pointer: tree.Expression,
        place: tree.Expression,
        value: tree.Expression,
    ) -> tree.Statement:
        lanes = str(of.width) if of.width > 1 else ""
        return tree.Evaluation(
            tree.call(f"vstore_half{lanes}_rte", value, place, self._to_halves(of, pointer))
        )

    # ---- definitions

    def function(self, f: tree.Function) -> tree.Function:
        """A function."""
        known = [f.result, *(p.type for p in f.parameters)]
        if f.body is None:
            if any(t.scalar == "half" for t in known) or any("half" in w for w in f.tokens):
                raise Unsupported(
                    f"{f.name} is C text that computes in half and is not read, and the device has no {EXTENSION}"
                )
            return f
        body: list[tree.Statement | tree.Return] = []
        for s in f.body:
            if isinstance(s, tree.Return):
                condition = None if s.condition is None else self.expression(s.condition)
                body.append(tree.Return(condition, self.value(s.value, f.result)))
            else:
                body.append(self.statement(s))
        parameters = tuple(replace(p, type=_instead(p.type)) for p in f.parameters)
        return replace(
            f, result=_instead(f.result), parameters=parameters, body=tuple(body), text=None
        )

    def kernel(self, k: tree.KernelText) -> tree.KernelText:
        """A kernel; a single half is given to it as its bits."""
        parameters: list[tree.Argument] = []
        first: list[tree.Statement] = []
        for p in k.parameters:
            if p.type.scalar != "half" or p.type.pointer:
                parameters.append(p)
                continue
            bits = f"bits_of_{p.name}"
            parameters.append(tree.Argument(tree.CType("ushort"), bits))
            place = tree.Cast(
                tree.CType("half", pointer=True), (tree.Prefix("&", tree.Name(bits)),)
            )
            loaded = tree.call("vload_half", tree.Whole(0), place)
            first.append(tree.Declaration(tree.CType("float"), p.name, None, loaded))
        body = (*first, *self.statements(k.body))
        return replace(k, parameters=tuple(parameters), body=body, computes_with=None)
