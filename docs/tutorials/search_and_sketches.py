# %% [markdown]
# # Search and sketches
#
# Rules live in an e-graph, where every program that was reached is kept with all that it is equal to. A sketch says what
# the result should look like, with holes: the search finds a program of that form, and how it follows.

# %%
import relift as rl

n = rl.nat("n")


@rl.program
def squares(x: rl.f32[n]):
    """The sum of squares."""
    return rl.reduce(rl.add, 0.0, rl.map(lambda v: v * v, x))


# %% [markdown]
# A sum in chunks: an outer loop of `n // t` turns around an inner one of `t`. `... >= s` is a program that contains `s`.

# %%
found = rl.reach(
    squares,
    "... >= reduce_seq[n // t](... >= reduce_seq[t](...))",
    {"n": 64, "t": 8},
)
print(found.derivation.program.name, [step.rule for step in found.derivation.steps])

# %% [markdown]
# Each step names a rule of the ledger, a place and what was put for its metavariables; an independent matcher replays it.

# %%
print(rl.show(found.derivation.result, "pipeline"))

# %% [markdown]
# A goal that no rules lead to is an answer, too: which part of the sketch no program satisfies.

# %%
try:
    rl.reach(squares, "... >= scan_seq(...)", {"n": 64}, budget=20)
except rl.ReliftError as error:
    print(error.message.splitlines()[0][:160])

# %% [markdown]
# Without a sketch, `rl.optimize` plans by itself: candidates differ in plan, a cost model ranks them, and `top` says how
# many are kept. The strategies of `relift.strategies` are a third way: rules applied by name.

# %%
from relift.strategies import apply, topdown

best = rl.optimize(
    squares, sizes={"n": 4096}, strategies=[topdown(apply("split_join", m=64))], top=3
)
for candidate in best.candidates:
    print(
        f"{candidate.cost.seconds * 1e6:8.1f} us by the model, {len(candidate.derivation.steps)} steps"
    )
