"""The language of constraints.

grammar.lark, syntax, parsing    what is written
atoms                            what can be said of values
expansion                        a constraint with all that it inherits written out
solving                          its solutions over relations
"""
