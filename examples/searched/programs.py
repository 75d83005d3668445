"""High-level programs beside those of examples/, written as one writes them who knows nothing of the search.

What each computes, in NumPy, is in samples.py under its name.  Where a mean divides by a size, it is fixed here, as it was
when they were timed.
"""

# pyright: reportGeneralTypeIssues=false
# mypy: disable-error-code="misc, no-untyped-call, no-untyped-def, valid-type"
# (the annotations of a program are sizes and types of the object language, not Python types)

import relift as rl

n, m, k, c, o = (rl.nat(name) for name in "nmkco")
f = rl.f32
LENGTH = 8192
"""Elements of a row, or of a column, of which a mean is taken."""


def dot(u, v):
    return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(u, v)))


def mv(A, x):
    return rl.map(lambda row: dot(row, x), A)


def mm(A, B):
    return rl.map(lambda row: rl.map(lambda column: dot(row, column), rl.transpose(B)), A)


def total(xs):
    return rl.reduce(rl.add, 0.0, xs)


def largest(xs):
    return rl.reduce(rl.maximum, float("-inf"), xs)


def each(f, *tables):
    """A function of the elements of tables that lie at one place."""
    return rl.map(
        lambda rows: rl.map(
            lambda p: f(*(p[i] for i in range(len(tables)))),
            rl.zip(*(rows[i] for i in range(len(tables)))),
        ),
        rl.zip(*tables),
    )


# ---- sums


@rl.program
def row_sums(A: f[n, m]):
    return rl.map(total, A)


@rl.program
def column_sums(A: f[n, m]):
    return rl.map(total, rl.transpose(A))


@rl.program
def column_variance(A: f[LENGTH, m]):
    def variance(column):
        mean = total(column) * (1.0 / LENGTH)
        return total(rl.map(lambda v: (v - mean) * (v - mean), column)) * (1.0 / LENGTH)

    return rl.map(variance, rl.transpose(A))


@rl.program
def kmeans_columns(features: f[m, n], centres: f[k, m]):
    """The number of the centre that each point belongs to; points come feature by feature, as Rodinia's kernel reads them."""

    def closer(best, distance):
        nearest, number, i = best
        taken = distance < nearest
        return (rl.minimum(distance, nearest), rl.select(taken, i, number), i + 1)

    def assigned(point):
        def squared(p):
            return (p[0] - p[1]) * (p[0] - p[1])

        gaps = rl.map(lambda centre: total(rl.map(squared, rl.zip(point, centre))), centres)
        return rl.reduce_seq(closer, (float("inf"), 0, 0), gaps)[1]

    return rl.map(assigned, rl.transpose(features))


@rl.program
def largest_place(A: f[n, m]):
    """Where the largest number of each row is; of several the first."""

    def later(best, v):
        value, place, i = best
        greater = v > value
        return (rl.select(greater, v, value), rl.select(greater, i, place), i + 1)

    return rl.map(lambda row: rl.reduce_seq(later, (float("-inf"), 0, 0), row)[1], A)


@rl.program
def log_sum_exp(A: f[n, m]):
    def row(r):
        top = largest(r)
        return top + rl.log(total(rl.map(lambda v: rl.exp(v - top), r)))

    return rl.map(row, A)


@rl.program
def cross_entropy(A: f[n, m], labels: rl.i32[n]):
    def row(p):
        top = largest(p[0])
        logarithm = top + rl.log(total(rl.map(lambda v: rl.exp(v - top), p[0])))
        return logarithm - rl.at_runtime_unsafe(p[1], p[0])

    return rl.map(row, rl.zip(A, labels))


@rl.program
def scan(x: f[n]):
    return rl.scan_seq(rl.add, 0.0, x)


@rl.program
def prefix_maximum(x: f[n]):
    return rl.scan_seq(rl.maximum, float("-inf"), x)


@rl.program
def row_scans(A: f[n, m]):
    return rl.map(lambda row: rl.scan_seq(rl.add, 0.0, row), A)


# ---- rows and their folds


@rl.program
def softmax(A: f[n, m]):
    def row(r):
        top = largest(r)
        powers = rl.map(lambda v: rl.exp(v - top), r)
        whole = total(powers)
        return rl.map(lambda v: v / whole, powers)

    return rl.map(row, A)


@rl.program
def masked_softmax(A: f[n, m], kept: rl.i32[n, m]):
    def row(r):
        top = largest(r)
        powers = rl.map(lambda v: rl.exp(v - top), r)
        whole = total(powers)
        return rl.map(lambda v: v / whole, powers)

    masked = each(lambda v, keep: rl.select(keep > 0, v, -1e30), A, kept)
    return rl.map(row, masked)


@rl.program
def layer_norm(A: f[n, LENGTH], gain: f[LENGTH], bias: f[LENGTH]):
    def row(r):
        mean = total(r) * (1.0 / LENGTH)
        spread = total(rl.map(lambda v: (v - mean) * (v - mean), r)) * (1.0 / LENGTH)
        return rl.map(
            lambda p: (p[0] - mean) * rl.rsqrt(spread + 1e-5) * p[1] + p[2], rl.zip(r, gain, bias)
        )

    return rl.map(row, A)


@rl.program
def rms_norm(A: f[n, LENGTH], gain: f[LENGTH]):
    def row(r):
        square = total(rl.map(lambda v: v * v, r)) * (1.0 / LENGTH)
        return rl.map(lambda p: p[0] * rl.rsqrt(square + 1e-6) * p[1], rl.zip(r, gain))

    return rl.map(row, A)


@rl.program
def cosines(A: f[n, m], B: f[n, m]):
    """The cosine of the angle between the rows of a pair."""

    def cosine(p):
        return dot(p[0], p[1]) * rl.rsqrt(dot(p[0], p[0]) * dot(p[1], p[1]))

    return rl.map(cosine, rl.zip(A, B))


# ---- matrices and vectors


@rl.program
def gemv_transposed(A: f[n, m], x: f[n]):
    return mv(rl.transpose(A), x)


@rl.program
def bicg(A: f[n, m], p: f[m], r: f[n]):
    return (mv(A, p), mv(rl.transpose(A), r))


@rl.program
def gemver(alpha: f, beta: f, A: f[n, n], u1: f[n], v1: f[n], u2: f[n], v2: f[n], y: f[n], z: f[n]):
    B = rl.map(
        lambda q: rl.map(lambda p: p[0] + q[1] * p[1] + q[2] * p[2], rl.zip(q[0], v1, v2)),
        rl.zip(A, u1, u2),
    )
    x = rl.map(lambda p: beta * p[0] + p[1], rl.zip(mv(rl.transpose(B), y), z))
    return rl.map(lambda v: alpha * v, mv(B, x))


@rl.program
def rank_one(A: f[n, m], x: f[n], y: f[m]):
    return rl.map(lambda q: rl.map(lambda p: p[0] + q[1] * p[1], rl.zip(q[0], y)), rl.zip(A, x))


@rl.program
def sum_transposed(A: f[n, m], B: f[m, n]):
    return each(lambda a, b: a + b, A, rl.transpose(B))


# ---- products


@rl.program
def gemm(alpha: f, A: f[n, k], B: f[k, m], beta: f, C: f[n, m]):
    return each(lambda p, q: alpha * p + beta * q, mm(A, B), C)


@rl.program
def bias_relu(A: f[n, k], B: f[k, m], bias: f[m]):
    return rl.map(
        lambda row: rl.map(lambda p: rl.maximum(p[0] + p[1], 0.0), rl.zip(row, bias)), mm(A, B)
    )


@rl.program
def product_transposed(A: f[n, k], B: f[m, k]):
    return mm(A, rl.transpose(B))


@rl.program
def products_batched(A: f[c, n, k], B: f[c, k, m]):
    return rl.map(lambda p: mm(p[0], p[1]), rl.zip(A, B))


@rl.program
def three_products(A: f[n, n], B: f[n, n], C: f[n, n], D: f[n, n]):
    return mm(mm(mm(A, B), C), D)


@rl.program
def squared_distances(X: f[n, k], Y: f[m, k]):
    def squared(x, y):
        gaps = rl.map(lambda p: p[0] - p[1], rl.zip(x, y))
        return total(rl.map(lambda gap: gap * gap, gaps))

    return rl.map(lambda x: rl.map(lambda y: squared(x, y), Y), X)


@rl.program
def mahalanobis(X: f[n, m], mean: f[m], S: f[m, m]):
    """The squared distance of each row from the mean, by the inverse of a covariance."""

    def squared(x):
        gaps = rl.map(lambda p: p[0] - p[1], rl.zip(x, mean))
        return dot(gaps, mv(S, gaps))

    return rl.map(squared, X)


@rl.program
def attention(Q: f[n, k], K: f[m, k], V: f[m, k]):
    def row(q):
        scores = rl.map(lambda key: dot(q, key), K)
        top = largest(scores)
        powers = rl.map(lambda s: rl.exp(s - top), scores)
        whole = total(powers)
        return rl.map(lambda column: dot(powers, column) / whole, rl.transpose(V))

    return rl.map(row, Q)


@rl.program
def conv2d(x: f[c, n + 2, m + 2], K: f[o, c, 3, 3]):
    windows = rl.map(lambda image: rl.slide_nd((3, 3), (1, 1), image), x)
    places = rl.map(rl.transpose, rl.transpose(windows))

    def weighted(window, kernel):
        return dot(rl.join(rl.join(window)), rl.join(rl.join(kernel)))

    return rl.map(lambda kernel: rl.map_nd(2, lambda window: weighted(window, kernel), places), K)


@rl.program
def box_blur(x: f[c, n, m]):
    """The mean of 7 by 7 pixels of each channel; the border is repeated."""

    def blurred(image):
        windows = rl.slide_nd((7, 7), (1, 1), rl.pad_nd((3, 3), (3, 3), rl.clamp, image))
        return rl.map_nd(2, lambda window: total(rl.join(window)) * (1.0 / 49.0), windows)

    return rl.map(blurred, x)


@rl.program
def jacobi(x: f[n, m]):
    """Four steps of a Jacobi iteration; the border is repeated."""

    def step(grid):
        windows = rl.slide_nd((3, 3), (1, 1), rl.pad_nd((1, 1), (1, 1), rl.clamp, grid))
        return rl.map_nd(
            2, lambda w: 0.2 * (w[1][1] + w[0][1] + w[2][1] + w[1][0] + w[1][2]), windows
        )

    return rl.iterate(4, step, x)


@rl.program
def max_pool(x: f[2 * n, 2 * m]):
    windows = rl.slide_nd((2, 2), (2, 2), x)
    return rl.map_nd(2, lambda w: largest(rl.join(w)), windows)


@rl.program
def gelu(x: f[n]):
    return rl.map(lambda v: 0.5 * v * (1.0 + rl.tanh(0.7978845608 * (v + 0.044715 * v * v * v))), x)


@rl.program
def covariance(X: f[LENGTH, m]):
    """The covariances of the columns."""
    columns = rl.transpose(X)
    means = rl.map(lambda column: total(column) * (1.0 / LENGTH), columns)
    centred = rl.map(lambda p: rl.map(lambda v: v - p[1], p[0]), rl.zip(columns, means))
    return rl.map(lambda a: rl.map(lambda b: dot(a, b) * (1.0 / (LENGTH - 1.0)), centred), centred)
