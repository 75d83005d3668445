"""Relift: a formally checked rewrite system for data-parallel programs.

    import relift as rl
    n = rl.nat("n")

    @rl.program
    def dot(x: rl.f32[n], y: rl.f32[n]):
        return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(x, y)))

    dot(xs, ys)                                    # the reference interpreter
    best = rl.optimize(dot, sizes={"n": 1 << 20})  # search: best.term, best.cost, best.derivation
    rl.compile(best.term)(xs, ys)                  # an OpenCL kernel

This module only names what the parts define, and imports a part when it is first asked for one of its names.
`optimization` joins the search to the compiler, `cli` is the command line; neither holds logic of a part.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from relift.compiler.devices.survey import devices
    from relift.compiler.program import compile_program as compile
    from relift.device import DeviceDescription
    from relift.egraph.checks.tiers import check
    from relift.egraph.search.guided import reach
    from relift.egraph.search.optimize import Optimized
    from relift.egraph.sketches.language import sketch
    from relift.optimization import optimize
    from relift.rewrites.rule import (
        RejectedRule,
        Rule,
        associative,
        bijective,
        commutative,
        distributive,
        idempotent,
        inverse,
        naturals,
        neutral,
        rule,
        type_variables,
    )
    from relift.semantics.errors import IllTyped, ReliftError, Undefined, Unsupported
    from relift.semantics.indices.functions import reorder_stride, reverse, shift
    from relift.semantics.language.multidimensional import (
        map_nd,
        pad_nd,
        slide_nd,
        tile,
        transpose_axes,
        untile,
        zip_nd,
    )
    from relift.semantics.language.vocabulary import (
        Program,
        absolute,
        add,
        as_scalar,
        as_vector,
        as_vector_aligned,
        at_runtime,
        at_runtime_unsafe,
        binary_search,
        ceil,
        circular_buffer,
        clamp,
        concat,
        cos,
        drop,
        equal,
        exp,
        filter_seq,
        floor,
        fma,
        gather,
        gather_indices,
        generate,
        head,
        hypot,
        insertion_sort_seq,
        iterate,
        iterate_sizes,
        iterate_stream,
        join,
        let,
        linear_search,
        literal_array,
        log,
        make_array,
        map,
        map_fst,
        map_glb,
        map_lane,
        map_lcl,
        map_seq,
        map_seq_slide,
        map_seq_unroll,
        map_snd,
        map_stream,
        map_vec,
        map_warp,
        map_wrg,
        maximum,
        minimum,
        mirror,
        mul,
        not_equal,
        operator,
        pad,
        pad_empty,
        partial_reduce,
        power,
        program,
        reduce,
        reduce_seq,
        reduce_seq_unroll,
        reduce_while,
        repeat,
        rotate_values,
        rsqrt,
        scan_seq,
        scatter,
        scatter_indices,
        select,
        sin,
        slide,
        splat,
        split,
        sqrt,
        tail,
        take,
        tan,
        tanh,
        to_global,
        to_local,
        to_private,
        transpose,
        unzip,
        userfun,
        vectorize,
        wrap,
        zip,
    )
    from relift.semantics.notation.printer import show
    from relift.semantics.syntax.signatures import Fun, Index, Op
    from relift.semantics.syntax.types import boolean, f32, f64, i32, i64, nat, tup, vec

__version__ = "0.2.0"

_LANGUAGE = "relift.semantics.language.vocabulary"
_ELSEWHERE = {
    "DeviceDescription": "relift.device",
    "Fun": "relift.semantics.syntax.signatures",
    "IllTyped": "relift.semantics.errors",
    "Index": "relift.semantics.syntax.signatures",
    "Op": "relift.semantics.syntax.signatures",
    "Optimized": "relift.egraph.search.optimize",
    "RejectedRule": "relift.rewrites.rule",
    "ReliftError": "relift.semantics.errors",
    "Rule": "relift.rewrites.rule",
    "Undefined": "relift.semantics.errors",
    "Unsupported": "relift.semantics.errors",
    "associative": "relift.rewrites.rule",
    "bijective": "relift.rewrites.rule",
    "boolean": "relift.semantics.syntax.types",
    "check": "relift.egraph.checks.tiers",
    "commutative": "relift.rewrites.rule",
    "compile": "relift.compiler.program:compile_program",
    "devices": "relift.compiler.devices.survey",
    "distributive": "relift.rewrites.rule",
    "f32": "relift.semantics.syntax.types",
    "f64": "relift.semantics.syntax.types",
    "i32": "relift.semantics.syntax.types",
    "i64": "relift.semantics.syntax.types",
    "idempotent": "relift.rewrites.rule",
    "inverse": "relift.rewrites.rule",
    "map_nd": "relift.semantics.language.multidimensional",
    "nat": "relift.semantics.syntax.types",
    "naturals": "relift.rewrites.rule",
    "neutral": "relift.rewrites.rule",
    "optimize": "relift.optimization",
    "pad_nd": "relift.semantics.language.multidimensional",
    "reach": "relift.egraph.search.guided",
    "reorder_stride": "relift.semantics.indices.functions",
    "reverse": "relift.semantics.indices.functions",
    "rule": "relift.rewrites.rule",
    "shift": "relift.semantics.indices.functions",
    "show": "relift.semantics.notation.printer",
    "sketch": "relift.egraph.sketches.language",
    "slide_nd": "relift.semantics.language.multidimensional",
    "tile": "relift.semantics.language.multidimensional",
    "transpose_axes": "relift.semantics.language.multidimensional",
    "tup": "relift.semantics.syntax.types",
    "type_variables": "relift.rewrites.rule",
    "untile": "relift.semantics.language.multidimensional",
    "vec": "relift.semantics.syntax.types",
    "zip_nd": "relift.semantics.language.multidimensional",
}
"""Where the names are defined that are not in the module of the language; `module:name` where one is called
otherwise there."""


if not TYPE_CHECKING:  # a checker sees the imports above, and says which names there are not

    def __getattr__(name: str) -> Any:
        """A name, imported when it is first asked for: a start pays for nothing that it does not use."""
        if name not in _ELSEWHERE and name not in __all__:
            raise AttributeError(f"module 'relift' has no attribute {name!r}")
        module, _, attribute = _ELSEWHERE.get(name, _LANGUAGE).partition(":")
        found = getattr(importlib.import_module(module), attribute or name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ELSEWHERE})


__all__ = [
    "DeviceDescription", "Fun", "IllTyped", "Index", "Op", "Optimized", "Program", "RejectedRule", "ReliftError", "Rule",
    "Undefined", "Unsupported", "absolute", "add", "as_scalar", "as_vector", "as_vector_aligned",
    "associative", "at_runtime", "at_runtime_unsafe", "bijective", "binary_search", "boolean",
    "ceil", "check", "circular_buffer", "clamp", "commutative", "compile", "concat", "cos",
    "devices", "distributive", "drop", "equal", "exp", "f32", "f64", "filter_seq", "floor", "fma",
    "gather", "gather_indices", "generate", "head", "hypot", "i32", "i64", "idempotent",
    "insertion_sort_seq", "inverse", "iterate", "iterate_sizes", "iterate_stream", "join", "let",
    "linear_search", "literal_array", "log", "make_array", "map", "map_fst", "map_glb", "map_lane",
    "map_lcl", "map_nd", "map_seq", "map_seq_slide", "map_seq_unroll", "map_snd", "map_stream",
    "map_vec", "map_warp", "map_wrg", "maximum", "minimum", "mirror", "mul", "nat", "naturals",
    "neutral", "not_equal", "operator", "optimize", "pad", "pad_empty", "pad_nd", "partial_reduce",
    "power", "program", "reach", "reduce", "reduce_seq", "reduce_seq_unroll", "reduce_while",
    "reorder_stride", "repeat", "reverse", "rotate_values", "rsqrt", "rule", "scan_seq", "scatter",
    "scatter_indices", "select", "shift", "show", "sin", "sketch", "slide", "slide_nd", "splat",
    "split", "sqrt", "tail", "take", "tan", "tanh", "tile", "to_global", "to_local", "to_private",
    "transpose", "transpose_axes", "tup", "type_variables", "untile", "unzip", "userfun", "vec",
    "vectorize", "wrap", "zip", "zip_nd",
]  # fmt: skip
