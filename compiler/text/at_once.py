"""Functions that update cells of floats at once, which OpenCL C has none of: a source that calls them defines them.

A sum takes what there is out of a cell, and puts it there with what it adds to it; what others have put there meanwhile it
takes out again.  So nobody waits until a cell is as it was seen.  An extreme compares the bits of a cell with those that it has seen, and
exchanges them where nobody came between.  Their texts are known to the letter: what reads a source takes a call for one update, as
it takes `atomic_add`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from relift.compiler.text.c_types import UPDATES, combined, updated_by
from relift.compiler.text.expressions import in_c
from relift.compiler.text.lexing import NotUnderstood, tokens_of
from relift.compiler.text.tree import Evaluation, Invocation, KernelText, Name, statements_within
from relift.semantics.syntax.memory import Space

DEFINED = {name: how for name, how in UPDATES.items() if how.scalar != "int"}


_OF_DEVICE = "_global"


def works_in(function: str, space: Space) -> bool:
    """Whether a function updates cells in some memory: those of OpenCL C do so in any.

    >>> from relift.compiler.text.at_once import works_in
    >>> from relift.semantics.syntax.memory import Space
    >>> [works_in(f, Space.GLOBAL) for f in ("atomic_add", "add_f32_at_once", "add_f32_at_once_global")]
    [True, False, True]
    """
    return function not in DEFINED or function.endswith(_OF_DEVICE) == space.of_device


def text_of(function: str) -> str:
    """The definition of such a function.

    >>> from relift.compiler.text.at_once import text_of
    >>> print(text_of("add_f32_at_once"))
    void add_f32_at_once(volatile local float* p, float x) {
      do {
        x = atomic_xchg(p, atomic_xchg(p, 0.0f) + x);
      } while (x != 0.0f);
    }
    >>> print(text_of("maximum_f32_at_once_global"))
    void maximum_f32_at_once_global(volatile global float* p, float x) {
      int seen = as_int(*p);
      while (true) {
        const float old = as_float(seen);
        const int now = as_int(((old > x) || (old != old)) ? old : x);
        if (now == seen) return;
        const int found = atomic_cmpxchg((volatile global int*)p, seen, now);
        if (found == seen) return;
        seen = found;
      }
    }
    """
    how = DEFINED[function]
    space = "global" if function.endswith(_OF_DEVICE) else "local"
    head = f"void {function}(volatile {space} float* p, float x) {{"
    if how.by == "add":
        return f"""{head}
  do {{
    x = atomic_xchg(p, atomic_xchg(p, 0.0f) + x);
  }} while (x != 0.0f);
}}"""
    value = in_c(combined(how, Name("old"), Name("x")))
    return f"""{head}
  int seen = as_int(*p);
  while (true) {{
    const float old = as_float(seen);
    const int now = as_int({value});
    if (now == seen) return;
    const int found = atomic_cmpxchg((volatile {space} int*)p, seen, now);
    if (found == seen) return;
    seen = found;
  }}
}}"""


def called_in(kernels: Iterable[KernelText]) -> set[str]:
    """The functions by which some kernels update cells."""
    calls = (
        s.call for k in kernels for s in statements_within(k.body) if isinstance(s, Evaluation)
    )
    return {e.function for e in calls if isinstance(e, Invocation) and updated_by(e) is not None}


def defined_for(kernels: Iterable[KernelText]) -> Iterator[str]:
    """The definitions of those that some kernels call."""
    called = called_in(kernels)
    return (text_of(name) for name in DEFINED if name in called)


def behind_update(tokens: Sequence[str], at: int) -> int:
    """The place behind a definition of such a function, if one stands at a place, else that; raises `NotUnderstood` for another text."""
    name = tokens[at + 1] if at + 1 < len(tokens) else ""
    if name not in DEFINED:
        return at
    known = tokens_of(text_of(name))
    if list(tokens[at : at + len(known)]) != known:
        raise NotUnderstood(f"a definition of {name} that is not the one of this compiler")
    return at + len(known)
