"""How a program became another: steps, replay, confirmation by the interpreter, files, pages.

steps         steps, and their replay
own_rules     rules of the user's own beside the library's
confirmation  each program along the way by the interpreter, at small sizes
files         derivations as JSON
pages         derivations as text and as HTML
"""
