"""What a rule is, the rules themselves, how one is applied by name, and how one is checked.

`rule` says what a rule is; `fusion`, `split_join`, `transposition`, `reduction`, `stencil`,
`vectorization` and `lowering` hold the rules, one file per family; `matching` applies one at a place,
`derivation` is a list of such steps that replays; `checking` and its tiers say what is known of a rule.
"""
