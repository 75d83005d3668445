"""From the log of an e-graph to a linear list of rule steps, each replayed.

equations  the log of a graph as equations between ground terms; `firings` are its rows
ground     terms as numbers
closure    congruence closure with a proof forest
explainer  from there to a linear list of steps
"""
