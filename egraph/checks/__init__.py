"""Tier 5 of rule checking, and all tiers together.

tiers        all tiers of a rule, that of the search too
search_tier  tier 5: a rule fires where it holds, and nowhere else; `search_verdicts` is what that says
bench        the child process in which that is tried
recording    what the ledger should say of rules
shared       checks of many rules, shared out
admission    which rules of the user's own take part in a search
"""
