# %% [markdown]
# # A first program
#
# A program is a Python function over typed arrays, written with patterns. This page writes one, asks what it means, has
# a kernel found for it, and runs that.

# %%
import numpy as np

import relift as rl

n = rl.nat("n")


@rl.program
def dot(x: rl.f32[n], y: rl.f32[n]):
    """The sum of products."""
    return rl.reduce(rl.add, 0.0, rl.map(lambda p: p[0] * p[1], rl.zip(x, y)))


# %% [markdown]
# The function was called once, with arrays that stand for any: what it returned is a term. Sizes are part of types, and
# are checked for all values of `n` where the pattern is written.

# %%
print(rl.show(dot.body, "pipeline"))
print(dot.body.type)

# %% [markdown]
# Called on arrays, a program is run by the interpreter, which is the definition of the language. It is slow, and always
# right.

# %%
x = np.array([1, 2, 3], np.float32)
print(dot(x, np.array([4, 5, 6], np.float32)))

# %% [markdown]
# What cannot be is refused on the line where it stands, for all sizes:

# %%
try:
    rl.split(4, dot.parameters[0])
except rl.IllTyped as error:
    print(error.message)

# %% [markdown]
# `rl.optimize` searches for low-level programs that are equal by rules which are all proved. What it returns says how it
# was derived, step by step; `relift explain` replays such a derivation.

# %%
best = rl.optimize(dot, sizes={"n": 4096})
print([step.rule for step in best.derivation.steps])

# %% [markdown]
# The low-level program says who computes what: `map_glb` is over work-items, `map_vec` over lanes. The compiler decides
# nothing any more; it writes that as a kernel.

# %%
kernel = rl.compile(best.term)
print(kernel.source)

# %% [markdown]
# The kernel runs on the CPU that OpenCL shows, or on another device by name. On whole numbers, sums are exact, so the
# result is that of the interpreter to the last bit.

# %%
x = np.arange(4096, dtype=np.float32) % 7
print(kernel(x, x) == dot(x, x))
assert kernel(x, x) == dot(x, x)
