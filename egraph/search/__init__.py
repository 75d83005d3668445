"""From a program to low-level ones: stages, plans, proposals, optimisation, tuning."""
