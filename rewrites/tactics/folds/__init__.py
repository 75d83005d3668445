"""Folds and scans in parts.

shared           a work-item folds for several neighbouring results at once
by_rows          columns by whole rows, with an accumulator for each column
in_vectors       what all work-items fold, by vectors
partial_results  partial results of blocks first, then the results of all blocks
running          folds of what a scan gives, which is never stored
beside           folds of the same elements: one map of tuples, and one loop
remainders       a main part whose length blocks divide, and a rest
starts           folds from any number as folds from the neutral element
chunked_scans    chunks are scanned side by side
recurrences      steps that are affine in what they carry: chunks of them are such steps
bins             histograms
places           folds that say where an element is
passes           folds that read the same elements, in one pass over them
windows          folds of windows from those of their parts, and results of the same windows
several_results  a work-item of a GPU has several folds, and reads once what all of them read
"""
