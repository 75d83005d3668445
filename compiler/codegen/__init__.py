"""From a low-level term to the statements of a kernel."""
