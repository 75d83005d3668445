"""C as relations.

llvm         the compiler, and its text as a graph in one normal form; `widening`: counters
             of few bits as numbers of 32; `sharing`: one value for what is computed or read twice
control      dominance, loops
fields       what C calls fields of structures; `looking`: one value for a field that a loop looks up in several places
evolution    integers and addresses as polynomials over the counters of loops; `accesses`: loads and stores by them
names        what names in a polynomial stand for; `consequences`: what depends on a value
values       a value as an expression; which updates are order-independent
structure, memory, alternatives, relations    all of it as relations that a solver is given
"""
