"""Tier 3: the interpreter on free symbols, at every size up to a bound.

algebra    the free algebra of the declared laws: symbols, words, and what one word may stand for
tier       a rule on such symbols
"""
