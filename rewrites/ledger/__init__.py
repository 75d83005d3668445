"""What is known of every rule: the ledger, its pages, the names of the literature, the refuted rules."""
