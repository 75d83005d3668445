"""The rules, one module per family; the docstring of each opens with its laws in point-free notation."""
