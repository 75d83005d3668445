"""From the log of an e-graph to a linear list of rule steps, each replayed."""
