"""The names of a program in C: no two things that one place can see are called alike, and none as OpenCL C calls another.

A file has functions, kernels, buffers and sizes; each kernel and each function adds names of its own.  A function
that is found to be needed late still gets a name that no kernel before it has used.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Callable, Iterable

from relift.compiler.codegen.values.scalars import WIDTHS
from relift.compiler.text.opencl_words import is_taken
from relift.semantics.indices.stored import memories
from relift.semantics.syntax.types import Type


def c_name(name: str) -> str:
    """`name`, or a name like it that C can write and OpenCL C has not taken.

    >>> from relift.compiler.text.names import c_name
    >>> c_name("half"), c_name("gamma"), c_name("größe"), c_name("λ"), c_name("<lambda>")
    ('half_', 'gamma', 'grosse', 'u3bb', 'lambda')
    """
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss"))
    letters = (c for c in plain if not unicodedata.combining(c))
    text = "".join(c if c.isascii() else f"u{ord(c):x}" for c in letters)
    text = re.sub(r"\W", "", text)  # Python calls a function without a name <lambda>
    if is_taken(text):
        text = f"v{text}" if text.startswith("_") else f"{text}_"
    return text


def alone(name: str) -> Iterable[str]:
    """What a scalar is called: by its name."""
    return (name,)


def stored_as(t: Type) -> Callable[[str], Iterable[str]]:
    """What a value of type t is called, under some name: one memory for each component.

    >>> from relift import f32, i32, tup
    >>> from relift.compiler.text.names import stored_as
    >>> list(stored_as(tup(f32, tup(f32, i32))[4])("own"))
    ['own', 'own_0', 'own_1_0', 'own_1_1']
    """
    return lambda name: dict.fromkeys((name, *(m.name for m in memories(name, t))))


def on_any_width(name: str) -> Iterable[str]:
    """What a user function is called, on scalars and on vectors."""
    return (name, *(f"{name}_x{width}" for width in WIDTHS))


class Names:
    """The names of a file, or of a part of it that sees those of `around`.

    >>> from relift import f32, tup
    >>> from relift.compiler.text.names import Names, on_any_width, stored_as
    >>> file = Names()
    >>> file.fresh("f", on_any_width), file.fresh("f_x4"), file.fresh("float")
    ('f', 'f_x4_2', 'float_')
    >>> kernel = Names(file)
    >>> kernel.fresh("x"), kernel.fresh("x"), kernel.fresh("own", stored_as(tup(f32, f32, f32)[4])), kernel.fresh("own")
    ('x', 'x_2', 'own', 'own_3')
    >>> file.fresh("x")  # a kernel that calls it may have an x
    'x_3'
    """

    def __init__(self, around: Names | None = None) -> None:
        self._around = around
        self._taken: set[str] = set()
        self._inside: set[str] = set()

    def fresh(self, hint: str, made: Callable[[str], Iterable[str]] = alone) -> str:
        """A name like `hint` that is free, with all names that are `made` from it."""
        base = c_name(hint)
        stem = f"v_{base}" if any(map(is_taken, made(f"{base}_2"))) else base
        candidates = itertools.chain((base,), (f"{stem}_{n}" for n in itertools.count(2)))
        name = next(c for c in candidates if self._is_free(c, made))
        self.take(made(name))
        return name

    def take(self, names: Iterable[str]) -> None:
        """From here on, these names are taken."""
        found = tuple(names)
        self._taken.update(found)
        outer = self._around
        while outer is not None:
            outer._inside.update(found)
            outer = outer._around

    def _is_free(self, name: str, made: Callable[[str], Iterable[str]]) -> bool:
        found = tuple(made(name))
        return not any(map(is_taken, found)) and not any(map(self._is_taken, found))

    def _is_taken(self, name: str) -> bool:
        return (
            name in self._taken
            or name in self._inside
            or (self._around is not None and self._around._sees(name))
        )

    def _sees(self, name: str) -> bool:
        return name in self._taken or (self._around is not None and self._around._sees(name))
