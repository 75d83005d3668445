"""What a rule is, the rules themselves, how one is applied by name, and how one is checked.

`rule` says what a rule is; `rules/` holds them, one file per family; `matching` applies one at a place,
`derivation` is a list of such steps that replays; `tactics` puts rules together, `teams` and
`group_tactics` do for the work-items of a group; `checking` and its tiers say what is known of a rule.
"""
