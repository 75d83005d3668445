"""The machine: who computes a map, where a result lies, vectors, and lookups in memory."""
