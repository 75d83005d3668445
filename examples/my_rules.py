"""Rules of your own: one that holds and one that does not.

relift check --file examples/my_rules.py
"""

import relift as rl

A, B, C = rl.type_variables("A B C")
k, m, n = rl.naturals("k m n")


@rl.rule()
def transpose_of_split(xss: A[n, k * m]):
    """Splitting every row and transposing is transposing and splitting every chunk of rows."""
    return (
        rl.transpose(rl.map(lambda row: rl.split(m, row), xss)),
        rl.map(lambda rows: rl.transpose(rows), rl.split(m, rl.transpose(xss))),
    )


@rl.rule()
def interchange_without_transpose(h: rl.Fun[A, B, C], xs: A[n], ys: B[n]):
    """Map interchange that forgets to transpose: its types fit, for the matrix is square."""
    return (
        rl.map(lambda x: rl.map(lambda y: h(x, y), ys), xs),
        rl.map(lambda y: rl.map(lambda x: h(x, y), xs), ys),
    )
