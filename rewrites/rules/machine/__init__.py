"""The machine: who computes a map, where a result lies, vectors, and lookups in memory.

lowering       who computes a map, where a result is stored
vectorization  elements as the lanes of vectors
lookups        what is read at indices that are data
"""
