"""An `if` that holds a barrier ends with one.

All work-items of a group take such an `if`, so one barrier more changes nothing but its time.  PoCL, in all versions up
to 5.0 at least, leaves out work-items where a barrier in an `if` is followed by code without one in that `if`, and by
another `if` after it; see `conditional barriers` among the defects that the self-test of a device looks for.
"""

from __future__ import annotations

from dataclasses import replace

from relift.compiler.text.tree import Barrier, Guard, Loop, Statement, statements_within


def close_conditional_barriers(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """Statements in which each guard that holds a barrier ends with one.

    >>> from relift.compiler.codegen.passes.conditional_barriers import close_conditional_barriers
    >>> from relift.compiler.dialects.printing import Printer
    >>> from relift.compiler.text.reader import read_kernels
    >>> [k] = read_kernels('''
    ...     kernel void f(global float* x, int n) {
    ...       local float t[1];
    ...       if (get_group_id(0) < n) {
    ...         t[0] = x[0];
    ...         barrier(CLK_LOCAL_MEM_FENCE);
    ...         x[1] = t[0];
    ...       }
    ...     }''')
    >>> print("\\n".join(Printer().statements(close_conditional_barriers(k.body)[1:], 0)))
    if (get_group_id(0) < n) {
      t[0] = x[0];
      barrier(CLK_LOCAL_MEM_FENCE);
      x[1] = t[0];
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    """
    found = tuple(map(_closed, body))
    return body if all(new is old for new, old in zip(found, body, strict=True)) else found


def _closed(s: Statement) -> Statement:
    if not isinstance(s, Guard | Loop):
        return s
    inside = close_conditional_barriers(s.body)
    if isinstance(s, Guard):
        held = [t for t in statements_within(inside) if isinstance(t, Barrier)]
        if held and not _ends_with_barrier(inside):
            inside = (*inside, held[-1])
    return s if inside is s.body else replace(s, body=inside)


def _ends_with_barrier(body: tuple[Statement, ...]) -> bool:
    last = body[-1]
    return isinstance(last, Barrier) or (isinstance(last, Guard) and _ends_with_barrier(last.body))
