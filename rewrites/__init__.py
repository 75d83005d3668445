"""What a rule is, the rules themselves, how one is applied by name, and how one is checked.

rule           what a rule is, and how a Python function becomes one; `rules/` holds them, one file per family
well_formed    when two sides make a rule
conditions     what a rule asks of its metavariables; `metavariables`: which it has; `specialisation`: it at other sizes
application    one rule applied at a place; `declared_laws`: what programs declare and grant
derivation     a list of such steps, which replays
tactics        rules put together: combinators, and schedules for registers and work-groups
checks         the tiers of rule checking, and what they say
ledger         every rule and what is known of it, the names of the literature, the refuted rules
displays       how all this is displayed
proof_scripts  proofs that no tactic finds; of them `proofs_of_bins`, `proofs_of_idempotence`
loading        rules and programs in a user's file
library        all rules, by name; `families`: rules for each value of a choice; `notation`: their letters
"""
