"""Rules applied by name and put together.

combinators   tactics, and how they are put together; `macros`: the macro rules of LIFT
nests         two parallel dimensions around a fold: their normal form, blocks, and what divides no block
groups        schedules for the work-groups of a GPU
vectors       schedules for the vector registers of a CPU
folds         folds and scans in parts
steps         what is done step by step: for each element, for whole tables, and what of a state needs no other
sharing       what is needed more than once is computed once; `looked_up`: what is read at indices that are data
transpositions  tables that are computed and transposed: columns from columns, rows from what folds of columns give, and rows that are scanned by columns
reuse         where the elements of an array lie in memory, read off its view
flat_tables   folds and maps of tables as those of one row
turns         several turns of a loop written out together; `whole_groups`: a launch without work-items that are left over
long_functions  names for what a function repeats until it is too long to be searched
spelled_out   patterns that are others put together stand as those
both_axes     one table folded along both of its axes in one pass
whole_folds   long folds of whole arrays that something is made of: one kernel for chunks, and once more where they are read
batches       what each batch folds becomes one table for all
"""
