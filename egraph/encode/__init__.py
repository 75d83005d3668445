"""Terms and rules as egglog text, and a saturated e-graph back as typed terms.

constructors  a constructor of egglog for each kind of term
terms         terms, types and operators as egglog's text
prelude       sorts, typing, free names, substitution
rules         a rule as one of egglog's; its `sides` are `matched` and `built`, `equations` solve their sizes
snapshot      a saturated graph as typed terms; `heads` are nodes without their children
term_graph    one term as a graph
"""
