"""The Rocq library: what statements are made of, lemmas, and the tactic; see its `.v` files."""
