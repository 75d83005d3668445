"""Functions that update cells of floats at once, which OpenCL C has none of: a source that calls them defines them.

Each compares the bits of a cell with those that it has seen, and exchanges them where nobody came between.  Their texts are
known to the letter: what reads a source takes a call for one update, as it takes `atomic_add`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from relift.compiler.text.c_types import UPDATES, combined, updated_by
from relift.compiler.text.expressions import in_c
from relift.compiler.text.lexing import NotUnderstood, tokens_of
from relift.compiler.text.tree import Evaluation, Invocation, KernelText, Name, statements_within

DEFINED = {name: how for name, how in UPDATES.items() if how.scalar != "int"}


def text_of(function: str) -> str:
    """The definition of such a function.

    >>> from relift.compiler.text.at_once import text_of
    >>> print(text_of("add_f32_at_once"))
    float add_f32_at_once(volatile local float* p, float x) {
      int seen = as_int(*p);
      while (true) {
        const float old = as_float(seen);
        const int now = as_int(old + x);
        if (now == seen) return old;
        const int found = atomic_cmpxchg((volatile local int*)p, seen, now);
        if (found == seen) return old;
        seen = found;
      }
    }
    """
    value = in_c(combined(DEFINED[function], Name("old"), Name("x")))
    return f"""float {function}(volatile local float* p, float x) {{
  int seen = as_int(*p);
  while (true) {{
    const float old = as_float(seen);
    const int now = as_int({value});
    if (now == seen) return old;
    const int found = atomic_cmpxchg((volatile local int*)p, seen, now);
    if (found == seen) return old;
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
