"""C as LLVM's graph: a compiler makes bitcode without optimising it, llvmlite brings all to one form.

So the version of the compiler matters little: values in registers, one latch and one entry a loop, a name for each value;
nothing is unrolled, rotated, hoisted or turned into vectors, by whichever clang it comes.  Functions of the file alone that have no loops
stand where they are called.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from relift.compiler.idioms.facts.llvm.ir import Module
from relift.compiler.idioms.facts.llvm.reading import module_of
from relift.compiler.idioms.facts.llvm.unused import marked, unmarked
from relift.files import require_file, temporary_folder
from relift.semantics.errors import ReliftError

NAMES = ("clang", *(f"clang-{n}" for n in range(25, 13, -1)))
"""What is looked for on PATH, where RELIFT_CLANG names none."""

FLAGS = (
    *("-x", "c", "-O1", "-Xclang", "-disable-llvm-passes", "-fno-discard-value-names", "-g"),
    *("-ffp-contract=off", "-fno-math-errno", "-emit-llvm", "-c"),
    *("-Wno-everything", "-fno-color-diagnostics", "-fno-caret-diagnostics"),
)
SECONDS = 120


class Uncompilable(ReliftError):
    """C that a compiler refuses, or no compiler that makes bitcode."""

    def __init__(self, message: str, place: str = "") -> None:
        super().__init__(message, place)


@cache
def front_end() -> tuple[str, ...]:
    """The command of a C compiler that makes LLVM's bitcode; raises `Uncompilable` where there is none."""
    named = os.environ.get("RELIFT_CLANG")
    for name in (named,) if named else NAMES:
        path = shutil.which(name)
        if path is not None:
            return (path,)
    if named:
        raise Uncompilable(f"RELIFT_CLANG={named}: there is no such command")
    if importlib.util.find_spec("ziglang") is not None:
        return (sys.executable, "-m", "ziglang", "cc")
    raise Uncompilable(
        "relift lift reads C with clang, and none is on PATH: apt-get install clang, or pip install ziglang, "
        "or name one with RELIFT_CLANG"
    )


def bitcode(source: Path, by: Sequence[str] = (), options: Sequence[str] = ()) -> bytes:
    """What the front end makes of a file, not optimised; raises `Uncompilable` with its first error."""
    command = tuple(by) or front_end()
    require_file(source, Uncompilable)
    with temporary_folder() as folder:
        out = folder / "module.bc"
        try:
            done = subprocess.run(
                [*command, *FLAGS, *options, "-o", str(out), str(source)],
                capture_output=True, text=True, timeout=SECONDS, check=False, errors="replace",
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise Uncompilable(f"{source}: {command[0]} did not end in {SECONDS} s") from None
        if done.returncode or not out.is_file():
            raise Uncompilable(_first_error(source, command[0], done.stderr))
        return out.read_bytes()


def _first_error(source: Path, command: str, said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if "error:" in line]
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    if errors and (m := re.match(r"(.*?):(\d+):(\d+): (?:fatal )?error: (.*)", errors[0])):
        return f"{m[1]}:{m[2]}:{m[3]}: {m[4][:200]}{more}"
    return (
        f"{source}: {Path(command).name}: {(errors or lines or ['failed without a word'])[0][:200]}"
    )


def module(source: Path, by: Sequence[str] = (), options: Sequence[str] = ()) -> Module:
    """The graph of a C file."""
    return module_of(normal_form(bitcode(source, by, options)), str(source))


def normal_form(code: bytes) -> str:
    """The text of a module whose loops and values have one form; raises `Uncompilable` without llvmlite."""
    try:
        import llvmlite.binding as llvm
    except ImportError:
        raise Uncompilable(
            "relift lift reads bitcode with llvmlite: pip install relift[lift]"
        ) from None
    llvm.initialize_native_target()
    try:
        found = llvm.parse_bitcode(code)
    except RuntimeError as error:
        raise Uncompilable(f"llvmlite does not read the compiler's bitcode: {error}") from None
    _mark_small(found)
    machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine()
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=1))
    first = llvm.create_new_module_pass_manager()
    first.add_always_inliner_pass()
    first.add_sroa_pass()
    first.run(found, builder)
    with_marks = marked(str(found))
    if with_marks is not None:
        found = llvm.parse_assembly(with_marks)
    passes = llvm.create_new_module_pass_manager()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.add_loop_simplify_pass()
    passes.add_lcssa_pass()
    passes.add_instruction_namer_pass()
    passes.run(found, builder)
    return str(found) if with_marks is None else unmarked(str(found))


MOST_BLOCKS = 40
"""A function of more blocks stays a function."""


def _mark_small(module: Any) -> None:
    """Have the functions that only the file can call, and that have no loops, put where they are called."""
    known = {f.name: f for f in module.functions if not f.is_declaration}
    for f in known.values():
        if f.linkage.name in ("internal", "private") and not _is_kept(f, known, ()):
            f.add_function_attribute("alwaysinline")


def _is_kept(f: Any, known: dict[str, Any], above: tuple[str, ...]) -> bool:
    """Whether a function has a loop, calls itself, or is asked not to be put elsewhere."""
    blocks = list(f.blocks)
    if f.name in above or len(blocks) > MOST_BLOCKS or b"noinline" in b" ".join(f.attributes):
        return True
    place = {str(b.name): n for n, b in enumerate(blocks)}
    for number, block in enumerate(blocks):
        for i in block.instructions:
            operands = list(i.operands)
            if i.opcode in ("br", "switch") and any(
                place.get(str(o.name), number + 1) <= number for o in operands
            ):
                return True
            if i.opcode in ("indirectbr", "callbr", "invoke", "va_arg"):
                return True
            called = known.get(str(operands[-1].name)) if i.opcode == "call" and operands else None
            if called is not None and _is_kept(called, known, (*above, f.name)):
                return True
    return False
