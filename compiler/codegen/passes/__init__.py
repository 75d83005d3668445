"""Passes over the tree of a kernel: shared local arrays, named registers, barriers in guards, shared vectors and indices.

local_memory          local arrays that are never needed together lie in the same place
registers             private arrays with constant indices are variables
conditional_barriers  an `if` that holds a barrier ends with one
fetched_ahead         a loop fetches what its next turn reads
gathered_once         vectors of numbers that lie apart are put together once
alike_reads           wide vectors are read alike, aligned or not
rows_apart            a loop over joined rows is one over rows around one over columns
shared_indices        sums that several indices have in common are computed once
row_pointers          a loop has a pointer to each row of a memory that it walks along
"""
