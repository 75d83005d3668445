"""Relift: a formally checked rewrite system for data-parallel programs.

    import relift as rl
    n = rl.nat("n")

    @rl.program
    def dot(x: rl.f32[n], y: rl.f32[n]):
        return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(x, y)))

    dot(xs, ys)                                    # the reference interpreter
    best = rl.optimize(dot, sizes={"n": 1 << 20})  # search: best.term, best.cost, best.derivation
    rl.compile(best.term)(xs, ys)                  # an OpenCL kernel

This module only names what the parts define, and imports a part when it is first asked for one of its names.  Beside it,
without logic of a part:

    optimization  the search joined to the compiler; `checking`: the tiers to the user functions, `chain`: all on a page
    cli           the command line; `web`: the workbench, `pytest_plugin`
    calling       programs as functions of other libraries
    bench, device, extending, strategies, testing    what a user imports beside this module
    display       how things look; `pictures`: what was measured
    plugins       what other packages add
    files, processes, installation    files written whole, work shared out, what is installed here
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from relift.calling.just_in_time import jit
    from relift.calling.torch_operators import torch_op
    from relift.checking import check, reach
    from relift.compiler.devices.survey import devices
    from relift.compiler.idioms.lift import lift
    from relift.compiler.meaning.evidence import validate
    from relift.compiler.program import compile_program as compile
    from relift.compiler.running.arrays.device_array import DeviceArray
    from relift.compiler.running.arrays.placing import device_array
    from relift.device import DeviceDescription
    from relift.egraph.growing import e_graph
    from relift.egraph.search.optimize import Optimized
    from relift.egraph.sketches.language import sketch
    from relift.optimization import optimize
    from relift.rewrites.checks.theorem.proving import prove
    from relift.rewrites.conditions import (
        associative,
        bijective,
        commutative,
        distributive,
        idempotent,
        inverse,
        naturals,
        neutral,
        telescoping,
        type_variables,
    )
    from relift.rewrites.derivation.own_rules import assume
    from relift.rewrites.rule import RejectedRule, Rule, rule
    from relift.semantics.errors import IllTyped, ReliftError, Undefined, Unsupported
    from relift.semantics.indices.functions import reorder_stride, reverse, shift
    from relift.semantics.language import functions as _functions
    from relift.semantics.language.functions import *  # the patterns
    from relift.semantics.language.multidimensional import (
        map_nd,
        pad_nd,
        slide_nd,
        tile,
        transpose_axes,
        untile,
        zip_nd,
    )
    from relift.semantics.language.programs import Program, program
    from relift.semantics.language.vocabulary import (
        absolute,
        add,
        arccos,
        arcsin,
        arctan,
        arctan2,
        ceil,
        clamp,
        cos,
        earliest_largest,
        earliest_smallest,
        equal,
        exp,
        first_largest,
        first_smallest,
        floor,
        fma,
        hypot,
        latest_largest,
        latest_smallest,
        literal_array,
        log,
        make_array,
        map_fst,
        map_snd,
        maximum,
        minimum,
        mirror,
        mul,
        not_equal,
        operator,
        pad,
        power,
        rsqrt,
        select,
        sin,
        sqrt,
        sub,
        tan,
        tanh,
        tropical_mul,
        userfun,
        vectorize,
        wrap,
        zip,
    )
    from relift.semantics.notation.printer import show
    from relift.semantics.syntax.signatures import Fun, Index, Op
    from relift.semantics.syntax.types import boolean, f16, f32, f64, i32, i64, nat, tup, vec

__version__ = "0.2.0"

_LANGUAGE = "relift.semantics.language.vocabulary"
_PATTERNS = "relift.semantics.language.functions"
_ELSEWHERE = {
    "DeviceArray": "relift.compiler.running.arrays.device_array",
    "DeviceDescription": "relift.device",
    "Fun": "relift.semantics.syntax.signatures",
    "IllTyped": "relift.semantics.errors",
    "Index": "relift.semantics.syntax.signatures",
    "Op": "relift.semantics.syntax.signatures",
    "Optimized": "relift.egraph.search.optimize",
    "Program": "relift.semantics.language.programs",
    "RejectedRule": "relift.rewrites.rule",
    "ReliftError": "relift.semantics.errors",
    "Rule": "relift.rewrites.rule",
    "Undefined": "relift.semantics.errors",
    "Unsupported": "relift.semantics.errors",
    "associative": "relift.rewrites.conditions",
    "assume": "relift.rewrites.derivation.own_rules",
    "bijective": "relift.rewrites.conditions",
    "boolean": "relift.semantics.syntax.types",
    "check": "relift.checking",
    "commutative": "relift.rewrites.conditions",
    "compile": "relift.compiler.program:compile_program",
    "device_array": "relift.compiler.running.arrays.placing",
    "devices": "relift.compiler.devices.survey",
    "distributive": "relift.rewrites.conditions",
    "e_graph": "relift.egraph.growing",
    "f16": "relift.semantics.syntax.types",
    "f32": "relift.semantics.syntax.types",
    "f64": "relift.semantics.syntax.types",
    "i32": "relift.semantics.syntax.types",
    "i64": "relift.semantics.syntax.types",
    "idempotent": "relift.rewrites.conditions",
    "inverse": "relift.rewrites.conditions",
    "jit": "relift.calling.just_in_time",
    "lift": "relift.compiler.idioms.lift",
    "map_nd": "relift.semantics.language.multidimensional",
    "nat": "relift.semantics.syntax.types",
    "naturals": "relift.rewrites.conditions",
    "neutral": "relift.rewrites.conditions",
    "optimize": "relift.optimization",
    "program": "relift.semantics.language.programs",
    "prove": "relift.rewrites.checks.theorem.proving",
    "pad_nd": "relift.semantics.language.multidimensional",
    "reach": "relift.checking",
    "reorder_stride": "relift.semantics.indices.functions",
    "reverse": "relift.semantics.indices.functions",
    "rule": "relift.rewrites.rule",
    "shift": "relift.semantics.indices.functions",
    "show": "relift.semantics.notation.printer",
    "sketch": "relift.egraph.sketches.language",
    "slide_nd": "relift.semantics.language.multidimensional",
    "tile": "relift.semantics.language.multidimensional",
    "torch_op": "relift.calling.torch_operators",
    "transpose_axes": "relift.semantics.language.multidimensional",
    "tup": "relift.semantics.syntax.types",
    "telescoping": "relift.rewrites.conditions",
    "type_variables": "relift.rewrites.conditions",
    "untile": "relift.semantics.language.multidimensional",
    "vec": "relift.semantics.syntax.types",
    "validate": "relift.compiler.meaning.evidence:validate",
    "zip_nd": "relift.semantics.language.multidimensional",
}
"""Where the names are defined that are not in the module of the language; `module:name` where one is called
otherwise there."""


__all__ = [
    "DeviceArray", "DeviceDescription", "Fun", "IllTyped", "Index", "Op", "Optimized", "Program", "RejectedRule",
    "ReliftError", "Rule", "Undefined", "Unsupported", "absolute", "add", "arccos", "arcsin", "arctan",
    "arctan2", "associative", "assume",
    "bijective", "boolean", "ceil", "check", "clamp", "commutative", "compile", "cos", "device_array", "devices",
    "distributive", "e_graph", "earliest_largest", "earliest_smallest", "equal", "exp", "f16", "f32", "f64", "first_largest", "first_smallest", "floor",
    "fma", "hypot", "i32", "i64",
    "idempotent", "inverse", "jit", "latest_largest", "latest_smallest", "lift", "literal_array", "log", "make_array", "map_fst", "map_nd", "map_snd",
    "maximum", "minimum", "mirror", "mul", "nat", "naturals", "neutral", "not_equal", "operator",
    "optimize", "pad", "pad_nd", "power", "program", "prove", "reach", "reorder_stride", "reverse", "rsqrt",
    "rule", "select", "shift", "show", "sin", "sketch", "slide_nd", "sqrt", "sub", "tan", "tanh", "telescoping",
    "tile", "torch_op", "transpose_axes", "tropical_mul", "tup", "type_variables", "untile", "userfun", "validate", "vec", "vectorize", "wrap",
    "zip", "zip_nd",
]  # fmt: skip

if TYPE_CHECKING:
    __all__ += _functions.__all__
else:  # a checker sees the imports above, and says which names there are not
    _OWN = globals().pop("__all__")

    def __getattr__(name: str) -> Any:
        """A name, imported when it is first asked for: a start pays for nothing that it does not use."""
        if name in _ELSEWHERE or name in _OWN:
            module, _, attribute = _ELSEWHERE.get(name, _LANGUAGE).partition(":")
            found = getattr(importlib.import_module(module), attribute or name)
        else:
            found = _named_after_a_pattern(name)
        globals()[name] = found
        return found

    def _named_after_a_pattern(name: str) -> Any:
        said = f"module 'relift' has no attribute {name!r}"
        if name.startswith("_") and name != "__all__":
            raise AttributeError(said)  # Python asks for many, and pays for no pattern
        functions = importlib.import_module(_PATTERNS)
        if name == "__all__":
            return [*_OWN, *functions.__all__]
        if name not in functions.__all__:
            errors = importlib.import_module("relift.semantics.errors")
            raise AttributeError(said + errors.did_you_mean(name, [*_OWN, *functions.__all__]))
        return getattr(functions, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *importlib.import_module("relift").__all__, *_ELSEWHERE})
