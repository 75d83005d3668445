"""Tier 4b: rules as statements of the Rocq prover, and their proofs.

text        types, sizes and terms as text of Rocq; `integers`: what is known of whole numbers in them
statements  a rule as a statement; `definedness`: where its sides are defined
library     what of the library a statement is made of; `installed`: the prover that is here
tier        rules proved and audited
"""
