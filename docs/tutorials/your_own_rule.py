# %% [markdown]
# # Your own rule in five minutes
#
# A rule is an equation between two programs. Its parameters are metavariables, their types are annotations, and what must
# divide is written as a product. On the command line the same is `relift check --file FILE.py`.

# %%
import relift as rl

A, B, C = rl.type_variables("A B C")
k, m, n = rl.naturals("k m n")


@rl.rule(source="this page")
def map_in_chunks(f: rl.Fun[A, B], xs: A[k * m]):
    """A map can be done chunk by chunk."""
    return rl.map(f, xs), rl.join(rl.map(lambda chunk: rl.map(f, chunk), rl.split(m, xs)))


# %% [markdown]
# The first three tiers need no prover: types for all sizes, random values by Hypothesis, and free symbols at every size up
# to a bound, where equal symbols mean equal for all functions and data.

# %%
report = rl.check(map_in_chunks, tiers=("1", "2", "3"))
print(
    *(f"tier {found.tier}: {found.status} ({found.detail})" for found in report.results), sep="\n"
)
assert report.ok

# %% [markdown]
# One that is wrong. Its types fit, because the matrix is square; the order of the loops is not the same.


# %%
@rl.rule(source="this page")
def interchange(h: rl.Fun[A, B, C], xs: A[n], ys: B[n]):
    """Two loops change places, and the result is not transposed."""
    return (
        rl.map(lambda x: rl.map(lambda y: h(x, y), ys), xs),
        rl.map(lambda y: rl.map(lambda x: h(x, y), xs), ys),
    )


wrong = rl.check(interchange, tiers=("1", "2", "3"))
assert wrong.counterexample is not None
print(wrong.counterexample.text())

# %% [markdown]
# The counterexample is the smallest one that was found, on symbols. `relift check` also says under which guard it would
# hold (here `n <= 1`, which shows that something is missing). What was forgotten is a transposition:


# %%
@rl.rule(source="this page")
def interchange_right(h: rl.Fun[A, B, C], xs: A[n], ys: B[m]):
    """Two loops change places, and the result is transposed."""
    return (
        rl.map(lambda x: rl.map(lambda y: h(x, y), ys), xs),
        rl.transpose(rl.map(lambda y: rl.map(lambda x: h(x, y), xs), ys)),
    )


right = rl.check(interchange_right, tiers=("1", "2", "3"))
print(right.ok)
assert right.ok

# %% [markdown]
# A rule that floating point does not keep says so: an operator that must be associative is a condition.


# %%
@rl.rule(where=[rl.associative("op"), rl.neutral("op", "z")], source="Lift, ICFP'15")
def partial_sums(op: rl.Op[A], z: A, xs: A[k * m]):
    """Chunks are reduced, then their results."""
    return rl.reduce(op, z, xs), rl.reduce(
        op, z, rl.map(lambda chunk: rl.reduce(op, z, chunk), rl.split(m, xs))
    )


print(rl.check(partial_sums, tiers=("1", "3")).ok)
