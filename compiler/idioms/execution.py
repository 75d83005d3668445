"""The C that programs are compared with: compiled by LLVM without optimisation, and called on arrays of NumPy."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from relift.compiler.idioms.facts.llvm.ir import Function, Module
from relift.compiler.idioms.facts.llvm.layout import size_in_bytes
from relift.compiler.idioms.facts.names import bare, is_global
from relift.semantics.syntax.monomials import Monomial
from relift.semantics.syntax.sizes import Size

KINDS = {
    "i1": ctypes.c_bool,
    "i8": ctypes.c_uint8,
    "i16": ctypes.c_uint16,
    "i32": ctypes.c_int32,
    "i64": ctypes.c_int64,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
}
"""The types of numbers that functions are given and return, as `ctypes` calls them."""


class Compiled:
    """The functions of a module as LLVM compiles them, without optimisation."""

    def __init__(self, code: bytes) -> None:
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        llvm.load_library_permanently("libm.so.6")
        module = llvm.parse_bitcode(code)
        options = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(opt=0)
        self._engine = llvm.create_mcjit_compiler(module, options)
        self._engine.finalize_object()

    def address(self, name: str) -> int:
        """Where a function or a global lies."""
        found = self._engine.get_function_address(name) or self._engine.get_global_value_address(
            name
        )
        return int(found)


@dataclass
class Case:
    """Inputs of one run: numbers for the values of the function, arrays with room around them."""

    values: dict[str, Any]
    rooms: dict[str, Any] = field(default_factory=dict[str, Any])
    """By base, the array with the cells around it."""
    firsts: dict[str, int] = field(default_factory=dict[str, int])
    sizes: dict[str, int] = field(default_factory=dict[str, int])
    ends: dict[str, tuple[str, int]] = field(default_factory=dict[str, "tuple[str, int]"])
    """Addresses that lie in arrays of others: the base, and how many bytes further."""

    def address(self, value: str) -> int | None:
        """Where an array begins; or an address that lies in one."""
        base, further = self.ends.get(value, (value, 0))
        room = self.rooms.get(base)
        return (
            None if room is None else room.ctypes.data + self.firsts[base] * room.itemsize + further
        )

    def number(self, size: Size) -> int:
        """What a size is, whose quotients are among the values by what they are called."""
        terms: dict[Monomial, int] = {
            tuple((str(a), p) for a, p in monomial): c for monomial, c in size.terms.items()
        }
        return Size(terms).evaluate(self.values)


def read_constants(module: Module, compiled: Compiled, case: Case) -> None:
    """Arrays that nothing may write to hold what the file says."""
    for base in case.rooms:
        if base in module.constants:
            _copied(base, module, compiled, case, into=False)


def called(function: Function, module: Module, compiled: Compiled, case: Case) -> Any:
    """What the C returns; arrays are changed where they lie."""
    kinds: list[Any] = []
    arguments: list[Any] = []
    for value, type_ in function.arguments.items():
        address = case.address(value) if type_ == "ptr" else None
        if value in function.by_value:
            kinds.append(_structure(size_in_bytes(function.by_value[value], module)))
            arguments.append(kinds[-1].from_address(address) if address else kinds[-1]())
        elif type_ == "ptr":
            kinds.append(ctypes.c_void_p)
            arguments.append(address)
        else:
            kinds.append(KINDS[type_])
            arguments.append(case.values[value])
    for base in case.rooms:
        if is_global(base) and base not in module.constants:
            _copied(base, module, compiled, case, into=True)
    result: Any = KINDS.get(function.result)
    got = ctypes.CFUNCTYPE(result, *kinds)(compiled.address(function.name))(*arguments)
    for base in case.rooms:
        if is_global(base):
            _copied(base, module, compiled, case, into=False)
    if function.result == "float":
        return np.float32(got)
    return np.float64(got) if function.result == "double" else np.int64(got or 0)


@cache
def _structure(size: int) -> Any:
    """A structure of so many bytes, which is given as itself."""
    return type("Structure", (ctypes.Structure,), {"_fields_": [("bytes", ctypes.c_uint8 * size)]})


def _copied(base: str, module: Module, compiled: Compiled, case: Case, *, into: bool) -> None:
    """A global array has its own place: its cells go there before a call, and come back after it."""
    room = case.rooms[base]
    count = size_in_bytes(module.globals[base], module) // room.itemsize
    cells = room[case.firsts[base] : case.firsts[base] + count]
    address = compiled.address(bare(base))
    kind = np.ctypeslib.as_ctypes_type(room.dtype) * len(cells)
    there = np.ctypeslib.as_array(kind.from_address(address))
    if into:
        there[:] = cells
    else:
        cells[:] = there
