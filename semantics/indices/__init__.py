"""Index expressions, the rules that simplify them, and index functions as parameters of patterns.

atoms          what an index is made of: variables, quotients, remainders, the smaller and the larger of two
ranges         between which values an index lies
expressions    arithmetic that simplifies as it builds, by `rules`
functions      index functions; `rows` of constants; `reader`: both from text
algebra        what the view of a pattern is written over
lanes          the lanes of a vector, and where their cells lie side by side
views          arrays as functions from indices to cells; `stored`: those in memory; `components` of tuples;
               `inverses`: written through, and permutations; `copies`: what lies in memory already
"""
