"""Rules applied by name and put together: combinators, register blocks, tiles of groups, cooperative reductions."""
