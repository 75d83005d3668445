"""What a user writes: the vocabulary of patterns and programs, and how Python calls become typed terms."""
