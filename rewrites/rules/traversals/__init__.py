"""Traversals: fused, apart, nested in another order, iterated, or left out.

fusion       two traversals become one
fission      one becomes two
interchange  nested ones change places
iteration    a function applied again and again
identities   what may be left out, and put in
"""
