"""OpenCL C: the language that this compiler writes, and that its reader reads back."""

from __future__ import annotations

from relift.compiler.bench.bundle_runner import EXACT
from relift.compiler.dialects.printing import Printer
from relift.compiler.text.at_once import defined_for
from relift.compiler.text.memories import UNSAID, word_of
from relift.compiler.text.tree import Cast, KernelText, Name, Source


class OpenCL(Printer):
    """The words of OpenCL C."""

    def cast(self, e: Cast) -> str:
        """A pointer into private memory, where C would need no word for it, is shown as such."""
        if e.type.pointer and e.type.space is UNSAID:
            [pointer] = e.arguments
            shown = self.expression(pointer)
            return f"({word_of(UNSAID)} {self.type(e.type)}){shown if isinstance(pointer, Name) else f'({shown})'}"
        return super().cast(e)

    def kernel(self, k: KernelText) -> str:
        """A kernel, with what is said about it."""
        said = [f"// {line}" for line in k.comment]
        if k.group is not None:
            said.append(f"__attribute__((reqd_work_group_size({', '.join(map(str, k.group))})))")
        if k.computes_with is not None:
            said.append(f"__attribute__((vec_type_hint({self.type(k.computes_with)})))")
        return "\n".join([*said, *self.kernel_lines(k)])

    def source(self, s: Source) -> str:
        """A file: functions before the kernels that call them."""
        pragmas = [f"#pragma OPENCL EXTENSION {name} : enable" for name in s.extensions]
        pragmas += [EXACT] * (not s.contract)
        functions = map(self.function, s.functions)
        updates = defined_for(s.kernels)
        return "\n\n".join([*pragmas, *updates, *functions, *map(self.kernel, s.kernels)]) + "\n"
