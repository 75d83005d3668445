"""From a program to low-level ones.

starts       forms of a program that a search starts from: shared, stored, cut at sizes that do not divide, kernel by kernel
guidance     what leads from there: stages to a sketch, plans of tactics, tiles that are worth it
proposals    the low-level programs that follow, each with its estimated cost; `outcomes` is what they are,
             `derived` how they follow, `own_rules` what the user adds, `allotted` what all e-graphs may come to,
             `pruning` which of them are worth growing, `in_others` which programs are searched as others
optimize     the best of them that the compiler accepts
timed        the fastest of them by the clock, and of generations with other tiles
tuning       candidates are timed on the device, and every result is kept; `fitting`: what the cost model learns of it
"""
