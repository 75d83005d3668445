"""What programs are made of: sizes, types, terms, signatures, scalar functions; binders and substitution.

sizes         polynomials over named naturals; `monomials` are the products in them
operations    those of a size with what is no size
types         scalars, arrays, tuples, vectors
memory        the memories of a device, a row each
scalars       the scalar functions, a row each
terms         terms and patterns; `expression` is Python's notation on them, `overloading` what that means
signatures    how a pattern is typed: sizes and types are solved
places        where a child of a node is
nodes         one view of all terms: the fields of a node, and a node of fields
binding       binders, positions, equality up to names
substitution  sizes, types and terms put in for names, and typed again
"""
