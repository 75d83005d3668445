"""An idiom of C: its constraint, and which variable of it is the result."""

from pathlib import Path

from relift.extending.idioms import Idiom, Idioms

SCALING = Idioms(
    Path(__file__).with_name("scaling.idl"), (Idiom("scaling", "Scaling", "write.store"),)
)
