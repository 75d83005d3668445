"""What is known of every rule: the ledger, its pages, the names of the literature, the refuted rules.

book        what is recorded of every rule
pages       the ledger as pages
literature  the names that rules have in LIFT, RISE and others
refuted     wrong rules, of the literature and beside it
"""
