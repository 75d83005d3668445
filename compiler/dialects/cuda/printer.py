"""CUDA C++: the same kernels for NVIDIA's compilers.

Vectors are a class of `prelude.cuh`, which also says in CUDA what OpenCL C has built in.  Kernels that must not
contract `a*b + c` are compiled with what `options` names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.resources import files

from relift.compiler.dialects.printing import Printer, is_local_array, is_table
from relift.compiler.dialects.types import Types, lanes_of, types_of
from relift.compiler.text import tree
from relift.compiler.text.c_types import FLOATS, MEMORY, UPDATES
from relift.semantics.errors import Unsupported

_SCALARS = {
    "uchar": "unsigned char",
    "ushort": "unsigned short",
    "uint": "unsigned int",
    "long": "long long",
    "ulong": "unsigned long long",
}
_REFUSED = {t: name for t, name in FLOATS.items() if t not in ("float", "double")}
"""Floating-point types that the prelude has no functions for, and what programs call them."""

_OF_REFUSED = {t: re.compile(rf"\b(\w+_)?{t}\d*\b") for t in _REFUSED}
"""Words of a text that is not read which name such a type."""

_KEYWORDS = frozenset(
    [
        "alignas", "alignof", "and", "and_eq", "asm", "bitand", "bitor", "bool", "catch",
        "char16_t", "char32_t", "class", "compl", "concept", "const_cast", "constexpr", "decltype",
        "delete", "dynamic_cast", "explicit", "export", "extern", "false", "friend", "inline",
        "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or",
        "or_eq", "private", "protected", "public", "register", "reinterpret_cast", "requires",
        "signed", "sizeof", "static", "static_assert", "static_cast", "struct", "template", "this",
        "thread_local", "throw", "true", "try", "typedef", "typeid", "typename", "union",
        "unsigned", "using", "virtual", "volatile", "wchar_t", "xor", "xor_eq", "threadIdx",
        "blockIdx", "blockDim", "gridDim", "warpSize",
    ]
)  # fmt: skip
"""Names of C++ and of CUDA that OpenCL C leaves to programs."""

_WORK_ITEM = {
    "get_local_id": "(int)threadIdx.{0}",
    "get_group_id": "(int)blockIdx.{0}",
    "get_num_groups": "(int)gridDim.{0}",
    "get_local_size": "(int)blockDim.{0}",
    "get_global_size": "(int)(gridDim.{0} * blockDim.{0})",
    "get_global_id": "((int)(blockIdx.{0} * blockDim.{0} + threadIdx.{0}) + relift_offset[{1}])",
}
"""The numbers of a work-item; a piece of a range that is launched apart starts at an offset."""

_CONVERSION = re.compile(r"(as|convert)_([a-z]+)\d*(_sat)?")
_LIBRARY = frozenset(
    [
        "abs", "acos", "asin", "atan", "atan2", "ceil", "cos", "exp", "fabs", "floor", "fma", "hypot",
        "log", "max", "min", "pow", "rsqrt", "select", "sin", "sqrt", "tan", "tanh",
    ]
)  # fmt: skip
"""What the prelude has under a name of its own."""


_OPTIONS = {
    "-cl-fast-relaxed-math": ("--use_fast_math",),
    "-cl-denorms-are-zero": ("--ftz=true",),
    "-cl-mad-enable": (),
    "-cl-no-signed-zeros": (),
}
"""What NVRTC calls an option of OpenCL; nothing where it does so anyway, or never."""


def options(source: tree.Source, opencl: Sequence[str] = ()) -> tuple[str, ...]:
    """What the compiler must be told for the kernels to round as they say, and as options of OpenCL ask.

    >>> from relift.compiler.dialects.cuda.printer import options
    >>> from relift.compiler.text.tree import Source
    >>> options(Source((), (), contract=False), ["-cl-denorms-are-zero"])
    ('--fmad=false', '--ftz=true')

    Raises `Unsupported` for an option that CUDA has no name for.
    """
    unknown = [option for option in opencl if option not in _OPTIONS]
    if unknown:
        raise Unsupported(
            f"NVRTC has no option for {unknown[0]} of OpenCL; known: {', '.join(_OPTIONS)}"
        )
    found = [] if source.contract else ["--fmad=false"]
    found += [name for option in opencl for name in _OPTIONS[option]]
    if "--use_fast_math" in found:  # which flushes as well, and NVRTC takes no option twice
        found = [name for name in found if name != "--ftz=true"]
    return tuple(dict.fromkeys(found))


def prelude() -> str:
    """What stands before the kernels."""
    return files("relift.compiler.dialects.cuda").joinpath("prelude.cuh").read_text("utf-8")


_AT_ONCE = {"add": "atomicAdd", "maximum": "atomicMax", "minimum": "atomicMin"}
"""The functions that combine a cell of whole numbers with a value."""


class Cuda(Printer):
    """The words of CUDA C++, for what stands where `types` says which names have lanes.

    >>> from relift.compiler.dialects.cuda.printer import Cuda
    >>> from relift.compiler.text.reader import read_source
    >>> text = "kernel void f(global float* restrict y) { y[get_global_id(0)] = 1.0f; }"
    >>> print(Cuda().definitions(read_source(text)))
    extern "C" __global__ void f(float* __restrict__ y) {
      y[((int)(blockIdx.x * blockDim.x + threadIdx.x) + relift_offset[0])] = 1.0f;
    }
    """

    def __init__(self, types: Types | None = None) -> None:
        self.types = types or Types()

    # ---- expressions

    def plain(self, e: tree.Expression) -> str:
        """Names that C++ has taken get others; `long` has two words."""
        if isinstance(e, tree.Name):
            return _name(e.name)
        if isinstance(e, tree.Real):
            _scalar(self.types.of(e).scalar)
        return f"{e.value}LL" if isinstance(e, tree.Whole) and e.long else super().plain(e)

    def member(self, e: tree.Member) -> str:
        """One lane is a cell of an array; several are picked."""
        lanes = lanes_of(e.field, self.types.of(e.of).width)
        if len(lanes) == 1:
            return f"{self.inside(e.of, 12)}.s[{lanes[0]}]"
        return f"relift_pick<{', '.join(map(str, lanes))}>({self.expression(e.of)})"

    def conditional(self, e: tree.Conditional) -> str:
        """Lane by lane, a choice is a call."""
        if self.types.of(e.condition).width == 1:
            return super().conditional(e)
        parts = map(self.expression, (e.condition, e.yes, e.no))
        return f"relift_choose({', '.join(parts)})"

    def invocation(self, e: tree.Invocation) -> str:
        """A call of a function of the source, of the prelude, or of CUDA."""
        name, arguments = e.function, [self.expression(a) for a in e.arguments]
        if name in _WORK_ITEM:
            (d,) = e.arguments
            assert isinstance(d, tree.Whole), "cannot happen: a dimension is a number"
            return _WORK_ITEM[name].format("xyz"[d.value], d.value)
        if name in self.types.functions:
            name = _function(name)
        elif (m := MEMORY.fullmatch(name)) is not None:
            place = arguments.pop(-2)  # behind the pointer, in vectors
            if place != "0":
                arguments[-1] = f"({arguments[-1]}) + {m['width']} * (size_t)({place})"
            name = f"relift_vload<{m['width']}>" if m["how"] == "vload" else "relift_vstore"
        elif (m := _CONVERSION.fullmatch(name)) is not None:
            name = f"relift_{m[1]}{m[3] or ''}<{_scalar(m[2])}>"
        elif name in _LIBRARY:
            name = f"relift_{name}"
        elif (update := UPDATES.get(name)) is not None:
            name = (
                _AT_ONCE[update.by]
                if update.scalar == "int"
                else f"relift_{name.removesuffix('_global')}"
            )
        return f"{name}({', '.join(arguments)})"

    def cast(self, e: tree.Cast) -> str:
        """A vector is made of its lanes."""
        if e.type.width == 1 or e.type.pointer:
            return super().cast(e)
        scalar = _scalar(e.type.scalar)
        lanes = ", ".join(map(self.expression, e.arguments))
        return f"relift_lanes<{scalar}, {e.type.width}>({lanes})"

    # ---- types and statements

    def scalar(self, t: tree.CType) -> str:
        """The name of a scalar or a vector."""
        name = _scalar(t.scalar)
        return name if t.width == 1 else f"relift_vec<{name}, {t.width}>"

    def type(self, t: tree.CType) -> str:
        """A type; pointers say nothing of where they point."""
        return f"{'const ' * t.constant}{self.scalar(t)}{'*' * t.pointer}{' const' * t.fixed}"

    def declaration(self, s: tree.Declaration) -> str:
        """Arrays of a group are shared, and aligned for vectors; others where a vector is read of them."""
        shared = is_local_array(s)
        aligned = s.aligned or 16 * shared
        kept = "__device__" if s.apart else "__constant__"
        where = (
            f"static {kept} " * is_table(s)
            + "__shared__ " * shared
            + f"__align__({aligned}) " * (aligned > 0)
        )
        extent = "" if s.extent is None else f"[{self.expression(s.extent)}]"
        value = self.values(s) if s.value is None else f" = {self.expression(s.value)}"
        return f"{where}{self.type(s.type)} {_name(s.name)}{extent}{value}"

    def barrier(self, s: tree.Barrier) -> str:
        """Where all threads of a block wait."""
        return "__syncthreads()"

    # ---- definitions

    def parameter(self, p: tree.Argument) -> str:
        """A parameter of a kernel."""
        return f"{self.type(p.type)}{' __restrict__' * p.type.pointer} {_name(p.name)}"

    def kernel_head(self, k: tree.KernelText) -> str:
        """What comes before the body of a kernel."""
        items = 1
        for n in k.group or ():
            items *= n
        bounds = f" __launch_bounds__({items})" if k.group else ""
        parameters = ", ".join(map(self.parameter, k.parameters))
        return f'extern "C" __global__ void{bounds} {k.name}({parameters})'

    def function_head(self, f: tree.Function) -> str:
        """What comes before the body of a function."""
        parameters = ", ".join(f"{self.type(p.type)} {_name(p.name)}" for p in f.parameters)
        return f"__device__ inline {self.type(f.result)} {_function(f.name)}({parameters})"

    def function_body(self, f: tree.Function) -> Iterator[str]:
        """The lines of a function; those of a person only where they are not understood."""
        lines = super().function_body
        if f.body is not None:
            f = tree.Function(f.name, f.result, f.parameters, f.body)
        else:
            words = " ".join(f.tokens)
            for t, word in _OF_REFUSED.items():
                if word.search(words):
                    _scalar(t)
            f = f if f.text is not None else replace(f, text=words)
        return lines(f)

    def definitions(self, s: tree.Source) -> str:
        """The functions and the kernels of a file, without the prelude."""
        types = types_of(s)
        found = [Cuda(types.inside(f)).function(f) for f in s.functions]
        for k in s.kernels:
            comment = [f"// {line}" for line in k.comment]
            found.append("\n".join([*comment, *Cuda(types.inside(k)).kernel_lines(k)]))
        return "\n\n".join(found)

    def source(self, s: tree.Source) -> str:
        """A file that stands for itself."""
        return f"{prelude()}\n{self.definitions(s)}\n"


def _scalar(name: str) -> str:
    """A scalar type in CUDA; raises `Unsupported` for one that its kernels do not compute with."""
    if name in _REFUSED:
        raise Unsupported(
            f"kernels in CUDA do not compute with {_REFUSED[name]}, {name} in OpenCL C; "
            "take f32 or f64, or a device of another back end"
        )
    return _SCALARS.get(name, name)


def _name(name: str) -> str:
    return f"{name}_cuda" if name in _KEYWORDS else name


def _function(name: str) -> str:
    """A name that no function of CUDA has."""
    return f"relift_f_{name}"
