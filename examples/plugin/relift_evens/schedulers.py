"""A strategy by name: what it makes of a program is a candidate among the others."""

from relift.strategies import apply, topdown

chunks = topdown(apply("split_join", m=64))
