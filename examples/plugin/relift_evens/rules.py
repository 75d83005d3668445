"""A rule about the pattern."""

import relift as rl

A, B = rl.type_variables("A B")
(n,) = rl.naturals("n")


@rl.rule(source="an example")
def evens_map(f: rl.Fun[A, B], xs: A[2 * n]):
    """Of every second element the function is computed, or of all."""
    return rl.evens(rl.map(f, xs)), rl.map(f, rl.evens(xs))
