# %% [markdown]
# # Low-level by hand, and certificates
#
# A low-level program says everything about its kernel: who computes, in which dimension, with which lanes, and where a
# value is stored. It can be written by hand, with its sizes left open.

# %%
import numpy as np

import relift as rl

n, m = rl.nat("n"), rl.nat("m")


@rl.program
def row_sums(xss: rl.f32[n, m]):
    """One work-item sums one row."""
    return rl.map_glb(0)(lambda row: rl.reduce_seq(rl.add, 0.0, row), xss)


# %%
kernel = rl.compile(row_sums)
print(kernel.source)

# %% [markdown]
# The sizes are arguments of the kernel, found from the shapes.

# %%
for shape in ((3, 5), (64, 17)):
    xss = np.arange(shape[0] * shape[1], dtype=np.float32).reshape(shape) % 11
    assert (kernel(xss) == row_sums(xss)).all()

# %% [markdown]
# Beside every kernel there is a certificate. It is made from the kernel's own text, read anew, by Z3: accesses are in
# bounds, work-items do not race, what is read was written. Open sizes: it holds for all. (`relift verify` asks for more:
# that every cell of the result is written.)

# %%
for certificate in kernel.certificates:
    for claim in certificate.claims:
        print(f"{claim.kind} {claim.subject}: {claim.verdict}")

# %% [markdown]
# What the text computes is compared with the program, too, on symbols: for all data, and here for all sizes.

# %%
meaning = rl.validate(row_sums)
print(meaning.verdict)
assert meaning.verdict == "validated"

# %% [markdown]
# A lane is a vector's, not a work-item's. Dimensions, lanes and chunks are all that changes here; the meaning does not.


# %%
@rl.program
def doubled(x: rl.f32[16 * n]):
    """Vectors of 16, one for each work-item."""
    return rl.as_scalar(rl.map_glb(0)(rl.map_vec(lambda v: v + v), rl.as_vector(16, x)))


wide = rl.compile(doubled)
print(wide.source)
x = np.arange(64, dtype=np.float32)
assert (wide(x) == x + x).all()
