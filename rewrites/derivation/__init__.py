"""How a program became another: steps, replay, confirmation by the interpreter, files, pages."""
