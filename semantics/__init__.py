"""What the language is: sizes, types, terms, patterns, the interpreter and the printer.

Read in this order, like a paper: `sizes` and `types` (what an array is), `terms` and `patterns` (what
can be written), `interpreter` (what it means), `language` (how a Python function becomes a program),
`printer` and `parser` (how a term is shown and read back), `views` (a layout as an index function).
"""
