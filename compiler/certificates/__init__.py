"""What is proved of a kernel's text: bounds, races, initialisation, coverage, no overflow."""
