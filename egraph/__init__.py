"""The search: rules and programs as an e-graph, what it is asked for, extraction by context, and cost.

encoding        terms, types and operators as egglog text, generated from the signatures of the patterns
rule_encoding   a rule in one direction as egglog rules, with every premise derived
saturation      stages of rules in a child process with a budget
snapshot        the saturated e-graph as plain data that gives typed terms back
explanation     from the log of an e-graph to a linear list of rule steps
sketches        programs written in part, as goals; `sketch_search` finds them in a snapshot
planning        the stages from a program to a sketch; `guided` goes through them
plans           sketches and tactics that suit a program; `stencils`: other forms of one to start from
extraction      the best low-level terms, lowered by where they stand; `cost` estimates their time
proposals       all candidates of one program, found by `workers`
search          what `optimize` does with them; `tuning` keeps times
search_tier     tier 5 of rule checking: a rule fired once, and what it must not do

This is the only part that imports egglog, and only its child process does.
"""
