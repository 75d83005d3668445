"""C with OpenMP: groups are shared out to threads, each of which takes the work-items of a group in turns.

What OpenCL C has more is called by type, and defined in front of the kernels that call it (`library`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.resources import files

from relift.compiler.dialects.c.expressions import CExpressions, function_name, own_name
from relift.compiler.dialects.c.groups import in_turns
from relift.compiler.dialects.c.names import DIMENSIONS, NUMBERS
from relift.compiler.dialects.printing import Printer, is_local_array, is_table
from relift.compiler.dialects.types import types_of
from relift.compiler.text import tree
from relift.compiler.text.c_types import updated_by
from relift.compiler.text.lexing import NotUnderstood
from relift.semantics.errors import Unsupported

_WRITTEN_OUT = 16
"""Turns of a loop up to which the compiler is asked to write it out, so that its arrays lie in registers."""


def prelude() -> str:
    """What stands before the kernels."""
    return files("relift.compiler.dialects.c").joinpath("prelude.h").read_text("utf-8")


@dataclass(frozen=True)
class Entry:
    """How a kernel is called: the name of its entry, and whether its work-items may stand in any groups."""

    name: str
    free: bool


class C(CExpressions):
    """The words of C, for what stands where `types` says which names have which types.

    >>> from relift.compiler.dialects.c.printer import C
    >>> from relift.compiler.text.reader import read_source
    >>> text = "kernel void f(global float4* restrict y) { y[get_global_id(0)] = (float4)(1.0f) * y[0].s1; }"
    >>> print(C().definitions(read_source(text)))
    static inline float4 relift_all_float4(float x) {
      float4 r;
      for (int i = 0; i < 4; ++i) r[i] = x;
      return r;
    }
    <BLANKLINE>
    static void group_f(float4* restrict y, const relift_place* relift_at) {
      const int first_0 = relift_at->first[0];
      const int items_0 = relift_at->items[0];
      const int items_1 = relift_at->items[1];
      const int items_2 = relift_at->items[2];
    <BLANKLINE>
      for (int item_2 = 0; item_2 < items_2; ++item_2) {
        for (int item_1 = 0; item_1 < items_1; ++item_1) {
          RELIFT_ITEMS
          for (int item_0 = 0; item_0 < items_0; ++item_0) {
            y[(ulong)(first_0 + item_0)] = ((relift_all_float4(1.0f)) * relift_all_float4(y[0][1]));
          }
        }
      }
    }
    <BLANKLINE>
    static void run_f(void** given, const relift_place* at) {
      group_f(given[0], at);
    }
    <BLANKLINE>
    int relift_f(void** given, const int* offset, const int* range, const int* local, int threads) {
      return relift_launch(run_f, given, offset, range, local, threads);
    }
    """

    # ---- types and statements

    def declaration(self, s: tree.Declaration) -> str:
        """Arrays of a group are aligned as OpenCL aligns them."""
        aligned, table = s.aligned or (64 if is_local_array(s) else 0), is_table(s)
        said = f" __attribute__((aligned({aligned})))" if aligned else ""
        extent = "" if s.extent is None else f"[{self.expression(s.extent)}]"
        value = self.values(s) if s.value is None else f" = {self._value(s.value, s.type)}"
        return f"{'static ' * table}{self.type(s.type)} {own_name(s.name)}{extent}{said}{value}"

    def _value(self, e: tree.Expression, t: tree.CType) -> str:
        """What a variable of a type is given."""
        spread = t.width > 1 and not t.pointer and self.types.of(e).width == 1
        return self.as_type(e, tree.CType(t.scalar, t.width)) if spread else self.expression(e)

    def assignment(self, s: tree.Assignment) -> str:
        """A vector may be given one scalar for all lanes; divisions are those of `_of_vectors`."""
        t = self.types.of(s.target)
        if s.operator != "=" and t.width > 1:
            s = tree.Assignment(s.target, "=", tree.Binary(s.operator[0], s.target, s.value))
        return f"{self.expression(s.target)} {s.operator} {self._value(s.value, t)}"

    def advice(self, s: tree.Loop) -> list[str]:
        """Loops over work-items may be made vectors of, unless they update cells of each other; short loops are written out."""
        if s.counter == "item_0":
            inner = tree.statements_within(s.body)
            at_once = any(isinstance(u, tree.Evaluation) and updated_by(u.call) for u in inner)
            return [] if at_once else ["RELIFT_ITEMS"]
        known = [e.value for e in (s.start, s.end, s.step) if isinstance(e, tree.Whole)]
        if len(known) < 3:
            return []
        start, end, step = known
        n = -(-(end - start) // step)
        return [f"#pragma GCC unroll {n}"] if 1 < n <= _WRITTEN_OUT else []

    def loop(self, s: tree.Loop) -> str:
        """A loop whose iterations are all for nothing after the first that is stops there, which OpenCL's readers do not ask for."""
        return stopping(self, s, super().loop(s))

    # ---- definitions

    def parameter(self, p: tree.Argument) -> str:
        """A parameter of a kernel."""
        return f"{self.type(p.type)}{' restrict' * p.type.pointer} {own_name(p.name)}"

    def function_head(self, f: tree.Function) -> str:
        """What comes before the body of a function."""
        parameters = ", ".join(f"{self.type(p.type)} {own_name(p.name)}" for p in f.parameters)
        return f"static inline {self.type(f.result)} {function_name(f.name)}({parameters})"

    def function_body(self, f: tree.Function) -> Iterator[str]:
        """The lines of a function; as they are written only where they are not understood."""
        if f.body is None and f.text is None:
            f = replace(f, text=" ".join(f.tokens))
        return super().function_body(f if f.body is None else replace(f, text=None))

    def kernel(self, k: tree.KernelText) -> str:
        """A kernel: what a group does, and its entry."""
        group = in_turns(k)
        inside = C(self.types.among(group.parameters, group.body), self.needed)
        place = "const relift_place* relift_at"
        parameters = ", ".join([*map(self.parameter, group.parameters), place])
        asked = tree.mentioned(group.body)
        numbers = [
            f"  const int {name}_{d} = relift_at->{name}[{d}];"
            for name in NUMBERS
            for d in DIMENSIONS
            if f"{name}_{d}" in asked
        ]
        given = [
            f"given[{i}]" if p.type.pointer else f"*(const {self.scalar(p.type)}*)given[{i}]"
            for i, p in enumerate(k.parameters)
        ]
        lines = [
            *(f"// {line}" for line in k.comment),
            f"static void group_{k.name}({parameters}) {{",
            *[*numbers, *[""] * bool(numbers)],
            *inside.statements(group.body, 1),
            "}",
            "",
            f"static void run_{k.name}(void** given, const relift_place* at) {{",
            f"  group_{k.name}({', '.join([*given, 'at'])});",
            "}",
            "",
            f"int {entry(k).name}(void** given, const int* offset, const int* range, const int* local, int threads) {{",
            f"  return relift_launch(run_{k.name}, given, offset, range, local, threads);",
            "}",
        ]
        return "\n".join(lines)

    def definitions(self, s: tree.Source) -> str:
        """The functions and the kernels of a file, without the prelude; raises `Unsupported`."""
        types = types_of(s)
        try:
            found = [C(types.inside(f), self.needed).function(f) for f in s.functions]
            found += [C(types, self.needed).kernel(k) for k in s.kernels]
        except NotUnderstood as error:
            raise Unsupported(f"C with OpenMP: {error} is not understood") from None
        return "\n\n".join([*self.needed.values(), *found])

    def file(self, s: tree.Source) -> str:
        """A file that stands for itself."""
        return f"{prelude()}\n{C().definitions(s)}\n"


def stopping(printer: Printer, s: tree.Loop, head: str) -> str:
    """The head of a loop that stops after the first iteration for nothing, where all are that follow it."""
    taken = _taken(s)
    if taken is None:
        return head
    before, _, step = head.rpartition("; ")
    return f"{before} && {printer.expression(taken)} >= {s.counter}; {step}"


def _taken(s: tree.Loop) -> tree.Expression | None:
    """What counts the iterations that did something, where a loop does nothing in those whose number it is not.

    Once it is less than the number, it stays so: nothing changes it any more.
    """
    match s.body:
        case (tree.Guard(tree.Binary("==", tree.Name() as taken, tree.Name(counter))),) if (
            counter == s.counter
        ):
            return taken if s.step == tree.Whole(1) else None
        case _:
            return None


def entry(k: tree.KernelText) -> Entry:
    """How a kernel is called."""
    return Entry(f"relift_{k.name}", in_turns(k).free)
