# %% [markdown]
# # Differential testing of a device
#
# The interpreter says what a program means. A device that computes something else is wrong, or the compiler is: Relift
# draws random programs, runs them on both, and makes a difference as small as it can be.

# %%
import numpy as np

import relift as rl
from relift.compiler.agreement.comparison import agreed
from relift.rewrites.checks.random.kernels import random_arguments, random_kernel
from relift.testing import assert_equivalent

# %% [markdown]
# Every device passes a self-test before it is used; `relift devices` prints what each gets wrong.

# %%
print(len(rl.devices()) > 0)

# %% [markdown]
# A seed stands for a low-level program that is well typed, and for its arguments. What the compiled kernel computes must
# be what the interpreter says: to the last bit where every step is exact, else within its rounding.


# %%
def judged(seed):
    """What became of the program of a seed."""
    program = random_kernel(seed, "items")
    if program is None or program.sizes:
        return "not made"
    arguments = random_arguments(program, seed)
    try:
        kernel = rl.compile(program)
    except rl.ReliftError:  # not every low-level program can be compiled; the message says why
        return "refused"
    found = agreed("the interpreter", program, kernel(*arguments), program(*arguments))
    return "right" if found.ok else found.text()


outcomes = [judged(seed) for seed in range(12)]
print({outcome: outcomes.count(outcome) for outcome in sorted(set(outcomes))})
assert {*outcomes} <= {"right", "refused", "not made"}

# %% [markdown]
# The same for a program of your own against a function of NumPy. What separates them is shrunk:

# %%
n = rl.nat("n")


@rl.program
def differences(x: rl.f32[n + 1]):
    """What each element adds to the one before."""
    return rl.map(lambda p: p[1] - p[0], rl.slide(2, 1, x))


assert_equivalent(differences, np.diff, examples=20)
try:
    assert_equivalent(differences, lambda x: np.abs(np.diff(x)), examples=20)
except AssertionError as error:
    print(str(error)[:120])

# %% [markdown]
# `relift verify PROGRAM` does all of it for one program: interpreter, low-level candidates, the text of the kernels on
# symbols, kernels on every device, and the race checker Oclgrind. `relift fuzz --count 5000 --device NAME`
# runs thousands of random programs on a device, and says of a difference whose fault it is.
