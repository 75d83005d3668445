"""What is the same for all requests, done once, in the process from which theirs are forked: importing this does it.

Nothing here starts a thread, or asks Z3, which starts them: what is forked of a process has one.
"""

from __future__ import annotations

import importlib
from contextlib import suppress

from relift.rewrites.checks.random.tier import check_random
from relift.rewrites.checks.rocq.tier import found_prover
from relift.rewrites.checks.tiers import check_rule
from relift.rewrites.ledger.book import known_rules, load
from relift.rewrites.library import RULES
from relift.semantics.errors import ReliftError
from relift.web.picks import RULE_AS_PRINTED
from relift.web.printed import rule_of

for name in ("web.work", "rewrites.checks.smt.tier", "egraph.process.saturation", "checking"):
    importlib.import_module(f"relift.{name}")
check_rule(rule_of(RULE_AS_PRINTED), tiers=("1", "2", "3"), guards=False)
check_random(RULES["map_fusion"])
known_rules()
load()
with suppress(OSError, ReliftError):  # the tier says so, where it is asked for
    found_prover()
