"""The high-level program that a low-level one computes; its NumPy function is the gold."""

from pathlib import Path

from relift.bench import load_program


def source(name):
    """The program of examples/NAME.py."""
    return load_program(str(Path(__file__).parents[1] / f"{name}.py"))
