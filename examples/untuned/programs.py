"""Programs of many fields for which nothing in the search was tuned, beside those of examples/searched, written as one
writes them who knows nothing of it.

Those of signals, images, physics and finance are in fields.py, and some that are written another way in systems.py.  What each computes, in NumPy, is in with_numpy.py under
its name.
"""

# pyright: reportGeneralTypeIssues=false
# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

from pathlib import Path

import relift as rl
from relift.bench import load_file

HERE = Path(__file__).parent
SEARCHED = load_file(HERE.parent / "searched" / "programs.py")
FIELDS, SYSTEMS = load_file(HERE / "fields.py"), load_file(HERE / "systems.py")
n, m, k, c, o = (rl.nat(name) for name in "nmkco")
f = rl.f32
dot, mv, mm, total, largest, each = (
    getattr(SEARCHED, name) for name in ("dot", "mv", "mm", "total", "largest", "each")
)


# ---- folds of rows and columns


@rl.program
def row_variance(A: f[n, m]):
    def row(r):
        mean = total(r) / m
        return total(rl.map(lambda v: (v - mean) * (v - mean), r)) / m

    return rl.map(row, A)


@rl.program
def normalized(A: f[n, m]):
    def row(r):
        norm = rl.sqrt(dot(r, r))
        return rl.map(lambda v: v / norm, r)

    return rl.map(row, A)


@rl.program
def weighted_rows(A: f[n, m], w: f[n]):
    """A transposed product, written with the table first."""
    return rl.map(lambda column: dot(column, w), rl.transpose(A))


@rl.program
def column_scans(A: f[n, m]):
    return rl.transpose(rl.map(lambda column: rl.scan_seq(rl.add, 0.0, column), rl.transpose(A)))


@rl.program
def softmax_columns(A: f[n, m]):
    def column(r):
        top = largest(r)
        powers = rl.map(lambda v: rl.exp(v - top), r)
        whole = total(powers)
        return rl.map(lambda v: v / whole, powers)

    return rl.transpose(rl.map(column, rl.transpose(A)))


@rl.program
def two_largest(A: f[n, m]):
    """The two largest numbers of each row."""

    def place(best, v):
        first, second = best
        return (rl.maximum(first, v), rl.maximum(second, rl.minimum(first, v)))

    return rl.map(lambda row: rl.reduce_seq(place, (float("-inf"), float("-inf")), row), A)


@rl.program
def layer_norm_gradient(X: f[n, m], G: f[n, m], gain: f[m]):
    """What reaches the inputs of a layer norm of rows."""

    def row(p):
        x, g = p[0], rl.map(lambda q: q[0] * q[1], rl.zip(p[1], gain))
        mean = total(x) / m
        spread = rl.rsqrt(total(rl.map(lambda v: (v - mean) * (v - mean), x)) / m + 1e-5)
        bias = total(g) / m
        slope = total(rl.map(lambda q: q[0] * (q[1] - mean) * spread, rl.zip(g, x))) / m
        return rl.map(
            lambda q: (q[0] - bias - (q[1] - mean) * spread * slope) * spread, rl.zip(g, x)
        )

    return rl.map(row, rl.zip(X, G))


@rl.program
def cross_entropy_gradient(A: f[n, m], labels: rl.i32[n]):
    def row(p):
        top = largest(p[0])
        whole = total(rl.map(lambda v: rl.exp(v - top), p[0]))
        return rl.map(
            lambda q: (rl.exp(q[0] - top) / whole - rl.select(rl.equal(q[1], p[1]), 1.0, 0.0)) / n,
            rl.zip(p[0], rl.generate(m, lambda j: j)),
        )

    return rl.map(row, rl.zip(A, labels))


# ---- vectors and matrices


@rl.program
def batched_gemv(A: f[c, n, m], x: f[c, m]):
    return rl.map(lambda p: mv(p[0], p[1]), rl.zip(A, x))


@rl.program
def mvt(A: f[n, n], x: f[n], y: f[n], p: f[n], q: f[n]):
    """PolyBench: a product with a matrix, and one with it transposed."""

    def added(v, w):
        return rl.map(lambda r: r[0] + r[1], rl.zip(v, w))

    return (added(x, mv(A, p)), added(y, mv(rl.transpose(A), q)))


@rl.program
def huber_gradient(A: f[n, m], y: f[n], w: f[m]):
    """The gradient of Huber's loss of a linear model."""
    gaps = rl.map(lambda p: rl.maximum(-1.0, rl.minimum(1.0, dot(p[0], w) - p[1])), rl.zip(A, y))
    return rl.map(lambda column: dot(column, gaps) / n, rl.transpose(A))


@rl.program
def power_iteration(A: f[n, n], x: f[n]):
    def step(v):
        w = mv(A, v)
        scale = rl.rsqrt(dot(w, w))
        return rl.map(lambda t: t * scale, w)

    return rl.iterate(5, step, x)


@rl.program
def pagerank(A: f[n, n], degree: f[n], rank: f[n]):
    """A step: what flows along the columns of a dense graph, and what is given to all."""
    shares = rl.map(lambda p: p[0] / p[1], rl.zip(rank, degree))
    return rl.map(lambda v: 0.85 * v + 0.15 / n, mv(rl.transpose(A), shares))


@rl.program
def gram_schmidt(Q: f[n, m], x: f[n]):
    """What remains of a vector beside the columns of a matrix, of length one."""
    along = mv(rl.transpose(Q), x)
    rest = rl.map(lambda p: p[1] - dot(p[0], along), rl.zip(Q, x))
    scale = rl.rsqrt(dot(rest, rest) + 1e-9)
    return rl.map(lambda v: v * scale, rest)


@rl.program
def syr2k(alpha: f, A: f[n, k], B: f[n, k], beta: f, C: f[n, n]):
    def cell(p, q, old):
        return alpha * (dot(p[0], q[1]) + dot(p[1], q[0])) + beta * old

    pairs = rl.zip(A, B)
    return rl.map(
        lambda r: rl.map(lambda s: cell(r[0], s[0], s[1]), rl.zip(pairs, r[1])), rl.zip(pairs, C)
    )


@rl.program
def syrk(alpha: f, A: f[n, k], beta: f, C: f[n, n]):
    return each(lambda p, q: alpha * p + beta * q, mm(A, rl.transpose(A)), C)


@rl.program
def triangular_product(L: f[n, n], B: f[n, m]):
    """A product with the lower half of a matrix."""
    lower = rl.map(
        lambda p: rl.map(
            lambda q: rl.select(q[1] <= p[1], q[0], 0.0), rl.zip(p[0], rl.generate(n, lambda j: j))
        ),
        rl.zip(L, rl.generate(n, lambda i: i)),
    )
    return mm(lower, B)


@rl.program
def correlation(X: f[n, m]):
    def standard(column):
        mean = total(column) / n
        gaps = rl.map(lambda v: v - mean, column)
        scale = rl.rsqrt(dot(gaps, gaps))
        return rl.map(lambda v: v * scale, gaps)

    columns = rl.map(standard, rl.transpose(X))
    return rl.map(lambda a: rl.map(lambda b: dot(a, b), columns), columns)


@rl.program
def shortest_paths(A: f[n, k], B: f[k, m]):
    """Lengths of paths of two parts: a product of smallest sums."""

    def cell(row, column):
        sums = rl.map(lambda p: p[0] + p[1], rl.zip(row, column))
        return rl.reduce(rl.minimum, float("inf"), sums)

    return rl.map(lambda row: rl.map(lambda column: cell(row, column), rl.transpose(B)), A)


@rl.program
def l1_distances(X: f[n, k], Y: f[m, k]):
    def distance(x, y):
        return total(rl.map(lambda p: abs(p[0] - p[1]), rl.zip(x, y)))

    return rl.map(lambda x: rl.map(lambda y: distance(x, y), Y), X)


@rl.program
def density(x: f[n], y: f[m]):
    """How dense points lie around others, by a kernel of Gauss."""
    return rl.map(lambda a: total(rl.map(lambda b: rl.exp(-0.5 * ((a - b) * (a - b))), y)) / m, x)


@rl.program
def predicted_covariances(F: f[c, 4, 4], P: f[c, 4, 4], Q: f[4, 4]):
    """A Kalman filter's step for many: F P F^T + Q."""

    def one(p):
        moved = mm(mm(p[0], p[1]), rl.transpose(p[0]))
        return each(lambda a, b: a + b, moved, Q)

    return rl.map(one, rl.zip(F, P))


# ---- layers of neural networks


@rl.program
def mlp(x: f[n, k], w: f[k, m], b: f[m], v: f[m, o]):
    hidden = rl.map(
        lambda row: rl.map(lambda p: rl.maximum(0.0, p[0] + p[1]), rl.zip(row, b)), mm(x, w)
    )
    return mm(hidden, v)


@rl.program
def gated_mlp(x: f[n, k], w: f[k, m], v: f[k, m], u: f[m, k]):
    def gated(a, b):
        return a / (1.0 + rl.exp(0.0 - a)) * b

    return mm(each(gated, mm(x, w), mm(x, v)), u)


@rl.program
def rotary(x: f[n, 2 * m], cosines: f[n, m], sines: f[n, m]):
    """Neighbours of each row turned by angles of the row's own."""

    def turned(p):
        pair, cosine, sine = p[0], p[1], p[2]
        return rl.make_array(pair[0] * cosine - pair[1] * sine, pair[0] * sine + pair[1] * cosine)

    def row(p):
        return rl.join(rl.map(turned, rl.zip(rl.split(2, p[0]), p[1], p[2])))

    return rl.map(row, rl.zip(x, cosines, sines))


@rl.program
def grouped_queries(Q: f[c, o, k], K: f[c, m, k], V: f[c, m, k]):
    """A token's attention: `o` heads of queries share the keys and values of each of `c`."""

    def head(q, keys, values):
        scores = mv(keys, q)
        top = largest(scores)
        powers = rl.map(lambda s: rl.exp(s - top), scores)
        whole = total(powers)
        return rl.map(lambda column: dot(powers, column) / whole, rl.transpose(values))

    return rl.map(lambda p: rl.map(lambda q: head(q, p[1], p[2]), p[0]), rl.zip(Q, K, V))


@rl.program
def batch_norm(x: f[n, c, m], mean: f[c], variance: f[c], gain: f[c], bias: f[c]):
    """A trained batch norm, and what is below zero cut off."""

    def channel(p):
        scale = rl.rsqrt(p[2] + 1e-5) * p[3]
        return rl.map(lambda v: rl.maximum(0.0, (v - p[1]) * scale + p[4]), p[0])

    return rl.map(lambda image: rl.map(channel, rl.zip(image, mean, variance, gain, bias)), x)


@rl.program
def embedded(tokens: rl.i32[n, m], table: f[c, k], places: f[m, k]):
    """The row of each token, and that of its place."""

    def one(p):
        found = rl.at_runtime_unsafe(p[0], table)
        return rl.map(lambda q: q[0] + q[1], rl.zip(found, p[1]))

    return rl.map(lambda row: rl.map(one, rl.zip(row, places)), tokens)


@rl.program
def strided(x: f[n, 2 * m, 2 * k], w: f[3, 3]):
    """A convolution that keeps every second row and column."""

    def plane(p):
        padded = rl.pad_nd((1, 1), (0, 0), 0.0, p)
        around = rl.slide_nd((3, 3), (2, 2), padded)
        return rl.map_nd(2, lambda window: dot(rl.join(window), rl.join(w)), around)

    return rl.map(plane, x)


def __getattr__(name):
    return getattr(FIELDS if hasattr(FIELDS, name) else SYSTEMS, name)
