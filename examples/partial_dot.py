"""Partial dot products, one for each block of 128 elements: products, then a tree of sums in local memory.

    relift run examples/partial_dot.py --size n=4 --random 1

The program says who computes and where: a work-group for each block, a work-item for each pair, and six
steps that halve the block.  Source: LIFT, CGO'17, Listing 1.
"""

import relift as rl

n = rl.nat("n")


def in_local_memory(f, pairs):
    """f of each chunk of two, by the work-items of a group, kept in local memory."""
    return rl.to_local(rl.map_lcl(0)(f, rl.split(2, pairs)))


def products(pair):
    """The sum of two products."""
    return rl.reduce_seq(lambda total, xy: total + xy[0] * xy[1], 0.0, pair)


def halved(sums):
    """Sums of neighbours: half as many."""
    return in_local_memory(lambda pair: rl.reduce_seq(lambda total, x: total + x, 0.0, pair), sums)


@rl.program
def partial_dot(x: rl.f32[n * 128], y: rl.f32[n * 128]):
    """The dot product of each block of 128 elements of x and y."""

    def block(pairs):
        return rl.map_lcl(0)(
            lambda s: s, rl.iterate_sizes(6, 2, halved, in_local_memory(products, pairs))
        )

    return rl.join(rl.map_wrg(0)(block, rl.split(128, rl.zip(x, y))))
