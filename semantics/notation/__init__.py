"""Terms as text, and the text back as terms.

printer    a term as nested patterns, or as a pipeline
parser     such text back to the same term
marked     a term as text, one of its parts marked
shadowing  variables of a term under other names than its inputs
displays   how terms, types and programs are displayed
"""
