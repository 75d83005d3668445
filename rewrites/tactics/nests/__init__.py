"""Two parallel dimensions around a fold, whatever is done before the fold and after it.

normal_form   the form that every such nest is brought to
prologues     what such a nest reads and is computed, stored before
zips          folds over several arrays, which it takes for two
dimensions    nests of more dimensions: what is read alike becomes one
blocks        a nest in that form, cut into blocks; `padding`: where no block divides its sizes
edges         a nest a little larger than whole tiles, in parts; `symmetric`: one that is equal to its transpose
split_folds   the folds of a nest in parts, which are added; `tupling`: several folds of a cell as one
factors       what a step makes of one operand alone, which is computed before
cells         rows that a function writes out, and results that it makes together, as maps of cells
where_read    what maps, folds and scans read of a zip is computed where they read it
gathered      operands that lie scattered, which are copied before
"""
