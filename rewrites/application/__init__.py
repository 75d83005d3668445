"""Applying one rule at a place of a term.

matching        the place matched, its side conditions asked, the other side put in
applied         the same found once for a search
beginnings      whether the side of a rule and a term begin alike, which most do not
abstraction     parts of a term as variables: what a metavariable that is applied to more than variables is matched through
substitutions   whether what fills a rule's metavariables is what their declarations promise, and neutral elements that a side leaves open
totality        whether a term is defined whatever its data are
"""
