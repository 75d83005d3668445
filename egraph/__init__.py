"""The search: rules and programs as an e-graph, what it is asked for, extraction by context, and cost.

encode         terms, types, operators and rules as egglog text, and a saturated e-graph back as typed terms
process        stages of rules in a child process with a budget, and several searches at once
explanation    from the log of an e-graph to a linear list of rule steps: ground terms, firings, equations, closure, steps
sketches       programs written in part, as goals, and how they are found in a snapshot
extraction     the best low-level terms, lowered by where they stand; `cost` estimates their time
search         the stages from a program to a sketch, plans, proposals, what `optimize` does with them, tuning
checks         tier 5 of rule checking: a rule fired once, and what it must not do
growing        a small graph of a program, to be looked at
prediction     seconds as a function of the program alone
displays       how costs, candidates and searches are displayed

This is the only part that imports egglog, and only its child process does.
"""
