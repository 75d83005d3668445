"""What programs are made of: sizes, types, terms, signatures, scalar functions; binders and substitution."""
