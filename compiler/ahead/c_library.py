"""A library in C for a low-level program: a header, a source, a CMake file, and a test.

The kernels are those that C with OpenMP runs (`dialects.c`); a function of the program's name allocates what lies
between them and launches them.  Sizes that the program leaves open are its first parameters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np

from relift.compiler.agreement.comparison import in_reach, is_exact, rounding
from relift.compiler.agreement.functions_in_c import require_functions_mean_their_python
from relift.compiler.agreement.inputs import random_inputs, whole_inputs
from relift.compiler.agreement.open_sizes import choices
from relift.compiler.certificates.consultation import require_not_refuted
from relift.compiler.dialects.c.printer import C, entry
from relift.compiler.dialects.c.printer import prelude as words
from relift.compiler.dialects.reading import HALVES, understood
from relift.compiler.program import compile_program
from relift.compiler.running.arrays.buffers import flatten
from relift.compiler.running.compiled import Compiled
from relift.compiler.running.launch import INT_LIMIT, MOST_ITEMS, Buffer, Kernel
from relift.compiler.text.opencl_words import KEYWORDS
from relift.semantics.domains import DTYPES
from relift.semantics.errors import Refuted, ReliftError, Undefined, Unsupported
from relift.semantics.language.programs import Program
from relift.semantics.notation.printer import show
from relift.semantics.syntax.sizes import Size
from relift.semantics.syntax.types import Scalar

_C = {"float16": "_Float16", "float32": "float", "float64": "double", "bool": "uint8_t"}
"""The types of C for those of NumPy; whole numbers have the names that <stdint.h> gives them."""

CMAKE = "CMakeLists.txt"


def owner(name: str) -> str:
    """The first line of a library's CMake file, which says whose it is.

    >>> from relift.compiler.ahead.c_library import owner
    >>> owner("dot")
    '# dot, written by relift build, which writes it anew'
    """
    return f"# {name}, written by relift build, which writes it anew"


MOST_CELLS = 20_000
"""Cells that the test of a library holds."""


@dataclass(frozen=True)
class CLibrary:
    """The files of a library by name, and the function that it has."""

    name: str
    files: Mapping[str, str]
    tested: str
    """What its test compares, in words."""


def c_library(program: Program, *, contract: bool = True) -> CLibrary:
    """The library of a low-level program, whose open sizes stay open.

    Raises `Refuted` for kernels whose certificate is, and for a function in C that is not its Python, and `Unsupported` for what C with OpenMP does not compute.

    >>> import relift as rl
    >>> from relift.compiler.ahead.c_library import c_library
    >>> n = rl.nat("n")
    >>> @rl.program
    ... def scaled(a: rl.f32, x: rl.f32[n]):
    ...     return rl.map_glb(0)(lambda v: a * v, x)
    >>> print(c_library(scaled).files["scaled.h"])
    // scaled(a: f32, x: f32[n]) -> f32[n]
    #ifndef SCALED_H
    #define SCALED_H
    #include <stdint.h>
    #ifdef __cplusplus
    extern "C" {
    #endif
    <BLANKLINE>
    // 0 when it is done; else `scaled_error` says why not, and nothing of the result is there
    int scaled(int64_t n, float a, const float* x, float* out);
    const char* scaled_error(int status);
    <BLANKLINE>
    #ifdef __cplusplus
    }
    #endif
    #endif
    <BLANKLINE>
    """
    compiled = compile_program(program, contract=contract)
    require_not_refuted(compiled)
    require_functions_mean_their_python(program)
    host = _Host(_called(program.name), program, compiled)
    test, tested = _test(host)
    name = host.name
    found = {
        f"{name}.h": host.header(),
        f"{name}.c": host.source(),
        f"test_{name}.c": test,
        CMAKE: f"{owner(name)}\n{_cmake(name, compiled.source, contract=contract)}",
    }
    return CLibrary(name, found, tested)


def _called(name: str) -> str:
    """A name that neither C, its library nor the words of kernels have taken."""
    taken = {*re.findall(r"[A-Za-z_]\w*", words() + _host_text()), *_LIBRARY, *KEYWORDS}
    return f"{name}_" if name in taken else name


_LIBRARY = ("aligned_alloc", "fabs", "free", "main", "printf", "puts")


def _host_text() -> str:
    return files("relift.compiler.ahead").joinpath("host.c").read_text("utf-8")


@dataclass(frozen=True)
class _Host:
    """The function that runs the kernels of a program."""

    name: str
    program: Program
    compiled: Compiled

    @property
    def arguments(self) -> list[Buffer]:
        """Sizes, inputs and outputs, in the order of the parameters."""
        held = {b.name: b for b in self.compiled.plan.buffers}
        given = [held[b] for p in self.compiled.plan.parameters for b in p.buffers]
        return [
            *(b for b in held.values() if b.role == "size"),
            *given,
            *(b for b in held.values() if b.role == "output"),
        ]

    @property
    def prototype(self) -> str:
        """Its declaration."""
        return f"int {self.name}({', '.join(map(_parameter, self.arguments))})"

    def header(self) -> str:
        """What a program includes."""
        guard = f"{self.name.upper()}_H"
        types = ", ".join(f"{p.name}: {p.type}" for p in self.program.parameters)
        return "\n".join(
            [
                f"// {self.program.name}({types}) -> {self.program.body.type}",
                *(f"#ifndef {guard}", f"#define {guard}", "#include <stdint.h>"),
                *("#ifdef __cplusplus", 'extern "C" {', "#endif", ""),
                f"// 0 when it is done; else `{self.name}_error` says why not, and nothing of the result is there",
                f"{self.prototype};",
                f"const char* {self.name}_error(int status);",
                *("", "#ifdef __cplusplus", "}", "#endif", "#endif", ""),
            ]
        )

    def source(self) -> str:
        """The kernels, what launches them, and the function."""
        tree = understood(self.compiled.source, "C with OpenMP")
        entries = {k.name: entry(k) for k in tree.kernels}
        kernels = self.compiled.plan.kernels
        told = [f"// {line}".rstrip() for line in show(self.program.body).splitlines()]
        return "\n".join(
            [
                f'#include "{self.name}.h"',
                "#include <stdlib.h>",
                *("#ifdef _OPENMP", "#include <omp.h>", "#endif"),
                "static int relift_threads(void) {",
                *("#ifdef _OPENMP", "  return omp_get_max_threads();", "#else", "  return 1;", "#endif", "}"),
                "",
                words(),
                C().definitions(tree).replace("\nint relift_", "\nstatic int relift_"),
                "",
                _host_text(),
                *told,
                f"{self.prototype} {{",
                *(f"  {line}" for line in self._body(kernels, {k: e.name for k, e in entries.items()}, {k: e.free for k, e in entries.items()})),
                "}",
                "",
                f"const char* {self.name}_error(int status) {{",
                "  switch (status) {",
                '    case 0: return "done";',
                '    case RELIFT_NO_MEMORY: return "there is too little memory";',
                '    case RELIFT_TOO_LARGE: return "the sizes are too large for kernels that count with int";',
                '    case RELIFT_DIVERGED: return "not all work-items of a group come to one of its barriers";',
                '    case RELIFT_BAD_SIZE: return "a size is less than it may be";',
                '    default: return "not a status";',
                *("  }", "}", ""),
            ]
        )  # fmt: skip

    def _body(
        self, kernels: Sequence[Kernel], names: Mapping[str, str], free: Mapping[str, bool]
    ) -> Iterator[str]:
        plan = self.compiled.plan
        for size, least in plan.sizes.items():
            yield f"if ({size} < {least}) return RELIFT_BAD_SIZE;"
            yield f"if ({size} >= {INT_LIMIT}LL) return RELIFT_TOO_LARGE;"
        for b in plan.buffers:
            if b.role in ("size", "scalar"):
                t = _kernel_type(b)
                yield f"{t} relift_{b.name} = ({t}){b.name};"
        yield "int relift_status = 0;"
        between = [b for b in plan.buffers if b.role == "temporary"]
        for b in between:
            # in whole lines of 64 bytes, as aligned memory is had; one cell at least
            size = f"((size_t)relift_most(1, {_in_c(b.cells)}) * {DTYPES[b.scalar.name].itemsize} + 63) / 64 * 64"
            yield f"{_type(b.scalar)}* {b.name} = aligned_alloc(64, {size});"
        if between:
            missing = " || ".join(f"!{b.name}" for b in between)
            yield f"if ({missing}) relift_status = RELIFT_NO_MEMORY;"
        for turns, block in in_turns(kernels):
            if turns > 1:
                yield f"for (int relift_turn = 0; relift_turn < {turns}; ++relift_turn) {{"
            for k in block:
                yield "if (!relift_status) {"
                for line in self._launch(k, names[k.name], free=free[k.name]):
                    yield f"  {line}"
                yield "}"
            if turns > 1:
                yield "}"
        for b in between:
            yield f"free({b.name});"
        yield "return relift_status;"

    def _launch(self, k: Kernel, name: str, *, free: bool) -> Iterator[str]:
        """One kernel, as `Kernel.at` says it is launched."""
        totals, step = ["1", "1", "1"], "0"
        for d, (asked, m) in enumerate(zip(k.total, k.local, strict=True)):
            totals[d] = _in_c(asked)
            if d in k.turns:
                most = MOST_ITEMS // m
                totals[d] = (
                    f"relift_most(1, relift_least(({totals[d]} + {m - 1}) / {m}, {most})) * {m}"
                )
            exact = asked.constant is None and d not in k.turns
            step = f"relift_most({step}, {m if exact else totals[d]})"
        yield f"const long long relift_range[3] = {{{', '.join(totals)}}};"
        yield f"const int relift_local[3] = {{{', '.join(map(str, (*k.local, 1, 1)[:3]))}}};"
        roles = {b.name: b.role for b in self.compiled.plan.buffers}
        given = ", ".join(
            f"&relift_{a}" if roles[a] in ("size", "scalar") else f"(void*){a}" for a in k.arguments
        )
        yield f"void* relift_given[] = {{{given}}};"
        for span in k.spans:
            yield f"if ({_in_c(span)} + {step} >= {INT_LIMIT}LL) relift_status = RELIFT_TOO_LARGE;"
        yield f"if (!relift_status) relift_status = relift_run({name}, relift_given, relift_range, relift_local, {int(free)});"


def in_turns(kernels: Sequence[Kernel]) -> Iterator[tuple[int, Sequence[Kernel]]]:
    """Launches one after the other, those that come again at once as a block with how often it comes.

    >>> from relift import f32, iterate, map_glb, program
    >>> from relift.compiler.ahead.c_library import in_turns
    >>> from relift.compiler.program import compile_program
    >>> @program
    ... def doubled(x: f32[8]):
    ...     return iterate(20, map_glb(0)(lambda v: v + v), x)
    >>> [(turns, [k.name for k in block]) for turns, block in in_turns(compile_program(doubled).plan.kernels)]
    [(1, ['doubled_1']), (9, ['doubled_2', 'doubled_3']), (1, ['doubled_4'])]
    """
    at = 0
    while at < len(kernels):
        length, turns = 1, 1
        for period in range(1, min(LONGEST_BLOCK, (len(kernels) - at) // 2) + 1):
            block, again = kernels[at : at + period], 1
            while kernels[at + again * period : at + (again + 1) * period] == block:
                again += 1
            if again > 1 and again * period > length * turns:
                length, turns = period, again
        yield turns, kernels[at : at + length]
        at += length * turns


LONGEST_BLOCK = 64
"""Launches of a loop in C at most."""


def _type(scalar: Scalar) -> str:
    return _type_of(DTYPES[scalar.name])


def _type_of(dtype: np.dtype[Any]) -> str:
    """The type of C for one of NumPy."""
    return _C.get(dtype.name, f"{dtype.name}_t")


def _kernel_type(b: Buffer) -> str:
    """The type that a kernel reads a number as."""
    return "int32_t" if DTYPES[b.scalar.name] == np.bool_ else _type(b.scalar)


def _parameter(b: Buffer) -> str:
    if b.role == "size":
        return f"int64_t {b.name}"
    if b.role == "scalar":
        return f"{_type(b.scalar)} {b.name}"
    return f"{'const ' * (b.role == 'input')}{_type(b.scalar)}* {b.name}"


def _in_c(size: Size) -> str:
    """A size as an expression of C; raises `Unsupported` for powers whose exponent is open."""
    terms: list[str] = []
    for monomial, c in size.terms.items():
        factors = [f"{c}LL"] if c != 1 or not monomial else []
        for atom, power in monomial:
            if not isinstance(atom, str):
                raise Unsupported(
                    f"a library in C does not compute the size {size}; fix it with --size"
                )
            factors += [f"(long long){atom}"] * power
        terms.append(" * ".join(factors))
    return f"({' + '.join(terms)})" if terms else "0LL"


# ---- the test


def _test(host: _Host) -> tuple[str, str]:
    """A program that compares the function with what the interpreter says, and what it compares."""
    found = [case for case in _cases(host) if case is not None]
    lines = [f'#include "{host.name}.h"', "#include <math.h>", "#include <stdio.h>", ""]
    for number, (at, rows, wanted, tolerance) in enumerate(found):
        lines += [
            *_data(number, rows, wanted),
            *_comparison(host, number, at, rows, wanted, tolerance),
        ]
    calls = " + ".join(f"relift_case_{i}()" for i in range(len(found)))
    if not found:
        told = "the interpreter does not reach these sizes"
        body = [f'  puts("not compared: {told}");', "  return 77;"]
        return "\n".join([*lines, "int main(void) {", *body, "}", ""]), f"nothing: {told}"
    body = [
        f"  const int wrong = {calls};",
        f'  if (!wrong) puts("{len(found)} cases agree with the interpreter");',
        "  return wrong != 0;",
    ]
    where = "; ".join(at for at, *_ in found)
    return "\n".join([*lines, "int main(void) {", *body, "}", ""]), f"all cells at {where}"


def _cases(host: _Host) -> Iterator[tuple[str, dict[str, Any], dict[str, Any], float] | None]:
    """Where the test compares: at its sizes, or at some of those that are open."""
    least = host.program.least_sizes
    chosen = list(choices(least))[:3] if least else [{}]
    for sizes in chosen:
        try:
            program = host.program.at(sizes)
            if not in_reach(program):
                continue
            exact = is_exact(program)
            arrays = (whole_inputs if exact else random_inputs)(program, 0)
            rows = host.compiled.rows(arrays, sizes)
            expected = flatten(program(*arrays), program.body.type, "the result")
        except Refuted:
            raise
        except (ReliftError, Undefined):
            continue  # no value there
        names = [b.name for b in host.compiled.plan.buffers if b.role == "output"]
        wanted = dict(zip(names, expected, strict=True))
        held = {name: np.asarray(row) for name, row in rows.items()}
        if sum(len(r) for r in (*held.values(), *expected)) > MOST_CELLS:
            continue
        at = ", ".join(f"{name} = {n}" for name, n in sizes.items()) or "its sizes"
        yield at, held, wanted, 0.0 if exact else rounding(program)


def _data(number: int, rows: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[str]:
    held = [(f"in_{n}", r) for n, r in rows.items()] + [
        (f"wanted_{n}", r) for n, r in wanted.items()
    ]
    for name, row in held:
        cells = ", ".join(map(_literal, row)) or "0"
        yield f"static const {_type_of(row.dtype)} {name}_{number}[] = {{{cells}}};"
    for name, row in wanted.items():
        yield f"static {_type_of(row.dtype)} found_{name}_{number}[{max(1, len(row))}];"


def _literal(value: Any) -> str:
    """A number in C, to the last bit."""
    if value.dtype.kind != "f":
        number = int(value)
        return f"(-{-number - 1}LL - 1)" if number < 0 else f"{number}LL"
    if np.isnan(value):
        return "NAN"
    if np.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return float(value).hex()


def _comparison(
    host: _Host,
    number: int,
    at: str,
    rows: Mapping[str, Any],
    wanted: Mapping[str, Any],
    tolerance: float,
) -> Iterator[str]:
    given = ", ".join(
        f"in_{b.name}_{number}[0]"
        if b.role in ("size", "scalar")
        else f"{'in' if b.role == 'input' else 'found'}_{b.name}_{number}"
        for b in host.arguments
    )
    yield f"static int relift_case_{number}(void) {{"
    yield f"  const int status = {host.name}({given});"
    yield f'  if (status) return printf("{at}: %s\\n", {host.name}_error(status)), 1;'
    for name, row in wanted.items():
        finite = np.abs(row[np.isfinite(row)]) if row.dtype.kind == "f" else row
        scale = float(np.max(finite, initial=0.0)) if row.dtype.kind == "f" else 0.0
        yield f"  for (int i = 0; i < {len(row)}; ++i) {{"
        yield f"    const double got = (double)found_{name}_{number}[i], wanted = (double)wanted_{name}_{number}[i];"
        yield f"    if (!(got == wanted || (got != got && wanted != wanted) || fabs(got - wanted) <= {tolerance * scale!r}))"
        yield f'      return printf("{at}: {name}[%d] is %g instead of %g\\n", i, got, wanted), 1;'
        yield "  }"
    yield "  return 0;"
    yield "}"
    yield ""


def _cmake(name: str, source: str, *, contract: bool) -> str:
    rounding_ = "fast" if contract else "off"
    halves = "$<$<C_COMPILER_ID:GNU>:-fexcess-precision=16> $<$<C_COMPILER_ID:Clang>:-ffloat16-excess-precision=none>"
    more = f" {halves}" if HALVES.search(source) else ""
    return f"""cmake_minimum_required(VERSION 3.16)
project({name} C)
find_package(OpenMP)
add_library({name} {name}.c)
target_include_directories({name} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})
set_target_properties({name} PROPERTIES C_STANDARD 11 POSITION_INDEPENDENT_CODE ON)
target_compile_options({name} PRIVATE -O3 -march=native -w -fno-strict-aliasing -fno-math-errno -fno-trapping-math
                       -ffp-contract={rounding_}{more})
target_link_libraries({name} PRIVATE m)
if(OpenMP_C_FOUND)
  target_link_libraries({name} PRIVATE OpenMP::OpenMP_C)
endif()
enable_testing()
add_executable(test_{name} test_{name}.c)
target_link_libraries(test_{name} PRIVATE {name} m)
add_test(NAME {name} COMMAND test_{name})
set_tests_properties({name} PROPERTIES SKIP_RETURN_CODE 77)
"""
