"""Index expressions, the rules that simplify them, and index functions as parameters of patterns."""
