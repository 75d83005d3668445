"""Rules applied by name and put together: combinators, nests and their tiles, register blocks, cooperative reductions, scans."""
