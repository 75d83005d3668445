"""The cost model: a roofline over the device description, read off the low-level term itself.

A kernel takes its launch, and then the longer of two times: moving every memory that it touches once
through the device's bandwidth, and issuing its instructions on the units that its work-items occupy.  The
instructions of all work-items are added up, and so are those of the busiest one: no device is faster than
either.  What an access costs depends on its stride, which the views give: contiguous lanes, or neighbouring
work-items, are one access, one cell for all is a broadcast, anything else is an access for each.

On a GPU the busiest work-item also waits for memory, registers are free, a product and the sum that takes it are one instruction, and a vector is an
access but no operation: each lane of it is an instruction.  A unit loads fewer numbers in a cycle than it computes, its groups get from the
second cache what they do not read again soon, and what neighbours write apart goes there cell by cell.

A CPU starts two instructions of either kind in a cycle.  A loop that adds up has to wait for each sum before the
next, unless it has several to do or is so short that the next loop overlaps.  Some drivers pack work-items into
vectors by themselves (`DeviceDescription.packs`); what neighbouring work-items read apart is not packed.  A private
array is in registers where they suffice.

model.py says what a program costs; walk.py follows its term as the kernels would; meter.py, operations.py (what libraries take: library.py), accesses.py (how far
apart they are: strides.py), rows.py, walked.py and beyond.py (rows, and what caches keep, for CPUs) and fetched.py (footprints, for GPUs) count
what it does on the way, kernel.py is what a kernel comes to, buffers.py where it is stored, and which kernels are known, and repeated.py how often it is launched.
"""
