"""The tiers of rule checking, and what a check says.

tiers      a rule through the tiers; `verdicts` are what they say, `faults` what went wrong in one
instances  the sizes that a rule may take; `laws` of operators, tested; `operator_uses`: which laws a term relies on
random     tier 2, and every generator; `calls` is what either side computes there
free       tier 3: free symbols
smt        tier 4a: index functions, by Z3
rocq       tier 4b: the prover
theorem    one theorem for a whole derivation
guards     what a wrong rule lacks, and what a right one states needlessly
floating   what a rule keeps of floating point
kinship    rules that are known already
isolation  a user's rule in a process of its own
"""
