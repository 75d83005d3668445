"""The tiers of rule checking, and what a check says."""
