"""What a program is at an index: `denotation` of its terms, over arrays of `indexing`; `carrying` narrows its folds."""
