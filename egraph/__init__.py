"""The search: rules and programs as an e-graph, extraction by context, cost, and explanation.

encoding        terms, types and operators as egglog text, generated from the signatures of the patterns
rule_encoding   a rule in one direction as egglog rules, with every premise derived
saturation      stages of rules in a child process with a budget
snapshot        the saturated e-graph as plain data that gives typed terms back
explanation     from the log of an e-graph to a linear list of rule steps
search_tier     tier 5 of rule checking: a rule fired once, and what it must not do

This is the only part that imports egglog, and only its child process does.
"""
