"""Reduction by a tree in local memory: at each level half of the work-items rest.

Not a program by itself: dot, total, gemv and others import it.
"""

import relift as rl


def halves(length, xs):
    """Pairs: each element of the first half and its partner of the second."""
    return rl.transpose(rl.split(length // 2, xs))


def tree(plus, length, xs):
    """One element: `length` of them, a power of two, combined by the work-items of a group."""
    xs = rl.to_local(xs)
    while length > 2:
        level = rl.map_lcl(0)(lambda p: plus(p[0], p[1]), halves(length, xs))
        xs, length = rl.to_local(level), length // 2
    return rl.map_lcl(0)(lambda p: plus(p[0], p[1]), halves(length, xs))


def trees(plus, length, xss):
    """The same for each row: dimension 1 has the rows, dimension 0 the elements of a row."""

    def level(length, xss):
        def row(xs):
            return rl.map_lcl(0)(lambda p: plus(p[0], p[1]), halves(length, xs))

        return rl.map_lcl(1)(row, xss)

    xss = rl.to_local(xss)
    while length > 2:
        xss, length = rl.to_local(level(length, xss)), length // 2
    return level(length, xss)


def across(items, xs):
    """Work-item j of `items` has the elements j, j + items, ...: neighbours read neighbours."""
    return rl.transpose(rl.split(items, xs))


def groups_of_rows(f, blocks):
    """f on each block by one work-group, whose work-items have two dimensions."""
    return rl.map_wrg(1)(lambda block: rl.join(rl.map_wrg(0)(f, rl.repeat(1, block))), blocks)
