"""The idioms: constraints in the language of `constraints`, a file for each family."""
