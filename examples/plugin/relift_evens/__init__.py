"""An example of a package that adds to Relift by entry points; see its README."""
