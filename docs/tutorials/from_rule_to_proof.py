# %% [markdown]
# # From rule to proof
#
# Tests show that a rule holds at the sizes that were tried. Two tiers show it for all: Z3, on statements about indices,
# and the Rocq prover, on a statement that is generated from the rule. Only the prover says PROVED. This page needs `coqc`
# (`apt-get install coq`).

# %%
import relift as rl
from relift.rewrites.checks.rocq.statements import proposition

A, B = rl.type_variables("A B")
k, m = rl.naturals("k m")


@rl.rule(source="this page")
def map_of_split(f: rl.Fun[A, B], xs: A[k * m]):
    """Split first or map first."""
    return rl.split(m, rl.map(f, xs)), rl.map(lambda chunk: rl.map(f, chunk), rl.split(m, xs))


# %% [markdown]
# Arrays are functions of indices. What is left of the rule then is that both sides read the same cell, for every `k`, `m`
# and index: a statement that Z3 decides.

# %%
by_index = rl.check(map_of_split, tiers=("1", "4a"))
print(by_index.results[-1].status, "-", by_index.results[-1].detail)

# %% [markdown]
# For the prover, the rule is written as a proposition. Its types are relations, so that it holds for every type of
# elements, arrays among them:

# %%
print(proposition(map_of_split))

# %% [markdown]
# One tactic proves it, without a script, and an audit sees that no axiom was used.

# %%
by_prover = rl.check(map_of_split, tiers=("1", "4b"))
print(by_prover.results[-1].status, "-", by_prover.results[-1].detail)
assert by_prover.results[-1].status == "proved"

# %% [markdown]
# A wrong rule has no proof. It is the first tiers that say why:


# %%
@rl.rule(source="this page")
def split_is_reversed(xs: A[k * m]):
    """Wrong: chunks of m are not m chunks."""
    return rl.join(rl.split(m, xs)), rl.join(rl.transpose(rl.split(m, xs)))


refuted = rl.check(split_is_reversed, tiers=("1", "3"), guards=False)
print([found.status for found in refuted.results])
assert not refuted.ok

# %% [markdown]
# The rules of Relift are recorded in the ledger with what each tier said, and a search uses none that is not PROVED there.
# `relift prove DERIVATION.json` makes one theorem of a whole derivation: from the program as it was written to the program
# that became the kernel, for all sizes.

# %%
from relift.rewrites.ledger.book import verdict
from relift.rewrites.library import RULES

print(verdict(RULES["map_fusion"]))
